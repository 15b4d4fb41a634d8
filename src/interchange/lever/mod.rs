//! Imports saved responses from Lever's API (v1), namely those of `GET /postings`, `GET /opportunities`,
//! `GET /opportunities/:id/applications`, `GET /stages` and `GET /archive_reasons`. An opportunity is one candidacy of
//! a contact. Unless the opportunity is a prospect, it becomes an application, and its contact becomes a candidate.
//!
//! The names and types of members come from an open-source client, which repeats those of Lever's documentation. The
//! documentation itself was not completely available. A response to a request with `expand=applications` or
//! `expand=stage` contains objects instead of ids. This module reads both.

mod opportunity;
mod posting;

use super::ats::Export;
use super::ats::export::{Resource, System};
use super::ats::file::FILES;
use super::ats::item::{IdKind, Item};
use super::ats::model::{Stage, StageMeaning, StageOwner};
use crate::domain::text::NAME_CHARACTERS_MAX;

/// Lever.
pub static LEVER: System = System {
    export_noun: "a Lever export",
    prefix: "lv",
    ids: IdKind::Text,
    jobs: "postings",
    people: "opportunities",
    stage: "stage",
    has_stages_of_jobs: false,
    are_stages_named: false,
    attachment_folders: &[FILES],
    has_column_names: false,
    resources: &[
        Resource::required("postings", posting::posting),
        Resource::required("opportunities", opportunity::opportunity),
        Resource::optional("applications", opportunity::application),
        Resource::optional("stages", stage),
        Resource::optional("archive_reasons", opportunity::archive_reason),
    ],
    envelope: Some("data"),
    paging: &["hasNext", "next"],
    is_file: System::is_json_file,
    read: Export::read_json,
    complete: Export::require_resources,
};

/// Reads a stage. Lever's stages belong to the account, and the response lists them in the order of the pipeline.
fn stage(export: &mut Export, item: &mut Item) {
    let name = item.name("text", NAME_CHARACTERS_MAX);
    let priority = i64::try_from(export.stages.len()).unwrap_or(i64::MAX);
    if let (Some(id), Some(name), true) = (item.own_id(), name, item.is_valid()) {
        let (owner, meaning) = (StageOwner::AllJobs, StageMeaning::Step);
        export.stages.push(Stage { id, owner, name, priority, is_active: true, step_type: None, meaning });
    }
}
