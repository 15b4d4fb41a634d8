//! `POST …/undo`: for 10 minutes, the person who made the last decision on an application can undo it.
//!
//! For these 10 minutes, the candidate's status page hides a validation or a move ([`crate::domain::progress`]). It
//! hides a rejection for the delay that the organization has set. After an undo, the page looks as if nobody had made
//! the decision. A hire and its reversal cannot be undone, because HR systems receive them.

use std::time::Duration;

use super::decision::{Decision, Remark, StepFacts};
use super::past_act::{ActKind, PastAct, StepState};
use super::status::{ApplicationStatus, StepStatus};
use super::step::at_step_since;
use crate::domain::id::UserId;
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;

/// The time for which a decision can be undone, and for which a validation or a move is hidden from the candidate. Ten
/// minutes is long enough to notice a mistake, and delays the news for the candidate only slightly.
pub const UNDO_PERIOD: Duration = Duration::from_secs(10 * 60);

/// A past act and its actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributedAct {
    /// The act.
    pub act: PastAct,
    /// The user who acted; `None` if the candidate or the service itself acted.
    pub by: Option<ActingUser>,
}

/// The user who acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActingUser {
    /// The user's id.
    pub id: UserId,
    /// The user's current name.
    pub name: String,
}

/// `POST …/undo`: restores the state before the last act on the application, if the caller made that act less than
/// [`UNDO_PERIOD`] ago. The addressed step may be any step of the application. `acts` are the newest acts on the
/// application, newest first.
///
/// # Errors
/// `forbidden` without authority over the steps, or if the caller made none of `acts`; `conflict` if the candidate was
/// erased or is under a legal hold, `acts` is empty, somebody else acted last, the act is too old or cannot be undone,
/// or the application is in another state.
pub fn undo(facts: &StepFacts, acts: &[AttributedAct], caller: &UserId, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    require_not_held(facts)?;
    let last = require_last(acts, caller)?;
    require_undoable(last, now)?;
    require_unchanged(facts, last)?;
    let mut steps = facts.steps.clone();
    for (index, before) in &last.steps_before {
        let validated_at = before.at.filter(|_| before.status == StepStatus::Validated);
        steps[*index].return_to(before.status, validated_at);
    }
    // The candidate counts as having been at the step since they first reached it, so that an undone decision does not
    // change their position on the board.
    let back_since = Some(at_step_since(facts.applied_at, &steps));
    let addressed = last.step.filter(|index| *index < steps.len()).unwrap_or(facts.addressed);
    let decision = facts.decision(steps, addressed, last.status_before, None, facts.seats);
    // A decision removes the later mark, so a mark that exists now was added after the decision.
    let later_due_on = facts.later_due_on.or(last.later_before);
    Ok(Decision { back_since, later_due_on, remark: Some(Remark::Undone(last.act)), ..decision })
}

const OTHER_STATE: Refusal = Refusal::Conflict(
    "the application has changed since the decision, so the decision cannot be undone; move the candidate, or reopen the \
     step with a reason",
);

/// The record of a candidate under a legal hold is evidence. An undo would hide a decision from the candidate forever.
fn require_not_held(facts: &StepFacts) -> Result<(), Refusal> {
    if facts.is_held {
        return Err(Refusal::Conflict(
            "the candidate is under a legal hold, so no decision can be undone; move the candidate, or reopen the step \
             with a reason",
        ));
    }
    Ok(())
}

/// Returns the last act, if the caller made it.
fn require_last<'a>(acts: &'a [AttributedAct], caller: &UserId) -> Result<&'a PastAct, Refusal> {
    let is_own = |act: &&AttributedAct| act.by.as_ref().is_some_and(|by| by.id == *caller);
    match (acts.first(), acts.iter().find(is_own)) {
        (None, _) => Err(Refusal::Conflict("nobody has made a decision on this application, so nothing can be undone")),
        (Some(_), None) => Err(Refusal::Forbidden(
            "only the person who made the last decision can undo it; move the candidate, or reopen the step with a reason",
        )),
        (Some(last), Some(_)) if is_own(&last) => Ok(&last.act),
        (Some(last), Some(_)) => Err(acted_since(last)),
    }
}

