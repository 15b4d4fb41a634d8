//! Applications of candidates to roles, and what decisions make of them.

use crate::db::row::Row;

use super::candidate;
use crate::db::tx::{self, Error, Tx};
use crate::domain::candidate_step::{
    self, ApplicationStatus, CandidateStep, Decision, HireRecord, StepFacts, StepType,
};
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;

/// A candidate's application to one role, without its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: ApplicationId,
    /// Where it is.
    pub status: ApplicationStatus,
    /// When the candidate applied.
    pub applied_at: Timestamp,
    /// The record of the hire; there exactly while it is `Hired`.
    pub hire: Option<HireRecord>,
}

/// Adds an application of an organization's candidate to one of its roles; where the candidate is follows from the steps
/// that it will have. Whether there was none with this id, or by
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
    steps: &[CandidateStep],
) -> Result<bool, Error> {
    let sql = "INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status,
                 at_role_step_id, at_since, applied_at, updated_at, hired_date, offer_accepted_date, external_position_id,
                 hire_notes)
               VALUES ($1, $2, $3, (SELECT number FROM candidates WHERE id = $3), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
               ON CONFLICT DO NOTHING";
    let at_role_step = candidate_step::current(application.status, steps).map(|step| step.role_step_id.as_str());
    let since = candidate_step::at_step_since(application.applied_at, steps);
    let (hired_date, offer_accepted_date, external_position_id, hire_notes) = hire_columns(application.hire.as_ref());
    let touched = tx.run(
        sql,
        (
            application.id.as_str(),
            organization.as_str(),
            candidate.as_str(),
            role.as_str(),
            application.status.as_str(),
            at_role_step,
            at_role_step.map(|_| since.micros()),
            application.applied_at.micros(),
            tx.now.micros(),
            hired_date,
            offer_accepted_date,
            external_position_id,
            hire_notes,
        ),
    )?;
    Ok(touched == 1)
}

/// Saves what a decision made of an application.
///
/// # Errors
/// [`Error::Defect`] where the application is not as the rule saw it.
pub fn save(tx: &Tx<'_>, facts: &StepFacts, decision: &Decision) -> Result<(), Error> {
    // Guarded by the status that the rule saw: a row that says otherwise was changed behind it.
    let sql = "UPDATE candidate_roles
               SET status = $1, hired_date = $2, offer_accepted_date = $3, external_position_id = $4, hire_notes = $5,
                 at_role_step_id = $6, at_since = CASE WHEN at_role_step_id = $6 THEN at_since ELSE $7 END,
                 updated_at = $8
               WHERE id = $9 AND status = $10";
    let (hired_date, offer_accepted_date, external_position_id, hire_notes) = hire_columns(decision.hire.as_ref());
    let touched = tx.run(
        sql,
        (
            decision.application_status.as_str(),
            hired_date,
            offer_accepted_date,
            external_position_id,
            hire_notes,
            decision.at_role_step.as_ref().map(RoleStepId::as_str),
            decision.at_role_step.as_ref().map(|_| decision.back_since.unwrap_or(tx.now).micros()),
            tx.now.micros(),
            facts.application_id.as_str(),
            facts.application_status.as_str(),
        ),
    )?;
    if touched == 1 {
        Ok(())
    } else {
        Err(Error::Defect(format!("application {} is not as the rule saw it", facts.application_id)))
    }
}

/// An application as it is in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// The application itself.
    pub record: Record,
    /// Whose it is.
    pub candidate_id: CandidateId,
    /// The role.
    pub role_id: RoleId,
    /// The role's name.
    pub role_name: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Where the candidate is; nowhere once it has ended.
    pub current: Option<Current>,
}

/// The step where a candidate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// The application's step.
    pub id: CandidateStepId,
    /// The role's step that it was copied from.
    pub role_step_id: RoleStepId,
    /// Its name.
    pub name: String,
    /// Its position in the pipeline, from 1.
    pub order: i64,
    /// What it is for.
    pub step_type: StepType,
    /// Since when.
    pub since: Timestamp,
}

/// What [`in_full`] reads.
macro_rules! in_full {
    () => {
        "SELECT a.id, a.status, a.applied_at, a.hired_date, a.offer_accepted_date, a.external_position_id, a.hire_notes,
           a.candidate_id, a.role_id, r.name, a.updated_at, s.id, s.role_step_id, s.name, s.step_order, s.step_type,
           a.at_since
         FROM candidate_roles a
         JOIN roles r ON r.id = a.role_id
         LEFT JOIN candidate_role_steps s ON s.candidate_role_id = a.id AND s.role_step_id = a.at_role_step_id"
    };
}

/// Every application of a candidate, the newest first.
///
/// # Errors
/// When SQLite fails.
pub fn of_candidate(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
) -> Result<Vec<Application>, Error> {
    tx.all(OF_CANDIDATE, (candidate.as_str(), organization.as_str()), in_full)
}

pub(super) const OF_CANDIDATE: &str = concat!(
    in_full!(),
    " JOIN candidates c ON c.id = a.candidate_id
      WHERE c.id = $1 AND c.organization_id = $2
      ORDER BY a.applied_at DESC, a.id DESC"
);

/// An application of an organization.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId, id: &ApplicationId) -> Result<Option<Application>, Error> {
    const SQL: &str = concat!(in_full!(), " WHERE a.id = $1 AND a.organization_id = $2");
    tx.one(SQL, (id.as_str(), organization.as_str()), in_full)
}

