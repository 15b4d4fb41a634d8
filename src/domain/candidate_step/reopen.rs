//! `POST …/reopen`: undoes a rejection, and puts the candidate where they were.
//!
//! What a rejection took away, the record of what was done still has: the step is again what it was before. A hire that the
//! rejection reversed does not come back: the candidate is at the step that was rejected, and what follows it is still to
//! come.

use super::super::id::CandidateStepId;
use super::super::refusal::Refusal;
use super::super::timestamp::Timestamp;
use super::{ApplicationStatus, CandidateStep, Decision, Remark, StepFacts, StepStatus, at_step_since};

/// The body of a reopening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReopenInput {
    /// Why the rejection is undone.
    pub reason: String,
}

/// What a rejection found, as the record has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The step that was rejected.
    pub step_id: CandidateStepId,
    /// Where the application was.
    pub application_status: ApplicationStatus,
    /// Where the candidate was with the step.
    pub step_status: StepStatus,
    /// When the step had been validated.
    pub validated_at: Option<Timestamp>,
}

/// `POST …/reopen`: the step is again what it was before it was rejected, and so is the application once none of its steps is
/// rejected any more; until then it stays `Not Selected`. `record` is what the application's rejections found, the newest
/// first; of one that came by import nothing is known, and the candidate is taken to have been at that step, unless another
/// is in progress.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` where the step is not rejected, or the candidate has withdrawn.
pub fn reopen(facts: &StepFacts, record: &[Rejection], wish: &ReopenInput) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    require_rejected(facts)?;
    let mut steps = facts.steps.clone();
    let step_id = &facts.addressed_step().id;
    match record.iter().find(|rejection| rejection.step_id == *step_id) {
        Some(found) if found.application_status == ApplicationStatus::Hired => {
            steps[facts.addressed].return_to(StepStatus::InProgress, None);
            put_before(&mut steps[facts.addressed + 1..]);
        }
        Some(found) => steps[facts.addressed].return_to(found.step_status, found.validated_at),
        None => {
            let status = without_record(&steps, facts.addressed);
            steps[facts.addressed].return_to(status, None);
        }
    }
    let is_rejected = steps.iter().any(|step| step.status == StepStatus::Rejected);
    let status = if is_rejected { ApplicationStatus::NotSelected } else { before_rejection(record) };
    // As if the rejection had never been: nobody loses their place in the order of the board by a mistake.
    let back_since = Some(at_step_since(facts.applied_at, &steps));
    let decision = facts.decided(steps, facts.addressed, status, None, facts.seats);
    Ok(Decision { back_since, remark: Some(Remark::Reason(wish.reason.clone())), ..decision })
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

impl CandidateStep {
    fn return_to(&mut self, status: StepStatus, validated_at: Option<Timestamp>) {
        self.status = status;
        self.validated_at = validated_at;
        self.rejected_at = None;
        self.rejection_reason = None;
        self.outcome_type = None;
        self.outcome_reason = None;
    }
}

/// What a hire validated or passed over is still to come; what was rejected by itself stays on record.
fn put_before(later: &mut [CandidateStep]) {
    for step in later.iter_mut().filter(|step| step.status != StepStatus::Rejected) {
        step.return_to(StepStatus::Pending, None);
    }
}

/// Where the candidate was with a rejected step of which nothing else is known. A candidate who is at an earlier step has not
/// reached it; one who is at a later step was moved past it, and nobody knows when.
fn without_record(steps: &[CandidateStep], addressed: usize) -> StepStatus {
    match steps.iter().position(|step| step.status == StepStatus::InProgress) {
        None => StepStatus::InProgress,
        Some(here) if here < addressed => StepStatus::Pending,
        Some(_) => StepStatus::Skipped,
    }
}

