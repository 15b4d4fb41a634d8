//! What the record of what was done has of a decision, written and read: both sides of it as JSON.

use serde::{Deserialize, Serialize};

use super::super::activity;
use crate::db::tx::{self, Error, Tx};
use crate::domain::candidate_step::{
    ApplicationStatus, CandidateStep, Decision, HireRecord, Rejection, Remark, StepFacts, StepStatus,
};
use crate::domain::id::{CandidateStepId, Id};
use crate::domain::role::Seats;
use crate::domain::timestamp::{Rounding, Timestamp};

/// Rejections of one application that are looked back on: far more than anybody undoes by hand.
const REJECTIONS_MAX: i64 = 1_000;

/// What the rejections of an application found, the newest first. One of which nothing is kept is left out.
///
/// # Errors
/// When SQLite fails.
pub fn rejections(tx: &Tx<'_>, facts: &StepFacts) -> Result<Vec<Rejection>, Error> {
    let sql = "SELECT candidate_role_step_id, detail
               FROM activities
               WHERE candidate_id = $1 AND candidate_role_id = $2
                 AND action IN ('candidate_step.rejected', 'candidate_step.hire_reversed')
               ORDER BY number DESC
               LIMIT $3";
    let params = (facts.candidate_id.as_str(), facts.application_id.as_str(), REJECTIONS_MAX);
    let found = tx.all(sql, params, |row| {
        let step = tx::word(&row.get::<_, String>(0)?, CandidateStepId::parse)?;
        Ok(found(step, &row.get::<_, String>(1)?))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// What a detail tells of the step as it was. `None` where it was erased, or is of a program that wrote another one.
fn found(step_id: CandidateStepId, detail: &str) -> Option<Rejection> {
    let Found { before } = serde_json::from_str(detail).ok()?;
    let step = before.steps.iter().find(|step| step.id == step_id.as_str())?;
    let at = |text: &String| Timestamp::parse(text, Rounding::Down);
    let rejection = Rejection {
        application_status: ApplicationStatus::parse(&before.application)?,
        step_status: StepStatus::parse(&step.status)?,
        validated_at: step.validated_at.as_ref().and_then(at),
        step_id,
    };
    let is_dated = (rejection.step_status == StepStatus::Validated) == rejection.validated_at.is_some();
    Some(rejection).filter(|rejection| is_dated && rejection.step_status != StepStatus::Rejected)
}

#[derive(Deserialize)]
struct Found {
    before: FoundSide,
}

#[derive(Deserialize)]
struct FoundSide {
    application: String,
    steps: Vec<FoundStep>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FoundStep {
    id: String,
    status: String,
    validated_at: Option<String>,
}

/// Before and after, with everything that the decision clears elsewhere: JSON text.
pub(super) fn detail(facts: &StepFacts, decision: &Decision) -> Result<String, Error> {
    // The steps that a decision changes, as they were.
    let is_changed = |step: &&CandidateStep| decision.steps.iter().any(|after| after.id == step.id);
    let changed = facts.steps.iter().filter(is_changed);
    let after = side(decision.application_status, decision.seats, decision.hire.as_ref(), decision.steps.iter());
    let (outcome_notes, reason) = match &decision.remark {
        Some(Remark::OutcomeNotes(notes)) => (Some(notes.as_str()), None),
        Some(Remark::Reason(reason)) => (None, Some(reason.as_str())),
        None => (None, None),
    };
    activity::detail(
        &side(facts.application_status, facts.seats, facts.hire.as_ref(), changed),
        &Side { outcome_notes, reason, ..after },
    )
}

fn side<'a>(
    status: ApplicationStatus,
    seats: Seats,
    hire: Option<&'a HireRecord>,
    steps: impl Iterator<Item = &'a CandidateStep>,
) -> Side<'a> {
    let hire = hire.map(|hire| DetailOfHire {
        hired_date: hire.hired_date.to_string(),
        offer_accepted_date: hire.offer_accepted_date.map(|at| at.to_string()),
        external_position_id: hire.external_position_id.as_deref(),
        notes: hire.notes.as_deref(),
    });
    let steps = steps.map(|step| DetailOfStep {
        id: step.id.as_str(),
        status: step.status.as_str(),
        rejected_at: step.rejected_at.map(|at| at.to_string()),
        rejection_reason: step.rejection_reason.as_deref(),
        outcome_type: step.outcome_type.as_deref(),
        outcome_reason: step.outcome_reason.as_deref(),
        validated_at: step.validated_at.map(|at| at.to_string()),
    });
    Side {
        application: status.as_str(),
        role: seats.status.as_str(),
        hire,
        steps: steps.collect(),
        outcome_notes: None,
        reason: None,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Side<'a> {
    application: &'static str,
    role: &'static str,
    hire: Option<DetailOfHire<'a>>,
    steps: Vec<DetailOfStep<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome_notes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DetailOfHire<'a> {
    hired_date: String,
    offer_accepted_date: Option<String>,
    external_position_id: Option<&'a str>,
    notes: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DetailOfStep<'a> {
    id: &'a str,
    status: &'static str,
    rejected_at: Option<String>,
    rejection_reason: Option<&'a str>,
    outcome_type: Option<&'a str>,
    outcome_reason: Option<&'a str>,
    validated_at: Option<String>,
}
