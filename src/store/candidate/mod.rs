//! Candidates: people who apply to an organization. Within an organization, each address is unique. `search` lists
//! candidates, and `word_index` stores the words for searches. `recorded_act` changes candidates and records the
//! changes.

mod number_source;
pub mod recorded_act;
pub mod search;
#[cfg(test)]
mod tests;
pub mod word_index;

use self::word_index::IndexedText;
use crate::db::row::{Columns, Row};
use crate::db::tx::{self, Error, Tx};
use crate::domain::erasure::Privacy;
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;

/// A candidate in the form that imports and exports use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateRecord {
    pub id: CandidateId,
    pub name: String,
    pub email: Email,
    /// The candidate's legal hold and erasure.
    pub privacy: Privacy,
}

/// A stored candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The candidate's number in the database. Newer candidates have higher numbers.
    pub number: i64,
    pub id: CandidateId,
    pub organization_id: OrganizationId,
    /// The candidate's name, or the name of a tombstone.
    pub name: String,
    /// The candidate's address, or the address of a tombstone.
    pub email: String,
    /// Whether a legal hold prevents the candidate's erasure.
    pub is_held: bool,
    pub is_erased: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Candidate {
    /// Converts the candidate into a record without a legal hold or an erasure.
    ///
    /// # Errors
    /// [`Error::Defect`] if the stored address cannot be parsed.
    pub fn into_record(self) -> Result<CandidateRecord, Error> {
        let email = tx::word(&self.email, Email::parse_stored)?;
        Ok(CandidateRecord { id: self.id, name: self.name, email, privacy: Privacy::default() })
    }
}

/// Inserts a candidate. Returns `false` if the id, or the address in the organization, is taken.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationId, candidate: &CandidateRecord) -> Result<bool, Error> {
    let sql = "INSERT INTO candidates (id, organization_id, name, email, email_key, hold_reason, erased_at, created_at,
                 updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
               ON CONFLICT DO NOTHING
               RETURNING number";
    let CandidateRecord { id, name, email, privacy } = candidate;
    let (hold_reason, erased_at) = (&privacy.hold_reason, privacy.erased_at.map(Timestamp::micros));
    let (organization_id, now) = (organization.as_str(), tx.now.micros());
    let params = (id.as_str(), organization_id, name, email.as_str(), email.key(), hold_reason, erased_at, now);
    let Some(number) = tx.value(sql, params)? else { return Ok(false) };
    if erased_at.is_none() {
        word_index::insert(tx, &IndexedText { organization_id, number, name, email: email.as_str() })?;
    }
    Ok(true)
}

/// The columns that [`read_candidate`] reads.
macro_rules! candidate_columns {
    () => {
        "number, id, organization_id, name, email, hold_reason IS NOT NULL, erased_at IS NOT NULL, created_at, updated_at"
    };
}

fn read_candidate(row: &Row<'_>) -> Result<Candidate, Error> {
    let mut columns = Columns::of(row);
    Ok(Candidate {
        number: columns.read()?,
        id: columns.parse(CandidateId::parse)?,
        organization_id: columns.parse(OrganizationId::parse)?,
        name: columns.read()?,
        email: columns.read()?,
        is_held: columns.read()?,
        is_erased: columns.read()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
    })
}

/// Finds a candidate of the organization.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId, id: &CandidateId) -> Result<Option<Candidate>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        candidate_columns!(),
        " FROM candidates
          WHERE id = $1 AND organization_id = $2"
    );
    tx.one(SQL, (id.as_str(), organization.as_str()), read_candidate)
}

/// Finds the candidate of the organization who has this address.
pub fn with_email(tx: &Tx<'_>, organization: &OrganizationId, email: &Email) -> Result<Option<Candidate>, Error> {
    tx.one(BY_EMAIL, (organization.as_str(), email.key()), read_candidate)
}

const BY_EMAIL: &str = concat!(
    "SELECT ",
    candidate_columns!(),
    " FROM candidates
      WHERE organization_id = $1 AND email_key = $2"
);

/// Selects an organization's candidate by number.
const BY_NUMBER: &str = concat!(
    "SELECT ",
    candidate_columns!(),
    " FROM candidates
      WHERE number = $1 AND organization_id = $2"
);

/// Selects an organization's candidates with numbers up to a bound, newest first.
const NEWEST: &str = concat!(
    "SELECT ",
    candidate_columns!(),
    " FROM candidates
      WHERE organization_id = $1 AND number <= $2
      ORDER BY number DESC
      LIMIT $3"
);

/// Changes the name and the address of a candidate, and the candidate's words in the word index. Records no activity.
///
/// # Errors
/// [`Error::Defect`] if the candidate no longer exists, was erased, or would get an address that is taken. The caller
/// must rule out these cases first.
pub(super) fn update(tx: &Tx<'_>, before: &Candidate, name: &str, email: &Email) -> Result<(), Error> {
    let organization_id = before.organization_id.as_str();
    let sql = "UPDATE candidates
               SET name = $1, email = $2, email_key = $3, updated_at = $4
               WHERE id = $5 AND organization_id = $6 AND erased_at IS NULL";
    let now = tx.now.micros();
    let touched = tx.run(sql, (name, email.as_str(), email.key(), now, before.id.as_str(), organization_id))?;
    if touched != 1 {
        return Err(Error::Defect(format!("candidate {} is gone", before.id)));
    }
    let number = before.number;
    word_index::delete(tx, &IndexedText { organization_id, number, name: &before.name, email: &before.email })?;
    word_index::insert(tx, &IndexedText { organization_id, number, name, email: email.as_str() })
}

/// Returns whether the database has a candidate with this id, in any organization.
pub fn exists(tx: &Tx<'_>, candidate: &CandidateId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidates
               WHERE id = $1";
    tx.exists(sql, [candidate.as_str()])
}
