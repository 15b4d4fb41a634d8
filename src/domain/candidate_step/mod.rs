//! Decisions about a candidate at a step: reject and hire (`POST /api/v1/candidate-steps/{id}/reject`, `…/hire`). The
//! submodules have the decisions that move a candidate forward or back (`…/validate`, `…/reopen`).
//!
//! The store loads [`StepFacts`], a rule returns a [`Decision`] or refuses, and the store saves the decision.

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
    /// The purpose of a step.
    StepType {
        /// Staff read the application.
        Application = "application",
        /// A first review or call.
        Screening = "screening",
        /// A test or a work sample.
        Assessment = "assessment",
        /// A conversation.
        Interview = "interview",
        /// Staff ask former employers.
        ReferenceCheck = "reference_check",
        /// The organization makes an offer.
        Offer = "offer",
        /// Anything else.
        Other = "other",
    }
}

words! {
    /// The status of a candidate step.
    StepStatus {
        /// The candidate has not reached the step.
        Pending = "pending",
        /// The candidate is at the step.
        InProgress = "in_progress",
        /// The candidate passed the step.
        Validated = "validated",
        /// The application ended at the step.
        Rejected = "rejected",
        /// A hire from an earlier step skipped the step.
        Skipped = "skipped",
    }
}

words! {
    /// The status of an application.
    ApplicationStatus {
        /// The application is open.
        InProgress = "In Progress",
        /// Staff rejected the candidate at a step.
        NotSelected = "Not Selected",
        /// Staff hired the candidate.
        Hired = "Hired",
        /// The candidate withdrew.
        Withdrawn = "Withdrawn",
    }
}

/// One step of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateStep {
    /// The candidate step's own id, not the role step's.
    pub id: CandidateStepId,
    /// The role step from which it was copied.
    pub role_step_id: RoleStepId,
    /// A copy of the role step's name.
    pub name: String,
    /// The position in the pipeline, from 1.
    pub order: i64,
    /// A copy of the role step's type.
    pub step_type: StepType,
    /// The candidate's status at this step.
    pub status: StepStatus,
    /// The time of the rejection, while the step is rejected.
    pub rejected_at: Option<Timestamp>,
    /// The notes of that rejection; empty if the caller gave none.
    pub rejection_reason: Option<String>,
    /// Who ended the application, in the caller's words.
    pub outcome_type: Option<String>,
    /// Why it ended, in the caller's words.
    pub outcome_reason: Option<String>,
    /// The time of the validation, while the step is validated.
    pub validated_at: Option<Timestamp>,
}

/// The details of a hire. An application has them only while it is `Hired`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HireRecord {
    /// The day of the hire.
    pub hired_date: Timestamp,
    /// When the offer was accepted.
    pub offer_accepted_date: Option<Timestamp>,
    /// The position's code in the organization's HR system.
    pub external_position_id: Option<String>,
    /// Notes of staff about the hire.
    pub notes: Option<String>,
}

/// The facts for a decision, loaded in the transaction that saves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFacts {
    /// The organization that owns the role and the candidate.
    pub organization_id: OrganizationId,
    /// Whether the organization requires an external position id for each hire.
    pub require_external_position_id: bool,
    /// The role of the application.
    pub role_id: RoleId,
    /// The positions of the role.
    pub seats: Seats,
    /// The candidate of the application.
    pub candidate_id: CandidateId,
    /// The application that the decision changes.
    pub application_id: ApplicationId,
    /// The status before the decision.
    pub application_status: ApplicationStatus,
    /// When the candidate applied.
    pub applied_at: Timestamp,
    /// The details of the hire, while the candidate is hired.
    pub hire: Option<HireRecord>,
    /// All steps of the application, in order.
    pub steps: Vec<CandidateStep>,
    /// The index in `steps` of the step that the caller named.
    pub addressed: usize,
    /// Whether the candidate's personal data was erased.
    pub is_erased: bool,
    /// The caller's role in the organization.
    pub caller_org_role: Option<OrgRole>,
    /// The caller's platform role.
    pub caller_platform_role: PlatformRole,
}

/// The input of a rejection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RejectInput {
    /// Stored as the rejection reason.
    pub outcome_notes: Option<String>,
    /// Who ended the application.
    pub outcome_type: Option<String>,
    /// Why it ended.
    pub outcome_reason: Option<String>,
}

/// The input of a hire.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HireInput {
    /// Notes of staff about the hire.
    pub notes: Option<String>,
    /// The day of the hire; defaults to now.
    pub hired_date: Option<Timestamp>,
    /// When the offer was accepted.
    pub offer_accepted_date: Option<Timestamp>,
    /// The position's code in the organization's HR system; blank counts as missing.
    pub external_position_id: Option<String>,
}

