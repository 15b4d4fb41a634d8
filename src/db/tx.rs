//! A transaction, as the layer above uses it: one `now`, query helpers and a savepoint.

use std::any::Any;
use std::cell::Cell;
use std::ops::ControlFlow;

use super::connection::{Access, Connection};
use super::engine::Engine;
pub(crate) use super::error::Error;
use super::params::Params;
pub(crate) use super::row::word;
use super::row::{Columns, Row};
use super::value::ColumnType;
use crate::domain::clock::ClockReading;
use crate::domain::timestamp::Timestamp;

/// The `now` in an upgrade, which must not depend on a clock.
const NO_TIME: Timestamp = Timestamp::from_micros(0);

/// One transaction.
pub struct Tx<'a> {
    connection: &'a Connection,
    /// Writer state; `None` on all connections except the writing connection.
    state: Option<&'a dyn Any>,
    /// How a failed act is undone. A savepoint takes about a fifth of the time of a whole decision. Acts check before
    /// they write, so the first run of a batch uses no savepoints.
    undo: Undo,
    /// The time of all changes in this transaction.
    pub now: Timestamp,
    /// The earlier of `now` and the believed time, for work that must not start early when the clock is ahead. The
    /// believed time is available only in transactions of the writing connection. In all other transactions, this is
    /// `now`.
    pub(crate) earliest: Timestamp,
}

/// How to undo an act that fails after a write.
#[derive(Debug)]
pub(crate) enum Undo {
    /// By rolling back to the act's own savepoint.
    Savepoint,
    /// By rolling back the whole transaction. The cell is set if a rollback is necessary. The jobs then run again, one
    /// by one and with savepoints.
    Whole(Cell<bool>),
}

