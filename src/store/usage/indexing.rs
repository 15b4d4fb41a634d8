//! The background job that indexes the usage log, in slices that keep the writer free for others. It also redates rows,
//! because both change the usage index.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::index::{self, MissingIndex};
use super::redate;
use crate::db::clock::Clock;
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::notice::Notices;
use crate::db::row::Connection;
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error};
use crate::db::writer::Writer;
use crate::domain::timestamp::Timestamp;

/// The interval between two polls.
const POLL_EVERY: Duration = Duration::from_millis(100);

/// The job runs once this many rows are not indexed. Each run writes the newest row of each key, so more frequent runs would
/// write the same rows again.
const ROWS_MIN: u64 = 20_000;

/// The longest time that fewer rows wait for a run.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The wait after a failed run.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The index entries that one transaction adds. A slice occupies the writer for half a millisecond.
const SLICE_ROWS: usize = 512;

/// The number of appended rows that are not indexed. It starts at one, because rows from before the start may wait.
pub(crate) struct UnindexedRows(AtomicU64);

impl Default for UnindexedRows {
    fn default() -> Self {
        Self(AtomicU64::new(1))
    }
}

impl UnindexedRows {
    pub(in crate::store) fn add(&self, rows: usize) {
        self.0.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

/// Starts the job.
pub(in crate::store) fn start(
    path: &Path,
    unindexed: Arc<UnindexedRows>,
    writer: Arc<Writer>,
    (clock, notices): (Arc<Clock>, Arc<Notices>),
    health: &Arc<Health>,
) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut ran_at = Instant::now();
    let mut has_failed = false;
    let poll = move || {
        let rows = unindexed.0.load(Ordering::Relaxed);
        let wait = if has_failed { RETRY_AFTER } else { WAIT_MAX };
        let is_full = rows >= ROWS_MIN && !has_failed;
        let indexed = (is_full || (rows > 0 && ran_at.elapsed() >= wait)).then(|| {
            unindexed.0.fetch_sub(rows, Ordering::Relaxed);
            let indexed = add_missing(&connection, &writer);
            has_failed = indexed.is_err();
            if has_failed {
                unindexed.0.fetch_add(rows, Ordering::Relaxed);
            }
            ran_at = Instant::now();
            indexed
        });
        // A failure is tried again at a later poll. While the clock is not believed, it does not tell which rows are ahead.
        let reading = clock.read();
        if reading.agrees()
            && let Ok(rows @ 1..) = redate_all(&connection, &writer, &clock)
        {
            notices.say(format!(
                "the clock was ahead and had dated {rows} usage rows in the future; they are now dated just before {}, in \
                 their order",
                reading.wall
            ));
        }
        indexed
    };
    Periodic::reporting(health, Job::UsageIndex, POLL_EVERY, poll)
}

/// Redates all rows that are dated in the future, in slices. Returns their number.
fn redate_all(connection: &Connection, writer: &Writer, clock: &Arc<Clock>) -> Result<usize, Error> {
    let mut rows = 0;
    if tx::snapshot(connection, clock.read().wall, redate::is_due)? {
        let slice = || {
            let clock = Arc::clone(clock);
            let slice = move |tx: &tx::Tx<'_>| {
                if clock.read().agrees() { redate::redate(tx, redate::ROWS_MAX) } else { Ok(0) }
            };
            writer.run(slice)
        };
        while let redated @ 1.. = slice()? {
            rows += redated;
        }
    }
    Ok(rows)
}

/// Adds what the usage index lacks. A run that was interrupted between two slices leaves a log that reads the same.
pub(super) fn add_missing(connection: &Connection, writer: &Writer) -> Result<(), Error> {
    let MissingIndex { entries, newest, to } =
        tx::snapshot(connection, Timestamp::from_micros(0), index::missing_index)?;
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
