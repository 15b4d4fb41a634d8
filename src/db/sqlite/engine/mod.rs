//! The engine: the writing connection and its transactions. The engine commits a batch in one transaction, and then
//! answers all callers. If the disk is full or a job fails, each job of the batch runs in its own transaction.

mod owed_rows;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::ErrorCode;

use super::super::clock::Clock;
use super::super::connection::Connection;
use super::super::halt::{Broken, Halt};
use super::super::hooks::Hooks;
use super::super::job::{Answering, By, Job, answer_all};
use super::super::pending::PendingEntries;
use super::super::tx::{self, Error, Tx, Undo};
use super::checkpoint;
use super::connection::{self, Use};
use super::identity::Identity;
use super::reserve::Reserve;
use super::schema;
use super::wal::{Checkpoint, Mode};

/// The connection on which the service runs all writing jobs.
pub(crate) struct Engine<H: Hooks> {
    connection: Connection,
    clock: Arc<Clock>,
    hooks: H,
    broken: Broken,
    identity: Arc<Identity>,
    answering: Answering,
    reserve: Arc<Reserve>,
    pending: PendingEntries<H::Entry>,
    /// Whether the connection's `synchronous` setting is FULL.
    is_durable: bool,
}

impl<H: Hooks> Engine<H> {
    pub(crate) fn open(
        path: &Path,
        clock: Arc<Clock>,
        hooks: H,
        broken: Broken,
        identity: Arc<Identity>,
        reserve: Arc<Reserve>,
    ) -> Result<Self, Error> {
        let connection = connection::open(path, Use::Write)?;
        schema::use_wal(&connection)?;
        // Checkpoints run on their own thread, not in a commit.
        connection.sqlite().execute_batch("PRAGMA wal_autocheckpoint = 0")?;
        Ok(Self {
            connection,
            clock,
            hooks,
            broken,
            identity,
            answering: Answering::default(),
            reserve,
            pending: PendingEntries::default(),
            is_durable: true,
        })
    }

