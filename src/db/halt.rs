//! Why a service stops writing for good.

use std::sync::{Arc, OnceLock};

/// Why this process may write nothing more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// The outcome of a transaction is unknown. The next start reads it from the file.
    Unknown(String),
    /// The files under the service's names are not the ones that it has open. An operator must restore them before a start.
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

/// Set once this process may write nothing more.
pub(crate) type Broken = Arc<OnceLock<Halt>>;

/// How a store was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// Everything is in the one file.
    Whole,
    /// The write-ahead log holds pages that the next start moves into the file; the text is the reason.
    LogLeft(String),
    /// Nothing more could be written. The store must not be dropped, because that would move the log.
    Halted(Halt),
}
