//! The store's hooks, which `db` calls in and around its transactions. They serve the usage log, the cached state of
//! keys and portals, and the erasure list.

use std::any::Any;
use std::sync::Arc;

use super::cached_state::CachedState;
use super::change_number::{self, Changes};
use super::erasure::progress::Erasures;
use super::usage::log::{self, LogEntry, LogTail};
use super::usage::writer::{self, QueuedRow, RowDecision};
use crate::db::hooks::{Entry, Hooks};
use crate::db::tx::{Error, Tx};

/// The hooks of a service.
pub(super) struct StoreHooks {
    cached: Arc<CachedState>,
    erasures: Arc<Erasures>,
    tail: LogTail,
}

impl StoreHooks {
    pub(super) fn new(cached: Arc<CachedState>, erasures: Arc<Erasures>) -> Self {
        let tail = LogTail::new(Arc::clone(&cached.elsewhere));
        Self { cached, erasures, tail }
    }
}

impl Entry for LogEntry {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.path.len() + self.user_agent.len()
    }
}

impl Hooks for StoreHooks {
    type Row = QueuedRow;
    type Verdict = RowDecision;
    type Entry = LogEntry;
    type Changes = Changes;

    fn state(&self) -> &dyn Any {
        &self.tail
    }

    fn changes(&self, tx: &Tx<'_>) -> Result<Changes, Error> {
        change_number::changes_after(tx, self.cached.portals.newest())
    }

    fn invalidate(&self, changes: Changes) {
        self.cached.invalidate(changes);
    }

    fn count(&self, written: usize) {
        self.cached.unindexed.add(written);
    }

    fn committed(&self) {
        self.erasures.note_commit();
    }

    fn discard_state(&self) {
        self.tail.invalidate();
    }

    #[cfg(feature = "postgres")]
    fn outdate_state(&self) {
        self.tail.outdate();
    }

    #[cfg(feature = "postgres")]
    fn outdates_other_servers(&self) -> bool {
        self.tail.has_moved()
    }

    fn undo(&self) -> Result<(), Error> {
        self.erasures.note_rollback()
    }

    fn decide(&self, tx: &Tx<'_>, rows: &[QueuedRow]) -> Result<(Vec<RowDecision>, Changes), Error> {
        let (decisions, changed_at) = writer::decide(tx, rows)?;
        Ok((decisions, Changes::of_credentials(changed_at)))
    }

    fn append(&self, tx: &Tx<'_>, rows: &[QueuedRow]) -> Result<(Vec<RowDecision>, Changes), Error> {
        let (decisions, changed_at) = writer::decide_and_append(tx, rows)?;
        Ok((decisions, Changes::of_credentials(changed_at)))
    }

    fn entry(row: &QueuedRow, decision: &RowDecision) -> Option<LogEntry> {
        (*decision == RowDecision::Append).then(|| row.entry.clone())
    }

    fn append_entry(tx: &Tx<'_>, entry: &LogEntry) -> Result<(), Error> {
        log::append(tx, entry)
    }

    fn answer(rows: Vec<QueuedRow>, decisions: Vec<RowDecision>) {
        writer::answer(rows, decisions);
    }

    fn fail(rows: Vec<QueuedRow>, error: &Error) {
        writer::fail(rows, error);
    }
}
