//! Later marks: the due day of an application that staff put aside, in a column of `candidate_roles`. Only an
//! application in progress has a mark. A decision ([`application::save`](super::application::save)) or a withdrawal
//! removes the mark. An undo restores it.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::activity;
use super::application::Application;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::due_day::DueDay;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, UserId};
use crate::domain::later::MarkChange;
use crate::domain::user::Principal;

/// Saves or removes the mark of an application, and appends an activity row. Does nothing, and returns false, if the
/// mark does not change. `before` is the application before the change. The application's `updated_at` does not change,
/// because nothing about the candidate changes.
///
/// # Errors
/// [`Error::Defect`] if the application is not in progress. Check its status before you add a mark.
pub fn save(
    tx: &Tx<'_>,
    who: &Principal,
    organization: &OrganizationId,
    before: &Application,
    due_on: Option<DueDay>,
    stamp: &Stamp,
) -> Result<bool, Error> {
    let id = &before.record.id;
    if before.record.later_due_on == due_on {
        return Ok(false);
    }
    let sql = "UPDATE candidate_roles
               SET later_due_on = $1
               WHERE id = $2 AND organization_id = $3 AND status = 'In Progress'";
    let text = due_on.map(|day| day.to_string());
    if tx.run(sql, (text, id.as_str(), organization.as_str()))? != 1 {
        return Err(Error::Defect(format!("application {id} is not in progress")));
    }
    let subject = Subject {
        role_id: Some(before.role_id.clone()),
        candidate_role_id: Some(id.clone()),
        candidate_role_step_id: before.current.as_ref().map(|current| current.id.clone()),
        ..Subject::of_candidate(organization.clone(), before.candidate_id.clone())
    };
    let side = |due_on: Option<DueDay>| LaterDetail { later_due_on: due_on.map(|day| day.to_string()) };
    let detail = activity::detail(&side(before.record.later_due_on), &side(due_on))?;
    let action = if due_on.is_some() { Action::PutAside } else { Action::TakenUp };
    activity::append(tx, stamp, Some(who), action, &subject, &detail)?;
    Ok(true)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LaterDetail {
    later_due_on: Option<String>,
}

/// Returns the newest change to the mark of an application. Returns `None` if a decision has followed the change, if
/// nobody has changed the mark, or if the detail of the change was erased.
pub fn last_change(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    application: &Application,
) -> Result<Option<MarkChange>, Error> {
    let latest = activity::latest_act(tx, organization, &application.candidate_id, &application.record.id)?;
    Ok(latest.as_ref().and_then(change))
}

/// Returns the change to a later mark that an activity row records, if it records one.
pub fn change(row: &activity::Activity) -> Option<MarkChange> {
    #[derive(Deserialize)]
    struct Recorded {
        before: Side,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Side {
        later_due_on: Option<String>,
    }
    matches!(Action::parse(&row.action)?, Action::PutAside | Action::TakenUp).then_some(())?;
    let recorded: Recorded = serde_json::from_str(row.detail.as_ref()?).ok()?;
    let by = UserId::parse(&row.actor.as_ref()?.id)?;
    let before = recorded.before.later_due_on.as_deref().and_then(DueDay::parse);
    Some(MarkChange { before, at: row.at, by })
}

/// An application that has come back: its due day is today or earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueApplication {
    pub id: ApplicationId,
    pub due_on: DueDay,
    pub candidate_id: CandidateId,
    pub candidate_name: String,
    pub role_id: RoleId,
    pub role_name: String,
    /// The step that the candidate is at, with its name. `None` if the candidate has passed every step.
    pub step: Option<(CandidateStepId, String)>,
}

/// Returns a page of the organization's applications that have come back. The applications that have been due the
/// longest come first. `today` is the current day in the organization's time zone. `after` is the last entry before the
/// page.
pub fn due(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    today: Date,
    after: Option<(DueDay, &ApplicationId)>,
    rows_max: usize,
) -> Result<Vec<DueApplication>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    // Every day and every id is after the empty string.
    let (day, id) = after.map_or((String::new(), ""), |(day, id)| (day.to_string(), id.as_str()));
    tx.all(DUE, (organization.as_str(), today.to_string(), day, id, rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok(DueApplication {
            id: columns.parse(ApplicationId::parse)?,
            due_on: columns.parse(DueDay::parse)?,
            candidate_id: columns.parse(CandidateId::parse)?,
            candidate_name: columns.read()?,
            role_id: columns.parse(RoleId::parse)?,
            role_name: columns.read()?,
            step: columns.parse_or_none(CandidateStepId::parse)?.zip(columns.read()?),
        })
    })
}

pub(super) const DUE: &str = "SELECT a.id, a.later_due_on, c.id, c.name, r.id, r.name, s.id, s.name
     FROM candidate_roles a
     JOIN candidates c ON c.number = a.candidate_number
     JOIN roles r ON r.id = a.role_id
     LEFT JOIN candidate_role_steps s ON s.candidate_role_id = a.id AND s.role_step_id = a.at_role_step_id
     WHERE a.organization_id = $1 AND a.later_due_on <= $2 AND (a.later_due_on, a.id) > ($3, $4)
     ORDER BY a.later_due_on, a.id
     LIMIT $5";
