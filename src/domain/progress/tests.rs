//! Property tests: the visible progress of random histories that the decision rules produce.

use proptest::prelude::*;

use super::super::candidate_step::tests::facts;
use super::super::candidate_step::{
    self, Decision, HireInput, MoveInput, RejectInput, Rejection, ReopenInput, StepFacts, ValidateInput,
};
use super::super::refusal::Refusal;
use super::*;
use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

const HOUR: i64 = 3_600_000_000;
const DELAY: Duration = Duration::from_secs(72 * 3_600);
const ACTS: [ActKind; 6] =
    [ActKind::Validated, ActKind::Moved, ActKind::Rejected, ActKind::Reopened, ActKind::Hired, ActKind::Withdrawn];

fn hour(hours: i64) -> Timestamp {
    Timestamp::from_micros(hours * HOUR)
}

/// An application that the decision rules change, with the acts that the service would record.
#[derive(Clone)]
struct Case {
    facts: StepFacts,
    rejections: Vec<Rejection>,
    acts: Vec<PastAct>,
}

impl Case {
    fn new(steps: &[StepStatus]) -> Self {
        Self { facts: facts(steps, 0), rejections: Vec::new(), acts: Vec::new() }
    }

    /// Tries an act, and returns whether the rules allowed it.
    fn act(&mut self, act: ActKind, step: usize, at: Timestamp) -> bool {
        let before = StepFacts { addressed: step, ..self.facts.clone() };
        let decision = match act {
            ActKind::Validated => candidate_step::validate(&before, &ValidateInput::default(), at),
            ActKind::Moved => candidate_step::move_to(&before, &MoveInput::default(), at),
            ActKind::Rejected => candidate_step::reject(&before, &RejectInput::default(), at),
            ActKind::Reopened => {
                candidate_step::reopen(&before, &self.rejections, &ReopenInput { reason: String::new() })
            }
            ActKind::Hired => candidate_step::hire(&before, &HireInput::default(), at),
            ActKind::Withdrawn => return self.withdraw(at),
        };
        let decided = decision.map(|decision| self.save(act, &before, &decision, at));
        decided.is_ok()
    }

    fn save(&mut self, act: ActKind, before: &StepFacts, decision: &Decision, at: Timestamp) {
        if act == ActKind::Rejected {
            let step = before.addressed_step();
            let before_rejection = Rejection {
                step_id: step.id.clone(),
                application_status: before.application_status,
                step_status: step.status,
                validated_at: step.validated_at,
            };
            self.rejections.insert(0, before_rejection);
        }
        let mut steps = before.steps.clone();
        let (mut steps_before, mut steps_after) = (Vec::new(), Vec::new());
        for changed in &decision.steps {
            let index = steps.iter().position(|step| step.id == changed.id).unwrap();
            let state = |step: &candidate_step::CandidateStep| StepState {
                status: step.status,
                at: step.rejected_at.or(step.validated_at),
            };
            steps_before.push((index, state(&steps[index])));
            steps_after.push((index, state(changed)));
            steps[index] = changed.clone();
        }
        self.acts.push(PastAct {
            act,
            at,
            step: Some(before.addressed),
            status_before: before.application_status,
            status_after: decision.application_status,
            steps_before,
            steps_after,
        });
        let (application_status, seats, hire) = (decision.application_status, decision.seats, decision.hire.clone());
        self.facts = StepFacts { application_status, seats, hire, steps, ..before.clone() };
    }

    fn withdraw(&mut self, at: Timestamp) -> bool {
        let status_before = self.facts.application_status;
        let may: Result<(), Refusal> = super::super::candidate::require_withdrawable(status_before);
        if may.is_ok() {
            let status_after = ApplicationStatus::Withdrawn;
            self.facts.application_status = status_after;
            let (steps_before, steps_after) = (Vec::new(), Vec::new());
            let act = ActKind::Withdrawn;
            self.acts.push(PastAct { act, at, step: None, status_before, status_after, steps_before, steps_after });
        }
        may.is_ok()
    }

