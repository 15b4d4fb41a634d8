//! The translation of SQLite's errors into the errors of the database layer.

use rusqlite::ErrorCode;

use super::super::error::Error;

/// `SQLITE_IOERR_SHMSIZE`: the shared memory cannot grow.
const SQLITE_IOERR_SHMSIZE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(error.to_string()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::CannotOpen) => {
                Self::Unavailable(error.to_string())
            }
            // On a full disk, the shared memory of the write-ahead log cannot grow.
            _ if error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_IOERR_SHMSIZE) => {
                Self::Full(error.to_string())
            }
            _ => Self::Defect(error.to_string()),
        }
    }
}
