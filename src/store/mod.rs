//! The store: one SQLite file, one writing connection on a thread of its own, pooled reading connections.
//!
//! `store.write(job)` and `store.record(usage)` queue work for the writer, which runs whatever waits in one
//! transaction, commits once and then answers; `store.read(…)` is one short snapshot. A file a noun has the SQL for
//! it. Nothing here knows of HTTP or JSON documents (columns that hold JSON are opaque text), or decides a rule.

pub mod activity;
pub mod api_key;
pub mod candidate;
pub mod candidate_role;
pub mod candidate_step;
pub mod check;
mod checkpoint;
mod connection;
pub mod file;
pub mod health;
pub mod hr_delivery;
pub mod hr_integration;
pub mod invitation;
pub mod membership;
pub mod organization;
pub mod outbox;
pub mod portal;
pub mod role;
pub mod role_step;
mod schema;
pub mod session;
mod tx;
pub mod usage;
pub mod user;
mod writer;

use std::path::Path;
use std::sync::Arc;

use r2d2_sqlite::SqliteConnectionManager;

use crate::world::World;
pub use file::OpenError;
pub use tx::{Error, Tx};
pub use writer::Grade;

/// Reading connections: as many as the service has threads that read. A read is microseconds, so few serve many.
pub const READERS_MAX: u32 = 17;

/// An open file, as the service uses it.
pub struct Store {
    writer: writer::Writer,
    readers: r2d2::Pool<SqliteConnectionManager>,
    checkpoints: checkpoint::Checkpoints,
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
        let writer = writer::Writer::start(path, Arc::clone(&world))?;
        let readers = connection::readers(path, READERS_MAX)?;
        let checkpoints = checkpoint::Checkpoints::start(path, Arc::clone(writer.broken()))?;
        Ok(Self { writer, readers, checkpoints, world, _lock: lock })
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

    /// Queues one row of the usage log. The key is looked at again in the same transaction: `done` gets false, and
    /// there is no row, where it was revoked or has expired since.
    pub fn record(&self, entry: usage::Entry, done: impl FnOnce(Result<bool, Error>) + Send + 'static) {
        self.write(Grade::Logged, move |tx| usage::append_if_alive(tx, &entry), done);
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
