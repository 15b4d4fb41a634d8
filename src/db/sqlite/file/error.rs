//! The reasons why a database cannot be used. Most of them concern a file.

use std::path::{Path, PathBuf};

use super::super::super::tx::Error;

/// The reason why a database cannot be used. Each reason is displayed as one sentence for the operator.
#[derive(Debug)]
pub enum OpenError {
    /// The file does not exist.
    Missing(PathBuf),
    /// The file is not a SQLite file, belongs to another program, or is not a regular file. A command that does not
    /// create files also reports an empty file as foreign.
    Foreign(PathBuf),
    /// The file is empty.
    Empty(PathBuf),
    /// The file is an incomplete copy.
    PartialCopy(PathBuf),
    /// The file does not exist, but its write-ahead log does.
    Orphaned { path: PathBuf, wal: PathBuf },
    /// Users other than the owner have access to the file.
    Exposed { path: PathBuf, mode: u32 },
    /// A newer version of the program wrote the file.
    Newer {
        path: PathBuf,
        found: i64,
        /// The version that this program writes.
        known: i64,
    },
    /// An older version of the program wrote the file, and only `serve` and `upgrade` upgrade a file.
    Older {
        path: PathBuf,
        found: i64,
        /// The version that this program writes.
        known: i64,
    },
    /// The file cannot be written, for example because it is read-only, its directory is missing, or the target of a
    /// backup already exists.
    NotWritable { path: PathBuf, why: String },
    /// The file was replaced, but a power cut might bring the old file back.
    NotSynced { path: PathBuf, why: String },
    /// The upgrade of an older file failed.
    NotUpgraded { path: PathBuf, why: String },
    /// Another process holds the lock on the file: usually another `serve`.
    Held(PathBuf),
    /// Another failure, for example because the disk is full or the file is damaged.
    Failed { path: PathBuf, why: String },
    /// A file that belongs to the database cannot be used. The text is the reason.
    Companion(String),
    /// The PostgreSQL database cannot be used.
    Server {
        /// The whole sentence.
        why: String,
        may_pass: bool,
    },
    /// An operation on the database failed while the database was being opened.
    Store(Error),
}

impl OpenError {
    /// Returns the error for a failed operation on the file.
    pub(crate) fn failed(path: &Path, error: &Error) -> Self {
        Self::Failed { path: path.to_owned(), why: error.to_string() }
    }

    /// Returns whether a later start might succeed without any action by the operator. A later start would fail again
    /// if, for example, the file is newer, foreign or not writable.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Held(_) | Self::Failed { .. } | Self::Store(_) | Self::Server { may_pass: true, .. })
    }
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(path) => write!(
                f,
                "{} does not exist; `appliance init`, `serve`, `bootstrap-admin` and `import` of a document create a \
                 new file",
                path.display()
            ),
            Self::Foreign(path) => write!(
                f,
                "{} is not an appliance database file and was not changed; choose another file with --db",
                path.display()
            ),
            Self::Empty(path) => write!(
                f,
                "{} is empty, perhaps after an interrupted copy; replace it with a backup, or remove it to begin \
                 with a new file",
                path.display()
            ),
            Self::PartialCopy(path) => write!(
                f,
                "{} is an incomplete copy; repeat the `appliance copy` that created it, or remove the file",
                path.display()
            ),
            Self::Orphaned { path, wal } => write!(
                f,
                "{} does not exist, but its log {} exists and contains the latest changes; put the file back next to \
                 the log, or remove {} to begin with a new file",
                path.display(),
                wal.display(),
                wal.display()
            ),
            Self::Exposed { path, mode } => write!(
                f,
                "{} is open to other users of this machine (mode {mode:04o}) and holds personal data; run \
                 `chmod 600 {}` and start again",
                path.display(),
                path.display()
            ),
            Self::Newer { path, found, known } => write!(
                f,
                "{} has version {found}, but this program supports only version {known}; the file was not changed; use \
                 a newer version of the program",
                path.display()
            ),
            Self::Older { path, found, known } => write!(
                f,
                "{} has version {found}, but this program needs version {known}; start `appliance serve` on it once to \
                 upgrade it, or run `appliance upgrade`",
                path.display()
            ),
            Self::NotUpgraded { path, why } => {
                write!(f, "{} could not be upgraded and was not changed: {why}", path.display())
            }
            Self::NotWritable { path, why } => write!(f, "{} cannot be written: {why}", path.display()),
            Self::NotSynced { path, why } => write!(
                f,
                "{} was replaced, but a power cut might bring the old file back, because the directory cannot be \
                 synced: {why}",
                path.display()
            ),
            Self::Held(path) => write!(
                f,
                "{} is in use by another process, such as `appliance serve`, `restore`, `upgrade` or a large `import`; \
                 stop that process, or choose another file with --db",
                path.display()
            ),
            Self::Failed { path, why } => write!(f, "{} cannot be used: {why}", path.display()),
            Self::Companion(why) | Self::Server { why, .. } => f.write_str(why),
            Self::Store(error) => write!(f, "the database cannot be opened: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}
