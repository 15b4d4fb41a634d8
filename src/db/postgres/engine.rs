//! The engine behind the writer thread: it runs queued jobs in batches, appends log rows, and calls the hooks around
//! each transaction, as the engine of a SQLite file does. All jobs of a batch share one commit.
//!
//! A transaction may run more than once (see [`super::writer`]). Before each further run, the hooks undo the effects of
//! the run before it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::writer::{Mode, Writer};
use crate::db::clock::Clock;
use crate::db::connection::Connection;
use crate::db::halt::{Broken, Halt};
use crate::db::hooks::Hooks;
use crate::db::job::{Answering, Job, answer_all};
use crate::db::tx::{self, Error, Tx, Undo};

/// The time after which no further job or row of a failed batch begins to run alone. The engine then refuses the
/// rest, because each of them might also wait for a slow server or for a lock.
const ALONE_MAX: Duration = Duration::from_secs(5);

/// The writer on which the service runs all writing jobs.
pub(crate) struct Engine<H: Hooks> {
    writer: Writer,
    parts: Parts<H>,
    answering: Answering,
}

/// The parts that a transaction uses. They are separate from the writer, which the transaction changes.
struct Parts<H: Hooks> {
    clock: Arc<Clock>,
    hooks: H,
    broken: Broken,
}

/// The outcome of rows that were written together.
enum RowsRun<V> {
    Appended(Vec<V>),
    /// A row failed, and all rows were rolled back.
    RowFailed(Error),
    /// The transaction failed as a whole, or its outcome is unknown.
    Failed(Error),
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

    /// Sets the function that refuses the callers who wait for the next batch.
    pub(crate) fn refuse_waiting_by(&mut self, refuse: impl Fn(&Error) + Send + 'static) {
        self.writer.refuse_waiting_by(refuse);
    }

    /// Removes the registration of the writer. If this fails, the registration of another writer removes the outdated
    /// row later.
    pub(crate) fn finish(&self) {
        let _ = self.writer.finish();
    }

    /// Runs a batch and answers its callers.
    pub(crate) fn answer(&mut self, mut batch: Vec<Box<dyn Job>>) {
        if let Some(why) = self.parts.broken.get() {
            return answer_all(batch, &Err(Error::Unavailable(why.to_string())));
        }
        let begun = Instant::now();
        match self.run_batch(&mut batch, || Undo::Whole(Cell::new(false))) {
            BatchRun::Ended(outcome) => self.answering.give(batch.len(), move || answer_all(batch, &outcome)),
            // Each job runs again in its own transaction, so that only the failing job fails.
            BatchRun::JobFailed(_) => {
                self.writer.refuse_waiting_since(begun, &too_slow());
                self.each_alone(batch, Self::answer_alone, |rest| answer_all(rest, &Err(too_slow())));
            }
        }
    }

    /// Runs each job or row in its own transaction. If this takes too long, refuses the rest.
    fn each_alone<T>(&mut self, all: Vec<T>, run: impl Fn(&mut Self, T), refuse: impl FnOnce(Vec<T>)) {
        let begun = Instant::now();
        let mut all = all.into_iter();
        while begun.elapsed() < ALONE_MAX {
            let Some(one) = all.next() else { return };
            run(self, one);
        }
        refuse(all.collect());
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
        let begun = Instant::now();
        match self.append(&rows) {
            RowsRun::Appended(verdicts) => self.answering.give(rows.len(), move || H::answer(rows, verdicts)),
            // One row may be at fault, so each row is written in its own transaction.
            RowsRun::RowFailed(_) if rows.len() > 1 => {
                self.writer.refuse_waiting_since(begun, &too_slow());
                self.each_alone(rows, |engine, row| engine.record(vec![row]), |rest| H::fail(rest, &too_slow()));
            }
            RowsRun::RowFailed(error) | RowsRun::Failed(error) => H::fail(rows, &error),
        }
    }

