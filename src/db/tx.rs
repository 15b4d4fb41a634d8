//! A transaction, as the layer above uses it: one `now`, query helpers and a savepoint.

use std::any::Any;
use std::cell::Cell;
use std::ops::ControlFlow;

use rusqlite::config::DbConfig;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior};

pub(crate) use super::error::Error;
use super::row::Columns;
pub(crate) use super::row::{time, word};
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
    /// they write, so the first run uses no savepoint.
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
        let mut statement = self.connection.prepare_cached(sql)?;
        let row = statement.query_row(params, |row| Ok(map(row))).optional()?;
        row.transpose()
    }

    /// Reads the only column of the only row of a query. Returns `None` if there is no row.
    pub(crate) fn value<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Option<T>, Error> {
        self.one(sql, params, |row| Columns::of(row).read())
    }

    /// Reads the only column of every row of a query.
    pub(crate) fn values<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Vec<T>, Error> {
        self.all(sql, params, |row| Columns::of(row).read())
    }

    /// Reads every row of a query.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        mut map: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(map(row)?);
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
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            if see(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether a query returns any rows.
    pub(crate) fn exists(&self, sql: &str, params: impl Params) -> Result<bool, Error> {
        Ok(self.connection.prepare_cached(sql)?.exists(params)?)
    }

    /// Runs a statement. Returns the number of affected rows.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize, Error> {
        Ok(self.connection.prepare_cached(sql)?.execute(params)?)
    }

    /// Prepares a statement once and runs it for each item. Stops at the first failure.
    pub(crate) fn run_each<T, P: Params>(
        &self,
        sql: &str,
        items: impl Iterator<Item = T>,
        params: impl Fn(T) -> Result<P, Error>,
    ) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached(sql)?;
        for item in items {
            statement.execute(params(item)?)?;
        }
        Ok(())
    }

    /// Runs `f`, which may write raw pages of the file.
    pub(crate) fn on_raw_pages<T>(&self, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        /// Sets the guard again, even after a panic.
        struct Undefended<'a>(&'a Connection);
        impl Drop for Undefended<'_> {
            fn drop(&mut self) {
                let _ = self.0.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true);
            }
        }
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
        let _undefended = Undefended(self.connection);
        f()
    }

    /// Runs `f`. If `f` fails, only its own writes are undone, and the transaction continues. In a batch that runs
    /// without savepoints, a failure after a write instead makes the engine roll back the whole batch and run each job
    /// again.
    pub fn savepoint<T>(&self, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let Undo::Whole(rollback_is_needed) = &self.undo else { return self.by_savepoint(f) };
        let before = self.connection.total_changes();
        let outcome = f();
        if outcome.is_err() && self.connection.total_changes() != before {
            rollback_is_needed.set(true);
        }
        outcome
    }

    fn by_savepoint<T>(&self, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.run("SAVEPOINT act", [])?;
        match f() {
            Ok(value) => {
                self.run("RELEASE act", [])?;
                Ok(value)
            }
            Err(error) => {
                // The first error is reported. After some errors, such as a full disk, SQLite has already rolled back
                // the whole transaction. The savepoint then no longer exists, and the second error is reported instead
                // of a refusal, so that the whole batch is rolled back.
                let undone = self.run("ROLLBACK TO act", []).and_then(|_| self.run("RELEASE act", []));
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
    // Dropping this value ends the transaction, even after a panic: a connection must not return to the pool inside a
    // transaction.
    let _undone = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
    f(&Tx { connection, state: None, undo: Undo::Savepoint, now, earliest: now })
}

/// Runs `f` in its own transaction and commits the transaction.
pub(crate) fn act<T>(
    connection: &Connection,
    now: Timestamp,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let value = f(&Tx { connection, state: None, undo: Undo::Savepoint, now, earliest: now })?;
    transaction.commit().map_err(classify_commit_error)?;
    Ok(value)
}

/// Classifies the error of a failed commit. SQLite reports a full disk before it writes the commit, so nothing was
/// committed. After an unexpected error, only the file shows the outcome.
fn classify_commit_error(error: rusqlite::Error) -> Error {
    match Error::from(error) {
        Error::Defect(why) => Error::OutcomeUnknown(why),
        error => error,
    }
}

/// Begins a transaction that may write. Waits for another process's lock for at most the connection's busy timeout.
pub(crate) fn begin(connection: &Connection) -> Result<(), Error> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    Ok(())
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

/// Rolls the transaction back, unless SQLite has already done so after an error.
pub(crate) fn undo(connection: &Connection) -> Result<(), Error> {
    if !connection.is_autocommit() {
        connection.prepare_cached("ROLLBACK")?.execute([])?;
    }
    Ok(())
}
