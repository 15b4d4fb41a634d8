//! A SQLite file as the source or the destination of a copy.
//!
//! While rows are copied, the tables of a destination have neither indexes nor triggers. SQLite creates an index faster
//! when the table already has all its rows. The copied rows already include the effects of the triggers.

use std::path::Path;

use rusqlite::types::ValueRef;

use super::super::connection::Connection;
use super::super::error::Error;
use super::super::transfer::error::TransferError;
use super::super::transfer::table::{Catalog, Column, Kind, Table, quoted};
use super::super::tx;
use super::super::upgrade::{Engine, PARTIAL_COPY_ID, Schema};
use super::connection::{self, Use};
use super::file::{self, Lock, OpenError, create};
use super::schema::APPLICATION_ID;
use crate::domain::timestamp::Timestamp;

/// The table that marks an incomplete copy. Its only row contains the digest of the state of the source.
const PARTIAL_COPY: &str = "CREATE TABLE engine_copy (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  source BLOB NOT NULL CHECK (length(source) = 32)
) STRICT";

/// Creates a schema in a database in memory, and returns its tables, indexes and triggers. Both engines have the same
/// tables and columns.
pub(in super::super) fn catalog(schema: &Schema) -> Result<Catalog, Error> {
    let memory = rusqlite::Connection::open_in_memory()?;
    memory.execute_batch(schema.sql.of(Engine::Sqlite))?;
    let objects = |kind: &str| -> Result<Vec<(String, String)>, rusqlite::Error> {
        let sql = "SELECT name, sql
                   FROM sqlite_schema
                   WHERE type = $1 AND sql IS NOT NULL
                   ORDER BY rowid";
        let mut statement = memory.prepare(sql)?;
        let rows = statement.query_map([kind], |row| Ok((row.get("name")?, row.get("sql")?)))?;
        rows.collect()
    };
    let tables = objects("table")?;
    let tables = tables.into_iter().map(|(name, _)| table(&memory, name)).collect::<Result<_, _>>()?;
    Ok(Catalog { tables, indexes: objects("index")?, triggers: objects("trigger")? })
}

fn table(memory: &rusqlite::Connection, name: String) -> Result<Table, Error> {
    let sql = "SELECT name, type, pk
               FROM pragma_table_info($1)
               ORDER BY cid";
    let mut statement = memory.prepare(sql)?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("name")?, row.get("type")?, row.get("pk")?));
    let found: Vec<(String, String, u32)> = statement.query_map([&name], read)?.collect::<Result<_, _>>()?;
    let mut key: Vec<(u32, usize)> =
        found.iter().enumerate().filter(|(_, (_, _, pk))| *pk > 0).map(|(at, (_, _, pk))| (*pk, at)).collect();
    key.sort_unstable();
    if key.is_empty() {
        return Err(Error::Defect(format!("the table {name} has no primary key")));
    }
    let column = |(name, kind, _): (String, String, u32)| {
        let kind = match kind.as_str() {
            "INTEGER" => Kind::Integer,
            "REAL" => Kind::Real,
            "TEXT" => Kind::Text,
            "BLOB" => Kind::Blob,
            _ => return Err(Error::Defect(format!("the column {name} has the type {kind}"))),
        };
        Ok(Column { name, kind })
    };
    let columns = found.into_iter().map(column).collect::<Result<_, _>>()?;
    Ok(Table { name, columns, key: key.into_iter().map(|(_, at)| at).collect() })
}

/// Opens a file that no service uses, and prevents a service from starting on it.
pub(in super::super) fn open_source(path: &Path, schema: &Schema) -> Result<(Connection, Lock), TransferError> {
    file::prepare_to_read(path, schema)?;
    let lock = lock(path)?;
    let connection = connection::open_to_read(path, Use::Read).map_err(OpenError::from)?;
    Ok((connection, lock))
}

fn lock(path: &Path) -> Result<Lock, TransferError> {
    Lock::take(path).map_err(|error| match error {
        OpenError::Held(path) => TransferError::InUse(path.display().to_string()),
        error => error.into(),
    })
}

/// Checks that PostgreSQL can store each text: it must be UTF-8 without NUL.
pub(in super::super) fn check_texts(
    connection: &Connection,
    catalog: &Catalog,
    shown: &str,
) -> Result<(), TransferError> {
    for table in &catalog.tables {
        let failed = |error: rusqlite::Error| TransferError::of_statement(shown, error.into());
        check_table(connection, table).map_err(failed)?.map_or(Ok(()), Err)?;
    }
    Ok(())
}

