//! The writer: transactions that run again after a conflict or a lost connection, and the outcome of a commit whose
//! answer was lost.
//!
//! Transactions, except those of [`Mode::Append`], run one at a time across all servers: each first waits for the same
//! advisory lock. It then sees everything that was committed before, and conflicts with none of the others.
//! `SERIALIZABLE` would allow them to run at the same time, but nearly every batch would fail: each decision adds to
//! the one chain of the activity, and many change the same counters. The isolation level is `READ COMMITTED`, at which
//! every statement sees the commits before it; at the higher levels, the snapshot would be older than the lock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::CommitFailure;
use super::error::Effect;
use super::lock::Lock;
use super::registration::{Backend, ID_BYTES, Registration, WriterId};
use super::settings::{self, Use};
use super::target::Target;
use crate::db::connection::Connection;
use crate::db::error::Error;

/// The maximum number of times that a transaction runs. Under the lock, conflicts come only from other programs, such
/// as an operator's client, so a second conflict in a row is rare.
const ATTEMPTS_MAX: u32 = 5;

/// The pause before a transaction runs again is this time, multiplied by the number of attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// The times for which a writer waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// The maximum time for a commit. A commit waits for the standby, and a standby that hangs would make it wait
    /// forever.
    pub(crate) commit: Duration,
    /// The time after which the writer no longer tries to determine the outcome of a commit. Together with `commit`, it
    /// is shorter than the time for which typical clients wait for an answer. A failover takes 10 to 30 s.
    pub(crate) outcome: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { commit: Duration::from_secs(10), outcome: Duration::from_secs(25) }
    }
}

/// The pause between two attempts to determine the outcome.
const OUTCOME_PAUSE: Duration = Duration::from_millis(100);

/// The time after which the callers who wait behind a transaction are refused. It equals the maximum time for which a
/// transaction waits for the lock.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Refuses the callers who wait for the next transaction. They can try again later, because their work has not begun.
type RefuseWaiting = dyn Fn(&Error) + Send;

/// The kind of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It runs alone. Its commit is on the disk, and on the synchronous standby if there is one.
    Durable,
    /// It runs alone. Its commit survives the end of the service, but perhaps not a crash of the database server.
    Logged,
    /// It only adds rows of its own, so it does not wait for the others. It must not change a row based on a value that
    /// it has read, because another transaction may change the row in between. Its commit is as durable as that of
    /// [`Mode::Logged`].
    #[cfg_attr(not(test), expect(dead_code, reason = "usage rows are numbered, so they wait for each other"))]
    Append,
}

impl Mode {
    /// Returns the statements that begin a transaction.
    fn begin(self, number: &str) -> String {
        let lock = Lock::Writer.wait();
        match self {
            Self::Durable => format!("BEGIN; {lock}; {number}"),
            Self::Logged => format!("BEGIN; SET LOCAL synchronous_commit = off; {lock}; {number}"),
            Self::Append => format!("BEGIN; SET LOCAL synchronous_commit = off; {number}"),
        }
    }
}

/// A writer with its connection. A connection that breaks is replaced.
pub(crate) struct Writer {
    target: Arc<Target>,
    id: WriterId,
    patience: Patience,
    connection: Option<Connection>,
    /// The session of the last connection.
    backend: Option<Backend>,
    /// The registration, with the number of the last transaction that was committed, as far as the writer knows.
    registered: Registration,
    /// The version of the tables that this program knows. A newer server upgrades the tables while older ones run.
    version: i64,
    /// Whether the last attempt has begun its transaction.
    has_begun: bool,
    refuse_waiting: Box<RefuseWaiting>,
}

enum Attempt<T> {
    Ended(Result<T, Error>),
    /// Nothing was committed, and the transaction may succeed if it runs again.
    Again(Error),
}

impl Writer {
    /// Connects and registers a writer. The bytes of its id must be random. The writer writes only to tables of this
    /// version.
    pub(crate) fn open(
        target: Arc<Target>,
        version: i64,
        id: [u8; ID_BYTES],
        patience: Patience,
    ) -> Result<Self, Error> {
        let mut writer = Self {
            target,
            id: WriterId::new(id),
            patience,
            connection: None,
            backend: None,
            registered: Registration::default(),
            version,
            has_begun: false,
            refuse_waiting: Box::new(|_| ()),
        };
        writer.connect()?;
        Ok(writer)
    }

    /// Sets the function that refuses the callers who wait behind a transaction. The writer calls it if the database
    /// cannot be used, or if the running transaction waits for a long time.
    pub(super) fn refuse_waiting_by(&mut self, refuse: impl Fn(&Error) + Send + 'static) {
        self.refuse_waiting = Box::new(refuse);
    }

    /// Refuses the callers who wait behind a transaction, if `begun` is at least [`WAIT_MAX`] ago.
    pub(super) fn refuse_waiting_since(&self, begun: Instant, error: &Error) {
        if begun.elapsed() >= WAIT_MAX {
            (self.refuse_waiting)(error);
        }
    }

    /// Returns the statement that makes every other writer register again, on a new connection.
    pub(super) fn end_others(&self) -> String {
        self.id.end_others()
    }

