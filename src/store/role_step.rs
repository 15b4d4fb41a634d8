//! The steps of roles: the pipelines, and the steps that were removed from them.

use serde::Serialize;

use super::activity;
use super::role::record::{self, Role};
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::StepType;
use crate::domain::id::{Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::role_step;
use crate::domain::user::Principal;
use crate::world::World;

/// A step in the pipeline of a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineStep {
    pub id: RoleStepId,
    pub name: String,
    /// The position in the pipeline, counted from 1.
    pub order: i64,
    pub step_type: StepType,
}

/// A step of a role, which may have been removed from the pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleStep {
    pub id: RoleStepId,
    pub name: String,
    /// The position in the pipeline, counted from 1; `None` for a removed step.
    pub order: Option<i64>,
    pub step_type: StepType,
}

/// Adds a step to a role. Returns `false` if a step with this id exists, or if the role has a step at this position.
pub fn insert(tx: &Tx<'_>, role: &RoleId, step: &PipelineStep) -> Result<bool, Error> {
    let sql = "INSERT INTO role_steps (id, role_id, name, step_order, step_type)
               VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT DO NOTHING";
    let PipelineStep { id, name, order, step_type } = step;
    Ok(tx.run(sql, (id.as_str(), role.as_str(), name, order, step_type.as_str()))? == 1)
}

/// Adds a step that an import lists as removed from the role's pipeline. Returns `false` if a step with this id exists.
pub fn insert_removed(tx: &Tx<'_>, role: &RoleId, step: &PipelineStep) -> Result<bool, Error> {
    let sql = "INSERT INTO role_steps (id, role_id, name, step_type)
               VALUES ($1, $2, $3, $4)
               ON CONFLICT DO NOTHING";
    let PipelineStep { id, name, step_type, .. } = step;
    Ok(tx.run(sql, (id.as_str(), role.as_str(), name, step_type.as_str()))? == 1)
}

/// Returns the steps of a role's pipeline, in order, without removed steps.
pub fn of_role(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<PipelineStep>, Error> {
    let sql = "SELECT id, name, step_order, step_type
               FROM role_steps
               WHERE role_id = $1 AND step_order IS NOT NULL
               ORDER BY step_order";
    tx.all(sql, [role.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(PipelineStep {
            id: columns.parse(RoleStepId::parse)?,
            name: columns.read()?,
            order: columns.read()?,
            step_type: columns.parse(StepType::parse)?,
        })
    })
}

pub fn exists(tx: &Tx<'_>, step: &RoleStepId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM role_steps
               WHERE id = $1";
    tx.exists(sql, [step.as_str()])
}

/// Returns the steps of a role's pipeline, in order, followed by the removed steps that applications still have.
pub fn of_role_with_removed(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<RoleStep>, Error> {
    let sql = "SELECT s.id, s.name, s.step_order, s.step_type
               FROM role_steps s
               WHERE s.role_id = $1 AND (s.step_order IS NOT NULL
                 OR EXISTS (SELECT 1 FROM candidate_role_steps c WHERE c.role_step_id = s.id))
               ORDER BY s.step_order IS NULL, s.step_order, s.id";
    tx.all(sql, [role.as_str()], role_step)
}

/// Finds a step of a role. The step may have been removed from the pipeline.
pub fn find(tx: &Tx<'_>, role: &RoleId, id: &RoleStepId) -> Result<Option<RoleStep>, Error> {
    let sql = "SELECT id, name, step_order, step_type
               FROM role_steps
               WHERE role_id = $1 AND id = $2";
    tx.one(sql, (role.as_str(), id.as_str()), role_step)
}

fn role_step(row: &Row<'_>) -> Result<RoleStep, Error> {
    let mut columns = Columns::of(row);
    Ok(RoleStep {
        id: columns.parse(RoleStepId::parse)?,
        name: columns.read()?,
        order: columns.read()?,
        step_type: columns.parse(StepType::parse)?,
    })
}

/// Counts the candidates who are at each step of a role now.
pub fn candidate_counts(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
) -> Result<Vec<(RoleStepId, i64)>, Error> {
    let sql = "SELECT at_role_step_id, count(*)
               FROM candidate_roles
               WHERE organization_id = $1 AND role_id = $2 AND at_role_step_id IS NOT NULL
               GROUP BY at_role_step_id";
    tx.all(sql, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(RoleStepId::parse)?, columns.read()?))
    })
}

/// Adds a step to a role's pipeline, sets the new order of the pipeline, and appends an activity row.
pub fn add(
    tx: &Tx<'_>,
    who: &Principal,
    role: &Role,
    step: &RoleStep,
    order: &[RoleStepId],
    stamp: &Stamp,
) -> Result<(), Error> {
    let sql = "INSERT INTO role_steps (id, role_id, name, step_type)
               VALUES ($1, $2, $3, $4)";
    let id = role.record.id.as_str();
    tx.run(sql, (step.id.as_str(), id, &step.name, step.step_type.as_str()))?;
    set_order(tx, &role.record.id, order)?;
    append_activity(tx, who, Action::RoleStepAdded, role, &activity::detail(&None::<()>, &detail(step))?, stamp)
}

