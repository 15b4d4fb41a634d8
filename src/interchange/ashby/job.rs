//! Jobs and interview stages (`job.list` and `interviewStage.list`).

use serde_json::Value;

use crate::domain::candidate_step::{OUTCOME_CHARACTERS_MAX, StepType};
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::interchange::ats::Export;
use crate::interchange::ats::item::{Item, TEXT_CHARACTERS_MAX};
use crate::interchange::ats::model::{Job, JobStatus, Opening, Stage, StageMeaning, StageOwner};

pub(super) fn job(export: &mut Export, item: &mut Item) {
    export.jobs.extend(read_job(item));
}

fn read_job(item: &mut Item) -> Option<Job> {
    let name = item.name("title", NAME_CHARACTERS_MAX);
    let must_be = "one of Draft, Open, Closed, Archived";
    let status = item.required("status", must_be, "is missing", |status| match status.as_str()? {
        "Draft" => Some(JobStatus::Draft),
        "Open" => Some(JobStatus::Open),
        "Closed" | "Archived" => Some(JobStatus::Closed),
        _ => None,
    });
    let location = item.text("location.name", TEXT_CHARACTERS_MAX).unwrap_or_default();
    let mut plans: Vec<String> = item.optional_id("defaultInterviewPlanId").into_iter().collect();
    for plan in item.ids("interviewPlanIds") {
        if !plans.contains(&plan) {
            plans.push(plan);
        }
    }
    let created_at = item.time("createdAt");
    // The response has the openings only if the request expanded them.
    let has_openings = item.get("openings").is_some();
    let openings = item.array_of("openings", |inner| Some((is_open(inner), opening(inner))));
    let open = openings.iter().filter(|(is_open, _)| *is_open).count();
    item.is_valid().then_some(())?;
    Some(Job {
        id: item.own_id()?,
        item_location: item.location().to_owned(),
        name: name?,
        status: status?,
        location,
        created_at,
        open_positions: has_openings.then(|| i64::try_from(open).unwrap_or(i64::MAX)),
        openings: openings.into_iter().map(|(_, opening)| opening).collect(),
        plans,
        ..Job::default()
    })
}

fn is_open(item: &Item) -> bool {
    item.get("openingState").and_then(Value::as_str) == Some("Open")
}

fn opening(item: &mut Item) -> Opening {
    let code = item.text("latestVersion.identifier", OUTCOME_CHARACTERS_MAX);
    Opening { id: item.optional_id("id"), code, ..Opening::default() }
}

/// Reads an interview stage of an interview plan.
pub(super) fn interview_stage(export: &mut Export, item: &mut Item) {
    let name = item.name("title", NAME_CHARACTERS_MAX);
    let plan = item.id("interviewPlanId", "is missing; every stage belongs to an interview plan");
    let priority = item.optional("orderInInterviewPlan", "a whole number", Value::as_i64);
    let kind = item.text("type", NAME_CHARACTERS_MAX);
    let (step_type, meaning) = kind.as_deref().map_or((None, StageMeaning::Step), of_type);
    if let (Some(id), Some(name), Some(plan), true) = (item.own_id(), name, plan, item.is_valid()) {
        let (owner, priority) = (StageOwner::Plan(plan), priority.unwrap_or(i64::MAX));
        // Leads have not applied, so roles do not need their stage.
        let is_active = kind.as_deref() != Some("Lead");
        export.stages.push(Stage { id, owner, name, priority, is_active, step_type, meaning });
    }
}

/// Returns the step type and the meaning of a stage with this type. Ashby's OpenAPI description does not list the
/// types. A stage of an unknown type is a step, and the type of the step is derived from the name of the stage.
pub(super) fn of_type(kind: &str) -> (Option<StepType>, StageMeaning) {
    match kind {
        "PreInterviewScreen" => (Some(StepType::Screening), StageMeaning::Step),
        "Offer" => (Some(StepType::Offer), StageMeaning::Step),
        "Hired" => (None, StageMeaning::Hired),
        "Archived" => (None, StageMeaning::Rejected),
        _ => (None, StageMeaning::Step),
    }
}
