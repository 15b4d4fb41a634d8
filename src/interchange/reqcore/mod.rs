//! Imports jobs, candidates, applications, stages and documents from Reqcore. Reqcore was an open-source system until
//! August 2026; its source code, not a documented export, is the reference for the names of the members.
//!
//! Two sources have the same members: the responses of `GET /api/jobs`, `/api/candidates`, `/api/applications`,
//! `/api/jobs/:id/stages` and `/api/documents`; and the rows of the tables `job`, `candidate`, `application`,
//! `pipeline_stage` and `document` of Reqcore's PostgreSQL database, as JSON with names in snake case. In Reqcore's
//! first versions, an application has one of six fixed statuses; in later versions, it refers to a stage of its job.

use serde_json::Value;

use super::ats::Export;
use super::ats::export::{Resource, System};
use super::ats::file::FILES;
use super::ats::html;
use super::ats::item::{IdKind, Item, TEXT_CHARACTERS_MAX};
use super::ats::model::{
    Application, CurrentStage, FileOwner, Job, JobStatus, NamedFile, Person, Reason, Stage, StageMeaning, StageOwner,
    Status,
};
use crate::domain::candidate_step::StepType;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::store::description::Description;

/// Reqcore.
pub static REQCORE: System = System {
    export_noun: "a Reqcore export",
    prefix: "rq",
    ids: IdKind::Text,
    jobs: "jobs",
    people: "candidates",
    stage: "stage",
    has_stages_of_jobs: false,
    are_stages_named: false,
    attachment_folders: &[FILES],
    has_column_names: true,
    resources: &[
        Resource::required("jobs", job),
        Resource::required("candidates", candidate),
        Resource::required("applications", application),
        Resource::optional("stages", stage),
        Resource::optional("documents", document),
    ],
    envelope: Some("data"),
    paging: &["total", "page", "limit", "statusCounts"],
    is_file: System::is_json_file,
    read: Export::read_json,
    complete: add_fixed_stages,
};

/// The stages of Reqcore's first versions, in order. The names are those that Reqcore's later migration gave them.
const FIXED_STAGES: [(&str, &str, Option<StepType>, StageMeaning); 6] = [
    ("new", "New", Some(StepType::Application), StageMeaning::Step),
    ("screening", "Screening", Some(StepType::Screening), StageMeaning::Step),
    ("interview", "Interview", Some(StepType::Interview), StageMeaning::Step),
    ("offer", "Offer", Some(StepType::Offer), StageMeaning::Step),
    ("hired", "Hired", None, StageMeaning::Hired),
    ("rejected", "Rejected", None, StageMeaning::Rejected),
];

/// Adds the fixed stages to an export without stages of its own.
fn add_fixed_stages(export: &mut Export) -> Result<(), String> {
    export.require_resources()?;
    if !export.stages.is_empty() {
        return Ok(());
    }
    let stage =
        |(priority, (id, name, step_type, meaning)): (i64, (&str, &str, Option<StepType>, StageMeaning))| Stage {
            id: id.to_owned(),
            owner: StageOwner::AllJobs,
            name: name.to_owned(),
            priority,
            is_active: true,
            step_type,
            meaning,
        };
    export.stages.extend((0..).zip(FIXED_STAGES).map(stage));
    Ok(())
}

fn job(export: &mut Export, item: &mut Item) {
    export.jobs.extend(read_job(item));
}

fn read_job(item: &mut Item) -> Option<Job> {
    let name = item.name("title", NAME_CHARACTERS_MAX);
    let must_be = "one of draft, open, closed, archived";
    let status = item.required("status", must_be, "is missing", |status| match status.as_str()? {
        "draft" => Some(JobStatus::Draft),
        "open" => Some(JobStatus::Open),
        "closed" | "archived" => Some(JobStatus::Closed),
        _ => None,
    });
    let body = item.free_text("description").map(|text| html::to_markdown(&text)).filter(|text| !text.is_empty());
    let location = item.text("location", TEXT_CHARACTERS_MAX).unwrap_or_default();
    let created_at = item.time_in_utc("createdAt");
    item.is_valid().then_some(())?;
    Some(Job {
        id: item.own_id()?,
        item_location: item.location().to_owned(),
        name: name?,
        status: status?,
        description: body.map(Description::of_markdown).unwrap_or_default(),
        location,
        created_at,
        ..Job::default()
    })
}

fn stage(export: &mut Export, item: &mut Item) {
    let job = item.id("jobId", "is missing; every stage belongs to a job");
    let name = item.name("name", NAME_CHARACTERS_MAX);
    let priority = item.optional("displayOrder", "a whole number", Value::as_i64).unwrap_or(i64::MAX);
    let must_be = "one of applied, in_progress, hired, rejected";
    let meaning = item.required("category", must_be, "is missing", |category| match category.as_str()? {
        "applied" => Some((Some(StepType::Application), StageMeaning::Step)),
        "in_progress" => Some((None, StageMeaning::Step)),
        "hired" => Some((None, StageMeaning::Hired)),
        "rejected" => Some((None, StageMeaning::Rejected)),
        _ => None,
    });
    let (Some(id), Some(job), Some(name), Some(meaning), true) = (item.own_id(), job, name, meaning, item.is_valid())
    else {
        return;
    };
    let (step_type, meaning) = meaning;
    export.stages.push(Stage { id, owner: StageOwner::Job(job), name, priority, is_active: true, step_type, meaning });
}

fn candidate(export: &mut Export, item: &mut Item) {
    let name = match item.text("displayName", NAME_CHARACTERS_MAX) {
        Some(name) => Some(name),
        None => item.joined_name(&["firstName", "lastName"], NAME_CHARACTERS_MAX),
    };
    let email = item.email(&["email"]);
    if let (Some(id), Some(name), true) = (item.own_id(), name, item.is_valid()) {
        export.people.push(Person { id, location: item.location().to_owned(), name, email });
    }
}

fn application(export: &mut Export, item: &mut Item) {
    export.applications.extend(read_application(item));
}

fn read_application(item: &mut Item) -> Option<Application> {
    let person = item.id("candidateId", "is missing; every application belongs to a candidate");
    let job = item.id("jobId", "is missing; every application belongs to a job");
    let id_of_stage = match item.get("statusId") {
        Some(_) => item.optional_id("statusId"),
        None => item.id("status", "is missing; an application has a status or a statusId"),
    };
    let [created_at, updated_at] = ["createdAt", "updatedAt"].map(|path| item.time_in_utc(path));
    item.is_valid().then_some(())?;
    Some(Application {
        id: item.own_id()?,
        location: item.location().to_owned(),
        is_prospect: false,
        person: person?,
        job,
        // The stage shows whether the application has ended.
        status: Status::Active,
        applied_at: created_at,
        ended_at: None,
        last_activity_at: updated_at,
        stage: id_of_stage.map(|id| CurrentStage { name: id.clone(), id }),
        reason_id: None,
        reason: Reason::default(),
    })
}

fn document(export: &mut Export, item: &mut Item) {
    let person = item.id("candidateId", "is missing; every document belongs to a candidate");
    let path = item.free_text("storageKey");
    let name = item.free_text("originalFilename").unwrap_or_default();
    if let (Some(id), Some(person), true) = (item.own_id(), person, item.is_valid()) {
        let paths = path.into_iter().collect();
        export.named_files.push(NamedFile { owner: FileOwner::Person(person), id, name, paths });
    }
}
