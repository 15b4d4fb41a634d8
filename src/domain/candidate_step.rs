//! Decisions on a candidate at a step: reject and hire (`POST /api/v1/candidate-steps/{id}/reject`, `…/hire`) here, and what
//! moves a candidate on or puts them back in the files beside (`…/validate`, `…/reopen`).
//!
//! The store loads [`StepFacts`], the rule says what becomes of them or refuses, the store saves it. Nothing here knows
//! how either is done.

use super::id::{ApplicationId, CandidateId, CandidateStepId, OrganizationId, RoleId, RoleStepId};
use super::organization::StatusCounts;
use super::refusal::{FieldError, Refusal};
use super::role::{RoleStatus, Seats};
use super::timestamp::Timestamp;
use super::user::{self, OrgRole, PlatformRole};
use super::words::words;
pub use reopen::{Rejection, ReopenInput, reopen};
pub use validate::{ValidateInput, validate};

mod reopen;
mod validate;

/// The longest `reason`, `outcomeNotes` or `notes`, in characters.
pub const NOTES_CHARACTERS_MAX: usize = 10_000;

/// The longest `outcomeType`, `outcomeReason` or `externalPositionId`, in characters.
pub const OUTCOME_CHARACTERS_MAX: usize = 255;

words! {
    /// What a step is for.
    StepType {
        /// The application itself is read.
        Application = "application",
        /// A first look or call.
        Screening = "screening",
        /// A test or a piece of work.
        Assessment = "assessment",
        /// A conversation.
        Interview = "interview",
        /// Earlier employers are asked.
        ReferenceCheck = "reference_check",
        /// An offer is made.
        Offer = "offer",
        /// Anything else.
        Other = "other",
    }
}

words! {
    /// Where a candidate is with a step.
    StepStatus {
        /// Not reached.
        Pending = "pending",
        /// The candidate is here.
        InProgress = "in_progress",
        /// Passed.
        Validated = "validated",
        /// Ended here.
        Rejected = "rejected",
        /// Passed over by a hire from an earlier step.
        Skipped = "skipped",
    }
}

words! {
    /// Where an application is.
    ApplicationStatus {
        /// It goes on.
        InProgress = "In Progress",
        /// It was ended at a step.
        NotSelected = "Not Selected",
        /// It ended in a hire.
        Hired = "Hired",
        /// The candidate took it back.
        Withdrawn = "Withdrawn",
    }
}

/// One step of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateStep {
    /// Its id.
    pub id: CandidateStepId,
    /// The role's step that it was copied from.
    pub role_step_id: RoleStepId,
    /// Its name.
    pub name: String,
    /// Its position in the pipeline, from 1.
    pub order: i64,
    /// What it is for.
    pub step_type: StepType,
    /// Where the candidate is with it.
    pub status: StepStatus,
    /// When it was rejected; only while it is.
    pub rejected_at: Option<Timestamp>,
    /// The notes of that rejection, `""` without any.
    pub rejection_reason: Option<String>,
    /// Who ended it, as it was given.
    pub outcome_type: Option<String>,
    /// Why, as it was given.
    pub outcome_reason: Option<String>,
    /// When it was validated; only while it is.
    pub validated_at: Option<Timestamp>,
}

/// What was noted with a hire; only while the application is `Hired`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HireRecord {
    /// The day of the hire.
    pub hired_date: Timestamp,
    /// When the offer was accepted.
    pub offer_accepted_date: Option<Timestamp>,
    /// The position's code in the organization's HR system.
    pub external_position_id: Option<String>,
    /// The note.
    pub notes: Option<String>,
}

/// Everything a decision looks at, as it stands in the transaction that will carry it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFacts {
    /// The organization that owns it all.
    pub organization_id: OrganizationId,
    /// Whether that organization wants an external position id with each hire.
    pub require_external_position_id: bool,
    /// The role that was applied for.
    pub role_id: RoleId,
    /// The role's positions.
    pub seats: Seats,
    /// The candidate.
    pub candidate_id: CandidateId,
    /// The application.
    pub application_id: ApplicationId,
    /// Where the application is.
    pub application_status: ApplicationStatus,
    /// When the candidate applied.
    pub applied_at: Timestamp,
    /// The record of the hire, while it is one.
    pub hire: Option<HireRecord>,
    /// Every step of the application, in order.
    pub steps: Vec<CandidateStep>,
    /// Which of them the decision is about.
    pub addressed: usize,
    /// Whether the candidate's personal data was erased.
    pub is_erased: bool,
    /// What the caller is in the organization.
    pub caller_org_role: Option<OrgRole>,
    /// What the caller is on the platform.
    pub caller_platform_role: PlatformRole,
}

