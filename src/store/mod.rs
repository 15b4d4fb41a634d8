//! The store: one SQLite file, one writing connection on a thread of its own, pooled reading connections.
//!
//! `store.write(job)` and `store.record(row)` queue work for the writing connection, where whatever waits is one transaction
//! that is committed once and then answered; `store.read(…)` is one short snapshot. What memory keeps of the file stays true
//! by numbers that triggers move (`change.rs`). A file a noun has the SQL for
//! it. Nothing here knows of HTTP or JSON documents (columns that hold JSON are opaque text), or decides a rule.

pub mod access;
pub mod activity;
pub mod api_key;
pub mod board;
pub mod candidate;
pub mod candidate_role;
pub mod candidate_step;
pub mod careers;
pub mod change;
pub mod check;
mod checkpoint;
mod connection;
pub mod document;
mod engine;
pub mod erasure;
pub mod export;
pub mod feed;
pub mod file;
mod form_secret;
pub mod health;
pub mod hr_delivery;
pub mod hr_integration;
pub mod idempotency_key;
pub mod invitation;
mod job;
mod known_key;
pub mod logo;
mod marking;
pub mod membership;
mod memory;
pub mod organization;
pub mod outbox;
pub mod portal;
mod recording;
pub mod report;
pub mod role;
pub mod role_step;
mod schema;
pub mod session;
pub mod signup;
pub mod status_page;
#[cfg(test)]
mod tests;
mod thread;
mod tx;
pub mod usage;
pub mod user;
mod writer;

use std::path::Path;
use std::sync::Arc;

use r2d2_sqlite::SqliteConnectionManager;

use crate::world::World;
pub use file::OpenError;
pub use job::Grade;
pub use known_key::KnownKey;
pub use recording::Recorded;
pub use tx::{Error, Tx};

/// Reading connections: as many as the service has threads that read. A read is microseconds, so few serve many.
pub const READERS_MAX: u32 = 17;

/// An open file, as the service uses it.
pub struct Store {
    writer: Arc<writer::Writer>,
    memory: Arc<memory::Memory>,
    readers: r2d2::Pool<SqliteConnectionManager>,
    checkpoints: checkpoint::Checkpoints,
    changes: thread::Periodic,
    marking: thread::Periodic,
    erasures: Arc<erasure::Erasures>,
    erased_again: erasure::ErasedAgain,
    wiping: thread::Periodic,
    retention: thread::Periodic,
    sweeping: thread::Periodic,
    form_secret: [u8; 32],
    world: Arc<dyn World>,
    // Dropped last: another `serve` may have the file only when this one is done with it.
    _lock: file::Lock,
}

impl Store {
    /// Opens the file for a service: creates it where there is none, upgrades an older one, and holds it so that no
    /// second service can.
    ///
    /// # Errors
    /// Everything that [`OpenError`] names.
    pub fn open(path: &Path, world: Arc<dyn World>) -> Result<Self, OpenError> {
        let path = &file::resolve(path);
        let lock = file::Lock::take(path)?;
        file::prepare(path, file::Missing::Create, file::Older::Upgrade)?;
        let (erasures, erased_again) = erasure::restore(path, world.as_ref())?;
        let erasures = Arc::new(erasures);
        let memory = Arc::new(memory::Memory::default());
        let (ours, theirs) = (Arc::clone(&memory), Arc::clone(&erasures));
        let writer = Arc::new(writer::Writer::start(path, Arc::clone(&world), ours, theirs)?);
        let readers = connection::readers(path, READERS_MAX)?;
        let checkpoints = checkpoint::Checkpoints::start(path, Arc::clone(writer.broken()), Arc::clone(&erasures))?;
        let changes = memory::follow(path, Arc::clone(&memory))?;
        let marking = marking::start(path, Arc::clone(&memory.appended), Arc::clone(&writer))?;
        let wiping = erasure::start_wiping(path, Arc::clone(&erasures), Arc::clone(&writer))?;
        let (ours, theirs) = (Arc::clone(&erasures), Arc::clone(&writer));
        let retention = erasure::start_retention(path, Arc::clone(&world), ours, theirs)?;
        let (ours, theirs) = (Arc::clone(&erasures), Arc::clone(&writer));
        let sweeping = document::start_sweeping(path, Arc::clone(&world), ours, theirs)?;
        let form_secret = form_secret::of(path, world.as_ref())?;
        Ok(Self {
            writer,
            memory,
            readers,
            checkpoints,
            changes,
            marking,
            erasures,
            erased_again,
            wiping,
            retention,
            sweeping,
            form_secret,
            world,
            _lock: lock,
        })
    }

