//! The outbox: what organizations' HR systems are owed. Queued in the transaction of the decision itself, taken by
//! whose turn it is, and moved on by what came of each attempt.
//!
//! A pending delivery has a time for its next attempt while it may be sent. It has none while it is held: because its
//! organization has no integration that is enabled, or because an earlier delivery of its application has not arrived.

mod payload;

use rusqlite::Row;

use super::tx::{self, Error, Tx};
use crate::domain::candidate_step::{Decision, Facts};
use crate::domain::hr_delivery::{self, Attempt, Due, Event, Next, Schedule};
use crate::domain::id::{DeliveryId, Id, OrganizationId};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// Attempts of one delivery that are kept; a schedule has at most 31, and an admin may send again.
const ATTEMPTS_KEPT_MAX: i64 = 50;

/// Why a receiver's 410 disabled an integration.
const GONE: &str = "the HR system answered 410 Gone; save the integration again to enable it";

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
    let sql = "SELECT h.enabled AND NOT EXISTS (
                 SELECT 1 FROM hr_deliveries WHERE candidate_role_id = $1 AND state <> 'delivered'
               )
               FROM hr_integrations h
               WHERE h.organization_id = $2";
    let params = (facts.application_id.as_str(), facts.organization_id.as_str());
    let Some(may_go) = tx.one(sql, params, |row| Ok(row.get::<_, bool>(0)?))? else { return Ok(()) };
    let payload = payload::of_decision(tx, who, event, facts, decision)?;
    let sql = "INSERT INTO hr_deliveries (id, organization_id, candidate_role_id, type, payload, state, attempts,
                 failed_attempts, created_at, next_attempt_at)
               VALUES ($1, $2, $3, $4, $5, 'pending', 0, 0, $6, $7)";
    let application = facts.application_id.as_str();
    let organization = facts.organization_id.as_str();
    let now = tx.now.micros();
    let next_attempt_at = may_go.then_some(now);
    tx.run(sql, (id.as_str(), organization, application, event.as_str(), payload, now, next_attempt_at))?;
    Ok(())
}

/// Queues a ping, to be sent at once whether the integration is enabled or not. Whether there is such an organization.
///
/// # Errors
/// When SQLite fails.
pub fn enqueue_ping(tx: &Tx<'_>, id: &DeliveryId, organization: &OrganizationId) -> Result<bool, Error> {
    let Some(payload) = payload::of_ping(tx, organization)? else { return Ok(false) };
    let sql = "INSERT INTO hr_deliveries (id, organization_id, type, payload, state, attempts, failed_attempts,
                 created_at, next_attempt_at)
               VALUES ($1, $2, $3, $4, 'pending', 0, 0, $5, $5)";
    let ping = Event::Ping.as_str();
    tx.run(sql, (id.as_str(), organization.as_str(), ping, payload, tx.now.micros()))?;
    Ok(true)
}

/// Everything that an organization's HR system is owed and that waits for nothing else is due now, as if it had never
/// been tried.
///
/// # Errors
/// When SQLite fails.
pub(super) fn release_all(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries AS d
               SET next_attempt_at = $1, failed_attempts = 0
               WHERE d.organization_id = $2 AND d.state = 'pending' AND d.state <> 'delivered' AND NOT EXISTS (
                 SELECT 1 FROM hr_deliveries e
                 WHERE e.candidate_role_id = d.candidate_role_id AND e.number < d.number AND e.state <> 'delivered'
               )";
    tx.run(sql, (tx.now.micros(), organization.as_str()))?;
    Ok(())
}

/// Nothing that an organization's HR system is owed is sent until it is released.
///
/// # Errors
/// When SQLite fails.
pub(super) fn hold_all(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = NULL
               WHERE organization_id = $1 AND next_attempt_at IS NOT NULL";
    tx.run(sql, [organization.as_str()])?;
    Ok(())
}

/// The organizations with a delivery that is due now. The cost grows with the organizations that have something to be
/// sent now or later, not with how much.
///
/// # Errors
/// When SQLite fails.
pub fn due(tx: &Tx<'_>) -> Result<Vec<Due>, Error> {
    let sql = "WITH RECURSIVE waiting (organization_id) AS (
                 SELECT min(organization_id) FROM hr_deliveries WHERE next_attempt_at IS NOT NULL
                 UNION ALL
                 SELECT (
                   SELECT min(d.organization_id) FROM hr_deliveries d
                   WHERE d.next_attempt_at IS NOT NULL AND d.organization_id > waiting.organization_id
                 )
                 FROM waiting
                 WHERE waiting.organization_id IS NOT NULL
               ), earliest (organization_id, since) AS (
                 SELECT w.organization_id, (
                   SELECT min(d.next_attempt_at) FROM hr_deliveries d
                   WHERE d.organization_id = w.organization_id AND d.next_attempt_at IS NOT NULL
                 )
                 FROM waiting w
                 WHERE w.organization_id IS NOT NULL
               )
               SELECT e.organization_id, e.since, coalesce(h.timed_out, 0)
               FROM earliest e
               LEFT JOIN hr_integrations h ON h.organization_id = e.organization_id
               WHERE e.since <= $1";
    tx.all(sql, [tx.now.micros()], |row| {
        Ok(Due {
            organization_id: tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?,
            since: tx::time(row, 1)?,
            is_suspect: row.get(2)?,
        })
    })
}

/// A delivery that is to be sent.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Its number in the file.
    pub number: i64,
    /// Its id, the same at each attempt.
    pub id: DeliveryId,
    /// Whose it is.
    pub organization_id: OrganizationId,
    /// What it tells.
    pub event: Event,
    /// The message: JSON text.
    pub payload: String,
}

