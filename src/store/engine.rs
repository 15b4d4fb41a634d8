//! The writing connection and its transactions: everything of a batch is committed once, then all are answered.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::connection::{self, Use};
use super::erasure::Erasures;
use super::job::{Answering, Grade, Job, answer_all};
use super::memory::Memory;
use super::recording::{self, Recording};
use super::tx::{self, Error, Tx, Undo};
use super::usage::Ledger;
use super::{change, schema};
use crate::world::World;

/// Why nothing more may be written by this process, once that is so: the outcome of a transaction is unknown.
pub(super) type Broken = Arc<OnceLock<String>>;

/// The one connection that changes the file for the service.
pub(super) struct Engine {
    connection: Connection,
    world: Arc<dyn World>,
    memory: Arc<Memory>,
    erasures: Arc<Erasures>,
    broken: Broken,
    ledger: Ledger,
    answering: Answering,
    /// What the connection's `synchronous` is set to now.
    synchronous: Grade,
}

impl Engine {
    pub(super) fn open(
        path: &Path,
        world: Arc<dyn World>,
        memory: Arc<Memory>,
        erasures: Arc<Erasures>,
        broken: Broken,
        answering: Answering,
    ) -> Result<Self, Error> {
        let connection = connection::open(path, Use::Write)?;
        schema::use_wal(&connection)?;
        // The checkpoint thread does this, not a commit.
        connection.execute_batch("PRAGMA wal_autocheckpoint = 0")?;
        Ok(Self {
            connection,
            world,
            memory,
            erasures,
            broken,
            ledger: Ledger::default(),
            answering,
            synchronous: Grade::Durable,
        })
    }