    /// Returns whether the last attempt began its transaction. If it did, a failure concerns the contents of the
    /// transaction.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Runs `f` in a transaction and commits it. `f` may run several times; only its last run has effects.
    ///
    /// # Errors
    /// The error of `f`; [`Error::Unavailable`] if the server cannot be used, if its tables have another version, or if
    /// the last of [`ATTEMPTS_MAX`] attempts ends with a conflict; [`Error::OutcomeUnknown`] if the outcome of the
    /// commit could not be determined.
    pub(crate) fn transaction<T>(
        &mut self,
        mode: Mode,
        mut f: impl FnMut(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.attempt(mode, &mut f) {
                Attempt::Ended(outcome) => return outcome,
                Attempt::Again(error) if attempts >= ATTEMPTS_MAX => return Err(error),
                Attempt::Again(_) => std::thread::sleep(RETRY_PAUSE * attempts),
            }
        }
    }

    /// Removes the registration. The engine calls this function when the service stops.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        self.connection.as_ref().map_or(Ok(()), |connection| self.id.remove(connection.as_postgres()))
    }

    /// Returns whether the writer has a connection that works, as far as it knows.
    pub(crate) fn is_connected(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| !connection.as_postgres().is_broken())
    }

    fn attempt<T>(&mut self, mode: Mode, f: &mut impl FnMut(&Connection) -> Result<T, Error>) -> Attempt<T> {
        self.has_begun = false;
        if !self.is_connected()
            && let Err(error) = self.connect()
        {
            (self.refuse_waiting)(&error);
            return Attempt::Ended(Err(error));
        }
        if self.registered.version != self.version {
            return Attempt::Ended(Err(Error::Unavailable(other_version(self.registered.version, self.version))));
        }
        let Some(shared) = &self.connection else {
            return Attempt::Ended(Err(Error::Defect("a connected writer has no connection".to_owned())));
        };
        let connection = shared.as_postgres();
        let Registration { batch, epoch, .. } = self.registered;
        match connection.begin(&mode.begin(&self.id.number(batch + 1, epoch, self.version))) {
            Ok(0) => {
                // There are three possible causes: the registration is outdated; it is gone, because an older state of
                // the database was restored; or the tables were upgraded. A new registration shows which one applies.
                self.connection = None;
                return Attempt::Again(Error::Unavailable("the registration of this writer is gone".to_owned()));
            }
            Ok(_) => self.has_begun = true,
            Err(error) => {
                let ended = after_rollback(connection.failed(), connection.roll_back(), error);
                if let Attempt::Ended(Err(error)) = &ended {
                    (self.refuse_waiting)(error);
                }
                return ended;
            }
        }
        let value = match f(shared) {
            Ok(value) if connection.failed().is_none() => value,
            failed => {
                let effect = connection.failed();
                let error = failed.err().unwrap_or_else(|| Error::Defect("a failed statement was ignored".to_owned()));
                return after_rollback(effect, connection.roll_back(), error);
            }
        };
        let begun = Instant::now();
        match connection.commit(self.patience.commit) {
            Ok(()) => {
                self.registered.batch += 1;
                Attempt::Ended(Ok(value))
            }
            Err(CommitFailure::RolledBack(error, effect)) => after_rollback(Some(effect), Ok(()), error),
            Err(CommitFailure::Unknown(why)) => self.settle(value, begun, &why),
        }
    }

    /// Determines the outcome of a commit whose answer was lost.
    fn settle<T>(&mut self, value: T, committing_since: Instant, why: &str) -> Attempt<T> {
        let known = self.registered;
        let begun = Instant::now();
        let waits = Error::Unavailable(format!("the writer waits for the outcome of a commit ({why})"));
        self.connection = None;
        self.refuse_waiting_since(committing_since, &waits);
        while let Err(error) = self.connect() {
            self.refuse_waiting_since(committing_since, &waits);
            if begun.elapsed() >= self.patience.outcome {
                let why = format!("a commit was not confirmed ({why}), and its outcome cannot be determined: {error}");
                return Attempt::Ended(Err(Error::OutcomeUnknown(why)));
            }
            std::thread::sleep(OUTCOME_PAUSE);
        }
        match known.has_advanced(self.registered) {
            Some(true) => Attempt::Ended(Ok(value)),
            Some(false) => {
                let why = format!("a commit was not confirmed ({why}) and has not happened");
                Attempt::Again(Error::Unavailable(why))
            }
            None => {
                let why = "the server has lost the registration of this writer".to_owned();
                Attempt::Ended(Err(Error::OutcomeUnknown(why)))
            }
        }
    }

    /// Replaces the connection, and registers again.
    fn connect(&mut self) -> Result<(), Error> {
        self.connection = None;
        let connection = settings::reopen(&self.target, Use::Write)?;
        if let Some(backend) = &self.backend {
            backend.end_if_waiting(&connection)?;
        }
        let registration = self.id.register(&connection)?;
        self.backend = Some(Backend::of(&connection)?);
        self.registered = registration;
        self.connection = Some(Connection::of_postgres(connection));
        Ok(())
    }
}

/// Returns the sentence about tables of another version.
pub(super) fn other_version(found: i64, known: i64) -> String {
    format!(
        "the database has been upgraded to version {found}, but this program knows version {known}; start the newer \
         program"
    )
}

fn after_rollback<T>(effect: Option<Effect>, undone: Result<(), Error>, error: Error) -> Attempt<T> {
    match (effect, undone) {
        (_, Err(worse)) => Attempt::Ended(Err(worse)),
        (Some(Effect::Retry | Effect::Lost), Ok(())) => Attempt::Again(error),
        (Some(Effect::Rollback) | None, Ok(())) => Attempt::Ended(Err(error)),
    }
}
