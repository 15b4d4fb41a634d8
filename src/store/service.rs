//! The store of a running service: reads, writes, the usage log, and the parts that the floors above use.

use std::sync::Arc;

use super::api_key::cache::{CachedKey, KeyLookup};
use super::change_number::PortalChanges;
use super::erasure::{Erasures, RepeatedErasures, retention};
use super::parts::Parts;
use super::refused_credential::Refused;
use super::usage::writer::{QueuedRow, RowOutcome};
use super::{activity, attachment, file, usage};
use crate::db::clock::{self, Clock};
use crate::db::connection::Readers;
use crate::db::health::Health;
use crate::db::scheduler::Scheduler;
use crate::db::{Closed, Error, Grade, Halt, Reserve, Tx, wal};
use crate::domain::activity::ChainHead;

/// An open database file, as a service uses it.
pub struct Store {
    pub(super) scheduler: Scheduler,
    pub(super) readers: Readers,
    pub(super) parts: Parts,
    pub(super) erased_again: RepeatedErasures,
    pub(super) erased_without_list: usize,
    pub(super) form_secret: [u8; 32],
    // Dropped last: another service may open the file only after this one is done with it.
    pub(super) _lock: Arc<file::Lock>,
}

impl Store {
    /// Runs `f` on one snapshot of the file, on the caller's thread.
    ///
    /// # Errors
    /// The error of `f`; [`Error::Unavailable`] if no connection is free.
    pub fn read<T>(&self, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.parts.idle_cache.note_read();
        self.readers.read(self.parts.world.now(), f)
    }

