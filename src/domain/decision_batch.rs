//! Decision batches: `POST …/roles/{id}/decisions` makes one decision on many applications to a role, and `…/undo` can
//! undo the batch for 10 minutes.
//!
//! The rule of the single act decides on each application. A later mark counts as a decision here, so that several
//! marks can be undone together. A batch adds three checks, because nobody looks at each of its applications. Only
//! applications in progress are decided on, so that a batch never reverses a hire. A candidate who has left the named
//! step is not decided on. An application that is named twice is decided on once.

use std::time::Duration;

use jiff::civil::Date;

use super::activity::Action;
use super::candidate_step::{
    self, AttributedAct, Decision, MoveInput, RejectInput, StepFacts, UNDO_PERIOD, ValidateInput,
};
use super::due_day::DueDay;
use super::id::{RoleStepId, UserId};
use super::later::{self, LaterInput, MarkChange};
use super::refusal::Refusal;
use super::timestamp::Timestamp;
use super::words::words;

/// The maximum number of applications in a batch, which is more than anybody reads on one screen. While a batch is
/// decided on, other writes wait, but for less than 0.1 s.
pub const ITEMS_MAX: usize = 500;

/// The time for which a batch is stored. It exceeds [`UNDO_PERIOD`], so that the refusal of a late undo can give the
/// reason.
pub const STORED_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// The application was named twice in one request.
pub const NAMED_TWICE: Refusal = Refusal::Conflict("the request names this application twice");

/// An act has followed the decision that the caller wants to undo.
pub const CHANGED_SINCE: Refusal = Refusal::Conflict("the application was changed after this decision");

words! {
    /// The decision of a batch.
    BatchAction {
        /// Rejects each candidate.
        Reject = "reject",
        /// Moves each candidate to one step of the role.
        Move = "move",
        /// Moves each candidate to the next step.
        Validate = "validate",
        /// Puts each application aside until a day.
        Later = "later",
    }
}

/// The decision of a batch, with its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchDecision {
    /// Rejects each candidate at the current step.
    Reject(RejectInput),
    /// Moves each candidate to this step of the role.
    Move(RoleStepId, MoveInput),
    /// Validates each candidate's current step.
    Validate(ValidateInput),
    /// Puts each application aside until this day.
    Later(LaterInput),
}

impl BatchDecision {
    /// Returns the word for the decision.
    pub fn action(&self) -> BatchAction {
        match self {
            Self::Reject(_) => BatchAction::Reject,
            Self::Move(..) => BatchAction::Move,
            Self::Validate(_) => BatchAction::Validate,
            Self::Later(_) => BatchAction::Later,
        }
    }
}

/// The way in which an item names its application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// By the application's id. The candidate may be at any step.
    Application,
    /// By the id of the step that the candidate must be at.
    Step,
}

/// The plan for one application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The facts, which address the step to decide on.
    pub facts: StepFacts,
    /// The change to save.
    pub change: PlannedChange,
}

/// The change that a plan makes to an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedChange {
    /// A decision, with the action to record.
    Decision(Action, Box<Decision>),
    /// The new later mark; `None` removes the mark.
    Mark(Option<DueDay>),
}

/// Plans the decision on one application of a batch. If the application is named by a step, `facts` address that step.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate was erased, the application has ended, the
/// candidate has left the named step, the application does not have the step to move to, or the rule of the single act
/// refuses the decision; `validation_error` for a due day that [`later::due_day`] refuses. Before the caller plans the
/// first application, it checks the due day, so an invalid day leads to the refusal of the whole batch.
pub fn plan(
    facts: StepFacts,
    named_by: NamedBy,
    decision: &BatchDecision,
    now: Timestamp,
    today: Date,
) -> Result<Plan, Refusal> {
    facts.require_authority()?;
    facts.require_in_progress()?;
    if named_by == NamedBy::Step && !facts.is_at_addressed_step() {
        return Err(Refusal::Conflict("the candidate is no longer at this step"));
    }
    let addressed = match decision {
        BatchDecision::Move(to, _) => {
            let target = facts.steps.iter().position(|step| step.role_step_id == *to);
            target.ok_or(Refusal::Conflict("the application does not have this step"))?
        }
        _ => facts.current_or_final_index(),
    };
    let facts = StepFacts { addressed, ..facts };
    let decided = |action, decision| PlannedChange::Decision(action, Box::new(decision));
    let change = match decision {
        BatchDecision::Reject(input) => decided(Action::Rejected, candidate_step::reject(&facts, input, now)?),
        BatchDecision::Validate(input) => decided(Action::Validated, candidate_step::validate(&facts, input, now)?),
        BatchDecision::Move(_, input) => decided(Action::Moved, candidate_step::move_to(&facts, input, now)?),
        BatchDecision::Later(input) => {
            PlannedChange::Mark(Some(later::put_aside(facts.application_status, *input, today)?))
        }
    };
    Ok(Plan { facts, change })
}

