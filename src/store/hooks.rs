//! What the store does in and around the transactions of the engine: the usage log, the cached state of keys and portals,
//! and the list of erased candidates.

use std::any::Any;
use std::sync::Arc;

use super::change::{self, Changed};
use super::erasure::progress::Erasures;
use super::memory::Memory;
use super::recording::{self, Recording, Verdict};
use super::usage::{self, Ledger, LogEntry};
use crate::db::hooks::{Entry, Hooks};
use crate::db::tx::{Error, Tx};

/// The hooks of a service.
pub(super) struct StoreHooks {
    memory: Arc<Memory>,
    erasures: Arc<Erasures>,
    ledger: Ledger,
}

impl StoreHooks {
    pub(super) fn new(memory: Arc<Memory>, erasures: Arc<Erasures>) -> Self {
        Self { memory, erasures, ledger: Ledger::default() }
    }
}

impl Entry for LogEntry {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.path.len() + self.user_agent.len()
    }
}

impl Hooks for StoreHooks {
    type Row = Recording;
    type Verdict = Verdict;
    type Entry = LogEntry;
    type Changes = Changed;

    fn state(&self) -> &dyn Any {
        &self.ledger
    }

    fn changes(&self, tx: &Tx<'_>) -> Result<Changed, Error> {
        change::read(tx, self.memory.portals.newest())
    }

    fn invalidate(&self, changes: Changed) {
        self.memory.learn(changes);
    }

    fn count(&self, written: usize) {
        self.memory.appended.add(written);
    }

    fn committed(&self) {
        self.erasures.note_commit();
    }

    fn discard_state(&self) {
        self.ledger.forget();
    }

    fn undo(&self) -> Result<(), Error> {
        self.erasures.note_rollback()
    }

    fn decide(&self, tx: &Tx<'_>, rows: &[Recording]) -> Result<(Vec<Verdict>, Changed), Error> {
        let (verdicts, changed_at) = recording::verdicts(tx, rows)?;
        Ok((verdicts, Changed::of_credentials(changed_at)))
    }

    fn append(&self, tx: &Tx<'_>, rows: &[Recording]) -> Result<(Vec<Verdict>, Changed), Error> {
        let (verdicts, changed_at) = recording::append_all(tx, rows)?;
        Ok((verdicts, Changed::of_credentials(changed_at)))
    }

    fn entry(row: &Recording, verdict: &Verdict) -> Option<LogEntry> {
        (*verdict == Verdict::Logged).then(|| row.entry.clone())
    }

    fn append_entry(tx: &Tx<'_>, entry: &LogEntry) -> Result<(), Error> {
        usage::append(tx, entry)
    }

    fn answer(rows: Vec<Recording>, verdicts: Vec<Verdict>) {
        recording::answer(rows, verdicts);
    }

    fn fail(rows: Vec<Recording>, error: &Error) {
        recording::fail(rows, error);
    }
}
