//! The believed clock of a running service, and its heartbeat in the file: the believed time, written every few minutes and
//! at the end, from which the next start goes on.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::connection::{self, Use};
use super::job::Grade;
use super::scheduler::Step;
use super::tx::{self, Error, Tx};
use super::writer::Writer;
use crate::domain::clock::{ClockReading, advance_believed};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// How often the heartbeat is written. After a kill the believed time is late by as much, well within the hour that every
/// start waits.
const BEAT_EVERY: Duration = Duration::from_secs(300);

/// Looks between two sweeps.
const LOOKS_OF_SWEEP: u32 = 10;

/// The believed clock.
pub struct Clock {
    world: Arc<dyn World>,
    started: Duration,
    state: Mutex<State>,
}

struct State {
    believed: Timestamp,
    /// The uptime that it was believed at.
    at: Duration,
    /// How often an admin has confirmed the wall clock, as far as this process knows.
    confirmations: i64,
    /// When the heartbeat was written.
    beaten_at: Duration,
}

impl Clock {
    /// Goes on from the file's heartbeat. A file without one begins now.
    pub(crate) fn open(path: &Path, world: Arc<dyn World>) -> Result<Self, Error> {
        let connection = connection::open(path, Use::Write)?;
        let wall = world.now();
        let heartbeat = match tx::snapshot(&connection, wall, heartbeat)? {
            Some(heartbeat) => heartbeat,
            None => tx::act(&connection, wall, begin)?,
        };
        let now = world.monotonic();
        let state =
            State { believed: heartbeat.believed, at: now, confirmations: heartbeat.confirmations, beaten_at: now };
        Ok(Self { world, started: now, state: Mutex::new(state) })
    }

    /// Reads the clocks.
    pub fn read(&self) -> ClockReading {
        self.reading(&mut self.state())
    }

    fn reading(&self, state: &mut State) -> ClockReading {
        let now = self.world.monotonic();
        let wall = self.world.now();
        state.believed = advance_believed(state.believed, wall, now.saturating_sub(state.at));
        state.at = now;
        ClockReading { wall, believed: state.believed, uptime: now.saturating_sub(self.started) }
    }

    /// Takes over an admin's word from the file, whichever process wrote it.
    fn heed(&self, heartbeat: &Heartbeat) -> bool {
        let mut state = self.state();
        let is_news = state.confirmations != heartbeat.confirmations;
        if is_news {
            state.confirmations = heartbeat.confirmations;
            state.believed = heartbeat.believed;
            state.at = self.world.monotonic();
        }
        is_news
    }

    /// The heartbeat, where it is due: the believed time, and the confirmations that it knows of.
    fn due_beat(&self, is_last: bool) -> Option<Heartbeat> {
        let mut state = self.state();
        let believed = self.reading(&mut state).believed;
        let is_due = is_last || state.at.saturating_sub(state.beaten_at) >= BEAT_EVERY;
        is_due.then_some(Heartbeat { believed, confirmations: state.confirmations })
    }

