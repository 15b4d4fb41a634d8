//! Changes to roles by staff (`/api/v1/roles/{id}`) and by the job that closes roles. Each change updates the role and
//! its organization's counts, and appends an activity row.

use serde_json::{Map, Value};

use super::record::{Role, RoleRecord, insert, members, update};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::organization::StatusCounts;
use crate::domain::report::ApplicationCounts;
use crate::domain::role::{RoleStatus, Seats};
use crate::domain::user::Principal;
use crate::store::role_step::PipelineStep;
use crate::store::{activity, invitation, organization, role_step};

/// Counts the applications to a role.
pub fn applications(tx: &Tx<'_>, role: &RoleId) -> Result<ApplicationCounts, Error> {
    let sql = "SELECT status, count(*)
               FROM candidate_roles
               WHERE role_id = $1
               GROUP BY status";
    let counts = tx.all(sql, [role.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(ApplicationStatus::parse)?, columns.read()?))
    })?;
    let mut applications = ApplicationCounts::default();
    for (status, count) in counts {
        match status {
            ApplicationStatus::InProgress => applications.in_progress = count,
            ApplicationStatus::Hired => applications.hired = count,
            ApplicationStatus::NotSelected => applications.not_selected = count,
            ApplicationStatus::Withdrawn => applications.withdrawn = count,
        }
    }
    Ok(applications)
}

/// Adds a role with its steps.
///
/// # Errors
/// [`Error::Defect`] if the role or a step already exists.
pub fn add(
    tx: &Tx<'_>,
    who: &Principal,
    organization: &OrganizationId,
    record: &RoleRecord,
    steps: &[PipelineStep],
    stamp: &Stamp,
) -> Result<(), Error> {
    let mut is_new = insert(tx, organization, record)?;
    for step in steps {
        is_new &= role_step::insert(tx, &record.id, step)?;
    }
    if !is_new {
        return Err(Error::Defect(format!("the new role {} or one of its steps already exists", record.id)));
    }
    organization::add_to_status(tx, organization, StatusCounts::of_role(record.seats))?;
    let subject = Subject::of_role(organization.clone(), record.id.clone());
    let detail = activity::detail(&None::<()>, &detail_with_steps(record, steps)?)?;
    activity::append(tx, stamp, Some(who), Action::RoleCreated, &subject, &detail)
}

/// Saves a role that `who` changed from `before` to `after`. If `who` is `None`, the service itself made the change. If
/// the role is no longer open, its signup links stop working. Does nothing if `before` and `after` are equal.
///
/// # Errors
/// [`Error::Defect`] if the role's status, positions or hires changed after `before` was read.
pub fn save(
    tx: &Tx<'_>,
    who: Option<&Principal>,
    action: Action,
    before: &Role,
    after: &RoleRecord,
    stamp: &Stamp,
) -> Result<(), Error> {
    if before.record == *after {
        return Ok(());
    }
    update(tx, before, after, changes_portal(&before.record, after))?;
    if before.record.seats.status == RoleStatus::Open && after.seats.status != RoleStatus::Open {
        invitation::end_all(tx, &after.id)?;
    }
    let difference = StatusCounts::of_role(after.seats).minus(StatusCounts::of_role(before.record.seats));
    organization::add_to_status(tx, &before.organization_id, difference)?;
    let subject = Subject::of_role(before.organization_id.clone(), after.id.clone());
    let detail = difference_of(&members(&before.record)?, &members(after)?)?;
    activity::append(tx, stamp, who, action, &subject, &detail)
}

/// Returns whether the change can affect the portal, which shows neither the hires nor the positions nor the reason for
/// closing.
fn changes_portal(before: &RoleRecord, after: &RoleRecord) -> bool {
    let hidden_changes = RoleRecord {
        seats: Seats { status: after.seats.status, ..before.seats },
        close_reason: before.close_reason.clone(),
        ..after.clone()
    };
    *before != hidden_changes
}

/// Deletes a draft that has no applications, together with its steps and signup links. The activity of the role stays.
///
/// # Errors
/// [`Error::Defect`] if the role is not a draft, or has applications.
pub fn delete(tx: &Tx<'_>, who: &Principal, role: &Role, stamp: &Stamp) -> Result<(), Error> {
    let id = role.record.id.as_str();
    let steps = role_step::of_role(tx, &role.record.id)?;
    for sql in ["DELETE FROM role_steps WHERE role_id = $1", "DELETE FROM invitations WHERE role_id = $1"] {
        tx.run(sql, [id])?;
    }
    let sql = "DELETE FROM roles
               WHERE organization_id = $1 AND id = $2 AND status = 'draft'";
    if tx.run(sql, (role.organization_id.as_str(), id))? != 1 {
        return Err(Error::Defect(format!("role {id} changed after the facts were read")));
    }
    let difference = StatusCounts::default().minus(StatusCounts::of_role(role.record.seats));
    organization::add_to_status(tx, &role.organization_id, difference)?;
    let subject = Subject::of_role(role.organization_id.clone(), role.record.id.clone());
    let detail = activity::detail(&detail_with_steps(&role.record, &steps)?, &None::<()>)?;
    activity::append(tx, stamp, Some(who), Action::RoleDeleted, &subject, &detail)
}

/// Returns the detail of an added or deleted role.
fn detail_with_steps(role: &RoleRecord, steps: &[PipelineStep]) -> Result<Map<String, Value>, Error> {
    let mut members = members(role)?;
    let steps = serde_json::to_value(role_step::details(steps))
        .map_err(|error| Error::Defect(format!("the detail of an activity row cannot be written: {error}")))?;
    members.insert("steps".to_owned(), steps);
    Ok(members)
}

/// Returns the detail of a change as JSON: the fields that differ, with their values before and after the change.
fn difference_of(before: &Map<String, Value>, after: &Map<String, Value>) -> Result<String, Error> {
    let differing = |of: &Map<String, Value>, other: &Map<String, Value>| -> Map<String, Value> {
        let members = of.iter().filter(|(name, value)| other.get(*name) != Some(*value));
        members.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    activity::detail(&differing(before, after), &differing(after, before))
}
