//! The interface between the writing connection and the layer above: the calls that the engine makes in and around its
//! transactions. This module does not depend on any record of the service.

use std::any::Any;

use super::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;

/// The functions that the engine calls in and around transactions of the writing connection. The engine is generic over
/// this trait, so that a call needs no dynamic dispatch.
pub(crate) trait Hooks: Send + 'static {
    /// A log row, together with its caller. The engine appends log rows without jobs.
    type Row: Send + 'static;
    /// The decision about a row: whether it is appended.
    type Verdict: Send + 'static;
    /// The part of a row that waits in memory while the disk is full.
    type Entry: Entry;
    /// The changes to state that is cached in memory.
    type Changes;

    /// Returns the writer state, which jobs access with [`Tx::state`]. It is valid only inside the transactions of the
    /// writing connection.
    fn state(&self) -> &dyn Any;

    /// Reads, inside the transaction of a durable batch, which cached state the batch invalidates.
    fn changes(&self, tx: &Tx<'_>) -> Result<Self::Changes, Error>;

    /// Invalidates cached state before any caller is answered: after the commit or, for rows that become owed on a full
    /// disk, without a commit.
    fn invalidate(&self, changes: Self::Changes);

    /// Counts the jobs or rows that a transaction has processed.
    fn count(&self, written: usize);

    /// Runs after the commit of a durable batch. The PostgreSQL engine also calls this function after the commit of any
    /// other batch, and after a commit whose outcome is unknown.
    fn committed(&self);

    /// Discards the writer state, which a rollback or the loss of commits makes invalid.
    fn discard_state(&self);

    /// Marks the writer state as outdated, because another server may have appended log rows.
    #[cfg(feature = "postgres")]
    fn outdate_state(&self);

    /// Returns whether this transaction has changed log rows to which the writer state of other servers may refer. Each
    /// of these servers must then discard its state.
    #[cfg(feature = "postgres")]
    fn outdates_other_servers(&self) -> bool;

    /// Undoes the effects that a batch has had outside the database, after the rollback of its transaction. If this
    /// fails, the outcome of the batch is unknown.
    fn undo(&self) -> Result<(), Error>;

    /// Decides whether to accept each row, and reads the change numbers that the decisions depend on.
    fn decide(&self, tx: &Tx<'_>, rows: &[Self::Row]) -> Result<(Vec<Self::Verdict>, Self::Changes), Error>;

    /// Decides whether to accept each row, and appends the accepted rows.
    fn append(&self, tx: &Tx<'_>, rows: &[Self::Row]) -> Result<(Vec<Self::Verdict>, Self::Changes), Error>;

    /// Returns the entry of an accepted row, which is appended as soon as the disk has room again, or `None` if the row
    /// is not accepted.
    fn entry(row: &Self::Row, verdict: &Self::Verdict) -> Option<Self::Entry>;

    /// Appends an entry that has waited.
    fn append_entry(tx: &Tx<'_>, entry: &Self::Entry) -> Result<(), Error>;

    /// Answers each row.
    fn answer(rows: Vec<Self::Row>, verdicts: Vec<Self::Verdict>);

    /// Answers every row with an error.
    fn fail(rows: Vec<Self::Row>, error: &Error);
}

/// An entry that can wait in memory.
pub(crate) trait Entry: Send + 'static {
    /// Returns the number of bytes that the entry occupies in memory.
    fn bytes(&self) -> usize;
}

/// A waiting entry, with the time of its request.
pub(crate) struct Pending<E> {
    pub(crate) at: Timestamp,
    pub(crate) entry: E,
}

impl<E: Entry> Pending<E> {
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Timestamp>() + self.entry.bytes()
    }
}
