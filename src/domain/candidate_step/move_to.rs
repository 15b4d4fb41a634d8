//! `POST …/move`: the candidate moves to any other step of the application, forward or back.

use super::decision::{Decision, Remark, StepFacts};
use super::status::{ApplicationStatus, StepStatus};
use super::step::{at_step_since, current_index};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;

/// The input of a move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MoveInput {
    /// The reason, which is stored in the activity row of the move.
    pub reason: Option<String>,
}

/// `POST …/move`: moves the candidate to the addressed step, as [`statuses_after_move`] describes. A candidate who
/// moves back counts as having been at the step since they first reached it. A mistaken move that is taken back in this
/// way therefore does not change the candidate's position on the board. The role may have any status.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate was erased, the application has ended, or
/// the candidate is already at the step.
pub fn move_to(facts: &StepFacts, input: &MoveInput, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    facts.require_in_progress()?;
    let before: Vec<StepStatus> = facts.steps.iter().map(|step| step.status).collect();
    let statuses = statuses_after_move(&before, facts.addressed)
        .ok_or(Refusal::Conflict("the candidate is already at this step"))?;
    let mut steps = facts.steps.clone();
    for (step, status) in steps.iter_mut().zip(statuses) {
        match status {
            _ if status == step.status => {}
            StepStatus::Validated => step.validate(now),
            _ => step.return_to(status, None),
        }
    }
    let is_back = current_index(before.iter().copied()).is_none_or(|here| facts.addressed < here);
    let back_since = is_back.then(|| at_step_since(facts.applied_at, &steps));
    let decision = facts.decision(steps, facts.addressed, ApplicationStatus::InProgress, None, facts.seats);
    Ok(Decision { back_since, remark: input.reason.clone().map(Remark::Reason), ..decision })
}

