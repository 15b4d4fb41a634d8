//! A connection to the database, its statements and their rows, for every engine. An engine opens the connections.

use super::engine::Engine;
use super::error::Error;
use super::params::Params;
#[cfg(feature = "postgres")]
use super::postgres::driver as postgres;
use super::row::Row;
use super::sqlite::driver;

/// A connection.
pub(crate) struct Connection(EngineConnection);

/// The connection of the engine that stores the rows. In a build with only one engine, this type costs nothing.
enum EngineConnection {
    Sqlite(driver::Connection),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Connection),
}

impl Connection {
    pub(super) fn of_sqlite(connection: driver::Connection) -> Self {
        Self(EngineConnection::Sqlite(connection))
    }

    #[cfg(feature = "postgres")]
    pub(super) fn of_postgres(connection: postgres::Connection) -> Self {
        Self(EngineConnection::Postgres(connection))
    }

    /// Returns the connection to a SQLite file.
    ///
    /// # Panics
    /// Panics if this is a connection to another engine. Only code for SQLite files calls this function, and that code
    /// opens its connections itself.
    pub(super) fn as_sqlite(&self) -> &driver::Connection {
        match &self.0 {
            EngineConnection::Sqlite(connection) => connection,
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(_) => unreachable!("code for SQLite files opens its connections itself"),
        }
    }

    /// Returns the connection to a PostgreSQL server.
    ///
    /// # Panics
    /// Panics if this is a connection to another engine. Only code for PostgreSQL calls this function, and that code
    /// opens its connections itself.
    #[cfg(feature = "postgres")]
    pub(super) fn as_postgres(&self) -> &postgres::Connection {
        match &self.0 {
            EngineConnection::Postgres(connection) => connection,
            EngineConnection::Sqlite(_) => unreachable!("code for PostgreSQL opens its connections itself"),
        }
    }

    /// Returns the engine that stores the rows.
    pub(super) fn engine(&self) -> Engine {
        match &self.0 {
            EngineConnection::Sqlite(_) => Engine::Sqlite,
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(_) => Engine::Postgres,
        }
    }

    /// Prepares a statement. A connection caches its most recent statements, so that it rarely prepares the same text
    /// twice.
    pub(super) fn prepare<'a>(&'a self, sql: &'a str) -> Result<Statement<'a>, Error> {
        Ok(Statement(match &self.0 {
            EngineConnection::Sqlite(connection) => EngineStatement::Sqlite(connection.prepare(sql)?),
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(connection) => EngineStatement::Postgres(connection.prepare(sql)?),
        }))
    }

    /// Sets whether commits wait for the disk. A power cut or, with PostgreSQL, a crash of the server can undo commits
    /// that did not wait; the end of this process cannot.
    pub(crate) fn set_durable(&self, is_durable: bool) -> Result<(), Error> {
        match &self.0 {
            EngineConnection::Sqlite(connection) => connection.set_durable(is_durable),
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(connection) => connection.set_durable(is_durable),
        }
    }

    /// Begins a transaction.
    pub(super) fn begin(&self, access: Access) -> Result<(), Error> {
        match (&self.0, access) {
            (EngineConnection::Sqlite(connection), Access::Read) => connection.begin_to_read(),
            (EngineConnection::Sqlite(connection), Access::Write) => connection.begin_to_write(),
            #[cfg(feature = "postgres")]
            (EngineConnection::Postgres(connection), Access::Read) => connection.begin_to_read(),
            #[cfg(feature = "postgres")]
            (EngineConnection::Postgres(connection), Access::Write) => connection.begin_to_write(),
        }
    }

    /// Commits the transaction.
    pub(super) fn commit(&self) -> Result<(), Error> {
        match &self.0 {
            EngineConnection::Sqlite(connection) => connection.commit(),
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(connection) => connection.commit_alone(),
        }
    }

    /// Rolls the transaction back, unless the engine has already done so after an error.
    pub(super) fn roll_back(&self) -> Result<(), Error> {
        match &self.0 {
            EngineConnection::Sqlite(connection) => connection.roll_back(),
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(connection) => connection.roll_back(),
        }
    }

    /// Sets the savepoint of an act.
    pub(super) fn set_savepoint(&self) -> Result<(), Error> {
        match &self.0 {
            EngineConnection::Sqlite(connection) => connection.set_savepoint(),
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(connection) => connection.set_savepoint(),
        }
    }

    /// Removes the savepoint, and keeps the writes of the act.
    pub(super) fn release_savepoint(&self) -> Result<(), Error> {
        match &self.0 {
            EngineConnection::Sqlite(connection) => connection.release_savepoint(),
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(connection) => connection.release_savepoint(),
        }
    }

    /// Undoes the writes of the act, and removes the savepoint.
    pub(super) fn undo_to_savepoint(&self) -> Result<(), Error> {
        match &self.0 {
            EngineConnection::Sqlite(connection) => connection.undo_to_savepoint(),
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(connection) => connection.undo_to_savepoint(),
        }
    }

    /// Returns a number that grows when the connection changes rows. Only a comparison of two results is meaningful.
    pub(super) fn changed_rows(&self) -> u64 {
        match &self.0 {
            EngineConnection::Sqlite(connection) => connection.changed_rows(),
            #[cfg(feature = "postgres")]
            EngineConnection::Postgres(connection) => connection.changes(),
        }
    }
}

/// The access of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads one snapshot.
    Read,
    /// May write. Waits for a limited time while another process writes.
    Write,
}

/// A prepared statement.
pub(super) struct Statement<'a>(EngineStatement<'a>);

enum EngineStatement<'a> {
    Sqlite(driver::Statement<'a>),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Statement<'a>),
}

impl Statement<'_> {
    /// Runs a query.
    pub(super) fn query(&mut self, params: &impl Params) -> Result<Rows<'_>, Error> {
        Ok(Rows(match &mut self.0 {
            EngineStatement::Sqlite(statement) => EngineRows::Sqlite(statement.query(params)?),
            #[cfg(feature = "postgres")]
            EngineStatement::Postgres(statement) => EngineRows::Postgres(statement.query(params)?),
        }))
    }

    /// Runs a statement that returns no rows. Returns the number of affected rows.
    pub(super) fn execute(&mut self, params: &impl Params) -> Result<usize, Error> {
        match &mut self.0 {
            EngineStatement::Sqlite(statement) => statement.execute(params),
            #[cfg(feature = "postgres")]
            EngineStatement::Postgres(statement) => statement.execute(params),
        }
    }

    /// Runs the statement once for each of these sets of parameters. Returns the first failure.
    pub(super) fn execute_each<P: Params>(
        &mut self,
        mut items: impl Iterator<Item = Result<P, Error>>,
    ) -> Result<(), Error> {
        match &mut self.0 {
            EngineStatement::Sqlite(statement) => items.try_for_each(|params| statement.execute(&params?).map(drop)),
            #[cfg(feature = "postgres")]
            EngineStatement::Postgres(statement) => {
                let items: Vec<P> = items.collect::<Result<_, _>>()?;
                statement.execute_each(&items).map(drop)
            }
        }
    }
}

/// The rows of a query.
pub(super) struct Rows<'a>(EngineRows<'a>);

enum EngineRows<'a> {
    Sqlite(driver::Rows<'a>),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Rows),
}

impl Rows<'_> {
    /// Reads the next row.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        match &mut self.0 {
            EngineRows::Sqlite(rows) => Ok(rows.next()?.map(Row::of_sqlite)),
            #[cfg(feature = "postgres")]
            EngineRows::Postgres(rows) => Ok(rows.next()?.map(Row::of_postgres)),
        }
    }
}
