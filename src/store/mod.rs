//! The store: one SQLite file, one writing connection on a thread of its own, pooled reading connections.
//!
//! `store.write(job)` and `store.record(row)` queue work for the writing connection, where whatever waits is one transaction
//! that is committed once and then answered; `store.read(…)` is one short snapshot. What memory keeps of the file stays true
//! by numbers that triggers move (`change.rs`). A file a noun has the SQL for
//! it. Nothing here knows of HTTP or JSON documents (columns that hold JSON are opaque text), or decides a rule.

pub mod access;
pub mod activity;
pub mod api_key;
pub mod application;
pub mod attachment;
pub mod board;
pub mod candidate;
pub mod candidate_step;
pub mod careers;
pub mod change;
pub mod check;
pub mod erasure;
mod expiry;
pub mod export;
pub mod feed;
pub mod file;
mod form_secret;
mod handle;
mod hooks;
pub mod hr_delivery;
pub mod hr_integration;
pub mod idempotency_key;
pub mod invitation;
pub mod logo;
pub mod membership;
pub(crate) mod memory;
pub mod organization;
pub mod outbox;
pub mod personal_data;
pub mod portal;
mod refused;
pub mod report;
pub mod role;
pub mod role_step;
mod schema;
pub mod session;
pub mod signup;
pub mod staging;
pub mod status_page;
#[cfg(test)]
mod tests;
pub mod usage;
pub mod user;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use r2d2_sqlite::SqliteConnectionManager;

pub use crate::db::{Closed, Error, Grade, Halt, OpenError, Reserve, Tx, act_alone, clock, health, read_alone};
use crate::db::{checkpoint, connection, full_disk, identity, idle, notice, thread, tx, writer, writer_thread};
use crate::world::World;
pub use api_key::cache::CachedKey;
pub use refused::Refused;
pub use usage::writer::RowOutcome;

/// Reading connections: as many as the service has threads that read. A read is microseconds, so few serve many.
pub const READERS_MAX: u32 = 17;

/// An open file, as the service uses it.
pub struct Store {
    writer: Arc<writer::Writer>,
    writer_thread: Arc<writer_thread::WriterThread<hooks::StoreHooks>>,
    memory: Arc<memory::Memory>,
    readers: r2d2::Pool<SqliteConnectionManager>,
    checkpoints: checkpoint::Checkpoints,
    changes: thread::Periodic,
    usage_indexing: thread::Periodic,
    /// There where the operator wants rows of the usage log pruned.
    pruning: OnceLock<thread::Periodic>,
    path: PathBuf,
    erasures: Arc<erasure::Erasures>,
    erased_again: erasure::RepeatedErasures,
    erased_without_list: usize,
    imports: thread::Periodic,
    wiping: thread::Periodic,
    refusals: Arc<refused::Refusals>,
    refusing: thread::Periodic,
    retention: thread::Periodic,
    asked_erasures: thread::Periodic,
    runs: Arc<erasure::retention::Runs>,
    clock: Arc<clock::Clock>,
    clock_thread: thread::Periodic,
    notices: Arc<notice::Notices>,
    sweeping: thread::Periodic,
    reserve: Arc<Reserve>,
    restoring: thread::Periodic,
    idle: idle::Idle,
    form_secret: [u8; 32],
    world: Arc<dyn World>,
    health: Arc<health::Health>,
    // Dropped behind every connection: it has the file open, and closing it drops SQLite's locks.
    identity: Arc<identity::Identity>,
    // Dropped last: another `serve` may have the file only when this one is done with it.
    _lock: Arc<file::Lock>,
}

impl Store {
    /// Opens the file for a service: creates it where there is none, upgrades an older one, and holds it so that no
    /// second service can.
    ///
    /// # Errors
    /// Everything that [`OpenError`] names.
    #[expect(clippy::needless_pass_by_value, reason = "the store keeps the world for as long as it is open")]
    pub fn open(path: &Path, world: Arc<dyn World>) -> Result<Self, OpenError> {
        let path = &file::resolve(path);
        let reserve = Arc::new(Reserve::of(path, Arc::clone(&world)));
        full_disk::retry(&reserve, || file::look_before_serving(path))?;
        let lock = Arc::new(file::Lock::take(path)?);
        let open = || Self::open_held(path, Arc::clone(&world), Arc::clone(&reserve), Arc::clone(&lock));
        full_disk::retry(&reserve, open)
    }

