//! Rows of the usage log while the disk is full: owed, and written once there is room.

use std::time::Duration;

use super::super::owed::OwedRow;
use super::super::reserve::Reserve;
use super::super::tx::{self, Error, Undo};
use super::Engine;
use crate::domain::clock::ClockReading;
use crate::store::recording::{self, Recorded, Recording, Verdict};
use crate::store::usage;

/// Rows that are owed and written in one transaction.
const PAID_ROWS_MAX: usize = 1_000;

impl Engine {
    /// Answers rows without writing them: the disk is full. The rows wait in memory until there is room.
    pub(crate) fn owe(&mut self, rows: Vec<Recording>) {
        self.reserve.note_full();
        let now = self.clock.read().wall;
        let (verdicts, changed_at) = match tx::snapshot(&self.connection, now, |tx| recording::verdicts(tx, &rows)) {
            Ok(verdicts) => verdicts,
            Err(error) => return recording::answer_all(rows, &Err(error)),
        };
        self.memory.keys.learn(changed_at);
        let (mut taken, mut refused) = ((Vec::new(), Vec::new()), Vec::new());
        for (row, verdict) in rows.into_iter().zip(verdicts) {
            if verdict == Verdict::Logged && !self.owed.push(OwedRow { at: now, entry: row.entry.clone() }) {
                refused.push(row);
            } else {
                taken.0.push(row);
                taken.1.push(verdict);
            }
        }
        self.reserve.set_owed_rows(self.owed.len());
        recording::answer(taken.0, taken.1);
        recording::answer_all(refused, &Err::<Recorded, _>(Reserve::refusal()));
    }

    /// Writes the rows that are owed, each with the time of its request. They stay owed where that fails.
    pub(in super::super) fn pay(&mut self) -> Result<(), Error> {
        while !self.owed.is_empty() {
            self.begin(false)?;
            let (connection, ledger) = (&self.connection, &self.ledger);
            let rows = self.owed.first(PAID_ROWS_MAX);
            let count = rows.len();
            let mut append = |row: &OwedRow| {
                let then = ClockReading { wall: row.at, believed: row.at, uptime: Duration::ZERO };
                tx::within(connection, ledger, Undo::Savepoint, then, |tx| usage::append(tx, &row.entry)).0
            };
            if let Err(error) = rows.into_iter().try_for_each(&mut append) {
                return self.undo().and(Err(error));
            }
            self.commit()?;
            self.memory.appended.add(count);
            self.owed.remove_first(count);
            self.reserve.set_owed_rows(self.owed.len());
        }
        Ok(())
    }

    pub(crate) fn pay_unless_full(&mut self) {
        if !self.reserve.is_full()
            && !self.owed.is_empty()
            && let Err(Error::Full(_)) = self.pay()
        {
            self.reserve.note_full();
        }
    }
}