/// The body of a rejection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RejectInput {
    /// Recorded as the rejection reason.
    pub outcome_notes: Option<String>,
    /// Who ended it.
    pub outcome_type: Option<String>,
    /// Why.
    pub outcome_reason: Option<String>,
}

/// The body of a hire.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HireInput {
    /// The note.
    pub notes: Option<String>,
    /// The day of the hire; now when not given.
    pub hired_date: Option<Timestamp>,
    /// When the offer was accepted.
    pub offer_accepted_date: Option<Timestamp>,
    /// The position's code in the organization's HR system; blank counts as missing.
    pub external_position_id: Option<String>,
}

/// What a decision makes of the facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The steps that change, as they are afterwards.
    pub steps: Vec<CandidateStep>,
    /// The step that the answer shows, as it is afterwards.
    pub shown: CandidateStep,
    /// The step that the candidate is moved to, as it is afterwards.
    pub next: Option<CandidateStep>,
    /// Where the application is afterwards.
    pub application_status: ApplicationStatus,
    /// The record of the hire, where it is one afterwards.
    pub hire: Option<HireRecord>,
    /// The role's positions afterwards.
    pub seats: Seats,
    /// The role's step where the candidate is afterwards, while the application is in progress.
    pub at_role_step: Option<RoleStepId>,
    /// When the candidate came to that step, where the decision takes them back to it; otherwise they come to it now.
    pub back_since: Option<Timestamp>,
    /// By how much the organization's figures move.
    pub status_change: StatusCounts,
    /// What the caller says of it that is kept nowhere but in the record.
    pub remark: Option<Remark>,
}

/// What is said of a decision, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// The notes of a step that was passed.
    OutcomeNotes(String),
    /// Why a rejection is undone.
    Reason(String),
}

impl StepFacts {
    /// The step that the decision is about.
    pub fn addressed_step(&self) -> &CandidateStep {
        &self.steps[self.addressed]
    }

    fn final_index(&self) -> usize {
        self.steps.len() - 1
    }

    fn require_authority(&self) -> Result<(), Refusal> {
        if !user::may_manage(self.caller_org_role, self.caller_platform_role) {
            return Err(Refusal::Forbidden("your role in the organization may not manage its candidates' steps"));
        }
        // What a decision notes would be about somebody whose data is not to be here any more.
        if self.is_erased {
            return Err(Refusal::Conflict("the candidate is erased; nothing more can be decided about them"));
        }
        Ok(())
    }

    fn decided(
        &self,
        steps: Vec<CandidateStep>,
        shown: usize,
        status: ApplicationStatus,
        hire: Option<HireRecord>,
        seats: Seats,
    ) -> Decision {
        let status_change = StatusCounts::of_role(seats)
            .plus(StatusCounts::of_application(status))
            .minus(StatusCounts::of_role(self.seats))
            .minus(StatusCounts::of_application(self.application_status));
        let shown = steps[shown].clone();
        let at_role_step = current(status, &steps).map(|step| step.role_step_id.clone());
        let steps = steps.into_iter().zip(&self.steps).filter(|(after, before)| after != *before);
        let steps = steps.map(|(after, _)| after).collect();
        Decision {
            steps,
            shown,
            next: None,
            application_status: status,
            hire,
            seats,
            at_role_step,
            back_since: None,
            status_change,
            remark: None,
        }
    }
}

impl CandidateStep {
    fn validate(&mut self, now: Timestamp) {
        if self.status != StepStatus::Validated {
            self.status = StepStatus::Validated;
            self.validated_at = Some(now);
        }
    }

    fn reject(&mut self, wish: &RejectInput, now: Timestamp) {
        self.status = StepStatus::Rejected;
        self.validated_at = None;
        self.rejected_at = Some(now);
        self.rejection_reason = Some(wish.outcome_notes.clone().unwrap_or_default());
        self.outcome_type.clone_from(&wish.outcome_type);
        self.outcome_reason.clone_from(&wish.outcome_reason);
    }
}