/// The delivery of an organization that has been due for longest, if any.
///
/// # Errors
/// When SQLite fails.
pub fn first_due(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<Delivery>, Error> {
    let sql = "SELECT number, id, type, payload
               FROM hr_deliveries
               WHERE organization_id = $1 AND next_attempt_at <= $2 AND next_attempt_at IS NOT NULL
               ORDER BY next_attempt_at, number
               LIMIT 1";
    tx.one(sql, (organization.as_str(), tx.now.micros()), |row| {
        Ok(Delivery {
            number: row.get(0)?,
            id: tx::word(&row.get::<_, String>(1)?, DeliveryId::parse)?,
            organization_id: organization.clone(),
            event: tx::word(&row.get::<_, String>(2)?, Event::parse)?,
            payload: row.get(3)?,
        })
    })
}

/// Records an attempt and what it makes of its delivery, which is given back; `None` where the delivery is not pending
/// any more. `target` is the address that was tried: an integration that has another one by now is left as it is.
///
/// # Errors
/// When SQLite fails.
pub fn record(
    tx: &Tx<'_>,
    delivery: &Delivery,
    target: &str,
    attempt: &Attempt,
    schedule: &Schedule,
    jitter: u16,
) -> Result<Option<Next>, Error> {
    let sql = "UPDATE hr_deliveries
               SET attempts = attempts + 1, failed_attempts = failed_attempts + $1
               WHERE number = $2 AND state = 'pending'
               RETURNING attempts, failed_attempts";
    let failed = !attempt.is_delivered();
    let counted = tx.one(sql, (failed, delivery.number), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?)))?;
    let Some((nth, failed)) = counted else { return Ok(None) };
    append(tx, delivery, nth, attempt)?;
    let sql = "UPDATE hr_integrations
               SET timed_out = $1
               WHERE organization_id = $2 AND url = $3 AND timed_out <> $1";
    tx.run(sql, (attempt.timed_out, delivery.organization_id.as_str(), target))?;
    let next = hr_delivery::next(delivery.event, schedule, failed, attempt, tx.now, jitter);
    move_on(tx, delivery, target, next)?;
    Ok(Some(next))
}

fn append(tx: &Tx<'_>, delivery: &Delivery, nth: i64, attempt: &Attempt) -> Result<(), Error> {
    let sql = "INSERT INTO hr_attempts (delivery_number, number, at, duration, status, error, answer)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let duration = i64::try_from(attempt.duration.as_micros()).unwrap_or(i64::MAX);
    let Attempt { at, status, error, answer, .. } = attempt;
    tx.run(sql, (delivery.number, nth, at.micros(), duration, status, error, answer))?;
    let sql = "DELETE FROM hr_attempts
               WHERE delivery_number = $1 AND number <= $2";
    tx.run(sql, (delivery.number, nth - ATTEMPTS_KEPT_MAX))?;
    Ok(())
}

fn move_on(tx: &Tx<'_>, delivery: &Delivery, target: &str, next: Next) -> Result<(), Error> {
    match next {
        Next::Delivered => {
            set_state(tx, delivery, "delivered")?;
            release_next(tx, delivery)
        }
        Next::Failed => set_state(tx, delivery, "failed"),
        Next::Again(at) => again(tx, delivery, at),
        Next::Gone => {
            let sql = "UPDATE hr_integrations
                       SET enabled = 0, disabled_reason = $1, updated_at = $2
                       WHERE organization_id = $3 AND url = $4 AND enabled = 1";
            let organization = delivery.organization_id.as_str();
            if tx.run(sql, (GONE, tx.now.micros(), organization, target))? == 1 {
                hold_all(tx, &delivery.organization_id)?;
            }
            match delivery.event {
                Event::Ping => set_state(tx, delivery, "failed"),
                // Held now; or, where the integration has another address since, tried there at once.
                _ => again(tx, delivery, tx.now),
            }
        }
    }
}

fn set_state(tx: &Tx<'_>, delivery: &Delivery, state: &str) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET state = $1, next_attempt_at = NULL
               WHERE number = $2";
    tx.run(sql, (state, delivery.number))?;
    Ok(())
}

/// Due then, unless the integration was disabled or taken away meanwhile.
fn again(tx: &Tx<'_>, delivery: &Delivery, at: Timestamp) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries AS d
               SET next_attempt_at = (
                 SELECT $1 FROM hr_integrations h WHERE h.organization_id = d.organization_id AND h.enabled = 1
               )
               WHERE d.number = $2";
    tx.run(sql, (at.micros(), delivery.number))?;
    Ok(())
}

/// The next delivery of the same application is due now.
fn release_next(tx: &Tx<'_>, delivery: &Delivery) -> Result<(), Error> {
    let sql = "SELECT e.number
               FROM hr_deliveries d
               JOIN hr_deliveries e ON e.candidate_role_id = d.candidate_role_id AND e.number > d.number
               JOIN hr_integrations h ON h.organization_id = e.organization_id AND h.enabled = 1
               WHERE d.number = $1 AND e.state <> 'delivered'
               ORDER BY e.number
               LIMIT 1";
    let Some(following) = tx.one(sql, [delivery.number], |row: &Row<'_>| Ok(row.get::<_, i64>(0)?))? else {
        return Ok(());
    };
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = $1
               WHERE number = $2 AND state = 'pending'";
    tx.run(sql, (tx.now.micros(), following))?;
    Ok(())
}
