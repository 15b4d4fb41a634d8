//! The JSON details of decisions in activity rows. The service writes a detail with each decision, and reads details to
//! reopen steps, to undo decisions, and to build histories and queues.

use serde::{Deserialize, Serialize};

use crate::db::tx::Error;
use crate::domain::activity::Action;
use crate::domain::candidate_step::{
    ActKind, ApplicationStatus, CandidateStep, Decision, HireRecord, Rejection, Remark, StepFacts, StepStatus,
};
use crate::domain::id::CandidateStepId;
use crate::domain::role::Seats;
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::store::activity;

/// Returns the detail of a decision as JSON: the application, the role, the hire, the changed steps and the later mark,
/// each before and after the decision, and the remark.
pub(super) fn detail_of(facts: &StepFacts, decision: &Decision) -> Result<String, Error> {
    // The steps that the decision changes, in their state before the decision.
    let is_changed = |step: &&CandidateStep| decision.steps.iter().any(|after| after.id == step.id);
    let changed = facts.steps.iter().filter(is_changed);
    let after = side(decision.application_status, decision.seats, decision.hire.as_ref(), decision.steps.iter());
    let before = side(facts.application_status, facts.seats, facts.hire.as_ref(), changed);
    let before = WrittenSide { later_due_on: facts.later_due_on.map(|day| day.to_string()), ..before };
    let later_due_on = decision.later_due_on.map(|day| day.to_string());
    let after = WrittenSide { later_due_on, ..after };
    let after = match &decision.remark {
        Some(Remark::OutcomeNotes(notes)) => WrittenSide { outcome_notes: Some(notes), ..after },
        Some(Remark::Reason(reason)) => WrittenSide { reason: Some(reason), ..after },
        Some(Remark::Undone(act)) => WrittenSide { undone: Some(action_of(*act).as_str()), ..after },
        None => after,
    };
    activity::detail(&before, &after)
}

/// Returns the action that records an act of this kind.
pub fn action_of(act: ActKind) -> Action {
    match act {
        ActKind::Validated => Action::Validated,
        ActKind::Moved => Action::Moved,
        ActKind::Rejected => Action::Rejected,
        ActKind::Reopened => Action::Reopened,
        ActKind::Hired => Action::Hired,
        ActKind::Withdrawn => Action::CandidateRoleWithdrawn,
        ActKind::Undone => Action::Undone,
    }
}

fn side<'a>(
    status: ApplicationStatus,
    seats: Seats,
    hire: Option<&'a HireRecord>,
    steps: impl Iterator<Item = &'a CandidateStep>,
) -> WrittenSide<'a> {
    let hire = hire.map(|hire| WrittenHire {
        hired_date: hire.hired_date.to_string(),
        offer_accepted_date: hire.offer_accepted_date.map(|at| at.to_string()),
        external_position_id: hire.external_position_id.as_deref(),
        notes: hire.notes.as_deref(),
    });
    let steps = steps.map(|step| WrittenStep {
        id: step.id.as_str(),
        status: step.status.as_str(),
        rejected_at: step.rejected_at.map(|at| at.to_string()),
        rejection_reason: step.rejection_reason.as_deref(),
        outcome_type: step.outcome_type.as_deref(),
        outcome_reason: step.outcome_reason.as_deref(),
        validated_at: step.validated_at.map(|at| at.to_string()),
    });
    WrittenSide {
        application: status.as_str(),
        role: seats.status.as_str(),
        hire,
        steps: steps.collect(),
        outcome_notes: None,
        reason: None,
        undone: None,
        later_due_on: None,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenSide<'a> {
    application: &'static str,
    role: &'static str,
    hire: Option<WrittenHire<'a>>,
    steps: Vec<WrittenStep<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome_notes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    later_due_on: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenHire<'a> {
    hired_date: String,
    offer_accepted_date: Option<String>,
    external_position_id: Option<&'a str>,
    notes: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenStep<'a> {
    id: &'a str,
    status: &'static str,
    rejected_at: Option<String>,
    rejection_reason: Option<&'a str>,
    outcome_type: Option<&'a str>,
    outcome_reason: Option<&'a str>,
    validated_at: Option<String>,
}

/// The part of a detail that the service reads.
#[derive(Deserialize)]
pub(super) struct RecordedDecision {
    pub(super) before: RecordedSide,
    pub(super) after: RecordedSide,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordedSide {
    pub(super) application: String,
    /// The changed steps. The detail of a withdrawal lacks this member, because a withdrawal changes no step.
    #[serde(default)]
    pub(super) steps: Vec<RecordedStep>,
    pub(super) later_due_on: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordedStep {
    pub(super) id: String,
    pub(super) status: String,
    pub(super) rejected_at: Option<String>,
    pub(super) validated_at: Option<String>,
}

impl RecordedDecision {
    /// Parses a detail. Returns `None` if the detail was erased, or if another version of the service wrote it in
    /// another form.
    pub(super) fn parse(detail: &str) -> Option<Self> {
        serde_json::from_str(detail).ok()
    }

    /// Returns the rejection of a step, if the detail contains the state of the step before the rejection.
    pub(super) fn rejection(&self, step_id: CandidateStepId) -> Option<Rejection> {
        let step = self.before.steps.iter().find(|step| step.id == step_id.as_str())?;
        let at = |text: &String| Timestamp::parse(text, Rounding::Down);
        let rejection = Rejection {
            application_status: ApplicationStatus::parse(&self.before.application)?,
            step_status: StepStatus::parse(&step.status)?,
            validated_at: step.validated_at.as_ref().and_then(at),
            step_id,
        };
        let is_dated = (rejection.step_status == StepStatus::Validated) == rejection.validated_at.is_some();
        Some(rejection).filter(|rejection| is_dated && rejection.step_status != StepStatus::Rejected)
    }
}