    /// Writes owed rows and copies the write-ahead log into the file, so that a stopped service leaves one complete
    /// file. Both steps use the space of the reserve if necessary. Owed rows that cannot be written are lost.
    ///
    /// # Errors
    /// Fails if pages stay in the log: [`Error::Full`] because the disk is full, [`Error::Unavailable`] because another
    /// process is using the file or the file was overwritten, and another error if SQLite reports one.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        while matches!(self.write_pending(), Err(Error::Full(_))) && self.reserve.release() {}
        let mut emptied = self.empty_log();
        while matches!(emptied, Err(Error::Full(_))) && self.reserve.release() {
            emptied = self.empty_log();
        }
        self.reserve.restore_some();
        emptied
    }

    fn empty_log(&self) -> Result<(), Error> {
        // The checkpoint job normally checks that the file still has the mark of this run. That job has stopped, so
        // this function makes the check.
        checkpoint::empty_log(&self.connection, || match self.identity.changed_for_certain(&self.connection) {
            Some(why) => Err(self.halt_as_lost(why)),
            None => Ok(()),
        })
    }

    pub(crate) fn answering(&self) -> Answering {
        self.answering.clone()
    }

    /// Runs a batch and answers its callers.
    pub(crate) fn answer(&mut self, mut batch: Vec<Box<dyn Job>>) {
        if let Some(why) = self.broken.get() {
            return answer_all(batch, &Err(Error::Unavailable(why.to_string())));
        }
        if self.reserve.is_full() {
            // The jobs run one by one, because only some of them may use the reserve.
            return batch.into_iter().for_each(|job| self.answer_alone(job));
        }
        self.write_pending_unless_full();
        match self.run_batch(&mut batch, || Undo::Whole(Cell::new(false))) {
            BatchRun::Ended(Err(Error::Full(_))) => batch.into_iter().for_each(|job| self.answer_alone(job)),
            BatchRun::Ended(outcome) => self.answering.give(batch.len(), move || answer_all(batch, &outcome)),
            // A job failed, and the transaction was rolled back. Each job runs again in its own transaction, so that
            // only the failing job fails.
            BatchRun::JobFailed(_) => {
                for job in batch {
                    self.answer_alone(job);
                }
            }
        }
    }

    fn answer_alone(&mut self, job: Box<dyn Job>) {
        let may_use_reserve = job.grade().may_use_reserve();
        let mut batch = vec![job];
        let outcome = match self.broken.get() {
            Some(why) => Err(Error::Unavailable(why.to_string())),
            None if self.reserve.is_full() && !may_use_reserve => Err(Reserve::refusal()),
            None => self.run_alone(&mut batch, may_use_reserve),
        };
        answer_all(batch, &outcome);
    }

    /// Runs one job. On a full disk, a job that may use the reserve uses the space of the reserve. If that space is not
    /// enough, a checkpoint copies the log into the file, so that the job can write from the beginning of the log.
    fn run_alone(&mut self, batch: &mut [Box<dyn Job>], may_use_reserve: bool) -> Result<(), Error> {
        let outcome = self.run_once(batch);
        if !matches!(outcome, Err(Error::Full(_))) {
            return outcome;
        }
        self.reserve.note_full();
        if !may_use_reserve {
            return outcome;
        }
        while self.reserve.release() {
            let outcome = self.run_once(batch);
            if !matches!(outcome, Err(Error::Full(_))) {
                return outcome;
            }
        }
        if let Some(why) = self.identity.changed_beside(&self.connection) {
            return Err(self.halt_as_lost(why));
        }
        let _ = Checkpoint::run(&self.connection, Mode::Passive);
        self.run_once(batch)
    }

    fn run_once(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), Error> {
        match self.run_batch(batch, || Undo::Savepoint) {
            BatchRun::Ended(outcome) => outcome,
            BatchRun::JobFailed(error) => Err(error),
        }
    }

    /// Appends log rows in one transaction or, on a full disk, leaves them to [`Engine::owe`], and answers their
    /// callers. On a thread of the runtime, this function returns the rows instead if it would have to wait for another
    /// process's lock or write older rows first.
    pub(crate) fn record(&mut self, rows: Vec<H::Row>, by: By) -> Result<(), Vec<H::Row>> {
        if let Some(why) = self.broken.get() {
            H::fail(rows, &Error::Unavailable(why.to_string()));
            return Ok(());
        }
        if !self.pending.is_empty() && by == By::Runtime && !self.reserve.is_full() {
            // Older rows must be written first, and there may be many of them.
            return Err(rows);
        }
        self.write_pending_unless_full();
        if self.reserve.is_full() {
            self.owe(rows);
            return Ok(());
        }
        let busy_timeout = if by == By::Runtime { Duration::ZERO } else { connection::BUSY_TIMEOUT };
        let begun = self.connection.sqlite().busy_timeout(busy_timeout).map_err(Error::from);
        let begun = begun.and_then(|()| self.begin(false));
        let restored = self.connection.sqlite().busy_timeout(connection::BUSY_TIMEOUT).map_err(Error::from);
        match begun.and(restored) {
            Ok(()) => {}
            Err(Error::Unavailable(_)) if by == By::Runtime => return Err(rows),
            Err(Error::Full(_)) => {
                self.owe(rows);
                return Ok(());
            }
            Err(error) => {
                H::fail(rows, &error);
                return Ok(());
            }
        }
        match self.guarded(Undo::Savepoint, |tx| self.hooks.append(tx, &rows)) {
            Ok((verdicts, changes)) => match self.commit() {
                Ok(()) => {
                    self.hooks.invalidate(changes);
                    self.hooks.count(rows.len());
                    match by {
                        By::Runtime => H::answer(rows, verdicts),
                        By::Writer => self.answering.give(rows.len(), move || H::answer(rows, verdicts)),
                    }
                }
                Err(Error::Full(_)) => self.owe(rows),
                Err(error) => H::fail(rows, &error),
            },
            Err(error) => match self.undo() {
                Ok(()) if matches!(error, Error::Full(_)) => self.owe(rows),
                // One row may be at fault, so each row is written in its own transaction.
                Ok(()) if rows.len() > 1 => {
                    for row in rows {
                        if let Err(row) = self.record(vec![row], by) {
                            let locked = Error::Unavailable("another process holds the lock on the file".to_owned());
                            H::fail(row, &locked);
                        }
                    }
                }
                Ok(()) => H::fail(rows, &error),
                Err(worse) => H::fail(rows, &self.halt_as_unknown(&worse)),
            },
        }
        Ok(())
    }

    fn run_batch(&mut self, batch: &mut [Box<dyn Job>], undo: impl Fn() -> Undo) -> BatchRun {
        let durable = batch.iter().any(|job| job.grade().is_durable());
        if let Err(error) = self.begin(durable) {
            return BatchRun::Ended(Err(error));
        }
        for job in batch.iter_mut() {
            if let Err(error) = self.guarded(undo(), |tx| job.run(tx)) {
                return match self.undo() {
                    Ok(()) => BatchRun::JobFailed(error),
                    Err(worse) => BatchRun::Ended(Err(self.halt_as_unknown(&worse))),
                };
            }
        }
        self.hooks.count(batch.len());
        if durable { BatchRun::Ended(self.commit_and_invalidate()) } else { BatchRun::Ended(self.commit()) }
    }

    /// Runs `f` inside the open transaction. Returns an error if the whole transaction must be rolled back.
    fn guarded<T>(&self, undo: Undo, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let reading = self.clock.read();
        let ran = catch_unwind(AssertUnwindSafe(|| tx::within(&self.connection, self.hooks.state(), undo, reading, f)));
        match ran {
            Ok((outcome, false)) => outcome,
            Ok((_, true)) => Err(Error::Defect("an act failed after a write".to_owned())),
            Err(_) => Err(Error::Defect("a job panicked; the log lines above show the location".to_owned())),
        }
    }

    fn begin(&mut self, durable: bool) -> Result<(), Error> {
        if durable != self.is_durable {
            self.connection.set_durable(durable)?;
            self.is_durable = durable;
        }
        tx::begin(&self.connection)
    }

    /// Commits a durable batch, and invalidates cached state before any caller is answered.
    fn commit_and_invalidate(&self) -> Result<(), Error> {
        match self.guarded(Undo::Savepoint, |tx| self.hooks.changes(tx)) {
            Ok(changes) => {
                if let Some(why) = self.identity.moved() {
                    // The next start would not find this commit, so the callers of the batch must get an error.
                    let _ = self.undo();
                    return Err(self.halt_as_lost(why));
                }
                self.commit()?;
                self.hooks.invalidate(changes);
                self.hooks.committed();
                Ok(())
            }
            Err(error) => {
                self.undo().map_err(|worse| self.halt_as_unknown(&worse))?;
                Err(error)
            }
        }
    }

    fn commit(&self) -> Result<(), Error> {
        let committed = self.connection.sqlite().prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        let Err(error) = committed else { return Ok(()) };
        // SQLite reports a full disk before it writes the commit, so the outcome is known: nothing was committed. If
        // shared memory cannot grow, SQLite reports another error, possibly after the commit.
        let known = matches!(error.sqlite_error_code(), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy));
        let error = Error::from(error);
        // After any other error, the commit may be in the log, unless another commit overwrites it.
        if known || self.overwrite_commit() {
            self.undo().map_err(|worse| self.halt_as_unknown(&worse))?;
            // A full disk remains a distinct error, because some jobs are tried again with space from the reserve.
            return Err(if known { error } else { Error::Unavailable(error.to_string()) });
        }
        // The hooks undo nothing here, because the commit may have happened. In that case, its effects outside the file
        // must remain.
        let _ = self.roll_back();
        Err(self.halt_as_unknown(&error))
    }

    /// Rolls back the transaction whose commit failed, and durably commits another transaction at the same position in
    /// the write-ahead log. A restart then cannot find the first commit. Returns whether the second commit succeeded.
    fn overwrite_commit(&self) -> bool {
        let sql = "INSERT INTO readiness (id, at)
                   VALUES (1, 0)
                   ON CONFLICT (id) DO UPDATE
                   SET at = at + 1";
        let write = || -> Result<(), Error> {
            self.roll_back()?;
            self.connection.set_durable(true)?;
            tx::begin(&self.connection)?;
            self.connection.sqlite().execute(sql, [])?;
            self.connection.sqlite().execute_batch("COMMIT")?;
            Ok(())
        };
        let is_written = write().is_ok();
        if !is_written {
            let _ = self.roll_back();
        }
        is_written && self.connection.set_durable(self.is_durable).is_ok()
    }

    /// Rolls the transaction back, and undoes its effects outside the file.
    fn undo(&self) -> Result<(), Error> {
        self.roll_back()?;
        self.hooks.undo()
    }

    fn roll_back(&self) -> Result<(), Error> {
        self.hooks.discard_state();
        tx::undo(&self.connection)
    }

    fn halt_as_lost(&self, why: String) -> Error {
        let halt = Halt::Lost(why);
        let error = Error::Unavailable(halt.to_string());
        let _ = self.broken.set(halt);
        error
    }

    /// Stops all writes of this process, after a commit or rollback whose outcome is unknown.
    fn halt_as_unknown(&self, error: &Error) -> Error {
        let why = format!("the outcome of a transaction is unknown until the next start: {error}");
        let _ = self.broken.set(Halt::Unknown(why.clone()));
        Error::OutcomeUnknown(why)
    }
}

enum BatchRun {
    /// The batch was committed, or failed as a whole.
    Ended(Result<(), Error>),
    /// A job failed, and the whole batch was rolled back.
    JobFailed(Error),
}
