//! Imports saved responses from Workable's API (v3), namely those of `GET /jobs`, `GET /candidates` and `GET /stages`.
//! A candidate in Workable belongs to at most one job. A candidate with a job becomes a candidate with one application.
//! The import skips candidates without a job. The response for a single candidate or job has more members than an item
//! of these lists. The arrays in the files may also contain such responses.
//!
//! The members follow Workable's API reference.

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
use crate::domain::candidate_step::{OUTCOME_CHARACTERS_MAX, StepType};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::store::description::Description;

/// Workable.
pub static WORKABLE: System = System {
    export_noun: "a Workable export",
    prefix: "wk",
    ids: IdKind::Text,
    jobs: "jobs",
    people: "candidates",
    stage: "stage",
    has_stages_of_jobs: false,
    // According to Workable's reference, a candidate has the slug of a stage. The examples there show a stage's name.
    are_stages_named: true,
    attachment_folders: &[FILES],
    has_column_names: false,
    resources: &[
        // Candidates refer to a job by its shortcode.
        Resource::required("jobs", job).with_key("shortcode"),
        Resource::required("candidates", candidate),
        Resource::optional("stages", stage).with_key("slug"),
    ],
    envelope: None,
    paging: &["paging"],
    is_file: System::is_json_file,
    read: Export::read_json,
    complete: Export::require_resources,
};

fn job(export: &mut Export, item: &mut Item) {
    export.jobs.extend(read_job(item));
}

fn read_job(item: &mut Item) -> Option<Job> {
    let name = item.name("title", NAME_CHARACTERS_MAX);
    let must_be = "one of draft, published, closed, archived";
    let status = item.required("state", must_be, "is missing", |state| match state.as_str()? {
        "draft" => Some(JobStatus::Draft),
        // In Workable, a closed job is internal or confidential, but has not ended.
        "published" | "closed" => Some(JobStatus::Open),
        "archived" => Some(JobStatus::Closed),
        _ => None,
    });
    let department = item.text("department", TEXT_CHARACTERS_MAX).unwrap_or_default();
    let location = item.text("location.location_str", TEXT_CHARACTERS_MAX).or_else(|| address(item));
    let text = ["full_description", "description"].map(|path| item.free_text(path)).into_iter().flatten().next();
    let body = text.map(|text| html::to_markdown(&text)).filter(|text| !text.is_empty());
    let created_at = item.time("created_at");
    item.is_valid().then_some(())?;
    Some(Job {
        id: item.own_id()?,
        item_location: item.location().to_owned(),
        name: name?,
        status: status?,
        description: body.map(Description::of_markdown).unwrap_or_default(),
        department,
        location: location.unwrap_or_default(),
        created_at,
        ..Job::default()
    })
}

/// Joins the city, region and country of a job.
fn address(item: &mut Item) -> Option<String> {
    let parts = ["location.city", "location.region", "location.country"];
    let parts: Vec<String> = parts.iter().filter_map(|path| item.text(path, TEXT_CHARACTERS_MAX / 4)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn stage(export: &mut Export, item: &mut Item) {
    let name = item.name("name", NAME_CHARACTERS_MAX);
    let priority = item.optional("position", "a whole number", Value::as_i64);
    let kind = item.text("kind", NAME_CHARACTERS_MAX);
    let step_type = match kind.as_deref() {
        Some("applied") => Some(StepType::Application),
        Some("phone-screen") => Some(StepType::Screening),
        Some("assessment") => Some(StepType::Assessment),
        Some("interview") => Some(StepType::Interview),
        Some("offer") => Some(StepType::Offer),
        _ => None,
    };
    let meaning = if kind.as_deref() == Some("hired") { StageMeaning::Hired } else { StageMeaning::Step };
    if let (Some(id), Some(name), true) = (item.own_id(), name, item.is_valid()) {
        // A role needs the stage of sourced candidates only if one of its candidates is at this stage.
        let is_active = kind.as_deref() != Some("sourced");
        let priority = priority.unwrap_or(i64::MAX);
        export.stages.push(Stage { id, owner: StageOwner::AllJobs, name, priority, is_active, step_type, meaning });
    }
}

fn candidate(export: &mut Export, item: &mut Item) {
    let name = match item.get("name") {
        Some(_) => item.name("name", NAME_CHARACTERS_MAX),
        None => item.joined_name(&["firstname", "lastname"], NAME_CHARACTERS_MAX),
    };
    let email = item.email(&["email"]);
    let has_resume = item.get("resume_url").is_some();
    let application = application(item);
    let (Some(application), Some(name), true) = (application, name, item.is_valid()) else { return };
    let id = application.person.clone();
    if has_resume {
        let owner = FileOwner::Application(id.clone());
        export.named_files.push(NamedFile { owner, id: "resume".to_owned(), name: String::new(), paths: Vec::new() });
    }
    export.people.push(Person { id, location: application.location.clone(), name, email });
    export.applications.push(application);
}

fn application(item: &mut Item) -> Option<Application> {
    let flags = ["disqualified", "withdrew"].map(|path| item.optional(path, "true or false", Value::as_bool));
    let [is_disqualified, has_withdrawn] = flags.map(|flag| flag == Some(true));
    let is_hired = item.get("stage_kind").and_then(Value::as_str) == Some("hired") || item.get("hired_at").is_some();
    // A candidate in the talent pool has no job.
    let job = item.optional_id("job.shortcode");
    let stage = item.optional_id("stage").map(|id| CurrentStage { name: id.clone(), id });
    let [created_at, updated_at] = ["created_at", "updated_at"].map(|path| item.time(path));
    let [disqualified_at, hired_at] = ["disqualified_at", "hired_at"].map(|path| item.time(path));
    let status = match (is_disqualified, has_withdrawn) {
        (_, true) => Status::Withdrawn,
        (true, false) => Status::Rejected,
        (false, false) if is_hired => Status::Hired,
        (false, false) => Status::Active,
    };
    let reason = Reason { name: item.text("disqualification_reason", OUTCOME_CHARACTERS_MAX), ..Reason::default() };
    let id = item.own_id()?;
    Some(Application {
        location: item.location().to_owned(),
        is_prospect: job.is_none(),
        person: id.clone(),
        id,
        job,
        status,
        applied_at: created_at,
        ended_at: if status == Status::Rejected { disqualified_at } else { hired_at },
        last_activity_at: updated_at,
        stage,
        reason_id: None,
        reason,
    })
}