    fn open_held(
        path: &Path,
        world: Arc<dyn World>,
        reserve: Arc<Reserve>,
        lock: Arc<file::Lock>,
    ) -> Result<Self, OpenError> {
        file::prepare(path, file::Missing::Create, file::Older::Upgrade)?;
        let identity = Arc::new(identity::Identity::before_opening(path)?);
        let erased_without_list = erasure::write_missing_list(path)?;
        let (erasures, erased_again) = erasure::restore(path, world.as_ref())?;
        let erasures = Arc::new(erasures);
        let memory = Arc::new(memory::Memory::default());
        let hooks = hooks::StoreHooks::new(Arc::clone(&memory), Arc::clone(&erasures));
        let clock = Arc::new(clock::Clock::open(path, Arc::clone(&world))?);
        let notices = Arc::new(notice::Notices::default());
        let (ours_too, room) = (Arc::clone(&identity), Arc::clone(&reserve));
        let writer = Arc::new(writer::Writer::default());
        let (jobs, time) = (Arc::clone(&writer), Arc::clone(&clock));
        let writer_thread = Arc::new(writer_thread::WriterThread::start(path, jobs, time, hooks, ours_too, room)?);
        let readers = connection::readers(path, READERS_MAX)?;
        let refusals = refused::Refusals::new(Arc::clone(&writer), Arc::clone(&world));
        let refusing = refusals.start()?;
        let health = Arc::new(health::Health::new(Arc::clone(&world)));
        let (ours, theirs) = (Arc::clone(writer.broken()), Arc::clone(&erasures));
        let (same, jobs) = (Arc::clone(&identity), Arc::clone(&health));
        let cut_if_due = move |cut: &mut dyn FnMut() -> bool| theirs.truncate_log(cut);
        let checkpoints = checkpoint::Checkpoints::start(path, Arc::clone(&world), ours, cut_if_due, same, jobs)?;
        let changes = memory::follow(path, Arc::clone(&memory))?;
        let usage_indexing = {
            let parts = (Arc::clone(&clock), Arc::clone(&notices));
            usage::indexing::start(path, Arc::clone(&memory.unindexed), Arc::clone(&writer), parts, &health)?
        };
        let (ours, theirs) = (Arc::clone(&erasures), Arc::clone(&writer));
        let imports = staging::thread::start(path, Arc::clone(&world), ours, theirs, &health)?;
        let wiping = erasure::start_wiping(path, Arc::clone(&erasures), Arc::clone(&writer), &health)?;
        let runs = Arc::new(erasure::retention::Runs::default());
        let parts = erasure::retention::Parts {
            world: Arc::clone(&world),
            clock: Arc::clone(&clock),
            erasures: Arc::clone(&erasures),
            writer: Arc::clone(&writer),
            notices: Arc::clone(&notices),
            runs: Arc::clone(&runs),
            health: Arc::clone(&health),
        };
        let retention = erasure::retention::start(path, parts)?;
        let (ours, theirs) = (Arc::clone(&clock), Arc::clone(&writer));
        let clock_thread = expiry::start(path, ours, theirs, Arc::clone(&notices), &health)?;
        let parts = erasure::deferred_job::Parts {
            world: Arc::clone(&world),
            clock: Arc::clone(&clock),
            erasures: Arc::clone(&erasures),
            writer: Arc::clone(&writer),
        };
        let asked_erasures = erasure::deferred_job::start(path, parts, &health)?;
        let (ours, theirs) = (Arc::clone(&erasures), Arc::clone(&writer));
        let sweeping = attachment::sweep::start(path, Arc::clone(&world), ours, theirs, &health)?;
        let form_secret = form_secret::of(path, world.as_ref())?;
        let restoring = full_disk::start(Arc::clone(&reserve), Arc::clone(&writer_thread))?;
        identity.opened()?;
        Ok(Self {
            writer,
            writer_thread,
            memory,
            readers,
            checkpoints,
            changes,
            usage_indexing,
            pruning: OnceLock::new(),
            path: path.to_owned(),
            erasures,
            erased_again,
            erased_without_list,
            imports,
            wiping,
            refusals,
            refusing,
            retention,
            asked_erasures,
            runs,
            clock,
            clock_thread,
            notices,
            sweeping,
            reserve,
            restoring,
            idle: idle::Idle::start()?,
            form_secret,
            world,
            health,
            identity,
            _lock: lock,
        })
    }

    /// Runs `f` on one snapshot of the file, on this thread.
    ///
    /// # Errors
    /// What `f` refuses; [`Error::Unavailable`] when no connection is free; [`Error::Defect`] when SQLite fails.
    pub fn read<T>(&self, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.idle.note_read();
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
        self.writer_thread.record(usage::writer::QueuedRow { key, entry, done: Box::new(done) })
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
    pub fn health(&self) -> &health::Health {
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
}
