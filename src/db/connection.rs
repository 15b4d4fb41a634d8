//! Connections and their pragmas. Every connection of the process is made here.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::path;
use super::tx::{self, Error, Tx};
use crate::domain::timestamp::Timestamp;

/// Below this version of SQLite a checkpoint at the wrong moment can corrupt the file (the WAL-reset race).
pub(crate) const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// How long a connection waits for another process's lock.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause of a command between two tries to get the write lock.
const LOCK_RETRY: Duration = Duration::from_millis(1);

/// Statements kept ready for each connection: more than the service has.
const STATEMENTS_KEPT: usize = 128;

/// Without CREATE: only the preparation of a file makes one, with its mode and its schema.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Writing, durably.
    Write,
    /// Reading only.
    Read,
}

impl Use {
    /// KiB of pages that the connection keeps. There are some twenty readers, and what one does not keep the system does.
    fn cache_kib(self) -> i64 {
        match self {
            Self::Write => 16_384,
            Self::Read => 2_048,
        }
    }
}

/// Opens an existing file.
///
/// # Errors
/// [`Error::Defect`] or [`Error::Unavailable`] when SQLite cannot.
pub(crate) fn open(path: &Path, for_use: Use) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path::resolve(path), FLAGS)?;
    set_up(&connection, for_use)?;
    Ok(connection)
}

/// Opens an existing file for a command that writes, possibly beside a service. It asks for the write lock every millisecond.
/// SQLite's own pauses are up to 100 ms, and a service under load takes the lock again within microseconds: a command then
/// fails although the lock was free a hundred times a second.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_for_command(path: &Path) -> Result<Connection, Error> {
    let connection = open(path, Use::Write)?;
    connection.busy_handler(Some(|tries| {
        std::thread::sleep(LOCK_RETRY);
        LOCK_RETRY.saturating_mul(u32::try_from(tries).unwrap_or(0)) < BUSY_TIMEOUT
    }))?;
    Ok(connection)
}

/// Opens a file to see what it is. Closing it does not move the write-ahead log of a file that is then refused.
///
/// # Errors
/// [`Error::Unavailable`] or [`Error::Defect`] when SQLite cannot.
pub(crate) fn look(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path::resolve(path), FLAGS)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// The same for a file that is only read, also where nothing can be written to it or beside it.
///
/// # Errors
/// As [`open_to_read`].
pub(crate) fn look_to_read(path: &Path) -> Result<Connection, Error> {
    reach(path, |connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(())
    })
}

/// Opens a file for a command that only reads, also where nothing can be written to it or beside it.
///
/// # Errors
/// [`Error::Unavailable`] where a write-ahead log beside it has what the file lacks, and cannot be read in such a place; and
/// when SQLite cannot.
pub(crate) fn open_to_read(path: &Path, for_use: Use) -> Result<Connection, Error> {
    reach(path, |connection| set_up(connection, for_use))
}

/// Opens a file and reads it once. A file with a write-ahead log needs shared memory beside it, which a place that is read-only
/// does not allow; without a log nobody writes there, so SQLite may take the file as it lies.
fn reach(path: &Path, set_up: impl Fn(&Connection) -> Result<(), rusqlite::Error>) -> Result<Connection, Error> {
    let path = path::resolve(path);
    let opened = |path: &Path, flags| -> Result<Connection, rusqlite::Error> {
        let connection = Connection::open_with_flags(path, flags)?;
        set_up(&connection)?;
        match connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())) {
            // The caller says what it is instead.
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) => Err(error),
            _ => Ok(connection),
        }
    };
    let error = match opened(&path, FLAGS) {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    if !matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) {
        return Err(Error::from(error));
    }
    let wal = path::beside(&path, "-wal");
    match std::fs::metadata(&wal) {
        Ok(metadata) if metadata.len() > 0 => Err(Error::Unavailable(format!(
            "{} has what is not in the file yet, and cannot be read where nothing can be written; copy both to another \
             place, and name that copy",
            wal.display()
        ))),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::Unavailable(error.to_string())),
        _ => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
            opened(&unchanging(&path), flags).map_err(Error::from)
        }
    }
}

/// The URI of a file that nobody writes.
fn unchanging(path: &Path) -> PathBuf {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let byte = |byte: &u8| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    let path: String = path.as_os_str().as_bytes().iter().map(byte).collect();
    PathBuf::from(format!("file:{path}?immutable=1"))
}

/// A pool of reading connections.
pub(crate) struct Readers(r2d2::Pool<SqliteConnectionManager>);

impl Readers {
    /// Runs `f` on one snapshot of the file, on the caller's thread.
    pub(crate) fn read<T>(&self, now: Timestamp, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let connection = self.0.get().map_err(|error| Error::Unavailable(format!("no reader: {error}")))?;
        tx::snapshot(&connection, now, f)
    }
}

/// Opens a pool of reading connections.
pub(crate) fn open_readers(path: &Path, readers_max: u32) -> Result<Readers, Error> {
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
        .map(Readers)
        .map_err(|error| Error::Unavailable(error.to_string()))
}

/// Whether nothing can be written by this connection: the file, its file system or its directory is read-only.
pub(crate) fn is_read_only(connection: &Connection) -> Result<bool, Error> {
    Ok(connection.is_readonly(MAIN_DB)?)
}

fn set_up(connection: &Connection, for_use: Use) -> Result<(), rusqlite::Error> {
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
         PRAGMA mmap_size = 0;
         PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    connection.pragma_update(None, "cache_size", -for_use.cache_kib())?;
    if for_use == Use::Read {
        connection.execute_batch("PRAGMA query_only = ON;")?;
    }
    Ok(())
}
