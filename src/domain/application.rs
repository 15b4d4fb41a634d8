//! The statuses of an application and of its steps. This module checks that the statuses of an imported application
//! agree. It also derives the statuses of the steps of a new application, or of an imported application without steps.
//!
//! The decisions in `candidate_step` change the application and its steps together, so they do not need this check.

use std::cmp::Ordering;

use super::candidate_step::{ApplicationStatus, StepStatus};

/// Returns the contradiction between an application's status and the statuses of its steps, which are in the order of
/// the pipeline. Returns `None` if they agree.
///
/// Decisions on a consistent application leave it consistent, so an import accepts an export.
pub fn contradiction(status: ApplicationStatus, steps: &[StepStatus]) -> Option<&'static str> {
    let is_rejected = steps.contains(&StepStatus::Rejected);
    let is_final_validated = steps.last() == Some(&StepStatus::Validated);
    let has_open_step = steps.iter().any(|step| matches!(step, StepStatus::Pending | StepStatus::InProgress));
    match status {
        ApplicationStatus::InProgress if is_rejected => {
            Some("the application is In Progress but a step is rejected; the application must be Not Selected")
        }
        ApplicationStatus::InProgress if is_final_validated => {
            Some("the application is In Progress but its final step is validated; the application must be Hired")
        }
        ApplicationStatus::Hired if is_rejected => {
            Some("the application is Hired but a step is rejected; the application must be Not Selected")
        }
        ApplicationStatus::Hired if !is_final_validated => {
            Some("the application is Hired but its final step is not validated")
        }
        ApplicationStatus::Hired if has_open_step => Some(
            "the application is Hired but a step is pending or in_progress; a hire leaves steps validated or skipped",
        ),
        ApplicationStatus::NotSelected if !is_rejected => {
            Some("the application is Not Selected but no step is rejected; the step at which it ended must be rejected")
        }
        _ => None,
    }
}

/// Returns the default statuses of `steps` steps, for a new application or an imported one without steps. In an
/// application in progress, the candidate is at the first step. In the application of a hired candidate, the last step
/// is validated and all earlier steps are skipped. Returns `None` for the other statuses, which do not show the step at
/// which the application ended.
pub fn default_statuses(status: ApplicationStatus, steps: usize) -> Option<Vec<StepStatus>> {
    let mut statuses = match status {
        ApplicationStatus::InProgress => vec![StepStatus::Pending; steps],
        ApplicationStatus::Hired => vec![StepStatus::Skipped; steps],
        ApplicationStatus::NotSelected | ApplicationStatus::Withdrawn => return None,
    };
    if status == ApplicationStatus::Hired {
        statuses.iter_mut().last().into_iter().for_each(|last| *last = StepStatus::Validated);
    } else {
        statuses.iter_mut().take(1).for_each(|first| *first = StepStatus::InProgress);
    }
    Some(statuses)
}

/// Returns the statuses of `steps` steps, for an application that has reached the step with the index `step` or ended
/// at it. This step has the status `here`. Earlier steps are validated, and later steps are pending.
pub fn statuses_at(step: usize, here: StepStatus, steps: usize) -> Vec<StepStatus> {
    let status = |index: usize| match index.cmp(&step) {
        Ordering::Less => StepStatus::Validated,
        Ordering::Equal => here,
        Ordering::Greater => StepStatus::Pending,
    };
    (0..steps).map(status).collect()
}

#[cfg(test)]
mod tests {
    use super::ApplicationStatus as A;
    use super::StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};
    use super::*;

    #[test]
    fn consistent_statuses_have_no_contradiction() {
        for (status, steps) in [
            (A::InProgress, &[Validated, InProgress, Pending] as &[_]),
            (A::InProgress, &[Pending, Pending]),
            (A::InProgress, &[Skipped, InProgress]),
            (A::Hired, &[Validated, Skipped, Validated]),
            (A::Hired, &[Validated]),
            (A::NotSelected, &[Validated, Rejected, Pending]),
            (A::NotSelected, &[Rejected, Rejected]),
            (A::NotSelected, &[Rejected, Validated]),
            (A::Withdrawn, &[Validated, InProgress]),
            (A::Withdrawn, &[Rejected]),
            (A::Withdrawn, &[Validated]),
        ] {
            assert_eq!(contradiction(status, steps), None, "{status:?} {steps:?}");
        }
    }

    #[test]
    fn contradictions_name_the_status_and_the_step() {
        for (status, steps, words) in [
            (A::InProgress, &[Rejected, Pending] as &[_], "is In Progress but a step is rejected"),
            (A::InProgress, &[Validated, Validated], "is In Progress but its final step is validated"),
            (A::Hired, &[Rejected, Validated], "is Hired but a step is rejected"),
            (A::Hired, &[Validated, Skipped], "is Hired but its final step is not validated"),
            (A::Hired, &[Pending, Validated], "is Hired but a step is pending"),
            (A::Hired, &[InProgress, Validated], "is Hired but a step is pending or in_progress"),
            (A::NotSelected, &[Validated, Pending], "is Not Selected but no step is rejected"),
        ] {
            let found = contradiction(status, steps);
            assert!(found.is_some_and(|found| found.contains(words)), "{status:?} {steps:?}: {found:?}");
        }
    }

    #[test]
    fn default_statuses_agree_with_the_application() {
        for count in 1..4 {
            for status in [A::InProgress, A::Hired] {
                let steps = default_statuses(status, count).unwrap();
                assert_eq!(steps.len(), count);
                assert_eq!(contradiction(status, &steps), None, "{status:?} {steps:?}");
            }
        }
        assert_eq!(default_statuses(A::InProgress, 3), Some(vec![InProgress, Pending, Pending]));
        assert_eq!(default_statuses(A::Hired, 3), Some(vec![Skipped, Skipped, Validated]));
        assert_eq!(default_statuses(A::NotSelected, 3), None);
        assert_eq!(default_statuses(A::Withdrawn, 3), None);
    }

    #[test]
    fn steps_before_the_current_step_are_validated_and_later_steps_are_pending() {
        assert_eq!(statuses_at(1, InProgress, 3), [Validated, InProgress, Pending]);
        assert_eq!(statuses_at(0, Rejected, 1), [Rejected]);
        for step in 0..3 {
            for (status, here) in [(A::InProgress, InProgress), (A::NotSelected, Rejected), (A::Withdrawn, InProgress)]
            {
                let steps = statuses_at(step, here, 3);
                assert_eq!(contradiction(status, &steps), None, "{status:?} {steps:?}");
            }
        }
    }
}