    /// Runs `f` on one snapshot of the file, on this thread.
    ///
    /// # Errors
    /// What `f` refuses; [`Error::Unavailable`] when no connection is free; [`Error::Defect`] when SQLite fails.
    pub fn read<T>(&self, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let connection = self.readers.get().map_err(|error| Error::Unavailable(format!("no reader: {error}")))?;
        tx::snapshot(&connection, self.world.now(), f)
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

    /// The key of this digest, as memory knows it or as the file has it now; `None` where there is none, or it does not
    /// count. That it still does is asked once more in the transaction that the request ends in.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when no connection is free; [`Error::Defect`] when SQLite fails.
    pub fn key(&self, digest: &[u8; 32]) -> Result<Option<Arc<KnownKey>>, Error> {
        match self.known_key(digest) {
            Some(key) => Ok(Some(key).filter(|key| !key.is_expired(self.world.now()))),
            None => self.read(|tx| self.memory.keys.look_up(tx, digest)),
        }
    }

    /// The key of this digest, where memory knows it.
    pub fn known_key(&self, digest: &[u8; 32]) -> Option<Arc<KnownKey>> {
        self.memory.keys.get(digest)
    }

    /// Lets a row of the usage log wait to be committed together with others; `done` is told what became of it. Whether
    /// it is the first that waits: then the caller must see to it that [`Store::flush`] is called soon.
    #[must_use]
    pub fn record(
        &self,
        key: Arc<KnownKey>,
        entry: usage::LogEntry,
        done: impl FnOnce(Result<Recorded, Error>) + Send + 'static,
    ) -> bool {
        self.writer.record(recording::Recording { key, entry, done: Box::new(done) })
    }

    /// Lets everything that waits be committed. Never waits for a disk or for another process.
    pub fn flush(&self) {
        self.writer.flush();
    }

    /// Has answers given by whom this hands them to, many at once, instead of by the writer's own thread.
    pub fn answer_by(&self, hand: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        self.writer.answer_by(hand);
    }

    /// Which portals have changed, as far as this process knows: its own changes at once, those of others within 100 ms.
    pub fn portals(&self) -> &change::Portals {
        &self.memory.portals
    }

    /// What erases candidates.
    pub fn erasures(&self) -> &erasure::Erasures {
        &self.erasures
    }

    /// What the forms of this file are signed with.
    pub fn form_secret(&self) -> &[u8; 32] {
        &self.form_secret
    }

    /// What was erased again when the file was opened, because it was once and the file still had it.
    pub fn erased_again(&self) -> erasure::ErasedAgain {
        self.erased_again
    }

    /// A sentence where the writer has stopped for good, because a commit's outcome is unknown. The process must end:
    /// the next start reads from the file what became of it.
    pub fn broken(&self) -> Option<String> {
        self.writer.broken().get().cloned()
    }

    /// The bytes of the write-ahead log, for the operator's metrics.
    pub fn wal_bytes(&self) -> u64 {
        self.checkpoints.wal_bytes()
    }

    /// Finishes what is queued, moves the write-ahead log into the file and stops the threads. Jobs that come later
    /// are answered [`Error::Unavailable`].
    pub fn close(&self) {
        self.changes.stop();
        self.marking.stop();
        self.retention.stop();
        self.sweeping.stop();
        self.wiping.stop();
        self.checkpoints.stop();
        self.writer.stop();
    }
}

/// Runs one act on a file without a service: the way of the command line, while a service runs on the same file or
/// not. One durable transaction; what it writes is there whole or not at all.
///
/// # Errors
/// What `f` refuses; [`Error::Unavailable`] where another process holds the write lock for longer than 5 s.
pub fn act_alone<T>(path: &Path, world: &dyn World, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let connection = connection::open(path, connection::Use::Write)?;
    tx::act(&connection, world.now(), f)
}

/// Runs `f` on one snapshot of a file without a service.
///
/// # Errors
/// What `f` refuses; [`Error::Defect`] when SQLite fails.
pub fn read_alone<T>(path: &Path, world: &dyn World, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let connection = connection::open(path, connection::Use::Read)?;
    tx::snapshot(&connection, world.now(), f)
}
