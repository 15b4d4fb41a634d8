//! Applications of candidates to roles.

use rusqlite::Row;

use super::candidate;
use super::tx::{self, Error, Tx};
use crate::domain::candidate_step::{ApplicationStatus, HireRecord};
use crate::domain::id::{CandidateId, CandidateRoleId, Id, OrganizationId, RoleId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;

/// A candidate's application to one role, without its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: CandidateRoleId,
    /// Where it is.
    pub status: ApplicationStatus,
    /// When the candidate applied.
    pub applied_at: Timestamp,
    /// The record of the hire; there exactly while it is `Hired`.
    pub hire: Option<HireRecord>,
}

/// Adds an application of an organization's candidate to one of its roles. Whether there was none with this id, or by
/// this candidate to this role, before.
///
/// # Errors
/// When SQLite fails.
pub fn insert(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    candidate: &CandidateId,
    application: &Record,
) -> Result<bool, Error> {
    let sql = "INSERT INTO candidate_roles (id, organization_id, candidate_id, role_id, status, applied_at, updated_at,
                 hired_date, offer_accepted_date, external_position_id, hire_notes)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
               ON CONFLICT DO NOTHING";
    let hire = application.hire.as_ref();
    let touched = tx.run(
        sql,
        (
            application.id.as_str(),
            organization.as_str(),
            candidate.as_str(),
            role.as_str(),
            application.status.as_str(),
            application.applied_at.micros(),
            tx.now.micros(),
            hire.map(|hire| hire.hired_date.micros()),
            hire.and_then(|hire| hire.offer_accepted_date).map(Timestamp::micros),
            hire.and_then(|hire| hire.external_position_id.as_deref()),
            hire.and_then(|hire| hire.notes.as_deref()),
        ),
    )?;
    Ok(touched == 1)
}

/// Every application to a role with its candidate, in the order in which they came.
///
/// # Errors
/// When SQLite fails.
pub fn of_role(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<(Record, candidate::Record)>, Error> {
    let sql = "SELECT a.id, a.status, a.applied_at, a.hired_date, a.offer_accepted_date, a.external_position_id,
                 a.hire_notes, c.id, c.name, c.email
               FROM candidate_roles a
               JOIN candidates c ON c.id = a.candidate_id
               WHERE a.role_id = $1
               ORDER BY a.applied_at, a.id";
    tx.all(sql, [role.as_str()], application)
}

fn application(row: &Row<'_>) -> Result<(Record, candidate::Record), Error> {
    let hire = match tx::time_or_none(row, 3)? {
        None => None,
        Some(hired_date) => Some(HireRecord {
            hired_date,
            offer_accepted_date: tx::time_or_none(row, 4)?,
            external_position_id: row.get(5)?,
            notes: row.get(6)?,
        }),
    };
    let record = Record {
        id: tx::word(&row.get::<_, String>(0)?, CandidateRoleId::parse)?,
        status: tx::word(&row.get::<_, String>(1)?, ApplicationStatus::parse)?,
        applied_at: tx::time(row, 2)?,
        hire,
    };
    let candidate = candidate::Record {
        id: tx::word(&row.get::<_, String>(7)?, CandidateId::parse)?,
        name: row.get(8)?,
        email: tx::word(&row.get::<_, String>(9)?, Email::parse)?,
    };
    Ok((record, candidate))
}

/// Whether there is such an application.
///
/// # Errors
/// When SQLite fails.
pub fn exists(tx: &Tx<'_>, application: &CandidateRoleId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidate_roles
               WHERE id = $1";
    Ok(tx.one(sql, [application.as_str()], |_| Ok(()))?.is_some())
}
