//! The way to the writing connection: jobs wait for a thread, rows of the usage log for the end of the runtime's turn.
//!
//! Whatever waits is committed in one transaction, then all are answered. No answer leaves before its commit. Rows alone
//! need no thread: whoever has the runtime commits them ([`Writer::flush`]), which spares each batch two changes of
//! thread and a fifth of the cost of a request that only reads. Where the thread has the connection, it commits them
//! itself right after its batch, so that no thread of the runtime ever waits for a disk.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread::JoinHandle;

use super::clock::Clock;
use super::engine::{By, Engine};
use super::halt::{Broken, Halt};
use super::identity::Identity;
use super::job::{self, Answering, Grade, Job, Typed};
use super::reserve::Reserve;
use super::tx::{Error, Tx};
use crate::store::erasure::Erasures;
use crate::store::memory::Memory;
use crate::store::recording::{self, Recorded, Recording};

/// Jobs that may wait, and rows. At some 30,000 a second this is a tenth of a second; past it a caller is better told to
/// wait.
const QUEUE_JOBS_MAX: usize = 4_096;

/// Jobs of one transaction: enough to share the cost of a commit, few enough that the first does not wait long.
const BATCH_JOBS_MAX: usize = 256;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Box<dyn Job>>,
    /// Rows that could not be committed at the end of a turn.
    rows_wait: bool,
    stopping: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    rows: Mutex<Vec<Recording>>,
    engine: Mutex<Engine>,
    answering: Answering,
    broken: Broken,
    /// Why the end left something in the write-ahead log.
    left: OnceLock<Error>,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> MutexGuard<'_, Vec<Recording>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing more is taken, where that is so.
    fn refusal(&self, queue: &Queue) -> Option<String> {
        match self.broken.get() {
            Some(why) => Some(why.to_string()),
            None if queue.stopping => Some("the service is stopping".to_owned()),
            None => None,
        }
    }

    fn let_thread_record(&self) {
        self.queue().rows_wait = true;
        self.changed.notify_one();
    }
}

