//! The database file: made, recognized, refused or upgraded before anything else touches it.

pub(crate) mod backup;
mod error;
pub(crate) mod partial;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rusqlite::{Connection, MAIN_DB};

pub(crate) use self::backup::{Companion, backup};
pub use self::backup::{require_absent, write_manifest};
pub use self::error::OpenError;
use self::partial::{Busy, Existing, Partial};
use super::connection;
pub use super::path::{beside, resolve};
use super::schema::{self, Schema};

/// What to do where there is no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Make one.
    Create,
    /// Refuse.
    Refuse,
}

/// What to do with a file of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
    /// Copy it, check the copy, then upgrade it in one transaction.
    Upgrade,
    /// Refuse.
    Refuse,
}

/// That no second service uses the file: an exclusive lock on `FILE.lock`, for as long as this lives.
///
/// Another file than the database's own, because closing that drops SQLite's locks on it.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, never read")] File);

impl Lock {
    /// Takes the lock.
    ///
    /// # Errors
    /// [`OpenError::Held`] where another process has it, [`OpenError::NotWritable`] where its file cannot be made.
    pub fn take(path: &Path) -> Result<Self, OpenError> {
        let lock_path = beside(&resolve(path), ".lock");
        let not_writable = |error: std::io::Error| OpenError::NotWritable {
            path: path.to_owned(),
            why: format!("its lock file {} cannot be made: {error}", lock_path.display()),
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

/// Makes sure that the file is there and of this program's version. A foreign or newer file is left untouched.
///
/// # Errors
/// Everything that [`OpenError`] names.
pub(crate) fn prepare(path: &Path, schema: &Schema, missing: Missing, older: Older) -> Result<(), OpenError> {
    require_safe_sqlite(path)?;
    if !is_there(path)? {
        match missing {
            Missing::Refuse => return Err(OpenError::Missing(path.to_owned())),
            Missing::Create => create(path, schema)?,
        }
    }
    match look(path)? {
        Found::Empty if missing == Missing::Refuse => Err(OpenError::Foreign(path.to_owned())),
        Found::Empty => fill(path, schema),
        Found::Version(found) => require_private(path).and_then(|()| require_version(path, schema, found, older)),
    }
}

/// Passes for a file that a service may begin to work with, and where there is none. It is looked at before the service makes
/// anything beside it, so that a file of another program stays as it is, and nothing is beside it.
///
/// # Errors
/// [`OpenError::Empty`] where it has nothing in it: that is what is left of a copy that was cut short, and a new service in its
/// place would hide that. Otherwise as [`prepare`].
pub(crate) fn look_before_serving(path: &Path, schema: &Schema) -> Result<(), OpenError> {
    require_safe_sqlite(path)?;
    if !is_there(path)? {
        return Ok(());
    }
    match look(path)? {
        Found::Empty => Err(OpenError::Empty(path.to_owned())),
        Found::Version(found) if found > schema.version => {
            Err(OpenError::Newer { path: path.to_owned(), found, known: schema.version })
        }
        Found::Version(_) => require_private(path),
    }
}

/// Passes for a file of this program's version that can be read, also where nothing can be written beside it or to it.
///
/// # Errors
/// Everything that [`OpenError`] names.
pub(crate) fn prepare_to_read(path: &Path, schema: &Schema) -> Result<(), OpenError> {
    require_safe_sqlite(path)?;
    if !is_there(path)? {
        return Err(OpenError::Missing(path.to_owned()));
    }
    let connection = connection::look_to_read(path).map_err(|error| OpenError::failed(path, &error))?;
    match inspect(path, &connection)? {
        Found::Empty => Err(OpenError::Foreign(path.to_owned())),
        Found::Version(found) => {
            // Where the file cannot be changed, its mode cannot be either.
            if !connection.is_readonly(MAIN_DB).unwrap_or(true) {
                require_private(path)?;
            }
            require_version(path, schema, found, Older::Refuse)
        }
    }
}

fn require_safe_sqlite(path: &Path) -> Result<(), OpenError> {
    if rusqlite::version_number() >= connection::SQLITE_VERSION_MIN {
        return Ok(());
    }
    let why = format!("SQLite {} is too old to be safe with it", rusqlite::version());
    Err(OpenError::Failed { path: path.to_owned(), why })
}

/// Whether there is a file; anything else than a file is foreign.
fn is_there(path: &Path) -> Result<bool, OpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => Err(OpenError::Foreign(path.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(OpenError::NotWritable { path: path.to_owned(), why: error.to_string() }),
    }
}

/// Passes for a file that only its owner may read: it holds personal data and what keys are checked against.
fn require_private(path: &Path) -> Result<(), OpenError> {
    let metadata = std::fs::metadata(path);
    let metadata = metadata.map_err(|error| OpenError::Failed { path: path.to_owned(), why: error.to_string() })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS == 0 { Ok(()) } else { Err(OpenError::Exposed { path: path.to_owned(), mode }) }
}

/// The bits of a mode that let the group or everybody in.
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

/// Makes a file of this version under another name first: a process that is killed meanwhile leaves no empty file, which the
/// next start would refuse.
fn create(path: &Path, schema: &Schema) -> Result<(), OpenError> {
    let not_writable = |error: std::io::Error| OpenError::NotWritable { path: path.to_owned(), why: error.to_string() };
    let whole = &resolve(path);
    let wal = beside(whole, "-wal");
    if std::fs::metadata(&wal).is_ok_and(|metadata| metadata.len() > 0) {
        return Err(OpenError::Orphaned { path: path.to_owned(), wal });
    }
    let partial = Partial::begin(whole, ".new", Busy::Wait).map_err(not_writable)?;
    if partial::is_there(whole).map_err(not_writable)? {
        // Another process made it first: then it is there, which is all that is wanted.
        return Ok(());
    }
    fill(partial.path(), schema).map_err(|error| match error {
        OpenError::Failed { why, .. } => OpenError::Failed { path: path.to_owned(), why },
        other => other,
    })?;
    partial.finish(Existing::Keep).map_err(not_writable)
}

enum Found {
    /// A file of no bytes, or a database without tables.
    Empty,
    /// This program's, of this version.
    Version(i64),
}

/// What a file is that is to be written. Asked of SQLite and not by opening it: closing it would drop SQLite's locks in this
/// process.
fn look(path: &Path) -> Result<Found, OpenError> {
    let not_writable = |why: String| OpenError::NotWritable { path: path.to_owned(), why };
    let connection = connection::look(path).map_err(|error| not_writable(error.to_string()))?;
    if connection.is_readonly(MAIN_DB).unwrap_or(true) {
        return Err(not_writable("it is read-only".to_owned()));
    }
    inspect(path, &connection)
}

fn inspect(path: &Path, connection: &Connection) -> Result<Found, OpenError> {
    let pragma = |sql| connection.query_row(sql, [], |row| row.get(0));
    let look = || -> Result<(i64, i64, i64), rusqlite::Error> {
        // One moment of the file: another process may be making it just now.
        connection.execute_batch("BEGIN")?;
        let tables = pragma("SELECT count(*) FROM sqlite_schema")?;
        Ok((pragma("PRAGMA application_id")?, pragma("PRAGMA user_version")?, tables))
    };
    match look() {
        Ok((0, 0, 0)) => Ok(Found::Empty),
        Ok((schema::APPLICATION_ID, version, _)) => Ok(Found::Version(version)),
        Ok(_) => Err(OpenError::Foreign(path.to_owned())),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            Err(OpenError::Foreign(path.to_owned()))
        }
        Err(error) => Err(OpenError::Failed { path: path.to_owned(), why: error.to_string() }),
    }
}

/// Fills an empty file, and makes it its owner's alone.
fn fill(path: &Path, schema: &Schema) -> Result<(), OpenError> {
    let private = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    private.map_err(|error| OpenError::NotWritable { path: path.to_owned(), why: error.to_string() })?;
    let connection = connection::open(path, connection::Use::Write)?;
    schema::create(&connection, schema).map_err(|error| OpenError::failed(path, &error))
}
