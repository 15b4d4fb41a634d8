//! The pool of connections for reading. Each read is one snapshot of the primary. Short transactions on shared counts
//! ([`super::counts`]) use the same connections.
//!
//! The pool of the SQLite engine, r2d2, does not fit. It opens connections on threads of its own. If it cannot open
//! one, it reports the reason only after the caller has waited for the maximum time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::open_error::OpenError;
use super::settings::{self, Use};
use super::target::Target;
use crate::db::connection::Connection;
use crate::db::error::Error;
use crate::db::tx::{self, Tx};
use crate::domain::timestamp::Timestamp;

/// The maximum time for which a caller waits for a connection.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// After a failure to open a connection, the pool opens no other connection for this time. Without this pause, every
/// request would wait for a server that does not answer.
const REFUSED_FOR: Duration = Duration::from_millis(500);

/// A pool of reading connections.
pub(crate) struct Readers {
    target: Arc<Target>,
    connections_max: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    /// The number of connections that are idle, in use, or being opened.
    count: usize,
    /// The number of attempts to open a connection that have not ended.
    attempts: usize,
    /// Whether the next attempt to open a connection is likely to fail: the last one failed, or a transaction could not
    /// begin because its connection was broken. An attempt then begins only if no other attempt is running.
    is_suspect: bool,
    /// The last failure to open a connection. It is removed when a connection is opened.
    refused: Option<Refused>,
}

/// A failure to open a connection.
#[derive(Clone)]
struct Refused {
    at: Instant,
    why: String,
    /// Whether the server accepts no further connection, but serves those that the pool has.
    is_full: bool,
}

impl State {
    /// Returns the last failure to open a connection if it is too recent for another attempt.
    fn refusal(&self) -> Option<Refused> {
        self.refused.clone().filter(|refused| refused.at.elapsed() < REFUSED_FOR)
    }

    /// Returns the maximum time for which a caller waits. The maximum is short after a failed attempt, because a longer
    /// wait would probably not help. It is not short if the server was only full.
    fn wait_max(&self) -> Duration {
        let is_away = self.refused.as_ref().is_some_and(|refused| !refused.is_full);
        if is_away { REFUSED_FOR } else { WAIT_MAX }
    }

    /// Returns whether a caller may open a connection: the pool has room, and the caller need not wait for an attempt
    /// of another caller.
    fn may_open(&self, connections_max: usize) -> bool {
        self.count < connections_max && !(self.is_suspect && self.attempts > 0)
    }
}

impl Readers {
    /// Opens a pool and its first connection, so that the start fails if the server cannot be used.
    pub(crate) fn open(target: Arc<Target>, connections_max: usize) -> Result<Self, OpenError> {
        let first = Connection::of_postgres(settings::open(&target, Use::Read)?);
        let state = Mutex::new(State { idle: vec![first], count: 1, ..State::default() });
        Ok(Self { target, connections_max, state, freed: Condvar::new() })
    }

    /// Runs `f` on one snapshot, on the caller's thread.
    ///
    /// # Errors
    /// The errors of `f` and of the statement that begins the transaction; [`Error::Unavailable`] if there is no
    /// connection.
    pub(crate) fn read<T>(&self, f: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        self.transaction(super::connection::Connection::begin_to_read, f)
    }

    /// Runs `f` in a transaction that `begin` has begun. `f` must commit the transaction if it writes.
    ///
    /// # Errors
    /// The errors of `begin` and `f`; [`Error::Unavailable`] if there is no connection.
    pub(super) fn transaction<T>(
        &self,
        begin: impl Fn(&super::connection::Connection) -> Result<(), Error>,
        f: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut taken = self.take()?;
        let mut begun = begin(taken.connection().as_postgres());
        if begun.is_err() && taken.connection().as_postgres().is_broken() {
            // After a failover, every connection of the pool is broken.
            self.close_idle();
            drop(taken);
            taken = self.take()?;
            begun = begin(taken.connection().as_postgres());
        }
        begun?;
        f(taken.connection())
    }

    /// Runs `f` on one snapshot. `now` is the time of the transaction.
    pub(in super::super) fn snapshot<T>(
        &self,
        now: Timestamp,
        f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.read(|connection| tx::in_snapshot(connection, now, f))
    }

    /// Takes an idle connection, opens one, or waits for one.
    fn take(&self) -> Result<Taken<'_>, Error> {
        let begun = Instant::now();
        let mut state = self.state();
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(Taken { readers: self, connection: Some(connection) });
            }
            let mut refused = state.refusal();
            if refused.is_none() && state.may_open(self.connections_max) {
                state.count += 1;
                state.attempts += 1;
                drop(state);
                match self.open_counted() {
                    Ok(taken) => return Ok(taken),
                    Err(why) => refused = Some(why),
                }
                state = self.state();
            }
            let can_wait = state.count > 0 && refused.as_ref().is_none_or(|refused| refused.is_full);
            let left = state.wait_max().saturating_sub(begun.elapsed());
            let wait = if refused.is_some() { left.min(REFUSED_FOR) } else { left };
            if !can_wait || left.is_zero() {
                let refused = refused.or_else(|| state.refused.clone());
                let why = refused.map_or_else(|| "all of them are in use".to_owned(), |refused| refused.why);
                return Err(Error::Unavailable(format!("no connection for reading is available: {why}")));
            }
            state = self.freed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Opens a connection. The caller has already counted the connection and the attempt.
    fn open_counted(&self) -> Result<Taken<'_>, Refused> {
        // If the connection cannot be opened, dropping these values reduces the counts, even after a panic.
        let mut taken = Taken { readers: self, connection: None };
        let _attempt = Attempt(self);
        let opened = settings::open(&self.target, Use::Read);
        let refused = opened.as_ref().err().map(|error| Refused {
            at: Instant::now(),
            why: error.to_string(),
            is_full: matches!(error, OpenError::TooManyConnections(_)),
        });
        {
            let mut state = self.state();
            state.is_suspect = refused.is_some();
            state.refused.clone_from(&refused);
        }
        taken.connection = opened.ok().map(Connection::of_postgres);
        match refused {
            Some(refused) => Err(refused),
            None => Ok(taken),
        }
    }

    /// Closes the idle connections.
    fn close_idle(&self) {
        let mut state = self.state();
        let closed = std::mem::take(&mut state.idle);
        state.count -= closed.len();
        state.is_suspect = true;
        drop(state);
        self.freed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt to open a connection. When it ends, the callers who wait for its outcome continue.
struct Attempt<'a>(&'a Readers);

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.0.state().attempts -= 1;
        self.0.freed.notify_all();
    }
}

/// A connection in use, or one that is being opened. Dropping this value ends the snapshot and, if the connection is
/// usable, returns the connection to the pool, even after a panic.
struct Taken<'a> {
    readers: &'a Readers,
    /// `None` while the connection is being opened, and while this value is dropped.
    connection: Option<Connection>,
}

impl Taken<'_> {
    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("`take` returns only open connections")
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let usable = self.connection.take().filter(|one| one.roll_back().is_ok() && !one.as_postgres().is_broken());
        let mut state = self.readers.state();
        match usable {
            Some(connection) => state.idle.push(connection),
            None => state.count -= 1,
        }
        self.readers.freed.notify_one();
    }
}