/// The facts that decide whether a batch can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchFacts {
    /// The user who made the decisions.
    pub user_id: UserId,
    /// The time of the decisions.
    pub created_at: Timestamp,
    /// The time at which the batch was undone, if it was.
    pub undone_at: Option<Timestamp>,
}

impl BatchFacts {
    /// Checks that the caller can undo the batch.
    ///
    /// # Errors
    /// `conflict` if the batch has already been undone or is at least [`UNDO_PERIOD`] old; `forbidden` if another user
    /// made the decisions.
    pub fn require_undoable(&self, caller: &UserId, now: Timestamp) -> Result<(), Refusal> {
        if self.undone_at.is_some() {
            return Err(Refusal::Conflict("these decisions have already been undone"));
        }
        if now.since(self.created_at) >= UNDO_PERIOD {
            return Err(Refusal::Conflict(
                "these decisions are at least 10 minutes old; move the candidates back, or reopen the steps with a reason",
            ));
        }
        if self.user_id != *caller {
            return Err(Refusal::Forbidden("only the person who made these decisions can undo them"));
        }
        Ok(())
    }
}

/// Returns the time from which a batch that was created at `created_at` can no longer be undone.
pub fn undo_until(created_at: Timestamp) -> Timestamp {
    created_at.plus(UNDO_PERIOD)
}

/// Plans how to undo a decision of a batch by the rule of the single undo. `is_last` is true if no act has followed the
/// decision. `acts` are the newest acts on the application, newest first.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate was erased or an act has followed the
/// decision; otherwise the errors of [`candidate_step::undo`].
pub fn plan_undo(
    facts: StepFacts,
    is_last: bool,
    acts: &[AttributedAct],
    caller: &UserId,
    now: Timestamp,
) -> Result<Plan, Refusal> {
    facts.require_authority()?;
    if !is_last {
        return Err(CHANGED_SINCE);
    }
    let decision = candidate_step::undo(&facts, acts, caller, now)?;
    Ok(Plan { facts, change: PlannedChange::Decision(Action::Undone, Box::new(decision)) })
}

/// Plans how to undo a later mark of a batch by the rule of the single undo. `change` is the change to the mark, or
/// `None` if an act has followed it.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate was erased or an act has followed the
/// change; otherwise the errors of [`later::undo`].
pub fn plan_mark_undo(
    facts: StepFacts,
    change: Option<&MarkChange>,
    caller: &UserId,
    now: Timestamp,
) -> Result<Plan, Refusal> {
    facts.require_authority()?;
    let change = change.ok_or(CHANGED_SINCE)?;
    let mark = later::undo(facts.application_status, Some(change), caller, now)?;
    Ok(Plan { facts, change: PlannedChange::Mark(mark) })
}

/// Returns the time that is [`STORED_FOR`] before `now`. Older batches are deleted.
pub fn stored_since(now: Timestamp) -> Timestamp {
    now.minus(STORED_FOR)
}

#[cfg(test)]
mod tests {
    use super::super::candidate_step::tests::{NOW, after, facts, hired};
    use super::super::candidate_step::{ApplicationStatus, StepStatus};
    use super::super::id::Id;
    use super::super::role::{RoleStatus, Seats};
    use super::super::user::OrgRole;
    use super::*;
    use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

