//! A past act on an application, as its activity row records it. The undo rule and the rule for the visible progress of
//! an application use past acts.

use super::status::{ApplicationStatus, StepStatus};
use crate::domain::due_day::DueDay;
use crate::domain::timestamp::Timestamp;

/// The kind of an act on an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActKind {
    /// Staff validated a step.
    Validated,
    /// Staff moved the candidate to a step.
    Moved,
    /// Staff rejected the candidate at a step. The rejection may have reversed a hire.
    Rejected,
    /// Staff reopened a rejected step.
    Reopened,
    /// Staff hired the candidate.
    Hired,
    /// The application was withdrawn.
    Withdrawn,
    /// Staff undid the previous act.
    Undone,
}

/// An act on an application, read from its activity row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastAct {
    /// The kind of the act.
    pub act: ActKind,
    /// The time of the act.
    pub at: Timestamp,
    /// The index of the step that was acted on, or `None` for acts on the application as a whole.
    pub step: Option<usize>,
    /// The application's status before the act.
    pub status_before: ApplicationStatus,
    /// The application's status after the act.
    pub status_after: ApplicationStatus,
    /// The states of the changed steps before the act, each with the step's index.
    pub steps_before: Vec<(usize, StepState)>,
    /// The states of the changed steps after the act, each with the step's index.
    pub steps_after: Vec<(usize, StepState)>,
    /// The day until which the application was put aside before the act.
    pub later_before: Option<DueDay>,
}

/// The status of a step and the time of its rejection or validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepState {
    /// The step's status.
    pub status: StepStatus,
    /// The time of the step's rejection or validation, if any.
    pub at: Option<Timestamp>,
}
