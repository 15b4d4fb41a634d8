//! `POST …/validate`: the candidate has passed the step where they are, and is moved to the next that is still to come.

use super::super::refusal::Refusal;
use super::super::timestamp::Timestamp;
use super::{ApplicationStatus, CandidateStep, Decision, Remark, StepFacts, StepStatus, current};

/// The body of a validation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValidateInput {
    /// Kept with the record of what was done.
    pub outcome_notes: Option<String>,
}

const HIRE_INSTEAD: Refusal =
    Refusal::Conflict("this is the final step; who passes it is hired: POST /api/v1/candidate-steps/{id}/hire");
const NOTHING_LEFT: Refusal = Refusal::Conflict(
    "no step is still to come behind this one; hire the candidate: POST /api/v1/candidate-steps/{id}/hire",
);

/// `POST …/validate`: validates the step where the candidate is, and moves them to the next one that was not reached. Where
/// an import has none in progress, the first that was not reached is where they are; where it has several, the others stay.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` where the application has ended, the candidate is not at the
/// step, or no step is left to move them to: then it is for a hire.
pub fn validate(facts: &StepFacts, wish: &ValidateInput, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    require_running(facts.application_status)?;
    require_here(facts)?;
    if facts.addressed == facts.final_index() {
        return Err(HIRE_INSTEAD);
    }
    let mut steps = facts.steps.clone();
    steps[facts.addressed].validate(now);
    let next = move_on(&mut steps, facts.addressed).ok_or(NOTHING_LEFT)?;
    let next = steps[next].clone();
    let decision = facts.decided(steps, facts.addressed, ApplicationStatus::InProgress, None, facts.seats);
    Ok(Decision { next: Some(next), remark: wish.outcome_notes.clone().map(Remark::OutcomeNotes), ..decision })
}

/// Where the candidate is now: still at another step, or at the next one that was not reached.
fn move_on(steps: &mut [CandidateStep], from: usize) -> Option<usize> {
    if let Some(other) = steps.iter().position(|step| step.status == StepStatus::InProgress) {
        return Some(other);
    }
    let next = steps.iter().skip(from + 1).position(|step| step.status == StepStatus::Pending)?;
    let next = from + 1 + next;
    steps[next].status = StepStatus::InProgress;
    Some(next)
}

fn require_running(status: ApplicationStatus) -> Result<(), Refusal> {
    match status {
        ApplicationStatus::InProgress => Ok(()),
        ApplicationStatus::Hired => Err(Refusal::Conflict("the candidate is already hired for this role")),
        ApplicationStatus::NotSelected => {
            Err(Refusal::Conflict("the candidate is already rejected for this role; reopen the rejected step first"))
        }
        ApplicationStatus::Withdrawn => Err(Refusal::Conflict("the candidate has withdrawn the application")),
    }
}

fn require_here(facts: &StepFacts) -> Result<(), Refusal> {
    let step = facts.addressed_step();
    let is_here = current(facts.application_status, &facts.steps).is_some_and(|here| here.id == step.id);
    match step.status {
        _ if is_here => Ok(()),
        StepStatus::InProgress => Ok(()),
        StepStatus::Pending => Err(Refusal::Conflict("the step is pending: the candidate is at another one")),
        StepStatus::Validated => Err(Refusal::Conflict("the step is already validated")),
        StepStatus::Rejected => Err(Refusal::Conflict("the step is rejected; reopen it first")),
        StepStatus::Skipped => Err(Refusal::Conflict("the step is skipped: the candidate was moved past it")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, after, facts};
    use super::*;
    use crate::domain::organization::StatusCounts;
    use crate::domain::user::OrgRole;
    use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

    fn wish() -> ValidateInput {
        ValidateInput { outcome_notes: Some("fine".to_owned()) }
    }

    #[test]
    fn the_candidate_moves_to_the_next_step_that_was_not_reached() {
        for (before, addressed, expected, next) in [
            ([InProgress, Pending, Pending, Pending], 0, [Validated, InProgress, Pending, Pending], 1),
            ([Validated, InProgress, Skipped, Pending], 1, [Validated, Validated, Skipped, InProgress], 3),
            ([Validated, InProgress, Validated, Pending], 1, [Validated, Validated, Validated, InProgress], 3),
            // An import with nothing in progress, and one with two.
            ([Validated, Pending, Pending, Pending], 1, [Validated, Validated, InProgress, Pending], 2),
            ([InProgress, InProgress, Pending, Pending], 0, [Validated, InProgress, Pending, Pending], 1),
            ([InProgress, InProgress, Pending, Pending], 1, [InProgress, Validated, Pending, Pending], 0),
        ] {
            let facts = facts(&before, addressed);
            let decision = validate(&facts, &wish(), NOW).unwrap();
            assert_eq!(after(&facts, &decision), expected, "{before:?} at {addressed}");
            assert_eq!((decision.shown.validated_at, decision.shown.status), (Some(NOW), Validated));
            let at = &facts.steps[next];
            assert_eq!(decision.next.map(|step| (step.id, step.status)), Some((at.id.clone(), InProgress)));
            assert_eq!(decision.at_role_step.as_ref(), Some(&at.role_step_id));
            assert_eq!(decision.remark, Some(Remark::OutcomeNotes("fine".to_owned())));
            assert_eq!(decision.status_change, StatusCounts::default());
            assert_eq!((decision.seats, decision.application_status), (facts.seats, ApplicationStatus::InProgress));
        }
    }

    #[test]
    fn only_where_the_candidate_is_can_be_validated() {
        for (before, addressed, words) in [
            ([Validated, InProgress, Pending, Pending], 0, "already validated"),
            ([Validated, InProgress, Pending, Pending], 2, "pending"),
            ([Skipped, InProgress, Pending, Pending], 0, "skipped"),
            ([Rejected, InProgress, Pending, Pending], 0, "rejected"),
            ([Validated, Pending, Pending, Pending], 2, "pending"),
            // Who passes the final step, or one behind which there is none to come, is hired.
            ([Validated, Validated, Validated, InProgress], 3, "/hire"),
            ([Validated, Validated, Validated, Pending], 3, "/hire"),
            ([Validated, InProgress, Skipped, Skipped], 1, "/hire"),
        ] {
            let refused = validate(&facts(&before, addressed), &wish(), NOW).unwrap_err();
            assert!(matches!(refused, Refusal::Conflict(_)) && refused.sentence().contains(words), "{refused:?}");
        }
    }

    #[test]
    fn an_application_that_has_ended_goes_no_further() {
        for (status, words) in [
            (ApplicationStatus::Hired, "hired"),
            (ApplicationStatus::NotSelected, "rejected"),
            (ApplicationStatus::Withdrawn, "withdrawn"),
        ] {
            let facts = StepFacts { application_status: status, ..facts(&[InProgress, Pending], 0) };
            let refused = validate(&facts, &wish(), NOW).unwrap_err();
            assert!(matches!(refused, Refusal::Conflict(_)) && refused.sentence().contains(words), "{refused:?}");
        }
    }

    #[test]
    fn authority_is_asked_before_state() {
        let facts = StepFacts { caller_org_role: Some(OrgRole::Member), ..facts(&[Rejected, Pending], 0) };
        assert!(matches!(validate(&facts, &wish(), NOW), Err(Refusal::Forbidden(_))));
    }
}
