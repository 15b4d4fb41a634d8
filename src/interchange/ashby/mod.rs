//! Imports saved responses from Ashby's API, namely those of `job.list`, `candidate.list`, `application.list`,
//! `interviewStage.list`, `archiveReason.list` and `offer.list`. The members follow Ashby's OpenAPI description
//! (version 1.0.0).
//!
//! `interviewStage.list` returns the stages of one interview plan. Save the response for each plan as a separate page.

mod application;
mod job;

use super::ats::Export;
use super::ats::export::{Resource, System};
use super::ats::file::FILES;
use super::ats::item::{IdKind, Item};
use super::ats::model::{FileOwner, NamedFile, Person};
use crate::domain::text::NAME_CHARACTERS_MAX;

/// Ashby.
pub static ASHBY: System = System {
    export_noun: "an Ashby export",
    prefix: "ab",
    ids: IdKind::Text,
    jobs: "jobs",
    people: "candidates",
    stage: "currentInterviewStage",
    has_stages_of_jobs: false,
    are_stages_named: false,
    attachment_folders: &[FILES],
    has_column_names: false,
    resources: &[
        Resource::required("jobs", job::job),
        Resource::required("candidates", candidate),
        Resource::required("applications", application::application),
        Resource::optional("interview_stages", job::interview_stage),
        Resource::optional("archive_reasons", application::archive_reason),
        Resource::optional("offers", application::offer),
    ],
    envelope: Some("results"),
    paging: &["success", "moreDataAvailable", "nextCursor", "syncToken"],
    is_file: System::is_json_file,
    read: Export::read_json,
    complete: Export::require_resources,
};

fn candidate(export: &mut Export, item: &mut Item) {
    let name = item.name("name", NAME_CHARACTERS_MAX);
    let email = item.email(&["primaryEmailAddress", "emailAddresses"]);
    let id = item.own_id();
    let resume = item.get("resumeFileHandle").is_some().then(|| file(item, "resumeFileHandle."));
    let others = item.array_of("fileHandles", |handle| file(handle, ""));
    let (Some(id), Some(name), true) = (id, name, item.is_valid()) else { return };
    // The résumé may also be among the other files.
    let mut files: Vec<(String, String)> = resume.flatten().into_iter().chain(others).collect();
    files.sort();
    files.dedup_by(|a, b| a.0 == b.0);
    let named = |(file, name)| NamedFile { owner: FileOwner::Person(id.clone()), id: file, name, paths: Vec::new() };
    export.named_files.extend(files.into_iter().map(named));
    export.people.push(Person { location: item.location().to_owned(), id, name, email });
}

/// Reads the id and the name of a file.
fn file(item: &mut Item, prefix: &str) -> Option<(String, String)> {
    let id = item.optional_id(&format!("{prefix}id"))?;
    Some((id, item.free_text(&format!("{prefix}name")).unwrap_or_default()))
}
