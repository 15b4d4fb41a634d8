//! `POST …/validate`: the candidate passes the current step and moves to the next one.

use super::decision::{Decision, Remark, StepFacts};
use super::status::{ApplicationStatus, StepStatus};
use super::step::{CandidateStep, current_step};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;

/// The input of a validation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValidateInput {
    /// The notes, which are stored in the activity row of the validation.
    pub outcome_notes: Option<String>,
}

const HIRE_INSTEAD: Refusal =
    Refusal::Conflict("this is the final step; to pass it, hire the candidate: POST /api/v1/candidate-steps/{id}/hire");
const NOTHING_LEFT: Refusal =
    Refusal::Conflict("no pending step follows this one; hire the candidate: POST /api/v1/candidate-steps/{id}/hire");

/// `POST …/validate`: validates the candidate's current step and moves the candidate to the next pending step. If an
/// imported application has no step in progress, the first pending step is the current one. If it has several steps in
/// progress, each of them except the final step can be validated. The others stay in progress, and the candidate moves
/// to the first of them.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate was erased, the application has ended, or
/// the candidate is not at the step; `conflict` if the step is the final one, or if no other step is in progress and no
/// pending step follows, because then only a hire passes the step.
pub fn validate(facts: &StepFacts, input: &ValidateInput, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    facts.require_in_progress()?;
    require_current_step(facts)?;
    if facts.addressed == facts.final_index() {
        return Err(HIRE_INSTEAD);
    }
    let mut steps = facts.steps.clone();
    steps[facts.addressed].validate(now);
    let next = step_after(&steps, facts.addressed).ok_or(NOTHING_LEFT)?;
    steps[next].status = StepStatus::InProgress;
    let next = steps[next].clone();
    let decision = facts.decision(steps, facts.addressed, ApplicationStatus::InProgress, None, facts.seats);
    Ok(Decision { next: Some(next), remark: input.outcome_notes.clone().map(Remark::OutcomeNotes), ..decision })
}

/// Returns the index of the step to which a validation of the step `from` moves the candidate: another step in progress
/// or, without one, the next pending step. Returns `None` if there is neither.
pub fn step_after(steps: &[CandidateStep], from: usize) -> Option<usize> {
    let with_status = |status| steps.iter().enumerate().filter(move |(_, step)| step.status == status);
    let another = with_status(StepStatus::InProgress).map(|(index, _)| index).find(|index| *index != from);
    another.or_else(|| with_status(StepStatus::Pending).map(|(index, _)| index).find(|index| *index > from))
}

fn require_current_step(facts: &StepFacts) -> Result<(), Refusal> {
    let step = facts.addressed_step();
    let is_current = current_step(facts.application_status, &facts.steps).is_some_and(|here| here.id == step.id);
    match step.status {
        _ if is_current => Ok(()),
        StepStatus::InProgress => Ok(()),
        StepStatus::Pending => Err(Refusal::Conflict("the step is pending; the candidate is at another step")),
        StepStatus::Validated => Err(Refusal::Conflict("the step is already validated")),
        StepStatus::Rejected => Err(Refusal::Conflict("the step is rejected; reopen it first")),
        StepStatus::Skipped => Err(Refusal::Conflict("the step is skipped; the candidate has moved past it")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, after, facts};
    use super::*;
    use crate::domain::organization::StatusCounts;
    use crate::domain::user::OrgRole;
    use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

    fn input() -> ValidateInput {
        ValidateInput { outcome_notes: Some("fine".to_owned()) }
    }

    #[test]
    fn a_validation_moves_the_candidate_to_the_next_pending_step() {
        for (before, addressed, expected, next) in [
            ([InProgress, Pending, Pending, Pending], 0, [Validated, InProgress, Pending, Pending], 1),
            ([Validated, InProgress, Skipped, Pending], 1, [Validated, Validated, Skipped, InProgress], 3),
            ([Validated, InProgress, Validated, Pending], 1, [Validated, Validated, Validated, InProgress], 3),
            // Imported applications without a step in progress, or with two steps in progress.
            ([Validated, Pending, Pending, Pending], 1, [Validated, Validated, InProgress, Pending], 2),
            ([InProgress, InProgress, Pending, Pending], 0, [Validated, InProgress, Pending, Pending], 1),
            ([InProgress, InProgress, Pending, Pending], 1, [InProgress, Validated, Pending, Pending], 0),
        ] {
            let facts = facts(&before, addressed);
            let decision = validate(&facts, &input(), NOW).unwrap();
            assert_eq!(after(&facts, &decision), expected, "{before:?} at {addressed}");
            assert_eq!((decision.answer_step.validated_at, decision.answer_step.status), (Some(NOW), Validated));
            let at = &facts.steps[next];
            assert_eq!(decision.next.map(|step| (step.id, step.status)), Some((at.id.clone(), InProgress)));
            assert_eq!(decision.at_role_step.as_ref(), Some(&at.role_step_id));
            assert_eq!(decision.remark, Some(Remark::OutcomeNotes("fine".to_owned())));
            assert_eq!(decision.status_change, StatusCounts::default());
            assert_eq!((decision.seats, decision.application_status), (facts.seats, ApplicationStatus::InProgress));
        }
    }

    #[test]
    fn only_the_current_step_is_validated() {
        for (before, addressed, words) in [
            ([Validated, InProgress, Pending, Pending], 0, "already validated"),
            ([Validated, InProgress, Pending, Pending], 2, "pending"),
            ([Skipped, InProgress, Pending, Pending], 0, "skipped"),
            ([Rejected, InProgress, Pending, Pending], 0, "rejected"),
            ([Validated, Pending, Pending, Pending], 2, "pending"),
            // Only a hire passes the final step, or a step that no pending step follows.
            ([Validated, Validated, Validated, InProgress], 3, "/hire"),
            ([Validated, Validated, Validated, Pending], 3, "/hire"),
            ([Validated, InProgress, Skipped, Skipped], 1, "/hire"),
        ] {
            let refused = validate(&facts(&before, addressed), &input(), NOW).unwrap_err();
            assert!(matches!(refused, Refusal::Conflict(_)) && refused.sentence().contains(words), "{refused:?}");
        }
    }

    #[test]
    fn steps_of_ended_applications_are_not_validated() {
        for (status, words) in [
            (ApplicationStatus::Hired, "hired"),
            (ApplicationStatus::NotSelected, "rejected"),
            (ApplicationStatus::Withdrawn, "withdrawn"),
        ] {
            let facts = StepFacts { application_status: status, ..facts(&[InProgress, Pending], 0) };
            let refused = validate(&facts, &input(), NOW).unwrap_err();
            assert!(matches!(refused, Refusal::Conflict(_)) && refused.sentence().contains(words), "{refused:?}");
        }
    }

    #[test]
    fn authority_is_checked_before_state() {
        let facts = StepFacts { caller_org_role: Some(OrgRole::Member), ..facts(&[Rejected, Pending], 0) };
        assert!(matches!(validate(&facts, &input(), NOW), Err(Refusal::Forbidden(_))));
    }
}
