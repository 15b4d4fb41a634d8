//! What the HR system is told: the message of a decision, and that of a ping, as JSON text under 20 kB.

use serde::Serialize;

use super::super::tx::{Error, Tx};
use crate::domain::candidate_step::{Decision, Facts};
use crate::domain::hr_delivery::Event;
use crate::domain::id::OrganizationId;
use crate::domain::text;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// The version of the payload's shape.
const PAYLOAD_VERSION: u32 = 1;

/// The longest note that a payload carries, in characters, so that the whole stays under 20 kB whatever is in it.
const NOTE_CHARACTERS_MAX: usize = 1_000;

/// The message of a decision. A reversal carries what the hire it undoes was recorded with.
///
/// # Errors
/// When SQLite fails, or something that the decision is about is not there.
pub(super) fn of_decision(
    tx: &Tx<'_>,
    who: &Principal,
    event: Event,
    facts: &Facts,
    decision: &Decision,
) -> Result<String, Error> {
    let names = names(tx, who, facts)?;
    let record = decision.hire.as_ref().or(facts.hire.as_ref());
    let note = match event {
        Event::Hired => record.and_then(|hire| hire.notes.as_deref()),
        _ => decision.shown.rejection_reason.as_deref(),
    };
    let data = WireDecision {
        organization: WireOrganization {
            id: facts.organization_id.as_str(),
            slug: &names.slug,
            name: &names.organization,
        },
        role: WireNamed { id: facts.role_id.as_str(), name: &names.role },
        candidate: WirePerson { id: facts.candidate_id.as_str(), name: &names.candidate, email: &names.email },
        application: WireApplication { id: facts.application_id.as_str() },
        step: WireNamed { id: decision.shown.id.as_str(), name: &decision.shown.name },
        hired_date: record.map(|hire| hire.hired_date.to_string()),
        offer_accepted_date: record.and_then(|hire| hire.offer_accepted_date).map(|at| at.to_string()),
        external_position_id: record.and_then(|hire| hire.external_position_id.as_deref()),
        note: note.filter(|note| !note.is_empty()).map(|note| text::cut(note, NOTE_CHARACTERS_MAX)),
        decided_by: WirePerson { id: who.user_id.as_str(), name: &names.decided_by, email: &who.email },
    };
    encode(event, tx.now, data)
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
        encode(Event::Ping, tx.now, WirePing { organization })
    })
}

struct Names {
    organization: String,
    slug: String,
    role: String,
    candidate: String,
    email: String,
    decided_by: String,
}

fn names(tx: &Tx<'_>, who: &Principal, facts: &Facts) -> Result<Names, Error> {
    let sql = "SELECT o.name, o.slug, r.name, c.name, c.email, u.name
               FROM organizations o
               JOIN roles r ON r.id = $1 AND r.organization_id = o.id
               JOIN candidates c ON c.id = $2 AND c.organization_id = o.id
               JOIN users u ON u.id = $3
               WHERE o.id = $4";
    let params =
        (facts.role_id.as_str(), facts.candidate_id.as_str(), who.user_id.as_str(), facts.organization_id.as_str());
    let found = tx.one(sql, params, |row| {
        Ok(Names {
            organization: row.get(0)?,
            slug: row.get(1)?,
            role: row.get(2)?,
            candidate: row.get(3)?,
            email: row.get(4)?,
            decided_by: row.get(5)?,
        })
    })?;
    found.ok_or_else(|| Error::Defect("a decision names something that is not there".to_owned()))
}

fn encode(event: Event, timestamp: Timestamp, data: impl Serialize) -> Result<String, Error> {
    let message =
        WireMessage { event: event.as_str(), version: PAYLOAD_VERSION, timestamp: timestamp.to_string(), data };
    serde_json::to_string(&message).map_err(|error| Error::Defect(format!("a payload cannot be written: {error}")))
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
    hired_date: Option<String>,
    offer_accepted_date: Option<String>,
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
