//! The pool of reading connections, for every engine.

use super::error::Error;
#[cfg(feature = "postgres")]
use super::postgres::readers as postgres;
use super::sqlite::connection;
use super::tx::Tx;
use crate::domain::timestamp::Timestamp;

/// A pool of reading connections.
pub(crate) enum Readers {
    Sqlite(connection::Readers),
    #[cfg(feature = "postgres")]
    Postgres(std::sync::Arc<postgres::Readers>),
}

impl Readers {
    /// Runs `f` on one snapshot, on the caller's thread.
    pub(crate) fn read<T>(&self, now: Timestamp, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Sqlite(readers) => readers.read(now, f),
            #[cfg(feature = "postgres")]
            Self::Postgres(readers) => readers.snapshot(now, f),
        }
    }
}