/// The handle to the writing connection and its thread.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Opens the writing connection and starts the thread.
    pub(crate) fn start(
        path: &Path,
        clock: Arc<Clock>,
        memory: Arc<Memory>,
        erasures: Arc<Erasures>,
        identity: Arc<Identity>,
        reserve: Arc<Reserve>,
    ) -> Result<Self, Error> {
        let broken = Broken::default();
        let engine = Engine::open(path, clock, memory, erasures, Arc::clone(&broken), identity, reserve)?;
        let answering = engine.answering();
        let (queue, changed, rows) = (Mutex::default(), Condvar::new(), Mutex::default());
        let shared = Arc::new(Shared {
            queue,
            changed,
            rows,
            engine: Mutex::new(engine),
            answering,
            broken,
            left: OnceLock::new(),
        });
        let ours = Arc::clone(&shared);
        let run = move || {
            if catch_unwind(AssertUnwindSafe(|| run(&ours))).is_err() {
                // A defect of the writer itself: nobody must wait for a thread that is gone.
                let why = "the writer panicked; its place is in the lines above".to_owned();
                let _ = ours.broken.set(Halt::Unknown(why));
                let gone = Error::Unavailable("the writer is gone".to_owned());
                let left = std::mem::take(&mut ours.queue().jobs);
                job::answer_all(left.into(), &Err(gone.clone()));
                let left = std::mem::take(&mut *ours.rows());
                recording::answer_all(left, &Err(gone));
            }
        };
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(run);
        let thread = thread.map_err(|error| Error::Unavailable(error.to_string()))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Queues a job for the thread, and wakes it.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) {
        if self.queue(grade, job, done) {
            self.shared.changed.notify_one();
        }
    }

    /// Has the thread do a job of the store itself, and waits for its end.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.run_as(Grade::Upkeep, job)
    }

    /// The same of this grade.
    pub(crate) fn run_as<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (done, ended) = mpsc::channel();
        self.submit(grade, job, move |outcome| drop(done.send(outcome)));
        ended.recv().unwrap_or_else(|_| Err(Error::Defect("a job was dropped".to_owned())))
    }

    /// Queues a job for the thread. Whether it is the first that waits: then whoever calls sees to it that
    /// [`Writer::flush`] is called once the others of this turn are there too, so that they share a transaction.
    pub(crate) fn queue<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> bool {
        let job = Box::new(Typed::new(grade, job, done));
        let refused = {
            let mut queue = self.shared.queue();
            match self.shared.refusal(&queue) {
                Some(why) => why,
                None if queue.jobs.len() >= QUEUE_JOBS_MAX => "the queue of writes is full".to_owned(),
                None => {
                    queue.jobs.push_back(job as Box<dyn Job>);
                    return queue.jobs.len() == 1;
                }
            }
        };
        job.done(Err(Error::Unavailable(refused)));
        false
    }

    /// Lets a row wait. Whether it is the first to: then whoever calls sees to it that [`Writer::flush`] is called once
    /// the others of this turn are there too.
    pub(crate) fn record(&self, row: Recording) -> bool {
        let refused = self.shared.refusal(&self.shared.queue());
        let mut rows = self.shared.rows();
        let refused = refused
            .or_else(|| (rows.len() >= QUEUE_JOBS_MAX).then(|| "too many rows of the usage log wait".to_owned()));
        if let Some(why) = refused {
            drop(rows);
            recording::answer_all(vec![row], &Err::<Recorded, _>(Error::Unavailable(why)));
            return false;
        }
        rows.push(row);
        rows.len() == 1
    }

    /// Wakes the thread for the jobs that wait, and commits the rows that wait: on this thread where the connection is free
    /// and nothing has to be waited for.
    pub(crate) fn flush(&self) {
        if !self.shared.queue().jobs.is_empty() {
            self.shared.changed.notify_one();
        }
        if self.shared.rows().is_empty() {
            return;
        }
        let Ok(mut engine) = self.shared.engine.try_lock() else { return self.shared.let_thread_record() };
        let rows = std::mem::take(&mut *self.shared.rows());
        if rows.is_empty() {
            return;
        }
        if let Err(rows) = engine.record(rows, By::Runtime) {
            self.shared.rows().splice(0..0, rows);
            self.shared.let_thread_record();
        }
    }

    /// Has the answers of a batch given by whom this hands them to, instead of by the writer's thread.
    pub(crate) fn answer_by(&self, hand: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        self.shared.answering.set(hand);
    }

    /// Writes the rows of the usage log that are owed since the disk was full.
    pub(crate) fn pay_owed_rows(&self) {
        if self.shared.broken.get().is_none() {
            // What fails now is tried again at the next look.
            let _ = self.shared.engine().pay();
        }
    }

    pub(crate) fn broken(&self) -> &Broken {
        &self.shared.broken
    }

    /// Why the end left something in the write-ahead log, where it did.
    pub(crate) fn left(&self) -> Option<&Error> {
        self.shared.left.get()
    }

    /// Lets the thread finish what is queued, and waits for it.
    pub(crate) fn stop(&self) {
        self.shared.queue().stopping = true;
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

fn run(shared: &Shared) {
    while let Some(batch) = next_batch(shared) {
        let mut engine = shared.engine();
        let rows = std::mem::take(&mut *shared.rows());
        if !rows.is_empty() {
            let _ = engine.record(rows, By::Writer);
        }
        if !batch.is_empty() {
            engine.answer(batch);
        }
    }
    if shared.broken.get().is_none() {
        // Nothing waits any more.
        if let Err(error) = shared.engine().leave() {
            let _ = shared.left.set(error);
        }
    }
}

/// Every job that waits, up to a batch, or none where only rows do; `None` when the thread is to stop and nothing waits.
fn next_batch(shared: &Shared) -> Option<Vec<Box<dyn Job>>> {
    let mut queue = shared.queue();
    while queue.jobs.is_empty() && !queue.rows_wait {
        if queue.stopping {
            return (!shared.rows().is_empty()).then(Vec::new);
        }
        queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    queue.rows_wait = false;
    let count = queue.jobs.len().min(BATCH_JOBS_MAX);
    Some(queue.jobs.drain(..count).collect())
}
