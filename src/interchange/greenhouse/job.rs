//! Jobs and their stages ("The job object" and "The job stage object" of the Harvest API's documentation).

use serde_json::Value;

use crate::domain::candidate_step::OUTCOME_CHARACTERS_MAX;
use crate::domain::text::{self, NAME_CHARACTERS_MAX};
use crate::interchange::ats::Export;
use crate::interchange::ats::html;
use crate::interchange::ats::item::{Item, TEXT_CHARACTERS_MAX};
use crate::interchange::ats::model::{Job, JobStatus, Opening, Stage, StageMeaning, StageOwner};
use crate::store::description::Description;

pub(super) fn job(export: &mut Export, item: &mut Item) {
    export.jobs.extend(read_job(item));
}

fn read_job(item: &mut Item) -> Option<Job> {
    let name = item.name("name", NAME_CHARACTERS_MAX);
    let status = item.required("status", "one of open, closed, draft", "is missing", |value| match value.as_str()? {
        "open" => Some(JobStatus::Open),
        "closed" => Some(JobStatus::Closed),
        "draft" => Some(JobStatus::Draft),
        _ => None,
    });
    let notes = item.optional("notes", "a string", |value| value.as_str().map(html::to_markdown));
    let notes = notes.filter(|notes| !notes.is_empty());
    let description = notes.map(Description::of_markdown).unwrap_or_default();
    let department = joined_names(item, "departments", &["name"]);
    let location = joined_names(item, "offices", &["location.name", "name"]);
    let created_at = item.time("created_at");
    let openings = item.array_of("openings", opening);
    let open = openings.iter().filter(|(is_open, _)| *is_open).count();
    item.is_valid().then_some(())?;
    Some(Job {
        id: item.own_id()?,
        item_location: item.location().to_owned(),
        name: name?,
        status: status?,
        description,
        department,
        location,
        created_at,
        open_positions: Some(i64::try_from(open).unwrap_or(i64::MAX)),
        openings: openings.into_iter().map(|(_, opening)| opening).collect(),
        plans: Vec::new(),
    })
}

/// Joins the names of the objects in an array. The name of an object is the first of the given members that it has.
fn joined_names(item: &mut Item, path: &str, names: &[&str]) -> String {
    let found = item.array_of(path, |inner| names.iter().find_map(|name| inner.text(name, TEXT_CHARACTERS_MAX)));
    let joined = found.join(", ");
    if text::characters(&joined) > TEXT_CHARACTERS_MAX {
        item.fault(format!("the names of {path} must have at most {TEXT_CHARACTERS_MAX} characters together"));
    }
    joined
}

/// Reads an opening, and whether it is open.
fn opening(item: &mut Item) -> Option<(bool, Opening)> {
    let is_open = item.optional("status", "open or closed", |value| match value.as_str()? {
        "open" => Some(true),
        "closed" => Some(false),
        _ => None,
    });
    let opening = Opening {
        id: None,
        application: item.optional_id("application_id"),
        code: item.text("opening_id", OUTCOME_CHARACTERS_MAX),
        closed_at: item.time("closed_at"),
    };
    Some((is_open.unwrap_or(false), opening))
}

pub(super) fn stage(export: &mut Export, item: &mut Item) {
    export.stages.extend(read_stage(item));
}

fn read_stage(item: &mut Item) -> Option<Stage> {
    let job = item.id("job_id", "is missing; every stage belongs to a job");
    let name = item.name("name", NAME_CHARACTERS_MAX);
    let priority = item.optional("priority", "a whole number", Value::as_i64);
    let is_active = item.optional("active", "true or false", Value::as_bool);
    item.is_valid().then_some(())?;
    Some(Stage {
        id: item.own_id()?,
        owner: StageOwner::Job(job?),
        name: name?,
        priority: priority.unwrap_or(i64::MAX),
        is_active: is_active.unwrap_or(true),
        step_type: None,
        meaning: StageMeaning::Step,
    })
}
