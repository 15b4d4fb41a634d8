//! The steps of roles' pipelines.

use crate::db::row::Row;
use serde::Serialize;

use super::activity;
use super::role::{self, Role};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::StepType;
use crate::domain::id::{Id, RoleId, RoleStepId};
use crate::domain::user::Principal;

/// One step of a role's pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: RoleStepId,
    /// Its name.
    pub name: String,
    /// Its position in the pipeline, from 1.
    pub order: i64,
    /// What it is for.
    pub step_type: StepType,
}

/// Adds a step to a role. Whether there was none with this id before.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, role: &RoleId, step: &Record) -> Result<bool, Error> {
    let sql = "INSERT INTO role_steps (id, role_id, name, step_order, step_type)
               VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT DO NOTHING";
    let Record { id, name, order, step_type } = step;
    Ok(tx.run(sql, (id.as_str(), role.as_str(), name, order, step_type.as_str()))? == 1)
}

/// Adds a step that was taken out of a role's pipeline already. Whether there was none with this id before.
///
/// # Errors
/// When SQLite fails.
pub fn insert_removed(tx: &Tx<'_>, role: &RoleId, step: &Record) -> Result<bool, Error> {
    let sql = "INSERT INTO role_steps (id, role_id, name, step_type)
               VALUES ($1, $2, $3, $4)
               ON CONFLICT DO NOTHING";
    let Record { id, name, step_type, .. } = step;
    Ok(tx.run(sql, (id.as_str(), role.as_str(), name, step_type.as_str()))? == 1)
}

/// Every step of a role's pipeline, first to last; not those that were taken out of it.
///
/// # Errors
/// When SQLite fails.
pub fn of_role(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<Record>, Error> {
    let sql = "SELECT id, name, step_order, step_type
               FROM role_steps
               WHERE role_id = $1 AND step_order IS NOT NULL
               ORDER BY step_order";
    tx.all(sql, [role.as_str()], |row| {
        Ok(Record {
            id: tx::word(&row.get::<_, String>(0)?, RoleStepId::parse)?,
            name: row.get(1)?,
            order: row.get(2)?,
            step_type: tx::word(&row.get::<_, String>(3)?, StepType::parse)?,
        })
    })
}

/// Whether there is such a step.
///
/// # Errors
/// When SQLite fails.
pub fn exists(tx: &Tx<'_>, step: &RoleStepId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM role_steps
               WHERE id = $1";
    tx.exists(sql, [step.as_str()])
}

/// A step of a role as staff see it: one that was taken out of the pipeline has no place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its id.
    pub id: RoleStepId,
    /// Its name.
    pub name: String,
    /// Its position in the pipeline, from 1; `None` where it was taken out.
    pub order: Option<i64>,
    /// What it is for.
    pub step_type: StepType,
}

fn step(row: &Row<'_>) -> Result<Step, Error> {
    Ok(Step {
        id: tx::word(&row.get::<_, String>(0)?, RoleStepId::parse)?,
        name: row.get(1)?,
        order: row.get(2)?,
        step_type: tx::word(&row.get::<_, String>(3)?, StepType::parse)?,
    })
}

/// Every step of a role's pipeline, first to last, and behind them those that were taken out and applications have.
///
/// # Errors
/// When SQLite fails.
pub fn of_role_with_removed(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<Step>, Error> {
    let sql = "SELECT s.id, s.name, s.step_order, s.step_type
               FROM role_steps s
               WHERE s.role_id = $1 AND (s.step_order IS NOT NULL
                 OR EXISTS (SELECT 1 FROM candidate_role_steps c WHERE c.role_step_id = s.id))
               ORDER BY s.step_order IS NULL, s.step_order, s.id";
    tx.all(sql, [role.as_str()], step)
}

/// One of a role's steps, taken out or not.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, role: &RoleId, id: &RoleStepId) -> Result<Option<Step>, Error> {
    let sql = "SELECT id, name, step_order, step_type
               FROM role_steps
               WHERE role_id = $1 AND id = $2";
    tx.one(sql, (role.as_str(), id.as_str()), step)
}

