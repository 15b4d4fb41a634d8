//! The connection behind the types of the database layer: statements with their parameters, and rows.
//!
//! The rows of a query are read before the first of them is returned, because a second statement on the same connection
//! cannot run while the server is still sending the rows of the first. Most queries of the store read in pages.

use std::time::Duration;

use super::super::error::Error;
use super::super::params::{Binder, Params};
use super::super::value::ValueRef;
use super::connection::CommitFailure;
pub(in super::super) use super::connection::Connection;
use super::lock::Lock;
use super::value;

/// The maximum time for a commit that no writer makes: the commit of a command, or of a step of the start. Such a
/// commit can wait longer than a request.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(60);

impl Connection {
    /// Prepares a statement, or takes it from the statement cache of the connection.
    pub(in super::super) fn prepare<'a>(&'a self, sql: &'a str) -> Result<Statement<'a>, Error> {
        self.prepared(sql)?;
        Ok(Statement { connection: self, sql })
    }

    /// Begins a transaction that reads one snapshot.
    pub(in super::super) fn begin_to_read(&self) -> Result<(), Error> {
        self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").map(drop)
    }

    /// Begins a transaction that may write, without the registration of a writer. If its connection breaks during the
    /// commit, the outcome remains unknown.
    pub(in super::super) fn begin_to_write(&self) -> Result<(), Error> {
        self.begin(&format!("BEGIN; {}", Lock::Writer.wait())).map(drop)
    }

    /// Sets whether commits wait for the disk and the standby.
    pub(in super::super) fn set_durable(&self, is_durable: bool) -> Result<(), Error> {
        self.batch(if is_durable { "RESET synchronous_commit" } else { "SET synchronous_commit = off" })
    }

    pub(in super::super) fn commit_alone(&self) -> Result<(), Error> {
        self.commit(COMMIT_TIMEOUT).map_err(|failure| match failure {
            CommitFailure::RolledBack(error, _) => error,
            CommitFailure::Unknown(why) => Error::OutcomeUnknown(why),
        })
    }
}

/// A statement of a connection.
pub(in super::super) struct Statement<'a> {
    connection: &'a Connection,
    sql: &'a str,
}

impl Statement<'_> {
    /// Runs a query.
    pub(in super::super) fn query(&mut self, params: &impl Params) -> Result<Rows, Error> {
        let rows = self.connection.query(self.sql, &values(params)?)?;
        Ok(Rows { rows, next: 0 })
    }

    /// Runs a statement that returns no rows. Returns the number of affected rows.
    pub(in super::super) fn execute(&mut self, params: &impl Params) -> Result<usize, Error> {
        self.connection.execute(self.sql, &values(params)?)
    }

    /// Runs the statement for each of these lists of parameters. Sends many of them before it waits for the first
    /// answer.
    pub(in super::super) fn execute_each(&mut self, items: &[impl Params]) -> Result<usize, Error> {
        let lists: Vec<Vec<ValueRef<'_>>> = items.iter().map(values).collect::<Result<_, _>>()?;
        let lists: Vec<&[ValueRef<'_>]> = lists.iter().map(Vec::as_slice).collect();
        self.connection.execute_each(self.sql, &lists)
    }
}

/// Collects parameters.
struct ListBinder<'a>(Vec<ValueRef<'a>>);

impl<'a> Binder<'a> for ListBinder<'a> {
    fn bind(&mut self, value: ValueRef<'a>) -> Result<(), Error> {
        self.0.push(value);
        Ok(())
    }
}

fn values(params: &impl Params) -> Result<Vec<ValueRef<'_>>, Error> {
    let mut binder = ListBinder(Vec::new());
    params.bind(&mut binder)?;
    Ok(binder.0)
}

/// The rows of a query.
pub(in super::super) struct Rows {
    rows: Vec<tokio_postgres::Row>,
    next: usize,
}

impl Rows {
    /// Reads the next row.
    pub(in super::super) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        self.next += 1;
        Ok(self.rows.get(self.next - 1).map(Row))
    }
}

/// A row of a query.
#[derive(Clone, Copy)]
pub(in super::super) struct Row<'a>(&'a tokio_postgres::Row);

impl<'a> Row<'a> {
    pub(in super::super) fn value(self, index: usize) -> Result<ValueRef<'a>, Error> {
        value::column(self.0, index)
    }

    /// Returns the name of a column.
    pub(in super::super) fn name(self, index: usize) -> Option<&'a str> {
        self.0.columns().get(index).map(tokio_postgres::Column::name)
    }

    /// Returns the position of a column.
    pub(in super::super) fn position(self, name: &str) -> Result<usize, Error> {
        let position = self.0.columns().iter().position(|column| column.name() == name);
        position.ok_or_else(|| Error::Defect(format!("a query returns no column {name}")))
    }
}
