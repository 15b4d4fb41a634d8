//! Rules for the acts of staff on candidates: adding candidates to a role, changing candidates, and withdrawing and
//! transferring applications.

use super::application;
use super::candidate_step::{ApplicationStatus, CandidateStep, StepStatus, StepType};
use super::id::{CandidateStepId, RoleStepId};
use super::refusal::Refusal;
use super::role::RoleStatus;

/// `POST …/organizations/{id}/candidates`: checks that staff can add the candidate to a role with this status and
/// number of steps.
///
/// # Errors
/// `conflict` if the role is not open or has no steps, or the candidate was erased or has already applied to the role.
pub fn require_addable(role: RoleStatus, steps: usize, is_erased: bool, has_applied: bool) -> Result<(), Refusal> {
    match role {
        _ if is_erased => {
            Err(Refusal::Conflict("the candidate with this email was erased; nobody can be reached at this address"))
        }
        RoleStatus::Draft => Err(Refusal::Conflict("the role is a draft; open it before adding candidates")),
        RoleStatus::Filled => {
            Err(Refusal::Conflict("the role is filled; increase its number of positions before adding candidates"))
        }
        RoleStatus::Closed => Err(Refusal::Conflict("the role is closed; reopen it before adding candidates")),
        RoleStatus::Open if has_applied => Err(Refusal::Conflict("the candidate has already applied to this role")),
        RoleStatus::Open if steps == 0 => {
            Err(Refusal::Conflict("the role has no steps; add one before adding candidates"))
        }
        RoleStatus::Open => Ok(()),
    }
}

/// The part of a role step that is copied into an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTemplate {
    /// The id of the role step.
    pub id: RoleStepId,
    /// The step's name at the time of the application.
    pub name: String,
    /// The step's type at the time of the application.
    pub step_type: StepType,
}

/// Returns the steps of a new application, copied from the role steps in order. The candidate is at the first step.
pub fn first_steps(role_steps: Vec<StepTemplate>, mut new_id: impl FnMut() -> CandidateStepId) -> Vec<CandidateStep> {
    let statuses = application::default_statuses(ApplicationStatus::InProgress, role_steps.len()).unwrap_or_default();
    let steps = role_steps.into_iter().zip(statuses).zip(1..);
    steps.map(|((step, status), order)| copied(new_id(), step, status, order)).collect()
}

fn copied(id: CandidateStepId, step: StepTemplate, status: StepStatus, order: i64) -> CandidateStep {
    CandidateStep {
        id,
        role_step_id: step.id,
        name: step.name,
        order,
        step_type: step.step_type,
        status,
        rejected_at: None,
        rejection_reason: None,
        outcome_type: None,
        outcome_reason: None,
        validated_at: None,
    }
}

/// `PATCH …/candidates/{id}`: checks that staff can change the candidate's name and address. `is_taken` is true if
/// another candidate has the address.
///
/// # Errors
/// `conflict` if the candidate was erased or the address is taken.
pub fn require_changeable(is_erased: bool, is_taken: bool) -> Result<(), Refusal> {
    if is_erased {
        return Err(Refusal::Conflict("the candidate was erased; there is nothing left to change"));
    }
    if is_taken {
        return Err(Refusal::Conflict("another candidate in the organization has this email"));
    }
    Ok(())
}

/// `POST …/candidate-roles/{id}/withdraw`: checks that an application with this status can be withdrawn.
///
/// # Errors
/// `conflict` if the application has ended.
pub fn require_withdrawable(status: ApplicationStatus) -> Result<(), Refusal> {
    match status {
        ApplicationStatus::InProgress => Ok(()),
        ApplicationStatus::NotSelected => Err(Refusal::Conflict("the application is Not Selected and has ended")),
        ApplicationStatus::Hired => {
            Err(Refusal::Conflict("the application is Hired; reject the candidate at a step to reverse the hire"))
        }
        ApplicationStatus::Withdrawn => Err(Refusal::Conflict("the application is already Withdrawn")),
    }
}

