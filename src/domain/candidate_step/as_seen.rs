//! The state of an application that a page shows. A decision from that page names the state. If the state has changed
//! since, the decision is refused, because it was meant for another state.

use super::status::ApplicationStatus;
use super::step::{CandidateStep, current_step};
use crate::domain::refusal::Refusal;

/// Returns the name of an application's state: the id of the current step, or the status of an application that has
/// ended. The name is empty if an application in progress has no current step. Names are compared, never parsed.
pub fn state_name(status: ApplicationStatus, steps: &[CandidateStep]) -> &str {
    match status {
        ApplicationStatus::InProgress => current_step(status, steps).map_or("", |step| step.id.as_str()),
        ended => ended.as_str(),
    }
}

/// Checks that the application is still in the state that the page showed. Without a name, any state is accepted.
///
/// # Errors
/// `conflict` if the state has changed.
pub fn require_as_seen(status: ApplicationStatus, steps: &[CandidateStep], seen: Option<&str>) -> Result<(), Refusal> {
    match seen {
        Some(seen) if seen != state_name(status, steps) => {
            Err(Refusal::Conflict("the application has changed since the page was shown"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::StepStatus::{InProgress, Pending, Rejected, Validated};
    use super::super::tests::facts;
    use super::*;

    #[test]
    fn a_decision_is_refused_if_the_state_that_the_page_showed_has_changed() {
        use ApplicationStatus::{Hired, InProgress as Running, NotSelected, Withdrawn};
        let screening = facts(&[Validated, InProgress, Pending], 0).steps;
        let ended = facts(&[Validated, Rejected, Pending], 0).steps;
        for (status, steps, seen, is_accepted) in [
            (Running, &screening, None, true),
            (Running, &screening, Some("cstep_2"), true),
            (Running, &screening, Some("cstep_1"), false),
            (Running, &screening, Some(""), false),
            (Running, &screening, Some("In Progress"), false),
            (NotSelected, &ended, Some("Not Selected"), true),
            (NotSelected, &ended, Some("cstep_2"), false),
            (Withdrawn, &screening, Some("cstep_2"), false),
            (Hired, &screening, Some("Hired"), true),
            (Running, &vec![], Some(""), true),
        ] {
            assert_eq!(require_as_seen(status, steps, seen).is_ok(), is_accepted, "{status:?} {seen:?}");
        }
    }
}