/// Where the application was before the first of its rejections that stood until now. A hire is never restored.
fn before_rejection(record: &[Rejection]) -> ApplicationStatus {
    let found = record.iter().map(|rejection| rejection.application_status);
    match found.into_iter().find(|status| *status != ApplicationStatus::NotSelected) {
        Some(ApplicationStatus::Withdrawn) => ApplicationStatus::Withdrawn,
        _ => ApplicationStatus::InProgress,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, THEN, after, facts, hired};
    use super::super::{HireInput, RejectInput, hire, reject};
    use super::*;
    use crate::domain::application::contradiction;
    use crate::domain::user::OrgRole;
    use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

    fn wish() -> ReopenInput {
        ReopenInput { reason: "a mistake".to_owned() }
    }

    /// The facts after a decision, about another step.
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

    /// Rejects at this step and notes what was found there, as the record does.
    fn rejected(facts: &StepFacts, at: usize, record: &mut Vec<Rejection>) -> StepFacts {
        let facts = StepFacts { addressed: at, ..facts.clone() };
        let decision = reject(&facts, &RejectInput::default(), NOW).unwrap();
        let step = facts.addressed_step();
        let found = Rejection {
            step_id: step.id.clone(),
            application_status: facts.application_status,
            step_status: step.status,
            validated_at: step.validated_at,
        };
        record.insert(0, found);
        then(&facts, &decision, at)
    }

    fn reopened(facts: &StepFacts, at: usize, record: &[Rejection]) -> StepFacts {
        let facts = StepFacts { addressed: at, ..facts.clone() };
        let decision = reopen(&facts, record, &wish()).unwrap();
        assert_eq!(decision.remark, Some(Remark::Reason("a mistake".to_owned())));
        then(&facts, &decision, at)
    }

    fn statuses(facts: &StepFacts) -> Vec<StepStatus> {
        facts.steps.iter().map(|step| step.status).collect()
    }

    #[test]
    fn a_rejection_at_any_step_leaves_no_trace_once_it_is_undone() {
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
    fn of_several_rejections_the_last_to_be_undone_puts_the_application_back() {
        let whole = facts(&[Validated, InProgress, Pending], 0);
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for made in orders {
            for undone in orders {
                let mut record = Vec::new();
                let mut facts = made.iter().fold(whole.clone(), |facts, at| rejected(&facts, *at, &mut record));
                for at in undone {
                    assert_eq!(facts.application_status, ApplicationStatus::NotSelected);
                    facts = reopened(&facts, at, &record);
                }
                assert_eq!(StepFacts { addressed: 0, ..facts }, whole, "{made:?}, then {undone:?}");
            }
        }
    }

    #[test]
    fn a_reversed_hire_does_not_come_back() {
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
            let decision = reopen(&facts, &record, &wish()).unwrap();
            assert_eq!(after(&facts, &decision), expected, "at {at}");
            assert_eq!((decision.application_status, &decision.hire), (ApplicationStatus::InProgress, &None));
            assert_eq!(decision.at_role_step.as_ref(), Some(&facts.steps[at].role_step_id));
            assert_eq!((decision.seats, decision.status_change.hired), (seats, 0));
            assert_eq!((decision.status_change.in_progress, decision.status_change.not_selected), (1, -1));
        }
    }

    /// Whatever is rejected besides, in whichever order it is undone, a reversed hire ends where it was reversed.
    #[test]
    fn a_reversed_hire_among_other_rejections_ends_the_same_in_every_order() {
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
                    let here = super::super::current(end.application_status, &end.steps).unwrap();
                    assert_eq!(here.id, end.steps[first].id, "{first}, then {second}: {:?}", statuses(end));
                }
            }
        }
    }

    #[test]
    fn whoever_is_taken_back_is_there_since_they_came_there_first() {
        let mut record = Vec::new();
        let facts_after = rejected(&facts(&[Validated, InProgress, Pending], 1), 1, &mut record);
        assert_eq!(reopen(&facts_after, &record, &wish()).unwrap().back_since, Some(THEN));
        let first = StepFacts { applied_at: NOW, ..facts(&[InProgress, Pending], 0) };
        let facts_after = rejected(&first, 0, &mut record);
        assert_eq!(reopen(&facts_after, &record, &wish()).unwrap().back_since, Some(NOW));
    }

    #[test]
    fn a_hire_after_a_reopening_is_one_like_any_other() {
        let facts = facts(&[Validated, InProgress, Pending], 1);
        let mut record = Vec::new();
        let again = reopened(&rejected(&facts, 1, &mut record), 1, &record);
        let decision = hire(&again, &HireInput::default(), NOW).unwrap();
        assert_eq!(after(&again, &decision), [Validated, Validated, Validated]);
    }

    #[test]
    fn of_an_imported_rejection_the_steps_tell_where_the_candidate_was() {
        for (before, at, expected) in [
            ([Validated, Rejected, Pending], 1, [Validated, InProgress, Pending]),
            ([Validated, Validated, Rejected], 2, [Validated, Validated, InProgress]),
            ([Rejected, InProgress, Pending], 0, [Skipped, InProgress, Pending]),
            ([Validated, InProgress, Rejected], 2, [Validated, InProgress, Pending]),
        ] {
            let facts = StepFacts { application_status: ApplicationStatus::NotSelected, ..facts(&before, at) };
            let decision = reopen(&facts, &[], &wish()).unwrap();
            assert_eq!(after(&facts, &decision), expected);
            assert_eq!(decision.application_status, ApplicationStatus::InProgress);
        }
        let facts = StepFacts { application_status: ApplicationStatus::NotSelected, ..facts(&[Rejected, Rejected], 0) };
        let decision = reopen(&facts, &[], &wish()).unwrap();
        assert_eq!(after(&facts, &decision), [InProgress, Rejected]);
        assert_eq!((decision.application_status, decision.at_role_step), (ApplicationStatus::NotSelected, None));
    }

    #[test]
    fn what_is_not_rejected_is_not_reopened_and_the_refusal_says_what_it_is() {
        for (status, words) in
            [(Pending, "pending"), (InProgress, "in progress"), (Validated, "validated"), (Skipped, "skipped")]
        {
            let refused = reopen(&facts(&[status, Pending], 0), &[], &wish()).unwrap_err();
            assert!(matches!(refused, Refusal::Conflict(_)) && refused.sentence().ends_with(words), "{refused:?}");
        }
        let withdrawn =
            StepFacts { application_status: ApplicationStatus::Withdrawn, ..facts(&[Rejected, Pending], 0) };
        assert!(matches!(reopen(&withdrawn, &[], &wish()), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn authority_is_asked_before_state() {
        let facts = StepFacts { caller_org_role: Some(OrgRole::Member), ..facts(&[Pending], 0) };
        assert!(matches!(reopen(&facts, &[], &wish()), Err(Refusal::Forbidden(_))));
    }

    #[test]
    fn a_step_keeps_the_time_at_which_it_had_been_validated() {
        let facts = facts(&[Validated, InProgress], 0);
        let mut record = Vec::new();
        let again = reopened(&rejected(&facts, 0, &mut record), 0, &record);
        assert_eq!(again.steps[0].validated_at, Some(THEN));
    }
}
