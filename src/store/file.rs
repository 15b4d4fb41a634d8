//! The database file: made, recognized, refused or upgraded before anything else touches it.

use std::ffi::c_int;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::MAIN_DB;

use super::erasure::ListError;
use super::thread::Periodic;
use super::tx::Error;
use super::{connection, schema};

/// Why a file cannot be used. Each is one sentence for the person at the command line.
#[derive(Debug)]
pub enum OpenError {
    /// There is none.
    Missing(PathBuf),
    /// It is no SQLite file, or another program's.
    Foreign(PathBuf),
    /// A newer version of the program wrote it.
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// An older version of the program wrote it, and only `serve` upgrades.
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// It, or its directory, is missing or cannot be written.
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// It is older, and could not be upgraded.
    NotUpgraded {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        why: String,
    },
    /// Another `serve` has it.
    Held(PathBuf),
    /// Anything else, such as a full disk or a damaged file.
    Failed {
        /// The file.
        path: PathBuf,
        /// What the system or SQLite says.
        why: String,
    },
    /// Who was erased cannot be told.
    NoList(ListError),
    /// Opening its connections failed.
    Store(Error),
}

impl OpenError {
    /// Whether starting again could help: not for a file that is newer, foreign or not writable.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Held(_) | Self::Failed { .. } | Self::Store(_))
    }
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = schema::CURRENT.version;
        match self {
            Self::Missing(path) => write!(
                f,
                "{} does not exist; `appliance serve`, `import` and `bootstrap-admin` make a new file",
                path.display()
            ),
            Self::Foreign(path) => write!(
                f,
                "{} is not a file of this program; name another file with --db, nothing was changed",
                path.display()
            ),
            Self::Newer { path, found } => write!(
                f,
                "{} has version {found}, this program knows {known}; use the newer program, nothing was changed",
                path.display()
            ),
            Self::Older { path, found } => write!(
                f,
                "{} has version {found}, this program writes {known}; start `appliance serve` on it once to upgrade it",
                path.display()
            ),
            Self::NotUpgraded { path, why } => {
                write!(f, "{} could not be upgraded and is as it was: {why}", path.display())
            }
            Self::NotWritable { path, why } => write!(f, "{} cannot be written: {why}", path.display()),
            Self::Held(path) => write!(
                f,
                "{} is in use by another `appliance serve`; stop that one or name another file with --db",
                path.display()
            ),
            Self::Failed { path, why } => write!(f, "{} cannot be opened: {why}", path.display()),
            Self::NoList(error) => error.fmt(f),
            Self::Store(error) => write!(f, "the file cannot be opened: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

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
pub fn prepare(path: &Path, missing: Missing, older: Older) -> Result<(), OpenError> {
    if rusqlite::version_number() < connection::SQLITE_VERSION_MIN {
        let why = format!("SQLite {} is too old to be safe with it", rusqlite::version());
        return Err(OpenError::Failed { path: path.to_owned(), why });
    }
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(OpenError::Foreign(path.to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => match missing {
            Missing::Refuse => return Err(OpenError::Missing(path.to_owned())),
            Missing::Create => create(path)?,
        },
        Err(error) => return Err(OpenError::NotWritable { path: path.to_owned(), why: error.to_string() }),
    }
    match inspect(path)? {
        Found::Empty if missing == Missing::Refuse => Err(OpenError::Foreign(path.to_owned())),
        Found::Empty => fill(path),
        Found::Version(found) if found == schema::CURRENT.version => Ok(()),
        Found::Version(found) if found > schema::CURRENT.version => {
            Err(OpenError::Newer { path: path.to_owned(), found })
        }
        Found::Version(found) => match older {
            Older::Refuse => Err(OpenError::Older { path: path.to_owned(), found }),
            Older::Upgrade => schema::upgrade(path, &schema::CURRENT, found)
                .map_err(|error| OpenError::NotUpgraded { path: path.to_owned(), why: error.to_string() }),
        },
    }
}

/// The path of the file itself: absolute, with links followed, so that a link to a file and the file are one.
pub fn resolve(path: &Path) -> PathBuf {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| absolute())
}

/// A path with something behind its last part.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// How often what was copied is brought to the disk. Much of it in the system's memory at once would make the system hold up
/// whoever writes, and that is the service.
const SYNC_EVERY: Duration = Duration::from_millis(10);

/// How long a copy is worked on, and then rests, so that it takes no more than a quarter of a core from the service; and after
/// how many steps of SQLite's machine that is looked at.
const WORK: Duration = Duration::from_millis(1);
const REST: Duration = Duration::from_millis(3);
const STEPS: c_int = 500;

/// Copies the file, with everything that is committed, into a new one of mode 0600.
///
/// # Errors
/// [`OpenError::NotWritable`] where the target cannot be made or is there already, [`OpenError::Failed`] where the
/// copy fails; then no target is left.
pub fn backup(path: &Path, target: &Path) -> Result<(), OpenError> {
    let not_writable =
        |error: std::io::Error| OpenError::NotWritable { path: target.to_owned(), why: error.to_string() };
    // Made first, with its mode, so that the copy is at no moment readable by others.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(target).map_err(not_writable)?;
    let copied = copy(path, target);
    if copied.is_err() {
        let _ = std::fs::remove_file(target);
    }
    copied.map_err(|error| failed(target, &error))
}

fn copy(path: &Path, target: &Path) -> Result<(), Error> {
    // Not a connection for reading only: that setting would hold for the copy too.
    let connection = connection::open(path, connection::Use::Write)?;
    // Absolute, because SQLite takes some names, such as `:memory:`, for something else than a file.
    let target = resolve(target);
    let target = target.to_str().ok_or_else(|| Error::Defect("the target's name is not UTF-8".to_owned()))?;
    let unavailable = |error: std::io::Error| Error::Unavailable(error.to_string());
    // Open until the copy is whole: closing it would take SQLite's locks on it away.
    let file = Arc::new(File::open(target).map_err(unavailable)?);
    let ours = Arc::clone(&file);
    let syncing = Periodic::start("syncing", SYNC_EVERY, move || drop(ours.sync_data()))?;
    let mut woke = Instant::now();
    let rest = move || {
        if woke.elapsed() >= WORK {
            std::thread::sleep(REST);
            woke = Instant::now();
        }
        false
    };
    connection.progress_handler(STEPS, Some(rest))?;
    // One read transaction, so a consistent copy, that holds nobody up.
    let copied = connection.execute("VACUUM INTO $1", [target]);
    syncing.stop();
    copied?;
    file.sync_all().and_then(|()| keep_name(Path::new(target))).map_err(unavailable)
}

/// Makes a new name survive a power cut: the directory is what holds it.
pub(super) fn keep_name(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

fn create(path: &Path) -> Result<(), OpenError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(_) => Ok(()),
        // Another process made it first: then it is there, which is all that is wanted.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(OpenError::NotWritable { path: path.to_owned(), why: error.to_string() }),
    }
}

enum Found {
    /// A file of no bytes, or a database without tables.
    Empty,
    /// This program's, of this version.
    Version(i64),
}

/// What the file is. Asked of SQLite and not by opening it: closing it would drop SQLite's locks in this process.
fn inspect(path: &Path) -> Result<Found, OpenError> {
    let not_writable = |why: String| OpenError::NotWritable { path: path.to_owned(), why };
    let connection = connection::look(path).map_err(|error| not_writable(error.to_string()))?;
    if connection.is_readonly(MAIN_DB).unwrap_or(true) {
        return Err(not_writable("it is read-only".to_owned()));
    }
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

fn fill(path: &Path) -> Result<(), OpenError> {
    let connection = connection::open(path, connection::Use::Write)?;
    schema::create(&connection, &schema::CURRENT).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &Error) -> OpenError {
    OpenError::Failed { path: path.to_owned(), why: error.to_string() }
}
