//! Attempts that a clock which was once ahead has put off: they are brought forward to what the schedule allows.

use crate::db::tx::{self, Error, Tx};
use crate::domain::hr_delivery::{self, RetrySchedule};
use crate::domain::timestamp::Timestamp;

/// A delivery whose next attempt is further away than the schedule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    number: i64,
    next: Timestamp,
    bounded: Timestamp,
}

/// The deliveries whose next attempt is further away than the schedule allows.
///
/// # Errors
/// When SQLite fails.
pub fn late(tx: &Tx<'_>, schedule: &RetrySchedule) -> Result<Vec<Late>, Error> {
    let sql = "SELECT d.number, d.failed_attempts, d.next_attempt_at, a.at
               FROM hr_deliveries d
               LEFT JOIN hr_attempts a ON a.delivery_number = d.number AND a.number = d.attempts
               WHERE d.state = 'pending' AND d.next_attempt_at > $1
               ORDER BY d.number";
    let waiting = tx.all(sql, [tx.now.micros()], |row| {
        let (number, failed, next) = (row.get(0)?, row.get(1)?, tx::time(row, 2)?);
        let bounded = hr_delivery::bounded_attempt_time(schedule, failed, tx::time_or_none(row, 3)?, next, tx.now);
        Ok(Late { number, next, bounded })
    })?;
    Ok(waiting.into_iter().filter(|one| one.bounded < one.next).collect())
}

/// Brings them forward, where they still wait for the same time.
///
/// # Errors
/// When SQLite fails.
pub fn bring_forward(tx: &Tx<'_>, late: &[Late]) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = $1
               WHERE number = $2 AND state = 'pending' AND next_attempt_at = $3";
    tx.run_each(sql, late.iter(), |one| Ok((one.bounded.micros(), one.number, one.next.micros())))
}
