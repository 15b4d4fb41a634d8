//! Roles as staff change them (`/api/v1/roles/{id}`): the role, its organization's figures, and the activity of each change.

use serde_json::{Map, Number, Value};

use super::record::{Role, RoleRecord, insert};
use crate::db::row::{Columns, ToSql};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::organization::StatusCounts;
use crate::domain::role::{CollarType, RoleStatus, SalaryPeriod, Seats, WorkType};
use crate::domain::user::Principal;
use crate::store::role_step::PipelineStep;
use crate::store::{activity, invitation, organization, role_step};

/// The numbers of a role's applications, by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApplicationCounts {
    pub in_progress: i64,
    pub hired: i64,
    pub not_selected: i64,
    pub withdrawn: i64,
}

impl ApplicationCounts {
    pub fn total(self) -> i64 {
        self.in_progress + self.hired + self.not_selected + self.withdrawn
    }
}

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
/// [`Error::Defect`] if the role or a step exists.
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
        return Err(Error::Defect(format!("the new role {} exists", record.id)));
    }
    organization::move_status(tx, organization, StatusCounts::of_role(record.seats))?;
    let subject = Subject::of_role(organization.clone(), record.id.clone());
    let detail = activity::detail(&None::<()>, &detail_with_steps(record, steps)?)?;
    activity::append(tx, stamp, Some(who), Action::RoleCreated, &subject, &detail)
}

/// Saves a role that was `before`. The signup links of a role that stops being open end. Without a difference, nothing is
/// written.
///
/// # Errors
/// [`Error::Defect`] if the role changed since the rule saw it.
pub fn save(
    tx: &Tx<'_>,
    who: &Principal,
    action: Action,
    before: &Role,
    after: &RoleRecord,
    stamp: &Stamp,
) -> Result<(), Error> {
    if before.record == *after {
        return Ok(());
    }
    update(tx, before, after)?;
    if before.record.seats.status == RoleStatus::Open && after.seats.status != RoleStatus::Open {
        invitation::end_all(tx, &after.id)?;
    }
    let difference = StatusCounts::of_role(after.seats).minus(StatusCounts::of_role(before.record.seats));
    organization::move_status(tx, &before.organization_id, difference)?;
    let subject = Subject::of_role(before.organization_id.clone(), after.id.clone());
    let detail = difference_of(&detail(&before.record)?, &detail(after)?)?;
    activity::append(tx, stamp, Some(who), action, &subject, &detail)
}

fn update(tx: &Tx<'_>, before: &Role, after: &RoleRecord) -> Result<(), Error> {
    // Guarded by the seats that the rule saw.
    let sql = "UPDATE roles
               SET name = $1, description = $2, department = $3, location = $4, work_type = $5, collar_type = $6,
                 salary_min = $7, salary_max = $8, salary_currency = $9, salary_period = $10, status = $11, public = $12,
                 positions = $13, close_reason = $14, updated_at = $15, shown_since = CASE WHEN $16 THEN $15 ELSE shown_since END
               WHERE organization_id = $17 AND id = $18 AND status = $19 AND positions = $20 AND hired = $21";
    let params: [&dyn ToSql; 21] = [
        &after.name,
        &after.description,
        &after.department,
        &after.location,
        &after.work_type.map(WorkType::as_str),
        &after.collar_type.map(CollarType::as_str),
        &after.salary.min,
        &after.salary.max,
        &after.salary.currency,
        &after.salary.period.map(SalaryPeriod::as_str),
        &after.seats.status.as_str(),
        &after.public,
        &after.seats.positions,
        &after.close_reason,
        &tx.now.micros(),
        &changes_portal(&before.record, after),
        &before.organization_id.as_str(),
        &after.id.as_str(),
        &before.record.seats.status.as_str(),
        &before.record.seats.positions,
        &before.record.seats.hired,
    ];
    if tx.run(sql, &params[..])? == 1 {
        Ok(())
    } else {
        Err(Error::Defect(format!("role {} changed since the rule saw it", after.id)))
    }
}

