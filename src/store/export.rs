//! Queries for the subject-access export: the stored responses about a candidate, and all of the candidate's signups.
//! This module also records the export in the activity, and counts all signups for the command `export`.

use super::activity;
use super::signup::{self, Signup};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::CandidateId;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// A response that is stored for repeats of its request.
#[derive(Debug, Clone)]
pub struct ExportedResponse {
    pub at: Timestamp,
    pub status: u16,
    /// The body; `None` if it contained a secret or was erased.
    pub body: Option<String>,
}

/// Reads the stored responses about a candidate, oldest first.
pub fn stored_responses(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<ExportedResponse>, Error> {
    let sql = "SELECT created_at, status, answer
               FROM idempotency_keys
               WHERE candidate_id = $1
               ORDER BY created_at, key_number, idempotency_key";
    tx.all(sql, [candidate.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(ExportedResponse { at: columns.time()?, status: columns.read()?, body: columns.read()? })
    })
}

/// Reads the signups of a candidate in the order in which an erasure deletes them: the signups that created
/// applications come first.
pub fn signups(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<Signup>, Error> {
    let mut signups = Vec::new();
    for id in signup::ids_of_candidate(tx, candidate)? {
        signups.extend(signup::find(tx, &id)?);
    }
    Ok(signups)
}

/// Counts the signups in the database.
pub fn signups_count(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT count(*)
               FROM signups";
    Ok(tx.value(sql, [])?.unwrap_or(0))
}

/// Records that a user exported a candidate's data.
pub fn record(tx: &Tx<'_>, stamp: &Stamp, who: &Principal, subject: &Subject) -> Result<(), Error> {
    let detail = activity::detail(&None::<()>, &None::<()>)?;
    activity::append(tx, stamp, Some(who), Action::CandidateExported, subject, &detail)
}
