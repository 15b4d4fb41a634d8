//! The store of a running service: reads, writes, the usage log, and the parts that the floors above use.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::api_key::cache::{CachedKey, KeyLookup};
use super::erasure::{self, Erasures, RepeatedErasures};
use super::hooks::StoreHooks;
use super::memory::Memory;
use super::refused::{Refusals, Refused};
use super::usage::writer::{QueuedRow, RowOutcome};
use super::{activity, attachment, change, file, usage};
use crate::db::checkpoint::Checkpoints;
use crate::db::clock::{self, Clock};
use crate::db::connection::Readers;
use crate::db::health::Health;
use crate::db::identity::Identity;
use crate::db::idle::Idle;
use crate::db::notice::Notices;
use crate::db::thread::Periodic;
use crate::db::writer::Writer;
use crate::db::writer_thread::WriterThread;
use crate::db::{Closed, Error, Grade, Halt, Reserve, Tx};
use crate::domain::activity::ChainHead;
use crate::world::World;

/// An open database file, as a service uses it.
pub struct Store {
    pub(super) writer: Arc<Writer>,
    pub(super) writer_thread: Arc<WriterThread<StoreHooks>>,
    pub(super) memory: Arc<Memory>,
    pub(super) readers: Readers,
    pub(super) checkpoints: Checkpoints,
    pub(super) changes: Periodic,
    pub(super) usage_indexing: Periodic,
    /// There where the operator wants rows of the usage log pruned.
    pub(super) pruning: OnceLock<Periodic>,
    pub(super) path: PathBuf,
    pub(super) erasures: Arc<Erasures>,
    pub(super) erased_again: RepeatedErasures,
    pub(super) erased_without_list: usize,
    pub(super) imports: Periodic,
    pub(super) wiping: Periodic,
    pub(super) refusals: Arc<Refusals>,
    pub(super) refusing: Periodic,
    pub(super) retention: Periodic,
    pub(super) asked_erasures: Periodic,
    pub(super) runs: Arc<erasure::retention::Runs>,
    pub(super) clock: Arc<Clock>,
    pub(super) clock_thread: Periodic,
    pub(super) notices: Arc<Notices>,
    pub(super) sweeping: Periodic,
    pub(super) reserve: Arc<Reserve>,
    pub(super) restoring: Periodic,
    pub(super) idle: Idle,
    pub(super) form_secret: [u8; 32],
    pub(super) world: Arc<dyn World>,
    pub(super) health: Arc<Health>,
    // Dropped behind every connection: it has the file open, and closing it drops SQLite's locks.
    pub(super) identity: Arc<Identity>,
    // Dropped last: another `serve` may have the file only when this one is done with it.
    pub(super) _lock: Arc<file::Lock>,
}

impl Store {
    /// Runs `f` on one snapshot of the file, on this thread.
    ///
    /// # Errors
    /// What `f` refuses; [`Error::Unavailable`] when no connection is free; [`Error::Defect`] when SQLite fails.
    pub fn read<T>(&self, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.idle.note_read();
        self.readers.read(self.world.now(), f)
    }

