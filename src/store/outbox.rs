//! The outbox: what an organization's HR system is owed, queued in the transaction of the decision itself.

use serde_json::{Value, json};

use super::tx::{Error, Tx};
use crate::domain::candidate_step::{Decision, Facts};
use crate::domain::id::DeliveryId;
use crate::domain::text;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// The version of the payload's shape.
const PAYLOAD_VERSION: u32 = 1;

/// The longest note that a payload carries, in characters, so that the whole stays under 20 kB whatever is in it.
const NOTE_CHARACTERS_MAX: usize = 1_000;

/// What the HR system is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A candidate was hired.
    Hired,
    /// A hire was reversed.
    HireReversed,
}

impl Event {
    fn as_str(self) -> &'static str {
        match self {
            Self::Hired => "candidate.hired",
            Self::HireReversed => "candidate.hire_reversed",
        }
    }
}

struct Names {
    organization: String,
    slug: String,
    role: String,
    candidate: String,
    email: String,
    decided_by: String,
}

/// Queues a delivery, where the organization has an HR integration; also while that is disabled, to be sent later.
///
/// # Errors
/// When SQLite fails.
pub fn enqueue(
    tx: &Tx<'_>,
    id: &DeliveryId,
    who: &Principal,
    event: Event,
    facts: &Facts,
    decision: &Decision,
) -> Result<(), Error> {
    let Some(names) = names(tx, who, facts)? else { return Ok(()) };
    let sql = "INSERT INTO hr_deliveries
                 (id, organization_id, candidate_role_id, type, payload, state, attempts, created_at, next_attempt_at)
               VALUES ($1, $2, $3, $4, $5, 'pending', 0, $6, $6)";
    let payload = payload(tx.now, who, event, facts, decision, &names).to_string();
    tx.run(
        sql,
        (
            id.as_str(),
            facts.organization_id.as_str(),
            facts.application_id.as_str(),
            event.as_str(),
            payload,
            tx.now.micros(),
        ),
    )?;
    Ok(())
}

/// The names that the payload shows; `None` where the organization has no integration.
fn names(tx: &Tx<'_>, who: &Principal, facts: &Facts) -> Result<Option<Names>, Error> {
    let sql = "SELECT o.name, o.slug, r.name, c.name, c.email, u.name
               FROM hr_integrations h
               JOIN organizations o ON o.id = h.organization_id
               JOIN roles r ON r.id = $1 AND r.organization_id = o.id
               JOIN candidates c ON c.id = $2 AND c.organization_id = o.id
               JOIN users u ON u.id = $3
               WHERE h.organization_id = $4";
    let params =
        (facts.role_id.as_str(), facts.candidate_id.as_str(), who.user_id.as_str(), facts.organization_id.as_str());
    tx.one(sql, params, |row| {
        Ok(Names {
            organization: row.get(0)?,
            slug: row.get(1)?,
            role: row.get(2)?,
            candidate: row.get(3)?,
            email: row.get(4)?,
            decided_by: row.get(5)?,
        })
    })
}

/// The message as the HR system gets it. A reversal carries what the hire it undoes was recorded with.
fn payload(now: Timestamp, who: &Principal, event: Event, facts: &Facts, decision: &Decision, names: &Names) -> Value {
    let record = decision.hire.as_ref().or(facts.hire.as_ref());
    let note = match event {
        Event::Hired => record.and_then(|hire| hire.notes.as_deref()),
        Event::HireReversed => decision.shown.rejection_reason.as_deref(),
    };
    json!({
        "type": event.as_str(),
        "version": PAYLOAD_VERSION,
        "timestamp": now.to_string(),
        "data": {
            "organization": { "id": facts.organization_id.as_str(), "slug": names.slug, "name": names.organization },
            "role": { "id": facts.role_id.as_str(), "name": names.role },
            "candidate": { "id": facts.candidate_id.as_str(), "name": names.candidate, "email": names.email },
            "application": { "id": facts.application_id.as_str() },
            "step": { "id": decision.shown.id.as_str(), "name": decision.shown.name },
            "hiredDate": record.map(|hire| hire.hired_date.to_string()),
            "offerAcceptedDate": record.and_then(|hire| hire.offer_accepted_date).map(|at| at.to_string()),
            "externalPositionId": record.and_then(|hire| hire.external_position_id.as_deref()),
            "note": note.map(|note| text::cut(note, NOTE_CHARACTERS_MAX)),
            "decidedBy": { "id": who.user_id.as_str(), "name": names.decided_by, "email": who.email },
        },
    })
}
