//! An application in an import, with its candidate and steps. One column stores most of the data as JSON.

use serde::{Deserialize, Serialize};

use crate::db::tx::{self, Error};
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep, HireRecord, StepStatus, StepType};
use crate::domain::due_day::DueDay;
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::application::ApplicationRecord;
use crate::store::candidate::CandidateRecord;

/// An application with its candidate and steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedApplication {
    pub organization: OrganizationId,
    pub role: RoleId,
    /// The candidate, who may already be in the database.
    pub candidate: CandidateRecord,
    pub application: ApplicationRecord,
    pub steps: Vec<CandidateStep>,
}

/// The parts of a staged application that one column stores as JSON.
#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    email: String,
    hold_reason: Option<String>,
    erased_at: Option<i64>,
    id: String,
    status: String,
    applied_at: i64,
    hire: Option<StoredHire>,
    later_due_on: Option<String>,
    steps: Vec<StoredStep>,
}

#[derive(Serialize, Deserialize)]
struct StoredHire {
    hired_date: i64,
    offer_accepted_date: Option<i64>,
    external_position_id: Option<String>,
    notes: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredStep {
    id: String,
    role_step_id: String,
    name: String,
    order: i64,
    step_type: String,
    status: String,
    rejected_at: Option<i64>,
    rejection_reason: Option<String>,
    outcome_type: Option<String>,
    outcome_reason: Option<String>,
    validated_at: Option<i64>,
}

impl StagedApplication {
    /// Returns the JSON for the column.
    pub(super) fn text(&self) -> Result<String, Error> {
        let Self { candidate, application, steps, .. } = self;
        let stored = Stored {
            name: candidate.name.clone(),
            email: candidate.email.as_str().to_owned(),
            hold_reason: candidate.privacy.hold_reason.clone(),
            erased_at: candidate.privacy.erased_at.map(Timestamp::micros),
            id: application.id.as_str().to_owned(),
            status: application.status.as_str().to_owned(),
            applied_at: application.applied_at.micros(),
            hire: application.hire.as_ref().map(stored_hire),
            later_due_on: application.later_due_on.map(|day| day.to_string()),
            steps: steps.iter().map(stored_step).collect(),
        };
        serde_json::to_string(&stored).map_err(|error| Error::Defect(error.to_string()))
    }

    /// Parses the columns of a row.
    pub(super) fn parse(organization: &str, role: &str, candidate: &str, text: &str) -> Result<Self, Error> {
        let stored: Stored = serde_json::from_str(text).map_err(|error| Error::Defect(error.to_string()))?;
        let time = |micros: Option<i64>| micros.map(Timestamp::from_micros);
        let privacy = Privacy { hold_reason: stored.hold_reason, erased_at: time(stored.erased_at) };
        Ok(Self {
            organization: tx::word(organization, OrganizationId::parse)?,
            role: tx::word(role, RoleId::parse)?,
            candidate: CandidateRecord {
                id: tx::word(candidate, CandidateId::parse)?,
                name: stored.name,
                email: tx::word(&stored.email, Email::parse)?,
                privacy,
            },
            application: ApplicationRecord {
                id: tx::word(&stored.id, ApplicationId::parse)?,
                status: tx::word(&stored.status, ApplicationStatus::parse)?,
                applied_at: Timestamp::from_micros(stored.applied_at),
                hire: stored.hire.map(|hire| HireRecord {
                    hired_date: Timestamp::from_micros(hire.hired_date),
                    offer_accepted_date: time(hire.offer_accepted_date),
                    external_position_id: hire.external_position_id,
                    notes: hire.notes,
                }),
                later_due_on: stored.later_due_on.map(|day| tx::word(&day, DueDay::parse)).transpose()?,
            },
            steps: stored.steps.into_iter().map(step).collect::<Result<_, _>>()?,
        })
    }
}

fn stored_hire(hire: &HireRecord) -> StoredHire {
    StoredHire {
        hired_date: hire.hired_date.micros(),
        offer_accepted_date: hire.offer_accepted_date.map(Timestamp::micros),
        external_position_id: hire.external_position_id.clone(),
        notes: hire.notes.clone(),
    }
}

fn stored_step(step: &CandidateStep) -> StoredStep {
    StoredStep {
        id: step.id.as_str().to_owned(),
        role_step_id: step.role_step_id.as_str().to_owned(),
        name: step.name.clone(),
        order: step.order,
        step_type: step.step_type.as_str().to_owned(),
        status: step.status.as_str().to_owned(),
        rejected_at: step.rejected_at.map(Timestamp::micros),
        rejection_reason: step.rejection_reason.clone(),
        outcome_type: step.outcome_type.clone(),
        outcome_reason: step.outcome_reason.clone(),
        validated_at: step.validated_at.map(Timestamp::micros),
    }
}

fn step(stored: StoredStep) -> Result<CandidateStep, Error> {
    Ok(CandidateStep {
        id: tx::word(&stored.id, CandidateStepId::parse)?,
        role_step_id: tx::word(&stored.role_step_id, RoleStepId::parse)?,
        name: stored.name,
        order: stored.order,
        step_type: tx::word(&stored.step_type, StepType::parse)?,
        status: tx::word(&stored.status, StepStatus::parse)?,
        rejected_at: stored.rejected_at.map(Timestamp::from_micros),
        rejection_reason: stored.rejection_reason,
        outcome_type: stored.outcome_type,
        outcome_reason: stored.outcome_reason,
        validated_at: stored.validated_at.map(Timestamp::from_micros),
    })
}
