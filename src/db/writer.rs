//! The handle to the writing connection for jobs: a queue, which the writer thread (`writer_thread.rs`) works off. Knows
//! nothing of log rows.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use super::halt::Broken;
use super::job::{Grade, Job, Typed};
use super::tx::{Error, Tx};

/// Jobs that may wait, and rows. At some 30,000 a second this is a tenth of a second; past it a caller is better told to
/// wait.
pub(crate) const QUEUE_JOBS_MAX: usize = 4_096;

/// Jobs of one transaction: enough to share the cost of a commit, few enough that the first does not wait long.
const BATCH_JOBS_MAX: usize = 256;

#[derive(Default)]
pub(super) struct Queue {
    pub(super) jobs: VecDeque<Box<dyn Job>>,
    /// Rows that could not be committed at the end of a tick.
    pub(super) rows_wait: bool,
    pub(super) stopping: bool,
}

/// The queue of jobs for the writing connection.
#[derive(Default)]
pub(crate) struct Writer {
    queue: Mutex<Queue>,
    changed: Condvar,
    broken: Broken,
}

impl Writer {
    /// Queues a job for the thread, and wakes it.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) {
        if self.queue(grade, job, done) {
            self.changed.notify_one();
        }
    }

    /// Has the thread do a job of the service itself, and waits for its end.
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

    /// Queues a job for the thread. True for the first job that waits: the caller then wakes the thread
    /// ([`Writer::wake_for_jobs`]) once the others of this tick are queued too, so that they share a transaction.
    pub(crate) fn queue<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> bool {
        let job = Box::new(Typed::new(grade, job, done));
        let refused = {
            let mut queue = self.lock();
            match self.refusal(&queue) {
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

    /// Set once nothing more may be written.
    pub(crate) fn broken(&self) -> &Broken {
        &self.broken
    }

    /// Why nothing more is accepted, where that is so.
    pub(super) fn refusal(&self, queue: &Queue) -> Option<String> {
        match self.broken.get() {
            Some(why) => Some(why.to_string()),
            None if queue.stopping => Some("the service is stopping".to_owned()),
            None => None,
        }
    }

    /// Wakes the thread where jobs wait.
    pub(super) fn wake_for_jobs(&self) {
        if !self.lock().jobs.is_empty() {
            self.changed.notify_one();
        }
    }

    /// Wakes the thread for rows.
    pub(super) fn wake_for_rows(&self) {
        self.lock().rows_wait = true;
        self.changed.notify_one();
    }

    /// Accepts nothing more. The thread ends once nothing waits.
    pub(super) fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every job that waits, up to a batch, or none where only rows do; `None` when the thread is to stop and nothing waits.
    pub(super) fn next_batch(&self, have_rows: impl Fn() -> bool) -> Option<Vec<Box<dyn Job>>> {
        let mut queue = self.lock();
        while queue.jobs.is_empty() && !queue.rows_wait {
            if queue.stopping {
                return have_rows().then(Vec::new);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.rows_wait = false;
        let count = queue.jobs.len().min(BATCH_JOBS_MAX);
        Some(queue.jobs.drain(..count).collect())
    }
}
