//! The interface between the writing connection and the floor above: the calls that the engine makes in and around its
//! transactions. This module must not know any record of the service.

use std::any::Any;

use super::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;

/// The floor above, as the engine calls it in and around transactions of the writing connection. The engine is generic over
/// this trait, so that a call costs nothing.
pub(crate) trait Hooks: Send + 'static {
    /// A log row that is appended without a job of its own, and its caller.
    type Row: Send + 'static;
    /// The decision about a row: whether it is appended.
    type Verdict: Send + 'static;
    /// The part of a row that waits in memory while the disk is full.
    type Entry: Entry;
    /// Changes of state that is cached in memory.
    type Changes;

    /// Writer state, which acts reach with [`Tx::state`]. It is valid only inside the transactions of the writing
    /// connection.
    fn state(&self) -> &dyn Any;

    /// Reads, inside the transaction of a durable batch, which cached state the batch invalidates.
    fn changes(&self, tx: &Tx<'_>) -> Result<Self::Changes, Error>;

    /// Invalidates cached state, after the commit and before any caller is answered.
    fn invalidate(&self, changes: Self::Changes);

    /// Counts jobs that ran and rows that were appended.
    fn count(&self, written: usize);

    /// Called after the commit of a durable batch.
    fn committed(&self);

    /// Called before a rollback: discards writer state, which is no longer valid.
    fn discard_state(&self);

    /// Called after a rollback: undoes what its jobs did outside the file. If that fails, the outcome of the batch is
    /// unknown.
    fn undo(&self) -> Result<(), Error>;

    /// Decides about each row, and reads the change numbers that the decisions depend on.
    fn decide(&self, tx: &Tx<'_>, rows: &[Self::Row]) -> Result<(Vec<Self::Verdict>, Self::Changes), Error>;

    /// Decides about each row, and appends the accepted ones.
    fn append(&self, tx: &Tx<'_>, rows: &[Self::Row]) -> Result<(Vec<Self::Verdict>, Self::Changes), Error>;

    /// The entry of a row to append once the disk has room; `None` if the row is not accepted.
    fn entry(row: &Self::Row, verdict: &Self::Verdict) -> Option<Self::Entry>;

    /// Appends an entry that waited.
    fn append_entry(tx: &Tx<'_>, entry: &Self::Entry) -> Result<(), Error>;

    /// Answers each row.
    fn answer(rows: Vec<Self::Row>, verdicts: Vec<Self::Verdict>);

    /// Answers every row with an error.
    fn fail(rows: Vec<Self::Row>, error: &Error);
}

/// An entry that can wait in memory.
pub(crate) trait Entry: Send + 'static {
    /// The bytes that it takes in memory.
    fn bytes(&self) -> usize;
}

/// An entry that waits, with the time of its request.
pub(crate) struct Pending<E> {
    pub(crate) at: Timestamp,
    pub(crate) entry: E,
}

impl<E: Entry> Pending<E> {
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Timestamp>() + self.entry.bytes()
    }
}
