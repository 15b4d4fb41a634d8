//! Applications, rejection reasons and offers ("The application object", "The rejection reason object" and "The offer
//! object" of the Harvest API's documentation).

use serde_json::Value;

use crate::domain::candidate_step::OUTCOME_CHARACTERS_MAX;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::interchange::ats::Export;
use crate::interchange::ats::item::Item;
use crate::interchange::ats::model::{Application, CurrentStage, Offer, Reason, Status};

/// Greenhouse's status of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HarvestStatus {
    Active,
    Rejected,
    Hired,
    /// A prospect who has since applied. The export also contains that application.
    Converted,
}

pub(super) fn application(export: &mut Export, item: &mut Item) {
    export.applications.extend(read_application(item));
}

fn read_application(item: &mut Item) -> Option<Application> {
    let prospect = item.optional("prospect", "true or false", Value::as_bool);
    let must_be = "one of active, rejected, hired, converted";
    let status = item.required("status", must_be, &format!("is missing; it must be {must_be}"), |value| {
        match value.as_str()? {
            "active" => Some(HarvestStatus::Active),
            "rejected" => Some(HarvestStatus::Rejected),
            "hired" => Some(HarvestStatus::Hired),
            "converted" => Some(HarvestStatus::Converted),
            _ => None,
        }
    });
    let is_prospect = prospect == Some(true) || status == Some(HarvestStatus::Converted);
    let person = item.id("candidate_id", "is missing; every application belongs to a candidate");
    let mut entries = 0;
    let jobs = item.array_of("jobs", |inner| {
        entries += 1;
        inner.id("id", "is missing")
    });
    if !is_prospect && entries != 1 {
        item.fault(format!("jobs has {entries} entries; an application needs exactly one job"));
    }
    let [applied_at, rejected_at, last_activity_at] =
        ["applied_at", "rejected_at", "last_activity_at"].map(|path| item.time(path));
    let stage = if item.get("current_stage").is_some() { at_stage(item) } else { None };
    let reason = named_reason(item, "rejection_reason.name", "rejection_reason.type.name");
    let reason_id = item.optional_id("rejection_reason.id");
    item.is_valid().then_some(())?;
    let status = match status? {
        HarvestStatus::Active | HarvestStatus::Converted => Status::Active,
        HarvestStatus::Rejected => Status::Rejected,
        HarvestStatus::Hired => Status::Hired,
    };
    Some(Application {
        id: item.own_id()?,
        location: item.location().to_owned(),
        is_prospect,
        person: person?,
        job: jobs.into_iter().next(),
        status,
        applied_at,
        ended_at: rejected_at.filter(|_| status == Status::Rejected),
        last_activity_at,
        stage,
        reason_id,
        reason,
    })
}

fn at_stage(item: &mut Item) -> Option<CurrentStage> {
    let id = item.id("current_stage.id", "is missing");
    let name = item.name("current_stage.name", NAME_CHARACTERS_MAX);
    Some(CurrentStage { id: id?, name: name? })
}

fn named_reason(item: &mut Item, name: &str, type_name: &str) -> Reason {
    Reason {
        name: item.text(name, OUTCOME_CHARACTERS_MAX),
        outcome_type: item.text(type_name, OUTCOME_CHARACTERS_MAX).as_deref().map(outcome_type),
        is_hire: false,
    }
}

/// Reads a rejection reason.
pub(super) fn reason(export: &mut Export, item: &mut Item) {
    let reason = named_reason(item, "name", "type.name");
    if let (Some(id), true) = (item.own_id(), item.is_valid()) {
        export.reasons.insert(id, reason);
    }
}

/// Reads an offer, if it was accepted.
pub(super) fn offer(export: &mut Export, item: &mut Item) {
    let application = item.id("application_id", "is missing; every offer belongs to an application");
    let version = item.optional("version", "a whole number", Value::as_u64).unwrap_or(0);
    let accepted_at = item.time("resolved_at");
    let code = item.text("opening.opening_id", OUTCOME_CHARACTERS_MAX);
    let is_accepted = item.get("status").and_then(Value::as_str) == Some("accepted");
    if let (Some(application), true) = (application, is_accepted && item.is_valid()) {
        export.add_offer(application, Offer { version, accepted_at, code, opening: None });
    }
}

/// Derives the outcome type from the name of the reason's type. Greenhouse's documentation lists "We rejected them",
/// "They rejected us" and "None specified", and says that the ids of types differ between organizations.
fn outcome_type(type_name: &str) -> &'static str {
    match type_name.to_lowercase().as_str() {
        "we rejected them" => "rejected_by_organization",
        "they rejected us" => "rejected_by_candidate",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_types_are_derived_from_reason_types() {
        assert_eq!(outcome_type("We rejected them"), "rejected_by_organization");
        assert_eq!(outcome_type("They Rejected Us"), "rejected_by_candidate");
        for other in ["None specified", "None Specified", ""] {
            assert_eq!(outcome_type(other), "other", "{other:?}");
        }
    }
}
