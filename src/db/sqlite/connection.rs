//! Connections and their pragmas. Every connection to a database file is opened here.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::config::DbConfig;
use rusqlite::{ErrorCode, MAIN_DB, OpenFlags};

use super::super::connection::Connection;
use super::super::job_reader::JobReader;
use super::super::tx::{self, Error, Tx};
use super::{driver, path};
use crate::domain::timestamp::Timestamp;

/// The oldest version of SQLite that the service accepts. In older versions, a checkpoint at the wrong moment can
/// corrupt the file (the WAL-reset race).
pub(crate) const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// The maximum time for which a connection waits for a lock that another connection holds.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause between a command's tries to take the write lock.
const LOCK_RETRY: Duration = Duration::from_millis(1);

/// The maximum number of prepared statements that a connection caches. A full cache drops the statement that was used
/// least recently.
const STATEMENTS_MAX: usize = 128;

/// The flags for opening a file. CREATE is not among them, because only [`super::file`] creates a database file, with
/// its mode and its schema.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The use of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// For writes, which are durable unless the caller changes `synchronous`.
    Write,
    /// For reads only.
    Read,
}

impl Use {
    /// Returns the size of the connection's page cache in KiB. The cache of a reading connection is small, because a
    /// service has up to about twenty such connections, and the operating system also caches the pages.
    fn cache_kib(self) -> i64 {
        match self {
            Self::Write => 16_384,
            Self::Read => 2_048,
        }
    }
}

impl From<rusqlite::Connection> for Connection {
    fn from(connection: rusqlite::Connection) -> Self {
        Self::of_sqlite(driver::Connection(connection))
    }
}

impl Connection {
    /// Returns the connection of the driver, for statements and settings that only SQLite has.
    pub(super) fn sqlite(&self) -> &rusqlite::Connection {
        &self.as_sqlite().0
    }
}

/// Opens an existing file.
pub(crate) fn open(path: &Path, for_use: Use) -> Result<Connection, Error> {
    let connection = rusqlite::Connection::open_with_flags(path::resolve(path), FLAGS)?;
    set_up(&connection, for_use)?;
    Ok(Connection::from(connection))
}

/// Opens an existing file for a command that writes, possibly while a service runs. The command tries to take the write
/// lock every millisecond. SQLite itself would pause for up to 100 ms between two tries, and a busy service takes the
/// lock again within microseconds. The command would then fail although the lock is free a hundred times a second.
pub(crate) fn open_for_command(path: &Path) -> Result<Connection, Error> {
    let connection = open(path, Use::Write)?;
    connection.sqlite().busy_handler(Some(|tries| {
        std::thread::sleep(LOCK_RETRY);
        LOCK_RETRY.saturating_mul(u32::try_from(tries).unwrap_or(0)) < BUSY_TIMEOUT
    }))?;
    Ok(connection)
}

/// Opens a file to inspect it. Closing the connection does not checkpoint the write-ahead log, because the caller might
/// refuse the file.
pub(crate) fn open_to_inspect(path: &Path) -> Result<Connection, Error> {
    let connection = rusqlite::Connection::open_with_flags(path::resolve(path), FLAGS)?;
    set_up_to_inspect(&connection)?;
    Ok(Connection::from(connection))
}

/// Opens a file to inspect it, even if neither the file nor its directory can be written.
pub(crate) fn open_to_inspect_read_only(path: &Path) -> Result<Connection, Error> {
    open_and_read(path, set_up_to_inspect)
}

/// Opens a file for a command that only reads, even if neither the file nor its directory can be written.
///
/// # Errors
/// [`Error::Unavailable`] if the directory is read-only and there is a write-ahead log that is not empty, because it may
/// contain pages that are not in the file; another error if the file cannot be opened.
pub(crate) fn open_to_read(path: &Path, for_use: Use) -> Result<Connection, Error> {
    open_and_read(path, |connection| set_up(connection, for_use))
}

/// Opens a file for a command that must leave it and its log as they are. When the last connection to a file is closed,
/// SQLite usually moves the log into the file and removes the log. This connection does so only if the log was empty or
/// did not exist, because the connection may have created the log. The log of a killed service stays where it is.
///
/// # Errors
/// The errors of [`open_to_read`].
pub(crate) fn open_to_read_unchanged(path: &Path) -> Result<Connection, Error> {
    let log = std::fs::metadata(path::beside(&path::resolve(path), "-wal"));
    let has_log = log.is_ok_and(|log| log.len() > 0);
    open_and_read(path, |connection| {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log)?;
        set_up(connection, Use::Read)
    })
}

/// Opens a file and reads its schema, because SQLite opens the log only then. A write-ahead log needs shared memory
/// next to the file, which a read-only directory does not allow. If there is no log, no process writes to the file, so
/// SQLite can read the file without shared memory.
fn open_and_read(
    path: &Path,
    set_up: impl Fn(&rusqlite::Connection) -> Result<(), rusqlite::Error>,
) -> Result<Connection, Error> {
    let path = path::resolve(path);
    let opened = |path: &Path, flags| -> Result<Connection, rusqlite::Error> {
        let connection = rusqlite::Connection::open_with_flags(path, flags)?;
        set_up(&connection)?;
        match connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())) {
            // The caller detects a file that is not a database.
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) => Err(error),
            _ => Ok(Connection::from(connection)),
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
            "{} may hold changes that are not in the file, and the directory is read-only; copy both files to a \
             writable directory, and use that copy",
            wal.display()
        ))),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::Unavailable(error.to_string())),
        _ => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
            opened(&immutable_uri(&path), flags).map_err(Error::from)
        }
    }
}