    /// Moves the write-ahead log into the file, so that the service leaves one whole file behind.
    pub(super) fn leave(&self) {
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    /// Runs a batch and answers it.
    pub(super) fn answer(&mut self, mut batch: Vec<Box<dyn Job>>) {
        if let Some(why) = self.broken.get() {
            return answer_all(batch, &Err(Error::Unavailable(why.clone())));
        }
        match self.attempt(&mut batch, || Undo::Whole(Cell::new(false))) {
            Attempt::Ended(outcome) => self.answering.give(batch.len(), move || answer_all(batch, &outcome)),
            // A job failed and the transaction is undone. Each again by itself, so that only its own fails, and only what
            // is to be undone of it.
            Attempt::JobFailed(_) => {
                for job in batch {
                    self.answer_alone(job);
                }
            }
        }
    }

    fn answer_alone(&mut self, job: Box<dyn Job>) {
        let mut batch = vec![job];
        let outcome = match self.broken.get() {
            Some(why) => Err(Error::Unavailable(why.clone())),
            None => match self.attempt(&mut batch, || Undo::Savepoint) {
                Attempt::Ended(outcome) => outcome,
                Attempt::JobFailed(error) => Err(error),
            },
        };
        answer_all(batch, &outcome);
    }

    /// Appends rows of the usage log in one transaction, and answers. A thread of the runtime waits for no other process's
    /// lock: then the rows come back.
    pub(super) fn record(&mut self, rows: Vec<Recording>, by: By) -> Result<(), Vec<Recording>> {
        if let Some(why) = self.broken.get() {
            recording::answer_all(rows, &Err(Error::Unavailable(why.clone())));
            return Ok(());
        }
        let busy_timeout = if by == By::Runtime { Duration::ZERO } else { connection::BUSY_TIMEOUT };
        let begun = self.connection.busy_timeout(busy_timeout).map_err(Error::from);
        let begun = begun.and_then(|()| self.begin(Grade::Logged));
        let restored = self.connection.busy_timeout(connection::BUSY_TIMEOUT).map_err(Error::from);
        match begun.and(restored) {
            Ok(()) => {}
            Err(Error::Unavailable(_)) if by == By::Runtime => return Err(rows),
            Err(error) => {
                recording::answer_all(rows, &Err(error));
                return Ok(());
            }
        }
        match self.guarded(Undo::Savepoint, |tx| recording::append_all(tx, &rows)) {
            Ok((outcomes, changed_at)) => match self.commit() {
                Ok(()) => {
                    self.memory.keys.learn(changed_at);
                    self.memory.appended.add(rows.len());
                    match by {
                        By::Runtime => recording::answer(rows, outcomes),
                        By::Writer => self.answering.give(rows.len(), move || recording::answer(rows, outcomes)),
                    }
                }
                Err(error) => recording::answer_all(rows, &Err(error)),
            },
            Err(error) => match self.undo() {
                // A row's defect is its own: each again by itself.
                Ok(()) if rows.len() > 1 => {
                    for row in rows {
                        if let Err(row) = self.record(vec![row], by) {
                            let locked = Error::Unavailable("another process has the file locked".to_owned());
                            recording::answer_all(row, &Err(locked));
                        }
                    }
                }
                Ok(()) => recording::answer_all(rows, &Err(error)),
                Err(worse) => recording::answer_all(rows, &Err(self.break_off(&worse))),
            },
        }
        Ok(())
    }

    fn attempt(&mut self, batch: &mut [Box<dyn Job>], undo: impl Fn() -> Undo) -> Attempt {
        let durable = batch.iter().any(|job| job.grade() == Grade::Durable);
        if let Err(error) = self.begin(if durable { Grade::Durable } else { Grade::Logged }) {
            return Attempt::Ended(Err(error));
        }
        for job in batch.iter_mut() {
            if let Err(error) = self.guarded(undo(), |tx| job.run(tx)) {
                return match self.undo() {
                    Ok(()) => Attempt::JobFailed(error),
                    Err(worse) => Attempt::Ended(Err(self.break_off(&worse))),
                };
            }
        }
        self.memory.appended.add(batch.len());
        if durable { Attempt::Ended(self.commit_and_learn()) } else { Attempt::Ended(self.commit()) }
    }

    /// Runs something inside the transaction that is open. An error where the whole of it is to be undone.
    fn guarded<T>(&self, undo: Undo, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let now = self.world.now();
        let ran = catch_unwind(AssertUnwindSafe(|| tx::within(&self.connection, &self.ledger, undo, now, f)));
        match ran {
            Ok((outcome, false)) => outcome,
            Ok((_, true)) => Err(Error::Defect("an act wrote something and failed".to_owned())),
            Err(_) => Err(Error::Defect("a job panicked; its place is in the lines above".to_owned())),
        }
    }

    fn begin(&mut self, grade: Grade) -> Result<(), Error> {
        if grade != self.synchronous {
            // Prepared anew each time: the pragma takes effect when it is prepared, not when it runs.
            let level = if grade == Grade::Durable { "FULL" } else { "NORMAL" };
            self.connection.execute_batch(&format!("PRAGMA synchronous = {level}"))?;
            self.synchronous = grade;
        }
        tx::begin(&self.connection)
    }

    /// What the batch has changed of what memory keeps is forgotten before anybody is answered.
    fn commit_and_learn(&self) -> Result<(), Error> {
        let after = self.memory.portals.newest();
        match self.guarded(Undo::Savepoint, |tx| change::read(tx, after)) {
            Ok(changed) => {
                self.commit()?;
                self.memory.learn(changed);
                self.erasures.committed();
                Ok(())
            }
            Err(error) => {
                self.undo().map_err(|worse| self.break_off(&worse))?;
                Err(error)
            }
        }
    }

    fn commit(&self) -> Result<(), Error> {
        let committed = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        let Err(error) = committed else { return Ok(()) };
        // A full disk refuses before the commit is written, so the outcome is known: nothing happened. The exception is
        // shared memory that cannot grow, which SQLite tells as another error: that may come after it.
        let known = matches!(error.sqlite_error_code(), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy));
        let undone = self.undo();
        if known && undone.is_ok() { Err(Error::from(error)) } else { Err(self.break_off(&Error::from(error))) }
    }

    fn undo(&self) -> Result<(), Error> {
        self.ledger.forget();
        tx::undo(&self.connection)
    }

    /// After a commit or a rollback that failed in a way that leaves its outcome open, nothing more may be written by
    /// this process.
    fn break_off(&self, error: &Error) -> Error {
        let why = format!("the outcome of a transaction is unknown until the next start: {error}");
        let _ = self.broken.set(why.clone());
        Error::Defect(why)
    }
}

/// Whose thread it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// One of the runtime, which nothing may hold up.
    Runtime,
    /// The writer's own.
    Writer,
}

enum Attempt {
    /// The batch was committed, or failed as a whole.
    Ended(Result<(), Error>),
    /// A job failed; nothing of the batch is in the file.
    JobFailed(Error),
}
