//! A candidate step: one step of an application, with its outcome. This module also finds the candidate's current step.

use super::status::{ApplicationStatus, StepStatus};
use crate::domain::id::{CandidateStepId, RoleStepId};
use crate::domain::timestamp::Timestamp;
use crate::domain::words::words;

/// The maximum number of characters in a `reason`, `outcomeNotes` or `notes`.
pub const NOTES_CHARACTERS_MAX: usize = 10_000;

/// The maximum number of characters in an `outcomeType`, `outcomeReason` or `externalPositionId`.
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
        /// Staff ask former employers about the candidate.
        ReferenceCheck = "reference_check",
        /// The organization makes an offer.
        Offer = "offer",
        /// Anything else.
        Other = "other",
    }
}

/// One step of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateStep {
    /// The candidate step's own id, not the role step's.
    pub id: CandidateStepId,
    /// The role step from which this step was copied.
    pub role_step_id: RoleStepId,
    /// A copy of the role step's name.
    pub name: String,
    /// The position in the pipeline, starting at 1.
    pub order: i64,
    /// A copy of the role step's type.
    pub step_type: StepType,
    /// The candidate's status at this step.
    pub status: StepStatus,
    /// The time of the rejection; `None` unless the step is rejected.
    pub rejected_at: Option<Timestamp>,
    /// The notes on the rejection; empty if the caller gave none.
    pub rejection_reason: Option<String>,
    /// The party that ended the application, in the caller's words.
    pub outcome_type: Option<String>,
    /// The reason why the application ended, in the caller's words.
    pub outcome_reason: Option<String>,
    /// The time of the validation; `None` unless the step is validated.
    pub validated_at: Option<Timestamp>,
}

impl CandidateStep {
    /// Validates the step. The time of an earlier validation does not change.
    pub(super) fn validate(&mut self, now: Timestamp) {
        if self.status != StepStatus::Validated {
            self.status = StepStatus::Validated;
            self.validated_at = Some(now);
        }
    }

    /// Gives the step another status, and removes the outcome of a rejection.
    pub(super) fn return_to(&mut self, status: StepStatus, validated_at: Option<Timestamp>) {
        self.status = status;
        self.validated_at = validated_at;
        self.rejected_at = None;
        self.rejection_reason = None;
        self.outcome_type = None;
        self.outcome_reason = None;
    }
}

/// Returns the time at which the candidate reached the current step: the time of the latest validation or the time of
/// the application, whichever is later.
pub fn at_step_since(applied_at: Timestamp, steps: &[CandidateStep]) -> Timestamp {
    let validated_at = steps.iter().filter_map(|step| step.validated_at).max();
    validated_at.map_or(applied_at, |at| at.max(applied_at))
}

/// Returns the candidate's current step: the first step in progress or, in an imported application without a step in
/// progress, the first pending step. Returns `None` if the application has ended, or if an imported application
/// has no open step.
pub fn current_step(status: ApplicationStatus, steps: &[CandidateStep]) -> Option<&CandidateStep> {
    let here = || current_index(steps.iter().map(|step| step.status)).map(|index| &steps[index]);
    if status == ApplicationStatus::InProgress { here() } else { None }
}

/// Returns the index of the current step of an application in progress, from the statuses of its steps. Returns `None`
/// if no step is open, which is possible only in an imported application.
pub(in crate::domain) fn current_index(statuses: impl Iterator<Item = StepStatus>) -> Option<usize> {
    let is_open = |(_, status): &(usize, StepStatus)| matches!(status, StepStatus::InProgress | StepStatus::Pending);
    let open = statuses.enumerate().filter(is_open);
    open.min_by_key(|(index, status)| (*status != StepStatus::InProgress, *index)).map(|(index, _)| index)
}
