//! What was done, as staff read it: pages of what concerns an organization, one of its roles or one of its candidates.

use crate::db::row::Row;

use super::id;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, CHAIN_START, Subject};
use crate::domain::id::{
    ActivityId, ApiKeyId, ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId,
};
use crate::domain::timestamp::Timestamp;

/// One row, with who it was that did it.
#[derive(Debug, Clone)]
pub struct Activity {
    /// Its id.
    pub id: ActivityId,
    /// When.
    pub at: Timestamp,
    /// What was done, as it is spelled.
    pub action: String,
    /// By whom; nobody where the service did it by itself.
    pub actor: Option<Actor>,
    /// With which key.
    pub api_key_id: Option<ApiKeyId>,
    /// To which role.
    pub role_id: Option<RoleId>,
    /// To which candidate.
    pub candidate_id: Option<CandidateId>,
    /// To which application.
    pub candidate_role_id: Option<ApplicationId>,
    /// To which of its steps.
    pub candidate_role_step_id: Option<CandidateStepId>,
    /// Its detail: JSON text. Nothing where that was erased.
    pub detail: Option<String>,
    /// Its own hash.
    pub hash: [u8; 32],
    /// The hash of the row before it in the file, whosever that is.
    pub previous_hash: [u8; 32],
}

/// Who did something.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The user's id.
    pub id: String,
    /// The user's name, as it is now.
    pub name: String,
    /// The user's address, as it is now.
    pub email: String,
}

/// The columns of [`Activity`], from the tables that they are in.
pub(in crate::store) const SELECT: &str =
    "SELECT a.id, a.at, a.action, u.id, u.name, u.email, a.api_key_id, a.role_id, a.candidate_id,
       a.candidate_role_id, a.candidate_role_step_id, CASE WHEN a.salt IS NOT NULL THEN a.detail END, a.hash,
       (SELECT b.hash FROM activities b WHERE b.number = a.number - 1)
     FROM activities a
     LEFT JOIN users u ON u.id = a.user_id";

// An organization has an index for each action, because most of what is looked for among all that it did is rare. A role
// and a candidate have few rows, so those are looked through; the `+` keeps the organization's indexes out of it.
pub(in crate::store) const OF_ORGANIZATION: &str = "WHERE a.organization_id = $1 AND a.number < $2
     ORDER BY a.number DESC
     LIMIT $3";
pub(in crate::store) const OF_ORGANIZATION_BY_ACTION: &str =
    "WHERE a.organization_id = $1 AND a.number < $2 AND a.action = $3
     ORDER BY a.number DESC
     LIMIT $4";
pub(in crate::store) const OF_ROLE: &str =
    "WHERE +a.organization_id = $1 AND a.number < $2 AND a.role_id = $3 AND ($4 IS NULL OR a.action = $4)
     ORDER BY a.number DESC
     LIMIT $5";
pub(in crate::store) const OF_CANDIDATE: &str =
    "WHERE +a.organization_id = $1 AND a.number < $2 AND a.candidate_id = $3 AND ($4 IS NULL OR a.action = $4)
     ORDER BY a.number DESC
     LIMIT $5";

/// A page of what concerns an organization, or of what concerns the role or the candidate that the subject names, before
/// the row with this number, newest first.
///
/// # Errors
/// When SQLite fails.
pub fn page(
    tx: &Tx<'_>,
    subject: &Subject,
    action: Option<Action>,
    before: i64,
    rows_max: usize,
) -> Result<Vec<Activity>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let organization = subject.organization_id.as_ref().map(OrganizationId::as_str);
    let action = action.map(Action::as_str);
    match (&subject.role_id, &subject.candidate_id, action) {
        (Some(role), _, action) => {
            let params = (organization, before, role.as_str(), action, rows_max);
            tx.all(&format!("{SELECT} {OF_ROLE}"), params, activity)
        }
        (None, Some(candidate), action) => {
            let params = (organization, before, candidate.as_str(), action, rows_max);
            tx.all(&format!("{SELECT} {OF_CANDIDATE}"), params, activity)
        }
        (None, None, Some(action)) => {
            let params = (organization, before, action, rows_max);
            tx.all(&format!("{SELECT} {OF_ORGANIZATION_BY_ACTION}"), params, activity)
        }
        (None, None, None) => {
            tx.all(&format!("{SELECT} {OF_ORGANIZATION}"), (organization, before, rows_max), activity)
        }
    }
}

/// The number of an organization's row.
///
/// # Errors
/// When SQLite fails.
pub fn number(tx: &Tx<'_>, subject: &Subject, activity: &ActivityId) -> Result<Option<i64>, Error> {
    let sql = "SELECT number
               FROM activities
               WHERE id = $1 AND organization_id = $2";
    let organization = subject.organization_id.as_ref().map(OrganizationId::as_str);
    tx.one(sql, (activity.as_str(), organization), |row| Ok(row.get(0)?))
}

pub(super) fn activity(row: &Row<'_>) -> Result<Activity, Error> {
    let actor = match row.get(3)? {
        Some(id) => Some(Actor { id, name: row.get(4)?, email: row.get(5)? }),
        None => None,
    };
    Ok(Activity {
        id: tx::word(&row.get::<_, String>(0)?, ActivityId::parse)?,
        at: tx::time(row, 1)?,
        action: row.get(2)?,
        actor,
        api_key_id: id(row, 6)?,
        role_id: id(row, 7)?,
        candidate_id: id(row, 8)?,
        candidate_role_id: id(row, 9)?,
        candidate_role_step_id: id(row, 10)?,
        detail: row.get(11)?,
        hash: row.get(12)?,
        previous_hash: row.get::<_, Option<[u8; 32]>>(13)?.unwrap_or(CHAIN_START),
    })
}
