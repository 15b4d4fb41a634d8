//! The usage log writer: usage rows wait in a queue until the end of the runtime's tick. They are then committed
//! together, and their requests are answered after the commit. On a full disk, the rows become owed rows, and their
//! requests are answered without a commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::log::{LogEntry, append_all};
use crate::db::tx::{Error, Tx};
use crate::domain::api_key::KeyRefusal;
use crate::store::api_key::cache::CachedKey;
use crate::store::change_number;

/// The outcome of a queued usage row.
#[derive(Debug, Clone)]
pub enum RowOutcome {
    /// The row is committed or, on a full disk, owed.
    Logged,
    /// The row was not appended, because the key is no longer valid.
    KeyRefused(KeyRefusal),
    /// The row was not appended, because keys or users have changed since the key was looked up. The caller must look
    /// up the key again. Contains the row.
    KeyStale(Box<LogEntry>),
}

/// The callback that receives the outcome of a row.
pub(crate) type OnOutcome = Box<dyn FnOnce(Result<RowOutcome, Error>) + Send>;

/// A usage row in the queue, with the key of its request.
pub(crate) struct QueuedRow {
    pub(crate) key: Arc<CachedKey>,
    pub(crate) entry: LogEntry,
    pub(crate) done: OnOutcome,
}

/// The decision about a queued row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowDecision {
    Append,
    RefuseKey(KeyRefusal),
    ReloadKey,
}

/// Decides on each row. A row is appended if its key is neither stale nor invalid in this transaction. Also returns
/// the change number of keys and users at which the decisions were made.
pub(crate) fn decide(tx: &Tx<'_>, rows: &[QueuedRow]) -> Result<(Vec<RowDecision>, i64), Error> {
    let changed_at = change_number::credentials(tx)?;
    let decision = |row: &QueuedRow| match row.key.state_at(changed_at) {
        None => RowDecision::ReloadKey,
        Some(state) => state.require_valid(tx.now).map_or_else(RowDecision::RefuseKey, |()| RowDecision::Append),
    };
    Ok((rows.iter().map(decision).collect(), changed_at))
}

/// Decides on each row as [`decide`] does, and appends the rows of valid keys.
pub(crate) fn decide_and_append(tx: &Tx<'_>, rows: &[QueuedRow]) -> Result<(Vec<RowDecision>, i64), Error> {
    let (decisions, changed_at) = decide(tx, rows)?;
    let appended = rows.iter().zip(&decisions).filter(|(_, decision)| **decision == RowDecision::Append);
    append_all(tx, appended.map(|(row, _)| &row.entry))?;
    Ok((decisions, changed_at))
}

/// Reports the outcome of each row when the rows are committed or, on a full disk, owed.
pub(crate) fn answer(rows: Vec<QueuedRow>, decisions: Vec<RowDecision>) {
    for (row, decision) in rows.into_iter().zip(decisions) {
        let outcome = match decision {
            RowDecision::Append => RowOutcome::Logged,
            RowDecision::RefuseKey(why) => RowOutcome::KeyRefused(why),
            RowDecision::ReloadKey => RowOutcome::KeyStale(Box::new(row.entry)),
        };
        call(row.done, Ok(outcome));
    }
}

/// Reports an error for each row.
pub(crate) fn fail(rows: Vec<QueuedRow>, error: &Error) {
    for row in rows {
        call(row.done, Err(error.clone()));
    }
}

/// Calls `done`, and catches a panic in it, because the other rows still wait for their outcomes.
fn call(done: OnOutcome, outcome: Result<RowOutcome, Error>) {
    let _ = catch_unwind(AssertUnwindSafe(|| done(outcome)));
}
