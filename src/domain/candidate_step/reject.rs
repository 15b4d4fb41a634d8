//! `POST …/reject`: ends an application at one of its steps.

use super::decision::{Decision, StepFacts};
use super::status::{ApplicationStatus, StepStatus};
use super::step::CandidateStep;
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;

/// The input of a rejection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RejectInput {
    /// The notes on the outcome, which are stored as the rejection reason.
    pub outcome_notes: Option<String>,
    /// The party that ended the application.
    pub outcome_type: Option<String>,
    /// The reason why the application ended.
    pub outcome_reason: Option<String>,
}

/// `POST …/reject`: ends the application at any step that is not yet rejected. The application may already have ended.
/// If the candidate is hired, the rejection reverses the hire: the position becomes free, a `filled` role becomes
/// `open`, and the final step becomes `pending` unless it is the rejected one.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate was erased or the step is already
/// rejected.
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
    Ok(facts.decision(steps, facts.addressed, ApplicationStatus::NotSelected, None, seats))
}

impl CandidateStep {
    fn reject(&mut self, input: &RejectInput, now: Timestamp) {
        self.status = StepStatus::Rejected;
        self.validated_at = None;
        self.rejected_at = Some(now);
        self.rejection_reason = Some(input.outcome_notes.clone().unwrap_or_default());
        self.outcome_type.clone_from(&input.outcome_type);
        self.outcome_reason.clone_from(&input.outcome_reason);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, after, facts, hired};
    use super::*;
    use crate::domain::organization::StatusCounts;
    use crate::domain::role::{RoleStatus, Seats};
    use crate::domain::user::OrgRole;
    use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

    #[test]
    fn a_rejection_changes_only_the_addressed_step() {
        let before = [Validated, InProgress, Pending, Skipped];
        for addressed in 0..4 {
            let facts = facts(&before, addressed);
            let decision = reject(&facts, &RejectInput::default(), NOW).unwrap();
            let mut expected = before;
            expected[addressed] = Rejected;
            assert_eq!(after(&facts, &decision), expected);
            assert_eq!(decision.answer_step.rejection_reason.as_deref(), Some(""));
            assert_eq!((decision.answer_step.rejected_at, decision.answer_step.validated_at), (Some(NOW), None));
            assert_eq!(decision.application_status, ApplicationStatus::NotSelected);
            assert_eq!(decision.seats, facts.seats);
        }
        let facts = facts(&[Rejected], 0);
        assert!(matches!(reject(&facts, &RejectInput::default(), NOW), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn rejecting_a_hired_candidate_reverses_the_hire() {
        let before = [Validated, Skipped, Validated];
        for (addressed, expected) in [
            (0, [Rejected, Skipped, Pending]),
            (1, [Validated, Rejected, Pending]),
            (2, [Validated, Skipped, Rejected]),
        ] {
            let facts = hired(&before, addressed);
            let decision = reject(&facts, &RejectInput::default(), NOW).unwrap();
            assert_eq!(after(&facts, &decision), expected);
            assert_eq!(decision.hire, None);
            assert_eq!(decision.seats, Seats { status: RoleStatus::Open, positions: 2, hired: 1 });
            assert_eq!(decision.status_change.hired, -1);
            assert_eq!(decision.status_change.open_positions, 1);
        }
    }

    #[test]
    fn a_second_rejection_does_not_change_the_first() {
        let facts = StepFacts { application_status: ApplicationStatus::NotSelected, ..facts(&[Rejected, Pending], 1) };
        let decision = reject(&facts, &RejectInput::default(), NOW).unwrap();
        assert_eq!(decision.steps.len(), 1);
        assert_eq!(decision.status_change, StatusCounts::default());
    }

    #[test]
    fn authority_is_checked_before_state() {
        let facts = StepFacts { caller_org_role: Some(OrgRole::Member), ..hired(&[Rejected], 0) };
        assert!(matches!(reject(&facts, &RejectInput::default(), NOW), Err(Refusal::Forbidden(_))));
    }
}