    fn append(&mut self, rows: &[H::Row]) -> RowsRun<H::Verdict> {
        let parts = &self.parts;
        let (is_first, has_row_failed) = (Cell::new(true), Cell::new(false));
        let appended = self.writer.transaction(Mode::Logged, |connection| {
            has_row_failed.set(false);
            parts.reset(connection, is_first.take())?;
            let appended = parts.guarded(connection, Undo::Savepoint, |tx| parts.hooks.append(tx, rows));
            has_row_failed.set(appended.is_err());
            appended
        });
        match appended {
            Ok((verdicts, changes)) => {
                parts.hooks.invalidate(changes);
                parts.hooks.count(rows.len());
                RowsRun::Appended(verdicts)
            }
            Err(error) => match self.undo(error) {
                Ok(error) if has_row_failed.get() && self.is_at_fault() => RowsRun::RowFailed(error),
                Ok(error) | Err(error) => RowsRun::Failed(error),
            },
        }
    }

    fn run_batch(&mut self, batch: &mut [Box<dyn Job>], undo: impl Fn() -> Undo) -> BatchRun {
        let is_durable = batch.iter().any(|job| job.grade().is_durable());
        let mode = if is_durable { Mode::Durable } else { Mode::Logged };
        let (parts, end_others) = (&self.parts, self.writer.end_others());
        let (is_first, has_job_failed) = (Cell::new(true), Cell::new(false));
        let outcome = self.writer.transaction(mode, |connection| {
            has_job_failed.set(false);
            parts.reset(connection, is_first.take())?;
            for job in batch.iter_mut() {
                let ran = parts.guarded(connection, undo(), |tx| job.run(tx));
                ran.inspect_err(|_| has_job_failed.set(true))?;
            }
            if parts.hooks.outdates_other_servers() {
                connection.as_postgres().batch(&end_others)?;
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
            Err(error) => match self.undo(error) {
                Ok(error) if has_job_failed.get() && self.is_at_fault() => BatchRun::JobFailed(error),
                Ok(error) | Err(error) => BatchRun::Ended(Err(error)),
            },
        }
    }

    /// Undoes the effects that a failed transaction has had outside the database. Returns its error if nothing was
    /// committed.
    ///
    /// # Errors
    /// [`Error::OutcomeUnknown`] if the commit may have happened, or if the effects cannot be undone.
    fn undo(&self, error: Error) -> Result<Error, Error> {
        let Parts { hooks, broken, .. } = &self.parts;
        hooks.discard_state();
        if matches!(error, Error::OutcomeUnknown(_)) {
            // The commit may have happened. The effects outside the database therefore remain, and the hook that runs
            // after a commit runs now.
            hooks.committed();
            return Err(error);
        }
        match hooks.undo() {
            Ok(()) => Ok(error),
            Err(worse) => {
                let why = format!("the outcome of a transaction is unknown until the next start: {worse}");
                let _ = broken.set(Halt::Unknown(why.clone()));
                Err(Error::OutcomeUnknown(why))
            }
        }
    }

    /// Returns whether the last transaction failed because of its contents, not because of the server.
    fn is_at_fault(&self) -> bool {
        self.writer.has_begun() && self.writer.is_connected()
    }
}

fn too_slow() -> Error {
    Error::Unavailable("the jobs before this one took too long".to_owned())
}

impl<H: Hooks> Parts<H> {
    /// Prepares a run of a transaction. Undoes the effects of the run before it. The writer state may be outdated,
    /// because another server may have written since the last transaction.
    fn reset(&self, connection: &Connection, is_first: bool) -> Result<(), Error> {
        // A new connection may lead to a server that has lost commits.
        if connection.as_postgres().take_new() || !is_first {
            self.hooks.discard_state();
        } else {
            self.hooks.outdate_state();
        }
        if is_first { Ok(()) } else { self.hooks.undo() }
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
}