/// `POST …/candidate-roles/{id}/transfer`: checks that the application can be transferred to another role.
/// [`require_addable`] checks the other role.
///
/// # Errors
/// `conflict` if the candidate was erased or is under a legal hold, the application has ended, or the other role is the
/// role of the application.
pub fn require_transferable(
    status: ApplicationStatus,
    is_erased: bool,
    is_held: bool,
    is_same_role: bool,
) -> Result<(), Refusal> {
    if is_erased {
        return Err(Refusal::Conflict("the candidate was erased; there is nothing left to transfer"));
    }
    if is_held {
        return Err(Refusal::Conflict("the candidate is under a legal hold, so the application stays where it is"));
    }
    require_withdrawable(status)?;
    if is_same_role {
        return Err(Refusal::Conflict("the application is already for this role"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    #[test]
    fn a_candidate_can_be_added_only_once_and_only_to_an_open_role_with_steps() {
        for (role, steps, is_erased, has_applied, words) in [
            (RoleStatus::Open, 1, false, false, None),
            (RoleStatus::Open, 1, false, true, Some("already applied")),
            (RoleStatus::Open, 0, false, false, Some("no steps")),
            (RoleStatus::Open, 1, true, true, Some("was erased")),
            (RoleStatus::Draft, 1, false, false, Some("a draft")),
            (RoleStatus::Filled, 1, false, false, Some("filled")),
            (RoleStatus::Closed, 1, false, true, Some("closed")),
        ] {
            let found = require_addable(role, steps, is_erased, has_applied).err().map(|refusal| refusal.sentence());
            assert_eq!(found.is_some(), words.is_some(), "{role:?}");
            assert!(found.unwrap_or_default().contains(words.unwrap_or_default()), "{role:?}");
        }
    }

    #[test]
    fn only_applications_in_progress_are_transferred_and_only_to_another_role() {
        use ApplicationStatus::{Hired, InProgress, NotSelected, Withdrawn};
        for (status, is_erased, is_held, is_same_role, words) in [
            (InProgress, false, false, false, None),
            (InProgress, false, false, true, Some("already for this role")),
            (InProgress, false, true, true, Some("legal hold")),
            (Withdrawn, true, true, true, Some("erased")),
            (Withdrawn, false, false, false, Some("Withdrawn")),
            (Hired, false, false, false, Some("Hired")),
            (NotSelected, false, false, true, Some("Not Selected")),
        ] {
            let refused = require_transferable(status, is_erased, is_held, is_same_role).err();
            let found = refused.map(|refusal| refusal.sentence());
            assert_eq!(found.is_some(), words.is_some(), "{status:?}: {found:?}");
            assert!(found.unwrap_or_default().contains(words.unwrap_or_default()), "{status:?}");
        }
    }

    #[test]
    fn a_new_application_is_at_its_first_step() {
        let template = |name: &str| StepTemplate {
            id: RoleStepId::parse(name).unwrap(),
            name: name.to_owned(),
            step_type: StepType::Other,
        };
        let mut created = 0;
        let steps = first_steps(vec![template("a"), template("b"), template("c")], || {
            created += 1;
            CandidateStepId::parse(&format!("cstep_{created}")).unwrap()
        });
        let summary: Vec<_> = steps.iter().map(|step| (step.name.as_str(), step.order, step.status)).collect();
        let pending = StepStatus::Pending;
        assert_eq!(summary, [("a", 1, StepStatus::InProgress), ("b", 2, pending), ("c", 3, pending)]);
        assert_eq!(steps[2].id.as_str(), "cstep_3");
    }

    #[test]
    fn erased_candidates_cannot_be_changed_and_taken_addresses_cannot_be_used() {
        assert!(require_changeable(false, false).is_ok());
        assert!(require_changeable(true, true).is_err_and(|refusal| refusal.sentence().contains("erased")));
        assert!(require_changeable(false, true).is_err_and(|refusal| refusal.sentence().contains("has this email")));
    }

    #[test]
    fn only_applications_in_progress_can_be_withdrawn() {
        assert!(require_withdrawable(ApplicationStatus::InProgress).is_ok());
        for status in [ApplicationStatus::NotSelected, ApplicationStatus::Hired, ApplicationStatus::Withdrawn] {
            assert!(
                require_withdrawable(status).is_err_and(|refusal| refusal.sentence().contains(status.as_str())),
                "{status:?}"
            );
        }
    }
}
