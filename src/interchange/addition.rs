//! An addition to an existing organization: candidates, and the roles to which they applied. Imports of tables and of
//! exports from other programs are additions.
//!
//! This module writes an addition to the database. It does not depend on the format of the input.

use std::collections::HashMap;
use std::fmt;

use super::candidate::Application;
use super::findings::escaped;
use super::import::Counts;
use super::role::Role;
use crate::domain::application::statuses_at;
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep, HireRecord, StepStatus};
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, AttachmentId, CandidateId, CandidateStepId, OrganizationId};
use crate::domain::organization::StatusCounts;
use crate::domain::refusal::Refusal;
use crate::domain::role::Seats;
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::{self, Error, Tx};

/// Candidates, roles and applications to add to one organization.
#[derive(Debug, Clone)]
pub struct Addition {
    /// The organization to which these records are added.
    pub organization: OrganizationId,
    /// The people who applied. Applications refer to them by index.
    pub candidates: Vec<Applicant>,
    /// The roles to which these people applied, with the new applications.
    pub roles: Vec<AddedRole>,
}

/// A person who applied: a new candidate, or an existing one with the same address.
#[derive(Debug, Clone)]
pub struct Applicant {
    /// The candidate's record.
    pub record: store::candidate::CandidateRecord,
    /// Whether the import adds the candidate. False if the candidate is already in the database.
    pub is_new: bool,
}

/// A role with the applications to add to it.
#[derive(Debug, Clone)]
pub struct AddedRole {
    /// The role after the import, with all its steps, but with only its new applications.
    pub role: Role,
    /// The seats that an existing role had when the import was planned; `None` for a new role.
    pub before: Option<Seats>,
}

/// A row, an item or a file that is not imported, with all the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedItem {
    /// The row, item or file, and its location in the input.
    pub location: String,
    /// A clause for each fault. Some clauses name a remedy.
    pub reasons: Vec<String>,
}

impl fmt::Display for RefusedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&format!("{}: {}", self.location, self.reasons.join("; "))))
    }
}

/// The result of comparing parsed input with the database.
#[derive(Debug, Clone)]
pub struct ImportPlan {
    /// The candidates, roles and applications that can be imported.
    pub addition: Addition,
    /// The rows or items that cannot be imported.
    pub refused: Vec<RefusedItem>,
    /// The files to add to applications of the addition, or to applications that an earlier import added.
    pub attachments: Vec<PlannedAttachment>,
    /// Files that cannot be imported. They do not prevent the import of their applications.
    pub refused_files: Vec<RefusedItem>,
    /// Sentences about facts that are not faults, but that the person who runs the import should know.
    pub notices: Vec<String>,
}

/// A file of the export, and the application to which it will belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedAttachment {
    /// The id, which is the same in every import of the file.
    pub id: AttachmentId,
    /// The application to which the file will belong.
    pub application: ApplicationId,
    /// The path in the folder of the export, with `/` between its parts.
    pub path: String,
    /// The file name that people see.
    pub name: String,
}

impl Addition {
    /// Returns the number of new applications.
    pub fn applications(&self) -> usize {
        self.roles.iter().map(|added| added.role.applications.len()).sum()
    }
}

/// Writes an addition: candidates, roles, applications, seats and the organization's counts.
///
/// # Errors
/// A refusal if an affected record has changed since the import was planned, and the plan is therefore no longer valid;
/// or an error of the database. In both cases, roll back the transaction.
pub fn add(tx: &Tx<'_>, addition: &Addition) -> Result<Counts, Error> {
    let counts = add_without_applications(tx, addition)?;
    let organization = &addition.organization;
    for Applicant { record, is_new } in &addition.candidates {
        let is_unchanged = if *is_new {
            store::candidate::insert(tx, organization, record)?
        } else {
            store::candidate::with_email(tx, organization, &record.email)?.is_some_and(|known| known.id == record.id)
        };
        require(is_unchanged, "candidate", record.id.as_str())?;
    }
    let mut change = StatusCounts::default();
    for added in &addition.roles {
        for application in &added.role.applications {
            add_application(tx, addition, added, application)?;
            change = change.plus(StatusCounts::of_application(application.record.status));
        }
    }
    store::organization::add_to_status(tx, organization, change)?;
    Ok(counts)
}

