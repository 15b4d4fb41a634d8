//! Prepares the database file: creates, recognizes, upgrades or refuses it before anything else opens it.

pub(crate) mod backup;
mod error;
pub(crate) mod partial;
pub(crate) mod replacement;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rusqlite::MAIN_DB;

pub(crate) use self::backup::{backup, backup_if};
pub use self::backup::{require_absent, write_manifest};
pub use self::error::OpenError;
use self::partial::{Busy, Existing, Partial};
use super::super::connection::Connection;
use super::super::tx::Error;
use super::super::upgrade::{PARTIAL_COPY_ID, Schema};
use super::connection;
pub use super::path::{beside, parent, resolve};
use super::schema;

/// How to handle a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Create the file.
    Create,
    /// Return an error.
    Refuse,
}

/// How to handle a file from an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
    /// Copy the file, check the copy, then upgrade the file in one transaction.
    Upgrade,
    /// Return an error.
    Refuse,
}

/// An exclusive lock on `FILE.lock`, which prevents a second service from using the database file. A command that must
/// not run while a service runs also takes the lock. The lock is not on the database file itself, because closing a
/// handle to that file would drop SQLite's locks.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, never read")] File);

impl Lock {
    /// Takes the lock.
    ///
    /// # Errors
    /// [`OpenError::Held`] if another process holds the lock; [`OpenError::NotWritable`] if the lock file cannot be
    /// opened or locked.
    pub fn take(path: &Path) -> Result<Self, OpenError> {
        let lock_path = beside(&resolve(path), ".lock");
        let not_writable = |error: std::io::Error| OpenError::NotWritable {
            path: path.to_owned(),
            why: format!("its lock file {} cannot be opened or locked: {error}", lock_path.display()),
        };
        let file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(not_writable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(OpenError::Held(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(not_writable(error)),
        }
    }
}

/// Returns whether a process holds the lock of the file. Reads the system's list of locks and does not try to take the
/// lock, so that a service that starts at this moment finds the lock free.
pub fn is_locked(path: &Path) -> bool {
    let Ok(lock) = std::fs::metadata(beside(&resolve(path), ".lock")) else { return false };
    let suffix = format!(":{}", lock.ino());
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let holds = |line: &str| line.contains(" FLOCK ") && line.split(' ').any(|word| word.ends_with(&suffix));
    locks.lines().any(holds)
}

/// Ensures that the file exists and has this program's version. Does not change a foreign or newer file.
pub(crate) fn prepare(path: &Path, schema: &Schema, missing: Missing, older: Older) -> Result<(), OpenError> {
    require_safe_sqlite(path)?;
    if !file_exists(path)? {
        match missing {
            Missing::Refuse => return Err(OpenError::Missing(path.to_owned())),
            Missing::Create => create(path, schema, |_| Ok(()))?,
        }
    }
    match recognize(path)? {
        FileState::Empty if missing == Missing::Refuse => Err(OpenError::Foreign(path.to_owned())),
        FileState::Empty => fill(path, schema, |_| Ok(())),
        FileState::Version(found) => require_private(path).and_then(|()| require_version(path, schema, found, older)),
    }
}

/// Checks that the file is missing, or that a service may open it. A service calls this function before it creates
/// other files next to the file, so that it leaves nothing next to another program's file.
///
/// # Errors
/// [`OpenError::Empty`] if the file is empty: an interrupted copy leaves an empty file, and a new database in its place
/// would hide the failure. The other errors are also errors of [`prepare`].
pub(crate) fn require_servable(path: &Path, schema: &Schema) -> Result<(), OpenError> {
    require_safe_sqlite(path)?;
    if !file_exists(path)? {
        return Ok(());
    }
    match recognize(path)? {
        FileState::Empty => Err(OpenError::Empty(path.to_owned())),
        FileState::Version(found) if found > schema.version => {
            Err(OpenError::Newer { path: path.to_owned(), found, known: schema.version })
        }
        FileState::Version(_) => require_private(path),
    }
}

/// Checks that the file is readable and has this program's version. The file and its directory need not be writable.
pub(crate) fn prepare_to_read(path: &Path, schema: &Schema) -> Result<(), OpenError> {
    version_to_read(path).and_then(|found| require_version(path, schema, found, Older::Refuse))
}

/// Returns the version of a file. Makes the other checks of [`prepare_to_read`].
pub(crate) fn version_to_read(path: &Path) -> Result<i64, OpenError> {
    require_safe_sqlite(path)?;
    // A command that only reads must not report that the file cannot be written.
    let exists = file_exists(path).map_err(|error| match error {
        OpenError::NotWritable { path, why } => OpenError::Failed { path, why },
        other => other,
    })?;
    if !exists {
        return Err(OpenError::Missing(path.to_owned()));
    }
    let connection = connection::open_to_inspect_read_only(path).map_err(|error| OpenError::failed(path, &error))?;
    match inspect(path, &connection)? {
        FileState::Empty => Err(OpenError::Foreign(path.to_owned())),
        FileState::Version(found) => {
            // The mode of a read-only file is not checked, because the person who runs the command may be unable to
            // change the mode.
            if !connection.sqlite().is_readonly(MAIN_DB).unwrap_or(true) {
                require_private(path)?;
            }
            Ok(found)
        }
    }
}

fn require_safe_sqlite(path: &Path) -> Result<(), OpenError> {
    if rusqlite::version_number() >= connection::SQLITE_VERSION_MIN {
        return Ok(());
    }
    let why = format!("SQLite {} is too old to be safe", rusqlite::version());
    Err(OpenError::Failed { path: path.to_owned(), why })
}

/// Returns whether the file exists. Anything other than a regular file, such as a directory, is foreign.
fn file_exists(path: &Path) -> Result<bool, OpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => Err(OpenError::Foreign(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(OpenError::NotWritable { path: path.to_owned(), why: error.to_string() }),
    }
}

/// Checks that only the owner has access to the file, which contains personal data and digests of keys.
fn require_private(path: &Path) -> Result<(), OpenError> {
    let metadata = std::fs::metadata(path);
    let metadata = metadata.map_err(|error| OpenError::Failed { path: path.to_owned(), why: error.to_string() })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS == 0 { Ok(()) } else { Err(OpenError::Exposed { path: path.to_owned(), mode }) }
}

/// The bits of a mode that give access to the group and to others.
const OTHERS: u32 = 0o077;

fn require_version(path: &Path, schema: &Schema, found: i64, older: Older) -> Result<(), OpenError> {
    if found == schema.version {
        return Ok(());
    }
    let path = path.to_owned();
    let known = schema.version;
    if found > known {
        return Err(OpenError::Newer { path, found, known });
    }
    match older {
        Older::Refuse => Err(OpenError::Older { path, found, known }),
        Older::Upgrade => schema::upgrade(&path, schema, found)
            .map_err(|error| OpenError::NotUpgraded { path, why: error.to_string() }),
    }
}

/// Creates a file with this version's schema under another name, and then renames it. Otherwise, a process that is
/// killed midway would leave an empty file, which the next start would refuse. `then` can change the file before the
/// rename.
pub(super) fn create(
    path: &Path,
    schema: &Schema,
    then: impl FnOnce(&Connection) -> Result<(), Error>,
) -> Result<(), OpenError> {
    let not_writable = |error: std::io::Error| OpenError::NotWritable { path: path.to_owned(), why: error.to_string() };
    let absolute = &resolve(path);
    let wal = beside(absolute, "-wal");
    if std::fs::metadata(&wal).is_ok_and(|metadata| metadata.len() > 0) {
        return Err(OpenError::Orphaned { path: path.to_owned(), wal });
    }
    let partial = Partial::begin(absolute, ".new", Busy::Wait).map_err(not_writable)?;
    if partial::name_exists(absolute).map_err(not_writable)? {
        // Another process created the file first.
        return Ok(());
    }
    fill(partial.path(), schema, then).map_err(|error| match error {
        OpenError::Failed { why, .. } => OpenError::Failed { path: path.to_owned(), why },
        other => other,
    })?;
    partial.finish(Existing::Refuse).map_err(not_writable)
}

enum FileState {
    /// A file of zero bytes, or a database without tables.
    Empty,
    /// An appliance database file, with its version.
    Version(i64),
}

/// Recognizes a file that will be written to. Reads the file through SQLite, because closing any other handle would
/// drop SQLite's locks in this process.
fn recognize(path: &Path) -> Result<FileState, OpenError> {
    let not_writable = |why: String| OpenError::NotWritable { path: path.to_owned(), why };
    let connection = connection::open_to_inspect(path).map_err(|error| not_writable(error.to_string()))?;
    if connection.sqlite().is_readonly(MAIN_DB).unwrap_or(true) {
        return Err(not_writable("it is read-only".to_owned()));
    }
    inspect(path, &connection)
}

fn inspect(path: &Path, connection: &Connection) -> Result<FileState, OpenError> {
    let number = |sql| connection.sqlite().query_row(sql, [], |row| row.get(0));
    let read = || -> Result<Result<FileState, OpenError>, rusqlite::Error> {
        // All values are read from one snapshot, because another process may be creating the file.
        connection.sqlite().execute_batch("BEGIN")?;
        // Both numbers are in the header of the file. Counting the tables parses the whole schema.
        Ok(match (number("PRAGMA application_id")?, number("PRAGMA user_version")?) {
            (PARTIAL_COPY_ID, _) => Err(OpenError::PartialCopy(path.to_owned())),
            (schema::APPLICATION_ID, version) => Ok(FileState::Version(version)),
            (0, 0) if number("SELECT count(*) FROM sqlite_schema")? == 0 => Ok(FileState::Empty),
            _ => Err(OpenError::Foreign(path.to_owned())),
        })
    };
    match read() {
        Ok(state) => state,
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            Err(OpenError::Foreign(path.to_owned()))
        }
        Err(error) => Err(OpenError::Failed { path: path.to_owned(), why: error.to_string() }),
    }
}

/// Gives an empty file mode 0600 and creates the schema in it.
fn fill(path: &Path, schema: &Schema, then: impl FnOnce(&Connection) -> Result<(), Error>) -> Result<(), OpenError> {
    let private = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    private.map_err(|error| OpenError::NotWritable { path: path.to_owned(), why: error.to_string() })?;
    let connection = connection::open(path, connection::Use::Write)?;
    let created = schema::create(&connection, schema).and_then(|()| then(&connection));
    created.map_err(|error| OpenError::failed(path, &error))
}
