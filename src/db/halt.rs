//! The reasons why a service permanently stops writing.

use std::sync::{Arc, OnceLock};

/// The reason why this process must no longer write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// The outcome of a transaction is unknown. The next start reads the outcome from the database.
    Unknown(String),
    /// The name of one of the service's files no longer belongs to the file that the service has open, or the database
    /// file was overwritten. An operator must restore the files before the next start.
    Lost(String),
    /// A newer server has upgraded the tables to a version that this program does not know. The text says what to do.
    Upgraded(String),
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(why) | Self::Upgraded(why) => f.write_str(why),
            Self::Lost(why) => write!(
                f,
                "{why} while the service was using it; the service stopped writing. Restore the file, or a backup with \
                 its erasure list, and start the service again"
            ),
        }
    }
}

/// The reason to stop writing, which is set at most once.
pub(crate) type Broken = Arc<OnceLock<Halt>>;

/// How a store was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// All commits are in the database file or on the database server.
    Whole,
    /// The write-ahead log contains pages that the next start moves into the file. The text is the reason.
    LogLeft(String),
    /// The process had stopped writing. The store must not be dropped, because dropping it would move the log into the
    /// file.
    Halted(Halt),
}
