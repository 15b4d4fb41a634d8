//! Handles the outcome of an attempt: records the attempt, and updates the state of its delivery.

use super::erasure;
use super::queue::Delivery;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::hr_delivery::{self, AttemptOutcome, DeliveryAttempt, DeliveryEvent, DeliveryState, RetrySchedule};
use crate::domain::timestamp::Timestamp;

/// The maximum number of attempts stored for one delivery. A schedule has at most 31 attempts, and an admin can restart
/// it.
const ATTEMPTS_STORED_MAX: i64 = 50;

/// The `disabled_reason` of an integration whose HR system answered 410.
const GONE: &str = "the HR system answered 410 Gone; save the integration again to enable it";

/// Records an attempt and updates its delivery. Returns the outcome, or `None` if the delivery is no longer pending;
/// the attempt is then not recorded. `target` is the URL of the attempt. An integration that now has another URL is not
/// changed.
pub fn record_attempt(
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
    let counts = tx.one(sql, (failed, delivery.number), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<i64>()?, columns.read::<u32>()?))
    })?;
    let Some((attempts, failed)) = counts else { return Ok(None) };
    append(tx, delivery, attempts, attempt)?;
    let sql = "UPDATE hr_integrations
               SET timed_out = $1
               WHERE organization_id = $2 AND url = $3 AND timed_out <> $1";
    tx.run(sql, (attempt.timed_out, delivery.organization_id.as_str(), target))?;
    let outcome = hr_delivery::outcome_of(delivery.event, schedule, failed, attempt, tx.now, jitter);
    apply_outcome(tx, delivery, target, outcome).map(Some)
}

fn append(tx: &Tx<'_>, delivery: &Delivery, number: i64, attempt: &DeliveryAttempt) -> Result<(), Error> {
    let sql = "INSERT INTO hr_attempts (delivery_number, number, at, duration, status, error, answer)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let duration = i64::try_from(attempt.duration.as_micros()).unwrap_or(i64::MAX);
    let DeliveryAttempt { at, status, error, answer, .. } = attempt;
    // If the candidate was erased, the HR system's answer is not stored, because it can contain the candidate's data.
    let answer = if erasure::is_about_erased(tx, delivery.number)? { &None } else { answer };
    tx.run(sql, (delivery.number, number, at.micros(), duration, status, error, answer))?;
    let sql = "DELETE FROM hr_attempts
               WHERE delivery_number = $1 AND number <= $2";
    tx.run(sql, (delivery.number, number - ATTEMPTS_STORED_MAX))?;
    Ok(())
}

/// Updates the delivery after an attempt. If the HR system answered 410, also disables the integration, unless the
/// integration is already disabled or now has another target. After a 410, the state of a ping becomes `Failed`,
/// and any other delivery is due again at once. Returns [`AttemptOutcome::Gone`] only if this call disabled the
/// integration.
fn apply_outcome(
    tx: &Tx<'_>,
    delivery: &Delivery,
    target: &str,
    outcome: AttemptOutcome,
) -> Result<AttemptOutcome, Error> {
    match outcome {
        AttemptOutcome::Delivered => {
            set_state(tx, delivery, DeliveryState::Delivered)?;
            release_next(tx, delivery)?;
        }
        AttemptOutcome::Failed => set_state(tx, delivery, DeliveryState::Failed)?,
        AttemptOutcome::Again(at) => schedule_attempt(tx, delivery, at)?,
        AttemptOutcome::Gone => {
            let is_disabled_now = disable(tx, delivery, target)?;
            if delivery.event == DeliveryEvent::Ping {
                set_state(tx, delivery, DeliveryState::Failed)?;
                return Ok(if is_disabled_now { outcome } else { AttemptOutcome::Failed });
            }
            schedule_attempt(tx, delivery, tx.now)?;
            return Ok(if is_disabled_now { outcome } else { AttemptOutcome::Again(tx.now) });
        }
    }
    Ok(outcome)
}

/// Disables the integration if it is enabled and has this target. Returns whether this call disabled it.
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

fn schedule_attempt(tx: &Tx<'_>, delivery: &Delivery, at: Timestamp) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = $1
               WHERE number = $2";
    tx.run(sql, (at.micros(), delivery.number))?;
    Ok(())
}

/// Makes the next undelivered delivery of the same application due now, unless it has failed.
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
