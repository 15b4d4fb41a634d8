//! Attempts that were scheduled while the clock was ahead. This module brings them forward to the latest time that the
//! schedule or a `Retry-After` allows.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::hr_delivery::{self, RetrySchedule};
use crate::domain::timestamp::Timestamp;

/// A delivery whose next attempt is later than the schedule or a `Retry-After` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostponedDelivery {
    number: i64,
    next_attempt_at: Timestamp,
    corrected_at: Timestamp,
}

/// Returns the deliveries whose next attempt is later than the schedule or a `Retry-After` allows.
pub fn postponed(tx: &Tx<'_>, schedule: &RetrySchedule) -> Result<Vec<PostponedDelivery>, Error> {
    let sql = "SELECT d.number, d.failed_attempts, d.next_attempt_at, a.at
               FROM hr_deliveries d
               LEFT JOIN hr_attempts a ON a.delivery_number = d.number AND a.number = d.attempts
               WHERE d.state = 'pending' AND d.next_attempt_at > $1
               ORDER BY d.number";
    let waiting = tx.all(sql, [tx.now.micros()], |row| {
        let mut columns = Columns::of(row);
        let (number, failed) = (columns.read()?, columns.read()?);
        let (next_attempt_at, last_attempt_at) = (columns.time()?, columns.time_or_none()?);
        let corrected_at =
            hr_delivery::bounded_attempt_time(schedule, failed, last_attempt_at, next_attempt_at, tx.now);
        Ok(PostponedDelivery { number, next_attempt_at, corrected_at })
    })?;
    Ok(waiting.into_iter().filter(|delivery| delivery.corrected_at < delivery.next_attempt_at).collect())
}

/// Brings these deliveries forward, unless their next attempt has changed.
pub fn bring_forward(tx: &Tx<'_>, postponed: &[PostponedDelivery]) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = $1
               WHERE number = $2 AND state = 'pending' AND next_attempt_at = $3";
    let params = |delivery: &PostponedDelivery| {
        Ok((delivery.corrected_at.micros(), delivery.number, delivery.next_attempt_at.micros()))
    };
    tx.run_each(sql, postponed.iter(), params)
}