/// Returns the URI for reading a file to which no process writes.
fn immutable_uri(path: &Path) -> PathBuf {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let byte = |byte: &u8| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    let path: String = path.as_os_str().as_bytes().iter().map(byte).collect();
    PathBuf::from(format!("file:{path}?immutable=1"))
}

/// Opens the reading connection that the background jobs of one thread share.
pub(crate) fn open_job_reader(path: &Path) -> Result<JobReader, Error> {
    open(path, Use::Read).map(JobReader::new)
}

/// A pool of reading connections.
pub(crate) struct Readers(r2d2::Pool<Manager>);

impl Readers {
    /// Runs `f` on one snapshot of the file, on the caller's thread.
    pub(crate) fn read<T>(&self, now: Timestamp, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let connection =
            self.0.get().map_err(|error| Error::Unavailable(format!("no reader is available: {error}")))?;
        tx::snapshot(&connection, now, f)
    }
}

/// Opens the connections of the pool.
struct Manager(SqliteConnectionManager);

impl r2d2::ManageConnection for Manager {
    type Connection = Connection;
    type Error = rusqlite::Error;

    fn connect(&self) -> Result<Connection, rusqlite::Error> {
        self.0.connect().map(Connection::from)
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<(), rusqlite::Error> {
        connection.sqlite().execute_batch("")
    }

    fn has_broken(&self, _: &mut Connection) -> bool {
        false
    }
}

/// Opens a pool of reading connections.
pub(crate) fn open_readers(path: &Path, readers_max: u32) -> Result<Readers, Error> {
    let manager = SqliteConnectionManager::file(path).with_flags(FLAGS).with_init(|connection| {
        set_up(connection, Use::Read).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.to_string().into()))
    });
    r2d2::Pool::builder()
        .max_size(readers_max)
        // The first connection is opened now, so that the start fails if the file is unreadable. The others are opened
        // when they are needed.
        .min_idle(Some(1))
        .test_on_check_out(false)
        .max_lifetime(None)
        .idle_timeout(None)
        .connection_timeout(BUSY_TIMEOUT)
        .error_handler(Box::new(r2d2::NopErrorHandler))
        .build(Manager(manager))
        .map(Readers)
        .map_err(|error| Error::Unavailable(error.to_string()))
}

/// Returns whether this connection cannot write, because the file, its file system or its directory is read-only.
pub(crate) fn is_read_only(connection: &Connection) -> Result<bool, Error> {
    Ok(connection.sqlite().is_readonly(MAIN_DB)?)
}

/// Prepares a connection to a file that might belong to another program: its schema is not trusted, and closing the
/// connection does not change the file.
fn set_up_to_inspect(connection: &rusqlite::Connection) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    defend(connection)
}

/// Forbids statements that could damage the file, and does not trust its schema.
pub(super) fn defend(connection: &rusqlite::Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(())
}

fn set_up(connection: &rusqlite::Connection, for_use: Use) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Without this setting, SQLite prepares statements again for new values if the file has STAT4 statistics.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    defend(connection)?;
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

/// Runs `f`, which may write raw pages of the file.
pub(super) fn on_raw_pages<T>(tx: &Tx<'_>, f: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    /// Makes the connection defensive again, even after a panic.
    struct Undefended<'a>(&'a rusqlite::Connection);
    impl Drop for Undefended<'_> {
        fn drop(&mut self) {
            let _ = self.0.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true);
        }
    }
    let connection = tx.connection().sqlite();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    let _undefended = Undefended(connection);
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_is_defensive_and_does_not_trust_the_schema() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        let pool = open_readers(&path, 1).unwrap();
        let pooled = pool.0.get().unwrap();
        let opened = [
            open(&path, Use::Write),
            open(&path, Use::Read),
            open_for_command(&path),
            open_to_inspect(&path),
            open_to_inspect_read_only(&path),
            open_to_read(&path, Use::Read),
        ];
        let opened: Vec<Connection> = opened.into_iter().map(Result::unwrap).collect();
        for (number, connection) in opened.iter().chain([&*pooled]).enumerate() {
            let is_on = |option| connection.sqlite().db_config(option).unwrap();
            assert!(is_on(DbConfig::SQLITE_DBCONFIG_DEFENSIVE), "{number}");
            assert!(!is_on(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA), "{number}");
        }
    }

    #[test]
    fn a_connection_that_may_write_raw_pages_is_defensive_afterwards() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        set_up(&connection, Use::Write).unwrap();
        let connection = Connection::from(connection);
        let is_defensive = || connection.sqlite().db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE).unwrap();
        let on_raw_pages = |panics: bool| {
            tx::in_upgrade(&connection, |tx| {
                on_raw_pages(tx, || {
                    assert!(!is_defensive() && !panics);
                    Ok(())
                })
            })
        };
        on_raw_pages(false).unwrap();
        assert!(is_defensive());
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| on_raw_pages(true)));
        assert!(caught.is_err() && is_defensive());
    }
}
