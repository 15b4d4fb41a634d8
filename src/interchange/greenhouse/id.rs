//! Ids that are derived from Greenhouse's numeric ids, so that an item gets the same id in every import.

use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, RoleId, RoleStepId};

pub(super) fn role_id(job: u64) -> RoleId {
    derived(&format!("gh_job_{job}"))
}

pub(super) fn step_id(stage: u64) -> RoleStepId {
    derived(&format!("gh_stage_{stage}"))
}

/// Returns the id of the only step of a role whose job has no stages.
pub(super) fn only_step_id(job: u64) -> RoleStepId {
    derived(&format!("gh_job_{job}_application"))
}

pub(super) fn candidate_id(person: u64) -> CandidateId {
    derived(&format!("gh_candidate_{person}"))
}

pub(super) fn application_id(application: u64) -> ApplicationId {
    derived(&format!("gh_application_{application}"))
}

/// Returns the id of an application's candidate step with this order.
pub(super) fn step_of_application(application: u64, order: i64) -> CandidateStepId {
    derived(&format!("gh_application_{application}_{order}"))
}

fn derived<I: Id>(text: &str) -> I {
    I::parse(text).expect("letters, digits and underscores are allowed, and two numbers are short enough")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_give_valid_ids() {
        assert_eq!(role_id(123).as_str(), "gh_job_123");
        assert_eq!(step_of_application(u64::MAX, i64::MAX).as_str().len(), 55);
        assert!(only_step_id(u64::MAX).as_str().ends_with("_application"));
    }
}
