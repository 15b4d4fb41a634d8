//! Imports saved responses from Greenhouse's Harvest API (v1), namely those that its documentation calls "List Jobs",
//! "List Job Stages", "List Candidates", "List Applications", "List Rejection Reasons" and "List Offers". Their items
//! become roles with steps, candidates and applications in an existing organization.
//!
//! `job`, `person` and `application` read the members of each resource that the import needs, and ignore all others.

mod application;
mod job;
mod person;

use super::ats::Export;
use super::ats::export::{Resource, System};
use super::ats::file::FILES;
use super::ats::item::IdKind;

/// Greenhouse.
pub static GREENHOUSE: System = System {
    export_noun: "a Greenhouse export",
    prefix: "gh",
    ids: IdKind::Number,
    jobs: "jobs",
    people: "candidates",
    stage: "current_stage",
    has_stages_of_jobs: true,
    are_stages_named: false,
    attachment_folders: &[FILES],
    has_column_names: false,
    resources: &[
        Resource::required("jobs", job::job),
        Resource::optional("job_stages", job::stage),
        Resource::required("candidates", person::person),
        Resource::required("applications", application::application),
        Resource::optional("rejection_reasons", application::reason),
        Resource::optional("offers", application::offer),
    ],
    envelope: None,
    paging: &[],
    is_file: System::is_json_file,
    read: Export::read_json,
    complete: Export::require_resources,
};