    /// Queues a job for the writer. It runs inside the transaction of its batch; `done` gets its answer once that is
    /// committed, durably for [`Grade::Durable`]. The job may run twice, so whatever it does outside the file must
    /// not matter. A job that fails is undone alone, its neighbours stay.
    pub fn write<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) {
        self.writer.submit(grade, job, done);
    }

    /// The same for one of many: it runs once [`Store::flush`] is called, in one transaction with whatever waits by then.
    /// Whether it is the first that waits, and the caller must see to that.
    #[must_use]
    pub fn write_with_others<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> bool {
        self.writer.queue(grade, job, done)
    }

    /// Looks up a key by its digest; `None` if there is no such key, or it is not valid. The transaction that the request
    /// ends in checks again that the key is valid.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no connection is free.
    pub fn look_up_key(&self, digest: &[u8; 32]) -> Result<Option<Arc<CachedKey>>, Error> {
        let lookup = match self.cached_key(digest) {
            Some(key) => match key.require_valid(self.world.now()) {
                Ok(()) => KeyLookup::Valid(key),
                Err(why) => KeyLookup::Refused(key.id().clone(), why),
            },
            None => self.read(|tx| self.memory.keys.load(tx, digest))?,
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
        self.memory.keys.get(digest)
    }

    /// Notes that a key or a sign-in was refused. It is on record soon, at most once an hour for each, with a count.
    pub fn note_refused(&self, refused: Refused) {
        self.refusals.note(refused);
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
        self.writer_thread.record(QueuedRow { key, entry, done: Box::new(done) })
    }

    /// Lets everything that waits be committed. Never waits for a disk or for another process.
    pub fn flush(&self) {
        self.writer_thread.flush();
    }

    /// Has answers given by whom this hands them to, many at once, instead of by the writer's own thread.
    pub fn answer_by(&self, hand: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        self.writer_thread.answer_by(hand);
    }

    /// From now on deletes rows of the usage log that are older than so many days, a few at a time. To be called once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the thread cannot be started.
    pub fn prune_usage(&self, days: u32) -> Result<(), Error> {
        let pruning = usage::pruning::start(
            &self.path,
            Arc::clone(&self.world),
            Arc::clone(&self.clock),
            Arc::clone(&self.writer),
            days,
            &self.health,
        )?;
        // A second one is stopped at once.
        let _ = self.pruning.set(pruning);
        Ok(())
    }

    /// Passes while the files by name are those that are open (`GET /readyz`).
    ///
    /// # Errors
    /// [`Error::Unavailable`] where they are not; from then on nothing more is written.
    pub fn require_same_files(&self) -> Result<(), Error> {
        let Some(why) = self.identity.changed() else { return Ok(()) };
        let halt = Halt::Lost(why);
        let error = Error::Unavailable(halt.to_string());
        let _ = self.writer.broken().set(halt);
        Err(error)
    }

    /// How the work goes that the service does by itself.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Finishes what is queued, moves the write-ahead log into the file and stops the threads. Jobs that come later
    /// are answered [`Error::Unavailable`]. Where the files are not the service's any more, nothing is moved.
    pub fn close(&self) -> Closed {
        self.restoring.stop();
        self.changes.stop();
        self.usage_indexing.stop();
        self.imports.stop();
        if let Some(pruning) = self.pruning.get() {
            pruning.stop();
        }
        self.retention.stop();
        self.asked_erasures.stop();
        self.clock_thread.stop();
        clock::stop(&self.clock, &self.writer);
        self.sweeping.stop();
        self.wiping.stop();
        self.checkpoints.stop();
        self.refusing.stop();
        self.refusals.write_rest();
        let _ = self.require_same_files();
        self.writer_thread.stop();
        match (self.broken(), self.writer_thread.left()) {
            (Some(halt), _) => Closed::Halted(halt),
            (None, Some(error)) => Closed::LogLeft(error.to_string()),
            (None, None) => Closed::Whole,
        }
    }

    /// What erases candidates.
    pub fn erasures(&self) -> &Erasures {
        &self.erasures
    }

    /// What the forms of this file are signed with.
    pub fn form_secret(&self) -> &[u8; 32] {
        &self.form_secret
    }

    /// The clock that whatever cannot be undone goes by.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What the retention has come to.
    pub fn retention(&self) -> &erasure::retention::Runs {
        &self.runs
    }

    /// Has sentences about the service itself written to a log.
    pub fn log_by(&self, log: impl Fn(&str) + Send + Sync + 'static) {
        self.notices.listen(log);
    }

    /// What was erased again when the file was opened, because it was once and the file still had it.
    pub fn erased_again(&self) -> &RepeatedErasures {
        &self.erased_again
    }

    /// Why nothing more may be written, where that is so: a commit's outcome is unknown, or the files by name are not those
    /// that are open. The process must end.
    pub fn broken(&self) -> Option<Halt> {
        self.writer.broken().get().cloned()
    }

    /// The bytes of the write-ahead log, for the operator's metrics.
    pub fn wal_bytes(&self) -> u64 {
        self.checkpoints.wal_bytes()
    }

    /// The bytes of all attachments, for the operator's metrics.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn attachment_bytes(&self) -> Result<u64, Error> {
        self.read(attachment::total_bytes)
    }

    /// The head of the activity chain, for the operator's metrics.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn chain_head(&self) -> Result<ChainHead, Error> {
        self.read(activity::head)
    }

    /// Which portals have changed, as far as this process knows: its own changes at once, those of others within 100 ms.
    pub fn portals(&self) -> &change::Portals {
        &self.memory.portals
    }

    /// The room on the disk, and the reserve.
    pub fn reserve(&self) -> &Reserve {
        &self.reserve
    }

    /// How many erased candidates the file had on record when it was opened without the list of who was erased; 0 with the
    /// list. Whoever else was on that list may be in the file with all their data.
    pub fn erased_without_list(&self) -> usize {
        self.erased_without_list
    }
}
