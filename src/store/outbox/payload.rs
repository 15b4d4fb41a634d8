//! The messages to HR systems, for decisions and pings. Each message is JSON of less than 20 kB.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::hr_delivery::DeliveryEvent;
use crate::domain::id::OrganizationId;
use crate::domain::text;
use crate::domain::timestamp::Timestamp;

/// The version of the payload format.
const PAYLOAD_VERSION: u32 = 1;

/// The maximum number of characters in the note of a payload. The limit keeps every payload under 20 kB.
const NOTE_CHARACTERS_MAX: usize = 1_000;

/// The facts for a decision's message: the activity row, and the names of the records that this row refers to.
pub(super) struct DecisionFacts {
    pub(super) event: DeliveryEvent,
    pub(super) at: Timestamp,
    /// The detail of the activity row as JSON.
    pub(super) detail: String,
    pub(super) application_id: String,
    /// The slug of the organization.
    pub(super) slug: String,
    pub(super) organization: NamedId,
    pub(super) role: NamedId,
    pub(super) step: NamedId,
    pub(super) candidate: PersonFacts,
    pub(super) decided_by: PersonFacts,
}

pub(super) struct NamedId {
    pub(super) id: String,
    pub(super) name: String,
}

pub(super) struct PersonFacts {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) email: String,
}

/// Returns the message for a decision. The message for a reversal contains the dates and the position id of the
/// reversed hire, and the reason for the rejection as the note.
///
/// # Errors
/// [`Error::Defect`] if the detail of the activity row cannot be read.
pub(super) fn of_decision(facts: &DecisionFacts) -> Result<String, Error> {
    let detail: Detail = serde_json::from_str(&facts.detail)
        .map_err(|error| Error::Defect(format!("the detail of an activity row cannot be read: {error}")))?;
    let Detail { before, after } = detail;
    let hire = after.hire.or(before.hire).unwrap_or_default();
    let note = match facts.event {
        DeliveryEvent::Hired => hire.notes,
        _ => after.steps.into_iter().find(|step| step.id == facts.step.id).and_then(|step| step.rejection_reason),
    };
    let organization = &facts.organization;
    let data = WireDecision {
        organization: WireOrganization { id: &organization.id, slug: &facts.slug, name: &organization.name },
        role: wire_named(&facts.role),
        candidate: wire_person(&facts.candidate),
        application: WireApplication { id: &facts.application_id },
        step: wire_named(&facts.step),
        hired_date: hire.hired_date.as_deref(),
        offer_accepted_date: hire.offer_accepted_date.as_deref(),
        external_position_id: hire.external_position_id.as_deref(),
        note: note.as_deref().filter(|note| !note.is_empty()).map(|note| text::cut(note, NOTE_CHARACTERS_MAX)),
        decided_by: wire_person(&facts.decided_by),
    };
    encode(facts.event, facts.at, data)
}

fn wire_named(named: &NamedId) -> WireNamed<'_> {
    WireNamed { id: &named.id, name: &named.name }
}

fn wire_person(person: &PersonFacts) -> WirePerson<'_> {
    WirePerson { id: &person.id, name: &person.name, email: &person.email }
}

/// Returns a copy of the message that contains no data about the candidate except ids and dates. `name` and `email`
/// replace the candidate's name and address.
///
/// # Errors
/// [`Error::Defect`] if the message cannot be read, or lacks the candidate's name or address.
pub(super) fn without_candidate(payload: &str, name: &str, email: &str) -> Result<String, Error> {
    let unreadable = |error: serde_json::Error| Error::Defect(format!("a payload cannot be read: {error}"));
    let mut message: Value = serde_json::from_str(payload).map_err(unreadable)?;
    for (pointer, text) in [("/data/candidate/name", name), ("/data/candidate/email", email)] {
        let member = message.pointer_mut(pointer);
        *member.ok_or_else(|| Error::Defect(format!("a payload has no {pointer}")))? = text.into();
    }
    for pointer in ["/data/externalPositionId", "/data/note"] {
        if let Some(member) = message.pointer_mut(pointer) {
            *member = Value::Null;
        }
    }
    Ok(message.to_string())
}

/// Returns the message for a ping, or `None` if the organization does not exist.
pub(super) fn of_ping(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<String>, Error> {
    let sql = "SELECT slug, name
               FROM organizations
               WHERE id = $1";
    tx.one(sql, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        let (slug, name) = (columns.text()?, columns.text()?);
        let organization = WireOrganization { id: organization.as_str(), slug, name };
        encode(DeliveryEvent::Ping, tx.now, WirePing { organization })
    })
}

fn encode(event: DeliveryEvent, timestamp: Timestamp, data: impl Serialize) -> Result<String, Error> {
    let message =
        WireMessage { event: event.as_str(), version: PAYLOAD_VERSION, timestamp: timestamp.to_string(), data };
    serde_json::to_string(&message).map_err(|error| Error::Defect(format!("a payload cannot be written: {error}")))
}

/// The part of an activity row's detail that messages use.
#[derive(Deserialize)]
struct Detail {
    before: DetailSide,
    after: DetailSide,
}

#[derive(Deserialize)]
struct DetailSide {
    hire: Option<HireDetail>,
    steps: Vec<StepDetail>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HireDetail {
    hired_date: Option<String>,
    offer_accepted_date: Option<String>,
    external_position_id: Option<String>,
    notes: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StepDetail {
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
