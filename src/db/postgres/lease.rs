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

    /// Takes the lease if it is free, or confirms that it is still held. Call this before each step of the work.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no server. The lease is then not held.
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

/// The time for which an answer of the server about the lease is reused, so that steps that are often due do not ask
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
    /// [`Error::Unavailable`] if there is no server.
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
