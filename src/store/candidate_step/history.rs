//! The history of an application, read from activity rows.

use super::activity_detail::{RecordedDecision, RecordedSide, RecordedStep};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::Action;
use crate::domain::candidate_step::{
    ActKind, ActingUser, ApplicationStatus, AttributedAct, CandidateStep, PastAct, Rejection, StepFacts, StepState,
    StepStatus,
};
use crate::domain::due_day::DueDay;
use crate::domain::id::{CandidateStepId, Id, UserId};
use crate::domain::progress::{ApplicationHistory, ApplicationState};
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::store::application::Application;

/// The maximum number of acts in the history of one application: far more than staff would ever perform by hand.
const ACTS_MAX: i64 = 1_000;

/// The maximum number of acts that the undo rule receives: more than people perform on one application within the undo
/// period.
const RECENT_ACTS_MAX: i64 = 50;

/// The maximum number of rejections read for one application: far more than staff would ever make and undo by hand.
const REJECTIONS_MAX: i64 = 1_000;

/// Reads the current state of an application, and its newest acts, up to a limit. Leaves out acts whose details cannot
/// be read, for example because they were erased.
pub fn history(tx: &Tx<'_>, application: &Application, steps: &[CandidateStep]) -> Result<ApplicationHistory, Error> {
    let sql = "SELECT action, at, candidate_role_step_id, detail
               FROM activities
               WHERE candidate_id = $1 AND candidate_role_id = $2
                 AND action IN ('candidate_step.validated', 'candidate_step.moved', 'candidate_step.rejected',
                   'candidate_step.reopened', 'candidate_step.hired', 'candidate_step.hire_reversed',
                   'candidate_step.undone', 'candidate_role.withdrawn')
               ORDER BY number DESC
               LIMIT $3";
    let params = (application.candidate_id.as_str(), application.record.id.as_str(), ACTS_MAX);
    let mut acts = tx.all(sql, params, |row| past_act(&mut Columns::of(row), steps))?;
    acts.reverse();
    let now = ApplicationState { status: application.record.status, steps: steps.iter().map(step_state).collect() };
    Ok(ApplicationHistory { now, acts: acts.into_iter().flatten().collect() })
}

/// Returns the newest rejections of an application, newest first. Leaves out rejections whose details cannot be read,
/// for example because they were erased.
pub fn rejections(tx: &Tx<'_>, facts: &StepFacts) -> Result<Vec<Rejection>, Error> {
    let sql = "SELECT candidate_role_step_id, detail
               FROM activities
               WHERE candidate_id = $1 AND candidate_role_id = $2
                 AND action IN ('candidate_step.rejected', 'candidate_step.hire_reversed')
               ORDER BY number DESC
               LIMIT $3";
    let params = (facts.candidate_id.as_str(), facts.application_id.as_str(), REJECTIONS_MAX);
    let rejections = tx.all(sql, params, |row| {
        let mut columns = Columns::of(row);
        let step = columns.parse(CandidateStepId::parse)?;
        Ok(RecordedDecision::parse(columns.text()?).and_then(|recorded| recorded.rejection(step)))
    })?;
    Ok(rejections.into_iter().flatten().collect())
}

/// Returns the newest acts on an application with the users who acted, newest first, for the undo rule. The list ends
/// before the newest act whose detail cannot be read, because the rule would otherwise take an older act for the last
/// one.
pub fn recent_acts(tx: &Tx<'_>, facts: &StepFacts) -> Result<Vec<AttributedAct>, Error> {
    let sql = "SELECT t.action, t.at, t.candidate_role_step_id, t.detail, t.user_id, u.name
               FROM activities t
               LEFT JOIN users u ON u.id = t.user_id
               WHERE t.candidate_id = $1 AND t.candidate_role_id = $2 AND t.organization_id = $3
                 AND t.action IN ('candidate_step.validated', 'candidate_step.moved', 'candidate_step.rejected',
                   'candidate_step.reopened', 'candidate_step.hired', 'candidate_step.hire_reversed',
                   'candidate_step.undone', 'candidate_role.withdrawn')
               ORDER BY t.number DESC
               LIMIT $4";
    let ids = (facts.candidate_id.as_str(), facts.application_id.as_str(), facts.organization_id.as_str());
    let acts = tx.all(sql, (ids.0, ids.1, ids.2, RECENT_ACTS_MAX), |row| {
        let mut columns = Columns::of(row);
        let act = past_act(&mut columns, &facts.steps)?;
        let (id, name) = (columns.parse_or_none(UserId::parse)?, columns.read::<Option<String>>()?);
        Ok(act.map(|act| AttributedAct { act, by: id.zip(name).map(|(id, name)| ActingUser { id, name }) }))
    })?;
    Ok(acts.into_iter().map_while(|act| act).collect())
}

fn step_state(step: &CandidateStep) -> StepState {
    StepState { status: step.status, at: step.rejected_at.or(step.validated_at) }
}

/// Reads an act from the columns `action`, `at`, `candidate_role_step_id` and `detail`. Returns `None` if the detail
/// was erased, or if another version of the service wrote the detail in another form.
fn past_act(columns: &mut Columns<'_>, steps: &[CandidateStep]) -> Result<Option<PastAct>, Error> {
    let act = match columns.parse(Action::parse)? {
        Action::Validated => ActKind::Validated,
        Action::Moved => ActKind::Moved,
        Action::Rejected | Action::HireReversed => ActKind::Rejected,
        Action::Reopened => ActKind::Reopened,
        Action::Hired => ActKind::Hired,
        Action::Undone => ActKind::Undone,
        Action::CandidateRoleWithdrawn => ActKind::Withdrawn,
        _ => return Ok(None),
    };
    let (at, step) = (columns.time()?, columns.text_or_none()?);
    let index = |id: &str| steps.iter().position(|step| step.id.as_str() == id);
    let Some(RecordedDecision { before, after }) = RecordedDecision::parse(columns.text()?) else { return Ok(None) };
    let statuses = ApplicationStatus::parse(&before.application).zip(ApplicationStatus::parse(&after.application));
    Ok(statuses.map(|(status_before, status_after)| PastAct {
        act,
        at,
        step: step.and_then(index),
        status_before,
        status_after,
        steps_before: step_states(&before, index),
        steps_after: step_states(&after, index),
        later_before: before.later_due_on.as_deref().and_then(DueDay::parse),
    }))
}

/// Returns the index and the state of each recorded step that the application still has.
fn step_states(side: &RecordedSide, index: impl Fn(&str) -> Option<usize>) -> Vec<(usize, StepState)> {
    let step_state = |step: &RecordedStep| {
        let at = step.rejected_at.as_ref().or(step.validated_at.as_ref());
        let at = at.and_then(|text| Timestamp::parse(text, Rounding::Down));
        Some((index(&step.id)?, StepState { status: StepStatus::parse(&step.status)?, at }))
    };
    side.steps.iter().filter_map(step_state).collect()
}