    fn history(&self) -> ApplicationHistory {
        let state = |step: &candidate_step::CandidateStep| StepState {
            status: step.status,
            at: step.rejected_at.or(step.validated_at),
        };
        let steps = self.facts.steps.iter().map(state).collect();
        ApplicationHistory {
            now: ApplicationState { status: self.facts.application_status, steps },
            acts: self.acts.clone(),
        }
    }

    fn seen(&self, visible_after: Option<Duration>, now: Timestamp) -> Progress {
        visible_progress(&self.history(), None, visible_after, now)
    }

    /// Returns the progress without any delay.
    fn real(&self) -> Progress {
        progress_of(&self.history().now)
    }

    /// Returns the same application with only the visible acts, or `None` if the rules refuse one of them without the
    /// hidden acts.
    fn without_hidden(&self, steps: &[StepStatus], visible_after: Option<Duration>, now: Timestamp) -> Option<Self> {
        let delay = Delay { visible_after, now };
        let mut case = Self::new(steps);
        let mut is_hiding = false;
        let mut hidden_rejections = Vec::new();
        for act in &self.acts {
            let index = act.step.unwrap_or_default();
            is_hiding |= matches!(act.act, ActKind::Rejected | ActKind::Hired) && delay.hides(act.at);
            let is_hidden = match act.act {
                ActKind::Rejected | ActKind::Hired => is_hiding,
                ActKind::Reopened => hidden_rejections.contains(&index),
                _ => false,
            };
            hidden_rejections.retain(|other| act.act != ActKind::Reopened || *other != index);
            hidden_rejections.extend((is_hidden && act.act == ActKind::Rejected).then_some(index));
            if !is_hidden && !case.act(act.act, index, act.at) {
                return None;
            }
        }
        Some(case)
    }
}

/// Tries the acts in order, each some hours after the previous one. Returns the application and the hour of the last
/// act.
fn run(steps: &[StepStatus], acts: &[(usize, usize, i64)]) -> (Case, i64) {
    let mut case = Case::new(steps);
    let mut now = 0;
    for (act, step, hours) in acts {
        now += hours;
        case.act(ACTS[*act], *step, hour(now));
    }
    (case, now)
}

const STEPS: [StepStatus; 4] = [Validated, InProgress, Pending, Pending];

fn acts() -> impl Strategy<Value = Vec<(usize, usize, i64)>> {
    proptest::collection::vec((0..ACTS.len(), 0..4_usize, 0..60_i64), 0..14)
}

proptest! {
    #[test]
    fn visible_progress_equals_the_progress_without_hidden_acts(acts in acts(), later in 0..80_i64) {
        let (case, end) = run(&STEPS, &acts);
        let now = hour(end + later);
        for visible_after in [Some(DELAY), None] {
            if let Some(without) = case.without_hidden(&STEPS, visible_after, now) {
                prop_assert_eq!(case.seen(visible_after, now), without.real());
            }
        }
    }

    #[test]
    fn recent_rejections_and_hires_change_no_visible_progress(acts in acts(), step in 0..4_usize, later in 0..72_i64) {
        let (before, end) = run(&STEPS, &acts);
        for act in [ActKind::Rejected, ActKind::Hired] {
            let mut decided = before.clone();
            if decided.act(act, step, hour(end)) {
                let now = hour(end + later);
                prop_assert_eq!(decided.seen(Some(DELAY), now), before.seen(Some(DELAY), now));
                prop_assert_eq!(decided.seen(None, now), before.seen(None, now));
            }
        }
    }

    #[test]
    fn old_decisions_are_visible(acts in acts()) {
        let (case, end) = run(&STEPS, &acts);
        prop_assert_eq!(case.seen(Some(DELAY), hour(end + 72)), case.real());
        prop_assert_eq!(case.seen(Some(Duration::ZERO), hour(end)), case.real());
    }

    #[test]
    fn candidates_who_withdrew_see_no_later_acts(acts in acts(), more in acts(), later in 0..200_i64) {
        let (case, end) = run(&STEPS, &acts);
        let withdrawn_at = Some(hour(end + 1));
        let then = visible_progress(&case.history(), withdrawn_at, Some(DELAY), hour(end + 1));
        let mut decided = case;
        for (act, step, hours) in more {
            decided.act(ACTS[act], step, hour(end + 1 + hours));
        }
        let now = hour(end + 1 + later);
        prop_assert_eq!(visible_progress(&decided.history(), withdrawn_at, Some(DELAY), now), then);
    }
}

