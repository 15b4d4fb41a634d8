//! Tests of the rules for reject and hire, as tables over facts. API tests cover how the store saves a decision.

use super::*;
use crate::domain::id::Id;
use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

pub(in crate::domain) const THEN: Timestamp = Timestamp::from_micros(1_000);
pub(super) const NOW: Timestamp = Timestamp::from_micros(2_000);

fn step(order: i64, status: StepStatus) -> CandidateStep {
    let rejected = status == Rejected;
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
        validated_at: (status == Validated).then_some(THEN),
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
        caller_org_role: Some(OrgRole::HrRepresentative),
        caller_platform_role: PlatformRole::User,
    }
}

pub(super) fn hired(statuses: &[StepStatus], addressed: usize) -> StepFacts {
    let record = HireRecord { hired_date: THEN, offer_accepted_date: None, external_position_id: None, notes: None };
    StepFacts {
        application_status: ApplicationStatus::Hired,
        hire: Some(record),
        seats: Seats { status: RoleStatus::Filled, positions: 2, hired: 2 },
        ..facts(statuses, addressed)
    }
}

/// The statuses of all steps after a decision.
pub(super) fn after(facts: &StepFacts, decision: &Decision) -> Vec<StepStatus> {
    let now = |step: &CandidateStep| decision.steps.iter().find(|changed| changed.id == step.id).cloned();
    facts.steps.iter().map(|step| now(step).unwrap_or_else(|| step.clone()).status).collect()
}

#[test]
fn a_hire_validates_the_addressed_and_final_steps_and_skips_open_ones() {
    let before = [Validated, InProgress, Pending, Pending];
    for (addressed, expected) in [
        (0, [Validated, Skipped, Skipped, Validated]),
        (1, [Validated, Validated, Skipped, Validated]),
        (2, [Validated, Skipped, Validated, Validated]),
        (3, [Validated, Skipped, Skipped, Validated]),
    ] {
        let facts = facts(&before, addressed);
        let decision = hire(&facts, &HireInput::default(), NOW).unwrap();
        assert_eq!(after(&facts, &decision), expected, "from step {addressed}");
        assert_eq!(decision.answer_step.order, 4);
        assert_eq!(decision.answer_step.validated_at, Some(NOW));
        assert_eq!(decision.hire.unwrap().hired_date, NOW);
        assert_eq!(decision.seats.status, RoleStatus::Filled);
    }
}

#[test]
fn a_hire_does_not_change_the_time_of_an_earlier_validation() {
    let facts = facts(&[Validated, InProgress], 0);
    let decision = hire(&facts, &HireInput::default(), NOW).unwrap();
    assert!(decision.steps.iter().all(|step| step.order != 1), "the first step does not change");
}

#[test]
fn only_applications_in_progress_are_hired() {
    for status in [ApplicationStatus::Hired, ApplicationStatus::NotSelected, ApplicationStatus::Withdrawn] {
        let facts = StepFacts { application_status: status, ..facts(&[InProgress], 0) };
        assert!(matches!(hire(&facts, &HireInput::default(), NOW), Err(Refusal::Conflict(_))), "{status:?}");
    }
}

#[test]
fn only_open_roles_with_a_free_position_hire() {
    for (status, hired, detail) in [
        (RoleStatus::Filled, 2, "positions already filled"),
        (RoleStatus::Closed, 2, "positions already filled"),
        (RoleStatus::Closed, 1, "the role is not open; open it before hiring for it"),
        (RoleStatus::Draft, 0, "the role is not open; open it before hiring for it"),
    ] {
        let facts = StepFacts { seats: Seats { status, positions: 2, hired }, ..facts(&[InProgress], 0) };
        assert_eq!(hire(&facts, &HireInput::default(), NOW), Err(Refusal::bad_request(detail)));
    }
}

#[test]
fn a_blank_external_position_id_counts_as_missing() {
    let facts = StepFacts { require_external_position_id: true, ..facts(&[InProgress], 0) };
    let with = |id: Option<&str>| HireInput { external_position_id: id.map(str::to_owned), ..HireInput::default() };
    for missing in [None, Some(""), Some("  \t")] {
        assert!(matches!(hire(&facts, &with(missing), NOW), Err(Refusal::BadRequest(_, _))));
    }
    assert!(hire(&facts, &with(Some("P-1")), NOW).is_ok());
}

#[test]
fn authority_is_checked_before_state() {
    let facts = StepFacts { caller_org_role: Some(OrgRole::Member), ..hired(&[Rejected], 0) };
    assert!(matches!(hire(&facts, &HireInput::default(), NOW), Err(Refusal::Forbidden(_))));
    assert!(matches!(reject(&facts, &RejectInput::default(), NOW), Err(Refusal::Forbidden(_))));
}

#[test]
fn a_rejection_changes_only_the_addressed_step() {
    let before = [Validated, InProgress, Pending, Skipped];
    for addressed in 0..4 {
        let facts = facts(&before, addressed);
        let decision = reject(&facts, &RejectInput::default(), NOW).unwrap();
        let mut expected = before;
        expected[addressed] = Rejected;
        assert_eq!(after(&facts, &decision), expected);
        assert_eq!(decision.answer_step.rejection_reason.as_deref(), Some(""));
        assert_eq!((decision.answer_step.rejected_at, decision.answer_step.validated_at), (Some(NOW), None));
        assert_eq!(decision.application_status, ApplicationStatus::NotSelected);
        assert_eq!(decision.seats, facts.seats);
    }
    let facts = facts(&[Rejected], 0);
    assert!(matches!(reject(&facts, &RejectInput::default(), NOW), Err(Refusal::Conflict(_))));
}

#[test]
fn rejecting_a_hired_candidate_reverses_the_hire() {
    let before = [Validated, Skipped, Validated];
    for (addressed, expected) in
        [(0, [Rejected, Skipped, Pending]), (1, [Validated, Rejected, Pending]), (2, [Validated, Skipped, Rejected])]
    {
        let facts = hired(&before, addressed);
        let decision = reject(&facts, &RejectInput::default(), NOW).unwrap();
        assert_eq!(after(&facts, &decision), expected);
        assert_eq!(decision.hire, None);
        assert_eq!(decision.seats, Seats { status: RoleStatus::Open, positions: 2, hired: 1 });
        assert_eq!(decision.status_change.hired, -1);
        assert_eq!(decision.status_change.open_positions, 1);
    }
}

#[test]
fn a_second_rejection_does_not_change_the_first() {
    let facts = StepFacts { application_status: ApplicationStatus::NotSelected, ..facts(&[Rejected, Pending], 1) };
    let decision = reject(&facts, &RejectInput::default(), NOW).unwrap();
    assert_eq!(decision.steps.len(), 1);
    assert_eq!(decision.status_change, StatusCounts::default());
}
