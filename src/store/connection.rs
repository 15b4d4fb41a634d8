//! Connections and their pragmas. Every connection of the process is made here.

use std::path::Path;
use std::time::Duration;

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::file;
use super::tx::Error;

/// Below this version of SQLite a checkpoint at the wrong moment can corrupt the file (the WAL-reset race).
pub(super) const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// How long a connection waits for another process's lock.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Statements kept ready for each connection: more than the service has.
const STATEMENTS_KEPT: usize = 128;

/// Without CREATE: only the preparation of a file makes one, with its mode and its schema.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Writing, durably.
    Write,
    /// Reading only.
    Read,
}

/// Opens an existing file.
///
/// # Errors
/// [`Error::Defect`] or [`Error::Unavailable`] when SQLite cannot.
pub(super) fn open(path: &Path, for_use: Use) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(file::resolve(path), FLAGS)?;
    set_up(&connection, for_use)?;
    Ok(connection)
}

/// Opens a file to see what it is. Closing it does not move the write-ahead log of a file that is then refused.
///
/// # Errors
/// [`Error::Unavailable`] or [`Error::Defect`] when SQLite cannot.
pub(super) fn look(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(file::resolve(path), FLAGS)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// A pool of reading connections.
///
/// # Errors
/// [`Error::Unavailable`] when the first one cannot be opened.
pub(super) fn readers(path: &Path, readers_max: u32) -> Result<r2d2::Pool<SqliteConnectionManager>, Error> {
    let manager = SqliteConnectionManager::file(path).with_flags(FLAGS).with_init(|connection| {
        set_up(connection, Use::Read).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.to_string().into()))
    });
    r2d2::Pool::builder()
        .max_size(readers_max)
        // One is opened now, so that a file that cannot be read is known at the start; the others when they are needed.
        .min_idle(Some(1))
        .test_on_check_out(false)
        .max_lifetime(None)
        .idle_timeout(None)
        .connection_timeout(BUSY_TIMEOUT)
        .error_handler(Box::new(r2d2::NopErrorHandler))
        .build(manager)
        .map_err(|error| Error::Unavailable(error.to_string()))
}

fn set_up(connection: &Connection, for_use: Use) -> Result<(), Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // Without this the built-in STAT4 makes SQLite parse statements again for each new value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.execute_batch(
        "PRAGMA foreign_keys = ON;
         PRAGMA synchronous = FULL;
         PRAGMA secure_delete = ON;
         PRAGMA cache_size = -16384;
         PRAGMA mmap_size = 0;
         PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    if for_use == Use::Read {
        connection.execute_batch("PRAGMA query_only = ON;")?;
    }
    Ok(())
}