/// Writes the roles and seats of an addition whose candidates and applications are staged. The returned counts include
/// the staged candidates and applications.
///
/// # Errors
/// A refusal if a role has changed since the import was planned; or an error of the database. In both cases, roll back
/// the transaction.
pub fn add_without_applications(tx: &Tx<'_>, addition: &Addition) -> Result<Counts, Error> {
    let Addition { organization, candidates, roles } = addition;
    let mut counts = Counts { applications: addition.applications(), ..Counts::default() };
    counts.candidates = candidates.iter().filter(|applicant| applicant.is_new).count();
    let mut change = StatusCounts::default();
    for added in roles {
        change = change.plus(add_role(tx, organization, added)?);
        counts.roles += usize::from(added.before.is_none());
    }
    store::organization::add_to_status(tx, organization, change)?;
    Ok(counts)
}

/// Returns the applications of an addition, as rows for staging.
pub fn staged_addition_rows(addition: &Addition) -> impl Iterator<Item = store::staging::StagedApplication> {
    addition.roles.iter().flat_map(move |added| {
        added.role.applications.iter().map(move |application| store::staging::StagedApplication {
            organization: addition.organization.clone(),
            role: added.role.record.id.clone(),
            candidate: addition.candidates[application.candidate].record.clone(),
            application: application.record.clone(),
            steps: application.steps.clone(),
        })
    })
}

/// Writes a new role with its steps, or the seats of an existing role. Returns the change in the organization's counts.
fn add_role(tx: &Tx<'_>, organization: &OrganizationId, added: &AddedRole) -> Result<StatusCounts, Error> {
    let Role { record, steps, .. } = &added.role;
    let after = StatusCounts::of_role(record.seats);
    let Some(before) = added.before else {
        require(store::role::insert(tx, organization, record)?, "role", record.id.as_str())?;
        for step in steps {
            require(store::role_step::insert(tx, &record.id, step)?, "step", step.id.as_str())?;
        }
        return Ok(after);
    };
    let is_unchanged = store::role::seats(tx, organization, &record.id)? == Some(before)
        && store::role_step::of_role(tx, &record.id)? == *steps;
    require(is_unchanged, "role", record.id.as_str())?;
    store::role::save_seats(tx, &record.id, before, record.seats)?;
    Ok(after.minus(StatusCounts::of_role(before)))
}

fn add_application(
    tx: &Tx<'_>,
    addition: &Addition,
    added: &AddedRole,
    application: &Application,
) -> Result<(), Error> {
    let Application { candidate, record, steps } = application;
    let candidate = &addition.candidates[*candidate].record.id;
    let role = &added.role.record.id;
    let is_new = store::application::insert(tx, &addition.organization, role, candidate, record, steps)?;
    require(is_new, "application", record.id.as_str())?;
    for step in steps {
        require(store::candidate_step::insert(tx, &record.id, step)?, "application's step", step.id.as_str())?;
    }
    Ok(())
}

fn require(is_unchanged: bool, noun: &str, id: &str) -> Result<(), Error> {
    if is_unchanged {
        return Ok(());
    }
    Err(Refusal::invalid(&format!("{noun} {id}"), "was changed during the import; try again").into())
}

/// The people who apply to one organization, by address: existing candidates and new ones.
pub(super) struct Applicants<'t> {
    tx: &'t Tx<'t>,
    organization: OrganizationId,
    by_address: HashMap<String, usize>,
    all: Vec<Applicant>,
}

impl<'t> Applicants<'t> {
    pub(super) fn new(tx: &'t Tx<'t>, organization: OrganizationId) -> Self {
        Self { tx, organization, by_address: HashMap::new(), all: Vec::new() }
    }

    /// Returns the index of the person with this address. Returns `None` if nobody in the organization or in the import
    /// has this address.
    pub(super) fn find(&mut self, email: &Email) -> Result<Option<usize>, Error> {
        if let Some(number) = self.by_address.get(email.key()) {
            return Ok(Some(*number));
        }
        let known = store::candidate::with_email(self.tx, &self.organization, email)?;
        let known = known.map(store::candidate::Candidate::into_record).transpose()?;
        Ok(known.map(|record| self.push(Applicant { record, is_new: false })))
    }

    /// Returns the index of the person with this address. If there is no such person, adds one with this id and name.
    /// Does not change the name of an existing person.
    pub(super) fn find_or_add(
        &mut self,
        id: impl FnOnce() -> CandidateId,
        name: String,
        email: Email,
    ) -> Result<usize, Error> {
        match self.find(&email)? {
            Some(number) => Ok(number),
            None => {
                let record = store::candidate::CandidateRecord { id: id(), name, email, privacy: Privacy::default() };
                Ok(self.push(Applicant { record, is_new: true }))
            }
        }
    }

