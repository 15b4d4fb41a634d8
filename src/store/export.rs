//! What is held about a candidate and no noun shows: what they typed when they applied, why they are held, and the answers
//! that are kept for repeats.

use super::activity;
use super::erasure::signup;
use super::status_page::sent::{self, Sent};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::CandidateId;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// An answer that is kept for a day, for a repeat of its request.
#[derive(Debug, Clone)]
pub struct StoredAnswer {
    /// When it was given.
    pub at: Timestamp,
    /// Its status.
    pub status: u16,
    /// Its body, where it is kept.
    pub answer: Option<String>,
}

/// The answers about a candidate that are kept, oldest first.
///
/// # Errors
/// When SQLite fails.
pub fn stored_answers(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<StoredAnswer>, Error> {
    let sql = "SELECT created_at, status, answer
               FROM idempotency_keys
               WHERE candidate_id = $1
               ORDER BY created_at, key_number, idempotency_key";
    tx.all(sql, [candidate.as_str()], |row| {
        Ok(StoredAnswer { at: tx::time(row, 0)?, status: row.get(1)?, answer: row.get(2)? })
    })
}

/// What a candidate applied with, in the order that an erasure deletes it in: of their applications first.
///
/// # Errors
/// When SQLite fails.
pub fn signups(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<Sent>, Error> {
    let mut signups = Vec::new();
    for id in signup::of_candidate(tx, candidate)? {
        signups.extend(sent::find(tx, &id)?);
    }
    Ok(signups)
}

/// How many signups there are.
///
/// # Errors
/// When SQLite fails.
pub fn signups_count(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT count(*)
               FROM signups";
    Ok(tx.one(sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0))
}

/// Puts on record that a candidate's data was handed out.
///
/// # Errors
/// When SQLite fails.
pub fn record(tx: &Tx<'_>, stamp: &Stamp, who: &Principal, subject: &Subject) -> Result<(), Error> {
    let detail = activity::detail(&None::<()>, &None::<()>)?;
    activity::append(tx, stamp, Some(who), Action::CandidateExported, subject, &detail)
}
