//! The outbox: what organizations' HR systems are owed. Recorded in the transaction of the decision itself, by its
//! activity; taken up a moment later as messages; sent by whose turn it is, and moved on by what came of each attempt.
//!
//! A pending delivery has a time for its next attempt, unless an earlier delivery of its application has not arrived.
//! Whether its organization's integration lets it go is asked when its turn comes: so neither switching an integration
//! nor a receiver's 410 touches what is owed, however much that is.

mod erased;
mod forward;
mod intake;
mod payload;

use crate::db::row::Row;

use crate::db::tx::{self, Error, Tx};
use crate::domain::hr_delivery::{self, AttemptOutcome, DeliveryAttempt, DeliveryEvent, DeliveryState, RetrySchedule};
use crate::domain::hr_dispatch::DueOrganization;
use crate::domain::id::{DeliveryId, Id, OrganizationId};
use crate::domain::timestamp::Timestamp;
pub(super) use erased::forget_candidate;
pub use forward::{Late, bring_forward, late};
pub(super) use intake::not_taken_up;
pub use intake::{TAKEN_UP_MAX, has_more, take_up, take_up_all};

/// Attempts of one delivery that are kept; a schedule has at most 31, and an admin may send again.
const ATTEMPTS_KEPT_MAX: i64 = 50;

/// Why a receiver's 410 disabled an integration.
const GONE: &str = "the HR system answered 410 Gone; save the integration again to enable it";

/// Queues a ping, to be sent at once whether the integration is enabled or not. Whether there is such an organization.
///
/// # Errors
/// When SQLite fails.
pub fn enqueue_ping(tx: &Tx<'_>, id: &DeliveryId, organization: &OrganizationId) -> Result<bool, Error> {
    let Some(payload) = payload::of_ping(tx, organization)? else { return Ok(false) };
    let sql = "INSERT INTO hr_deliveries (id, organization_id, type, payload, state, attempts, failed_attempts,
                 created_at, next_attempt_at)
               VALUES ($1, $2, $3, $4, 'pending', 0, 0, $5, $5)";
    let ping = DeliveryEvent::Ping.as_str();
    tx.run(sql, (id.as_str(), organization.as_str(), ping, payload, tx.now.micros()))?;
    Ok(true)
}

/// Everything that an organization's HR system is owed and that was tried before is due, as if it had never been: since
/// it was queued, so that the oldest goes first.
///
/// # Errors
/// When SQLite fails.
pub(super) fn release_all(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = CASE WHEN created_at < $1 THEN created_at ELSE $1 END, failed_attempts = 0
               WHERE state = 'pending' AND organization_id = $2 AND next_attempt_at IS NOT NULL
                 AND (next_attempt_at > $1 OR failed_attempts > 0)";
    tx.run(sql, (tx.now.micros(), organization.as_str()))?;
    Ok(())
}

