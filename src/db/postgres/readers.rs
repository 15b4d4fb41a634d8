//! The pool of connections for reading. Each read is one snapshot of the primary.
//!
//! The pool of the SQLite engine, r2d2, does not fit: it opens connections on threads of its own, and hides the reason
//! why one cannot be opened until the caller has waited for the maximum time.

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
}

impl Readers {
    /// Opens a pool and its first connection, so that the start fails if the server cannot be used.
    pub(crate) fn open(target: Arc<Target>, connections_max: usize) -> Result<Self, OpenError> {
        let first = Connection::of_postgres(settings::open(&target, Use::Read)?);
        let state = Mutex::new(State { idle: vec![first], count: 1 });
        Ok(Self { target, connections_max, state, freed: Condvar::new() })
    }

    /// Runs `f` on one snapshot, on the caller's thread.
    ///
    /// # Errors
    /// The error of `f`; [`Error::Unavailable`] if there is no connection.
    pub(crate) fn read<T>(&self, f: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        let mut tries = 0;
        let taken = loop {
            let taken = self.take()?;
            match taken.connection().as_postgres().begin_to_read() {
                Ok(()) => break taken,
                // After a failover, every connection of the pool is broken. The last try opens a new one.
                Err(_) if taken.connection().as_postgres().is_broken() && tries < self.connections_max => tries += 1,
                Err(error) => return Err(error),
            }
        };
        f(taken.connection())
    }

    /// Runs `f` on one snapshot, as a transaction at this time.
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
                return Ok(self.taken(connection));
            }
            let mut refused = None;
            if state.count < self.connections_max {
                state.count += 1;
                drop(state);
                match settings::open(&self.target, Use::Read) {
                    Ok(connection) => return Ok(self.taken(Connection::of_postgres(connection))),
                    Err(error) => refused = Some(error),
                }
                state = self.state();
                state.count -= 1;
            }
            // A server without a free connection serves the connections that the pool already has.
            let can_wait = matches!(refused, None | Some(OpenError::TooManyConnections(_))) && state.count > 0;
            let left = WAIT_MAX.saturating_sub(begun.elapsed());
            if !can_wait || left.is_zero() {
                let why = refused.map_or_else(|| "all of them are in use".to_owned(), |error| error.to_string());
                return Err(Error::Unavailable(format!("no connection for reading is available: {why}")));
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn taken(&self, connection: Connection) -> Taken<'_> {
        Taken { readers: self, connection: Some(connection) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use. Dropping this value ends its snapshot, even after a panic, and returns it to the pool.
struct Taken<'a> {
    readers: &'a Readers,
    /// `None` only while this value is dropped.
    connection: Option<Connection>,
}

impl Taken<'_> {
    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("only `drop` takes the connection")
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
