//! Candidates: people who apply to one organization, unique there by address.

use super::tx::{Error, Tx};
use crate::domain::id::{CandidateId, OrganizationId};
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
               ON CONFLICT DO NOTHING";
    let Record { id, name, email } = candidate;
    let now = tx.now.micros();
    Ok(tx.run(sql, (id.as_str(), organization.as_str(), name, email.as_str(), email.key(), now))? == 1)
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
