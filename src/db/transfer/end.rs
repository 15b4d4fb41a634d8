//! The source and the destination of a copy. This module chooses the engine of each.

use std::path::Path;

use super::chunk::Chunk;
use super::error::TransferError;
use super::table::{Begin, Catalog, Table};
use crate::db::connection::Connection;
use crate::db::engine::Engine;
use crate::db::error::Error;
use crate::db::location::{is_server, shown};
use crate::db::postgres::transfer as postgres;
use crate::db::sqlite::file::Lock;
use crate::db::sqlite::transfer as sqlite;
use crate::db::tx;
use crate::db::upgrade::Schema;
use crate::db::value::Value;
use crate::domain::timestamp::Timestamp;

/// Rows have their own times, so the transactions of a copy need none.
const NO_TIME: Timestamp = Timestamp::from_micros(0);

/// A database that a copy reads or writes, and that no service and no other copy uses meanwhile.
pub(super) struct End {
    pub(super) connection: Connection,
    /// The database as messages show it.
    pub(super) shown: String,
    /// The lock of a file. In PostgreSQL, the locks belong to the connection.
    _lock: Option<Lock>,
}

/// The destination before the copy.
pub(super) enum Found {
    /// A missing file, with its lock, or an empty schema, with a connection to its server.
    New(New),
    /// A copy that was interrupted.
    Partial(Box<End>),
}

pub(super) enum New {
    File(Lock),
    Server(Box<Connection>),
}

impl End {
    pub(super) fn source(db: &Path, schema: &Schema) -> Result<Self, TransferError> {
        if is_server(db) {
            let connection = postgres::open_source(db, schema)?;
            return Ok(Self { connection, shown: shown(db), _lock: None });
        }
        let (connection, lock) = sqlite::open_source(db, schema)?;
        Ok(Self { connection, shown: shown(db), _lock: Some(lock) })
    }

    /// Returns the error of a copy that ends because a statement on this database failed.
    pub(super) fn stopped(&self, error: Error) -> TransferError {
        TransferError::of_statement(&self.shown, error)
    }

    /// Checks that PostgreSQL can store each text.
    pub(super) fn check_texts(&self, catalog: &Catalog) -> Result<(), TransferError> {
        match self.connection.engine() {
            Engine::Sqlite => sqlite::check_texts(&self.connection, catalog, &self.shown),
            // SQLite can store every text that PostgreSQL can store.
            Engine::Postgres => Ok(()),
        }
    }

    /// Finds out whether the copy begins or continues.
    pub(super) fn find(db: &Path, schema: &Schema) -> Result<Found, TransferError> {
        let shown = shown(db);
        if is_server(db) {
            let (connection, is_partial) = postgres::open_destination(db, schema)?;
            return Ok(if is_partial {
                Found::Partial(Box::new(Self { connection, shown, _lock: None }))
            } else {
                Found::New(New::Server(Box::new(connection)))
            });
        }
        let (lock, connection) = sqlite::open_destination(db, schema)?;
        Ok(match connection {
            Some(connection) => Found::Partial(Box::new(Self { connection, shown, _lock: Some(lock) })),
            None => Found::New(New::File(lock)),
        })
    }

    /// Creates the tables, the mark of an incomplete copy, and the digest of the state of its source.
    pub(super) fn create(db: &Path, new: New, schema: &Schema, state: &[u8; 32]) -> Result<Self, TransferError> {
        let shown = shown(db);
        match new {
            New::Server(connection) => {
                postgres::create_destination(&connection, db, schema, state)?;
                Ok(Self { connection: *connection, shown, _lock: None })
            }
            New::File(lock) => {
                let connection = sqlite::create_destination(db, schema, state)?;
                Ok(Self { connection, shown, _lock: Some(lock) })
            }
        }
    }

    /// Returns the digest of the state that the source had when this copy began.
    pub(super) fn source_state(&self) -> Result<[u8; 32], Error> {
        let mut statement = self.connection.prepare("SELECT source FROM engine_copy WHERE id = $1")?;
        let mut rows = statement.query(&[1_i64])?;
        let row = rows.next()?.ok_or_else(|| Error::Defect("the incomplete copy has no source digest".to_owned()))?;
        row.read(0)
    }

    /// Returns the number of rows of a table after a key, or of all rows if the key is empty, and the number of
    /// bytes in their texts and blobs.
    pub(super) fn size_after(&self, table: &Table, key: &[Value]) -> Result<(u64, u64), Error> {
        let sql = table.size(Begin::after(key));
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(&key.to_vec())?;
        let Some(row) = rows.next()? else { return Ok((0, 0)) };
        let number = |index| Ok::<u64, Error>(u64::try_from(row.read::<i64>(index)?).unwrap_or_default());
        Ok((number(0)?, number(1)?))
    }

    /// Adds rows in one transaction.
    pub(super) fn add(&self, table: &Table, chunk: &Chunk) -> Result<(), Error> {
        tx::act(&self.connection, NO_TIME, |_| match self.connection.engine() {
            Engine::Postgres => postgres::add(&self.connection, table, chunk),
            Engine::Sqlite => {
                let sql = table.insert();
                let mut statement = self.connection.prepare(&sql)?;
                (0..chunk.rows()).try_for_each(|row| statement.execute(&chunk.row(row)).map(drop))
            }
        })
    }

    /// After the last row has been added, creates the rest of the schema, each part in a transaction of its own.
    pub(super) fn complete(&self, catalog: &Catalog) -> Result<(), Error> {
        match self.connection.engine() {
            Engine::Postgres => postgres::complete(&self.connection),
            Engine::Sqlite => sqlite::complete(&self.connection, catalog),
        }
    }

    /// Replaces the mark of an incomplete copy with that of a complete database.
    pub(super) fn publish(&self, catalog: &Catalog) -> Result<(), Error> {
        self.connection.set_durable(true)?;
        tx::act(&self.connection, NO_TIME, |_| match self.connection.engine() {
            Engine::Postgres => postgres::publish(&self.connection),
            Engine::Sqlite => sqlite::publish(&self.connection, catalog),
        })
    }
}
