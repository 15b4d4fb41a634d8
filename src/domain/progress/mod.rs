//! The progress of an application as its candidate sees it on `/status/{token}`, without recent decisions.
//!
//! An organization can delay the display of decisions, so that staff can change their minds or inform the candidate
//! themselves. Until a decision (rejection, hire, reversal of a hire) is old enough, the candidate sees the application
//! as if nobody had made the decision. Validations and moves have no such delay. They are hidden only during the undo
//! period, in which staff can undo them. Withdrawals are visible at once.
//!
//! The rule replays the acts on the application in order, without the acts that were undone. All acts before the first
//! hidden act are visible. An act after it is visible only if it is old enough, and possible in the state that the
//! candidate sees. A visible decision also reveals the acts that led to it.

pub mod role_end;

use std::time::Duration;

use super::candidate_step::{
    ActKind, ApplicationStatus, PastAct, StepState, StepStatus, UNDO_PERIOD, current_index, statuses_after_move,
};
use super::timestamp::Timestamp;

/// The statuses of an application and its steps at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationState {
    /// The application's status.
    pub status: ApplicationStatus,
    /// The states of its steps, in order.
    pub steps: Vec<StepState>,
}

/// The current state of an application and the acts that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationHistory {
    /// The current state.
    pub now: ApplicationState,
    /// The newest acts, oldest first. Decisions from before an import are not among them.
    pub acts: Vec<PastAct>,
}

/// The progress of an application as its candidate sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The visible status of the application.
    pub status: ApplicationStatus,
    /// The visible steps, each with its index. When the application has ended without a hire, only the steps that it
    /// reached are visible.
    pub steps: Vec<(usize, Stage)>,
}

/// The status of a step as the candidate sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The candidate passed the step.
    Done,
    /// The candidate is at the step.
    Current,
    /// The step is still ahead of the candidate.
    Upcoming,
    /// A move or a hire skipped the step.
    Skipped,
    /// The application ended at the step.
    Ended,
}

impl Progress {
    /// Returns the progress of an application that staff have not changed. The application is at the first of `steps`
    /// steps, or ended at that step.
    pub fn untouched(steps: usize, status: ApplicationStatus) -> Self {
        let status_of = |index| if index == 0 { StepStatus::InProgress } else { StepStatus::Pending };
        let steps = (0..steps).map(|index| StepState { status: status_of(index), at: None });
        progress_of(&ApplicationState { status, steps: steps.collect() })
    }
}

/// Returns the progress that the candidate sees at the time `now`. `visible_after` is the organization's minimum age of
/// a visible decision. If it is `None`, decisions are never visible.
///
/// A candidate who withdrew on the status page (`withdrawn_at`) still sees the progress at the time of the withdrawal,
/// marked as withdrawn. Later decisions stay hidden.
pub fn visible_progress(
    history: &ApplicationHistory,
    withdrawn_at: Option<Timestamp>,
    visible_after: Option<Duration>,
    now: Timestamp,
) -> Progress {
    let delay = Delay { visible_after, now: withdrawn_at.unwrap_or(now) };
    let before_withdrawal = |act: &&PastAct| withdrawn_at.is_none_or(|at| act.at < at);
    let acts: Vec<&PastAct> = without_undone(&history.acts).into_iter().filter(before_withdrawal).collect();
    let mut visible = replay(initial_state(history), &acts, &delay);
    if withdrawn_at.is_some() {
        visible.status = ApplicationStatus::Withdrawn;
    }
    progress_of(&visible)
}

/// Returns the acts that are still in effect. Omits the undone acts and the acts that undid them.
fn without_undone(acts: &[PastAct]) -> Vec<&PastAct> {
    let mut in_effect: Vec<&PastAct> = Vec::new();
    for act in acts {
        let is_inverse =
            |before: &mut &PastAct| before.status_before == act.status_after && before.steps_before == act.steps_after;
        // The row of the undone act can be missing: the history contains only the newest rows.
        if act.act != ActKind::Undone || in_effect.pop_if(is_inverse).is_none() {
            in_effect.push(act);
        }
    }
    in_effect
}

/// The rule that hides recent acts.
struct Delay {
    visible_after: Option<Duration>,
    now: Timestamp,
}

impl Delay {
    fn hides(&self, decided_at: Timestamp) -> bool {
        self.visible_after.is_none_or(|age| self.now.since(decided_at) < age)
    }

