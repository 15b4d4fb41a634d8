//! Jobs and their stages ("The job object" and "The job stage object" of the Harvest API's documentation).

use serde_json::Value;

use super::item::Item;
use crate::domain::candidate_step::OUTCOME_CHARACTERS_MAX;
use crate::domain::role::RoleStatus;
use crate::domain::text::{self, NAME_CHARACTERS_MAX};
use crate::domain::timestamp::Timestamp;
use crate::interchange::ats::html;
use crate::store::description::Description;

/// The maximum length of a department or location, as in an interchange document. If there are several names, the limit
/// applies to all of them together.
const TEXT_CHARACTERS_MAX: usize = 255;

/// A job, which becomes a role.
#[derive(Debug)]
pub(super) struct HarvestJob {
    pub(super) id: u64,
    pub(super) item_location: String,
    pub(super) name: String,
    /// Open, closed or draft. Greenhouse has no status `filled`.
    pub(super) status: RoleStatus,
    pub(super) description: Description,
    pub(super) department: String,
    pub(super) location: String,
    pub(super) created_at: Option<Timestamp>,
    pub(super) openings: Vec<HarvestOpening>,
}

/// An opening of a job, which becomes a position.
#[derive(Debug)]
pub(super) struct HarvestOpening {
    pub(super) is_open: bool,
    /// The application that filled the opening.
    pub(super) application: Option<u64>,
    /// The id that the organization gave the opening.
    pub(super) opening_id: Option<String>,
    pub(super) closed_at: Option<Timestamp>,
}

/// A stage of a job, which becomes a step.
#[derive(Debug)]
pub(super) struct HarvestStage {
    pub(super) id: u64,
    pub(super) job: u64,
    pub(super) name: String,
    /// Stages with lower numbers come first.
    pub(super) priority: i64,
    /// Whether the stage is in use. False for a deleted stage.
    pub(super) is_active: bool,
}

pub(super) fn job(item: &mut Item) -> Option<HarvestJob> {
    let name = item.name("name", NAME_CHARACTERS_MAX);
    let status = item.required("status", "one of open, closed, draft", "is missing", |value| match value.as_str()? {
        "open" => Some(RoleStatus::Open),
        "closed" => Some(RoleStatus::Closed),
        "draft" => Some(RoleStatus::Draft),
        _ => None,
    });
    let notes = item.optional("notes", "a string", |value| value.as_str().map(html::to_markdown));
    let notes = notes.filter(|notes| !notes.is_empty());
    let description = notes.map(Description::of_markdown).unwrap_or_default();
    let department = joined_names(item, "departments", &["name"]);
    let location = joined_names(item, "offices", &["location.name", "name"]);
    let created_at = item.time("created_at");
    let openings = item.array_of("openings", opening);
    item.is_valid().then_some(())?;
    Some(HarvestJob {
        id: item.own_id()?,
        item_location: item.location().to_owned(),
        name: name?,
        status: status?,
        description,
        department,
        location,
        created_at,
        openings,
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

fn opening(item: &mut Item) -> Option<HarvestOpening> {
    let is_open = item.optional("status", "open or closed", |value| match value.as_str()? {
        "open" => Some(true),
        "closed" => Some(false),
        _ => None,
    });
    Some(HarvestOpening {
        is_open: is_open.unwrap_or(false),
        application: item.optional_id("application_id"),
        opening_id: item.text("opening_id", OUTCOME_CHARACTERS_MAX),
        closed_at: item.time("closed_at"),
    })
}

pub(super) fn stage(item: &mut Item) -> Option<HarvestStage> {
    let job = item.id("job_id", "is missing; every stage belongs to a job");
    let name = item.name("name", NAME_CHARACTERS_MAX);
    let priority = item.optional("priority", "a whole number", Value::as_i64);
    let is_active = item.optional("active", "true or false", Value::as_bool);
    item.is_valid().then_some(())?;
    let (priority, is_active) = (priority.unwrap_or(i64::MAX), is_active.unwrap_or(true));
    Some(HarvestStage { id: item.own_id()?, job: job?, name: name?, priority, is_active })
}