    /// A heartbeat was written.
    fn note_beat(&self) {
        self.state().beaten_at = self.world.monotonic();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The row of the file.
#[derive(Debug, Clone, Copy)]
struct Heartbeat {
    believed: Timestamp,
    confirmations: i64,
}

fn heartbeat(tx: &Tx<'_>) -> Result<Option<Heartbeat>, Error> {
    let sql = "SELECT believed_at, confirmations
               FROM believed_clock
               WHERE id = 1";
    tx.one(sql, [], |row| Ok(Heartbeat { believed: tx::time(row, 0)?, confirmations: row.get(1)? }))
}

fn begin(tx: &Tx<'_>) -> Result<Heartbeat, Error> {
    let sql = "INSERT INTO believed_clock (id, believed_at, confirmations)
               VALUES (1, $1, 0)
               ON CONFLICT DO NOTHING";
    tx.run(sql, [tx.now.micros()])?;
    heartbeat(tx)?.ok_or_else(|| Error::Defect("the file has no heartbeat".to_owned()))
}

/// Writes the heartbeat, unless an admin has confirmed another time since.
fn beat(tx: &Tx<'_>, heartbeat: &Heartbeat) -> Result<(), Error> {
    let sql = "UPDATE believed_clock
               SET believed_at = $1
               WHERE id = 1 AND confirmations = $2";
    tx.run(sql, (heartbeat.believed.micros(), heartbeat.confirmations))?;
    Ok(())
}

/// An admin says that the wall clock is right: from now on it is believed. The service heeds that within a second.
///
/// # Errors
/// When SQLite fails.
pub fn confirm(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "INSERT INTO believed_clock (id, believed_at, confirmations)
               VALUES (1, $1, 1)
               ON CONFLICT (id) DO UPDATE
               SET believed_at = excluded.believed_at, confirmations = confirmations + 1";
    tx.run(sql, [tx.now.micros()])?;
    Ok(())
}

/// What a look at the clocks found.
pub(crate) enum ClockEvent {
    /// The wall clock agrees with the believed time again, or it does not any more.
    Agreement(ClockReading),
    /// An admin has confirmed that this wall clock is right.
    Confirmed(Timestamp),
}

/// The job that reads the clocks and writes the heartbeat. While the clock agrees, the job calls `sweep` every few steps, and
/// again in the next step if `sweep` failed.
pub(crate) fn job_step(
    path: &Path,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
    report: impl Fn(ClockEvent) + Send + 'static,
    sweep: impl FnMut(Timestamp) -> Result<(), Error> + Send + 'static,
) -> Result<Step, Error> {
    let connection = connection::open(path, Use::Read)?;
    let (agreed, looks_until_sweep, is_owing) = (true, LOOKS_OF_SWEEP, false);
    let mut worker = Worker { connection, clock, writer, report, sweep, agreed, looks_until_sweep, is_owing };
    Ok(Box::new(move || worker.look()))
}

struct Worker<R, S> {
    connection: Connection,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
    report: R,
    sweep: S,
    agreed: bool,
    looks_until_sweep: u32,
    /// The last sweep failed.
    is_owing: bool,
}

impl<R: Fn(ClockEvent), S: FnMut(Timestamp) -> Result<(), Error>> Worker<R, S> {
    /// How the look went; `None` while a sweep that failed waits for a clock that agrees.
    fn look(&mut self) -> Option<Result<(), Error>> {
        let reading = self.clock.read();
        if reading.agrees() != self.agreed {
            self.agreed = reading.agrees();
            (self.report)(ClockEvent::Agreement(reading));
        }
        // Each of these is tried at every look, whether or not another one fails.
        let outcome: Result<(), Error> =
            [self.heed(reading.wall), self.beat(), self.sweep(&reading)].into_iter().collect();
        if outcome.is_ok() && self.is_owing { None } else { Some(outcome) }
    }

    fn heed(&self, now: Timestamp) -> Result<(), Error> {
        let heartbeat = tx::snapshot(&self.connection, now, heartbeat)?;
        if heartbeat.is_some_and(|heartbeat| self.clock.heed(&heartbeat)) {
            (self.report)(ClockEvent::Confirmed(now));
        }
        Ok(())
    }

    fn beat(&self) -> Result<(), Error> {
        let Some(heartbeat) = self.clock.due_beat(false) else { return Ok(()) };
        self.writer.run(move |tx| beat(tx, &heartbeat))?;
        self.clock.note_beat();
        Ok(())
    }

    /// A sweep that failed is tried again at the next look.
    fn sweep(&mut self, reading: &ClockReading) -> Result<(), Error> {
        self.looks_until_sweep = self.looks_until_sweep.saturating_sub(1);
        if !reading.agrees() || (self.looks_until_sweep > 0 && !self.is_owing) {
            return Ok(());
        }
        self.looks_until_sweep = LOOKS_OF_SWEEP;
        let swept = (self.sweep)(reading.wall);
        self.is_owing = swept.is_err();
        swept
    }
}

/// Queues the last heartbeat of this process. The writer does what is queued before it stops. Nobody waits here: the
/// service would accept new jobs for as long as an earlier job takes.
pub(crate) fn stop(clock: &Clock, writer: &Writer) {
    if let Some(heartbeat) = clock.due_beat(true) {
        writer.submit(Grade::Upkeep, move |tx| beat(tx, &heartbeat), |_| ());
    }
}