/// The result of a decision rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The changed steps, after the decision.
    pub steps: Vec<CandidateStep>,
    /// The step in the answer, after the decision.
    pub answer_step: CandidateStep,
    /// The step to which the candidate moves, after the decision.
    pub next: Option<CandidateStep>,
    /// The application's status after the decision.
    pub application_status: ApplicationStatus,
    /// The details of the hire, if the candidate is hired after the decision.
    pub hire: Option<HireRecord>,
    /// The role's positions after the decision.
    pub seats: Seats,
    /// The role step where the candidate is after the decision, while the application is in progress.
    pub at_role_step: Option<RoleStepId>,
    /// When the candidate originally reached that step, if the decision returns them to it. Otherwise they reach it now.
    pub back_since: Option<Timestamp>,
    /// The change of the organization's figures.
    pub status_change: StatusCounts,
    /// The caller's remark. Only the activity stores it.
    pub remark: Option<Remark>,
}

/// A remark on a decision, for its activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// The notes on a validated step.
    OutcomeNotes(String),
    /// The reason for a reopening.
    Reason(String),
}

impl StepFacts {
    /// The step that the caller named.
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
        // A decision would store new data about a person whose data was erased.
        if self.is_erased {
            return Err(Refusal::Conflict("the candidate was erased; no further decisions are possible"));
        }
        Ok(())
    }

    fn decided(
        &self,
        steps: Vec<CandidateStep>,
        answer_index: usize,
        status: ApplicationStatus,
        hire: Option<HireRecord>,
        seats: Seats,
    ) -> Decision {
        let status_change = StatusCounts::of_role(seats)
            .plus(StatusCounts::of_application(status))
            .minus(StatusCounts::of_role(self.seats))
            .minus(StatusCounts::of_application(self.application_status));
        let answer_step = steps[answer_index].clone();
        let at_role_step = current(status, &steps).map(|step| step.role_step_id.clone());
        let steps = steps.into_iter().zip(&self.steps).filter(|(after, before)| after != *before);
        let steps = steps.map(|(after, _)| after).collect();
        Decision {
            steps,
            answer_step,
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

    fn reject(&mut self, input: &RejectInput, now: Timestamp) {
        self.status = StepStatus::Rejected;
        self.validated_at = None;
        self.rejected_at = Some(now);
        self.rejection_reason = Some(input.outcome_notes.clone().unwrap_or_default());
        self.outcome_type.clone_from(&input.outcome_type);
        self.outcome_reason.clone_from(&input.outcome_reason);
    }
}

/// The time at which the candidate reached the current step: the latest validation, but not before they applied.
pub fn at_step_since(applied_at: Timestamp, steps: &[CandidateStep]) -> Timestamp {
    let validated_at = steps.iter().filter_map(|step| step.validated_at).max();
    validated_at.map_or(applied_at, |at| at.max(applied_at))
}

/// The candidate's current step: the first step in progress or, in an import without one, the first pending step.
/// `None` if the application has ended.
pub fn current(status: ApplicationStatus, steps: &[CandidateStep]) -> Option<&CandidateStep> {
    let first = |wanted| steps.iter().find(|step| step.status == wanted);
    let here = || first(StepStatus::InProgress).or_else(|| first(StepStatus::Pending));
    if status == ApplicationStatus::InProgress { here() } else { None }
}

/// `POST …/reject`: ends the application at any step that is not yet rejected. For a hired candidate this reverses the
/// hire: the position becomes free, a `filled` role becomes `open`, and the final step becomes `pending` unless it is
/// the rejected one.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the step is already rejected.
pub fn reject(facts: &StepFacts, input: &RejectInput, now: Timestamp) -> Result<Decision, Refusal> {
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
    steps[facts.addressed].reject(input, now);
    Ok(facts.decided(steps, facts.addressed, ApplicationStatus::NotSelected, None, seats))
}

/// `POST …/hire`: validates the addressed step and the final step. All other open steps become `skipped`. The hire fills
/// a position; the last position makes the role `filled`.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate is already hired or rejected for the role,
/// or has withdrawn; `bad_request` if all positions are filled, the role is not open, or a required external position
/// id is missing.
pub fn hire(facts: &StepFacts, input: &HireInput, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    require_undecided(facts)?;
    require_room(facts.seats)?;
    let external_position_id = input.external_position_id.clone().filter(|id| !id.trim().is_empty());
    if facts.require_external_position_id && external_position_id.is_none() {
        let field = FieldError {
            field: "externalPositionId".to_owned(),
            detail: "this organization requires the position's code in its HR system for each hire".to_owned(),
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
        hired_date: input.hired_date.unwrap_or(now),
        offer_accepted_date: input.offer_accepted_date,
        external_position_id,
        notes: input.notes.clone(),
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
