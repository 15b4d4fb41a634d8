//! Property tests: the visible progress of random histories that the decision rules produce.

mod examples;

use proptest::prelude::*;

use super::super::candidate_step::tests::facts;
use super::super::candidate_step::{
    self, ActingUser, AttributedAct, Decision, HireInput, MoveInput, RejectInput, Rejection, ReopenInput, StepFacts,
    ValidateInput,
};
use super::super::id::{Id, UserId};
use super::super::refusal::Refusal;
use super::*;
use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

const MINUTE: i64 = 60_000_000;
const DELAY: Duration = Duration::from_secs(72 * 3_600);
const ACTS: [ActKind; 7] = [
    ActKind::Validated,
    ActKind::Moved,
    ActKind::Rejected,
    ActKind::Reopened,
    ActKind::Hired,
    ActKind::Withdrawn,
    ActKind::Undone,
];

fn minute(minutes: i64) -> Timestamp {
    Timestamp::from_micros(minutes * MINUTE)
}

fn hour(hours: i64) -> Timestamp {
    minute(hours * 60)
}

/// An application to which the decision rules are applied, with the acts that the service would record.
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
            ActKind::Undone => self.undo(&before, at),
            ActKind::Withdrawn => return self.withdraw(at),
        };
        let decided = decision.map(|decision| self.save(act, &before, &decision, at));
        decided.is_ok()
    }

    /// Decides on an undo. The same user performs all acts.
    fn undo(&self, before: &StepFacts, at: Timestamp) -> Result<Decision, Refusal> {
        let user = UserId::parse("user_1").unwrap();
        let by = Some(ActingUser { id: user.clone(), name: "Ingrid".to_owned() });
        let attributed = |act: &PastAct| AttributedAct { act: act.clone(), by: by.clone() };
        let acts: Vec<AttributedAct> = self.acts.iter().rev().map(attributed).collect();
        candidate_step::undo(before, &acts, &user, at)
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
            later_before: None,
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
            self.acts.push(PastAct {
                act,
                at,
                step: None,
                status_before,
                status_after,
                steps_before,
                steps_after,
                later_before: None,
            });
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

    /// Returns the same application with only the visible acts, or `None` if the rules refuse one of them because the
    /// hidden acts are missing.
    fn without_hidden(&self, steps: &[StepStatus], visible_after: Option<Duration>, now: Timestamp) -> Option<Self> {
        let delay = Delay { visible_after, now };
        let mut case = Self::new(steps);
        let mut is_hiding = false;
        let mut hidden_rejections = Vec::new();
        let acts = without_undone(&self.acts);
        for (act, hides) in acts.iter().zip(hidden_acts(&acts, &delay)) {
            let index = act.step.unwrap_or_default();
            let is_decision = matches!(act.act, ActKind::Rejected | ActKind::Hired);
            is_hiding |= is_decision && hides;
            let is_hidden = match act.act {
                ActKind::Rejected | ActKind::Hired => is_hiding,
                ActKind::Reopened => hidden_rejections.contains(&index),
                _ => hides,
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

/// Tries the acts in order, each some minutes after the previous one. Returns the application and the minute of the
/// last act.
fn run(steps: &[StepStatus], acts: &[(usize, usize, i64)]) -> (Case, i64) {
    let mut case = Case::new(steps);
    let mut now = 0;
    for (act, step, minutes) in acts {
        now += minutes;
        case.act(ACTS[*act], *step, minute(now));
    }
    (case, now)
}

const STEPS: [StepStatus; 4] = [Validated, InProgress, Pending, Pending];

/// Acts, each with the pause before it. A pause is either some minutes, which may be shorter or longer than the undo
/// period, or some hours.
fn acts() -> impl Strategy<Value = Vec<(usize, usize, i64)>> {
    let pause = prop_oneof![0..25_i64, (0..60_i64).prop_map(|hours| hours * 60)];
    proptest::collection::vec((0..ACTS.len(), 0..4_usize, pause), 0..14)
}

proptest! {
    #[test]
    fn visible_progress_equals_the_progress_without_hidden_acts(acts in acts(), later in 0..4_800_i64) {
        let (case, end) = run(&STEPS, &acts);
        for now in [minute(end + later % 20), minute(end + later)] {
            for visible_after in [Some(DELAY), None] {
                if let Some(without) = case.without_hidden(&STEPS, visible_after, now) {
                    prop_assert_eq!(case.seen(visible_after, now), without.real());
                }
            }
        }
    }

    #[test]
    fn recent_rejections_and_hires_change_no_visible_progress(
        acts in acts(), step in 0..4_usize, later in 0..4_320_i64
    ) {
        let (before, end) = run(&STEPS, &acts);
        for act in [ActKind::Rejected, ActKind::Hired] {
            let mut decided = before.clone();
            if decided.act(act, step, minute(end)) {
                let now = minute(end + later);
                prop_assert_eq!(decided.seen(Some(DELAY), now), before.seen(Some(DELAY), now));
                prop_assert_eq!(decided.seen(None, now), before.seen(None, now));
            }
        }
    }

    #[test]
    fn recent_moves_change_no_visible_progress(acts in acts(), step in 0..4_usize, later in 0..10_i64) {
        let (before, end) = run(&STEPS, &acts);
        for act in [ActKind::Validated, ActKind::Moved] {
            let mut decided = before.clone();
            if !decided.act(act, step, minute(end)) {
                continue;
            }
            // A move back also hides the moves that it takes back.
            let is_back = decided.acts.last().is_some_and(is_move_back);
            let now = minute(if is_back { end } else { end + later });
            for visible_after in [Some(DELAY), Some(Duration::ZERO), None] {
                prop_assert_eq!(decided.seen(visible_after, now), before.seen(visible_after, now));
            }
        }
    }

    #[test]
    fn an_undone_act_leaves_no_trace(acts in acts(), step in 0..4_usize, pause in 0..10_i64, later in 0..4_800_i64) {
        let (before, end) = run(&STEPS, &acts);
        for act in [ActKind::Validated, ActKind::Moved, ActKind::Rejected] {
            let mut decided = before.clone();
            let is_reversal = before.facts.application_status == ApplicationStatus::Hired;
            if is_reversal || !decided.act(act, step, minute(end)) {
                continue;
            }
            prop_assert!(decided.act(ActKind::Undone, 0, minute(end + pause)));
            prop_assert_eq!(&decided.facts.steps, &before.facts.steps);
            prop_assert_eq!(decided.real(), before.real());
            for now in [minute(end + pause), minute(end + pause + later % 20), minute(end + pause + later)] {
                for visible_after in [Some(DELAY), Some(Duration::ZERO), None] {
                    prop_assert_eq!(decided.seen(visible_after, now), before.seen(visible_after, now));
                }
            }
        }
    }

    #[test]
    fn old_acts_are_visible(acts in acts()) {
        let (case, end) = run(&STEPS, &acts);
        prop_assert_eq!(case.seen(Some(DELAY), minute(end + 72 * 60)), case.real());
        prop_assert_eq!(case.seen(Some(Duration::ZERO), minute(end + 10)), case.real());
    }

    #[test]
    fn candidates_who_withdrew_see_no_later_acts(acts in acts(), more in acts(), later in 0..12_000_i64) {
        let (case, end) = run(&STEPS, &acts);
        // The withdrawal comes after the undo period of all earlier acts, so none of them can be undone.
        let withdrawn_at = end + 10;
        let then = visible_progress(&case.history(), Some(minute(withdrawn_at)), Some(DELAY), minute(withdrawn_at));
        let mut decided = case;
        for (act, step, minutes) in more {
            decided.act(ACTS[act], step, minute(withdrawn_at + minutes));
        }
        let now = minute(withdrawn_at + later);
        prop_assert_eq!(visible_progress(&decided.history(), Some(minute(withdrawn_at)), Some(DELAY), now), then);
    }
}