    /// Returns whether staff can still undo an act that was recorded at this time.
    fn is_undoable(&self, acted_at: Timestamp) -> bool {
        self.now.since(acted_at) < UNDO_PERIOD
    }

    fn hides_act(&self, act: &PastAct) -> bool {
        match act.act {
            ActKind::Validated | ActKind::Moved => self.is_undoable(act.at),
            ActKind::Rejected | ActKind::Hired => self.hides(act.at),
            ActKind::Reopened | ActKind::Withdrawn | ActKind::Undone => false,
        }
    }
}

/// Returns for each act whether it is hidden. A move back to an earlier step takes back the moves that were made less
/// than an undo period before it, as an undo would. These moves stay hidden as long as the move back is hidden.
fn hidden_acts(acts: &[&PastAct], delay: &Delay) -> Vec<bool> {
    let is_hidden = |index: usize| {
        let act = acts[index];
        let takes_back =
            |later: &&PastAct| is_move_back(later) && later.at.since(act.at) < UNDO_PERIOD && delay.hides_act(later);
        let is_move = matches!(act.act, ActKind::Validated | ActKind::Moved);
        delay.hides_act(act) || is_move && acts[index + 1..].iter().any(takes_back)
    };
    (0..acts.len()).map(is_hidden).collect()
}

fn is_move_back(act: &PastAct) -> bool {
    let is_before = |left: usize| act.step.is_some_and(|to| to < left);
    let mut left = act.steps_before.iter().filter(|(_, before)| before.status == StepStatus::InProgress);
    act.act == ActKind::Moved && left.any(|(index, _)| is_before(*index))
}

/// Returns the state before the first act of the history.
fn initial_state(history: &ApplicationHistory) -> ApplicationState {
    let mut state = history.now.clone();
    for act in history.acts.iter().rev() {
        state.status = act.status_before;
        state.set_steps(&act.steps_before);
    }
    state
}

impl ApplicationState {
    fn set_steps(&mut self, steps: &[(usize, StepState)]) {
        for (index, state) in steps {
            if let Some(step) = self.steps.get_mut(*index) {
                *step = *state;
            }
        }
    }

    /// Moves the candidate to a step. The changed steps depend on this state, and can differ from the steps that the
    /// move by staff changed.
    fn move_to(&mut self, index: usize, at: Timestamp) {
        let before: Vec<StepStatus> = self.steps.iter().map(|step| step.status).collect();
        let after = statuses_after_move(&before, index).unwrap_or(before);
        for (step, status) in self.steps.iter_mut().zip(after).filter(|(step, status)| step.status != *status) {
            *step = StepState { status, at: (status == StepStatus::Validated).then_some(at) };
        }
    }

    /// Resets the steps that follow the step of a reversed hire to pending, unless a visible decision rejected them.
    /// The activity row of the reopening does not contain the steps that a hidden decision rejected.
    fn reset_after(&mut self, index: usize) {
        for step in self.steps.iter_mut().skip(index + 1).filter(|step| step.status != StepStatus::Rejected) {
            *step = StepState { status: StepStatus::Pending, at: None };
        }
    }

    fn is_at(&self, index: usize) -> bool {
        current_index(self.steps.iter().map(|step| step.status)) == Some(index)
    }

    fn is_rejected(&self, index: usize) -> bool {
        self.steps.get(index).is_some_and(|step| step.status == StepStatus::Rejected)
    }

    fn has_rejection(&self) -> bool {
        self.steps.iter().any(|step| step.status == StepStatus::Rejected)
    }
}

/// Returns the visible state after these acts.
fn replay(initial: ApplicationState, acts: &[&PastAct], delay: &Delay) -> ApplicationState {
    let mut real = initial;
    let (mut visible, mut is_hiding) = hide_imported_decisions(&real, delay);
    // The status to which a rejected application returns when none of its steps is rejected any longer.
    let mut base = status_before_rejection(real.status);
    // The steps at which a visible decision reversed a hire.
    let mut reversed = Vec::new();
    for (act, is_hidden) in acts.iter().zip(hidden_acts(acts, delay)) {
        // Without a delay, a decision becomes visible earlier than the moves that led to it, so it reveals them too.
        let is_decision = matches!(act.act, ActKind::Rejected | ActKind::Hired);
        is_hiding = is_hidden || is_hiding && !is_decision;
        real.status = act.status_after;
        real.set_steps(&act.steps_after);
        if is_hiding {
            if !is_hidden {
                replay_after_hidden(&mut visible, base, &reversed, &real, act);
            }
            continue;
        }
        reversed.retain(|index| Some(*index) != act.step);
        if act.act == ActKind::Rejected && act.status_before == ApplicationStatus::Hired {
            reversed.extend(act.step);
        }
        visible.clone_from(&real);
        if real.status != ApplicationStatus::NotSelected {
            base = status_before_rejection(real.status);
        }
    }
    visible
}

