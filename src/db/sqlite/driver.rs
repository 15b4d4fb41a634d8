//! The SQLite driver behind the types of the database layer: a connection, its statements and their rows. Every other
//! file of the database layer may import this one, so it imports only errors, values and parameters.

use rusqlite::CachedStatement;
use rusqlite::types::{ToSqlOutput, ValueRef as DriverValue};

use super::super::error::Error;
use super::super::params::{Binder, Params};
use super::super::value::ValueRef;

/// A connection to a file.
pub(in super::super) struct Connection(pub(super) rusqlite::Connection);

impl Connection {
    /// Prepares a statement, or takes it from the statement cache of the connection.
    pub(in super::super) fn prepare(&self, sql: &str) -> Result<Statement<'_>, Error> {
        Ok(Statement(self.0.prepare_cached(sql)?))
    }

    /// Sets whether commits wait for the disk. The statement is not cached, because the pragma takes effect when it is
    /// prepared, not when it runs.
    pub(in super::super) fn set_durable(&self, is_durable: bool) -> Result<(), Error> {
        let level = if is_durable { "FULL" } else { "NORMAL" };
        Ok(self.0.execute_batch(&format!("PRAGMA synchronous = {level}"))?)
    }

    /// Begins a transaction that reads one snapshot of the file.
    pub(in super::super) fn begin_to_read(&self) -> Result<(), Error> {
        self.run("BEGIN DEFERRED")
    }

    /// Begins a transaction that may write. Waits for another process's lock for at most the busy timeout.
    pub(in super::super) fn begin_to_write(&self) -> Result<(), Error> {
        self.run("BEGIN IMMEDIATE")
    }

    pub(in super::super) fn commit(&self) -> Result<(), Error> {
        self.run("COMMIT")
    }

    /// Rolls the transaction back, unless SQLite has already done so after an error.
    pub(in super::super) fn roll_back(&self) -> Result<(), Error> {
        if self.0.is_autocommit() { Ok(()) } else { self.run("ROLLBACK") }
    }

    pub(in super::super) fn set_savepoint(&self) -> Result<(), Error> {
        self.run("SAVEPOINT act")
    }

    pub(in super::super) fn release_savepoint(&self) -> Result<(), Error> {
        self.run("RELEASE act")
    }

    pub(in super::super) fn undo_to_savepoint(&self) -> Result<(), Error> {
        self.run("ROLLBACK TO act")?;
        self.run("RELEASE act")
    }

    /// Returns the number of rows that the connection has changed since it was opened.
    pub(in super::super) fn changed_rows(&self) -> u64 {
        self.0.total_changes()
    }

    fn run(&self, sql: &str) -> Result<(), Error> {
        self.0.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}

/// A prepared statement.
pub(in super::super) struct Statement<'a>(CachedStatement<'a>);

impl Statement<'_> {
    /// Runs a query.
    pub(in super::super) fn query(&mut self, params: &impl Params) -> Result<Rows<'_>, Error> {
        self.bind(params)?;
        Ok(Rows(self.0.raw_query()))
    }

    /// Runs a statement that returns no rows. Returns the number of affected rows.
    pub(in super::super) fn execute(&mut self, params: &impl Params) -> Result<usize, Error> {
        self.bind(params)?;
        Ok(self.0.raw_execute()?)
    }

    fn bind(&mut self, params: &impl Params) -> Result<(), Error> {
        let mut binder = StatementBinder { statement: &mut self.0, count: 0 };
        params.bind(&mut binder)?;
        let (count, expected) = (binder.count, self.0.parameter_count());
        // SQLite would treat a missing parameter as null.
        if count == expected { Ok(()) } else { Err(rusqlite::Error::InvalidParameterCount(count, expected).into()) }
    }
}

struct StatementBinder<'s, 'c> {
    statement: &'s mut CachedStatement<'c>,
    /// The number of parameters that are bound.
    count: usize,
}

impl<'a> Binder<'a> for StatementBinder<'_, '_> {
    fn bind(&mut self, value: ValueRef<'a>) -> Result<(), Error> {
        let value = match value {
            ValueRef::Null => DriverValue::Null,
            ValueRef::Integer(number) => DriverValue::Integer(number),
            ValueRef::Real(number) => DriverValue::Real(number),
            ValueRef::Text(text) => DriverValue::Text(text.as_bytes()),
            ValueRef::Blob(bytes) => DriverValue::Blob(bytes),
        };
        self.count += 1;
        Ok(self.statement.raw_bind_parameter(self.count, ToSqlOutput::Borrowed(value))?)
    }
}

/// The rows of a query.
pub(in super::super) struct Rows<'a>(rusqlite::Rows<'a>);

impl Rows<'_> {
    /// Reads the next row.
    pub(in super::super) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        Ok(self.0.next()?.map(Row))
    }
}

/// A row of a query.
#[derive(Clone, Copy)]
pub(in super::super) struct Row<'a>(&'a rusqlite::Row<'a>);

impl<'a> Row<'a> {
    /// Returns the value of a column.
    pub(in super::super) fn value(self, index: usize) -> Result<ValueRef<'a>, Error> {
        Ok(match self.0.get_ref(index)? {
            DriverValue::Null => ValueRef::Null,
            DriverValue::Integer(number) => ValueRef::Integer(number),
            DriverValue::Real(number) => ValueRef::Real(number),
            DriverValue::Text(text) => {
                let text = std::str::from_utf8(text);
                ValueRef::Text(text.map_err(|error| rusqlite::Error::Utf8Error(index, error))?)
            }
            DriverValue::Blob(bytes) => ValueRef::Blob(bytes),
        })
    }

    /// Returns the position of the column of this name.
    pub(in super::super) fn position(self, name: &str) -> Result<usize, Error> {
        Ok(self.0.as_ref().column_index(name)?)
    }

    /// Returns the name of a column.
    pub(in super::super) fn name(self, index: usize) -> Option<&'a str> {
        self.0.as_ref().column_name(index).ok()
    }
}
