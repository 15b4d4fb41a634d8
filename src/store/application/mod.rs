//! Applications: each is the record of one candidate in the pipeline of one role, and a row of `candidate_roles`.
//! `recorded_act` adds and withdraws applications and appends the activity rows, and `candidate_step` saves decisions
//! on applications.

pub mod recorded_act;

use super::candidate::CandidateRecord;
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::{
    self, ApplicationStatus, CandidateStep, Decision, HireRecord, StepFacts, StepType,
};
use crate::domain::due_day::DueDay;
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;

/// An application without its steps, as imports and exports contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationRecord {
    pub id: ApplicationId,
    pub status: ApplicationStatus,
    /// The time at which the candidate applied.
    pub applied_at: Timestamp,
    /// The record of the hire. Every application with the status `Hired` has one, and no other application does.
    pub hire: Option<HireRecord>,
    /// The day until which staff put the application aside. Only an application in progress has one.
    pub later_due_on: Option<DueDay>,
}

/// The columns of the table `candidate_roles a` that [`read_record`] reads.
macro_rules! record_columns {
    () => {
        "a.id, a.status, a.applied_at, a.hired_date, a.offer_accepted_date, a.external_position_id, a.hire_notes,
         a.later_due_on"
    };
}

fn read_record(columns: &mut Columns<'_>) -> Result<ApplicationRecord, Error> {
    Ok(ApplicationRecord {
        id: columns.parse(ApplicationId::parse)?,
        status: columns.parse(ApplicationStatus::parse)?,
        applied_at: columns.time()?,
        hire: read_hire(columns)?,
        later_due_on: columns.parse_or_none(DueDay::parse)?,
    })
}

/// Reads `hired_date`, `offer_accepted_date`, `external_position_id` and `hire_notes`.
pub(super) fn read_hire(columns: &mut Columns<'_>) -> Result<Option<HireRecord>, Error> {
    let (hired_date, offer_accepted_date) = (columns.time_or_none()?, columns.time_or_none()?);
    let (external_position_id, notes) = (columns.read()?, columns.read()?);
    Ok(hired_date.map(|hired_date| HireRecord { hired_date, offer_accepted_date, external_position_id, notes }))
}

/// Returns the values of the columns that [`read_hire`] reads.
fn hire_values(hire: Option<&HireRecord>) -> (Option<i64>, Option<i64>, Option<&str>, Option<&str>) {
    (
        hire.map(|hire| hire.hired_date.micros()),
        hire.and_then(|hire| hire.offer_accepted_date).map(Timestamp::micros),
        hire.and_then(|hire| hire.external_position_id.as_deref()),
        hire.and_then(|hire| hire.notes.as_deref()),
    )
}

/// Inserts an application of one of the organization's candidates to one of its roles. The current step is computed
/// from `steps`, but this function does not insert the steps. Returns `false` if the id is taken, or if the candidate
/// has already applied to the role.
pub fn insert(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    candidate: &CandidateId,
    application: &ApplicationRecord,
    steps: &[CandidateStep],
) -> Result<bool, Error> {
    let sql = "INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status,
                 at_role_step_id, at_since, applied_at, updated_at, hired_date, offer_accepted_date, external_position_id,
                 hire_notes, later_due_on)
               VALUES ($1, $2, $3, (SELECT number FROM candidates WHERE id = $3), $4, $5, $6, $7, $8, $9, $10, $11, $12,
                 $13, $14)
               ON CONFLICT DO NOTHING";
    let at_role_step = candidate_step::current_step(application.status, steps).map(|step| step.role_step_id.as_str());
    let since = candidate_step::at_step_since(application.applied_at, steps);
    let (hired_date, offer_accepted_date, external_position_id, hire_notes) = hire_values(application.hire.as_ref());
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
            application.later_due_on.map(|day| day.to_string()),
        ),
    )?;
    Ok(touched == 1)
}

/// Saves the part of a decision that concerns the application itself.
///
/// # Errors
/// [`Error::Defect`] if the application's status differs from the status in `facts`.
pub fn save(tx: &Tx<'_>, facts: &StepFacts, decision: &Decision) -> Result<(), Error> {
    // The condition on the status detects a change that was made after the facts were loaded.
    let sql = "UPDATE candidate_roles
               SET status = $1, hired_date = $2, offer_accepted_date = $3, external_position_id = $4, hire_notes = $5,
                 at_role_step_id = $6, at_since = CASE WHEN at_role_step_id = $6 THEN at_since ELSE $7 END,
                 later_due_on = $8, updated_at = $9
               WHERE id = $10 AND status = $11";
    let (hired_date, offer_accepted_date, external_position_id, hire_notes) = hire_values(decision.hire.as_ref());
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
            decision.later_due_on.map(|day| day.to_string()),
            tx.now.micros(),
            facts.application_id.as_str(),
            facts.application_status.as_str(),
        ),
    )?;
    require_one(touched, &facts.application_id)
}

/// Checks that a statement changed exactly one row: that of the application.
fn require_one(touched: usize, id: &ApplicationId) -> Result<(), Error> {
    match touched {
        1 => Ok(()),
        _ => Err(Error::Defect(format!("application {id} has changed since its facts were loaded"))),
    }
}

