//! The scheduler: runs background jobs on a few threads until it is stopped. The layer above lists the jobs. This
//! module does not depend on the purpose of any job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::error::Error;
use super::health::{BackgroundJob, Health};

/// One step of a job. It returns the outcome to report, or `None` if there is nothing to report.
pub(crate) type Step = Box<dyn FnMut() -> Option<Result<(), Error>> + Send>;

/// A job with its schedule.
pub(crate) struct ScheduledJob {
    pub(crate) job: BackgroundJob,
    /// The time between the end of one step and the start of the next. The first step also waits for this time.
    pub(crate) rest: Duration,
    pub(crate) step: Step,
}

/// The running threads.
pub(crate) struct Scheduler {
    threads: Vec<JobThread>,
}

impl Scheduler {
    /// Starts a thread for each list of jobs.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the system cannot start another thread.
    pub(crate) fn start(threads: Vec<(&str, Vec<ScheduledJob>)>, health: &Arc<Health>) -> Result<Self, Error> {
        let start = |(name, jobs)| JobThread::start(name, jobs, Arc::clone(health));
        Ok(Self { threads: threads.into_iter().map(start).collect::<Result<_, _>>()? })
    }

    /// Stops the threads, one after the other. Each thread finishes its current step.
    pub(crate) fn stop(&self) {
        self.threads.iter().for_each(JobThread::stop);
    }
}

/// A thread, and the flag that stops it.
struct JobThread {
    stopping: Arc<Stopping>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl JobThread {
    fn start(name: &str, jobs: Vec<ScheduledJob>, health: Arc<Health>) -> Result<Self, Error> {
        let stopping = Arc::new(Stopping::default());
        let stopping_of_thread = Arc::clone(&stopping);
        let run = move || run(jobs, &stopping_of_thread, &health);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread = thread.map_err(|error| Error::Unavailable(error.to_string()))?;
        Ok(Self { stopping, thread: Mutex::new(Some(thread)) })
    }

    fn stop(&self) {
        self.stopping.set();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for JobThread {
    fn drop(&mut self) {
        self.stop();
    }
}

#[derive(Default)]
struct Stopping {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Stopping {
    fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for at most this time. Returns true as soon as the thread must stop.
    fn is_set_within(&self, time: Duration) -> bool {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_set, time, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Repeatedly runs the job that has been due for the longest time. A job that always has work therefore delays any
/// other job by at most one step.
fn run(jobs: Vec<ScheduledJob>, stopping: &Stopping, health: &Health) {
    let begun = Instant::now();
    let mut jobs: Vec<(Instant, ScheduledJob)> = jobs.into_iter().map(|job| (begun + job.rest, job)).collect();
    while let Some((due, job)) = jobs.iter_mut().min_by_key(|(due, _)| *due) {
        if stopping.is_set_within(due.saturating_duration_since(Instant::now())) {
            return;
        }
        run_step(job, health);
        *due = Instant::now() + job.rest;
    }
}

/// Runs one step. A panic is reported as a failure of the job. The job's next step might succeed, and the other jobs
/// continue.
fn run_step(job: &mut ScheduledJob, health: &Health) {
    match catch_unwind(AssertUnwindSafe(&mut job.step)) {
        Ok(None) => {}
        Ok(Some(outcome)) => health.report(job.job, &outcome),
        Err(_) => {
            let panicked = Error::Defect("it panicked; the log lines above show the location".to_owned());
            health.report(job.job, &Err::<(), _>(panicked));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;

    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::world::Scripted;

    const BROKEN: BackgroundJob = BackgroundJob::new("broken");
    const SOUND: BackgroundJob = BackgroundJob::new("sound");
    const JOBS: &[BackgroundJob] = &[BROKEN, SOUND];
    const REST: Duration = Duration::from_millis(1);

    fn health() -> (Arc<Scripted>, Arc<Health>) {
        let world = Arc::new(Scripted::at(Timestamp::from_micros(0)));
        (Arc::clone(&world), Arc::new(Health::new(world, JOBS)))
    }

    fn scheduled(job: BackgroundJob, step: impl FnMut() -> Option<Result<(), Error>> + Send + 'static) -> ScheduledJob {
        ScheduledJob { job, rest: REST, step: Box::new(step) }
    }

    #[test]
    fn a_job_that_panics_is_reported_and_the_other_jobs_continue() {
        let (world, health) = health();
        let (stepped, steps) = mpsc::channel();
        let broken = scheduled(BROKEN, || panic!("planted"));
        let sound = scheduled(SOUND, move || {
            let _ = stepped.send(());
            Some(Ok(()))
        });
        let scheduler = Scheduler::start(vec![("jobs", vec![broken, sound])], &health).unwrap();
        for _ in 0..3 {
            steps.recv().unwrap();
        }
        world.pass(Duration::from_secs(10));
        assert_eq!(health.failing(), [BROKEN]);
        assert!(health.news()[0].contains("job broken has been failing for 10 s: it panicked"));
        scheduler.stop();
    }

    #[test]
    fn a_job_that_always_has_work_delays_another_job_by_at_most_one_step() {
        let (_, health) = health();
        let slow_steps = Arc::new(AtomicU32::new(0));
        let (seen_by_quick, mut seen_before) = (Arc::clone(&slow_steps), 0);
        let (counted, counts) = mpsc::channel();
        let slow = scheduled(BROKEN, move || {
            std::thread::sleep(Duration::from_millis(5));
            slow_steps.fetch_add(1, Ordering::SeqCst);
            None
        });
        let quick = scheduled(SOUND, move || {
            let seen = seen_by_quick.load(Ordering::SeqCst);
            let _ = counted.send(seen - seen_before);
            seen_before = seen;
            None
        });
        let scheduler = Scheduler::start(vec![("jobs", vec![slow, quick])], &health).unwrap();
        let between: Vec<u32> = counts.iter().take(10).collect();
        scheduler.stop();
        assert!(between.iter().all(|steps| *steps <= 1), "{between:?}");
    }

    #[test]
    fn stopping_waits_for_the_current_step_and_starts_no_other_step() {
        let (_, health) = health();
        let (begun, begins) = mpsc::channel();
        let steps = Arc::new(AtomicU32::new(0));
        let finished = Arc::clone(&steps);
        let job = scheduled(SOUND, move || {
            let _ = begun.send(());
            std::thread::sleep(Duration::from_millis(20));
            finished.fetch_add(1, Ordering::SeqCst);
            None
        });
        let scheduler = Scheduler::start(vec![("jobs", vec![job])], &health).unwrap();
        begins.recv().unwrap();
        scheduler.stop();
        let finished = steps.load(Ordering::SeqCst);
        assert_eq!((finished, begins.try_iter().count() as u32), (finished, finished - 1));
        assert!(finished >= 1);
    }
}
