//! Errors of the database layer and the store. Each engine translates the errors of its driver into them.

use std::io::ErrorKind;

use crate::domain::refusal::Refusal;

/// The reason why an operation on the store failed.
#[derive(Debug, Clone)]
pub enum Error {
    /// A rule refuses the request. The text is for the caller.
    Refused(Refusal),
    /// The disk is full. The text is for the log.
    Full(String),
    /// The store cannot do the work now, for example because a queue is full, another process holds a lock, or the
    /// service is stopping. The text is for the log.
    Unavailable(String),
    /// The program has a defect, or the database is damaged. The text is for the log.
    Defect(String),
    /// The commit or the rollback failed, and it is unknown whether the changes are in the database. The text is for
    /// the log.
    OutcomeUnknown(String),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Error {
    /// Returns the error of a file operation. `failure` names the failed action, for example "the file cannot be
    /// written".
    pub(crate) fn of_io(failure: &str, error: &std::io::Error) -> Self {
        let why = format!("{failure}: {error}");
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full(why),
            _ => Self::Unavailable(why),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refusal) => f.write_str(&refusal.sentence()),
            Self::Full(message)
            | Self::Unavailable(message)
            | Self::Defect(message)
            | Self::OutcomeUnknown(message) => f.write_str(message),
        }
    }
}