/// An application with its role and its current step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    pub record: ApplicationRecord,
    pub candidate_id: CandidateId,
    pub role_id: RoleId,
    pub role_name: String,
    /// The time of the last change. A change to the later mark alone does not count.
    pub updated_at: Timestamp,
    /// `None` if the application has ended, or was imported after it had passed every step.
    pub current: Option<CurrentStep>,
}

/// The step that a candidate has reached in an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentStep {
    /// The id of the candidate step.
    pub id: CandidateStepId,
    /// The id of the role step that the candidate step was copied from.
    pub role_step_id: RoleStepId,
    pub name: String,
    /// The step's position in the pipeline, counted from 1.
    pub order: i64,
    pub step_type: StepType,
    /// The time at which the candidate reached the step.
    pub since: Timestamp,
}

/// The query whose rows [`read_application`] reads, without its condition.
macro_rules! select_applications {
    () => {
        concat!(
            "SELECT ",
            record_columns!(),
            ", a.candidate_id, a.role_id, r.name, a.updated_at, s.id, s.role_step_id, s.name, s.step_order, s.step_type,
               a.at_since
             FROM candidate_roles a
             JOIN roles r ON r.id = a.role_id
             LEFT JOIN candidate_role_steps s ON s.candidate_role_id = a.id AND s.role_step_id = a.at_role_step_id"
        )
    };
}

fn read_application(row: &Row<'_>) -> Result<Application, Error> {
    let mut columns = Columns::of(row);
    Ok(Application {
        record: read_record(&mut columns)?,
        candidate_id: columns.parse(CandidateId::parse)?,
        role_id: columns.parse(RoleId::parse)?,
        role_name: columns.read()?,
        updated_at: columns.time()?,
        current: read_current_step(&mut columns)?,
    })
}

fn read_current_step(columns: &mut Columns<'_>) -> Result<Option<CurrentStep>, Error> {
    let Some(id) = columns.parse_or_none(CandidateStepId::parse)? else { return Ok(None) };
    Ok(Some(CurrentStep {
        id,
        role_step_id: columns.parse(RoleStepId::parse)?,
        name: columns.read()?,
        order: columns.read()?,
        step_type: columns.parse(StepType::parse)?,
        since: columns.time()?,
    }))
}

/// Returns every application of a candidate, newest first.
pub fn of_candidate(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
) -> Result<Vec<Application>, Error> {
    tx.all(OF_CANDIDATE, (candidate.as_str(), organization.as_str()), read_application)
}

pub(super) const OF_CANDIDATE: &str = concat!(
    select_applications!(),
    " JOIN candidates c ON c.id = a.candidate_id
      WHERE c.id = $1 AND c.organization_id = $2
      ORDER BY a.applied_at DESC, a.id DESC"
);

/// Finds an application of the organization.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId, id: &ApplicationId) -> Result<Option<Application>, Error> {
    const SQL: &str = concat!(select_applications!(), " WHERE a.id = $1 AND a.organization_id = $2");
    tx.one(SQL, (id.as_str(), organization.as_str()), read_application)
}

/// Withdraws an application in progress. Its steps do not change.
///
/// # Errors
/// [`Error::Defect`] if the application is not in progress. Check this before calling this function.
fn withdraw(tx: &Tx<'_>, organization: &OrganizationId, id: &ApplicationId) -> Result<(), Error> {
    let sql = "UPDATE candidate_roles
               SET status = 'Withdrawn', at_role_step_id = NULL, at_since = NULL, later_due_on = NULL, updated_at = $1
               WHERE id = $2 AND organization_id = $3 AND status = 'In Progress'";
    require_one(tx.run(sql, (tx.now.micros(), id.as_str(), organization.as_str()))?, id)
}

/// Returns every application to a role, each with its candidate, oldest first.
pub fn of_role(tx: &Tx<'_>, role: &RoleId) -> Result<Vec<(ApplicationRecord, CandidateRecord)>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        record_columns!(),
        ", c.id, c.name, c.email, c.hold_reason, c.erased_at
         FROM candidate_roles a
         JOIN candidates c ON c.id = a.candidate_id
         WHERE a.role_id = $1
         ORDER BY a.applied_at, a.id"
    );
    tx.all(SQL, [role.as_str()], |row| {
        let mut columns = Columns::of(row);
        let application = read_record(&mut columns)?;
        let candidate = CandidateRecord {
            id: columns.parse(CandidateId::parse)?,
            name: columns.read()?,
            email: columns.parse(Email::parse_stored)?,
            privacy: Privacy { hold_reason: columns.read()?, erased_at: columns.time_or_none()? },
        };
        Ok((application, candidate))
    })
}

/// Returns whether the database has an application with this id, in any organization.
pub fn exists(tx: &Tx<'_>, application: &ApplicationId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidate_roles
               WHERE id = $1";
    tx.exists(sql, [application.as_str()])
}

/// Returns whether the organization's candidate has applied to the role.
pub fn has_applied(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    role: &RoleId,
) -> Result<bool, Error> {
    Ok(to_role(tx, organization, candidate, role)?.is_some())
}

/// Returns the id of the candidate's application to the role, or `None` if the organization has no such application.
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
    tx.one(sql, params, |row| Columns::of(row).parse(ApplicationId::parse))
}
