//! What a candidate sees of their application (`/status/{token}`): how far they are, without what was decided of late.
//!
//! An organization has a delay, so that whoever decides can still change their mind, and tell the candidate themselves, before
//! a page does. Until a decision (reject, hire, the reversal of a hire) is that old, its candidate sees what they would see
//! had it not been taken. A move to the next step is seen at once, and so is a withdrawal.
//!
//! The record of what was done is followed from its beginning. Up to the first decision that is not to be seen yet all of it
//! shows; behind that, only what is possible where the candidate is seen to be.

use std::time::Duration;

use super::candidate_step::{ApplicationStatus, StepStatus};
use super::timestamp::Timestamp;

/// What was done to an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActKind {
    /// A step was passed.
    Validated,
    /// A step was rejected, of a candidate who was hired too.
    Rejected,
    /// The rejection of a step was undone.
    Reopened,
    /// The candidate was hired.
    Hired,
    /// The application was taken back.
    Withdrawn,
}

/// Something that was done, as the record has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastAct {
    /// What.
    pub act: ActKind,
    /// When.
    pub at: Timestamp,
    /// The step that it was done at, by its place from 0; none where it is about the application.
    pub step: Option<usize>,
    /// Where the application was.
    pub status_before: ApplicationStatus,
    /// Where it was then.
    pub status_after: ApplicationStatus,
    /// The steps that changed, by their places from 0, as they were.
    pub steps_before: Vec<(usize, StepState)>,
    /// The same as they were then.
    pub steps_after: Vec<(usize, StepState)>,
}

/// Where a candidate is with a step, and when it was rejected or passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepState {
    /// Where they are with it.
    pub status: StepStatus,
    /// Since when, where it is rejected or validated.
    pub at: Option<Timestamp>,
}

/// Where an application and its steps are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationState {
    /// The application.
    pub status: ApplicationStatus,
    /// Its steps, first to last.
    pub steps: Vec<StepState>,
}

/// All that is known of how an application came to be where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationHistory {
    /// Where it is.
    pub now: ApplicationState,
    /// What was done to it, the oldest first. One that came by import has been decided on before that, maybe.
    pub done: Vec<PastAct>,
}

/// What the candidate sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Where the application is.
    pub status: ApplicationStatus,
    /// Its steps that are told, by their places from 0: where it has ended, only those that it came to.
    pub steps: Vec<(usize, Stage)>,
}

/// What the candidate sees of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It is behind them.
    Done,
    /// They are there.
    Current,
    /// It is still to come.
    Upcoming,
    /// It was left out.
    Skipped,
    /// The application ended there.
    Ended,
}

impl Progress {
    /// Of an application that nobody has decided on or moved: it is, or was, at the first of so many steps.
    pub fn untouched(steps: usize, status: ApplicationStatus) -> Self {
        let status_of = |place| if place == 0 { StepStatus::InProgress } else { StepStatus::Pending };
        let steps = (0..steps).map(|place| StepState { status: status_of(place), at: None });
        progress_of(&ApplicationState { status, steps: steps.collect() })
    }
}

/// What the candidate sees at a time. `visible_after` is how old a decision must be; none where decisions are never seen.
///
/// Whoever took the application back on their page (`withdrawn_at`) sees for good what they saw then, and that they did:
/// what is decided later is not about them any more.
pub fn visible_progress(
    history: &ApplicationHistory,
    withdrawn_at: Option<Timestamp>,
    visible_after: Option<Duration>,
    now: Timestamp,
) -> Progress {
    let delay = Delay { visible_after, now: withdrawn_at.unwrap_or(now) };
    let before_withdrawal = |done: &&PastAct| withdrawn_at.is_none_or(|at| done.at < at);
    let origin = origin(history);
    let done = history.done.iter().filter(before_withdrawal);
    let mut shown = follow(origin, done, &delay);
    if withdrawn_at.is_some() {
        shown.status = ApplicationStatus::Withdrawn;
    }
    progress_of(&shown)
}

/// Whether a decision is old enough to be seen.
struct Delay {
    visible_after: Option<Duration>,
    now: Timestamp,
}

impl Delay {
    fn hides(&self, decided_at: Timestamp) -> bool {
        self.visible_after.is_none_or(|age| self.now.since(decided_at) < age)
    }
}

/// Where the application was before anything of it was on record.
fn origin(history: &ApplicationHistory) -> ApplicationState {
    let mut standing = history.now.clone();
    for done in history.done.iter().rev() {
        standing.status = done.status_before;
        standing.put(&done.steps_before);
    }
    standing
}

impl ApplicationState {
    fn put(&mut self, steps: &[(usize, StepState)]) {
        for (place, stand) in steps {
            if let Some(step) = self.steps.get_mut(*place) {
                *step = *stand;
            }
        }
    }

    /// What a hire at a step passed over is still to come once it does not count: also what was rejected by a decision that
    /// does not show, which the record has as it was left.
    fn put_before(&mut self, place: usize) {
        for step in self.steps.iter_mut().skip(place + 1).filter(|step| step.status != StepStatus::Rejected) {
            *step = StepState { status: StepStatus::Pending, at: None };
        }
    }

