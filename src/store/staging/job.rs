//! The background job of staging. After a start of the service, the job drops the imports that were undecided at the
//! start. The job also finishes a decided import whose command ended early, for example because the command was killed
//! or the disk was full. After it has dropped rows, the job requests page wiping and the truncation of the write-ahead
//! log.

use std::sync::Arc;

use super::super::erasure::progress::Erasures;
use super::{WORK_MAX, delete_wiped, drop_slice, dropped, publish_slice, undecided};
use crate::db::cleanup;
use crate::db::job_reader::JobReader;
use crate::db::scheduler::Step;
use crate::db::tx::{Error, Tx};
use crate::db::writer::Writer;
use crate::world::World;

/// The number of steps between two scans while there is no work, and after a failure. The job rests for 50 ms between
/// two steps, so it then scans once a second.
const SCAN_EVERY_STEPS: u32 = 20;

/// Prepares the job that works on imports. Each step runs short transactions.
pub(in super::super) fn job_step(
    reader: JobReader,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
) -> Result<Step, Error> {
    let undecided = reader.snapshot(world.now(), undecided)?;
    let mut worker = Worker { reader, world, erasures, writer, undecided, due: None, wiping: None, idle_steps: 0 };
    Ok(Box::new(move || worker.step()))
}

struct Worker {
    reader: JobReader,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
    /// The imports that were not decided when the service started.
    undecided: Vec<i64>,
    /// The next row to publish, as of the last scan. If the row still exists at the next scan, no running import is
    /// publishing it.
    due: Option<i64>,
    /// The dropped imports whose pages are being wiped, and the [`Erasures::committed_count`] that the wiping must
    /// reach.
    wiping: Option<(Vec<i64>, u64)>,
    /// The number of steps until the next scan.
    idle_steps: u32,
}

impl Worker {
    /// Drops some rows of undecided imports or, when none are left, publishes rows and has pages wiped. Returns the
    /// outcome, or `None` between scans and while there are more rows to drop.
    fn step(&mut self) -> Option<Result<(), Error>> {
        if self.idle_steps > 0 {
            self.idle_steps -= 1;
            return None;
        }
        let dropped = self.drop_undecided();
        if matches!(dropped, Ok(true)) {
            return None;
        }
        // After a failure, such as a full disk or a lock that another process holds, the next scan tries again. The
        // other kinds of work continue.
        let published = self.publish_due();
        self.idle_steps = if matches!(published, Ok(true)) { 0 } else { SCAN_EVERY_STEPS - 1 };
        Some(dropped.and(self.wipe_dropped()).and(published.map(drop)))
    }

    /// Drops some rows of an undecided import. Returns whether there might be more rows to drop.
    fn drop_undecided(&mut self) -> Result<bool, Error> {
        let Some(import) = self.undecided.last().copied() else { return Ok(false) };
        let drop_owing = move |tx: &Tx<'_>| {
            cleanup::owe(tx)?;
            drop_slice(tx, import)
        };
        if !self.writer.run(drop_owing)? {
            self.undecided.pop();
        }
        Ok(true)
    }

    /// Publishes rows that no import has published since the last scan. Returns whether there might be more rows.
    fn publish_due(&mut self) -> Result<bool, Error> {
        let next = self.reader.snapshot(self.world.now(), next_decided)?;
        let is_left = next.is_some() && next == self.due;
        self.due = next;
        if !is_left {
            return Ok(false);
        }
        let world = Arc::clone(&self.world);
        let has_more = self.writer.run(move |tx| {
            let begun = world.monotonic();
            publish_slice(tx, &|| world.monotonic().saturating_sub(begun) >= WORK_MAX)
        })?;
        self.due = self.reader.snapshot(self.world.now(), next_decided)?;
        Ok(has_more)
    }

    /// Requests the wiping of the pages of dropped imports, and deletes the imports after the wiping.
    fn wipe_dropped(&mut self) -> Result<(), Error> {
        match self.wiping.take() {
            Some((imports, commits)) if self.erasures.is_log_truncated(commits) => {
                self.writer.run(move |tx| delete_wiped(tx, &imports))
            }
            Some(waiting) => {
                self.wiping = Some(waiting);
                Ok(())
            }
            None => {
                let imports = self.reader.snapshot(self.world.now(), dropped)?;
                if !imports.is_empty() {
                    self.erasures.add_work();
                    self.wiping = Some((imports, self.erasures.committed_count()));
                }
                Ok(())
            }
        }
    }
}

/// Returns the number of the next row of a decided import.
fn next_decided(tx: &Tx<'_>) -> Result<Option<i64>, Error> {
    let sql = "SELECT r.number
               FROM imports i
               JOIN import_rows r ON r.import_number = i.number
               WHERE i.decided_at IS NOT NULL
               ORDER BY r.import_number, r.number
               LIMIT 1";
    tx.value(sql, [])
}
