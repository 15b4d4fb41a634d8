//! The changes to a role's applications after an activity row.
//!
//! The cost of an answer is bounded: at most three searches of the activity. The last search reads at most
//! [`SCANNED_MAX`] rows, each with its user and its candidate.

use super::page::number;
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Subject, is_reading};
use crate::domain::id::{ActivityId, ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId};
use crate::domain::role_version::ChangeAuthor;
use crate::domain::timestamp::Timestamp;

/// The maximum number of activity rows that are scanned for one answer: more than a role usually gets in a few seconds,
/// except in a decision batch.
pub const SCANNED_MAX: usize = 200;

/// The changes after an activity row, the oldest first.
#[derive(Debug, Clone)]
pub struct RoleChanges {
    pub changes: Vec<ApplicationChange>,
    /// The cursor of the newest activity row of the role or, without a row, the id of the role.
    pub current: String,
    /// The cursor of the last scanned row, if more rows follow.
    pub next: Option<String>,
}

/// An act on an application.
#[derive(Debug, Clone)]
pub struct ApplicationChange {
    pub activity_id: ActivityId,
    /// The word for the act. The database can contain words that this version of the program does not know.
    pub action: String,
    pub at: Timestamp,
    /// The user who acted; `None` if no user acted.
    pub by: Option<ChangeAuthor>,
    pub candidate_id: CandidateId,
    pub candidate_role_id: ApplicationId,
    pub candidate_role_step_id: Option<CandidateStepId>,
}

/// Returns the changes after the row that the cursor names. Without a cursor, there are no changes, only the current
/// cursor. The result leaves out acts on the role itself, acts that only read, and acts on erased candidates, so it can
/// have fewer changes than scanned rows. Returns `None` if the cursor names no row of the organization.
///
/// A cursor is the id of an activity row or, for the beginning, the id of the role.
pub fn since(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    after: Option<&str>,
) -> Result<Option<RoleChanges>, Error> {
    let newest = tx.one(NEWEST, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<i64>()?, columns.read::<String>()?))
    })?;
    let (newest, current) = newest.unwrap_or_else(|| (0, role.to_string()));
    let after = match after {
        None => Some(newest),
        Some(id) if id == role.as_str() => Some(0),
        Some(id) => number_of(tx, organization, id)?,
    };
    let Some(after) = after else { return Ok(None) };
    let scanned_max = i64::try_from(SCANNED_MAX).unwrap_or(i64::MAX);
    let rows = tx.all(SINCE, (organization.as_str(), role.as_str(), after, scanned_max), scanned_row)?;
    let last = rows.last().filter(|last| rows.len() == SCANNED_MAX && last.number < newest);
    let next = last.map(|last| last.id.to_string());
    Ok(Some(RoleChanges { changes: rows.into_iter().filter_map(|row| row.change).collect(), current, next }))
}

fn number_of(tx: &Tx<'_>, organization: &OrganizationId, id: &str) -> Result<Option<i64>, Error> {
    let Some(id) = ActivityId::parse(id) else { return Ok(None) };
    number(tx, &Subject::of_organization(organization.clone()), &id)
}

// The `coalesce` prevents the engine from using an index on the organization.
pub(in crate::store) const NEWEST: &str = "SELECT a.number, a.id
     FROM activities a
     WHERE coalesce(a.organization_id, '') = $1 AND a.role_id = $2
     ORDER BY a.number DESC
     LIMIT 1";
pub(in crate::store) const SINCE: &str =
    "SELECT a.number, a.id, a.action, a.at, u.id, u.name, c.id, a.candidate_role_id,
       a.candidate_role_step_id
     FROM activities a
     LEFT JOIN users u ON u.id = a.user_id
     LEFT JOIN candidates c ON c.id = a.candidate_id AND c.erased_at IS NULL
     WHERE coalesce(a.organization_id, '') = $1 AND a.role_id = $2 AND a.number > $3
     ORDER BY a.number
     LIMIT $4";

struct ScannedRow {
    number: i64,
    id: ActivityId,
    /// `None` for an act on the role itself, an act that only reads, or an act on an erased candidate.
    change: Option<ApplicationChange>,
}

fn scanned_row(row: &Row<'_>) -> Result<ScannedRow, Error> {
    let mut columns = Columns::of(row);
    let (number, id): (i64, ActivityId) = (columns.read()?, columns.parse(ActivityId::parse)?);
    let (action, at): (String, Timestamp) = (columns.read()?, columns.time()?);
    let by = author(&mut columns)?;
    let candidate = columns.parse_or_none(CandidateId::parse)?;
    let application = columns.parse_or_none(ApplicationId::parse)?;
    let candidate_role_step_id = columns.parse_or_none(CandidateStepId::parse)?;
    let change = candidate.zip(application).filter(|_| !is_reading(&action));
    let change = change.map(|(candidate_id, candidate_role_id)| {
        let activity_id = id.clone();
        ApplicationChange { activity_id, action, at, by, candidate_id, candidate_role_id, candidate_role_step_id }
    });
    Ok(ScannedRow { number, id, change })
}

/// Reads the two columns of the user. They are null if no user acted.
pub(in crate::store) fn author(columns: &mut Columns<'_>) -> Result<Option<ChangeAuthor>, Error> {
    let (id, name): (Option<String>, Option<String>) = (columns.read()?, columns.read()?);
    Ok(id.zip(name).map(|(id, name)| ChangeAuthor { id, name }))
}