/// Applies a visible act that follows a hidden one to the visible state, if the act is possible in that state.
fn replay_after_hidden(
    visible: &mut ApplicationState,
    base: ApplicationStatus,
    reversed: &[usize],
    real: &ApplicationState,
    act: &PastAct,
) {
    let is_running = visible.status == ApplicationStatus::InProgress;
    match act.act {
        // Staff can validate a step, or move a candidate, only if no decision is in effect, so every earlier decision
        // has been undone or reversed. A hire can have skipped steps before it was reversed, and the page must not show
        // that. Therefore, a move applies to the visible steps, as does the validation of the visible current step.
        ActKind::Validated if is_running && act.step.is_some_and(|index| visible.is_at(index)) => {
            visible.set_steps(&act.steps_after);
        }
        ActKind::Validated if is_running => visible.steps.clone_from(&real.steps),
        ActKind::Moved if is_running => act.step.into_iter().for_each(|index| visible.move_to(index, act.at)),
        ActKind::Withdrawn if is_running => visible.status = ApplicationStatus::Withdrawn,
        ActKind::Reopened if act.step.is_some_and(|index| visible.is_rejected(index)) => {
            visible.set_steps(&act.steps_after);
            if let Some(index) = act.step.filter(|index| reversed.contains(index)) {
                visible.reset_after(index);
            }
            visible.status = if visible.has_rejection() { ApplicationStatus::NotSelected } else { base };
        }
        _ => {}
    }
}

/// Returns the status to which a rejected application returns. A hire is never restored.
fn status_before_rejection(status: ApplicationStatus) -> ApplicationStatus {
    match status {
        ApplicationStatus::Withdrawn => status,
        _ => ApplicationStatus::InProgress,
    }
}

/// Removes recent decisions from the state before the first act. Returns the visible state, and whether any decision is
/// hidden. The decisions in that state have no act in the history, for example because they were imported, so their
/// times are known only from the steps. The rule assumes that the candidate was at the step of a hidden decision
/// before that decision, unless another step is in progress.
fn hide_imported_decisions(imported: &ApplicationState, delay: &Delay) -> (ApplicationState, bool) {
    let mut visible = imported.clone();
    let mut is_hiding = false;
    let last = visible.steps.len().saturating_sub(1);
    for index in 0..visible.steps.len() {
        let step = visible.steps[index];
        let is_hire = imported.status == ApplicationStatus::Hired && index == last;
        if (step.status == StepStatus::Rejected || is_hire) && step.at.is_none_or(|at| delay.hides(at)) {
            is_hiding = true;
            let is_elsewhere = visible.steps.iter().any(|step| step.status == StepStatus::InProgress);
            let status = if is_elsewhere { StepStatus::Pending } else { StepStatus::InProgress };
            visible.steps[index] = StepState { status, at: None };
        }
    }
    if is_hiding && !visible.has_rejection() {
        visible.status = status_before_rejection(imported.status);
    }
    (visible, is_hiding)
}

/// Converts a state to the progress that the candidate sees.
fn progress_of(state: &ApplicationState) -> Progress {
    let here = current_index(state.steps.iter().map(|step| step.status));
    let is_running = state.status == ApplicationStatus::InProgress;
    let is_hired = state.status == ApplicationStatus::Hired;
    let stage = |(index, step): (usize, &StepState)| {
        let stage = match step.status {
            StepStatus::Validated => Stage::Done,
            StepStatus::Rejected => Stage::Ended,
            StepStatus::Skipped if is_running || is_hired => Stage::Skipped,
            StepStatus::InProgress if is_running => Stage::Current,
            StepStatus::Pending if is_running && here == Some(index) => Stage::Current,
            StepStatus::Pending if is_running => Stage::Upcoming,
            // A withdrawal does not change the candidate's current step.
            _ if state.status == ApplicationStatus::Withdrawn && here == Some(index) => Stage::Ended,
            _ => return None,
        };
        Some((index, stage))
    };
    Progress { status: state.status, steps: state.steps.iter().enumerate().filter_map(stage).collect() }
}

#[cfg(test)]
mod tests;
