//! The lease of background work, which one server of the service holds at a time. It is a lock of a session, so that
//! the database server frees it when the connection of its holder ends. If a holder has lost its network, the database
//! server notices this after about 11 s.
//!
//! For a moment, an old holder and a new one may both work. The lease therefore only saves work: each step checks what
//! is due, and does no harm if two servers run it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::lock::Lock;
use super::settings::{self, Use};
use super::target::Target;
use crate::db::error::Error;
use crate::db::scheduler::Step;

/// The lease, held or not.
pub(crate) struct Lease {
    target: Arc<Target>,
    connection: Option<Connection>,
    is_held: bool,
}

impl Lease {
    pub(crate) fn new(target: Arc<Target>) -> Self {
        Self { target, connection: None, is_held: false }
    }

    /// Takes the lease if it is free, or confirms that this process still holds it. Returns whether the process now
    /// holds the lease. Call this function before each step of the work.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the server cannot be used. The lease is then not held.
    pub(crate) fn hold(&mut self) -> Result<bool, Error> {
        let held = self.try_hold();
        if held.is_err() {
            self.connection = None;
            self.is_held = false;
        }
        held
    }

    fn try_hold(&mut self) -> Result<bool, Error> {
        if self.connection.as_ref().is_none_or(Connection::is_broken) {
            self.is_held = false;
            self.connection = Some(settings::reopen(&self.target, Use::Idle)?);
        }
        let Some(connection) = &self.connection else { return Ok(false) };
        if self.is_held {
            connection.batch("SELECT 1")?;
        } else {
            let taken = connection.texts(&Lock::BackgroundWork.try_for_session())?;
            self.is_held = taken.first().is_some_and(|text| text.as_deref() == Some("t"));
        }
        Ok(self.is_held)
    }
}

/// The time for which an answer of the server about the lease is reused, so that frequent steps do not query the server
/// each time.
const ANSWER_USED_FOR: Duration = Duration::from_secs(1);

/// The lease that all background work of one server shares.
pub(crate) struct SharedLease(Mutex<(Lease, Option<Instant>)>);

impl SharedLease {
    pub(crate) fn new(target: Arc<Target>) -> Self {
        Self(Mutex::new((Lease::new(target), None)))
    }

    /// Returns whether this server does the background work. Takes the lease if it is free.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the server cannot be used.
    pub(crate) fn is_held(&self) -> Result<bool, Error> {
        let (lease, asked_at) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if asked_at.is_some_and(|at| at.elapsed() < ANSWER_USED_FOR) {
            return Ok(lease.is_held);
        }
        let is_held = lease.hold()?;
        *asked_at = Some(Instant::now());
        Ok(is_held)
    }
}

/// Returns a step that runs `step` only while `is_held` returns true. A failure of `is_held` counts as a failure of the
/// job. That failure is over as soon as `is_held` succeeds, because the job may report nothing for minutes. If another
/// server has the lease, no failure of the job concerns this server any more.
pub(crate) fn while_held(mut is_held: impl FnMut() -> Result<bool, Error> + Send + 'static, mut step: Step) -> Step {
    let (mut has_lease_failed, mut has_job_failed) = (false, false);
    Box::new(move || match is_held() {
        Ok(true) => {
            let outcome = step();
            if let Some(outcome) = &outcome {
                has_job_failed = outcome.is_err();
            }
            let is_over = std::mem::take(&mut has_lease_failed) && !has_job_failed;
            outcome.or(is_over.then_some(Ok(())))
        }
        Ok(false) => {
            let is_over = has_lease_failed || has_job_failed;
            (has_lease_failed, has_job_failed) = (false, false);
            is_over.then_some(Ok(()))
        }
        Err(error) => {
            has_lease_failed = true;
            Some(Err(error))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Error {
        Error::Unavailable("planted".to_owned())
    }

    /// The answer about the lease, and the outcome of the job if it runs.
    type Scripted = (Result<bool, Error>, Option<Result<(), Error>>);

    /// Runs a step for each element. Returns whether each step reports a success, or `None` if it reports nothing.
    fn reported(script: Vec<Scripted>) -> Vec<Option<bool>> {
        let outcome_of_job = Arc::new(Mutex::new(None));
        let outcome = Arc::clone(&outcome_of_job);
        let job: Step = Box::new(move || outcome.lock().unwrap().take());
        let (answers, outcomes): (Vec<_>, Vec<_>) = script.into_iter().unzip();
        let mut answers = answers.into_iter();
        let mut step = while_held(move || answers.next().unwrap(), job);
        let run = |outcome| {
            *outcome_of_job.lock().unwrap() = outcome;
            step().map(|reported| reported.is_ok())
        };
        outcomes.into_iter().map(run).collect()
    }

    #[test]
    fn a_failure_of_the_lease_is_over_when_the_lease_answers() {
        let steps = vec![(Ok(true), None), (Err(failure()), None), (Ok(true), None), (Ok(true), None)];
        assert_eq!(reported(steps), [None, Some(false), Some(true), None]);
        let steps = vec![(Err(failure()), None), (Ok(false), None), (Ok(false), None)];
        assert_eq!(reported(steps), [Some(false), Some(true), None]);
    }

    #[test]
    fn a_failure_of_the_job_is_over_when_the_job_succeeds_or_another_server_has_the_lease() {
        let steps = vec![
            (Ok(true), Some(Err(failure()))),
            (Err(failure()), None),
            (Ok(true), None),
            (Ok(true), Some(Ok(()))),
            (Ok(true), Some(Err(failure()))),
            (Ok(false), None),
            (Ok(true), None),
        ];
        assert_eq!(reported(steps), [Some(false), Some(false), None, Some(true), Some(false), Some(true), None]);
    }
}