    fn reject() -> BatchDecision {
        BatchDecision::Reject(RejectInput::default())
    }

    fn move_to(step: usize) -> BatchDecision {
        BatchDecision::Move(RoleStepId::parse(&format!("step_{step}")).unwrap(), MoveInput::default())
    }

    fn validate() -> BatchDecision {
        BatchDecision::Validate(ValidateInput::default())
    }

    fn later() -> BatchDecision {
        BatchDecision::Later(LaterInput::InDays(3))
    }

    fn planned(facts: StepFacts, named_by: NamedBy, decision: &BatchDecision) -> Result<Plan, Refusal> {
        plan(facts, named_by, decision, NOW, DueDay::parse("2026-11-21").unwrap().0)
    }

    #[test]
    fn each_application_is_decided_on_at_its_current_step() {
        for (before, decision, action, expected) in [
            ([Validated, InProgress, Pending], reject(), Action::Rejected, [Validated, Rejected, Pending]),
            ([Validated, Pending, Pending], reject(), Action::Rejected, [Validated, Rejected, Pending]),
            ([Validated, Validated, Skipped], reject(), Action::Rejected, [Validated, Validated, Rejected]),
            ([InProgress, Pending, Pending], move_to(3), Action::Moved, [Validated, Skipped, InProgress]),
            ([Validated, Validated, InProgress], move_to(1), Action::Moved, [InProgress, Pending, Pending]),
            ([InProgress, Pending, Pending], validate(), Action::Validated, [Validated, InProgress, Pending]),
            ([Validated, Pending, Pending], validate(), Action::Validated, [Validated, Validated, InProgress]),
        ] {
            for addressed in 0..3 {
                let plan = planned(facts(&before, addressed), NamedBy::Application, &decision).unwrap();
                let PlannedChange::Decision(recorded, decided) = plan.change else { panic!("{decision:?}") };
                assert_eq!((recorded, after(&plan.facts, &decided)), (action, expected.to_vec()), "{before:?}");
                let decided_on = plan.facts.addressed_step();
                assert_eq!(decided_on.id, decided.answer_step.id);
            }
        }
    }

    #[test]
    fn applications_at_any_step_are_put_aside() {
        for (before, here) in [
            ([InProgress, Pending, Pending], 0),
            ([Validated, Skipped, InProgress], 2),
            ([Validated, Validated, Validated], 2),
        ] {
            let plan = planned(facts(&before, 1), NamedBy::Application, &later()).unwrap();
            assert_eq!(plan.change, PlannedChange::Mark(DueDay::parse("2026-11-24")));
            assert_eq!(plan.facts.addressed, here, "{before:?}");
        }
        let today = BatchDecision::Later(LaterInput::On(DueDay::parse("2026-11-21").unwrap()));
        let refused = planned(facts(&[InProgress], 0), NamedBy::Application, &today).unwrap_err();
        assert_eq!(refused.errors()[0].field, "dueOn");
    }

