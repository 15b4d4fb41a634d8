//! What comes from elsewhere into an organization that is in the file already: candidates, and the roles they applied
//! to. Tables and exports of other programs become this, as a document becomes organizations.
//!
//! Knows how it is written, not where it was read.

use std::collections::HashMap;
use std::fmt;

use super::findings::escaped;
use super::import::Counts;
use super::{Application, Role};
use crate::domain::application::statuses_at;
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep, HireRecord, StepStatus};
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, OrganizationId};
use crate::domain::organization::StatusCounts;
use crate::domain::refusal::Refusal;
use crate::domain::role::Seats;
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::{self, Error, Tx};

/// What comes into one organization.
#[derive(Debug, Clone)]
pub struct Addition {
    /// The organization.
    pub organization: OrganizationId,
    /// Who applied; the applications name them by their index.
    pub candidates: Vec<Applicant>,
    /// What they applied to.
    pub roles: Vec<AddedRole>,
}

/// A person who applied.
#[derive(Debug, Clone)]
pub struct Applicant {
    /// Who it is.
    pub record: store::candidate::Record,
    /// Whether the organization does not know them yet.
    pub is_new: bool,
}

/// A role with the applications that come to it.
#[derive(Debug, Clone)]
pub struct AddedRole {
    /// The role as it is to be, its steps, and only those applications that come.
    pub role: Role,
    /// The seats of a role that is in the file already; `None` where the role itself comes.
    pub before: Option<Seats>,
}

/// A row or an item that does not come, and everything that speaks against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which one, with its place in what was read.
    pub place: String,
    /// What is wrong with it and what would be right.
    pub reasons: Vec<String>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&format!("{}: {}", self.place, self.reasons.join("; "))))
    }
}

/// What was read, sorted by what the file says to it.
#[derive(Debug, Clone)]
pub struct Sorted {
    /// What can come.
    pub addition: Addition,
    /// What cannot.
    pub refused: Vec<Refused>,
    /// What a person should know that is no fault: a sentence each.
    pub notices: Vec<String>,
}

impl Addition {
    /// How many applications come.
    pub fn applications(&self) -> usize {
        self.roles.iter().map(|added| added.role.applications.len()).sum()
    }
}

/// Writes what comes, all of it or nothing: people, roles, applications, seats and the status cache.
///
/// # Errors
/// A refusal where the file has changed since it was asked, so that something is there already or is no longer;
/// [`Error::Defect`] or [`Error::Unavailable`] when SQLite fails. The transaction is to be undone then.
pub fn add(tx: &Tx<'_>, addition: &Addition) -> Result<Counts, Error> {
    let counts = add_frame(tx, addition)?;
    let organization = &addition.organization;
    for Applicant { record, is_new } in &addition.candidates {
        let is_as_it_was = if *is_new {
            store::candidate::insert(tx, organization, record)?
        } else {
            store::candidate::with_email(tx, organization, &record.email)?.is_some_and(|known| known.id == record.id)
        };
        require(is_as_it_was, "candidate", record.id.as_str())?;
    }
    let mut change = StatusCounts::default();
    for added in &addition.roles {
        for application in &added.role.applications {
            add_application(tx, addition, added, application)?;
            change = change.plus(StatusCounts::of_application(application.record.status));
        }
    }
    store::organization::move_status(tx, organization, change)?;
    Ok(counts)
}

/// Writes the roles and seats of what comes, and neither people nor applications. The counts are those of all that comes.
///
/// # Errors
/// A refusal where a role is not as it was when the file was asked.
pub fn add_frame(tx: &Tx<'_>, addition: &Addition) -> Result<Counts, Error> {
    let Addition { organization, candidates, roles } = addition;
    let mut counts = Counts { applications: addition.applications(), ..Counts::default() };
    counts.candidates = candidates.iter().filter(|applicant| applicant.is_new).count();
    let mut change = StatusCounts::default();
    for added in roles {
        change = change.plus(add_role(tx, organization, added)?);
        counts.roles += usize::from(added.before.is_none());
    }
    store::organization::move_status(tx, organization, change)?;
    Ok(counts)
}

/// The applications of what comes, as they are staged.
pub fn addition_rows(addition: &Addition) -> impl Iterator<Item = store::staging::Row> {
    addition.roles.iter().flat_map(move |added| {
        added.role.applications.iter().map(move |application| store::staging::Row {
            organization: addition.organization.clone(),
            role: added.role.record.id.clone(),
            candidate: addition.candidates[application.candidate].record.clone(),
            application: application.record.clone(),
            steps: application.steps.clone(),
        })
    })
}

/// Writes a role, or the seats of one that is there. What that changes of the organization's figures.
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
    let is_as_it_was = store::role::seats(tx, organization, &record.id)? == Some(before)
        && store::role_step::of_role(tx, &record.id)? == *steps;
    require(is_as_it_was, "role", record.id.as_str())?;
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
    let is_new = store::candidate_role::insert(tx, &addition.organization, role, candidate, record, steps)?;
    require(is_new, "application", record.id.as_str())?;
    for step in steps {
        require(store::candidate_step::insert(tx, &record.id, step)?, "application's step", step.id.as_str())?;
    }
    Ok(())
}