fn in_full(row: &Row<'_>) -> Result<Application, Error> {
    let text = |column| -> Result<String, Error> { Ok(row.get(column)?) };
    let current = row.get::<_, Option<String>>(11)?.map(|id| -> Result<Current, Error> {
        Ok(Current {
            id: tx::word(&id, CandidateStepId::parse)?,
            role_step_id: tx::word(&text(12)?, RoleStepId::parse)?,
            name: text(13)?,
            order: row.get(14)?,
            step_type: tx::word(&text(15)?, StepType::parse)?,
            since: tx::time(row, 16)?,
        })
    });
    Ok(Application {
        record: record(row)?,
        candidate_id: tx::word(&text(7)?, CandidateId::parse)?,
        role_id: tx::word(&text(8)?, RoleId::parse)?,
        role_name: text(9)?,
        updated_at: tx::time(row, 10)?,
        current: current.transpose()?,
    })
}

/// Takes back an application that is in progress. Its steps stay as they are.
///
/// # Errors
/// [`Error::Defect`] where it is not in progress, which the caller looks at first.
pub fn withdraw(tx: &Tx<'_>, organization: &OrganizationId, id: &ApplicationId) -> Result<(), Error> {
    let sql = "UPDATE candidate_roles
               SET status = 'Withdrawn', at_role_step_id = NULL, at_since = NULL, updated_at = $1
               WHERE id = $2 AND organization_id = $3 AND status = 'In Progress'";
    let touched = tx.run(sql, (tx.now.micros(), id.as_str(), organization.as_str()))?;
    if touched == 1 { Ok(()) } else { Err(Error::Defect(format!("application {id} is not as the rule saw it"))) }
}

/// Every application to a role with its candidate, in the order in which they came.
///
/// # Errors
/// When SQLite fails.
pub fn of_role(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<(Record, candidate::Record)>, Error> {
    let sql = "SELECT a.id, a.status, a.applied_at, a.hired_date, a.offer_accepted_date, a.external_position_id,
                 a.hire_notes, c.id, c.name, c.email, c.hold_reason, c.erased_at
               FROM candidate_roles a
               JOIN candidates c ON c.id = a.candidate_id
               WHERE a.role_id = $1
               ORDER BY a.applied_at, a.id";
    tx.all(sql, [role.as_str()], application)
}

fn application(row: &Row<'_>) -> Result<(Record, candidate::Record), Error> {
    let record = record(row)?;
    let candidate = candidate::Record {
        id: tx::word(&row.get::<_, String>(7)?, CandidateId::parse)?,
        name: row.get(8)?,
        email: tx::word(&row.get::<_, String>(9)?, Email::parse_stored)?,
        privacy: Privacy { hold_reason: row.get(10)?, erased_at: tx::time_or_none(row, 11)? },
    };
    Ok((record, candidate))
}

/// An application, from its first seven columns.
fn record(row: &Row<'_>) -> Result<Record, Error> {
    Ok(Record {
        id: tx::word(&row.get::<_, String>(0)?, ApplicationId::parse)?,
        status: tx::word(&row.get::<_, String>(1)?, ApplicationStatus::parse)?,
        applied_at: tx::time(row, 2)?,
        hire: hire(row, 3)?,
    })
}

/// The record of a hire, from its four columns as [`hire_columns`] has them, of which the first is at `first`.
pub(super) fn hire(row: &Row<'_>, first: usize) -> Result<Option<HireRecord>, Error> {
    let Some(hired_date) = tx::time_or_none(row, first)? else { return Ok(None) };
    Ok(Some(HireRecord {
        hired_date,
        offer_accepted_date: tx::time_or_none(row, first + 1)?,
        external_position_id: row.get(first + 2)?,
        notes: row.get(first + 3)?,
    }))
}

/// `hired_date`, `offer_accepted_date`, `external_position_id` and `hire_notes`.
fn hire_columns(hire: Option<&HireRecord>) -> (Option<i64>, Option<i64>, Option<&str>, Option<&str>) {
    (
        hire.map(|hire| hire.hired_date.micros()),
        hire.and_then(|hire| hire.offer_accepted_date).map(Timestamp::micros),
        hire.and_then(|hire| hire.external_position_id.as_deref()),
        hire.and_then(|hire| hire.notes.as_deref()),
    )
}

/// Whether there is such an application.
///
/// # Errors
/// When SQLite fails.
pub fn exists(tx: &Tx<'_>, application: &ApplicationId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidate_roles
               WHERE id = $1";
    tx.exists(sql, [application.as_str()])
}

/// Whether an organization's candidate has applied to a role.
///
/// # Errors
/// When SQLite fails.
pub fn has_applied(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    role: &RoleId,
) -> Result<bool, Error> {
    Ok(to_role(tx, organization, candidate, role)?.is_some())
}

/// The application of an organization's candidate to a role.
///
/// # Errors
/// When SQLite fails.
pub fn to_role(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    role: &RoleId,
) -> Result<Option<ApplicationId>, Error> {
    let sql = "SELECT id
               FROM candidate_roles
               WHERE organization_id = $1 AND candidate_id = $2 AND role_id = $3";
    let params = (organization.as_str(), candidate.as_str(), role.as_str());
    tx.one(sql, params, |row| tx::word(&row.get::<_, String>(0)?, ApplicationId::parse))
}
