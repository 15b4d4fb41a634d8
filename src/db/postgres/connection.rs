//! A connection: statements with their parameters, and the state of its transaction.

use std::cell::Cell;
use std::time::Duration;

use tokio_postgres::{Row, SimpleQueryMessage};

use super::error::{Effect, Failure};
use super::session::{Params, Session};
use super::statement::{Prepared, Statements, translate, writes};
use super::value::Parameter;
use crate::db::error::Error;
use crate::db::value::ValueRef;

/// The maximum number of statements that are sent before their answers are read. The server stops reading when the
/// buffers of both sides are full of answers; a few hundred short answers always fit.
const PIPELINE_MAX: usize = 256;

/// The maximum time for the answer to a statement that begins a transaction or rolls it back. It is twice the time for
/// which the server lets the statement wait for a lock.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection. Its settings are those of [`super::settings`].
pub(crate) struct Connection {
    session: Session,
    statements: Statements,
    /// The maximum time for an answer. It is longer than the server's `statement_timeout`, so that usually the server
    /// ends a statement that takes too long, and the connection remains usable.
    answer_timeout: Duration,
    in_transaction: Cell<bool>,
    /// A number that grows with each statement that may have changed rows, and with each that fails in a transaction.
    changes: Cell<u64>,
    /// Whether the writer has yet to begin its first transaction on this connection.
    is_new: Cell<bool>,
    /// The effect of the first failed statement, after which the transaction can only be rolled back, as a whole or to
    /// the savepoint. After any failed statement, PostgreSQL refuses further statements of the transaction; SQLite does
    /// not.
    failed: Cell<Option<Effect>>,
}

impl Connection {
    pub(super) fn new(session: Session, answer_timeout: Duration) -> Self {
        Self {
            session,
            statements: Statements::default(),
            answer_timeout,
            in_transaction: Cell::new(false),
            changes: Cell::new(0),
            is_new: Cell::new(true),
            failed: Cell::new(None),
        }
    }

    /// Returns whether the connection has ended, or must not be used again.
    pub(super) fn is_broken(&self) -> bool {
        self.session.is_broken()
    }

    /// Returns a number that grows with each statement that may have changed rows. It also grows with each failed
    /// statement of a transaction, which PostgreSQL can then only roll back.
    pub(in super::super) fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// Returns true for the first transaction of the writer on this connection, and false for the others.
    pub(super) fn take_new(&self) -> bool {
        self.is_new.replace(false)
    }

    /// Returns the effect of the first failed statement, after which the transaction can only be rolled back, as a
    /// whole or to the savepoint.
    pub(super) fn failed(&self) -> Option<Effect> {
        self.failed.get()
    }

