//! Candidates: people who apply to one organization, unique there by address.

use super::tx::{self, Error, Tx};
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::search;
use crate::domain::text::Email;

/// A person who applies to one organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The candidate's id.
    pub id: CandidateId,
    /// The candidate's name.
    pub name: String,
    /// The candidate's address.
    pub email: Email,
}

/// Adds a candidate. Whether there was none with this id, or this address in the organization, before.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationId, candidate: &Record) -> Result<bool, Error> {
    let sql = "INSERT INTO candidates (id, organization_id, name, email, email_key, created_at, updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $6)
               ON CONFLICT DO NOTHING
               RETURNING number";
    let Record { id, name, email } = candidate;
    let params = (id.as_str(), organization.as_str(), name, email.as_str(), email.key(), tx.now.micros());
    let Some(number) = tx.one(sql, params, |row| Ok(row.get(0)?))? else { return Ok(false) };
    index(tx, organization, number, candidate)?;
    Ok(true)
}

/// Lets a candidate be found by the words of their name and address.
fn index(tx: &Tx<'_>, organization: &OrganizationId, number: i64, candidate: &Record) -> Result<(), Error> {
    let sql = "INSERT INTO candidate_words (organization_id, word, candidate_number, in_name)
               VALUES ($1, $2, $3, $4)";
    let words = search::of_candidate(&candidate.name, candidate.email.as_str());
    tx.run_each(sql, words.into_iter(), |(word, in_name)| Ok((organization.as_str(), word, number, in_name)))
}

/// Lets all be found that came from a file of a version without words.
///
/// # Errors
/// When SQLite fails.
pub(super) fn index_all(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "SELECT number, organization_id, id, name, email
               FROM candidates
               WHERE number > $1
               ORDER BY number
               LIMIT 10000";
    let mut number = 0;
    loop {
        let rows = tx.all(sql, [number], |row| {
            let organization = tx::word(&row.get::<_, String>(1)?, OrganizationId::parse)?;
            let id = tx::word(&row.get::<_, String>(2)?, CandidateId::parse)?;
            let email = tx::word(&row.get::<_, String>(4)?, Email::parse)?;
            Ok((row.get::<_, i64>(0)?, organization, Record { id, name: row.get(3)?, email }))
        })?;
        if rows.is_empty() {
            return Ok(());
        }
        for (of, organization, candidate) in rows {
            number = of;
            index(tx, &organization, of, &candidate)?;
        }
    }
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

/// The organization's candidate with this address.
///
/// # Errors
/// When SQLite fails.
pub fn with_email(tx: &Tx<'_>, organization: &OrganizationId, email: &Email) -> Result<Option<Record>, Error> {
    let sql = "SELECT id, name, email
               FROM candidates
               WHERE organization_id = $1 AND email_key = $2";
    tx.one(sql, (organization.as_str(), email.key()), |row| {
        Ok(Record {
            id: tx::word(&row.get::<_, String>(0)?, CandidateId::parse)?,
            name: row.get(1)?,
            email: tx::word(&row.get::<_, String>(2)?, Email::parse)?,
        })
    })
}