    /// Returns the id of a person who is already in the database, or `None` for a new person.
    pub(super) fn id_in_file(&self, number: usize) -> Option<&CandidateId> {
        let applicant = &self.all[number];
        (!applicant.is_new).then_some(&applicant.record.id)
    }

    pub(super) fn into_all(self) -> Vec<Applicant> {
        self.all
    }

    fn push(&mut self, applicant: Applicant) -> usize {
        self.by_address.insert(applicant.record.email.key().to_owned(), self.all.len());
        self.all.push(applicant);
        self.all.len() - 1
    }
}

/// The progress of an imported application. Steps are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImportedProgress {
    /// The application is at this step.
    AtStep(usize),
    /// The candidate withdrew the application at this step.
    Withdrawn(usize),
    /// The candidate was rejected at this step.
    Rejected(usize, ImportedRejection),
    /// The candidate was hired.
    Hired(HireRecord),
}

/// The data about a rejected step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImportedRejection {
    pub(super) at: Timestamp,
    pub(super) reason: String,
    pub(super) outcome_type: Option<String>,
    pub(super) outcome_reason: Option<String>,
}

impl ImportedProgress {
    fn status(&self) -> ApplicationStatus {
        match self {
            Self::AtStep(_) => ApplicationStatus::InProgress,
            Self::Withdrawn(_) => ApplicationStatus::Withdrawn,
            Self::Rejected(..) => ApplicationStatus::NotSelected,
            Self::Hired(_) => ApplicationStatus::Hired,
        }
    }

    fn statuses(&self, steps: usize) -> Vec<StepStatus> {
        match self {
            Self::AtStep(step) | Self::Withdrawn(step) => statuses_at(*step, StepStatus::InProgress, steps),
            Self::Rejected(step, _) => statuses_at(*step, StepStatus::Rejected, steps),
            // All steps of a hired candidate are validated, because the funnel does not count a candidate at skipped
            // steps.
            Self::Hired(_) => statuses_at(steps.saturating_sub(1), StepStatus::Validated, steps),
        }
    }
}

/// Creates an application with one candidate step for each of the role's steps.
///
/// The input does not contain the times at which the steps were validated. Validated steps get the time at which the
/// candidate applied, except the last step of a hire, which gets the date of the hire.
pub(super) fn new_application(
    id: ApplicationId,
    candidate: usize,
    applied_at: Timestamp,
    progress: ImportedProgress,
    role_steps: &[store::role_step::PipelineStep],
    step_id: impl Fn(&store::role_step::PipelineStep) -> CandidateStepId,
) -> Application {
    let status = progress.status();
    let statuses = progress.statuses(role_steps.len());
    let (rejection, hire) = match progress {
        ImportedProgress::Rejected(_, rejection) => (Some(rejection), None),
        ImportedProgress::Hired(hire) => (None, Some(hire)),
        ImportedProgress::AtStep(_) | ImportedProgress::Withdrawn(_) => (None, None),
    };
    let hired_at = |order| hire.as_ref().filter(|_| order == role_steps.len() as i64).map(|hire| hire.hired_date);
    let step = |(role_step, status): (&store::role_step::PipelineStep, StepStatus)| {
        let rejection = rejection.as_ref().filter(|_| status == StepStatus::Rejected);
        CandidateStep {
            id: step_id(role_step),
            role_step_id: role_step.id.clone(),
            name: role_step.name.clone(),
            order: role_step.order,
            step_type: role_step.step_type,
            status,
            rejected_at: rejection.map(|rejection| rejection.at),
            rejection_reason: rejection.map(|rejection| rejection.reason.clone()),
            outcome_type: rejection.and_then(|rejection| rejection.outcome_type.clone()),
            outcome_reason: rejection.and_then(|rejection| rejection.outcome_reason.clone()),
            validated_at: (status == StepStatus::Validated).then(|| hired_at(role_step.order).unwrap_or(applied_at)),
        }
    };
    let steps = role_steps.iter().zip(statuses).map(step).collect();
    let record = store::application::ApplicationRecord { id, status, applied_at, hire, later_due_on: None };
    Application { candidate, record, steps }
}
