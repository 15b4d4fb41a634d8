//! `POST …/reopen`: reverses the rejection of a step.
//!
//! The activity row of the rejection records the state before the rejection, so the step gets its earlier status back.
//! A hire that the rejection reversed is not restored. Instead, the candidate returns to the rejected step, and all
//! later steps become pending unless they are rejected too.

use super::decision::{Decision, Remark, StepFacts};
use super::status::{ApplicationStatus, StepStatus};
use super::step::{CandidateStep, at_step_since};
use crate::domain::id::CandidateStepId;
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;

/// The input of a reopening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReopenInput {
    /// The reason, which is stored in the activity row of the reopening.
    pub reason: String,
}

/// The state before a rejection, from the activity row of the rejection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The step that was rejected.
    pub step_id: CandidateStepId,
    /// The application's status before the rejection.
    pub application_status: ApplicationStatus,
    /// The step's status before the rejection.
    pub step_status: StepStatus,
    /// The time of the step's validation, if the step was validated before the rejection.
    pub validated_at: Option<Timestamp>,
}

/// `POST …/reopen`: restores the status that the step had before the rejection. The application stays `Not Selected`
/// while another step is rejected. Otherwise, the application gets its earlier status back too. A reversed hire is an
/// exception: it is not restored. `rejections` are the application's rejections, newest first. For an imported
/// rejection, the earlier state is unknown. The rule then assumes that the candidate was at the rejected step, unless
/// another step is in progress. If the final step of such an application is validated, the candidate had been hired, so
/// the rule first sets the steps after the rejected one to pending.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate was erased or has withdrawn, or the step
/// is not rejected.
pub fn reopen(facts: &StepFacts, rejections: &[Rejection], input: &ReopenInput) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    require_rejected(facts)?;
    let mut steps = facts.steps.clone();
    let step_id = &facts.addressed_step().id;
    match rejections.iter().find(|rejection| rejection.step_id == *step_id) {
        Some(before) if before.application_status == ApplicationStatus::Hired => {
            steps[facts.addressed].return_to(StepStatus::InProgress, None);
            reset_to_pending(&mut steps[facts.addressed + 1..]);
        }
        Some(before) => steps[facts.addressed].return_to(before.step_status, before.validated_at),
        None => {
            // A validated final step shows that the candidate had been hired.
            if steps.last().is_some_and(|step| step.status == StepStatus::Validated) {
                reset_to_pending(&mut steps[facts.addressed + 1..]);
            }
            let status = assumed_status(&steps, facts.addressed);
            steps[facts.addressed].return_to(status, None);
        }
    }
    let is_rejected = steps.iter().any(|step| step.status == StepStatus::Rejected);
    let status = if is_rejected { ApplicationStatus::NotSelected } else { status_before(rejections) };
    // The candidate counts as having been at the step since they first reached it, so that a mistaken rejection does
    // not change their position on the board.
    let back_since = Some(at_step_since(facts.applied_at, &steps));
    let decision = facts.decision(steps, facts.addressed, status, None, facts.seats);
    Ok(Decision { back_since, remark: Some(Remark::Reason(input.reason.clone())), ..decision })
}

fn require_rejected(facts: &StepFacts) -> Result<(), Refusal> {
    match facts.addressed_step().status {
        StepStatus::Rejected if facts.application_status == ApplicationStatus::Withdrawn => {
            Err(Refusal::Conflict("the candidate has withdrawn the application"))
        }
        StepStatus::Rejected => Ok(()),
        StepStatus::Pending => Err(Refusal::Conflict("the step is not rejected: it is pending")),
        StepStatus::InProgress => Err(Refusal::Conflict("the step is not rejected: it is in progress")),
        StepStatus::Validated => Err(Refusal::Conflict("the step is not rejected: it is validated")),
        StepStatus::Skipped => Err(Refusal::Conflict("the step is not rejected: it is skipped")),
    }
}

/// Sets the later steps to pending, because the hire that validated or skipped them was reversed. Rejected steps stay
/// rejected.
fn reset_to_pending(later: &mut [CandidateStep]) {
    for step in later.iter_mut().filter(|step| step.status != StepStatus::Rejected) {
        step.return_to(StepStatus::Pending, None);
    }
}

/// Returns the assumed status before an imported rejection. If an earlier step is in progress, the candidate has not
/// reached this step. If a later step is in progress, the candidate has moved past this step.
fn assumed_status(steps: &[CandidateStep], addressed: usize) -> StepStatus {
    match steps.iter().position(|step| step.status == StepStatus::InProgress) {
        None => StepStatus::InProgress,
        Some(here) if here < addressed => StepStatus::Pending,
        Some(_) => StepStatus::Skipped,
    }
}