/// The organizations with a delivery that is due now: a ping, or any where the integration is enabled. The cost grows with
/// the organizations that are owed something, not with how much.
///
/// # Errors
/// When SQLite fails.
pub fn due(tx: &Tx<'_>) -> Result<Vec<DueOrganization>, Error> {
    let sql = "WITH RECURSIVE owed (organization_id) AS (
                 SELECT min(organization_id) FROM hr_deliveries WHERE state = 'pending'
                 UNION ALL
                 SELECT (
                   SELECT min(d.organization_id) FROM hr_deliveries d
                   WHERE d.state = 'pending' AND d.organization_id > owed.organization_id
                 )
                 FROM owed
                 WHERE owed.organization_id IS NOT NULL
               ), earliest (organization_id, since) AS (
                 SELECT o.organization_id, (
                   SELECT min(d.next_attempt_at) FROM hr_deliveries d
                   WHERE d.state = 'pending' AND d.organization_id = o.organization_id AND d.next_attempt_at IS NOT NULL
                 )
                 FROM owed o
                 JOIN hr_integrations h ON h.organization_id = o.organization_id AND h.enabled = 1
                 UNION ALL
                 SELECT organization_id, coalesce(next_attempt_at, created_at)
                 FROM hr_deliveries
                 WHERE type = 'ping' AND state = 'pending'
               )
               SELECT e.organization_id, min(e.since), h.timed_out
               FROM earliest e
               JOIN hr_integrations h ON h.organization_id = e.organization_id
               WHERE e.since <= $1
               GROUP BY e.organization_id, h.timed_out";
    tx.all(sql, [tx.now.micros()], |row| {
        Ok(DueOrganization {
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
    pub event: DeliveryEvent,
    /// The message: JSON text.
    pub payload: String,
}

/// An organization's delivery whose turn it is, if any: a ping, because an admin waits for it; otherwise, where the
/// integration is enabled, the one that has been due for longest.
///
/// # Errors
/// When SQLite fails.
pub fn first_due(tx: &Tx<'_>, organization: &OrganizationId, enabled: bool) -> Result<Option<Delivery>, Error> {
    let sql = "SELECT number, id, type, payload
               FROM hr_deliveries
               WHERE organization_id = $1 AND type = 'ping' AND state = 'pending'
               ORDER BY number
               LIMIT 1";
    let ping = tx.one(sql, [organization.as_str()], |row| delivery(row, organization))?;
    if ping.is_some() || !enabled {
        return Ok(ping);
    }
    let sql = "SELECT number, id, type, payload
               FROM hr_deliveries
               WHERE state = 'pending' AND organization_id = $1 AND next_attempt_at <= $2
               ORDER BY next_attempt_at, number
               LIMIT 1";
    tx.one(sql, (organization.as_str(), tx.now.micros()), |row| delivery(row, organization))
}

fn delivery(row: &Row<'_>, organization: &OrganizationId) -> Result<Delivery, Error> {
    Ok(Delivery {
        number: row.get(0)?,
        id: tx::word(&row.get::<_, String>(1)?, DeliveryId::parse)?,
        organization_id: organization.clone(),
        event: tx::word(&row.get::<_, String>(2)?, DeliveryEvent::parse)?,
        payload: row.get(3)?,
    })
}

/// Records an attempt and what it makes of its delivery, which is given back; `None` where the delivery is not pending
/// any more. `target` is the URL that was tried: an integration that has another one by now is left as it is.
///
/// # Errors
/// When SQLite fails.
pub fn record(
    tx: &Tx<'_>,
    delivery: &Delivery,
    target: &str,
    attempt: &DeliveryAttempt,
    schedule: &RetrySchedule,
    jitter: u16,
) -> Result<Option<AttemptOutcome>, Error> {
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
    let next = hr_delivery::outcome_of(delivery.event, schedule, failed, attempt, tx.now, jitter);
    move_on(tx, delivery, target, next).map(Some)
}

fn append(tx: &Tx<'_>, delivery: &Delivery, nth: i64, attempt: &DeliveryAttempt) -> Result<(), Error> {
    let sql = "INSERT INTO hr_attempts (delivery_number, number, at, duration, status, error, answer)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let duration = i64::try_from(attempt.duration.as_micros()).unwrap_or(i64::MAX);
    let DeliveryAttempt { at, status, error, answer, .. } = attempt;
    // The HR system may know who it was, and say so.
    let answer = if erased::is_about_erased(tx, delivery)? { &None } else { answer };
    tx.run(sql, (delivery.number, nth, at.micros(), duration, status, error, answer))?;
    let sql = "DELETE FROM hr_attempts
               WHERE delivery_number = $1 AND number <= $2";
    tx.run(sql, (delivery.number, nth - ATTEMPTS_KEPT_MAX))?;
    Ok(())
}

/// Where the target that is gone is not the integration's any more, the delivery is tried at the new one at once.
fn move_on(tx: &Tx<'_>, delivery: &Delivery, target: &str, next: AttemptOutcome) -> Result<AttemptOutcome, Error> {
    match next {
        AttemptOutcome::Delivered => {
            set_state(tx, delivery, DeliveryState::Delivered)?;
            release_next(tx, delivery)?;
        }
        AttemptOutcome::Failed => set_state(tx, delivery, DeliveryState::Failed)?,
        AttemptOutcome::Again(at) => again(tx, delivery, at)?,
        AttemptOutcome::Gone => {
            let is_disabled_now = disable(tx, delivery, target)?;
            if delivery.event == DeliveryEvent::Ping {
                set_state(tx, delivery, DeliveryState::Failed)?;
                return Ok(if is_disabled_now { next } else { AttemptOutcome::Failed });
            }
            again(tx, delivery, tx.now)?;
            return Ok(if is_disabled_now { next } else { AttemptOutcome::Again(tx.now) });
        }
    }
    Ok(next)
}

fn disable(tx: &Tx<'_>, delivery: &Delivery, target: &str) -> Result<bool, Error> {
    let sql = "UPDATE hr_integrations
               SET enabled = 0, disabled_reason = $1, updated_at = $2
               WHERE organization_id = $3 AND url = $4 AND enabled = 1";
    Ok(tx.run(sql, (GONE, tx.now.micros(), delivery.organization_id.as_str(), target))? == 1)
}

fn set_state(tx: &Tx<'_>, delivery: &Delivery, state: DeliveryState) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET state = $1, next_attempt_at = NULL
               WHERE number = $2";
    tx.run(sql, (state.as_str(), delivery.number))?;
    Ok(())
}

fn again(tx: &Tx<'_>, delivery: &Delivery, at: Timestamp) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = $1
               WHERE number = $2";
    tx.run(sql, (at.micros(), delivery.number))?;
    Ok(())
}

/// The next delivery of the same application is due now.
fn release_next(tx: &Tx<'_>, delivery: &Delivery) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = $1
               WHERE number = (
                 SELECT min(e.number)
                 FROM hr_deliveries d
                 JOIN hr_deliveries e ON e.candidate_role_id = d.candidate_role_id AND e.number > d.number
                 WHERE d.number = $2 AND e.state <> 'delivered'
               ) AND state = 'pending'";
    tx.run(sql, (tx.now.micros(), delivery.number))?;
    Ok(())
}
