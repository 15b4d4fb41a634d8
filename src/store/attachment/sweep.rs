//! The sweep: a background job that deletes attachments that belong to neither a signup nor an application. It deletes
//! staged attachments after an hour, and detached attachments at the next scan. If the data is in a file, the sweep
//! also deletes the uploads that a previous process did not finish. It deletes one slice at a time, so that other
//! writes and the shutdown do not wait for the whole sweep.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::super::erasure::progress::Erasures;
use super::{SCANNED_MAX, delete_slice, expired_until};
use crate::db::cleanup;
use crate::db::job_reader::JobReader;
use crate::db::scheduler::Step;
use crate::db::tx::{Error, Tx};
use crate::db::writer::Writer;
use crate::domain::id::AttachmentId;
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// The time from one scan to the next, unless a failure or an erasure makes the next scan due earlier.
const SCAN_EVERY: Duration = Duration::from_secs(60);

/// The time from one scan to the next if the scan, or a deletion after it, failed.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The processes that can upload attachments into the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Uploaders {
    /// Only this process. Unfinished uploads from before its start are abandoned.
    ThisProcess,
    /// Other servers too. Their unfinished uploads expire as other staged attachments do.
    SeveralServers,
}

/// Creates the job that deletes attachments, one slice in each step. Performs the first scan.
pub(in super::super) fn job_step(
    reader: JobReader,
    uploaders: Uploaders,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
) -> Result<Step, Error> {
    let mut sweeper = Sweeper::new(reader, uploaders, world, erasures, writer)?;
    Ok(Box::new(move || sweeper.step()))
}

/// The facts about the start of this process that identify the unfinished uploads of a previous process. No client can
/// finish these uploads. Their numbers alone do not identify them, because a new attachment may reuse the number of a
/// deleted attachment.
#[derive(Debug, Clone, Copy)]
struct ProcessStart {
    newest_number: i64,
    time: Timestamp,
}

impl ProcessStart {
    /// A start that precedes all uploads.
    const BEFORE_ALL: Self = Self { newest_number: 0, time: Timestamp::from_micros(0) };
}

/// The state of the job.
pub(super) struct Sweeper {
    reader: JobReader,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
    start: ProcessStart,
    /// The attachments that the last scan found and that the job has neither deleted nor failed to delete.
    queue: VecDeque<AttachmentId>,
    scanned_at: Duration,
    /// The [`Erasures::committed_count`] at the last scan.
    seen_erasures: u64,
    /// Whether an attachment that the last scan found has been deleted.
    has_swept: bool,
    /// Whether the last scan, or a slice since then, failed.
    has_failed: bool,
}

impl Sweeper {
    /// Scans once, so that [`Erasures::are_unfinished`] is correct from the start.
    pub(super) fn new(
        reader: JobReader,
        uploaders: Uploaders,
        world: Arc<dyn World>,
        erasures: Arc<Erasures>,
        writer: Arc<Writer>,
    ) -> Result<Self, Error> {
        let now = world.now();
        let start = match uploaders {
            Uploaders::ThisProcess => ProcessStart { newest_number: reader.snapshot(now, newest_number)?, time: now },
            Uploaders::SeveralServers => ProcessStart::BEFORE_ALL,
        };
        let (queue, scanned_at) = (VecDeque::new(), Duration::ZERO);
        let (seen_erasures, has_swept, has_failed) = (0, false, false);
        let mut new =
            Self { reader, world, erasures, writer, start, queue, scanned_at, seen_erasures, has_swept, has_failed };
        new.has_failed = new.scan().is_err();
        Ok(new)
    }

    /// Scans if a scan is due and the queue is empty, then deletes one slice, if there is one. Returns a failure at
    /// once, and returns a success when all attachments that the scan found have been deleted.
    pub(super) fn step(&mut self) -> Option<Result<(), Error>> {
        let now = self.world.monotonic();
        let has_new_erasures = self.erasures.committed_count() != self.seen_erasures;
        let wait = if self.has_failed { RETRY_AFTER } else { SCAN_EVERY };
        let is_due = has_new_erasures || now.saturating_sub(self.scanned_at) >= wait;
        if self.queue.is_empty() && is_due {
            let scanned = self.scan();
            self.has_failed = scanned.is_err();
            if scanned.is_err() || self.queue.is_empty() {
                return Some(scanned);
            }
        }
        let attachment = self.queue.front().cloned()?;
        let failure = match self.writer.run(move |tx| delete_owing(tx, &attachment)) {
            Ok(false) => return None,
            Ok(true) => {
                self.has_swept = true;
                None
            }
            // If the deletion failed, for example on a full disk, the next scan finds the attachment again.
            Err(error) => Some(error),
        };
        self.has_failed |= failure.is_some();
        self.queue.pop_front();
        if self.queue.is_empty() && std::mem::take(&mut self.has_swept) {
            // The pages of the file and the log still contain the deleted content, perhaps of an erased candidate, so
            // they must be wiped. `add_work` also causes another scan, which might find more attachments.
            self.erasures.add_work();
        }
        let has_succeeded = self.queue.is_empty() && !self.has_failed;
        failure.map(Err).or(has_succeeded.then_some(Ok(())))
    }

    fn scan(&mut self) -> Result<(), Error> {
        self.scanned_at = self.world.monotonic();
        self.seen_erasures = self.erasures.committed_count();
        let found = self.reader.snapshot(self.world.now(), |tx| scan(tx, self.start))?;
        if found.is_empty() {
            self.erasures.note_swept(self.seen_erasures);
        } else if !self.erasures.needs_sweep() {
            self.erasures.add_work();
        }
        self.queue = found;
        Ok(())
    }
}

/// Deletes a slice of an attachment. In a PostgreSQL database, also records that the tables need a cleanup.
fn delete_owing(tx: &Tx<'_>, attachment: &AttachmentId) -> Result<bool, Error> {
    cleanup::owe(tx)?;
    delete_slice(tx, attachment)
}

fn newest_number(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT coalesce(max(number), 0)
               FROM documents";
    Ok(tx.value(sql, [])?.unwrap_or(0))
}

/// Finds attachments that belong to neither a signup nor an application and that are detached, are too old, or are
/// unfinished uploads of a previous process.
fn scan(tx: &Tx<'_>, start: ProcessStart) -> Result<VecDeque<AttachmentId>, Error> {
    let sql = "SELECT id
               FROM documents
               WHERE signup_id IS NULL AND candidate_role_id IS NULL
                 AND (created_at <= $1 OR (bytes IS NULL AND number <= $2 AND created_at < $3))
               ORDER BY created_at
               LIMIT $4";
    let params = (expired_until(tx.now).micros(), start.newest_number, start.time.micros(), SCANNED_MAX);
    Ok(tx.all(sql, params, super::attachment_id)?.into())
}
