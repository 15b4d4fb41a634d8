//! What the HR system is told: the message of a decision, and that of a ping, as JSON text under 20 kB.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::db::tx::{Error, Tx};
use crate::domain::hr_delivery::DeliveryEvent;
use crate::domain::id::OrganizationId;
use crate::domain::text;
use crate::domain::timestamp::Timestamp;

/// The version of the payload's shape.
const PAYLOAD_VERSION: u32 = 1;

/// The longest note that a payload carries, in characters, so that the whole stays under 20 kB whatever is in it.
const NOTE_CHARACTERS_MAX: usize = 1_000;

/// A decision as the messages tell it: what its activity has, and the names of what that names.
pub(super) struct Told {
    pub(super) event: DeliveryEvent,
    pub(super) at: Timestamp,
    pub(super) organization: Named,
    pub(super) slug: String,
    pub(super) role: Named,
    pub(super) candidate: Person,
    pub(super) application_id: String,
    pub(super) step: Named,
    pub(super) decided_by: Person,
    /// The activity's facts: JSON text.
    pub(super) detail: String,
}

/// An id and the name that goes with it.
pub(super) struct Named {
    pub(super) id: String,
    pub(super) name: String,
}

/// A person, and the address they are reached at.
pub(super) struct Person {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) email: String,
}

/// The message of a decision. A reversal carries what the hire it undoes was recorded with.
///
/// # Errors
/// [`Error::Defect`] where the activity's facts cannot be read.
pub(super) fn of_decision(told: &Told) -> Result<String, Error> {
    let detail: Detail = serde_json::from_str(&told.detail)
        .map_err(|error| Error::Defect(format!("what an activity tells cannot be read: {error}")))?;
    let Detail { before, after } = detail;
    let record = after.hire.or(before.hire).unwrap_or_default();
    let note = match told.event {
        DeliveryEvent::Hired => record.notes,
        _ => after.steps.into_iter().find(|step| step.id == told.step.id).and_then(|step| step.rejection_reason),
    };
    let organization = &told.organization;
    let data = WireDecision {
        organization: WireOrganization { id: &organization.id, slug: &told.slug, name: &organization.name },
        role: wire_named(&told.role),
        candidate: wire_person(&told.candidate),
        application: WireApplication { id: &told.application_id },
        step: wire_named(&told.step),
        hired_date: record.hired_date.as_deref(),
        offer_accepted_date: record.offer_accepted_date.as_deref(),
        external_position_id: record.external_position_id.as_deref(),
        note: note.as_deref().filter(|note| !note.is_empty()).map(|note| text::cut(note, NOTE_CHARACTERS_MAX)),
        decided_by: wire_person(&told.decided_by),
    };
    encode(told.event, told.at, data)
}

fn wire_named(named: &Named) -> WireNamed<'_> {
    WireNamed { id: &named.id, name: &named.name }
}

fn wire_person(person: &Person) -> WirePerson<'_> {
    WirePerson { id: &person.id, name: &person.name, email: &person.email }
}

/// The same message with nothing of who the candidate was, but with all ids.
///
/// # Errors
/// [`Error::Defect`] where the message cannot be read.
pub(super) fn without_candidate(payload: &str, name: &str, email: &str) -> Result<String, Error> {
    let unreadable = |error: serde_json::Error| Error::Defect(format!("a payload cannot be read: {error}"));
    let mut message: Value = serde_json::from_str(payload).map_err(unreadable)?;
    for (pointer, text) in [("/data/candidate/name", name), ("/data/candidate/email", email)] {
        let told = message.pointer_mut(pointer);
        *told.ok_or_else(|| Error::Defect(format!("a payload has no {pointer}")))? = text.into();
    }
    for pointer in ["/data/externalPositionId", "/data/note"] {
        if let Some(told) = message.pointer_mut(pointer) {
            *told = Value::Null;
        }
    }
    Ok(message.to_string())
}

/// The message of a ping; `None` where there is no such organization.
///
/// # Errors
/// When SQLite fails.
pub(super) fn of_ping(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<String>, Error> {
    let sql = "SELECT slug, name
               FROM organizations
               WHERE id = $1";
    tx.one(sql, [organization.as_str()], |row| {
        let (slug, name): (String, String) = (row.get(0)?, row.get(1)?);
        let organization = WireOrganization { id: organization.as_str(), slug: &slug, name: &name };
        encode(DeliveryEvent::Ping, tx.now, WirePing { organization })
    })
}

fn encode(event: DeliveryEvent, timestamp: Timestamp, data: impl Serialize) -> Result<String, Error> {
    let message =
        WireMessage { event: event.as_str(), version: PAYLOAD_VERSION, timestamp: timestamp.to_string(), data };
    serde_json::to_string(&message).map_err(|error| Error::Defect(format!("a payload cannot be written: {error}")))
}

/// What of an activity's facts the messages carry.
#[derive(Deserialize)]
struct Detail {
    before: Side,
    after: Side,
}

#[derive(Deserialize)]
struct Side {
    hire: Option<Record>,
    steps: Vec<Step>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    hired_date: Option<String>,
    offer_accepted_date: Option<String>,
    external_position_id: Option<String>,
    notes: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    id: String,
    rejection_reason: Option<String>,
}

#[derive(Serialize)]
struct WireMessage<T> {
    #[serde(rename = "type")]
    event: &'static str,
    version: u32,
    timestamp: String,
    data: T,
}

#[derive(Serialize)]
struct WirePing<'a> {
    organization: WireOrganization<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireDecision<'a> {
    organization: WireOrganization<'a>,
    role: WireNamed<'a>,
    candidate: WirePerson<'a>,
    application: WireApplication<'a>,
    step: WireNamed<'a>,
    hired_date: Option<&'a str>,
    offer_accepted_date: Option<&'a str>,
    external_position_id: Option<&'a str>,
    note: Option<&'a str>,
    decided_by: WirePerson<'a>,
}

#[derive(Serialize)]
struct WireOrganization<'a> {
    id: &'a str,
    slug: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct WireNamed<'a> {
    id: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct WirePerson<'a> {
    id: &'a str,
    name: &'a str,
    email: &'a str,
}

#[derive(Serialize)]
struct WireApplication<'a> {
    id: &'a str,
}
