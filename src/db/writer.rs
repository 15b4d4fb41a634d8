//! The queue of jobs for the writing connection. The writer thread (`writer_thread.rs`) runs the jobs. This module does
//! not depend on the contents of usage rows.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use super::halt::Broken;
use super::job::{Grade, Job, Typed};
use super::tx::{Error, Tx};

/// The maximum number of waiting jobs and, separately, of waiting usage rows. At about 30,000 jobs a second, a full
/// queue is processed in about a tenth of a second. Further callers immediately get an error, and can retry.
pub(crate) const QUEUE_JOBS_MAX: usize = 4_096;

/// The maximum number of jobs in one transaction: enough to share the cost of a commit, but few enough that the first
/// job does not wait long.
const BATCH_JOBS_MAX: usize = 256;

#[derive(Default)]
pub(super) struct Queue {
    pub(super) jobs: VecDeque<Box<dyn Job>>,
    /// Whether the thread must wake without a job. This is the case if usage rows could not be committed at the end of
    /// their tick, or if a caller checks that the thread is not stuck.
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
    /// Queues a job and wakes the thread.
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

    /// Runs a job of the service itself and waits for its result.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.run_as(Grade::Upkeep, job)
    }

    /// Runs a job of this grade and waits for its result.
    pub(crate) fn run_as<T: Send + 'static>(
        &self,
        grade: Grade,
        job: impl FnMut(&Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (done, ended) = mpsc::channel();
        self.submit(grade, job, move |outcome| drop(done.send(outcome)));
        ended.recv().unwrap_or_else(|_| Err(Error::Defect("a job was dropped".to_owned())))
    }

    /// Queues a job. Returns true if this job is the first in the queue. The caller must then wake the thread
    /// ([`Writer::wake_for_jobs`]) after the other jobs of this tick have been queued, so that the jobs share a
    /// transaction.
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

    /// Returns the cell that records why writing has stopped. It is empty unless the process must write nothing more.
    pub(crate) fn broken(&self) -> &Broken {
        &self.broken
    }

    /// Returns the reason why the writer accepts no more work, if there is one.
    pub(super) fn refusal(&self, queue: &Queue) -> Option<String> {
        match self.broken.get() {
            Some(why) => Some(why.to_string()),
            None if queue.stopping => Some("the service is stopping".to_owned()),
            None => None,
        }
    }

    /// Wakes the thread if jobs are waiting.
    pub(super) fn wake_for_jobs(&self) {
        if !self.lock().jobs.is_empty() {
            self.changed.notify_one();
        }
    }

    /// Wakes the thread even if no job is waiting.
    pub(super) fn wake_for_rows(&self) {
        self.lock().rows_wait = true;
        self.changed.notify_one();
    }

    /// Makes the queue refuse further jobs. The thread ends when the queue is empty.
    pub(super) fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the jobs of the next batch. Returns an empty batch if the thread was woken without a job or must write
    /// the last usage rows. Returns `None` if the thread must stop and nothing is waiting.
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