#[expect(clippy::needless_pass_by_value, reason = "callers write parameters as an array or a tuple, without `&`")]
impl Tx<'_> {
    /// Returns the writer state of this type ([`super::hooks::Hooks::state`]). Returns `None` on all connections except
    /// the writing connection.
    pub(crate) fn state<T: 'static>(&self) -> Option<&T> {
        self.state?.downcast_ref()
    }

    /// Reads the only row of a query. Returns `None` if there is no row.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(&params)?;
        rows.next()?.map(|row| map(&row)).transpose()
    }

    /// Reads the only column of the only row of a query. Returns `None` if there is no row.
    pub(crate) fn value<T: ColumnType>(&self, sql: &str, params: impl Params) -> Result<Option<T>, Error> {
        self.one(sql, params, |row| Columns::of(row).read())
    }

    /// Reads the only column of every row of a query.
    pub(crate) fn values<T: ColumnType>(&self, sql: &str, params: impl Params) -> Result<Vec<T>, Error> {
        self.all(sql, params, |row| Columns::of(row).read())
    }

    /// Reads every row of a query.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut map: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(&params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(map(&row)?);
        }
        Ok(found)
    }

    /// Reads the rows of a query in order, until `see` returns `Break`.
    pub(crate) fn each(
        &self,
        sql: &str,
        params: impl Params,
        mut see: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(&params)?;
        while let Some(row) = rows.next()? {
            if see(&row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether a query returns any rows.
    pub(crate) fn exists(&self, sql: &str, params: impl Params) -> Result<bool, Error> {
        Ok(self.connection.prepare(sql)?.query(&params)?.next()?.is_some())
    }

    /// Runs a statement. Returns the number of affected rows.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize, Error> {
        self.connection.prepare(sql)?.execute(&params)
    }

    /// Prepares a statement once and runs it for each item. Stops at the first failure.
    pub(crate) fn run_each<T, P: Params>(
        &self,
        sql: &str,
        items: impl Iterator<Item = T>,
        params: impl Fn(T) -> Result<P, Error>,
    ) -> Result<(), Error> {
        self.connection.prepare(sql)?.execute_each(items.map(params))
    }

    /// Returns the engine that stores the rows, for work that needs a different statement on each engine.
    pub(crate) fn engine(&self) -> Engine {
        self.connection.engine()
    }

    /// Returns the connection, for statements that only one engine has.
    pub(super) fn connection(&self) -> &Connection {
        self.connection
    }

    /// Runs `f`. If `f` fails, only its own writes are undone, and the transaction continues. In a batch that runs
    /// without savepoints, a failure after a write instead makes the engine roll back the whole batch and run each job
    /// again.
    pub fn savepoint<T>(&self, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let Undo::Whole(rollback_is_needed) = &self.undo else { return self.by_savepoint(f) };
        let before = self.connection.changed_rows();
        let outcome = f();
        if outcome.is_err() && self.connection.changed_rows() != before {
            rollback_is_needed.set(true);
        }
        outcome
    }

    fn by_savepoint<T>(&self, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.connection.set_savepoint()?;
        match f() {
            Ok(value) => {
                self.connection.release_savepoint()?;
                Ok(value)
            }
            Err(error) => {
                // Usually, the error of `f` is returned. After some errors, such as a full disk, the engine has already
                // rolled back the whole transaction, and the savepoint no longer exists. If `f` then returned a
                // refusal, the error of the failed undo is returned instead, so that the whole batch is rolled back.
                let undone = self.connection.undo_to_savepoint();
                match (error, undone) {
                    (Error::Refused(_), Err(worse)) => Err(worse),
                    (error, _) => Err(error),
                }
            }
        }
    }
}

/// Runs `f` inside the open transaction of an upgrade.
pub(crate) fn in_upgrade<T>(connection: &Connection, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    f(&Tx { connection, state: None, undo: Undo::Savepoint, now: NO_TIME, earliest: NO_TIME })
}

/// Runs `f` on one snapshot.
pub(crate) fn snapshot<T>(
    connection: &Connection,
    now: Timestamp,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let _transaction = Open::begin(connection, Access::Read)?;
    f(&Tx { connection, state: None, undo: Undo::Savepoint, now, earliest: now })
}

/// Runs `f` in a transaction that has begun, on its snapshot.
#[cfg(feature = "postgres")]
pub(crate) fn in_snapshot<T>(
    connection: &Connection,
    now: Timestamp,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    f(&Tx { connection, state: None, undo: Undo::Savepoint, now, earliest: now })
}

/// Runs `f` in its own transaction and commits the transaction.
pub(crate) fn act<T>(
    connection: &Connection,
    now: Timestamp,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let _transaction = Open::begin(connection, Access::Write)?;
    let value = f(&Tx { connection, state: None, undo: Undo::Savepoint, now, earliest: now })?;
    connection.commit().map_err(classify_commit_error)?;
    Ok(value)
}

/// An open transaction. Dropping this value rolls the transaction back unless it was committed, even after a panic: a
/// connection must not return to the pool inside a transaction.
struct Open<'a>(&'a Connection);

impl<'a> Open<'a> {
    fn begin(connection: &'a Connection, access: Access) -> Result<Self, Error> {
        connection.begin(access)?;
        Ok(Self(connection))
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let _ = self.0.roll_back();
    }
}

/// Classifies the error of a failed commit. An engine reports a full disk before it commits, so nothing was committed.
/// After an unexpected error, only the database shows the outcome.
fn classify_commit_error(error: Error) -> Error {
    match error {
        Error::Defect(why) => Error::OutcomeUnknown(why),
        error => error,
    }
}

/// Begins a transaction that may write. Waits for another process's lock for a limited time.
pub(crate) fn begin(connection: &Connection) -> Result<(), Error> {
    connection.begin(Access::Write)
}

/// Runs a job inside an open transaction. Also returns whether the whole transaction must be undone.
pub(crate) fn within<T>(
    connection: &Connection,
    state: &dyn Any,
    undo: Undo,
    clocks: ClockReading,
    f: impl FnOnce(&Tx<'_>) -> T,
) -> (T, bool) {
    let tx = Tx { connection, state: Some(state), undo, now: clocks.wall, earliest: clocks.earliest() };
    let value = f(&tx);
    (value, matches!(tx.undo, Undo::Whole(rollback_is_needed) if rollback_is_needed.get()))
}

/// Rolls the transaction back, unless the engine has already done so after an error.
pub(crate) fn undo(connection: &Connection) -> Result<(), Error> {
    connection.roll_back()
}