/// Adds a step to a role's pipeline, which has this order then, with the record of it.
///
/// # Errors
/// When SQLite fails.
pub fn add(
    tx: &Tx<'_>,
    who: &Principal,
    role: &Role,
    step: &Step,
    order: &[RoleStepId],
    stamp: &Stamp,
) -> Result<(), Error> {
    let sql = "INSERT INTO role_steps (id, role_id, name, step_type)
               VALUES ($1, $2, $3, $4)";
    let id = role.record.id.as_str();
    tx.run(sql, (step.id.as_str(), id, &step.name, step.step_type.as_str()))?;
    put_in_order(tx, &role.record.id, order)?;
    record(tx, who, Action::RoleStepAdded, role, &activity::detail(&None::<()>, &detail(step))?, stamp)
}

/// Gives a step another name and type, with the record of it; without a difference nothing is written. Applications that
/// have it keep what they have.
///
/// # Errors
/// When SQLite fails.
pub fn change(
    tx: &Tx<'_>,
    who: &Principal,
    role: &Role,
    before: &Step,
    after: &Step,
    stamp: &Stamp,
) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    let sql = "UPDATE role_steps
               SET name = $1, step_type = $2
               WHERE role_id = $3 AND id = $4";
    tx.run(sql, (&after.name, after.step_type.as_str(), role.record.id.as_str(), after.id.as_str()))?;
    record(tx, who, Action::RoleStepChanged, role, &activity::detail(&detail(before), &detail(after))?, stamp)
}

/// Puts the steps of a role's pipeline in another order, with the record of it; without a difference nothing is written.
///
/// # Errors
/// When SQLite fails.
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
    put_in_order(tx, &role.record.id, after)?;
    let ids = |steps: &[RoleStepId]| steps.iter().map(RoleStepId::to_string).collect();
    let (before, after) = (DetailOfOrder { step_ids: ids(before) }, DetailOfOrder { step_ids: ids(after) });
    record(tx, who, Action::RoleStepsReordered, role, &activity::detail(&before, &after)?, stamp)
}

/// Takes a step out of a role's pipeline, which has this order then, with the record of it. Applications that have it keep
/// it.
///
/// # Errors
/// When SQLite fails.
pub fn remove(
    tx: &Tx<'_>,
    who: &Principal,
    role: &Role,
    step: &Step,
    order: &[RoleStepId],
    stamp: &Stamp,
) -> Result<(), Error> {
    put_in_order(tx, &role.record.id, order)?;
    record(tx, who, Action::RoleStepRemoved, role, &activity::detail(&detail(step), &None::<()>)?, stamp)
}

/// Makes a role's pipeline of these steps, in this order. Those that are left out are in it no more.
fn put_in_order(tx: &Tx<'_>, role: &RoleId, order: &[RoleStepId]) -> Result<(), Error> {
    // No two have one place at any moment, so first none has.
    let sql = "UPDATE role_steps
               SET step_order = NULL
               WHERE role_id = $1 AND step_order IS NOT NULL";
    tx.run(sql, [role.as_str()])?;
    let sql = "UPDATE role_steps
               SET step_order = $1
               WHERE role_id = $2 AND id = $3";
    tx.run_each(sql, (1_i64..).zip(order), |(place, step)| Ok((place, role.as_str(), step.as_str())))
}

/// Appends what was done to a role's pipeline, and notes that the role was changed.
fn record(tx: &Tx<'_>, who: &Principal, action: Action, role: &Role, detail: &str, stamp: &Stamp) -> Result<(), Error> {
    role::touch(tx, &role.organization_id, &role.record.id)?;
    let subject = Subject::of_role(role.organization_id.clone(), role.record.id.clone());
    activity::append(tx, stamp, Some(who), action, &subject, detail)
}

/// A step as the record of a change has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DetailOfStep<'a> {
    id: &'a str,
    name: &'a str,
    order: Option<i64>,
    step_type: &'static str,
}

fn detail(step: &Step) -> DetailOfStep<'_> {
    DetailOfStep { id: step.id.as_str(), name: &step.name, order: step.order, step_type: step.step_type.as_str() }
}

/// The steps of a pipeline as the record of a change of the whole role has them.
pub(super) fn details(steps: &[Record]) -> Vec<DetailOfStep<'_>> {
    let detail = |step| {
        let Record { id, name, order, step_type }: &Record = step;
        DetailOfStep { id: id.as_str(), name, order: Some(*order), step_type: step_type.as_str() }
    };
    steps.iter().map(detail).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DetailOfOrder {
    step_ids: Vec<String>,
}