/// Adds the default pipeline to a role without steps, with names in the language of the tag (BCP 47). Each step has an
/// activity row, as if the user had added the steps one by one.
///
/// # Errors
/// `conflict` if the pipeline has steps.
pub fn add_default_steps(
    tx: &Tx<'_>,
    world: &dyn World,
    who: &Principal,
    role: &Role,
    language_tag: &str,
) -> Result<(), Error> {
    role_step::require_no_steps(of_role(tx, &role.record.id)?.len())?;
    let mut order: Vec<RoleStepId> = Vec::new();
    for (position, (name, step_type)) in (1..).zip(role_step::default_pipeline(language_tag)) {
        let step = RoleStep { id: world.id(), name: name.to_owned(), order: Some(position), step_type };
        order.push(step.id.clone());
        add(tx, who, role, &step, &order, &activity::stamp(world))?;
    }
    Ok(())
}

/// Changes the name and type of a step, and appends an activity row. Does nothing if `before` and `after` are equal.
/// The copies of the step in applications do not change.
pub fn change(
    tx: &Tx<'_>,
    who: &Principal,
    role: &Role,
    before: &RoleStep,
    after: &RoleStep,
    stamp: &Stamp,
) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    let sql = "UPDATE role_steps
               SET name = $1, step_type = $2
               WHERE role_id = $3 AND id = $4";
    tx.run(sql, (&after.name, after.step_type.as_str(), role.record.id.as_str(), after.id.as_str()))?;
    let detail = activity::detail(&detail(before), &detail(after))?;
    append_activity(tx, who, Action::RoleStepChanged, role, &detail, stamp)
}

/// Changes the order of a role's pipeline, and appends an activity row. Does nothing if the order is the same.
pub fn reorder(
    tx: &Tx<'_>,
    who: &Principal,
    role: &Role,
    before: &[RoleStepId],
    after: &[RoleStepId],
    stamp: &Stamp,
) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    set_order(tx, &role.record.id, after)?;
    let ids = |steps: &[RoleStepId]| steps.iter().map(RoleStepId::to_string).collect();
    let (before, after) = (OrderDetail { step_ids: ids(before) }, OrderDetail { step_ids: ids(after) });
    append_activity(tx, who, Action::RoleStepsReordered, role, &activity::detail(&before, &after)?, stamp)
}

/// Removes a step from a role's pipeline, sets the new order of the pipeline, and appends an activity row. The copies
/// of the step in applications do not change.
pub fn remove(
    tx: &Tx<'_>,
    who: &Principal,
    role: &Role,
    step: &RoleStep,
    order: &[RoleStepId],
    stamp: &Stamp,
) -> Result<(), Error> {
    set_order(tx, &role.record.id, order)?;
    append_activity(tx, who, Action::RoleStepRemoved, role, &activity::detail(&detail(step), &None::<()>)?, stamp)
}

/// Makes these steps the pipeline of a role, in this order. All other steps are removed from the pipeline.
fn set_order(tx: &Tx<'_>, role: &RoleId, order: &[RoleStepId]) -> Result<(), Error> {
    // All positions are cleared first, because no two steps can have the same position.
    let sql = "UPDATE role_steps
               SET step_order = NULL
               WHERE role_id = $1 AND step_order IS NOT NULL";
    tx.run(sql, [role.as_str()])?;
    let sql = "UPDATE role_steps
               SET step_order = $1
               WHERE role_id = $2 AND id = $3";
    tx.run_each(sql, (1_i64..).zip(order), |(position, step)| Ok((position, role.as_str(), step.as_str())))
}

/// Appends an activity row for a change to a role's pipeline, and updates the role's `updated_at`.
fn append_activity(
    tx: &Tx<'_>,
    who: &Principal,
    action: Action,
    role: &Role,
    detail: &str,
    stamp: &Stamp,
) -> Result<(), Error> {
    record::touch(tx, &role.organization_id, &role.record.id)?;
    let subject = Subject::of_role(role.organization_id.clone(), role.record.id.clone());
    activity::append(tx, stamp, Some(who), action, &subject, detail)
}

/// The detail of a step in an activity row.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepDetail<'a> {
    id: &'a str,
    name: &'a str,
    order: Option<i64>,
    step_type: &'static str,
}

fn detail(step: &RoleStep) -> StepDetail<'_> {
    StepDetail { id: step.id.as_str(), name: &step.name, order: step.order, step_type: step.step_type.as_str() }
}

/// Returns whether an activity row records the addition of this step or a change to it.
pub fn is_change_of(row: &activity::Activity, step: &RoleStepId) -> bool {
    let detail: Option<serde_json::Value> = row.detail.as_ref().and_then(|detail| serde_json::from_str(detail).ok());
    detail.is_some_and(|detail| detail["after"]["id"] == step.as_str())
}

/// Returns the details of the steps of a pipeline, for an activity row of the role.
pub(super) fn details(steps: &[PipelineStep]) -> Vec<StepDetail<'_>> {
    let detail = |step| {
        let PipelineStep { id, name, order, step_type }: &PipelineStep = step;
        StepDetail { id: id.as_str(), name, order: Some(*order), step_type: step_type.as_str() }
    };
    steps.iter().map(detail).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrderDetail {
    step_ids: Vec<String>,
}
