//! A thread that does something every now and then, until it is stopped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::health::{Health, Job};
use super::tx::Error;

/// The handle to the thread.
pub(crate) struct Periodic {
    stopping: Arc<(Mutex<bool>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Periodic {
    pub(crate) fn start(name: &str, every: Duration, mut act: impl FnMut() + Send + 'static) -> Result<Self, Error> {
        let stopping = Arc::new((Mutex::new(false), Condvar::new()));
        let ours = Arc::clone(&stopping);
        let run = move || {
            while !stopped_within(&ours, every) {
                // Its place is told where it happened; the next time may go better, and others rely on it.
                let _ = catch_unwind(AssertUnwindSafe(&mut act));
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread = thread.map_err(|error| Error::Unavailable(error.to_string()))?;
        Ok(Self { stopping, thread: Mutex::new(Some(thread)) })
    }

    /// The same for a job that reports how it went, where there was something to do.
    pub(crate) fn reporting(
        health: &Arc<Health>,
        job: Job,
        every: Duration,
        mut act: impl FnMut() -> Option<Result<(), Error>> + Send + 'static,
    ) -> Result<Self, Error> {
        let health = Arc::clone(health);
        Self::start(job.name(), every, move || match catch_unwind(AssertUnwindSafe(&mut act)) {
            Ok(None) => {}
            Ok(Some(outcome)) => health.report(job, &outcome),
            Err(_) => {
                let panicked = Error::Defect("it panicked; its place is in the lines above".to_owned());
                health.report(job, &Err::<(), _>(panicked));
            }
        })
    }

    /// Stops it and waits for it.
    pub(crate) fn stop(&self) {
        *self.stopping.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stopping.1.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        self.stop();
    }
}

fn stopped_within(stopping: &(Mutex<bool>, Condvar), time: Duration) -> bool {
    let stop = stopping.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = stopping.1.wait_timeout_while(stop, time, |stop| !*stop);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}