    /// Reads all rows of a query.
    pub(super) fn query(&self, sql: &str, values: &[ValueRef<'_>]) -> Result<Vec<Row>, Error> {
        let prepared = self.prepared(sql)?;
        let parameters: Vec<Parameter<'_>> = values.iter().copied().map(Parameter).collect();
        let params: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> = parameters.iter().map(|one| one as _).collect();
        self.note_write(&prepared);
        let params: &Params<'_> = &params;
        self.checked(self.session.query(&prepared.statement, params, self.answer_timeout))
    }

    /// Runs a statement. Returns the number of affected rows.
    pub(super) fn execute(&self, sql: &str, values: &[ValueRef<'_>]) -> Result<usize, Error> {
        self.execute_each(sql, &[values])
    }

    /// Runs a statement for each list of values. Returns the number of affected rows.
    pub(super) fn execute_each(&self, sql: &str, lists: &[&[ValueRef<'_>]]) -> Result<usize, Error> {
        let prepared = self.prepared(sql)?;
        self.note_write(&prepared);
        let mut affected = 0;
        for chunk in lists.chunks(PIPELINE_MAX) {
            let parameters: Vec<Vec<Parameter<'_>>> =
                chunk.iter().map(|values| values.iter().copied().map(Parameter).collect()).collect();
            let params: Vec<Vec<&(dyn tokio_postgres::types::ToSql + Sync)>> =
                parameters.iter().map(|list| list.iter().map(|one| one as _).collect()).collect();
            let outcome = match &params[..] {
                [one] => self.session.execute(&prepared.statement, one, self.answer_timeout),
                all => self.session.execute_all(&prepared.statement, all, self.answer_timeout),
            };
            affected += self.checked(outcome)?;
        }
        Ok(usize::try_from(affected).unwrap_or(usize::MAX))
    }

    /// Runs a statement with parameters that [`ValueRef`] cannot represent, for example arrays.
    pub(super) fn execute_typed(&self, sql: &str, params: &Params<'_>) -> Result<u64, Error> {
        let prepared = self.prepared(sql)?;
        self.note_write(&prepared);
        self.checked(self.session.execute(&prepared.statement, params, self.answer_timeout))
    }

    /// Runs statements without parameters in one round trip.
    pub(super) fn batch(&self, sql: &str) -> Result<(), Error> {
        self.note_change();
        self.simple(sql).map(drop)
    }

    /// Runs a statement that can take minutes, outside a transaction. Returns whether the server gave no warning.
    ///
    /// # Errors
    /// The error of the statement; [`Error::Unavailable`] if the caller is interrupted. After an interruption, the
    /// connection is broken, and the server may still be running the statement.
    pub(super) fn maintain(&self, sql: &str, is_interrupted: impl Fn() -> bool) -> Result<bool, Error> {
        let _ = self.session.take_warning();
        self.checked(self.session.simple_unless(is_interrupted, sql, self.answer_timeout))?;
        Ok(!self.session.take_warning())
    }

    /// Runs statements without parameters. Returns the first column of each row.
    pub(super) fn texts(&self, sql: &str) -> Result<Vec<Option<String>>, Error> {
        let text = |message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).map(str::to_owned)),
            _ => None,
        };
        Ok(self.simple(sql)?.into_iter().filter_map(text).collect())
    }

    /// Begins a transaction with one or more statements in one round trip. Returns the number of rows that the last
    /// statement has affected.
    pub(super) fn begin(&self, sql: &str) -> Result<u64, Error> {
        self.begin_within(sql, CONTROL_TIMEOUT)
    }

    /// Begins a transaction as [`Connection::begin`] does, with another time limit for the answer.
    pub(super) fn begin_within(&self, sql: &str, timeout: Duration) -> Result<u64, Error> {
        // A panic may have left a transaction open.
        self.roll_back()?;
        self.in_transaction.set(true);
        let affected = |message| match message {
            SimpleQueryMessage::CommandComplete(rows) => Some(rows),
            _ => None,
        };
        let answers = self.checked(self.session.simple(sql, timeout))?;
        Ok(answers.into_iter().filter_map(affected).next_back().unwrap_or_default())
    }

    /// Commits the transaction. After a failure, the outcome of the commit may be unknown.
    ///
    /// # Errors
    /// [`CommitFailure::RolledBack`] if nothing was committed; [`CommitFailure::Unknown`] if only the server knows.
    pub(super) fn commit(&self, timeout: Duration) -> Result<(), CommitFailure> {
        if let Some(effect) = self.failed.get() {
            // PostgreSQL would answer this commit with a rollback and without an error.
            let _ = self.roll_back();
            let why = "a failed statement of the transaction was ignored".to_owned();
            return Err(CommitFailure::RolledBack(Error::Defect(why), effect));
        }
        self.in_transaction.set(false);
        let _ = self.session.take_warning();
        match self.session.simple("COMMIT", timeout) {
            // A warning means that the wait for the standby was cancelled: a failover might lose the commit.
            Ok(_) if self.session.take_warning() => {
                Err(CommitFailure::Unknown("the server did not wait for its standby".to_owned()))
            }
            Ok(_) => Ok(()),
            Err(failure) if failure.refuses_commit() => {
                Err(CommitFailure::RolledBack(failure.error(), failure.effect()))
            }
            Err(failure) => Err(CommitFailure::Unknown(failure.to_string())),
        }
    }

    /// Rolls the transaction back, if there is one. If the connection is gone, the server does so by itself.
    pub(in super::super) fn roll_back(&self) -> Result<(), Error> {
        self.failed.set(None);
        if !self.in_transaction.replace(false) || self.is_broken() {
            return Ok(());
        }
        match self.session.simple("ROLLBACK", CONTROL_TIMEOUT) {
            Ok(_) => Ok(()),
            Err(failure) if failure.effect() == Effect::Lost => Ok(()),
            Err(failure) => Err(failure.error()),
        }
    }

    /// Sets the savepoint of an act.
    pub(in super::super) fn set_savepoint(&self) -> Result<(), Error> {
        self.simple("SAVEPOINT act").map(drop)
    }

    /// Removes the savepoint, and keeps the writes of the act.
    pub(in super::super) fn release_savepoint(&self) -> Result<(), Error> {
        self.simple("RELEASE act").map(drop)
    }

    /// Undoes the writes of the act, and removes the savepoint. After a failed statement, the transaction is then
    /// usable again.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the whole transaction must run again, or is gone.
    pub(in super::super) fn undo_to_savepoint(&self) -> Result<(), Error> {
        if let Some(Effect::Retry | Effect::Lost) = self.failed.get() {
            return Err(Error::Unavailable("the transaction must run again".to_owned()));
        }
        self.simple("ROLLBACK TO act; RELEASE act")?;
        self.failed.set(None);
        Ok(())
    }

    fn simple(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Error> {
        self.checked(self.session.simple(sql, self.answer_timeout))
    }

    /// Prepares a statement, or takes it from the statement cache.
    pub(super) fn prepared(&self, sql: &str) -> Result<Prepared, Error> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known);
        }
        let statement = self.checked(self.session.prepare(&translate(sql), self.answer_timeout))?;
        let prepared = Prepared { statement, writes: writes(sql) };
        self.statements.insert(sql, prepared.clone());
        Ok(prepared)
    }

    fn note_write(&self, prepared: &Prepared) {
        if prepared.writes {
            self.note_change();
        }
    }

    fn note_change(&self) {
        self.changes.set(self.changes.get() + 1);
    }

    /// Notes the effect of a failure on the transaction.
    fn checked<T>(&self, outcome: Result<T, Failure>) -> Result<T, Error> {
        let failure = match outcome {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        if failure.concerns_cached_statement() {
            self.statements.clear();
        }
        if self.in_transaction.get() {
            self.note_change();
            if self.failed.get().is_none() {
                self.failed.set(Some(failure.effect()));
            }
        }
        Err(failure.error())
    }
}

/// The reason why a commit failed.
#[derive(Debug)]
pub(super) enum CommitFailure {
    /// Nothing was committed.
    RolledBack(Error, Effect),
    /// Only the server knows whether the transaction was committed. The text is for the log.
    Unknown(String),
}