/// Returns the application's status before its current rejections. For a reversed hire, returns `InProgress`, because a
/// hire is never restored.
fn status_before(rejections: &[Rejection]) -> ApplicationStatus {
    let statuses = rejections.iter().map(|rejection| rejection.application_status);
    match statuses.into_iter().find(|status| *status != ApplicationStatus::NotSelected) {
        Some(ApplicationStatus::Withdrawn) => ApplicationStatus::Withdrawn,
        _ => ApplicationStatus::InProgress,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, THEN, after, facts, hired};
    use super::super::{HireInput, RejectInput, current_step, hire, reject};
    use super::*;
    use crate::domain::application::contradiction;
    use crate::domain::user::OrgRole;
    use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

    fn input() -> ReopenInput {
        ReopenInput { reason: "a mistake".to_owned() }
    }

    /// Returns the facts after a decision, with another step addressed.
    fn then(facts: &StepFacts, decision: &Decision, addressed: usize) -> StepFacts {
        let now = |step: &CandidateStep| decision.steps.iter().find(|changed| changed.id == step.id).cloned();
        StepFacts {
            application_status: decision.application_status,
            hire: decision.hire.clone(),
            seats: decision.seats,
            steps: facts.steps.iter().map(|step| now(step).unwrap_or_else(|| step.clone())).collect(),
            addressed,
            ..facts.clone()
        }
    }

    /// Rejects the candidate at this step, and records the earlier state as an activity row does.
    fn rejected(facts: &StepFacts, at: usize, record: &mut Vec<Rejection>) -> StepFacts {
        let facts = StepFacts { addressed: at, ..facts.clone() };
        let decision = reject(&facts, &RejectInput::default(), NOW).unwrap();
        let step = facts.addressed_step();
        let before = Rejection {
            step_id: step.id.clone(),
            application_status: facts.application_status,
            step_status: step.status,
            validated_at: step.validated_at,
        };
        record.insert(0, before);
        then(&facts, &decision, at)
    }

    fn reopened(facts: &StepFacts, at: usize, record: &[Rejection]) -> StepFacts {
        let facts = StepFacts { addressed: at, ..facts.clone() };
        let decision = reopen(&facts, record, &input()).unwrap();
        assert_eq!(decision.remark, Some(Remark::Reason("a mistake".to_owned())));
        then(&facts, &decision, at)
    }

    fn statuses(facts: &StepFacts) -> Vec<StepStatus> {
        facts.steps.iter().map(|step| step.status).collect()
    }

    #[test]
    fn reopening_restores_the_state_before_the_rejection() {
        let before = [Validated, InProgress, Skipped, Pending];
        for application in [ApplicationStatus::InProgress, ApplicationStatus::Withdrawn] {
            for at in 0..4 {
                let facts = StepFacts { application_status: application, ..facts(&before, at) };
                let mut record = Vec::new();
                let after = reopened(&rejected(&facts, at, &mut record), at, &record);
                assert_eq!(after, facts, "{application:?} at {at}");
            }
        }
    }

    #[test]
    fn an_application_is_restored_when_all_its_rejected_steps_are_reopened() {
        let whole = facts(&[Validated, InProgress, Pending], 0);
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for rejection_order in orders {
            for reopening_order in orders {
                let mut record = Vec::new();
                let mut facts =
                    rejection_order.iter().fold(whole.clone(), |facts, at| rejected(&facts, *at, &mut record));
                for at in reopening_order {
                    assert_eq!(facts.application_status, ApplicationStatus::NotSelected);
                    facts = reopened(&facts, at, &record);
                }
                assert_eq!(StepFacts { addressed: 0, ..facts }, whole, "{rejection_order:?}, then {reopening_order:?}");
            }
        }
    }

    #[test]
    fn reopening_does_not_restore_a_reversed_hire() {
        for (at, expected) in [
            (0, [InProgress, Pending, Pending, Pending]),
            (1, [Validated, InProgress, Pending, Pending]),
            (2, [Validated, Validated, InProgress, Pending]),
            (3, [Validated, Validated, Skipped, InProgress]),
        ] {
            let facts = hired(&[Validated, Validated, Skipped, Validated], at);
            let mut record = Vec::new();
            let facts = rejected(&facts, at, &mut record);
            let seats = facts.seats;
            let decision = reopen(&facts, &record, &input()).unwrap();
            assert_eq!(after(&facts, &decision), expected, "at {at}");
            assert_eq!((decision.application_status, &decision.hire), (ApplicationStatus::InProgress, &None));
            assert_eq!(decision.at_role_step.as_ref(), Some(&facts.steps[at].role_step_id));
            assert_eq!((decision.seats, decision.status_change.hired), (seats, 0));
            assert_eq!((decision.status_change.in_progress, decision.status_change.not_selected), (1, -1));
        }
    }

    #[test]
    fn reopening_in_any_order_returns_the_candidate_to_the_step_whose_rejection_reversed_the_hire() {
        let before = hired(&[Validated, Validated, Skipped, Validated], 0);
        for first in 0..4 {
            for second in (0..4).filter(|second| *second != first) {
                let mut record = Vec::new();
                let facts = rejected(&before, first, &mut record);
                let facts = rejected(&facts, second, &mut record);
                let ends = [[first, second], [second, first]]
                    .map(|order| order.iter().fold(facts.clone(), |facts, at| reopened(&facts, *at, &record)));
                for end in &ends {
                    assert_eq!(end.application_status, ApplicationStatus::InProgress);
                    assert_eq!(contradiction(end.application_status, &statuses(end)), None, "{:?}", statuses(end));
                    let here = current_step(end.application_status, &end.steps).unwrap();
                    assert_eq!(here.id, end.steps[first].id, "{first}, then {second}: {:?}", statuses(end));
                }
            }
        }
    }

    #[test]
    fn after_a_reopening_the_candidate_has_been_at_the_step_since_they_first_reached_it() {
        let mut record = Vec::new();
        let facts_after = rejected(&facts(&[Validated, InProgress, Pending], 1), 1, &mut record);
        assert_eq!(reopen(&facts_after, &record, &input()).unwrap().back_since, Some(THEN));
        let first = StepFacts { applied_at: NOW, ..facts(&[InProgress, Pending], 0) };
        let facts_after = rejected(&first, 0, &mut record);
        assert_eq!(reopen(&facts_after, &record, &input()).unwrap().back_since, Some(NOW));
    }

    #[test]
    fn a_candidate_can_be_hired_after_a_reopening() {
        let facts = facts(&[Validated, InProgress, Pending], 1);
        let mut record = Vec::new();
        let again = reopened(&rejected(&facts, 1, &mut record), 1, &record);
        let decision = hire(&again, &HireInput::default(), NOW).unwrap();
        assert_eq!(after(&again, &decision), [Validated, Validated, Validated]);
    }

    #[test]
    fn reopening_an_imported_rejection_depends_on_the_other_steps() {
        for (before, at, expected) in [
            ([Validated, Rejected, Pending], 1, [Validated, InProgress, Pending]),
            ([Validated, Validated, Rejected], 2, [Validated, Validated, InProgress]),
            ([Rejected, InProgress, Pending], 0, [Skipped, InProgress, Pending]),
            ([Validated, InProgress, Rejected], 2, [Validated, InProgress, Pending]),
            ([Validated, Rejected, Validated], 1, [Validated, InProgress, Pending]),
            ([Rejected, InProgress, Validated], 0, [InProgress, Pending, Pending]),
        ] {
            let facts = StepFacts { application_status: ApplicationStatus::NotSelected, ..facts(&before, at) };
            let decision = reopen(&facts, &[], &input()).unwrap();
            assert_eq!(after(&facts, &decision), expected);
            assert_eq!(decision.application_status, ApplicationStatus::InProgress);
            assert_eq!(contradiction(decision.application_status, &expected), None, "an import accepts the export");
        }
        let facts = StepFacts { application_status: ApplicationStatus::NotSelected, ..facts(&[Rejected, Rejected], 0) };
        let decision = reopen(&facts, &[], &input()).unwrap();
        assert_eq!(after(&facts, &decision), [InProgress, Rejected]);
        assert_eq!((decision.application_status, decision.at_role_step), (ApplicationStatus::NotSelected, None));
    }

    #[test]
    fn only_rejected_steps_are_reopened_and_the_refusal_names_the_status() {
        for (status, words) in
            [(Pending, "pending"), (InProgress, "in progress"), (Validated, "validated"), (Skipped, "skipped")]
        {
            let refused = reopen(&facts(&[status, Pending], 0), &[], &input()).unwrap_err();
            assert!(matches!(refused, Refusal::Conflict(_)) && refused.sentence().ends_with(words), "{refused:?}");
        }
        let withdrawn =
            StepFacts { application_status: ApplicationStatus::Withdrawn, ..facts(&[Rejected, Pending], 0) };
        assert!(matches!(reopen(&withdrawn, &[], &input()), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn authority_is_checked_before_state() {
        let facts = StepFacts { caller_org_role: Some(OrgRole::Member), ..facts(&[Pending], 0) };
        assert!(matches!(reopen(&facts, &[], &input()), Err(Refusal::Forbidden(_))));
    }

    #[test]
    fn reopening_restores_the_time_of_a_validation() {
        let facts = facts(&[Validated, InProgress], 0);
        let mut record = Vec::new();
        let again = reopened(&rejected(&facts, 0, &mut record), 0, &record);
        assert_eq!(again.steps[0].validated_at, Some(THEN));
    }
}