/// Returns the refusal that names the later act, its actor and its time.
fn acted_since(last: &AttributedAct) -> Refusal {
    let who = last.by.as_ref().map_or("the candidate", |by| &by.name);
    let what = match last.act.act {
        ActKind::Validated => "validated a step",
        ActKind::Moved => "moved the candidate",
        ActKind::Rejected => "rejected the candidate",
        ActKind::Reopened => "reopened a step",
        ActKind::Hired => "hired the candidate",
        ActKind::Withdrawn => "withdrew the application",
        ActKind::Undone => "undid a decision",
    };
    let at = last.act.at;
    Refusal::ConflictWith(format!(
        "{who} {what} at {at}, so you can no longer undo your decision; look at the application again, then move the \
         candidate or reopen the step with a reason"
    ))
}

fn require_undoable(last: &PastAct, now: Timestamp) -> Result<(), Refusal> {
    let is_too_late = now.since(last.at) >= UNDO_PERIOD;
    Err(Refusal::Conflict(match last.act {
        ActKind::Undone => "your last decision has already been undone",
        ActKind::Hired => "a hire cannot be undone; to reverse it, reject the candidate: POST …/reject",
        ActKind::Rejected if last.status_before == ApplicationStatus::Hired => {
            "the reversal of a hire is final; reopen the step, then hire the candidate again: POST …/reopen"
        }
        ActKind::Reopened => "a reopening cannot be undone; reject the candidate again: POST …/reject",
        ActKind::Withdrawn => "a withdrawal cannot be undone; the candidate can apply again",
        ActKind::Rejected if is_too_late => {
            "the rejection is at least 10 minutes old; reopen the step with a reason: POST …/reopen"
        }
        ActKind::Validated | ActKind::Moved if is_too_late => {
            "the decision is at least 10 minutes old; move the candidate back with a reason: POST …/move"
        }
        ActKind::Validated | ActKind::Moved | ActKind::Rejected => return Ok(()),
    }))
}

