//! The engine behind the writer thread: it runs queued jobs in batches, appends log rows, and calls the hooks around each
//! transaction, as the engine of a SQLite file does. A batch of decisions takes one commit.
//!
//! A transaction may run more than once (see [`super::writer`]). Before each further run, the hooks undo the effects of
//! the run before it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::writer::{Mode, Writer};
use crate::db::clock::Clock;
use crate::db::connection::Connection;
use crate::db::halt::{Broken, Halt};
use crate::db::hooks::Hooks;
use crate::db::job::{Answering, Job, answer_all};
use crate::db::tx::{self, Error, Tx, Undo};

/// The writer on which the service runs all writing jobs.
pub(crate) struct Engine<H: Hooks> {
    writer: Writer,
    parts: Parts<H>,
    answering: Answering,
}

/// The parts that a transaction uses. They are apart from the writer, which the transaction changes.
struct Parts<H: Hooks> {
    clock: Arc<Clock>,
    hooks: H,
    broken: Broken,
}

/// The outcome of a batch.
enum BatchRun {
    /// The batch was committed, or failed as a whole.
    Ended(Result<(), Error>),
    /// A job failed, and the whole batch was rolled back.
    JobFailed(Error),
}

impl<H: Hooks> Engine<H> {
    pub(crate) fn new(writer: Writer, clock: Arc<Clock>, hooks: H, broken: Broken) -> Self {
        Self { writer, parts: Parts { clock, hooks, broken }, answering: Answering::default() }
    }

    pub(crate) fn answering(&self) -> Answering {
        self.answering.clone()
    }

    /// Removes the registration of the writer. If this fails, a later registration removes the row.
    pub(crate) fn finish(&self) {
        let _ = self.writer.finish();
    }

    /// Runs a batch and answers its callers.
    pub(crate) fn answer(&mut self, mut batch: Vec<Box<dyn Job>>) {
        if let Some(why) = self.parts.broken.get() {
            return answer_all(batch, &Err(Error::Unavailable(why.to_string())));
        }
        match self.run_batch(&mut batch, || Undo::Whole(Cell::new(false))) {
            BatchRun::Ended(outcome) => self.answering.give(batch.len(), move || answer_all(batch, &outcome)),
            // Each job runs again in its own transaction, so that only the failing job fails.
            BatchRun::JobFailed(_) => batch.into_iter().for_each(|job| self.answer_alone(job)),
        }
    }

    fn answer_alone(&mut self, job: Box<dyn Job>) {
        let mut batch = vec![job];
        let outcome = match self.parts.broken.get() {
            Some(why) => Err(Error::Unavailable(why.to_string())),
            None => match self.run_batch(&mut batch, || Undo::Savepoint) {
                BatchRun::Ended(outcome) => outcome,
                BatchRun::JobFailed(error) => Err(error),
            },
        };
        answer_all(batch, &outcome);
    }

    /// Appends log rows in one transaction, and answers their callers.
    ///
    /// The transaction waits for all other writers, because the number of a row follows from the number of the row
    /// before it, which another server may have appended.
    pub(crate) fn record(&mut self, rows: Vec<H::Row>) {
        if let Some(why) = self.parts.broken.get() {
            return H::fail(rows, &Error::Unavailable(why.to_string()));
        }
        let parts = &self.parts;
        let is_first = Cell::new(true);
        let appended = self.writer.transaction(Mode::Logged, |connection| {
            parts.reset(is_first.take())?;
            parts.guarded(connection, Undo::Savepoint, |tx| parts.hooks.append(tx, &rows))
        });
        match appended {
            Ok((verdicts, changes)) => {
                parts.hooks.invalidate(changes);
                parts.hooks.count(rows.len());
                self.answering.give(rows.len(), move || H::answer(rows, verdicts));
            }
            // One row may be at fault, so each row is written in its own transaction.
            Err(error) if rows.len() > 1 && self.writer.is_connected() && parts.undo(&error).is_ok() => {
                rows.into_iter().for_each(|row| self.record(vec![row]));
            }
            Err(error) => H::fail(rows, &parts.undo(&error).err().unwrap_or(error)),
        }
    }

    fn run_batch(&mut self, batch: &mut [Box<dyn Job>], undo: impl Fn() -> Undo) -> BatchRun {
        let is_durable = batch.iter().any(|job| job.grade().is_durable());
        let mode = if is_durable { Mode::Durable } else { Mode::Logged };
        let parts = &self.parts;
        let (is_first, has_job_failed) = (Cell::new(true), Cell::new(false));
        let outcome = self.writer.transaction(mode, |connection| {
            parts.reset(is_first.take())?;
            has_job_failed.set(false);
            for job in batch.iter_mut() {
                let ran = parts.guarded(connection, undo(), |tx| job.run(tx));
                ran.inspect_err(|_| has_job_failed.set(true))?;
            }
            let changes = || parts.guarded(connection, Undo::Savepoint, |tx| parts.hooks.changes(tx));
            is_durable.then(changes).transpose()
        });
        match outcome {
            Ok(changes) => {
                parts.hooks.count(batch.len());
                changes.into_iter().for_each(|changes| parts.hooks.invalidate(changes));
                parts.hooks.committed();
                BatchRun::Ended(Ok(()))
            }
            Err(error) => match parts.undo(&error) {
                Err(worse) => BatchRun::Ended(Err(worse)),
                Ok(()) if has_job_failed.get() && self.writer.is_connected() => BatchRun::JobFailed(error),
                Ok(()) => BatchRun::Ended(Err(error)),
            },
        }
    }
}

impl<H: Hooks> Parts<H> {
    /// Prepares a run of a transaction. Undoes the effects of the run before it, and discards the writer state, because
    /// another server may have written since the last transaction.
    fn reset(&self, is_first: bool) -> Result<(), Error> {
        self.hooks.discard_state();
        if is_first { Ok(()) } else { self.hooks.undo() }
    }

    /// Undoes the effects of a transaction that was rolled back. After an unknown outcome, they remain, because the
    /// commit may have happened.
    ///
    /// # Errors
    /// [`Error::OutcomeUnknown`] if the process must stop writing.
    fn undo(&self, error: &Error) -> Result<(), Error> {
        self.hooks.discard_state();
        match error {
            Error::OutcomeUnknown(why) => Err(self.halt_as_unknown(why)),
            _ => self.hooks.undo().map_err(|worse| self.halt_as_unknown(&worse.to_string())),
        }
    }

    /// Runs `f` inside the open transaction. Returns an error if the whole transaction must be rolled back.
    fn guarded<T>(
        &self,
        connection: &Connection,
        undo: Undo,
        f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let reading = self.clock.read();
        let ran = catch_unwind(AssertUnwindSafe(|| tx::within(connection, self.hooks.state(), undo, reading, f)));
        match ran {
            Ok((outcome, false)) => outcome,
            Ok((_, true)) => Err(Error::Defect("an act failed after a write".to_owned())),
            Err(_) => Err(Error::Defect("a job panicked; the log lines above show the location".to_owned())),
        }
    }

    /// Stops all writes of this process, because the outcome of a transaction is unknown.
    fn halt_as_unknown(&self, why: &str) -> Error {
        let why = format!("the outcome of a transaction is unknown until the next start: {why}");
        let _ = self.broken.set(Halt::Unknown(why.clone()));
        Error::OutcomeUnknown(why)
    }
}