fn require(is_as_it_was: bool, what: &str, id: &str) -> Result<(), Error> {
    if is_as_it_was {
        return Ok(());
    }
    Err(Refusal::invalid(&format!("{what} {id}"), "is not as it was when the file was asked; try again").into())
}

/// The people who apply to one organization: those that it knows by their address, and those who come.
pub(super) struct Applicants<'t> {
    tx: &'t Tx<'t>,
    organization: OrganizationId,
    by_address: HashMap<String, usize>,
    all: Vec<Applicant>,
}

impl<'t> Applicants<'t> {
    pub(super) fn of(tx: &'t Tx<'t>, organization: OrganizationId) -> Self {
        Self { tx, organization, by_address: HashMap::new(), all: Vec::new() }
    }

    /// The person with this address, where the organization or what was admitted has one.
    pub(super) fn known(&mut self, email: &Email) -> Result<Option<usize>, Error> {
        if let Some(number) = self.by_address.get(email.key()) {
            return Ok(Some(*number));
        }
        let known = store::candidate::with_email(self.tx, &self.organization, email)?;
        let known = known.map(store::candidate::Candidate::into_record).transpose()?;
        Ok(known.map(|record| self.push(Applicant { record, is_new: false })))
    }

    /// The person with this address, who is new where none has it. A name that is known stays.
    pub(super) fn admit(
        &mut self,
        id: impl FnOnce() -> CandidateId,
        name: String,
        email: Email,
    ) -> Result<usize, Error> {
        match self.known(&email)? {
            Some(number) => Ok(number),
            None => {
                let record = store::candidate::Record { id: id(), name, email, privacy: Privacy::default() };
                Ok(self.push(Applicant { record, is_new: true }))
            }
        }
    }

    /// The id of a person, where the file has them.
    pub(super) fn in_file(&self, number: usize) -> Option<&CandidateId> {
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

/// Where an application stands among the role's steps, which are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// It goes on at this step.
    InProgress(usize),
    /// The candidate took it back there.
    Withdrawn(usize),
    /// It was ended there.
    Rejected(usize, Rejection),
    /// It ended in a hire.
    Hired(HireRecord),
}

/// What goes with an application's end at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) at: Timestamp,
    pub(super) reason: String,
    pub(super) outcome_type: Option<String>,
    pub(super) outcome_reason: Option<String>,
}

impl Standing {
    fn status(&self) -> ApplicationStatus {
        match self {
            Self::InProgress(_) => ApplicationStatus::InProgress,
            Self::Withdrawn(_) => ApplicationStatus::Withdrawn,
            Self::Rejected(..) => ApplicationStatus::NotSelected,
            Self::Hired(_) => ApplicationStatus::Hired,
        }
    }

    fn statuses(&self, steps: usize) -> Vec<StepStatus> {
        match self {
            Self::InProgress(step) | Self::Withdrawn(step) => statuses_at(*step, StepStatus::InProgress, steps),
            Self::Rejected(step, _) => statuses_at(*step, StepStatus::Rejected, steps),
            // The candidate passed every step; a hire that skipped some would be missing from the funnel.
            Self::Hired(_) => statuses_at(steps.saturating_sub(1), StepStatus::Validated, steps),
        }
    }
}

/// An application that stands so, with a step for each of the role's. Other programs do not say when the earlier steps were
/// passed; they get the time of the application, and the final step of a hire gets the day of the hire.
pub(super) fn application(
    id: ApplicationId,
    candidate: usize,
    applied_at: Timestamp,
    standing: Standing,
    of: &[store::role_step::Record],
    step_id: impl Fn(&store::role_step::Record) -> CandidateStepId,
) -> Application {
    let status = standing.status();
    let statuses = standing.statuses(of.len());
    let (rejection, hire) = match standing {
        Standing::Rejected(_, rejection) => (Some(rejection), None),
        Standing::Hired(hire) => (None, Some(hire)),
        Standing::InProgress(_) | Standing::Withdrawn(_) => (None, None),
    };
    let hired_at = |order| hire.as_ref().filter(|_| order == of.len() as i64).map(|hire| hire.hired_date);
    let step = |(of, status): (&store::role_step::Record, StepStatus)| {
        let rejection = rejection.as_ref().filter(|_| status == StepStatus::Rejected);
        CandidateStep {
            id: step_id(of),
            role_step_id: of.id.clone(),
            name: of.name.clone(),
            order: of.order,
            step_type: of.step_type,
            status,
            rejected_at: rejection.map(|rejection| rejection.at),
            rejection_reason: rejection.map(|rejection| rejection.reason.clone()),
            outcome_type: rejection.and_then(|rejection| rejection.outcome_type.clone()),
            outcome_reason: rejection.and_then(|rejection| rejection.outcome_reason.clone()),
            validated_at: (status == StepStatus::Validated).then(|| hired_at(of.order).unwrap_or(applied_at)),
        }
    };
    let steps = of.iter().zip(statuses).map(step).collect();
    Application { candidate, record: store::candidate_role::Record { id, status, applied_at, hire }, steps }
}