/// Checks that the application is in the state in which the act left it.
fn require_unchanged(facts: &StepFacts, last: &PastAct) -> Result<(), Refusal> {
    let is_unchanged =
        |(index, after): &(usize, StepState)| facts.steps.get(*index).is_some_and(|step| step.status == after.status);
    let is_same = facts.application_status == last.status_after
        && last.steps_before.len() == last.steps_after.len()
        && !last.steps_after.is_empty()
        && last.steps_after.iter().all(is_unchanged);
    if is_same { Ok(()) } else { Err(OTHER_STATE) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, facts, hired};
    use super::super::{
        CandidateStep, HireInput, MoveInput, RejectInput, ReopenInput, ValidateInput, hire, move_to, reject, reopen,
        validate,
    };
    use super::*;
    use crate::domain::due_day::DueDay;
    use crate::domain::id::Id;
    use crate::domain::user::OrgRole;
    use StepStatus::{InProgress, Pending, Skipped, Validated};

    fn user(id: &str) -> UserId {
        UserId::parse(id).unwrap()
    }

    fn state(step: &CandidateStep) -> StepState {
        StepState { status: step.status, at: step.rejected_at.or(step.validated_at) }
    }

    /// Carries out a decision. Returns the facts after it, and the act as an activity row records it.
    fn decide(
        facts: &StepFacts,
        kind: ActKind,
        by: Option<&str>,
        decision: Result<Decision, Refusal>,
    ) -> (StepFacts, AttributedAct) {
        let decision = decision.unwrap();
        let mut after = facts.clone();
        let (mut steps_before, mut steps_after) = (Vec::new(), Vec::new());
        for step in &decision.steps {
            let index = facts.steps.iter().position(|before| before.id == step.id).unwrap();
            steps_before.push((index, state(&facts.steps[index])));
            steps_after.push((index, state(step)));
            after.steps[index] = step.clone();
        }
        after.application_status = decision.application_status;
        after.hire = decision.hire;
        after.later_due_on = decision.later_due_on;
        after.seats = decision.seats;
        let act = PastAct {
            act: kind,
            at: NOW,
            step: Some(facts.addressed),
            status_before: facts.application_status,
            status_after: decision.application_status,
            steps_before,
            steps_after,
            later_before: facts.later_due_on,
        };
        let by = by.map(|id| ActingUser { id: user(id), name: format!("The {id}") });
        (after, AttributedAct { act, by })
    }

    fn rejected(facts: &StepFacts, by: Option<&str>) -> (StepFacts, AttributedAct) {
        decide(facts, ActKind::Rejected, by, reject(facts, &RejectInput::default(), NOW))
    }

    fn moved(facts: &StepFacts, by: Option<&str>) -> (StepFacts, AttributedAct) {
        decide(facts, ActKind::Moved, by, move_to(facts, &MoveInput::default(), NOW))
    }

    fn undone(after: &StepFacts, acts: &[AttributedAct]) -> Result<Decision, Refusal> {
        undo(after, acts, &user("ingrid"), NOW.plus(Duration::from_secs(1)))
    }

    #[track_caller]
    fn assert_conflict(after: &StepFacts, acts: &[AttributedAct], words: &str) {
        let refused = undone(after, acts).unwrap_err();
        let is_conflict = matches!(refused, Refusal::Conflict(_) | Refusal::ConflictWith(_));
        assert!(is_conflict && refused.sentence().contains(words), "{refused:?}");
    }

    #[test]
    fn an_undo_restores_the_state_before_a_rejection_a_validation_or_any_move() {
        let ingrid = Some("ingrid");
        let before = [Validated, InProgress, Skipped, Pending];
        for application_status in [ApplicationStatus::InProgress, ApplicationStatus::Withdrawn] {
            for at in 0..4 {
                let facts = StepFacts { application_status, ..facts(&before, at) };
                let mut cases = vec![rejected(&facts, ingrid)];
                if application_status == ApplicationStatus::InProgress && at != 1 {
                    cases.push(moved(&facts, ingrid));
                }
                if application_status == ApplicationStatus::InProgress && at == 1 {
                    let validated = validate(&facts, &ValidateInput::default(), NOW);
                    cases.push(decide(&facts, ActKind::Validated, ingrid, validated));
                }
                for (after, act) in cases {
                    let decision = undone(&after, std::slice::from_ref(&act)).unwrap();
                    assert_eq!(decision.remark, Some(Remark::Undone(act.act.act)));
                    let (restored, _) = decide(&after, ActKind::Undone, ingrid, Ok(decision));
                    assert_eq!(restored, facts, "{:?} at {at}", act.act.act);
                }
            }
        }
    }

    #[test]
    fn an_undo_restores_the_later_mark() {
        let day = |text: &str| DueDay::parse(text);
        let before = StepFacts { later_due_on: day("2026-12-01"), ..facts(&[Validated, InProgress, Pending], 2) };
        for (after, act) in [moved(&before, Some("ingrid")), rejected(&before, Some("ingrid"))] {
            assert_eq!(after.later_due_on, None);
            let decision = undone(&after, std::slice::from_ref(&act)).unwrap();
            assert_eq!(decide(&after, ActKind::Undone, None, Ok(decision)).0, before);
        }
        // A mark that was added after the move stays.
        for later_due_on in [None, day("2026-12-01")] {
            let (after, act) = moved(&StepFacts { later_due_on, ..before.clone() }, Some("ingrid"));
            let after = StepFacts { later_due_on: day("2026-12-24"), ..after };
            assert_eq!(undone(&after, &[act]).unwrap().later_due_on, day("2026-12-24"));
        }
    }

    #[test]
    fn undoing_a_second_rejection_leaves_the_first() {
        let (first, earlier) = rejected(&facts(&[Validated, InProgress, Pending], 1), Some("grace"));
        let first = StepFacts { addressed: 2, ..first };
        let (after, act) = rejected(&first, Some("ingrid"));
        let decision = undone(&after, &[act, earlier]).unwrap();
        assert_eq!(
            (decision.application_status, decision.at_role_step.clone()),
            (ApplicationStatus::NotSelected, None)
        );
        assert_eq!(decide(&after, ActKind::Undone, None, Ok(decision)).0, first);
    }

    #[test]
    fn an_undo_is_possible_for_less_than_10_minutes() {
        let facts = facts(&[Validated, InProgress, Pending], 2);
        for ((after, act), instead) in
            [(rejected(&facts, Some("ingrid")), "POST …/reopen"), (moved(&facts, Some("ingrid")), "POST …/move")]
        {
            let at = |age| undo(&after, std::slice::from_ref(&act), &user("ingrid"), NOW.plus(age));
            assert!(at(UNDO_PERIOD - Duration::from_micros(1)).is_ok());
            let refused = at(UNDO_PERIOD).unwrap_err();
            let words = refused.sentence();
            assert!(words.contains("is at least 10 minutes old") && words.ends_with(instead), "{words}");
            assert!(matches!(refused, Refusal::Conflict(_)), "{refused:?}");
        }
    }

    #[test]
    fn only_the_person_who_made_the_last_decision_undoes_it() {
        let before = facts(&[Validated, InProgress, Pending], 2);
        let (after, of_grace) = moved(&before, Some("grace"));
        assert!(matches!(undone(&after, std::slice::from_ref(&of_grace)), Err(Refusal::Forbidden(_))));
        let (again, of_ingrid) = rejected(&after, Some("ingrid"));
        assert!(undone(&again, &[of_ingrid.clone(), of_grace.clone()]).is_ok());
        let earlier = [of_grace.clone(), of_ingrid.clone()];
        assert_conflict(&after, &earlier, "The grace moved the candidate at 1970-01-01T00:00:00.002000Z");
        let by_candidate = AttributedAct { by: None, act: PastAct { act: ActKind::Withdrawn, ..of_grace.act } };
        assert_conflict(&after, &[by_candidate, of_ingrid], "the candidate withdrew the application at 1970");
    }

    #[test]
    fn hires_reversals_reopenings_withdrawals_and_undone_decisions_cannot_be_undone() {
        let ingrid = Some("ingrid");
        let before = facts(&[Validated, InProgress, Pending], 2);
        let (after, act) = decide(&before, ActKind::Hired, ingrid, hire(&before, &HireInput::default(), NOW));
        assert_conflict(&after, &[act], "a hire cannot be undone");
        let (after, act) = rejected(&hired(&[Validated, Validated], 1), ingrid);
        assert_conflict(&after, &[act], "the reversal of a hire is final");
        let (after, act) = rejected(&before, ingrid);
        let input = ReopenInput { reason: "a mistake".to_owned() };
        let (again, reopening) = decide(&after, ActKind::Reopened, ingrid, reopen(&after, &[], &input));
        assert_conflict(&again, &[reopening, act.clone()], "a reopening cannot be undone");
        let (again, undoing) = decide(&after, ActKind::Undone, ingrid, undone(&after, std::slice::from_ref(&act)));
        assert_conflict(&again, &[undoing, act.clone()], "already been undone");
        let withdrawn = AttributedAct { act: PastAct { act: ActKind::Withdrawn, ..act.act.clone() }, ..act };
        assert_conflict(&after, &[withdrawn], "a withdrawal cannot be undone");
        assert_conflict(&before, &[], "nobody has made a decision");
    }

    #[test]
    fn a_decision_is_not_undone_if_the_application_has_changed_since() {
        let before = facts(&[Validated, InProgress, Pending], 2);
        let (after, act) = moved(&before, Some("ingrid"));
        let act = [act];
        assert_conflict(&before, &act, "has changed since");
        assert_conflict(
            &StepFacts { application_status: ApplicationStatus::Withdrawn, ..after },
            &act,
            "has changed since",
        );
        assert_conflict(
            &StepFacts { steps: before.steps[..1].to_vec(), addressed: 0, ..before },
            &act,
            "has changed since",
        );
    }

    #[test]
    fn authority_is_checked_before_state() {
        let facts = facts(&[InProgress, Pending], 1);
        let member = StepFacts { caller_org_role: Some(OrgRole::Member), ..facts.clone() };
        assert!(matches!(undone(&member, &[]), Err(Refusal::Forbidden(_))));
        assert_conflict(&StepFacts { is_erased: true, ..facts.clone() }, &[], "erased");
        assert_conflict(&StepFacts { is_held: true, ..facts }, &[], "under a legal hold");
    }
}
