//! The writer thread: it commits queued jobs and log rows in batches, and answers their callers after the commit. On a
//! full disk, it answers the callers of log rows without a commit (`sqlite/engine/owed_rows.rs`).
//!
//! Jobs wait for the thread. Rows wait for the end of the tick. With SQLite, a batch that contains only rows needs no
//! thread: the runtime commits it ([`WriterThread::flush`]). This saves two context switches for each batch, about a
//! fifth of the cost of a request that only reads. If the thread is using the connection, the thread commits the rows
//! after its batch. The runtime therefore does not wait for the fsync of a durable batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use super::halt::Halt;
use super::hooks::Hooks;
use super::job::{self, Answering, By};
use super::tx::Error;
use super::writer::{QUEUE_JOBS_MAX, Writer};
use super::writing_engine::WritingEngine;

struct Shared<H: Hooks> {
    writer: Arc<Writer>,
    rows: Mutex<Vec<H::Row>>,
    engine: Mutex<WritingEngine<H>>,
    answering: Answering,
    /// The reason why the last checkpoint left pages in the write-ahead log.
    left: OnceLock<Error>,
    /// The number of times that the thread has finished a batch, found nothing to do, or refused the waiting callers.
    beats: AtomicU64,
}

impl<H: Hooks> Shared<H> {
    fn rows(&self) -> MutexGuard<'_, Vec<H::Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers all queued jobs and rows with an error.
    fn refuse_waiting(&self, error: &Error) {
        let left = std::mem::take(&mut self.writer.lock().jobs);
        job::answer_all(left.into(), &Err(error.clone()));
        let left = std::mem::take(&mut *self.rows());
        H::fail(left, error);
    }

    fn engine(&self) -> MutexGuard<'_, WritingEngine<H>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing connection and its thread. The thread waits for the disk in every durable batch.
pub(crate) struct WriterThread<H: Hooks> {
    shared: Arc<Shared<H>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<H: Hooks> WriterThread<H> {
    /// Starts the thread, which runs the jobs of `writer` on the engine.
    pub(crate) fn start(writer: Arc<Writer>, engine: WritingEngine<H>) -> Result<Self, Error> {
        let answering = engine.answering();
        let (rows, engine) = (Mutex::default(), Mutex::new(engine));
        let shared =
            Arc::new(Shared { writer, rows, engine, answering, left: OnceLock::new(), beats: AtomicU64::new(0) });
        #[cfg(feature = "postgres")]
        {
            let ours = Arc::downgrade(&shared);
            shared.engine().refuse_waiting_by(move |error| {
                if let Some(shared) = ours.upgrade() {
                    shared.refuse_waiting(error);
                    shared.beats.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let ours = Arc::clone(&shared);
        let run = move || {
            if catch_unwind(AssertUnwindSafe(|| run(&ours))).is_err() {
                // The writer has a defect. Callers must not wait for a thread that has ended.
                let why = "the writer panicked; the log lines above show the location".to_owned();
                let _ = ours.writer.broken().set(Halt::Unknown(why));
                ours.refuse_waiting(&Error::Unavailable("the writer is gone".to_owned()));
            }
        };
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(run);
        let thread = thread.map_err(|error| Error::Unavailable(error.to_string()))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Queues a row. Returns true if this row is the first in the queue. The caller must then call
    /// [`WriterThread::flush`] after the other rows of this tick have been queued.
    pub(crate) fn record(&self, row: H::Row) -> bool {
        let refused = self.shared.writer.refusal(&self.shared.writer.lock());
        let mut rows = self.shared.rows();
        let refused = refused.or_else(|| {
            (rows.len() >= QUEUE_JOBS_MAX).then(|| "too many rows are waiting for the usage log".to_owned())
        });
        if let Some(why) = refused {
            drop(rows);
            H::fail(vec![row], &Error::Unavailable(why));
            return false;
        }
        rows.push(row);
        rows.len() == 1
    }

    /// Wakes the thread for queued jobs, and commits queued rows: with SQLite, on the caller's thread if this needs no
    /// waiting, and otherwise on the writer thread.
    pub(crate) fn flush(&self) {
        self.shared.writer.wake_for_jobs();
        if self.shared.rows().is_empty() {
            return;
        }
        let Ok(mut engine) = self.shared.engine.try_lock() else { return self.shared.writer.wake_for_rows() };
        let rows = std::mem::take(&mut *self.shared.rows());
        if rows.is_empty() {
            return;
        }
        if let Err(rows) = engine.record(rows, By::Runtime) {
            self.shared.rows().splice(0..0, rows);
            self.shared.writer.wake_for_rows();
        }
    }

    /// Sets the function that runs the answers of the thread's batches on the runtime. Without this function, and for a
    /// batch with one caller, the answers run on the writer thread.
    pub(crate) fn answer_by(&self, run_on_runtime: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) {
        self.shared.answering.set(run_on_runtime);
    }

    /// Writes the log entries that have waited since the disk was full.
    pub(crate) fn write_pending_entries(&self) {
        if self.shared.writer.broken().get().is_none() {
            // If this fails, the next step of the job for a full disk tries again.
            let _ = self.shared.engine().write_pending();
        }
    }

    /// Wakes the thread, and returns the number of times that it has finished a batch, found nothing to do, or refused
    /// the waiting callers. If a later call returns the same number, the thread was busy or stuck in the meantime.
    pub(crate) fn beats(&self) -> u64 {
        let beats = self.shared.beats.load(Ordering::Relaxed);
        self.shared.writer.wake_for_rows();
        beats
    }

    /// Returns the reason why the last checkpoint left pages in the write-ahead log, if it did.
    pub(crate) fn left(&self) -> Option<&Error> {
        self.shared.left.get()
    }

    /// Stops the thread after it has finished the queued work.
    pub(crate) fn stop(&self) {
        self.shared.writer.stop();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl<H: Hooks> Drop for WriterThread<H> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run<H: Hooks>(shared: &Shared<H>) {
    while let Some(batch) = shared.writer.next_batch(|| !shared.rows().is_empty()) {
        let mut engine = shared.engine();
        let rows = std::mem::take(&mut *shared.rows());
        if !rows.is_empty() {
            let _ = engine.record(rows, By::Writer);
        }
        if !batch.is_empty() {
            engine.answer(batch);
        }
        shared.beats.fetch_add(1, Ordering::Relaxed);
    }
    if shared.writer.broken().get().is_none()
        && let Err(error) = shared.engine().finish()
    {
        let _ = shared.left.set(error);
    }
}