/// Whether the portal shows the change. It shows neither hires nor positions nor the reason for closing.
fn changes_portal(before: &RoleRecord, after: &RoleRecord) -> bool {
    let hidden_changes = RoleRecord {
        seats: Seats { status: after.seats.status, ..before.seats },
        close_reason: before.close_reason.clone(),
        ..after.clone()
    };
    *before != hidden_changes
}

/// Deletes a draft without applications, with its steps. Its activity stays.
///
/// # Errors
/// [`Error::Defect`] if the role is no draft, or has applications.
pub fn delete(tx: &Tx<'_>, who: &Principal, role: &Role, stamp: &Stamp) -> Result<(), Error> {
    let id = role.record.id.as_str();
    let steps = role_step::of_role(tx, &role.record.id)?;
    for sql in ["DELETE FROM role_steps WHERE role_id = $1", "DELETE FROM invitations WHERE role_id = $1"] {
        tx.run(sql, [id])?;
    }
    let sql = "DELETE FROM roles
               WHERE organization_id = $1 AND id = $2 AND status = 'draft'";
    if tx.run(sql, (role.organization_id.as_str(), id))? != 1 {
        return Err(Error::Defect(format!("role {id} changed since the rule saw it")));
    }
    let difference = StatusCounts::default().minus(StatusCounts::of_role(role.record.seats));
    organization::move_status(tx, &role.organization_id, difference)?;
    let subject = Subject::of_role(role.organization_id.clone(), role.record.id.clone());
    let detail = activity::detail(&detail_with_steps(&role.record, &steps)?, &None::<()>)?;
    activity::append(tx, stamp, Some(who), Action::RoleDeleted, &subject, &detail)
}

/// The detail of a role in its activity.
fn detail(role: &RoleRecord) -> Result<Map<String, Value>, Error> {
    let text = |text: &str| Value::from(text);
    let amount = |amount: Option<f64>| amount.and_then(Number::from_f64).map(Value::Number);
    let description = serde_json::from_str(&role.description)
        .map_err(|error| Error::Defect(format!("a description is no JSON: {error}")))?;
    let members = [
        ("name", Some(text(&role.name))),
        ("description", Some(description)),
        ("department", Some(text(&role.department))),
        ("location", Some(text(&role.location))),
        ("workType", role.work_type.map(|word| text(word.as_str()))),
        ("collarType", role.collar_type.map(|word| text(word.as_str()))),
        ("salaryMin", amount(role.salary.min)),
        ("salaryMax", amount(role.salary.max)),
        ("salaryCurrency", role.salary.currency.as_deref().map(text)),
        ("salaryPeriod", role.salary.period.map(|word| text(word.as_str()))),
        ("status", Some(text(role.seats.status.as_str()))),
        ("public", Some(Value::from(role.public))),
        ("positions", Some(Value::from(role.seats.positions))),
        ("closeReason", role.close_reason.as_deref().map(text)),
    ];
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value.unwrap_or_default()));
    Ok(members.collect())
}

/// The detail of a role that was added or deleted.
fn detail_with_steps(role: &RoleRecord, steps: &[PipelineStep]) -> Result<Map<String, Value>, Error> {
    let mut members = detail(role)?;
    let steps = serde_json::to_value(role_step::details(steps))
        .map_err(|error| Error::Defect(format!("an activity cannot be encoded: {error}")))?;
    members.insert("steps".to_owned(), steps);
    Ok(members)
}

/// The detail of a change: the members that differ, on both sides. JSON text.
fn difference_of(before: &Map<String, Value>, after: &Map<String, Value>) -> Result<String, Error> {
    let differing = |of: &Map<String, Value>, other: &Map<String, Value>| -> Map<String, Value> {
        let members = of.iter().filter(|(name, value)| other.get(*name) != Some(*value));
        members.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    activity::detail(&differing(before, after), &differing(after, before))
}