    #[test]
    fn a_later_mark_is_undone_unless_another_act_has_followed_it() {
        let (before, ingrid) = (facts(&[InProgress, Pending], 0), UserId::parse("ingrid").unwrap());
        let change = MarkChange { before: DueDay::parse("2026-11-20"), at: NOW, by: ingrid.clone() };
        let plan = plan_mark_undo(before.clone(), Some(&change), &ingrid, NOW).unwrap();
        assert_eq!(plan.change, PlannedChange::Mark(change.before));
        assert_eq!(plan_mark_undo(before.clone(), None, &ingrid, NOW), Err(CHANGED_SINCE));
        let grace = UserId::parse("grace").unwrap();
        assert!(matches!(plan_mark_undo(before.clone(), Some(&change), &grace, NOW), Err(Refusal::Forbidden(_))));
        let erased = StepFacts { is_erased: true, ..before };
        assert!(matches!(plan_mark_undo(erased, Some(&change), &ingrid, NOW), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn a_candidate_who_has_left_the_named_step_is_not_decided_on() {
        let before = [Validated, InProgress, Pending];
        for decision in [reject(), move_to(3), validate(), later()] {
            for addressed in [0, 2] {
                let refused = planned(facts(&before, addressed), NamedBy::Step, &decision).unwrap_err();
                assert!(refused.sentence().contains("no longer at this step"), "{refused:?}");
            }
            assert!(planned(facts(&before, 1), NamedBy::Step, &decision).is_ok());
        }
    }

    #[test]
    fn only_applications_in_progress_are_decided_on() {
        let before = [Validated, InProgress, Pending];
        let status = |application_status| StepFacts { application_status, ..facts(&before, 1) };
        for decision in [reject(), move_to(1), validate(), later()] {
            for facts in [
                hired(&[Validated, Validated], 1),
                status(ApplicationStatus::NotSelected),
                status(ApplicationStatus::Withdrawn),
                StepFacts { is_erased: true, ..facts(&before, 1) },
            ] {
                let refused = planned(facts, NamedBy::Application, &decision);
                assert!(matches!(refused, Err(Refusal::Conflict(_))), "{refused:?}");
            }
            let member = StepFacts { caller_org_role: Some(OrgRole::Member), ..facts(&before, 1) };
            assert!(matches!(planned(member, NamedBy::Application, &decision), Err(Refusal::Forbidden(_))));
        }
    }

    #[test]
    fn a_decision_does_not_depend_on_the_status_of_the_role() {
        for status in [RoleStatus::Draft, RoleStatus::Filled, RoleStatus::Closed] {
            for decision in [reject(), move_to(2), validate(), later()] {
                let seats = Seats { status, positions: 1, hired: 1 };
                let facts = StepFacts { seats, ..facts(&[InProgress, Pending], 0) };
                assert!(planned(facts, NamedBy::Application, &decision).is_ok(), "{status:?}");
            }
        }
    }

    #[test]
    fn only_the_person_who_made_a_batch_can_undo_it_once_and_within_10_minutes() {
        let user = |id: &str| UserId::parse(id).unwrap();
        let batch = BatchFacts { user_id: user("ingrid"), created_at: NOW, undone_at: None };
        let late = undo_until(NOW);
        let last = Timestamp::from_micros(late.micros() - 1);
        assert_eq!(batch.require_undoable(&user("ingrid"), last), Ok(()));
        assert!(matches!(batch.require_undoable(&user("ingrid"), late), Err(Refusal::Conflict(_))));
        assert!(matches!(batch.require_undoable(&user("grace"), last), Err(Refusal::Forbidden(_))));
        let undone = BatchFacts { undone_at: Some(NOW), ..batch };
        assert!(matches!(undone.require_undoable(&user("ingrid"), NOW), Err(Refusal::Conflict(_))));
    }

    #[test]
    fn a_decision_that_another_act_has_followed_is_not_undone() {
        let before = facts(&[Validated, InProgress, Pending], 1);
        let ingrid = UserId::parse("ingrid").unwrap();
        assert_eq!(plan_undo(before.clone(), false, &[], &ingrid, NOW), Err(CHANGED_SINCE));
        let refused = plan_undo(before.clone(), true, &[], &ingrid, NOW).unwrap_err();
        assert!(matches!(refused, Refusal::Conflict(_)) && refused != CHANGED_SINCE, "{refused:?}");
        let erased = StepFacts { is_erased: true, ..before };
        assert!(plan_undo(erased, false, &[], &ingrid, NOW).unwrap_err().sentence().contains("erased"));
    }

    #[test]
    fn a_decision_that_the_rule_of_the_single_act_refuses_is_refused() {
        for (before, decision, words) in [
            ([Validated, InProgress], move_to(9), "does not have this step"),
            ([Validated, InProgress], move_to(2), "already at this step"),
            ([Validated, InProgress], validate(), "hire the candidate"),
            ([Validated, Skipped], validate(), "the step is skipped"),
        ] {
            let refused = planned(facts(&before, 0), NamedBy::Application, &decision).unwrap_err();
            assert!(matches!(refused, Refusal::Conflict(_)) && refused.sentence().contains(words), "{refused:?}");
        }
    }
}
