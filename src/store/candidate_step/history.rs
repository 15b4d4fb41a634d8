//! How an application came to be where it is, read from the record of what was done.

use crate::db::row::Row;
use serde::Deserialize;

use super::super::candidate_role::Application;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::Action;
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep, StepStatus};
use crate::domain::progress::{ActKind, ApplicationHistory, ApplicationState, PastAct, StepState};
use crate::domain::timestamp::{Rounding, Timestamp};

/// Acts on one application that are looked back on: far more than anybody decides by hand.
const ACTS_MAX: i64 = 1_000;

/// How an application came to be where it is. Something that was done of which nothing is kept is left out.
///
/// # Errors
/// When SQLite fails.
pub fn history(tx: &Tx<'_>, application: &Application, steps: &[CandidateStep]) -> Result<ApplicationHistory, Error> {
    let sql = "SELECT action, at, candidate_role_step_id, detail
               FROM activities
               WHERE candidate_id = $1 AND candidate_role_id = $2
                 AND action IN ('candidate_step.validated', 'candidate_step.rejected', 'candidate_step.reopened',
                   'candidate_step.hired', 'candidate_step.hire_reversed', 'candidate_role.withdrawn')
               ORDER BY number DESC
               LIMIT $3";
    let params = (application.candidate_id.as_str(), application.record.id.as_str(), ACTS_MAX);
    let mut acts = tx.all(sql, params, |row| past_act(row, steps))?;
    acts.reverse();
    let now = ApplicationState { status: application.record.status, steps: steps.iter().map(step_state).collect() };
    Ok(ApplicationHistory { now, acts: acts.into_iter().flatten().collect() })
}

fn step_state(step: &CandidateStep) -> StepState {
    StepState { status: step.status, at: step.rejected_at.or(step.validated_at) }
}

/// What a row tells. `None` where its detail was erased, or is of a program that wrote another one.
fn past_act(row: &Row<'_>, steps: &[CandidateStep]) -> Result<Option<PastAct>, Error> {
    let act = match tx::word(&row.get::<_, String>(0)?, Action::parse)? {
        Action::Validated => ActKind::Validated,
        Action::Rejected | Action::HireReversed => ActKind::Rejected,
        Action::Reopened => ActKind::Reopened,
        Action::Hired => ActKind::Hired,
        Action::CandidateRoleWithdrawn => ActKind::Withdrawn,
        _ => return Ok(None),
    };
    let (at, step) = (tx::time(row, 1)?, row.get::<_, Option<String>>(2)?);
    let place = |id: &str| steps.iter().position(|step| step.id.as_str() == id);
    let Ok(Found { before, after }) = serde_json::from_str(&row.get::<_, String>(3)?) else { return Ok(None) };
    let statuses = ApplicationStatus::parse(&before.application).zip(ApplicationStatus::parse(&after.application));
    Ok(statuses.map(|(status_before, status_after)| PastAct {
        act,
        at,
        step: step.as_deref().and_then(place),
        status_before,
        status_after,
        steps_before: before.stands(place),
        steps_after: after.stands(place),
    }))
}

#[derive(Deserialize)]
struct Found {
    before: Side,
    after: Side,
}

#[derive(Deserialize)]
struct Side {
    application: String,
    /// A withdrawal changes none.
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    id: String,
    status: String,
    rejected_at: Option<String>,
    validated_at: Option<String>,
}

impl Side {
    /// The steps, by their places.
    fn stands(&self, place: impl Fn(&str) -> Option<usize>) -> Vec<(usize, StepState)> {
        let step_state = |step: &Step| {
            let at = step.rejected_at.as_ref().or(step.validated_at.as_ref());
            let at = at.and_then(|text| Timestamp::parse(text, Rounding::Down));
            Some((place(&step.id)?, StepState { status: StepStatus::parse(&step.status)?, at }))
        };
        self.steps.iter().filter_map(step_state).collect()
    }
}
