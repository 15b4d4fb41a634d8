//! Candidates: people who apply to one organization, unique there by address. Lists of them are in `search`, what they are
//! found by in `words`, what staff do with them in `acts`.

pub mod acts;
pub mod search;
mod source;
pub mod words;

use crate::db::row::Row;

use crate::db::tx::{self, Error, Tx};
use crate::domain::erasure::Privacy;
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use words::Worded;

/// A person who applies to one organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The candidate's id.
    pub id: CandidateId,
    /// The candidate's name.
    pub name: String,
    /// The candidate's address.
    pub email: Email,
    /// Whether they are held or erased.
    pub privacy: Privacy,
}

/// A candidate as they are in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The order in which they came.
    pub number: i64,
    /// The candidate's id.
    pub id: CandidateId,
    /// The organization that they apply to.
    pub organization_id: OrganizationId,
    /// The candidate's name; of one who was erased, what stands for it.
    pub name: String,
    /// The candidate's address; of one who was erased, what stands for it.
    pub email: String,
    /// Whether they are held for a legal case, and so not erased.
    pub is_held: bool,
    /// Whether their personal data was erased.
    pub is_erased: bool,
    /// When they came.
    pub created_at: Timestamp,
    /// When they were last changed.
    pub updated_at: Timestamp,
}

impl Candidate {
    /// The candidate as documents have them.
    ///
    /// # Errors
    /// [`Error::Defect`] where their address is none: they were erased.
    pub fn into_record(self) -> Result<Record, Error> {
        let email = tx::word(&self.email, Email::parse_stored)?;
        Ok(Record { id: self.id, name: self.name, email, privacy: Privacy::default() })
    }
}

/// Adds a candidate. Whether there was none with this id, or this address in the organization, before.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationId, candidate: &Record) -> Result<bool, Error> {
    let sql = "INSERT INTO candidates (id, organization_id, name, email, email_key, hold_reason, erased_at, created_at,
                 updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
               ON CONFLICT DO NOTHING
               RETURNING number";
    let Record { id, name, email, privacy } = candidate;
    let (hold_reason, erased_at) = (&privacy.hold_reason, privacy.erased_at.map(Timestamp::micros));
    let (organization_id, now) = (organization.as_str(), tx.now.micros());
    let params = (id.as_str(), organization_id, name, email.as_str(), email.key(), hold_reason, erased_at, now);
    let Some(number) = tx.one(sql, params, |row| Ok(row.get(0)?))? else { return Ok(false) };
    if erased_at.is_some() {
        return Ok(true);
    }
    words::index(tx, &Worded { organization_id: organization.as_str(), number, name, email: email.as_str() })?;
    Ok(true)
}

/// What [`candidate`] reads.
macro_rules! columns {
    () => {
        "number, id, organization_id, name, email, hold_reason IS NOT NULL, erased_at IS NOT NULL, created_at, updated_at"
    };
}

fn candidate(row: &Row<'_>) -> Result<Candidate, Error> {
    Ok(Candidate {
        number: row.get(0)?,
        id: tx::word(&row.get::<_, String>(1)?, CandidateId::parse)?,
        organization_id: tx::word(&row.get::<_, String>(2)?, OrganizationId::parse)?,
        name: row.get(3)?,
        email: row.get(4)?,
        is_held: row.get(5)?,
        is_erased: row.get(6)?,
        created_at: tx::time(row, 7)?,
        updated_at: tx::time(row, 8)?,
    })
}

/// A candidate of an organization.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId, id: &CandidateId) -> Result<Option<Candidate>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM candidates
          WHERE id = $1 AND organization_id = $2"
    );
    tx.one(SQL, (id.as_str(), organization.as_str()), candidate)
}

/// The candidate of an organization who has this address.
///
/// # Errors
/// When SQLite fails.
pub fn with_email(tx: &Tx<'_>, organization: &OrganizationId, email: &Email) -> Result<Option<Candidate>, Error> {
    tx.one(BY_EMAIL, (organization.as_str(), email.key()), candidate)
}

const BY_EMAIL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM candidates
      WHERE organization_id = $1 AND email_key = $2"
);

/// A candidate of an organization, by their number.
const BY_NUMBER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM candidates
      WHERE number = $1 AND organization_id = $2"
);

/// Everybody of an organization from a number on, newest first.
const NEWEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM candidates
      WHERE organization_id = $1 AND number <= $2
      ORDER BY number DESC
      LIMIT $3"
);

/// Gives a candidate another name and address, and the words that go with them. Nothing is put on record.
///
/// # Errors
/// [`Error::Defect`] where the candidate is gone, or the address is taken, which the caller looks at first.
pub(super) fn change(tx: &Tx<'_>, before: &Candidate, name: &str, email: &Email) -> Result<(), Error> {
    let organization_id = before.organization_id.as_str();
    let sql = "UPDATE candidates
               SET name = $1, email = $2, email_key = $3, updated_at = $4
               WHERE id = $5 AND organization_id = $6 AND erased_at IS NULL";
    let now = tx.now.micros();
    let touched = tx.run(sql, (name, email.as_str(), email.key(), now, before.id.as_str(), organization_id))?;
    if touched != 1 {
        return Err(Error::Defect(format!("candidate {} is gone", before.id)));
    }
    words::unindex(tx, &Worded { organization_id, number: before.number, name: &before.name, email: &before.email })?;
    words::index(tx, &Worded { organization_id, number: before.number, name, email: email.as_str() })
}

/// Whether there is such a candidate.
///
/// # Errors
/// When SQLite fails.
pub fn exists(tx: &Tx<'_>, candidate: &CandidateId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidates
               WHERE id = $1";
    tx.exists(sql, [candidate.as_str()])
}

#[cfg(test)]
mod tests;
