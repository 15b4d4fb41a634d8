//! The store of a running service: reads, writes, the usage log, and the parts that the layers above use.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::api_key::cache::{CachedKey, KeyLookup};
use super::backup::Backups;
use super::change_number::PortalChanges;
use super::erasure::{Erasures, RepeatedErasures, retention};
use super::parts::Parts;
use super::refused_credential::Refused;
use super::usage::writer::{QueuedRow, RowOutcome};
use super::{activity, attachment, file, usage};
use crate::db::clock::{self, Clock};
use crate::db::count::{CountKey, StoredCounts};
use crate::db::health::Health;
use crate::db::readers::Readers;
use crate::db::scheduler::Scheduler;
use crate::db::sqlite::wal;
use crate::db::{Closed, Error, Grade, Halt, Reserve, Tx};
use crate::domain::activity::ChainHead;

/// The open database of a running service: a file, or a PostgreSQL database.
pub struct Store {
    pub(super) scheduler: Scheduler,
    pub(super) readers: Readers,
    pub(super) parts: Parts,
    pub(super) erased_again: RepeatedErasures,
    pub(super) erased_without_list: usize,
    pub(super) form_secret: [u8; 32],
    // This field must be dropped last. Another service may open the file only after this service has finished with it.
    pub(super) _lock: Option<Arc<file::Lock>>,
}

impl Store {
    /// Runs `f` on one snapshot of the database, on the calling thread.
    ///
    /// # Errors
    /// The error of `f`; [`Error::Unavailable`] if no connection is free.
    pub fn read<T>(&self, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.parts.idle_cache.note_read();
        self.readers.read(self.parts.world.now(), f)
    }