    fn is_rejected(&self, place: usize) -> bool {
        self.steps.get(place).is_some_and(|step| step.status == StepStatus::Rejected)
    }

    fn has_rejection(&self) -> bool {
        self.steps.iter().any(|step| step.status == StepStatus::Rejected)
    }
}

/// What is seen once all of this was done.
fn follow<'a>(origin: ApplicationState, done: impl Iterator<Item = &'a PastAct>, delay: &Delay) -> ApplicationState {
    let mut real = origin;
    let (mut shown, mut is_hiding) = undecided(&real, delay);
    // Where an application that is not selected is again once nothing of it is rejected.
    let mut base = before_rejection(real.status);
    // The steps at which a hire was reversed, for all to see.
    let mut reversed = Vec::new();
    for done in done {
        let is_decision = matches!(done.act, ActKind::Rejected | ActKind::Hired);
        is_hiding |= is_decision && delay.hides(done.at);
        real.status = done.status_after;
        real.put(&done.steps_after);
        if is_hiding {
            follow_behind(&mut shown, base, &reversed, &real, done);
            continue;
        }
        reversed.retain(|place| Some(*place) != done.step);
        if done.act == ActKind::Rejected && done.status_before == ApplicationStatus::Hired {
            reversed.extend(done.step);
        }
        shown.clone_from(&real);
        if real.status != ApplicationStatus::NotSelected {
            base = before_rejection(real.status);
        }
    }
    shown
}

/// What shows of something that was done behind a decision that does not show: what is possible without that.
fn follow_behind(
    shown: &mut ApplicationState,
    base: ApplicationStatus,
    reversed: &[usize],
    real: &ApplicationState,
    done: &PastAct,
) {
    let is_running = shown.status == ApplicationStatus::InProgress;
    match done.act {
        // Who is moved on is not decided on: whatever was decided before has been undone.
        ActKind::Validated if is_running => shown.steps.clone_from(&real.steps),
        ActKind::Withdrawn if is_running => shown.status = ApplicationStatus::Withdrawn,
        ActKind::Reopened if done.step.is_some_and(|place| shown.is_rejected(place)) => {
            shown.put(&done.steps_after);
            if let Some(place) = done.step.filter(|place| reversed.contains(place)) {
                shown.put_before(place);
            }
            shown.status = if shown.has_rejection() { ApplicationStatus::NotSelected } else { base };
        }
        _ => {}
    }
}

/// A hire is never restored.
fn before_rejection(status: ApplicationStatus) -> ApplicationStatus {
    match status {
        ApplicationStatus::Withdrawn => status,
        _ => ApplicationStatus::InProgress,
    }
}

/// What is seen of an application as it came, which may have been decided on elsewhere; and whether any of that does not
/// show. Nothing but the steps tells when, and nothing where the candidate was: they are taken to have been at that step.
fn undecided(origin: &ApplicationState, delay: &Delay) -> (ApplicationState, bool) {
    let mut shown = origin.clone();
    let mut is_hiding = false;
    let last = shown.steps.len().saturating_sub(1);
    for place in 0..shown.steps.len() {
        let step = shown.steps[place];
        let is_hire = origin.status == ApplicationStatus::Hired && place == last;
        if (step.status == StepStatus::Rejected || is_hire) && step.at.is_none_or(|at| delay.hides(at)) {
            is_hiding = true;
            let is_elsewhere = shown.steps.iter().any(|step| step.status == StepStatus::InProgress);
            let status = if is_elsewhere { StepStatus::Pending } else { StepStatus::InProgress };
            shown.steps[place] = StepState { status, at: None };
        }
    }
    if is_hiding && !shown.has_rejection() {
        shown.status = before_rejection(origin.status);
    }
    (shown, is_hiding)
}

/// A standing in the candidate's words.
fn progress_of(standing: &ApplicationState) -> Progress {
    let of = |wanted| standing.steps.iter().position(|step| step.status == wanted);
    let here = of(StepStatus::InProgress).or_else(|| of(StepStatus::Pending));
    let is_running = standing.status == ApplicationStatus::InProgress;
    let is_hired = standing.status == ApplicationStatus::Hired;
    let stage = |(place, step): (usize, &StepState)| {
        let stage = match step.status {
            StepStatus::Validated => Stage::Done,
            StepStatus::Rejected => Stage::Ended,
            StepStatus::Skipped if is_running || is_hired => Stage::Skipped,
            StepStatus::InProgress if is_running => Stage::Current,
            StepStatus::Pending if is_running && here == Some(place) => Stage::Current,
            StepStatus::Pending if is_running => Stage::Upcoming,
            // A withdrawal leaves the candidate's step as it was.
            _ if standing.status == ApplicationStatus::Withdrawn && here == Some(place) => Stage::Ended,
            _ => return None,
        };
        Some((place, stage))
    };
    Progress { status: standing.status, steps: standing.steps.iter().enumerate().filter_map(stage).collect() }
}

#[cfg(test)]
mod tests;
