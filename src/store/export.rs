//! What is held about a candidate and no noun shows: what they typed when they applied, why they are held, and the answers
//! that are kept for repeats.

use super::tx::{self, Error, Tx};
use super::{activity, erasure};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::{CandidateId, Id, SignupId};
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

/// What somebody applied with, as they typed it.
#[derive(Debug, Clone)]
pub struct TypedSignup {
    /// Its id.
    pub id: SignupId,
    /// The role.
    pub role_id: String,
    /// The application, where it made one.
    pub candidate_role_id: Option<String>,
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
    /// The telephone number; empty where none was given.
    pub phone: String,
    /// A JSON array of links.
    pub links: String,
    /// The note; empty where none was given.
    pub note: String,
    /// The language of the form.
    pub locale: String,
    /// When they agreed to the organization's notice.
    pub consented_at: Timestamp,
    /// When it was sent.
    pub created_at: Timestamp,
    /// When they took it back on their status page.
    pub withdrew_at: Option<Timestamp>,
}

/// What a candidate applied with, in the order that [`erasure`] takes it away in: of their applications first.
///
/// # Errors
/// When SQLite fails.
pub fn signups(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<TypedSignup>, Error> {
    let sql = "SELECT s.id, s.role_id, s.candidate_role_id, s.name, s.email, s.phone, s.links, s.note, s.locale,
                 s.consented_at, s.created_at, coalesce(p.withdrawn_at, q.withdrawn_at)
               FROM signups s
               LEFT JOIN status_pages p ON p.candidate_role_id = s.candidate_role_id
               LEFT JOIN status_pages q ON q.signup_id = s.id
               WHERE s.id = $1";
    let mut signups = Vec::new();
    for id in erasure::signup::of_candidate(tx, candidate)? {
        signups.extend(tx.one(sql, [id.as_str()], |row| {
            Ok(TypedSignup {
                id: tx::word(&row.get::<_, String>(0)?, SignupId::parse)?,
                role_id: row.get(1)?,
                candidate_role_id: row.get(2)?,
                name: row.get(3)?,
                email: row.get(4)?,
                phone: row.get(5)?,
                links: row.get(6)?,
                note: row.get(7)?,
                locale: row.get(8)?,
                consented_at: tx::time(row, 9)?,
                created_at: tx::time(row, 10)?,
                withdrew_at: tx::time_or_none(row, 11)?,
            })
        })?);
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
