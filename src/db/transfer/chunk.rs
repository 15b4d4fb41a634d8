//! Rows on their way from one database to the other, in chunks of limited size, so that the memory use of a copy does
//! not depend on the size of a table or of an attachment.

use std::ops::Range;

use super::table::{Begin, Table};
use crate::db::connection::Connection;
use crate::db::engine::Engine;
use crate::db::error::Error;
use crate::db::params::{Binder, Params};
use crate::db::value::{Value, ValueRef};

/// A chunk ends at the latest with the row at which its content reaches this number of bytes. It can exceed the number
/// only by the content of that last row, which the schema limits.
const CHUNK_BYTES: usize = 4 << 20;

/// The maximum number of rows for a table's first query, and for each later query. A database server reads this many
/// rows, even if they have more bytes than a chunk. The size of the rows is unknown at first, so the first query asks
/// for few rows.
const ROWS_FIRST: usize = 64;
const ROWS_MAX: usize = 20_000;

/// A value. Texts and blobs are ranges of the chunk's buffers.
#[derive(Debug)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Range<usize>),
    Blob(Range<usize>),
}

/// Some rows of a table.
#[derive(Debug)]
pub(in crate::db) struct Chunk {
    cells: Vec<Cell>,
    text: String,
    blob: Vec<u8>,
    columns: usize,
}

impl Chunk {
    fn new(table: &Table) -> Self {
        Self { cells: Vec::new(), text: String::new(), blob: Vec::new(), columns: table.columns.len() }
    }

    pub(in crate::db) fn rows(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    /// Returns the number of bytes in the texts and blobs.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.blob.len()
    }

    pub(in crate::db) fn value(&self, row: usize, column: usize) -> ValueRef<'_> {
        match self.cells.get(row * self.columns + column) {
            None | Some(Cell::Null) => ValueRef::Null,
            Some(Cell::Integer(number)) => ValueRef::Integer(*number),
            Some(Cell::Real(number)) => ValueRef::Real(*number),
            Some(Cell::Text(range)) => ValueRef::Text(self.text.get(range.clone()).unwrap_or_default()),
            Some(Cell::Blob(range)) => ValueRef::Blob(self.blob.get(range.clone()).unwrap_or_default()),
        }
    }

    /// Returns the values of a row as parameters.
    pub(super) fn row(&self, row: usize) -> RowParams<'_> {
        RowParams { chunk: self, row }
    }

    /// Returns the key of the last row.
    pub(super) fn last_key(&self, table: &Table) -> Vec<Value> {
        let Some(last) = self.rows().checked_sub(1) else { return Vec::new() };
        table.key.iter().map(|column| owned(self.value(last, *column))).collect()
    }

    fn push(&mut self, value: ValueRef<'_>) {
        self.cells.push(match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Integer(number),
            ValueRef::Real(number) => Cell::Real(number),
            ValueRef::Text(text) => {
                let begin = self.text.len();
                self.text.push_str(text);
                Cell::Text(begin..self.text.len())
            }
            ValueRef::Blob(bytes) => {
                let begin = self.blob.len();
                self.blob.extend_from_slice(bytes);
                Cell::Blob(begin..self.blob.len())
            }
        });
    }
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(text.to_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_owned()),
    }
}

/// The values of one row.
pub(super) struct RowParams<'c> {
    chunk: &'c Chunk,
    row: usize,
}

impl Params for RowParams<'_> {
    fn bind<'a>(&'a self, binder: &mut impl Binder<'a>) -> Result<(), Error> {
        (0..self.chunk.columns).try_for_each(|column| binder.bind(self.chunk.value(self.row, column)))
    }
}

/// Returns a chunk with the row that has the greatest key, or an empty chunk if the table is empty.
pub(super) fn last_row(connection: &Connection, table: &Table) -> Result<Chunk, Error> {
    read(connection, table, &table.last_row(), &[])
}

/// Reads a table in chunks.
pub(super) struct Chunks<'a> {
    connection: &'a Connection,
    table: &'a Table,
    /// The key of the last row that was read. Empty at the beginning.
    after: Vec<Value>,
    rows_max: usize,
}

impl<'a> Chunks<'a> {
    /// Begins after a key, or at the first row if the key is empty.
    pub(super) fn after(connection: &'a Connection, table: &'a Table, after: Vec<Value>) -> Self {
        Self { connection, table, after, rows_max: ROWS_FIRST }
    }

    /// Reads the next rows. Returns `None` after the last row.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>, Error> {
        let begin = Begin::after(&self.after);
        let sql = match self.connection.engine() {
            Engine::Sqlite => self.table.rows(begin),
            Engine::Postgres => self.table.rows_of_bytes(begin, CHUNK_BYTES),
        };
        let mut params = self.after.clone();
        params.push(Value::Integer(i64::try_from(self.rows_max).unwrap_or(i64::MAX)));
        let chunk = read(self.connection, self.table, &sql, &params)?;
        if chunk.rows() == 0 {
            return Ok(None);
        }
        self.after = chunk.last_key(self.table);
        // A row with little content still needs memory for its values.
        let row_bytes = chunk.bytes() / chunk.rows() + 8 * self.table.columns.len();
        self.rows_max = (CHUNK_BYTES / row_bytes.max(1)).clamp(1, ROWS_MAX.min(self.rows_max * 8));
        Ok(Some(chunk))
    }
}

fn read(connection: &Connection, table: &Table, sql: &str, params: &impl Params) -> Result<Chunk, Error> {
    let mut chunk = Chunk::new(table);
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        for column in 0..chunk.columns {
            let value = row.value(column).map_err(|error| named(table, &chunk, error))?;
            chunk.push(value);
        }
        if chunk.bytes() >= CHUNK_BYTES {
            break;
        }
    }
    Ok(chunk)
}

/// Adds to the error the name of the table, and the number of the unreadable row in its chunk.
fn named(table: &Table, chunk: &Chunk, error: Error) -> Error {
    match error {
        Error::Defect(why) => {
            let (name, row) = (&table.name, chunk.rows() + 1);
            Error::Defect(format!("row {row} of a chunk of the table {name} cannot be read: {why}"))
        }
        other => other,
    }
}