fn check_table(connection: &Connection, table: &Table) -> Result<Option<TransferError>, rusqlite::Error> {
    let texts: Vec<&Column> = table.columns.iter().filter(|column| column.kind == Kind::Text).collect();
    if texts.is_empty() {
        return Ok(None);
    }
    let keys = table.key.iter().map(|at| &table.columns[*at]);
    let names: Vec<String> = texts.iter().copied().chain(keys).map(|column| quoted(&column.name)).collect();
    let sql = format!("SELECT {} FROM {}", names.join(", "), quoted(&table.name));
    let mut statement = connection.sqlite().prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for (at, column) in texts.iter().enumerate() {
            let ValueRef::Text(text) = row.get_ref(at)? else { continue };
            let why = match std::str::from_utf8(text) {
                Ok(text) if text.contains('\0') => "a NUL character",
                Ok(_) => continue,
                Err(_) => "bytes that are not UTF-8",
            };
            let key: Result<Vec<String>, _> = (texts.len()..names.len()).map(|at| row.get_ref(at).map(shown)).collect();
            let (table, column) = (table.name.clone(), column.name.clone());
            return Ok(Some(TransferError::Text { table, column, key: key?.join(", "), why }));
        }
    }
    Ok(None)
}

/// Formats a value of a key for a message.
fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).escape_debug().to_string(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Locks the file. Returns the connection to an interrupted copy, or `None` if there is no file.
pub(in super::super) fn open_destination(
    path: &Path,
    schema: &Schema,
) -> Result<(Lock, Option<Connection>), TransferError> {
    let lock = lock(path)?;
    match file::prepare_to_read(path, schema) {
        Err(OpenError::Missing(_)) => Ok((lock, None)),
        Err(OpenError::PartialCopy(_)) => {
            let connection = open_partial(path).map_err(OpenError::from)?;
            let version = connection.sqlite().query_row("PRAGMA user_version", [], |row| row.get(0));
            let found: i64 = version.map_err(|error| OpenError::from(Error::from(error)))?;
            if found == schema.version {
                return Ok((lock, Some(connection)));
            }
            Err(TransferError::OtherVersion { shown: path.display().to_string(), found, known: schema.version })
        }
        Err(error @ OpenError::Failed { .. }) => Err(error.into()),
        Ok(()) | Err(_) => Err(TransferError::NotEmpty(path.display().to_string())),
    }
}

/// Creates a file with tables only. The file gets its name after it has the mark of an incomplete copy.
pub(in super::super) fn create_destination(
    path: &Path,
    schema: &Schema,
    state: &[u8; 32],
) -> Result<Connection, TransferError> {
    create(path, schema, |connection| make_partial(connection, state))?;
    Ok(open_partial(path).map_err(OpenError::from)?)
}

fn make_partial(connection: &Connection, state: &[u8; 32]) -> Result<(), Error> {
    tx::act(connection, Timestamp::from_micros(0), |_| {
        let connection = connection.sqlite();
        let sql = "SELECT type, name
                   FROM sqlite_schema
                   WHERE sql IS NOT NULL AND name <> 'engine_copy'
                   ORDER BY type DESC";
        let mut statement = connection.prepare(sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get("type")?, row.get("name")?));
        let objects: Vec<(String, String)> = statement.query_map([], read)?.collect::<Result<_, _>>()?;
        for (kind, name) in &objects {
            let name = quoted(name);
            match kind.as_str() {
                "trigger" => connection.execute_batch(&format!("DROP TRIGGER {name}"))?,
                "index" => connection.execute_batch(&format!("DROP INDEX {name}"))?,
                // Delete the rows that the schema inserts, because the copy brings those rows from the source.
                _ => connection.execute_batch(&format!("DELETE FROM {name}"))?,
            }
        }
        connection.execute_batch(PARTIAL_COPY)?;
        connection.execute("INSERT INTO engine_copy (id, source) VALUES (1, $1)", [&state[..]])?;
        connection.execute_batch(&format!("PRAGMA application_id = {PARTIAL_COPY_ID}"))?;
        Ok(())
    })
}

/// Opens an incomplete copy. References are checked at the end. Large sorts for indexes use temporary files, so that
/// the memory use does not depend on the number of rows.
fn open_partial(path: &Path) -> Result<Connection, Error> {
    let connection = connection::open(path, Use::Write)?;
    connection.sqlite().execute_batch("PRAGMA foreign_keys = OFF; PRAGMA temp_store = FILE")?;
    Ok(connection)
}

/// Creates the indexes, each in a transaction of its own, and checks all references.
pub(in super::super) fn complete(connection: &Connection, catalog: &Catalog) -> Result<(), Error> {
    let sqlite = connection.sqlite();
    for (name, sql) in &catalog.indexes {
        let exists =
            sqlite.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = $1")?.exists([name])?;
        if !exists {
            sqlite.execute_batch(sql)?;
        }
    }
    let sql = "SELECT count(*) FROM pragma_foreign_key_check";
    match sqlite.query_row(sql, [], |row| row.get::<_, i64>(0))? {
        0 => Ok(()),
        dangling => Err(Error::Defect(format!("the copy has dangling references ({dangling})"))),
    }
}

/// Creates the triggers and replaces the mark. The caller must have begun a transaction.
pub(in super::super) fn publish(connection: &Connection, catalog: &Catalog) -> Result<(), Error> {
    for (_, sql) in &catalog.triggers {
        connection.sqlite().execute_batch(sql)?;
    }
    connection.sqlite().execute_batch(&format!("DROP TABLE engine_copy; PRAGMA application_id = {APPLICATION_ID}"))?;
    Ok(())
}
