//! The writer: the one thread and the one connection that change the file for the service.
//!
//! Whatever waits runs in one `BEGIN IMMEDIATE` transaction and is committed once, then all are answered. No answer
//! leaves before its commit.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use rusqlite::{Connection, ErrorCode};

use super::connection::{self, Use};
use super::schema;
use super::tx::{self, Error, Tx};
use crate::world::World;

/// Jobs that may wait. At some 30,000 a second this is a tenth of a second; past it a caller is better told to wait.
const QUEUE_JOBS_MAX: usize = 4_096;

/// Jobs of one transaction: enough to share the cost of a commit, few enough that the first does not wait long.
const BATCH_JOBS_MAX: usize = 256;

/// What must be true of a job before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// It is on the disk: survives a power cut. What an admin, staff or a candidate did.
    Durable,
    /// It is with the operating system: survives `kill -9`. Rows of the usage log, attempts to deliver.
    Logged,
}

trait Job: Send {
    fn grade(&self) -> Grade;
    fn run(&mut self, tx: &Tx<'_>) -> Result<(), Error>;
    fn done(self: Box<Self>, outcome: Result<(), Error>);
}

struct Typed<T, F, D> {
    grade: Grade,
    job: F,
    done: D,
    value: Option<T>,
}

impl<T, F, D> Job for Typed<T, F, D>
where
    T: Send,
    F: FnMut(&Tx<'_>) -> Result<T, Error> + Send,
    D: FnOnce(Result<T, Error>) + Send,
{
    fn grade(&self) -> Grade {
        self.grade
    }

    fn run(&mut self, tx: &Tx<'_>) -> Result<(), Error> {
        self.value = Some((self.job)(tx)?);
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), Error>) {
        let Self { done, value, .. } = *self;
        let nothing = || Error::Defect("a job was answered without having run".to_owned());
        done(outcome.and_then(|()| value.ok_or_else(nothing)));
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    stopping: bool,
}

/// Why nothing more may be written by this process, once that is so: the outcome of a transaction is unknown.
pub(super) type Broken = Arc<OnceLock<String>>;

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    broken: Broken,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on nothing is written by this process. The first reason stays.
    fn break_off(&self, why: String) {
        let _ = self.broken.set(why);
    }
}

/// The handle to the writer's thread.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Opens the writing connection and starts the thread.
    pub(super) fn start(path: &Path, world: Arc<dyn World>) -> Result<Self, Error> {
        let connection = connection::open(path, Use::Write)?;
        schema::use_wal(&connection)?;
        // The checkpoint thread does this, not a commit.
        connection.execute_batch("PRAGMA wal_autocheckpoint = 0")?;
        let shared = Arc::new(Shared::default());
        let thread = {
            let shared = Arc::clone(&shared);
            let run = move || {
                let thread = Thread { connection, world, shared: Arc::clone(&shared), synchronous: Grade::Durable };
                if catch_unwind(AssertUnwindSafe(|| thread.run())).is_err() {
                    // A defect of the writer itself: nobody must wait for a thread that is gone.
                    shared.break_off("the writer panicked; its place is in the lines above".to_owned());
                    let left = std::mem::take(&mut shared.lock().jobs);
                    answer_all(left.into(), &Err(Error::Unavailable("the writer is gone".to_owned())));
                }
            };
            std::thread::Builder::new()
                .name("writer".to_owned())
                .spawn(run)
                .map_err(|error| Error::Unavailable(error.to_string()))?
        };
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    pub(super) fn submit<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) {
        let job = Box::new(Typed { grade, job, done, value: None });
        let refused = {
            let mut queue = self.shared.lock();
            if let Some(why) = self.shared.broken.get() {
                why.clone()
            } else if queue.stopping {
                "the service is stopping".to_owned()
            } else if queue.jobs.len() >= QUEUE_JOBS_MAX {
                "the queue of writes is full".to_owned()
            } else {
                queue.jobs.push_back(job as Box<dyn Job>);
                self.shared.changed.notify_one();
                return;
            }
        };
        job.done(Err(Error::Unavailable(refused)));
    }

    pub(super) fn broken(&self) -> &Broken {
        &self.shared.broken
    }

