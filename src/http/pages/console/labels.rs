//! The words for statuses.

use crate::domain::candidate_step::{ApplicationStatus, StepStatus};
use crate::http::pages::texts::Texts;
use crate::http::pages::texts::console::candidate::CANDIDATE;

/// Returns the word for the status of an application.
pub(super) fn status(texts: &Texts, status: ApplicationStatus) -> &'static str {
    let [in_progress, not_selected, hired, withdrawn] = CANDIDATE.of(texts).statuses;
    match status {
        ApplicationStatus::InProgress => in_progress,
        ApplicationStatus::NotSelected => not_selected,
        ApplicationStatus::Hired => hired,
        ApplicationStatus::Withdrawn => withdrawn,
    }
}

/// Returns the word for the status of a candidate step.
pub(super) fn step_status(texts: &Texts, status: StepStatus) -> &'static str {
    let [pending, here, passed, rejected, skipped] = CANDIDATE.of(texts).step_statuses;
    match status {
        StepStatus::Pending => pending,
        StepStatus::InProgress => here,
        StepStatus::Validated => passed,
        StepStatus::Rejected => rejected,
        StepStatus::Skipped => skipped,
    }
}
