//! Why a service stops writing for good.

use std::sync::{Arc, OnceLock};

/// Why nothing more may be written by this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// The outcome of a transaction is unknown. The next start reads from the file what became of it.
    Unknown(String),
    /// The files by name are not those that are open. Somebody has to put them right before a start.
    Lost(String),
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(why) => f.write_str(why),
            Self::Lost(why) => write!(
                f,
                "{why} while the service ran on it; nothing more is written. Put the file back, or a backup with its list, and \
                 start again"
            ),
        }
    }
}

/// Set once nothing more may be written by this process.
pub(crate) type Broken = Arc<OnceLock<Halt>>;

/// How a store was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// Everything is in the one file.
    Whole,
    /// Something is left in the write-ahead log, where the next start finds it; the sentence says why.
    LogLeft(String),
    /// Nothing more could be written. Dropping the store would move the log, so it must not be.
    Halted(Halt),
}