    /// Queues a job for the writer. The job runs inside the transaction of its batch. `done` receives the result after
    /// the commit, and for [`Grade::Durable`] and [`Grade::Vital`] after the fsync. The job may run more than once, so
    /// it must not act outside the database, except on the erasure list, which a rollback restores. If the job fails,
    /// only the writes of this job are undone.
    pub fn write<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) {
        self.parts.writer.submit(grade, job, done);
    }

    /// Queues a job as [`Store::write`] does, but does not wake the writer. Returns true for the first job in the
    /// queue. In that case, call [`Store::flush`] after queueing the other jobs of this tick.
    #[must_use]
    pub fn write_with_others<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> bool {
        self.parts.writer.queue(grade, job, done)
    }

    /// Looks up a key by its digest. Returns `None` if the key does not exist or is not valid. The transaction of the
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

    /// Returns the cached key with this digest, which may be stale.
    pub fn cached_key(&self, digest: &[u8; 32]) -> Option<Arc<CachedKey>> {
        self.parts.cached.keys.get(digest)
    }

    /// Counts a refused key or sign-in. Each count is recorded as platform activity at most once an hour.
    pub fn note_refused(&self, refused: Refused) {
        self.parts.refusals.note(refused);
    }

    /// Queues a usage row for the usage log writer. `done` receives the outcome of the row. Returns true for the first
    /// row in the queue. In that case, call [`Store::flush`] soon.
    #[must_use]
    pub fn record(
        &self,
        key: Arc<CachedKey>,
        entry: usage::LogEntry,
        done: impl FnOnce(Result<RowOutcome, Error>) + Send + 'static,
    ) -> bool {
        self.parts.writer_thread.record(QueuedRow { key, entry, done: Box::new(done) })
    }

    /// Wakes the writer for queued jobs, and commits queued usage rows. Does not wait for the writer's current batch or
    /// for another process.
    pub fn flush(&self) {
        self.parts.writer_thread.flush();
    }

    /// Sets the function by which the writer answers the callers of a batch on the runtime. Without this function, or
    /// if a batch has only one caller, the writer's thread answers.
    pub fn answer_by(&self, run_on_runtime: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        self.parts.writer_thread.answer_by(run_on_runtime);
    }

    /// Sets the function that receives the requests with API keys on other servers, oldest first: for each request, the
    /// number of its key and the time since the request. A request is passed at the latest when this server logs its
    /// next request. Some are not passed: after a rollback, after a lost connection, or if other servers have logged
    /// too many requests at once. The function runs inside a transaction of the writer.
    pub fn note_requests_elsewhere_by(&self, note: impl Fn(&[(i64, Duration)]) + Send + Sync + 'static) {
        self.parts.cached.elsewhere.connect(note);
    }

    /// Makes the service delete usage rows that are older than `days` days. Only the first call has an effect.
    pub fn prune_usage(&self, days: u32) {
        let _ = self.parts.usage_days.set(days);
    }

    /// Succeeds if the service's file names still refer to the files that it has open, and the database file was not
    /// overwritten (`GET /readyz`).
    ///
    /// # Errors
    /// [`Error::Unavailable`] otherwise. The service then writes nothing more.
    pub fn require_same_files(&self) -> Result<(), Error> {
        let Some(why) = self.parts.file().and_then(|(_, identity)| identity.changed()) else { return Ok(()) };
        let halt = Halt::Lost(why);
        let error = Error::Unavailable(halt.to_string());
        let _ = self.parts.writer.broken().set(halt);
        Err(error)
    }

    /// Wakes the writer, and returns the number of times that it has finished a batch, found nothing to do, or refused
    /// the waiting callers. If a later call returns the same number, the writer was busy or stuck in the meantime.
    pub fn writer_beats(&self) -> u64 {
        self.parts.writer_thread.beats()
    }

    /// Returns whether this process does the work that only one of several servers may do. With a file, there is
    /// one process.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the database server does not answer.
    pub fn leads(&self) -> Result<bool, Error> {
        self.parts.leads()
    }

    /// Returns whether the data is on a database server, so that every read waits for the network.
    pub fn is_on_server(&self) -> bool {
        self.parts.file().is_none()
    }

    /// Returns the health of the background jobs.
    pub fn health(&self) -> &Health {
        &self.parts.health
    }

    /// Stops the background jobs, finishes the queue and moves the write-ahead log into the file. Later jobs receive
    /// [`Error::Unavailable`]. If the process must write nothing more ([`Store::broken`]), the write-ahead log is not
    /// moved. A log line names the number of owed usage rows that could not be written.
    pub fn close(&self) -> Closed {
        self.parts.interrupt();
        self.scheduler.stop();
        clock::stop(&self.parts.clock, &self.parts.writer);
        self.parts.refusals.write_rest();
        let _ = self.require_same_files();
        self.parts.writer_thread.stop();
        let lost = self.parts.reserve.owed_rows();
        if lost > 0 {
            let (noun, verb) = if lost == 1 { ("usage row", "is") } else { ("usage rows", "are") };
            self.parts
                .log
                .write(format!("{lost} {noun} could not be written before the service stopped, and {verb} lost"));
        }
        match (self.broken(), self.parts.writer_thread.left()) {
            (Some(halt), _) => Closed::Halted(halt),
            (None, Some(error)) => Closed::LogLeft(error.to_string()),
            (None, None) => Closed::Whole,
        }
    }

    /// Returns the erasure list, and the progress of the cleanup after erasures.
    pub fn erasures(&self) -> &Erasures {
        &self.parts.erasures
    }

    /// Returns the secret that signs forms.
    pub fn form_secret(&self) -> &[u8; 32] {
        &self.form_secret
    }

    /// Returns the believed clock, on which irreversible work relies.
    pub fn clock(&self) -> &Clock {
        &self.parts.clock
    }

    /// Returns the results of the retention runs.
    pub fn retention(&self) -> &retention::Runs {
        &self.parts.retention_runs
    }

    /// Passes the log lines of background jobs to `log`.
    pub fn log_by(&self, log: impl Fn(&str) + Send + Sync + 'static) {
        self.parts.log.connect(log);
    }

    /// Returns the erasures that were repeated when the file was opened, because an older copy of the file had brought
    /// the data back.
    pub fn erased_again(&self) -> &RepeatedErasures {
        &self.erased_again
    }

    /// Returns the reason why this process must stop writing, if there is one. Either the outcome of a commit or
    /// rollback is unknown, or the service's files were moved, replaced or overwritten. The process must then end.
    pub fn broken(&self) -> Option<Halt> {
        self.parts.writer.broken().get().cloned()
    }

    /// Returns the size of the write-ahead log, for the operator's metrics.
    pub fn wal_bytes(&self) -> u64 {
        self.parts.file().map_or(0, |(path, _)| wal::log_bytes(path))
    }

    /// Returns the size of all attachments, for the operator's metrics.
    pub fn attachment_bytes(&self) -> Result<u64, Error> {
        self.read(attachment::total_bytes)
    }

    /// Returns the head of the activity chain, for the operator's metrics.
    pub fn chain_head(&self) -> Result<ChainHead, Error> {
        self.read(activity::head)
    }

    /// Returns the change numbers of portals. They reflect durable changes by this process at once, and other changes
    /// after about 100 ms or after [`Store::compare_portals`].
    pub fn portals(&self) -> &PortalChanges {
        &self.parts.cached.portals
    }

    /// Returns whether other servers can change portals. A cached response is then used only after
    /// [`Store::compare_portals`].
    pub fn shares_portals(&self) -> bool {
        self.parts.shares_portals()
    }

    /// If other servers can change portals, compares the change numbers of portals in memory with those in the
    /// database. `done` receives the outcome. If the outcome is not an error, [`Store::portals`] then reflects each
    /// change that any server committed before this call.
    pub fn compare_portals(&self, done: impl FnOnce(Result<(), Error>) + Send + 'static) {
        self.parts.compare_portals(done);
    }

    /// Runs a rule on the counts with these keys, which all servers share, and stores the changes. Blocks the thread.
    ///
    /// # Errors
    /// [`Error::Defect`] if the data is in a file, because the counts are then in memory; [`Error::Unavailable`] if the
    /// counts cannot be read or changed.
    pub fn change_counts<T>(
        &self,
        keys: &BTreeSet<CountKey>,
        rule: impl FnOnce(&mut StoredCounts) -> T,
    ) -> Result<T, Error> {
        self.parts.change_counts(keys, rule)
    }

    /// Returns the schedule and the state of the service's own backups.
    pub fn backups(&self) -> &Backups {
        &self.parts.backups
    }

    /// Returns the reserve of disk space.
    pub fn reserve(&self) -> &Reserve {
        &self.parts.reserve
    }

    /// Returns the number of erased candidates in the file if it was opened without its erasure list, and 0 otherwise.
    /// The data of other candidates on the missing list may still be in the file.
    pub fn erased_without_list(&self) -> usize {
        self.erased_without_list
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::world::{Scripted, World};

    #[test]
    fn the_writer_beats_unless_a_job_is_stuck() {
        let directory = tempfile::tempdir().unwrap();
        let world: Arc<dyn World> = Arc::new(Scripted::at(Timestamp::from_micros(1_000_000)));
        let store = Store::open(&directory.path().join("a.db"), world).unwrap();
        let await_more_than = |beats: u64| while store.writer_beats() <= beats {};
        await_more_than(store.writer_beats());
        let ((begin, begun), (release, released)) = (channel(), channel::<()>());
        let stuck = move |_: &Tx<'_>| {
            begin.send(()).unwrap();
            released.recv().unwrap();
            Ok(())
        };
        store.write(Grade::Upkeep, stuck, |_| ());
        begun.recv().unwrap();
        let beats = store.writer_beats();
        assert!((0..100).all(|_| store.writer_beats() == beats));
        release.send(()).unwrap();
        await_more_than(beats);
    }
}
