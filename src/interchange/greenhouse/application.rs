//! Applications, rejection reasons and offers ("The application object", "The rejection reason object" and "The offer
//! object" of the Harvest API's documentation).

use serde_json::Value;

use super::item::Item;
use crate::domain::candidate_step::OUTCOME_CHARACTERS_MAX;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::timestamp::Timestamp;

/// An application to a job.
#[derive(Debug)]
pub(super) struct HarvestApplication {
    pub(super) id: u64,
    pub(super) location: String,
    /// Whether the person is a prospect, who has not applied and may have no job or several jobs.
    pub(super) is_prospect: bool,
    pub(super) person: u64,
    pub(super) job: Option<u64>,
    pub(super) status: HarvestStatus,
    pub(super) applied_at: Option<Timestamp>,
    pub(super) rejected_at: Option<Timestamp>,
    pub(super) last_activity_at: Option<Timestamp>,
    pub(super) stage: Option<CurrentStage>,
    /// The id of the rejection reason, and the copy of the reason inside the application.
    pub(super) reason: (Option<u64>, HarvestReason),
}

/// Greenhouse's status of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HarvestStatus {
    Active,
    Rejected,
    Hired,
    /// A prospect who has since applied. The export also contains that application.
    Converted,
}

/// The job stage that an application is at, or the job stage at which the application ended.
#[derive(Debug, Clone)]
pub(super) struct CurrentStage {
    pub(super) id: u64,
    pub(super) name: String,
}

/// A rejection reason.
#[derive(Debug, Clone, Default)]
pub(super) struct HarvestReason {
    pub(super) name: Option<String>,
    pub(super) type_name: Option<String>,
}

/// An accepted offer.
#[derive(Debug, Clone)]
pub(super) struct HarvestOffer {
    pub(super) version: u64,
    pub(super) resolved_at: Option<Timestamp>,
    pub(super) opening_id: Option<String>,
}

pub(super) fn application(item: &mut Item) -> Option<HarvestApplication> {
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
    let reason = (item.optional_id("rejection_reason.id"), reason);
    item.is_valid().then_some(())?;
    Some(HarvestApplication {
        id: item.own_id()?,
        location: item.location().to_owned(),
        is_prospect,
        person: person?,
        job: jobs.into_iter().next(),
        status: status?,
        applied_at,
        rejected_at,
        last_activity_at,
        stage,
        reason,
    })
}

fn at_stage(item: &mut Item) -> Option<CurrentStage> {
    let id = item.id("current_stage.id", "is missing");
    let name = item.name("current_stage.name", NAME_CHARACTERS_MAX);
    Some(CurrentStage { id: id?, name: name? })
}

fn named_reason(item: &mut Item, name: &str, type_name: &str) -> HarvestReason {
    HarvestReason {
        name: item.text(name, OUTCOME_CHARACTERS_MAX),
        type_name: item.text(type_name, OUTCOME_CHARACTERS_MAX),
    }
}

/// Parses a rejection reason. Returns its id and the reason.
pub(super) fn reason(item: &mut Item) -> Option<(u64, HarvestReason)> {
    let reason = named_reason(item, "name", "type.name");
    item.is_valid().then_some((item.own_id()?, reason))
}

/// Parses an offer. Returns the id of its application and the offer, or `None` if the offer was not accepted or has a
/// fault.
pub(super) fn offer(item: &mut Item) -> Option<(u64, HarvestOffer)> {
    let application = item.id("application_id", "is missing; every offer belongs to an application");
    let version = item.optional("version", "a whole number", Value::as_u64).unwrap_or(0);
    let resolved_at = item.time("resolved_at");
    let opening_id = item.text("opening.opening_id", OUTCOME_CHARACTERS_MAX);
    let is_accepted = item.get("status").and_then(Value::as_str) == Some("accepted");
    (is_accepted && item.is_valid()).then_some(())?;
    Some((application?, HarvestOffer { version, resolved_at, opening_id }))
}

/// Derives the outcome type from the name of the reason's type. Greenhouse's documentation lists "We rejected them",
/// "They rejected us" and "None specified", and says that the ids of types differ between organizations.
pub(super) fn outcome_type(type_name: Option<&str>) -> &'static str {
    match type_name.map(str::to_lowercase).as_deref() {
        Some("we rejected them") => "rejected_by_organization",
        Some("they rejected us") => "rejected_by_candidate",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_types_are_derived_from_reason_types() {
        assert_eq!(outcome_type(Some("We rejected them")), "rejected_by_organization");
        assert_eq!(outcome_type(Some("They Rejected Us")), "rejected_by_candidate");
        for other in [Some("None specified"), Some("None Specified"), Some(""), None] {
            assert_eq!(outcome_type(other), "other", "{other:?}");
        }
    }
}