fn stages(progress: &Progress) -> Vec<Stage> {
    progress.steps.iter().map(|(_, stage)| *stage).collect()
}

#[test]
fn a_rejection_is_visible_when_the_delay_has_passed() {
    let mut case = Case::new(&STEPS);
    let before = case.real();
    assert_eq!(stages(&before), [Stage::Done, Stage::Current, Stage::Upcoming, Stage::Upcoming]);
    assert!(case.act(ActKind::Rejected, 1, hour(10)));
    let almost = Timestamp::from_micros(hour(82).micros() - 1);
    assert_eq!(case.seen(Some(DELAY), almost), before);
    assert_eq!(case.seen(None, hour(1_000_000)), before);
    let seen = case.seen(Some(DELAY), hour(82));
    assert_eq!((seen.status, stages(&seen)), (ApplicationStatus::NotSelected, vec![Stage::Done, Stage::Ended]));
}

#[test]
fn a_move_after_an_undone_rejection_is_visible_at_once() {
    let mut case = Case::new(&STEPS);
    assert!(case.act(ActKind::Rejected, 1, hour(0)) && case.act(ActKind::Reopened, 1, hour(1)));
    assert!(case.act(ActKind::Validated, 1, hour(2)));
    let seen = case.seen(Some(DELAY), hour(2));
    assert_eq!(stages(&seen), [Stage::Done, Stage::Done, Stage::Current, Stage::Upcoming]);
    assert!(case.act(ActKind::Hired, 2, hour(3)));
    assert_eq!(case.seen(Some(DELAY), hour(3)), seen);
    assert_eq!(case.seen(Some(DELAY), hour(75)).status, ApplicationStatus::Hired);
}

#[test]
fn a_move_to_any_step_is_visible_at_once() {
    let mut case = Case::new(&STEPS);
    for (step, expected) in [
        (3, [Stage::Done, Stage::Done, Stage::Skipped, Stage::Current]),
        (2, [Stage::Done, Stage::Done, Stage::Current, Stage::Upcoming]),
        (0, [Stage::Current, Stage::Upcoming, Stage::Upcoming, Stage::Upcoming]),
        (1, [Stage::Done, Stage::Current, Stage::Upcoming, Stage::Upcoming]),
    ] {
        assert!(case.act(ActKind::Moved, step, hour(0)));
        assert_eq!((stages(&case.seen(None, hour(0))), case.seen(None, hour(0))), (expected.to_vec(), case.real()));
    }
}

/// Staff hired the candidate by mistake, and reversed the hire at a later step. The candidate sees neither, and sees a
/// later move as if it began at the step that they were at.
#[test]
fn a_move_shows_nothing_of_hidden_decisions_before_it() {
    let mut case = Case::new(&STEPS);
    let before = case.real();
    for (act, step) in [(ActKind::Hired, 0), (ActKind::Rejected, 2), (ActKind::Reopened, 2)] {
        assert!(case.act(act, step, hour(0)));
        assert_eq!(case.seen(Some(DELAY), hour(0)), before);
    }
    assert!(case.act(ActKind::Moved, 3, hour(1)));
    assert_eq!(stages(&case.real()), [Stage::Done, Stage::Skipped, Stage::Done, Stage::Current]);
    let seen = case.seen(Some(DELAY), hour(1));
    assert_eq!(stages(&seen), [Stage::Done, Stage::Done, Stage::Skipped, Stage::Current]);
    assert!(case.act(ActKind::Moved, 1, hour(2)));
    assert_eq!(case.seen(Some(DELAY), hour(2)), before);
    assert_eq!(case.seen(Some(DELAY), hour(74)), case.real());
}

#[test]
fn the_reversal_of_a_visible_hire_is_hidden_until_the_delay_has_passed() {
    let mut case = Case::new(&STEPS);
    assert!(case.act(ActKind::Hired, 1, hour(0)) && case.act(ActKind::Rejected, 3, hour(80)));
    let seen = case.seen(Some(DELAY), hour(80));
    assert_eq!(seen.status, ApplicationStatus::Hired);
    assert_eq!(stages(&seen), [Stage::Done, Stage::Done, Stage::Skipped, Stage::Done]);
    // The reopening of a hidden reversal is also hidden.
    assert!(case.act(ActKind::Reopened, 3, hour(81)));
    assert_eq!(case.seen(Some(DELAY), hour(151)), seen);
    assert_eq!(case.seen(Some(DELAY), hour(152)).status, ApplicationStatus::InProgress);
}

