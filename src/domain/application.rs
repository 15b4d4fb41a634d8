//! Applications: whether a status and the steps it stands on agree, for facts that come from elsewhere.
//!
//! Decisions keep the two in step by themselves; see `candidate_step`.

use std::cmp::Ordering;

use super::candidate_step::{ApplicationStatus, StepStatus};

/// What is wrong with an application's status beside those of its steps, first to last; `None` where they agree.
///
/// What decisions can make of an application agrees, so whatever the service writes it also takes back.
pub fn contradiction(status: ApplicationStatus, steps: &[StepStatus]) -> Option<&'static str> {
    let rejected = steps.contains(&StepStatus::Rejected);
    let passed = steps.last() == Some(&StepStatus::Validated);
    let open = steps.iter().any(|step| matches!(step, StepStatus::Pending | StepStatus::InProgress));
    match status {
        ApplicationStatus::InProgress if rejected => {
            Some("the application is In Progress but a step is rejected; an application like that is Not Selected")
        }
        ApplicationStatus::InProgress if passed => {
            Some("the application is In Progress but its final step is validated; an application like that is Hired")
        }
        ApplicationStatus::Hired if rejected => {
            Some("the application is Hired but a step is rejected; an application like that is Not Selected")
        }
        ApplicationStatus::Hired if !passed => Some("the application is Hired but its final step is not validated"),
        ApplicationStatus::Hired if open => {
            Some("the application is Hired but a step is pending or in_progress; a hire leaves it validated or skipped")
        }
        ApplicationStatus::NotSelected if !rejected => {
            Some("the application is Not Selected but no step is rejected; reject the step at which it ended")
        }
        _ => None,
    }
}

/// The statuses of an application's steps, of which it has `steps`, where only its own is known: in progress at the
/// first step, or hired over all of them. `None` for a status that does not say at which step it ended.
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

/// The statuses of an application's steps, of which it has `steps`, where it is known at which of them, from 0, it
/// stands, or ended, as `here`: what comes before was passed, what comes after was not reached.
pub fn statuses_at(step: usize, here: StepStatus, steps: usize) -> Vec<StepStatus> {
    let status = |place: usize| match place.cmp(&step) {
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
    fn a_status_agrees_with_the_steps_it_stands_on() {
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
    fn a_status_that_its_steps_deny_is_named() {
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
    fn steps_that_were_not_given_follow_from_the_status() {
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
    fn a_step_in_the_middle_has_what_was_passed_before_it_and_what_was_not_reached_behind_it() {
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
