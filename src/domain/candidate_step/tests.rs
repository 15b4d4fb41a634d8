//! Facts for the tests of the decisions. The API tests show that the store saves decisions.

use super::{ApplicationStatus, CandidateStep, Decision, HireRecord, StepFacts, StepStatus, StepType};
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::role::{RoleStatus, Seats};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{OrgRole, PlatformRole};

pub(in crate::domain) const THEN: Timestamp = Timestamp::from_micros(1_000);
pub(in crate::domain) const NOW: Timestamp = Timestamp::from_micros(2_000);

fn step(order: i64, status: StepStatus) -> CandidateStep {
    let rejected = status == StepStatus::Rejected;
    CandidateStep {
        id: CandidateStepId::parse(&format!("cstep_{order}")).unwrap(),
        role_step_id: RoleStepId::parse(&format!("step_{order}")).unwrap(),
        name: format!("Step {order}"),
        order,
        step_type: StepType::Interview,
        status,
        rejected_at: rejected.then_some(THEN),
        rejection_reason: rejected.then(|| "first".to_owned()),
        outcome_type: None,
        outcome_reason: None,
        validated_at: (status == StepStatus::Validated).then_some(THEN),
    }
}

pub(in crate::domain) fn facts(statuses: &[StepStatus], addressed: usize) -> StepFacts {
    StepFacts {
        organization_id: OrganizationId::parse("org_1").unwrap(),
        require_external_position_id: false,
        role_id: RoleId::parse("role_1").unwrap(),
        seats: Seats { status: RoleStatus::Open, positions: 2, hired: 1 },
        candidate_id: CandidateId::parse("cand_1").unwrap(),
        application_id: ApplicationId::parse("app_1").unwrap(),
        application_status: ApplicationStatus::InProgress,
        applied_at: Timestamp::from_micros(0),
        hire: None,
        steps: (1..).zip(statuses).map(|(order, status)| step(order, *status)).collect(),
        addressed,
        is_erased: false,
        is_held: false,
        later_due_on: None,
        caller_org_role: Some(OrgRole::HrRepresentative),
        caller_platform_role: PlatformRole::User,
    }
}

pub(in crate::domain) fn hired(statuses: &[StepStatus], addressed: usize) -> StepFacts {
    let record = HireRecord { hired_date: THEN, offer_accepted_date: None, external_position_id: None, notes: None };
    StepFacts {
        application_status: ApplicationStatus::Hired,
        hire: Some(record),
        seats: Seats { status: RoleStatus::Filled, positions: 2, hired: 2 },
        ..facts(statuses, addressed)
    }
}

/// Returns the statuses of all steps after a decision.
pub(in crate::domain) fn after(facts: &StepFacts, decision: &Decision) -> Vec<StepStatus> {
    let now = |step: &CandidateStep| decision.steps.iter().find(|changed| changed.id == step.id).cloned();
    facts.steps.iter().map(|step| now(step).unwrap_or_else(|| step.clone()).status).collect()
}
