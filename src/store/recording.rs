//! Rows of the usage log on their way into the file: they wait for the end of the runtime's turn and are committed
//! together, before any of their answers leaves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::change;
use super::known_key::KnownKey;
use super::usage::{self, LogEntry};
use crate::db::tx::{Error, Tx};

/// What became of a row.
#[derive(Debug, Clone)]
pub enum Recorded {
    /// It is in the log.
    Logged,
    /// There is none: the key has come to its end since.
    Ended,
    /// There is none: something has changed that may concern the key, so the answer may not be true any more. The row comes
    /// back.
    Changed(Box<LogEntry>),
}

/// Whom to tell.
pub(crate) type Done = Box<dyn FnOnce(Result<Recorded, Error>) + Send>;

/// A row, the key that it is of, and whom to tell.
pub(crate) struct Recording {
    pub(crate) key: Arc<KnownKey>,
    pub(crate) entry: LogEntry,
    pub(crate) done: Done,
}

/// What may become of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Logged,
    Ended,
    Changed,
}

/// What may become of each row, and the last change of keys that this transaction knows of.
pub(crate) fn verdicts(tx: &Tx<'_>, rows: &[Recording]) -> Result<(Vec<Verdict>, i64), Error> {
    let changed_at = change::credentials(tx)?;
    let verdict = |row: &Recording| match row {
        row if !row.key.is_known_at(changed_at) => Verdict::Changed,
        row if row.key.is_expired(tx.now) => Verdict::Ended,
        _ => Verdict::Logged,
    };
    Ok((rows.iter().map(verdict).collect(), changed_at))
}

/// Appends what may be appended: what became of each, and the last change of keys that this transaction knows of.
pub(crate) fn append_all(tx: &Tx<'_>, rows: &[Recording]) -> Result<(Vec<Verdict>, i64), Error> {
    let (verdicts, changed_at) = verdicts(tx, rows)?;
    let logged = rows.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == Verdict::Logged);
    usage::append_all(tx, logged.map(|(row, _)| &row.entry))?;
    Ok((verdicts, changed_at))
}

pub(crate) fn answer(rows: Vec<Recording>, verdicts: Vec<Verdict>) {
    for (row, verdict) in rows.into_iter().zip(verdicts) {
        let outcome = match verdict {
            Verdict::Logged => Recorded::Logged,
            Verdict::Ended => Recorded::Ended,
            Verdict::Changed => Recorded::Changed(Box::new(row.entry)),
        };
        tell(row.done, Ok(outcome));
    }
}

pub(crate) fn fail(rows: Vec<Recording>, error: &Error) {
    for row in rows {
        tell(row.done, Err(error.clone()));
    }
}

/// Whoever waits may be gone, or fail on the answer; that is no reason to keep the others waiting.
fn tell(done: Done, outcome: Result<Recorded, Error>) {
    let _ = catch_unwind(AssertUnwindSafe(|| done(outcome)));
}
