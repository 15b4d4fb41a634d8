//! Prunes the usage log: a background job deletes rows that are older than a configured number of days, in small
//! slices.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::index::indexed_to;
use crate::db::clock::Clock;
use crate::db::job_reader::JobReader;
use crate::db::row::Columns;
use crate::db::scheduler::Step;
use crate::db::tx::{Error, Tx};
use crate::db::writer::Writer;
use crate::domain;
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// The wait after a scan that leaves no row to delete.
const SCAN_EVERY: Duration = Duration::from_secs(600);

/// The wait after a failed scan.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The maximum number of rows that one transaction deletes (a slice). A slice occupies the writer for one or two
/// milliseconds, and its commit needs no fsync. At ten slices a second, the job deletes about 5,000 rows a second,
/// which uses one or two percent of the writer's time. Even a busy service logs fewer rows a second than that.
const SLICE_ROWS: usize = 512;

/// Prepares the job that deletes old rows, one slice in each step. The job does nothing until `days` is set.
pub(in crate::store) fn job_step(
    reader: JobReader,
    world: Arc<dyn World>,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
    days: Arc<OnceLock<u32>>,
) -> Step {
    let mut scanned_at = None;
    let mut wait = Duration::ZERO;
    Box::new(move || {
        let days = *days.get()?;
        let now = world.monotonic();
        if scanned_at.is_some_and(|at| now.saturating_sub(at) < wait) {
            return None;
        }
        scanned_at = Some(now);
        // The bound is computed from `earliest`, so that no row is deleted too soon if the clock is ahead.
        let retained_since = domain::usage::retained_since(clock.read().earliest(), days);
        // A full disk, or a lock that another process holds, can make a scan fail. The next scan tries again.
        let pruned = prune(&reader, &writer, retained_since);
        wait = match pruned {
            Ok(true) => Duration::ZERO,
            Ok(false) => SCAN_EVERY,
            Err(_) => RETRY_AFTER,
        };
        Some(pruned.map(drop))
    })
}

/// Deletes a slice of the oldest rows. Returns whether more rows might be left.
fn prune(reader: &JobReader, writer: &Writer, retained_since: Timestamp) -> Result<bool, Error> {
    let rows = reader.snapshot(retained_since, |tx| outdated(tx, retained_since, SLICE_ROWS))?;
    let is_full = rows.len() == SLICE_ROWS;
    if !rows.is_empty() {
        writer.run(move |tx| delete(tx, &rows))?;
    }
    Ok(is_full)
}

/// Returns the key number and the time of each of the oldest rows before `retained_since`. Leaves out rows that are not
/// indexed, because they are still needed for the statistics of their keys.
pub(super) fn outdated(tx: &Tx<'_>, retained_since: Timestamp, rows_max: usize) -> Result<Vec<(i64, i64)>, Error> {
    let sql = "SELECT key_number, at
               FROM api_key_usage
               WHERE at < $1 AND at <= $2
               ORDER BY at
               LIMIT $3";
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    tx.all(sql, (retained_since.micros(), indexed_to(tx)?, rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?))
    })
}

/// Deletes [`outdated`] rows and their index entries. Does not change `api_key_usage_newest`, so that request counts
/// continue.
pub(super) fn delete(tx: &Tx<'_>, rows: &[(i64, i64)]) -> Result<(), Error> {
    let Some((_, last)) = rows.last() else { return Ok(()) };
    let sql = "DELETE FROM api_key_usage_marks
               WHERE key_number = $1 AND at = $2";
    tx.run_each(sql, rows.iter(), |row| Ok(*row))?;
    tx.run("DELETE FROM api_key_usage WHERE at <= $1", [last])?;
    let sql = "UPDATE api_key_usage_marking
               SET pruned_to = $1
               WHERE id = 1 AND pruned_to < $1";
    tx.run(sql, [last])?;
    Ok(())
}
