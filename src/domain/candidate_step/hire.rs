//! `POST …/hire`: hires the candidate and fills a position of the role.

use super::decision::{Decision, HireRecord, StepFacts};
use super::status::{ApplicationStatus, StepStatus};
use crate::domain::refusal::{FieldError, Refusal};
use crate::domain::role::{RoleStatus, Seats};
use crate::domain::timestamp::Timestamp;

/// The input of a hire.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HireInput {
    /// Staff's notes on the hire.
    pub notes: Option<String>,
    /// The time of the hire; defaults to the current time.
    pub hired_date: Option<Timestamp>,
    /// The time at which the offer was accepted.
    pub offer_accepted_date: Option<Timestamp>,
    /// The position's code in the organization's HR system. A blank code is treated as missing.
    pub external_position_id: Option<String>,
}

/// `POST …/hire`: validates the addressed step and the final step. All other open steps become `skipped`. The hire
/// fills a position. If it fills the last position, the role becomes `filled`.
///
/// # Errors
/// `forbidden` without authority over the steps; `conflict` if the candidate was erased, has already been hired or
/// rejected for the role, or has withdrawn; `bad_request` if all positions are filled, the role is not open, or a
/// required external position id is missing.
pub fn hire(facts: &StepFacts, input: &HireInput, now: Timestamp) -> Result<Decision, Refusal> {
    facts.require_authority()?;
    require_undecided(facts)?;
    require_room(facts.seats)?;
    let external_position_id = input.external_position_id.clone().filter(|id| !id.trim().is_empty());
    if facts.require_external_position_id && external_position_id.is_none() {
        let field = FieldError {
            field: "externalPositionId".to_owned(),
            detail: "this organization requires the position's code in its HR system for each hire".to_owned(),
        };
        return Err(Refusal::BadRequest("externalPositionId is missing".to_owned(), vec![field]));
    }
    let last = facts.final_index();
    let mut steps = facts.steps.clone();
    for (index, step) in steps.iter_mut().enumerate() {
        if index == last || index == facts.addressed {
            step.validate(now);
        } else if matches!(step.status, StepStatus::Pending | StepStatus::InProgress) {
            step.status = StepStatus::Skipped;
        }
    }
    let record = HireRecord {
        hired_date: input.hired_date.unwrap_or(now),
        offer_accepted_date: input.offer_accepted_date,
        external_position_id,
        notes: input.notes.clone(),
    };
    Ok(facts.decision(steps, last, ApplicationStatus::Hired, Some(record), facts.seats.taken()))
}

fn require_undecided(facts: &StepFacts) -> Result<(), Refusal> {
    match facts.application_status {
        ApplicationStatus::Hired => Err(Refusal::Conflict("the candidate has already been hired for this role")),
        ApplicationStatus::NotSelected => {
            Err(Refusal::Conflict("the candidate has already been rejected for this role"))
        }
        ApplicationStatus::Withdrawn => Err(Refusal::Conflict("the candidate has withdrawn the application")),
        ApplicationStatus::InProgress => Ok(()),
    }
}

fn require_room(seats: Seats) -> Result<(), Refusal> {
    match seats.status {
        _ if seats.are_all_filled() => Err(Refusal::bad_request("positions already filled")),
        RoleStatus::Open => Ok(()),
        _ => Err(Refusal::bad_request("the role is not open; open it before hiring for it")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NOW, after, facts, hired};
    use super::*;
    use crate::domain::user::OrgRole;
    use StepStatus::{InProgress, Pending, Rejected, Skipped, Validated};

    #[test]
    fn a_hire_validates_the_addressed_and_final_steps_and_skips_other_open_steps() {
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
    fn only_candidates_whose_application_is_in_progress_are_hired() {
        for status in [ApplicationStatus::Hired, ApplicationStatus::NotSelected, ApplicationStatus::Withdrawn] {
            let facts = StepFacts { application_status: status, ..facts(&[InProgress], 0) };
            assert!(matches!(hire(&facts, &HireInput::default(), NOW), Err(Refusal::Conflict(_))), "{status:?}");
        }
    }

    #[test]
    fn candidates_are_hired_only_for_open_roles_with_a_free_position() {
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
    fn a_blank_external_position_id_is_treated_as_missing() {
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
    }
}