/// Returns the statuses of the steps of an application in progress after a move to the step with the index `to`.
/// Returns `None` if the candidate is already at that step.
///
/// - Forward: the current step becomes `validated`. Pending steps between it and the step `to` become `skipped`, as in
///   a hire. Steps that are already validated or skipped keep their status.
/// - Back, or if an imported application has no open step: every later step becomes `pending` again.
///
/// After a move, only the step `to` is in progress, even if an import placed the candidate at several steps. Other
/// steps that were in progress become `validated` if they are before the step `to`, and `pending` if they are after it.
pub(in crate::domain) fn statuses_after_move(before: &[StepStatus], to: usize) -> Option<Vec<StepStatus>> {
    let here = current_index(before.iter().copied());
    if here == Some(to) {
        return None;
    }
    let from = here.filter(|here| *here < to);
    let after = |(index, status): (usize, &StepStatus)| match (*status, from) {
        _ if index == to => StepStatus::InProgress,
        (StepStatus::InProgress, _) | (_, None) if index > to => StepStatus::Pending,
        (StepStatus::InProgress, _) => StepStatus::Validated,
        (StepStatus::Pending, Some(from)) if index == from => StepStatus::Validated,
        (StepStatus::Pending, Some(from)) if (from..to).contains(&index) => StepStatus::Skipped,
        (status, _) => status,
    };
    Some(before.iter().enumerate().map(after).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, THEN, after, facts};
    use super::super::{CandidateStep, HireInput, ValidateInput, current_step, hire, validate};
    use super::*;
    use crate::domain::application::contradiction;
    use crate::domain::organization::StatusCounts;
    use crate::domain::role::{RoleStatus, Seats};
    use crate::domain::user::OrgRole;
    use StepStatus::{InProgress, Pending, Skipped, Validated};

    fn input() -> MoveInput {
        MoveInput { reason: Some("a second call".to_owned()) }
    }

    #[test]
    fn a_move_forward_validates_the_current_step_and_skips_the_steps_between() {
        for (before, to, expected) in [
            ([InProgress, Pending, Pending, Pending], 1, [Validated, InProgress, Pending, Pending]),
            ([InProgress, Pending, Pending, Pending], 3, [Validated, Skipped, Skipped, InProgress]),
            ([Validated, InProgress, Pending, Pending], 3, [Validated, Validated, Skipped, InProgress]),
            // Steps that were decided earlier keep their status, except for the step that the candidate moves to.
            ([InProgress, Validated, Pending, Skipped], 2, [Validated, Validated, InProgress, Skipped]),
            ([InProgress, Validated, Skipped, Pending], 2, [Validated, Validated, InProgress, Pending]),
            ([Validated, InProgress, Validated, Pending], 2, [Validated, Validated, InProgress, Pending]),
            // Imported applications without a step in progress, or with several steps in progress.
            ([Validated, Pending, Pending, Pending], 3, [Validated, Validated, Skipped, InProgress]),
            ([InProgress, InProgress, Pending, Pending], 1, [Validated, InProgress, Pending, Pending]),
            ([InProgress, InProgress, Pending, Pending], 3, [Validated, Validated, Skipped, InProgress]),
            ([InProgress, Pending, InProgress, Pending], 1, [Validated, InProgress, Pending, Pending]),
            ([Pending, InProgress, Pending, Pending], 2, [Pending, Validated, InProgress, Pending]),
        ] {
            let facts = facts(&before, to);
            let decision = move_to(&facts, &input(), NOW).unwrap();
            assert_eq!(after(&facts, &decision), expected, "{before:?} to {to}");
            assert_eq!((decision.answer_step.status, decision.answer_step.validated_at), (InProgress, None));
            assert_eq!(decision.back_since, None);
        }
    }

    #[test]
    fn a_move_back_makes_every_later_step_pending() {
        for (before, to, expected) in [
            ([Validated, InProgress, Pending, Pending], 0, [InProgress, Pending, Pending, Pending]),
            ([Validated, Skipped, Validated, InProgress], 2, [Validated, Skipped, InProgress, Pending]),
            ([Validated, Skipped, Validated, InProgress], 1, [Validated, InProgress, Pending, Pending]),
            ([Validated, Validated, InProgress, Skipped], 1, [Validated, InProgress, Pending, Pending]),
            // Imported applications without a step in progress, with several, or without any open step.
            ([Validated, Validated, Pending, Pending], 0, [InProgress, Pending, Pending, Pending]),
            ([Validated, InProgress, InProgress, Pending], 0, [InProgress, Pending, Pending, Pending]),
            ([Pending, Validated, InProgress, Pending], 1, [Pending, InProgress, Pending, Pending]),
            ([Validated, Validated, Validated, Skipped], 3, [Validated, Validated, Validated, InProgress]),
            ([Validated, Validated, Validated, Skipped], 1, [Validated, InProgress, Pending, Pending]),
        ] {
            let facts = facts(&before, to);
            let decision = move_to(&facts, &input(), NOW).unwrap();
            assert_eq!(after(&facts, &decision), expected, "{before:?} to {to}");
            assert!(decision.steps.iter().all(|step| step.validated_at.is_none()), "{before:?} to {to}");
        }
    }

    /// Returns every combination of four statuses that an application in progress can have.
    fn all_states() -> impl Iterator<Item = [StepStatus; 4]> {
        let statuses = [Pending, InProgress, Validated, Skipped];
        let states = (0..256_usize).map(move |n| [n % 4, n / 4 % 4, n / 16 % 4, n / 64].map(|index| statuses[index]));
        states.filter(|state| contradiction(ApplicationStatus::InProgress, state).is_none())
    }

    #[test]
    fn after_a_move_from_any_state_only_the_addressed_step_is_in_progress() {
        for before in all_states() {
            for to in 0..4 {
                let facts = facts(&before, to);
                let Ok(decision) = move_to(&facts, &input(), NOW) else {
                    let here = current_step(ApplicationStatus::InProgress, &facts.steps).unwrap();
                    assert_eq!(here.id, facts.steps[to].id, "only a move to the current step is refused: {before:?}");
                    continue;
                };
                let statuses = after(&facts, &decision);
                assert_eq!(contradiction(decision.application_status, &statuses), None, "{before:?} to {to}");
                assert_eq!(decision.at_role_step.as_ref(), Some(&facts.steps[to].role_step_id), "{before:?} to {to}");
                assert_eq!(statuses.iter().filter(|status| **status == InProgress).count(), 1, "{before:?} to {to}");
                let is_dated = |step: &&CandidateStep| {
                    (step.status == Validated) == step.validated_at.is_some() && step.rejected_at.is_none()
                };
                assert_eq!(decision.steps.iter().filter(is_dated).count(), decision.steps.len());
                assert_eq!((decision.status_change, decision.seats), (StatusCounts::default(), facts.seats));
                assert_eq!((&decision.hire, &decision.next), (&None, &None));
                assert_eq!(decision.remark, Some(Remark::Reason("a second call".to_owned())));
            }
        }
    }

    #[test]
    fn a_move_to_the_next_step_changes_the_same_steps_as_a_validation() {
        for before in [[InProgress, Pending, Pending], [Validated, InProgress, Pending], [Validated, Pending, Pending]]
        {
            let here = current_index(before.into_iter()).unwrap();
            let validated = validate(&facts(&before, here), &ValidateInput::default(), NOW).unwrap();
            let moved = move_to(&facts(&before, here + 1), &MoveInput::default(), NOW).unwrap();
            assert_eq!((moved.steps, moved.at_role_step), (validated.steps, validated.at_role_step));
            assert_eq!((moved.back_since, moved.remark), (None, None));
        }
    }

    #[test]
    fn a_candidate_who_moves_back_has_been_at_the_step_since_they_first_reached_it() {
        let back = |facts: &StepFacts| move_to(facts, &input(), NOW).unwrap().back_since;
        assert_eq!(back(&facts(&[Validated, Validated, InProgress], 1)), Some(THEN));
        assert_eq!(back(&StepFacts { applied_at: NOW, ..facts(&[Validated, InProgress], 0) }), Some(NOW));
    }

    #[test]
    fn a_move_does_not_change_the_time_of_an_earlier_validation() {
        let decision = move_to(&facts(&[Validated, InProgress, Pending, Pending], 3), &input(), NOW).unwrap();
        assert_eq!(decision.steps.iter().map(|step| step.order).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(decision.steps[0].validated_at, Some(NOW));
    }

    #[test]
    fn a_candidate_who_moved_can_be_hired() {
        let before = facts(&[Validated, InProgress, Pending, Pending], 3);
        let decision = move_to(&before, &input(), NOW).unwrap();
        let moved = facts(&after(&before, &decision), 3);
        let hired = hire(&moved, &HireInput::default(), NOW).unwrap();
        assert_eq!(after(&moved, &hired), [Validated, Validated, Skipped, Validated]);
    }

    #[test]
    fn a_move_does_not_depend_on_the_status_of_the_role() {
        for status in [RoleStatus::Draft, RoleStatus::Filled, RoleStatus::Closed] {
            let seats = Seats { status, positions: 1, hired: 1 };
            let facts = StepFacts { seats, ..facts(&[InProgress, Pending], 1) };
            assert_eq!(move_to(&facts, &input(), NOW).unwrap().seats, seats);
        }
    }

    #[test]
    fn ended_applications_erased_candidates_and_moves_to_the_current_step_are_refused() {
        let facts = |to| facts(&[Validated, InProgress, Pending], to);
        for (facts, words) in [
            (StepFacts { application_status: ApplicationStatus::Hired, ..facts(2) }, "already been hired"),
            (StepFacts { application_status: ApplicationStatus::NotSelected, ..facts(2) }, "already been rejected"),
            (StepFacts { application_status: ApplicationStatus::Withdrawn, ..facts(2) }, "withdrawn"),
            (StepFacts { is_erased: true, ..facts(2) }, "erased"),
            (facts(1), "already at this step"),
        ] {
            let refused = move_to(&facts, &input(), NOW).unwrap_err();
            assert!(matches!(refused, Refusal::Conflict(_)) && refused.sentence().contains(words), "{refused:?}");
        }
    }

    #[test]
    fn authority_is_checked_before_state() {
        let facts = StepFacts { caller_org_role: Some(OrgRole::Member), ..facts(&[InProgress, Pending], 0) };
        assert!(matches!(move_to(&facts, &input(), NOW), Err(Refusal::Forbidden(_))));
    }
}
