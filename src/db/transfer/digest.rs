//! Digests of tables. On both engines, equal values have equal digests, and different values have different ones.

use sha2::{Digest as _, Sha256};

use super::chunk::{Chunk, Chunks, last_row};
use super::table::{Catalog, Table};
use crate::db::connection::Connection;
use crate::db::error::Error;
use crate::db::value::ValueRef;

/// The number of rows of a table, and the digest of their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableDigest {
    pub(super) rows: u64,
    digest: [u8; 32],
}

/// Reads a whole table, and returns its digest.
pub(super) fn of_table(connection: &Connection, table: &Table) -> Result<TableDigest, Error> {
    let mut hash = Sha256::new();
    let mut rows = 0;
    let mut chunks = Chunks::after(connection, table, Vec::new());
    while let Some(chunk) = chunks.next()? {
        rows += chunk.rows() as u64;
        add(&mut hash, table, &chunk);
    }
    Ok(TableDigest { rows, digest: hash.finalize().into() })
}

/// Returns one digest of the last rows of all tables. Nearly every act changes it, because the last rows include the
/// newest activity row. The digest is a quick check before the comparison of all tables.
pub(super) fn of_state(connection: &Connection, catalog: &Catalog) -> Result<[u8; 32], Error> {
    let mut hash = Sha256::new();
    for table in &catalog.tables {
        hash.update(table.name.as_bytes());
        add(&mut hash, table, &last_row(connection, table)?);
    }
    Ok(hash.finalize().into())
}

fn add(hash: &mut Sha256, table: &Table, chunk: &Chunk) {
    for row in 0..chunk.rows() {
        for column in 0..table.columns.len() {
            add_value(hash, chunk.value(row, column));
        }
    }
}

fn add_value(hash: &mut Sha256, value: ValueRef<'_>) {
    let mut with_length = |kind: u8, bytes: &[u8]| {
        hash.update([kind]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    match value {
        ValueRef::Null => with_length(0, &[]),
        ValueRef::Integer(number) => with_length(1, &number.to_le_bytes()),
        // SQLite does not store the sign of zero.
        ValueRef::Real(number) => with_length(2, &(number + 0.0).to_le_bytes()),
        ValueRef::Text(text) => with_length(3, text.as_bytes()),
        ValueRef::Blob(bytes) => with_length(4, bytes),
    }
}
