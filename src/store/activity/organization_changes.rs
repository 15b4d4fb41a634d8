//! The acts in an organization after an activity row. Open pages of the staff console request them every few seconds.
//!
//! If no acts follow the row, an answer costs one search of the activity. Otherwise, it costs at most three searches.
//! The last search reads at most [`SCANNED_MAX`] + 1 activity rows with their users. Unlike the changes in
//! [`role_changes`](super::role_changes), these changes include every act in the organization, for example an erasure,
//! which names no role.

use super::page::number;
use super::role_changes::author;
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::Subject;
use crate::domain::id::{ActivityId, ApplicationId, CandidateId, Id, OrganizationId, RoleId};
use crate::domain::role_version::ChangeAuthor;
use crate::domain::timestamp::Timestamp;

/// The maximum number of acts in one answer: more than an organization usually gets in a few seconds, except in a
/// decision batch.
pub const SCANNED_MAX: usize = 200;

/// The acts after an activity row, the oldest first.
#[derive(Debug, Clone)]
pub struct OrganizationChanges {
    pub changes: Vec<OrganizationChange>,
    /// The cursor of the last act or, without an act, the cursor of the request.
    pub cursor: String,
    /// Whether more rows follow.
    pub has_more: bool,
}

/// An act in an organization.
#[derive(Debug, Clone)]
pub struct OrganizationChange {
    /// The word for the act. The database can contain words that this version of the program does not know.
    pub action: String,
    pub at: Timestamp,
    /// The user who acted; `None` if no user acted.
    pub by: Option<ChangeAuthor>,
    pub role_id: Option<RoleId>,
    pub candidate_id: Option<CandidateId>,
    pub application_id: Option<ApplicationId>,
}

/// Returns the cursor of the newest activity row of an organization. An organization without activity has its own id as
/// its cursor. The cursors are ids, because the number of a row would reveal how much activity the whole database
/// contains.
pub fn newest(tx: &Tx<'_>, organization: &OrganizationId) -> Result<String, Error> {
    let id: Option<String> = tx.value(NEWEST, [organization.as_str()])?;
    Ok(id.unwrap_or_else(|| organization.to_string()))
}

/// Returns the acts after the row that the cursor names, or `None` if the cursor names no row of the organization.
pub fn since(tx: &Tx<'_>, organization: &OrganizationId, cursor: &str) -> Result<Option<OrganizationChanges>, Error> {
    if newest(tx, organization)? == cursor {
        return Ok(Some(OrganizationChanges { changes: Vec::new(), cursor: cursor.to_owned(), has_more: false }));
    }
    let Some(after) = number_of(tx, organization, cursor)? else { return Ok(None) };
    let rows_max = i64::try_from(SCANNED_MAX + 1).unwrap_or(i64::MAX);
    let mut rows = tx.all(SINCE, (organization.as_str(), after, rows_max), change)?;
    let has_more = rows.len() > SCANNED_MAX;
    rows.truncate(SCANNED_MAX);
    let cursor = rows.last().map_or_else(|| cursor.to_owned(), |(id, _)| id.to_string());
    Ok(Some(OrganizationChanges { changes: rows.into_iter().map(|(_, change)| change).collect(), cursor, has_more }))
}

fn number_of(tx: &Tx<'_>, organization: &OrganizationId, cursor: &str) -> Result<Option<i64>, Error> {
    if cursor == organization.as_str() {
        return Ok(Some(0));
    }
    let Some(id) = ActivityId::parse(cursor) else { return Ok(None) };
    number(tx, &Subject::of_organization(organization.clone()), &id)
}

pub(in crate::store) const NEWEST: &str = "SELECT a.id
     FROM activities a
     WHERE a.organization_id = $1
     ORDER BY a.number DESC
     LIMIT 1";
pub(in crate::store) const SINCE: &str = "SELECT a.id, a.action, a.at, u.id, u.name, a.role_id, a.candidate_id,
       a.candidate_role_id
     FROM activities a
     LEFT JOIN users u ON u.id = a.user_id
     WHERE a.organization_id = $1 AND a.number > $2
     ORDER BY a.number
     LIMIT $3";

fn change(row: &Row<'_>) -> Result<(ActivityId, OrganizationChange), Error> {
    let mut columns = Columns::of(row);
    let id = columns.parse(ActivityId::parse)?;
    let change = OrganizationChange {
        action: columns.read()?,
        at: columns.time()?,
        by: author(&mut columns)?,
        role_id: columns.parse_or_none(RoleId::parse)?,
        candidate_id: columns.parse_or_none(CandidateId::parse)?,
        application_id: columns.parse_or_none(ApplicationId::parse)?,
    };
    Ok((id, change))
}
