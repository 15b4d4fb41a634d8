//! Sorting the usage log by key: many rows at once, in slices that keep nobody waiting.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::connection::{self, Use};
use super::job::Grade;
use super::thread::Periodic;
use super::tx::{self, Error, Tx};
use super::usage;
use super::writer::Writer;
use crate::domain::timestamp::Timestamp;

/// How often is looked whether it is time.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Rows from which it is: with fewer, each page of the sorted table is written for fewer rows.
const ROWS_MIN: u64 = 20_000;

/// How long fewer rows wait.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Rows of one transaction: half a millisecond of the writing connection, which others wait for.
const SLICE_ROWS: usize = 512;

/// Rows that were appended and not sorted. Those of before the start are not counted, so it begins with one.
pub(super) struct Unsorted(AtomicU64);

impl Default for Unsorted {
    fn default() -> Self {
        Self(AtomicU64::new(1))
    }
}

impl Unsorted {
    pub(super) fn add(&self, rows: usize) {
        self.0.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

/// Starts the thread that sorts.
pub(super) fn start(path: &Path, unsorted: Arc<Unsorted>, writer: Arc<Writer>) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut sorted_at = Instant::now();
    let look = move || {
        let rows = unsorted.0.load(Ordering::Relaxed);
        if rows >= ROWS_MIN || (rows > 0 && sorted_at.elapsed() >= WAIT_MAX) {
            unsorted.0.fetch_sub(rows, Ordering::Relaxed);
            // What fails now is sorted with the rows that come next: they are still there.
            let _ = sort(&connection, &writer);
            sorted_at = Instant::now();
        }
    };
    Periodic::start("sorting", LOOK_EVERY, look)
}

fn sort(connection: &rusqlite::Connection, writer: &Writer) -> Result<(), Error> {
    let (rows, newest) = tx::snapshot(connection, Timestamp::from_micros(0), usage::unsorted)?;
    for slice in rows.chunks(SLICE_ROWS) {
        let slice = slice.to_vec();
        wait(writer, move |tx| usage::sort(tx, &slice))?;
    }
    wait(writer, move |tx| usage::set_sorted_to(tx, newest))
}

/// A job, and its end.
fn wait(writer: &Writer, job: impl FnMut(&Tx<'_>) -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
    let (done, ended) = mpsc::channel();
    writer.submit(Grade::Logged, job, move |outcome| drop(done.send(outcome)));
    ended.recv().unwrap_or_else(|_| Err(Error::Defect("a job was dropped".to_owned())))
}
