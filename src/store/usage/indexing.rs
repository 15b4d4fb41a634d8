//! The background job that indexes the usage log, in slices that keep the writer free for other jobs. The job also
//! redates rows, because indexing and redating both change the usage index.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::index::{self, MissingIndex};
use super::redate;
use crate::db::clock::Clock;
use crate::db::job_reader::JobReader;
use crate::db::scheduler::Step;
use crate::db::service_log::ServiceLog;
use crate::db::tx::{self, Error};
use crate::db::writer::Writer;
use crate::domain::text::counted;
use crate::domain::timestamp::Timestamp;

/// The value of [`UnindexedRows`] at which the job runs. Each run writes the newest row of each key that has unindexed
/// rows, so more frequent runs would write the rows of busy keys more often.
const ROWS_MIN: u64 = 20_000;

/// The maximum time for which rows wait for a run while [`UnindexedRows`] is below [`ROWS_MIN`].
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The wait after a failed run.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The maximum time for which one step redates rows. The time is short, because other jobs on the same thread wait for
/// the step.
const REDATE_MAX: Duration = Duration::from_millis(50);

/// The maximum number of index entries, or of newest rows, that one transaction writes (a slice). A slice occupies the
/// writer for half a millisecond.
const SLICE_ROWS: usize = 512;

/// The number of usage rows and jobs since the last run. Jobs are counted, because a job may have appended a usage row.
/// The number starts at one, because rows that were written before the service started may still be unindexed.
pub(crate) struct UnindexedRows {
    count: AtomicU64,
    /// Whether other servers also append rows. `count` does not include their rows.
    are_others_writing: bool,
}

impl Default for UnindexedRows {
    fn default() -> Self {
        Self { count: AtomicU64::new(1), are_others_writing: false }
    }
}

impl UnindexedRows {
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn of_several_servers() -> Self {
        Self { are_others_writing: true, ..Self::default() }
    }

    pub(in crate::store) fn add(&self, rows: usize) {
        self.count.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

/// Prepares the job that indexes and redates rows.
pub(in crate::store) fn job_step(
    reader: JobReader,
    unindexed: Arc<UnindexedRows>,
    writer: Arc<Writer>,
    clock: Arc<Clock>,
    log: Arc<ServiceLog>,
) -> Step {
    let mut ran_at = Instant::now();
    let mut has_failed = false;
    let mut redated = None;
    Box::new(move || {
        let rows = unindexed.count.load(Ordering::Relaxed);
        let wait = if has_failed { RETRY_AFTER } else { WAIT_MAX };
        let is_full = rows >= ROWS_MIN && !has_failed;
        let may_have_rows = rows > 0 || unindexed.are_others_writing;
        let is_due = is_full || (may_have_rows && ran_at.elapsed() >= wait);
        let indexed = (is_due && redated.is_none()).then(|| {
            unindexed.count.fetch_sub(rows, Ordering::Relaxed);
            let indexed = add_missing(&reader, &writer);
            has_failed = indexed.is_err();
            if has_failed {
                unindexed.count.fetch_add(rows, Ordering::Relaxed);
            }
            ran_at = Instant::now();
            indexed
        });
        // If redating fails, a later step tries again. While the clock differs from the believed time, the job cannot
        // know which rows are ahead.
        let reading = clock.read();
        if reading.agrees()
            && let Ok(rows @ 1..) = redate_some(&reader, &writer, &clock, &mut redated)
        {
            log.write(format!(
                "the clock was ahead; {} with a time in the future got a time just before {}, in the same order",
                counted(rows, "usage row"),
                reading.wall
            ));
        }
        indexed
    })
}

/// Redates rows that are dated in the future, in slices, until no such row is left or the time for one step has passed.
/// `redated` counts the rows while more might be left. Returns the count when no row is left, and 0 until then.
fn redate_some(
    reader: &JobReader,
    writer: &Writer,
    clock: &Arc<Clock>,
    redated: &mut Option<usize>,
) -> Result<usize, Error> {
    if redated.is_none() && !reader.snapshot(clock.read().wall, redate::is_due)? {
        return Ok(0);
    }
    let begun = Instant::now();
    let mut rows = redated.take().unwrap_or(0);
    while begun.elapsed() < REDATE_MAX {
        let clock = Arc::clone(clock);
        let slice = move |tx: &tx::Tx<'_>| {
            if clock.read().agrees() { redate::redate(tx, redate::ROWS_MAX) } else { Ok(0) }
        };
        match writer.run(slice)? {
            0 => return Ok(rows),
            slice_rows => rows += slice_rows,
        }
    }
    *redated = Some(rows);
    Ok(0)
}

/// Adds the missing part of the usage index. If a run is interrupted between two slices, the usage lists and statistics
/// still give the same results.
pub(super) fn add_missing(reader: &JobReader, writer: &Writer) -> Result<(), Error> {
    let MissingIndex { entries, newest, to } = reader.snapshot(Timestamp::from_micros(0), index::missing_index)?;
    for slice in entries.chunks(SLICE_ROWS) {
        let slice = slice.to_vec();
        writer.run(move |tx| index::add_entries(tx, &slice))?;
    }
    for slice in newest.chunks(SLICE_ROWS) {
        let slice = slice.to_vec();
        writer.run(move |tx| index::set_newest(tx, &slice))?;
    }
    writer.run(move |tx| index::set_indexed_to(tx, to))
}