    /// Queues a job for the writer. The job runs inside the transaction of its batch. `done` gets the result after the commit,
    /// and for [`Grade::Durable`] after the fsync. The job may run twice, so it must not act outside the file. If it fails, only
    /// its own writes are undone.
    pub fn write<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) {
        self.parts.writer.submit(grade, job, done);
    }

    /// Queues a job as [`Store::write`] does, without waking the writer. Returns true for the first job that waits: the caller
    /// must then call [`Store::flush`], once the other jobs of this tick are queued.
    #[must_use]
    pub fn write_with_others<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> bool {
        self.parts.writer.queue(grade, job, done)
    }

    /// Looks up a key by its digest; `None` if there is no such key, or it is not valid. The transaction at the end of the
    /// request checks again that the key is valid.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no connection is free.
    pub fn look_up_key(&self, digest: &[u8; 32]) -> Result<Option<Arc<CachedKey>>, Error> {
        let lookup = match self.cached_key(digest) {
            Some(key) => match key.require_valid(self.parts.world.now()) {
                Ok(()) => KeyLookup::Valid(key),
                Err(why) => KeyLookup::Refused(key.id().clone(), why),
            },
            None => self.read(|tx| self.parts.cached.keys.load(tx, digest))?,
        };
        Ok(match lookup {
            KeyLookup::Valid(key) => Some(key),
            KeyLookup::Refused(id, why) => {
                self.note_refused(Refused::ApiKey(id, why));
                None
            }
            KeyLookup::Unknown => None,
        })
    }

    /// The cached key with this digest. It may be stale.
    pub fn cached_key(&self, digest: &[u8; 32]) -> Option<Arc<CachedKey>> {
        self.parts.cached.keys.get(digest)
    }

    /// Counts a refused key or sign-in. The counts are recorded as platform activity, at most once an hour for each.
    pub fn note_refused(&self, refused: Refused) {
        self.parts.refusals.note(refused);
    }

    /// Queues a usage row, to be committed together with others. `done` gets its outcome. Returns true for the first row in
    /// the queue; its caller must call [`Store::flush`] soon.
    #[must_use]
    pub fn record(
        &self,
        key: Arc<CachedKey>,
        entry: usage::LogEntry,
        done: impl FnOnce(Result<RowOutcome, Error>) + Send + 'static,
    ) -> bool {
        self.parts.writer_thread.record(QueuedRow { key, entry, done: Box::new(done) })
    }

    /// Wakes the writer for queued jobs, and commits queued usage rows. Never waits for a disk or for another process.
    pub fn flush(&self) {
        self.parts.writer_thread.flush();
    }

    /// Hands the answers of a batch to `hand`, all at once, instead of giving them on the writer's thread.
    pub fn answer_by(&self, hand: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        self.parts.writer_thread.answer_by(hand);
    }

    /// From now on deletes usage rows that are older than this many days. The first call counts.
    pub fn prune_usage(&self, days: u32) {
        let _ = self.parts.usage_days.set(days);
    }

    /// Succeeds while the files under the service's names are the ones that it has open (`GET /readyz`).
    ///
    /// # Errors
    /// [`Error::Unavailable`] if they are not; from then on nothing more is written.
    pub fn require_same_files(&self) -> Result<(), Error> {
        let Some(why) = self.parts.identity.changed() else { return Ok(()) };
        let halt = Halt::Lost(why);
        let error = Error::Unavailable(halt.to_string());
        let _ = self.parts.writer.broken().set(halt);
        Err(error)
    }

    /// Whether each background job works.
    pub fn health(&self) -> &Health {
        &self.parts.health
    }

    /// Stops the background jobs, finishes the queue and moves the write-ahead log into the file. Later jobs get
    /// [`Error::Unavailable`]. If the files are no longer those of the service, it moves nothing.
    pub fn close(&self) -> Closed {
        self.scheduler.stop();
        clock::stop(&self.parts.clock, &self.parts.writer);
        self.parts.refusals.write_rest();
        let _ = self.require_same_files();
        self.parts.writer_thread.stop();
        match (self.broken(), self.parts.writer_thread.left()) {
            (Some(halt), _) => Closed::Halted(halt),
            (None, Some(error)) => Closed::LogLeft(error.to_string()),
            (None, None) => Closed::Whole,
        }
    }

    /// The erasures of this file, and their list.
    pub fn erasures(&self) -> &Erasures {
        &self.parts.erasures
    }

    /// The secret that signs the forms of this file.
    pub fn form_secret(&self) -> &[u8; 32] {
        &self.form_secret
    }

    /// The believed clock. Work that cannot be undone uses it.
    pub fn clock(&self) -> &Clock {
        &self.parts.clock
    }

    /// The results of the retention runs.
    pub fn retention(&self) -> &retention::Runs {
        &self.parts.retention_runs
    }

    /// Writes the log lines of background jobs with `log`.
    pub fn log_by(&self, log: impl Fn(&str) + Send + Sync + 'static) {
        self.parts.log.connect(log);
    }

    /// The erasures that were repeated when the file was opened, because an older copy of the file had brought the data back.
    pub fn erased_again(&self) -> &RepeatedErasures {
        &self.erased_again
    }

    /// The reason why this process may write nothing more, if there is one: the outcome of a commit is unknown, or the
    /// files under the service's names are not the ones that it has open. The process must end.
    pub fn broken(&self) -> Option<Halt> {
        self.parts.writer.broken().get().cloned()
    }

    /// The size of the write-ahead log, for the operator's metrics.
    pub fn wal_bytes(&self) -> u64 {
        wal::log_bytes(&self.parts.path)
    }

    /// The size of all attachments, for the operator's metrics.
    pub fn attachment_bytes(&self) -> Result<u64, Error> {
        self.read(attachment::total_bytes)
    }

    /// The head of the activity chain, for the operator's metrics.
    pub fn chain_head(&self) -> Result<ChainHead, Error> {
        self.read(activity::head)
    }

    /// The change numbers of portals. They include changes of this process at once, and those of others within 100 ms.
    pub fn portals(&self) -> &PortalChanges {
        &self.parts.cached.portals
    }

    /// The disk space, and the reserve.
    pub fn reserve(&self) -> &Reserve {
        &self.parts.reserve
    }

    /// The number of erased candidates in the file if it was opened without its erasure list; 0 with the list. Other candidates
    /// on the missing list may be in the file with all their data.
    pub fn erased_without_list(&self) -> usize {
        self.erased_without_list
    }
}