    /// Lets the thread finish what is queued, and waits for it.
    pub(super) fn stop(&self) {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Thread {
    connection: Connection,
    world: Arc<dyn World>,
    shared: Arc<Shared>,
    /// What the connection's `synchronous` is set to now.
    synchronous: Grade,
}

impl Thread {
    fn run(mut self) {
        while let Some(batch) = self.next_batch() {
            self.answer(batch);
        }
        if self.shared.broken.get().is_some() {
            return;
        }
        // Nothing waits any more: leave one whole file behind.
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    /// Everything that waits, up to a batch; `None` when the thread is to stop and nothing waits.
    fn next_batch(&self) -> Option<Vec<Box<dyn Job>>> {
        let mut queue = self.shared.lock();
        while queue.jobs.is_empty() {
            if queue.stopping {
                return None;
            }
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let count = queue.jobs.len().min(BATCH_JOBS_MAX);
        Some(queue.jobs.drain(..count).collect())
    }

    fn answer(&mut self, mut batch: Vec<Box<dyn Job>>) {
        if let Some(why) = self.shared.broken.get() {
            return answer_all(batch, &Err(Error::Unavailable(why.clone())));
        }
        match self.attempt(&mut batch) {
            Attempt::Ended(outcome) => answer_all(batch, &outcome),
            // One job failed and the transaction is undone. Each again by itself, so that only its own fails.
            Attempt::JobFailed(error) if batch.len() == 1 => answer_all(batch, &Err(error)),
            Attempt::JobFailed(_) => {
                for job in batch {
                    self.answer(vec![job]);
                }
            }
        }
    }

    fn attempt(&mut self, batch: &mut [Box<dyn Job>]) -> Attempt {
        let durable = batch.iter().any(|job| job.grade() == Grade::Durable);
        if let Err(error) = self.begin(if durable { Grade::Durable } else { Grade::Logged }) {
            return Attempt::Ended(Err(error));
        }
        for job in batch {
            if let Err(error) = run(&self.connection, self.world.as_ref(), job.as_mut()) {
                return match tx::undo(&self.connection) {
                    Ok(()) => Attempt::JobFailed(error),
                    Err(worse) => Attempt::Ended(Err(self.break_off(&worse))),
                };
            }
        }
        Attempt::Ended(self.commit())
    }

    fn begin(&mut self, grade: Grade) -> Result<(), Error> {
        if grade != self.synchronous {
            // Prepared anew each time: the pragma takes effect when it is prepared, not when it runs.
            let level = if grade == Grade::Durable { "FULL" } else { "NORMAL" };
            self.connection.execute_batch(&format!("PRAGMA synchronous = {level}"))?;
            self.synchronous = grade;
        }
        tx::begin(&self.connection)
    }

    fn commit(&self) -> Result<(), Error> {
        let committed = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        let Err(error) = committed else { return Ok(()) };
        // A full disk refuses before the commit is written, so the outcome is known: nothing happened. The exception is
        // shared memory that cannot grow, which SQLite tells as another error: that may come after it.
        let known = matches!(error.sqlite_error_code(), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy));
        let undone = tx::undo(&self.connection);
        if known && undone.is_ok() { Err(Error::from(error)) } else { Err(self.break_off(&Error::from(error))) }
    }

    /// After a commit or a rollback that failed in a way that leaves its outcome open, nothing more may be written by
    /// this process.
    fn break_off(&self, error: &Error) -> Error {
        let why = format!("the outcome of a transaction is unknown until the next start: {error}");
        self.shared.break_off(why.clone());
        Error::Defect(why)
    }
}

enum Attempt {
    /// The batch was committed, or failed as a whole.
    Ended(Result<(), Error>),
    /// A job failed; nothing of the batch is in the file.
    JobFailed(Error),
}

fn run(connection: &Connection, world: &dyn World, job: &mut dyn Job) -> Result<(), Error> {
    let ran = catch_unwind(AssertUnwindSafe(|| tx::within(connection, world.now(), |tx| job.run(tx))));
    ran.unwrap_or_else(|_| Err(Error::Defect("a job panicked; its place is in the lines above".to_owned())))
}

fn answer_all(batch: Vec<Box<dyn Job>>, outcome: &Result<(), Error>) {
    for job in batch {
        // Whoever waits may be gone, or fail on the answer; that is no reason to keep the others waiting.
        let _ = catch_unwind(AssertUnwindSafe(|| job.done(outcome.clone())));
    }
}