#[test]
fn undoing_a_visible_rejection_is_visible_at_once() {
    let mut case = Case::new(&STEPS);
    assert!(case.act(ActKind::Rejected, 1, hour(0)) && case.act(ActKind::Rejected, 2, hour(80)));
    assert_eq!(case.seen(Some(DELAY), hour(80)).status, ApplicationStatus::NotSelected);
    assert!(case.act(ActKind::Reopened, 1, hour(81)));
    assert_eq!(case.seen(Some(DELAY), hour(81)), Case::new(&STEPS).real());
}

#[test]
fn decisions_from_before_an_import_are_delayed_too() {
    let case = |status, steps: &[StepStatus]| {
        let mut case = Case::new(steps);
        case.facts.application_status = status;
        case
    };
    // `facts` sets the time of the decisions on these steps to one millisecond after the epoch.
    let rejected = case(ApplicationStatus::NotSelected, &[Validated, Rejected, Pending]);
    let seen = rejected.seen(Some(DELAY), hour(71));
    assert_eq!(seen.status, ApplicationStatus::InProgress);
    assert_eq!(stages(&seen), [Stage::Done, Stage::Current, Stage::Upcoming]);
    assert_eq!(rejected.seen(Some(DELAY), hour(73)), rejected.real());
    let hired = case(ApplicationStatus::Hired, &[Validated, Skipped, Validated]);
    assert_eq!(stages(&hired.seen(None, hour(99))), [Stage::Done, Stage::Skipped, Stage::Current]);
    assert_eq!(hired.seen(Some(DELAY), hour(73)).status, ApplicationStatus::Hired);
    let withdrawn = case(ApplicationStatus::Withdrawn, &[Validated, Rejected]);
    assert_eq!(withdrawn.seen(None, hour(73)).status, ApplicationStatus::Withdrawn);
}

#[test]
fn untouched_progress_equals_the_progress_of_an_application_without_decisions() {
    for status in [ApplicationStatus::InProgress, ApplicationStatus::Withdrawn] {
        let mut case = Case::new(&[InProgress, Pending, Pending]);
        case.facts.application_status = status;
        assert_eq!(case.real(), Progress::untouched(3, status));
    }
}

#[test]
fn the_test_case_supports_every_kind_of_act() {
    let mut case = Case::new(&STEPS);
    for (hours, (act, step)) in (0..).zip([
        (ActKind::Validated, 1),
        (ActKind::Moved, 3),
        (ActKind::Moved, 2),
        (ActKind::Hired, 2),
        (ActKind::Rejected, 2),
        (ActKind::Reopened, 2),
        (ActKind::Withdrawn, 0),
    ]) {
        assert!(case.act(act, step, hour(hours)), "{act:?}");
    }
    assert_eq!(stages(&case.real()), [Stage::Done, Stage::Done, Stage::Ended]);
}

#[test]
fn a_reversed_hire_leaves_no_step_skipped_despite_hidden_acts() {
    let mut case = Case::new(&STEPS);
    for (act, step, hours) in
        [(ActKind::Hired, 0, 0), (ActKind::Rejected, 0, 0), (ActKind::Rejected, 1, 13), (ActKind::Reopened, 0, 23)]
    {
        assert!(case.act(act, step, hour(hours)));
    }
    let mut without = Case::new(&STEPS);
    for (act, step, hours) in [(ActKind::Hired, 0, 0), (ActKind::Rejected, 0, 0), (ActKind::Reopened, 0, 23)] {
        assert!(without.act(act, step, hour(hours)));
    }
    let seen = case.seen(Some(DELAY), hour(72));
    assert_eq!(seen, without.real());
    assert_eq!(stages(&seen), [Stage::Current, Stage::Upcoming, Stage::Upcoming, Stage::Upcoming]);
}
