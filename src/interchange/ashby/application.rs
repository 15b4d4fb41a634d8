//! Applications, archive reasons and offers (`application.list`, `archiveReason.list` and `offer.list`).

use serde_json::Value;

use super::job::of_type;
use crate::domain::candidate_step::OUTCOME_CHARACTERS_MAX;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::interchange::ats::Export;
use crate::interchange::ats::item::Item;
use crate::interchange::ats::model::{Application, CurrentStage, Offer, Reason, StageMeaning, Status};

pub(super) fn application(export: &mut Export, item: &mut Item) {
    export.applications.extend(read_application(item));
}

fn read_application(item: &mut Item) -> Option<Application> {
    let must_be = "one of Active, Hired, Archived, Lead";
    let status = item.required("status", must_be, &format!("is missing; it must be {must_be}"), |value| {
        // A lead has not applied. Its status is `None`.
        match value.as_str()? {
            "Active" => Some(Some(Status::Active)),
            "Hired" => Some(Some(Status::Hired)),
            "Archived" => Some(Some(Status::Rejected)),
            "Lead" => Some(None),
            _ => None,
        }
    });
    let person = item.id("candidate.id", "is missing; every application belongs to a candidate");
    let is_lead = status == Some(None);
    let job = if is_lead {
        item.optional_id("job.id")
    } else {
        item.id("job.id", "is missing; every application belongs to a job")
    };
    let [applied_at, archived_at, updated_at] = ["createdAt", "archivedAt", "updatedAt"].map(|path| item.time(path));
    let stage = last_step(item);
    let reason_id = item.optional_id("archiveReason.id");
    let reason = reason_of(item, "archiveReason.text", "archiveReason.reasonType");
    item.is_valid().then_some(())?;
    let status = status?.unwrap_or(Status::Active);
    Some(Application {
        id: item.own_id()?,
        location: item.location().to_owned(),
        is_prospect: is_lead,
        person: person?,
        job,
        status,
        applied_at,
        ended_at: archived_at.filter(|_| status == Status::Rejected),
        last_activity_at: updated_at,
        stage,
        reason_id,
        reason,
    })
}

/// Reads the stage that an application is at, or the stage at which the application ended. An archived or hired
/// application is at a stage of the type `Archived` or `Hired`, which is not a step. Only the application's history,
/// which `application.info` returns, shows the step.
fn last_step(item: &mut Item) -> Option<CurrentStage> {
    item.get("currentInterviewStage")?;
    let id = item.id("currentInterviewStage.id", "is missing");
    let name = item.name("currentInterviewStage.title", NAME_CHARACTERS_MAX);
    let kind = item.text("currentInterviewStage.type", NAME_CHARACTERS_MAX);
    let current = CurrentStage { id: id?, name: name? };
    if kind.as_deref().is_none_or(|kind| of_type(kind).1 == StageMeaning::Step) {
        return Some(current);
    }
    let mut history = item.array_of("applicationHistory", |inner| {
        let number = inner.optional("stageNumber", "a whole number", Value::as_i64)?;
        let name = inner.name("title", NAME_CHARACTERS_MAX);
        Some((number, CurrentStage { id: inner.optional_id("stageId")?, name: name? }))
    });
    history.sort_by_key(|(number, _)| *number);
    history.into_iter().map(|(_, stage)| stage).rfind(|stage| stage.id != current.id)
}

fn reason_of(item: &mut Item, name: &str, kind: &str) -> Reason {
    let outcome_type = item.get(kind).and_then(Value::as_str).map(|kind| match kind {
        "RejectedByOrg" => "rejected_by_organization",
        "RejectedByCandidate" => "rejected_by_candidate",
        _ => "other",
    });
    Reason { name: item.text(name, OUTCOME_CHARACTERS_MAX), outcome_type, is_hire: false }
}

/// Reads an archive reason.
pub(super) fn archive_reason(export: &mut Export, item: &mut Item) {
    let reason = reason_of(item, "text", "reasonType");
    if let (Some(id), true) = (item.own_id(), item.is_valid()) {
        export.reasons.insert(id, reason);
    }
}

/// Reads an offer, if it was accepted.
pub(super) fn offer(export: &mut Export, item: &mut Item) {
    let application = item.id("applicationId", "is missing; every offer belongs to an application");
    let accepted_at = item.time("decidedAt");
    let opening = item.optional_id("latestVersion.openingId");
    let is_accepted = item.get("acceptanceStatus").and_then(Value::as_str) == Some("Accepted");
    if let (Some(application), true) = (application, is_accepted && item.is_valid()) {
        // Of several accepted offers, the one that was accepted last counts.
        let version = accepted_at.and_then(|at| u64::try_from(at.micros()).ok()).unwrap_or(0);
        export.add_offer(application, Offer { version, accepted_at, code: None, opening });
    }
}