/// When the candidate came to the step where they are: when they passed the last of those they have passed, and not before
/// they applied.
pub fn at_step_since(applied_at: Timestamp, steps: &[CandidateStep]) -> Timestamp {
    let validated_at = steps.iter().filter_map(|step| step.validated_at).max();
    validated_at.map_or(applied_at, |at| at.max(applied_at))
}

/// Where the candidate is: at the first step in progress, or the first that was not reached where an import has none in
/// progress. `None` where the application has ended.
pub fn current(status: ApplicationStatus, steps: &[CandidateStep]) -> Option<&CandidateStep> {
    let first = |wanted| steps.iter().find(|step| step.status == wanted);
    let here = || first(StepStatus::InProgress).or_else(|| first(StepStatus::Pending));
    if status == ApplicationStatus::InProgress { here() } else { None }
}

/// `POST …/reject`: ends the application at any step that is not already rejected. A hired candidate's too: then the
/// hire is reversed, its position free, a `filled` role `open` again, and the final step, unless it is the one that is
/// rejected, `pending`.
///
/// # Errors
/// `forbidden` without authority over the steps, `conflict` where the step is already rejected.
pub fn reject(facts: &StepFacts, wish: &RejectInput, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    if facts.addressed_step().status == StepStatus::Rejected {
        return Err(Refusal::Conflict("the step is already rejected"));
    }
    let mut steps = facts.steps.clone();
    let mut seats = facts.seats;
    if facts.application_status == ApplicationStatus::Hired {
        let last = &mut steps[facts.final_index()];
        last.status = StepStatus::Pending;
        last.validated_at = None;
        seats = seats.freed();
    }
    steps[facts.addressed].reject(wish, now);
    Ok(facts.decided(steps, facts.addressed, ApplicationStatus::NotSelected, None, seats))
}

/// `POST …/hire`: validates the final step, and the addressed one where it is an earlier one; every other step still
/// open becomes `skipped`. Takes a position; the last one makes the role `filled`.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` where the candidate is already hired or rejected for the
/// role, or has withdrawn; `bad_request` where the positions are filled, the role is not open, or the organization
/// wants an external position id and there is none.
pub fn hire(facts: &StepFacts, wish: &HireInput, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    require_undecided(facts)?;
    require_room(facts.seats)?;
    let external_position_id = wish.external_position_id.clone().filter(|id| !id.trim().is_empty());
    if facts.require_external_position_id && external_position_id.is_none() {
        let field = FieldError {
            field: "externalPositionId".to_owned(),
            detail: "this organization wants the position's code in its HR system with each hire".to_owned(),
        };
        return Err(Refusal::BadRequest("externalPositionId is missing".to_owned(), vec![field]));
    }
    let last = facts.final_index();
    let mut steps = facts.steps.clone();
    for (index, step) in steps.iter_mut().enumerate() {
        if index == last || index == facts.addressed {
            step.validate(now);
        } else if matches!(step.status, StepStatus::Pending | StepStatus::InProgress) {
            step.status = StepStatus::Skipped;
        }
    }
    let record = HireRecord {
        hired_date: wish.hired_date.unwrap_or(now),
        offer_accepted_date: wish.offer_accepted_date,
        external_position_id,
        notes: wish.notes.clone(),
    };
    Ok(facts.decided(steps, last, ApplicationStatus::Hired, Some(record), facts.seats.taken()))
}

fn require_undecided(facts: &StepFacts) -> Result<(), Refusal> {
    match facts.application_status {
        ApplicationStatus::Hired => Err(Refusal::Conflict("the candidate is already hired for this role")),
        ApplicationStatus::NotSelected => Err(Refusal::Conflict("the candidate is already rejected for this role")),
        ApplicationStatus::Withdrawn => Err(Refusal::Conflict("the candidate has withdrawn the application")),
        ApplicationStatus::InProgress => Ok(()),
    }
}

fn require_room(seats: Seats) -> Result<(), Refusal> {
    match seats.status {
        _ if seats.are_full() => Err(Refusal::bad_request("positions already filled")),
        RoleStatus::Open => Ok(()),
        _ => Err(Refusal::bad_request("the role is not open; open it before hiring for it")),
    }
}

#[cfg(test)]
pub(in crate::domain) mod tests;
