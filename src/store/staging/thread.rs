//! The service's part of imports. It drops imports that were not decided when it starts, and goes on where a decided import
//! ended early, because it was killed or its disk was full. Behind dropped rows it has pages wiped and the log cut.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::db::row::Connection;

use super::super::erasure::progress::Erasures;
use super::{WORK_MAX, bring_some, drop_some, dropped, forget_dropped, undecided};
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::world::World;

/// How long the thread rests between two transactions, which everybody else waits for.
const STEP_EVERY: Duration = Duration::from_millis(50);

/// After so many rests without work, or behind a failure, the thread looks for work: once a second.
const LOOK_EVERY: u32 = 20;

/// Starts the thread.
pub(in super::super) fn start(
    path: &Path,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
    health: &Arc<Health>,
) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let left = tx::snapshot(&connection, world.now(), undecided)?;
    let mut worker = Worker { connection, world, erasures, writer, left, due: None, wiped: None, rests: 0 };
    Periodic::reporting(health, Job::Imports, STEP_EVERY, move || worker.step())
}

struct Worker {
    connection: Connection,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
    /// The imports that were not decided when the service started.
    left: Vec<i64>,
    /// The next row that is due, as the look before saw it: an import that runs has brought it since.
    due: Option<i64>,
    /// The dropped imports whose pages are being wiped, and behind how many erasures they are wiped.
    wiped: Option<(Vec<i64>, u64)>,
    /// How many steps the thread rests.
    rests: u32,
}

impl Worker {
    /// Does a piece of work. How it went, unless the thread rests or has more to drop.
    fn step(&mut self) -> Option<Result<(), Error>> {
        if self.rests > 0 {
            self.rests -= 1;
            return None;
        }
        let dropped = self.drop_left();
        if matches!(dropped, Ok(true)) {
            return None;
        }
        // What fails now, because of a full disk or another process's lock, is tried again at the next look, and holds up no
        // other kind of work.
        let brought = self.bring_due();
        self.rests = if matches!(brought, Ok(true)) { 0 } else { LOOK_EVERY - 1 };
        Some(dropped.and(self.wipe_behind_dropped()).and(brought.map(drop)))
    }

    /// Whether there may be more to drop.
    fn drop_left(&mut self) -> Result<bool, Error> {
        let Some(import) = self.left.last().copied() else { return Ok(false) };
        if !self.writer.run(move |tx| drop_some(tx, import))? {
            self.left.pop();
        }
        Ok(true)
    }

    /// Whether there may be more to bring.
    fn bring_due(&mut self) -> Result<bool, Error> {
        let next = tx::snapshot(&self.connection, self.world.now(), next)?;
        let is_left = next.is_some() && next == self.due;
        self.due = next;
        if !is_left {
            return Ok(false);
        }
        let world = Arc::clone(&self.world);
        let is_more = self.writer.run(move |tx| {
            let begun = world.monotonic();
            bring_some(tx, &|| world.monotonic().saturating_sub(begun) >= WORK_MAX)
        })?;
        self.due = tx::snapshot(&self.connection, self.world.now(), self::next)?;
        Ok(is_more)
    }

    /// Asks for the file to be wiped of the rows of imports that were dropped, and forgets those imports once it is.
    fn wipe_behind_dropped(&mut self) -> Result<(), Error> {
        match self.wiped.take() {
            Some((imports, behind)) if self.erasures.is_log_truncated(behind) => {
                self.writer.run(move |tx| forget_dropped(tx, &imports))
            }
            Some(waiting) => {
                self.wiped = Some(waiting);
                Ok(())
            }
            None => {
                let imports = tx::snapshot(&self.connection, self.world.now(), dropped)?;
                if !imports.is_empty() {
                    self.erasures.add_work();
                    self.wiped = Some((imports, self.erasures.committed_count()));
                }
                Ok(())
            }
        }
    }
}

/// The next row that is due.
fn next(tx: &Tx<'_>) -> Result<Option<i64>, Error> {
    let sql = "SELECT r.number
               FROM imports i
               JOIN import_rows r ON r.import_number = i.number
               WHERE i.decided_at IS NOT NULL
               ORDER BY r.import_number, r.number
               LIMIT 1";
    tx.one(sql, [], |row| Ok(row.get(0)?))
}
