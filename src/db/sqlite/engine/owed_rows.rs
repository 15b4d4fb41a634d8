//! Log rows on a full disk: their entries wait in memory until the disk has room.

use std::time::Duration;

use super::super::super::hooks::{Hooks, Pending};
use super::super::super::tx::{self, Error, Undo};
use super::super::reserve::Reserve;
use super::Engine;
use crate::domain::clock::ClockReading;

/// The maximum number of entries that one transaction writes.
const ENTRIES_PER_TRANSACTION_MAX: usize = 1_000;

impl<H: Hooks> Engine<H> {
    /// Answers the callers of rows without writing the rows, because the disk is full. The entries of the rows wait in
    /// memory until the disk has room. A row is refused if its entry would make the waiting entries exceed their limit.
    pub(crate) fn owe(&mut self, rows: Vec<H::Row>) {
        self.reserve.note_full();
        let now = self.clock.read().wall;
        let (verdicts, changes) = match tx::snapshot(&self.connection, now, |tx| self.hooks.decide(tx, &rows)) {
            Ok(decided) => decided,
            Err(error) => return H::fail(rows, &error),
        };
        self.hooks.invalidate(changes);
        let (mut accepted, mut refused) = ((Vec::new(), Vec::new()), Vec::new());
        for (row, verdict) in rows.into_iter().zip(verdicts) {
            let entry = H::entry(&row, &verdict);
            if entry.is_none_or(|entry| self.pending.push(Pending { at: now, entry })) {
                accepted.0.push(row);
                accepted.1.push(verdict);
            } else {
                refused.push(row);
            }
        }
        self.reserve.set_owed_rows(self.pending.len());
        H::answer(accepted.0, accepted.1);
        H::fail(refused, &Reserve::refusal());
    }

    /// Writes the waiting entries, each with the time of its request. If a write fails, the remaining entries continue
    /// to wait.
    pub(crate) fn write_pending(&mut self) -> Result<(), Error> {
        while !self.pending.is_empty() {
            self.begin(false)?;
            let (connection, hooks) = (&self.connection, &self.hooks);
            let rows = self.pending.first(ENTRIES_PER_TRANSACTION_MAX);
            let count = rows.len();
            let mut append = |row: &Pending<H::Entry>| {
                let then = ClockReading { wall: row.at, believed: row.at, uptime: Duration::ZERO };
                tx::within(connection, hooks.state(), Undo::Savepoint, then, |tx| H::append_entry(tx, &row.entry)).0
            };
            if let Err(error) = rows.into_iter().try_for_each(&mut append) {
                return self.undo().and(Err(error));
            }
            self.commit()?;
            self.hooks.count(count);
            self.pending.remove_first(count);
            self.reserve.set_owed_rows(self.pending.len());
        }
        Ok(())
    }

    pub(crate) fn write_pending_unless_full(&mut self) {
        if !self.reserve.is_full()
            && !self.pending.is_empty()
            && let Err(Error::Full(_)) = self.write_pending()
        {
            self.reserve.note_full();
        }
    }
}
