//! Why a file cannot be used: each is one sentence for the person at the command line.

use std::path::{Path, PathBuf};

use super::super::tx::Error;

/// Why a file cannot be used. Each is one sentence for the person at the command line.
#[derive(Debug)]
pub enum OpenError {
    /// There is none.
    Missing(PathBuf),
    /// It is no SQLite file, or another program's.
    Foreign(PathBuf),
    /// There is nothing in it.
    Empty(PathBuf),
    /// There is no file, but a write-ahead log that belongs to it.
    Orphaned {
        /// The file.
        path: PathBuf,
        /// The log.
        wal: PathBuf,
    },
    /// Others than its owner may read or write it.
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A newer version of the program wrote it.
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The version of this program.
        known: i64,
    },
    /// An older version of the program wrote it, and only `serve` upgrades.
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The version of this program.
        known: i64,
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
    /// A file beside it that a start needs cannot be used; the sentence says why.
    Companion(String),
    /// Opening its connections failed.
    Store(Error),
}

impl OpenError {
    /// The failure of an operation on the file.
    pub(crate) fn failed(path: &Path, error: &Error) -> Self {
        Self::Failed { path: path.to_owned(), why: error.to_string() }
    }

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
            Self::Empty(path) => write!(
                f,
                "{} is empty, as a copy is that was cut short; put a backup in its place, or remove it and start again \
                 for a new service",
                path.display()
            ),
            Self::Orphaned { path, wal } => write!(
                f,
                "{} does not exist, but {} does, with what its service answered last; put the file back beside it, or \
                 remove that log and start again for a new service",
                path.display(),
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
                "{} has version {found}, this program knows {known}; use the newer program, nothing was changed",
                path.display()
            ),
            Self::Older { path, found, known } => write!(
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
            Self::Companion(why) => f.write_str(why),
            Self::Store(error) => write!(f, "the file cannot be opened: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}
