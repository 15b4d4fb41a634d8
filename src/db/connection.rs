//! A connection to the database, its statements and their rows, for every engine. An engine opens the connections.

use super::error::Error;
use super::params::Params;
use super::row::Row;
use super::sqlite::driver;

/// A connection.
pub(crate) struct Connection(EngineConnection);

/// The connection of the engine that stores the rows. With one engine, this type costs nothing.
enum EngineConnection {
    Sqlite(driver::Connection),
}

impl Connection {
    pub(super) fn of_sqlite(connection: driver::Connection) -> Self {
        Self(EngineConnection::Sqlite(connection))
    }

    pub(super) fn as_sqlite(&self) -> &driver::Connection {
        let EngineConnection::Sqlite(connection) = &self.0;
        connection
    }

    /// Prepares a statement. A connection caches its statements, so that the same text is prepared only once.
    pub(super) fn prepare(&self, sql: &str) -> Result<Statement<'_>, Error> {
        let EngineConnection::Sqlite(connection) = &self.0;
        Ok(Statement(EngineStatement::Sqlite(connection.prepare(sql)?)))
    }

    /// Sets whether commits wait for the disk. A power cut can undo commits that did not wait; the end of the process
    /// cannot.
    pub(crate) fn set_durable(&self, is_durable: bool) -> Result<(), Error> {
        let EngineConnection::Sqlite(connection) = &self.0;
        connection.set_durable(is_durable)
    }

    /// Begins a transaction.
    pub(super) fn begin(&self, access: Access) -> Result<(), Error> {
        let EngineConnection::Sqlite(connection) = &self.0;
        match access {
            Access::Read => connection.begin_to_read(),
            Access::Write => connection.begin_to_write(),
        }
    }

    /// Commits the transaction.
    pub(super) fn commit(&self) -> Result<(), Error> {
        let EngineConnection::Sqlite(connection) = &self.0;
        connection.commit()
    }

    /// Rolls the transaction back, unless the engine has already done so after an error.
    pub(super) fn roll_back(&self) -> Result<(), Error> {
        let EngineConnection::Sqlite(connection) = &self.0;
        connection.roll_back()
    }

    /// Returns the number of rows that the connection has changed since it was opened. Only the difference between two
    /// calls has a meaning.
    pub(super) fn changed_rows(&self) -> u64 {
        let EngineConnection::Sqlite(connection) = &self.0;
        connection.changed_rows()
    }
}

/// The access of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads one snapshot.
    Read,
    /// May write. Waits for the write of another process for a limited time.
    Write,
}

/// A prepared statement.
pub(super) struct Statement<'a>(EngineStatement<'a>);

enum EngineStatement<'a> {
    Sqlite(driver::Statement<'a>),
}

impl Statement<'_> {
    /// Runs a query.
    pub(super) fn query(&mut self, params: &impl Params) -> Result<Rows<'_>, Error> {
        let EngineStatement::Sqlite(statement) = &mut self.0;
        Ok(Rows(EngineRows::Sqlite(statement.query(params)?)))
    }

    /// Runs a statement that returns no rows. Returns the number of affected rows.
    pub(super) fn execute(&mut self, params: &impl Params) -> Result<usize, Error> {
        let EngineStatement::Sqlite(statement) = &mut self.0;
        statement.execute(params)
    }
}

/// The rows of a query.
pub(super) struct Rows<'a>(EngineRows<'a>);

enum EngineRows<'a> {
    Sqlite(driver::Rows<'a>),
}

impl Rows<'_> {
    /// Reads the next row.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        let EngineRows::Sqlite(rows) = &mut self.0;
        Ok(rows.next()?.map(Row::of_sqlite))
    }
}
