//! Opportunities, applications and archive reasons ("Opportunities", "Applications" and "Archive Reasons" in Lever's
//! documentation).

use serde_json::Value;

use crate::domain::candidate_step::OUTCOME_CHARACTERS_MAX;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::interchange::ats::Export;
use crate::interchange::ats::item::Item;
use crate::interchange::ats::model::{Application, CurrentStage, Offer, Person, Reason, Status};

pub(super) fn opportunity(export: &mut Export, item: &mut Item) {
    let name = item.name("name", NAME_CHARACTERS_MAX);
    let email = item.email(&["emails"]);
    let contact = item.optional_id("contact");
    let [applied_at, archived_at, advanced_at, interaction_at] =
        ["createdAt", "archived.archivedAt", "lastAdvancedAt", "lastInteractionAt"].map(|path| item.millis(path));
    let reason_id = item.optional_id("archived.reason");
    let stage = stage(item);
    let applications = applications(item);
    let (Some(id), Some(name), true) = (item.own_id(), name, item.is_valid()) else { return };
    let person = contact.unwrap_or_else(|| id.clone());
    if let Some(code) = applications.code {
        export.add_offer(id.clone(), Offer { code: Some(code), ..Offer::default() });
    }
    let location = item.location().to_owned();
    export.people.push(Person { id: person.clone(), location: location.clone(), name, email });
    export.applications.push(Application {
        id,
        location,
        is_prospect: applications.count == 0,
        person,
        job: applications.posting,
        // The archive reason shows whether the candidate was hired.
        status: if archived_at.is_some() || reason_id.is_some() { Status::Archived } else { Status::Active },
        applied_at,
        ended_at: archived_at,
        last_activity_at: advanced_at.or(interaction_at),
        stage,
        reason_id,
        reason: Reason::default(),
    });
}

/// Reads the stage: its id, or an object if the request expanded it.
fn stage(item: &mut Item) -> Option<CurrentStage> {
    if !item.get("stage")?.is_object() {
        let id = item.optional_id("stage")?;
        return Some(CurrentStage { name: id.clone(), id });
    }
    let id = item.id("stage.id", "is missing");
    let name = item.name("stage.text", NAME_CHARACTERS_MAX);
    Some(CurrentStage { id: id?, name: name? })
}

/// The applications of an opportunity. An opportunity has at most one. An opportunity without an application is a
/// prospect.
#[derive(Default)]
struct Applications {
    count: usize,
    /// The posting, if the request expanded the application.
    posting: Option<String>,
    /// The code of the requisition that the hire filled.
    code: Option<String>,
}

fn applications(item: &mut Item) -> Applications {
    let all = item.get("applications").and_then(Value::as_array).cloned().unwrap_or_default();
    if all.len() > 1 {
        item.fault(format!("applications has {} entries; an opportunity has at most one", all.len()));
    }
    let mut read = Applications { count: all.len(), ..Applications::default() };
    if all.iter().any(Value::is_object) {
        let expanded = item.array_of("applications", |inner| {
            let code = inner.text("requisitionForHire.requisitionCode", OUTCOME_CHARACTERS_MAX);
            Some((inner.optional_id("posting"), code))
        });
        for (posting, code) in expanded {
            read = Applications { posting, code, ..read };
        }
    }
    read
}

/// Reads an application from a response to `GET /opportunities/:id/applications`. The application names the posting of
/// its opportunity.
pub(super) fn application(export: &mut Export, item: &mut Item) {
    let opportunity = item.id("opportunityId", "is missing; every application belongs to an opportunity");
    let posting = item.optional_id("posting");
    let code = item.text("requisitionForHire.requisitionCode", OUTCOME_CHARACTERS_MAX);
    let (Some(opportunity), true) = (opportunity, item.is_valid()) else { return };
    if let Some(posting) = posting {
        export.jobs_of_applications.insert(opportunity.clone(), posting);
    }
    if code.is_some() {
        export.add_offer(opportunity, Offer { code, ..Offer::default() });
    }
}

/// Reads an archive reason. Lever does not show which side ended an application.
pub(super) fn archive_reason(export: &mut Export, item: &mut Item) {
    let name = item.text("text", OUTCOME_CHARACTERS_MAX);
    // Older responses have no types. In every account, the reason for a hire is named "Hired".
    let is_hire = match item.get("type").and_then(Value::as_str) {
        Some(word) => word == "hired",
        None => name.as_deref() == Some("Hired"),
    };
    if let (Some(id), true) = (item.own_id(), item.is_valid()) {
        export.reasons.insert(id, Reason { name, outcome_type: None, is_hire });
    }
}
