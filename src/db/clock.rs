//! The believed clock of a running service, and its heartbeat in the database. The heartbeat is the believed time,
//! which the service writes every few minutes and when it stops. The next start continues from the heartbeat.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connection::Connection;
use super::job::Grade;
use super::job_reader::JobReader;
use super::row::Columns;
use super::scheduler::Step;
use super::tx::{self, Error, Tx};
use super::writer::Writer;
use crate::domain::clock::{ClockReading, advance_believed};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// The interval between heartbeats. After `kill -9`, the heartbeat is older than the last believed time by at most
/// about this interval. The service doubts the clock for an hour after a start, which is much longer.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(300);

/// The number of steps of the clock job from one call of `sweep` to the next.
const STEPS_BETWEEN_SWEEPS: u32 = 10;

pub struct Clock {
    world: Arc<dyn World>,
    started: Duration,
    state: Mutex<State>,
}

struct State {
    believed: Timestamp,
    /// The monotonic time at the last reading.
    at: Duration,
    /// The number of confirmations by admins that the believed time takes into account.
    confirmations: i64,
    /// The monotonic time at the last heartbeat.
    heartbeat_at: Duration,
}

impl Clock {
    /// Continues from the heartbeat in the database. If there is no heartbeat, starts at the time of the wall clock.
    pub(crate) fn open(connection: &Connection, world: Arc<dyn World>) -> Result<Self, Error> {
        let wall = world.now();
        let heartbeat = match tx::snapshot(connection, wall, heartbeat)? {
            Some(heartbeat) => heartbeat,
            None => tx::act(connection, wall, begin)?,
        };
        let now = world.monotonic();
        let state =
            State { believed: heartbeat.believed, at: now, confirmations: heartbeat.confirmations, heartbeat_at: now };
        Ok(Self { world, started: now, state: Mutex::new(state) })
    }

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

    /// Adopts an admin's confirmation from the database. Returns whether the confirmation is new.
    fn adopt_confirmation(&self, heartbeat: &Heartbeat) -> bool {
        let mut state = self.state();
        let is_new = state.confirmations != heartbeat.confirmations;
        if is_new {
            state.confirmations = heartbeat.confirmations;
            state.believed = heartbeat.believed;
            state.at = self.world.monotonic();
        }
        is_new
    }

    /// Returns the heartbeat to write, if one is due or `is_last` is set: the believed time, and the number of
    /// confirmations that this time takes into account.
    fn due_beat(&self, is_last: bool) -> Option<Heartbeat> {
        let mut state = self.state();
        let believed = self.reading(&mut state).believed;
        let is_due = is_last || state.at.saturating_sub(state.heartbeat_at) >= HEARTBEAT_INTERVAL;
        is_due.then_some(Heartbeat { believed, confirmations: state.confirmations })
    }

    /// Records that the heartbeat was written.
    fn note_beat(&self) {
        self.state().heartbeat_at = self.world.monotonic();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The heartbeat in the database.
#[derive(Debug, Clone, Copy)]
struct Heartbeat {
    believed: Timestamp,
    confirmations: i64,
}

fn heartbeat(tx: &Tx<'_>) -> Result<Option<Heartbeat>, Error> {
    let sql = "SELECT believed_at, confirmations
               FROM believed_clock
               WHERE id = 1";
    tx.one(sql, [], |row| {
        let mut columns = Columns::of(row);
        Ok(Heartbeat { believed: columns.time()?, confirmations: columns.read()? })
    })
}

/// Returns the believed time in the last heartbeat.
pub fn last_heartbeat(tx: &Tx<'_>) -> Result<Option<Timestamp>, Error> {
    Ok(heartbeat(tx)?.map(|heartbeat| heartbeat.believed))
}

fn begin(tx: &Tx<'_>) -> Result<Heartbeat, Error> {
    let sql = "INSERT INTO believed_clock (id, believed_at, confirmations)
               VALUES (1, $1, 0)
               ON CONFLICT DO NOTHING";
    tx.run(sql, [tx.now.micros()])?;
    heartbeat(tx)?.ok_or_else(|| Error::Defect("the database has no heartbeat".to_owned()))
}

/// Writes the heartbeat, unless an admin has confirmed the wall clock after the heartbeat was prepared.
fn beat(tx: &Tx<'_>, heartbeat: &Heartbeat) -> Result<(), Error> {
    let sql = "UPDATE believed_clock
               SET believed_at = $1
               WHERE id = 1 AND confirmations = $2";
    tx.run(sql, (heartbeat.believed.micros(), heartbeat.confirmations))?;
    Ok(())
}

/// Records an admin's confirmation that the wall clock is right. The service adopts the confirmed time within about a
/// second.
pub fn confirm(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "INSERT INTO believed_clock (id, believed_at, confirmations)
               VALUES (1, $1, 1)
               ON CONFLICT (id) DO UPDATE
               SET believed_at = excluded.believed_at, confirmations = believed_clock.confirmations + 1";
    tx.run(sql, [tx.now.micros()])?;
    Ok(())
}

/// A change that the job found when it read the clocks.
pub(crate) enum ClockEvent {
    /// The wall clock has begun or ceased to agree with the believed time.
    Agreement(ClockReading),
    /// An admin has confirmed the wall clock, which now shows this time.
    Confirmed(Timestamp),
}

/// Returns the step of the job that reads the clocks and writes the heartbeat. While the clocks agree, the job calls
/// `sweep` every few steps. If `sweep` fails, the job calls it again in the next step in which the clocks agree.
pub(crate) fn job_step(
    reader: JobReader,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
    report: impl Fn(ClockEvent) + Send + 'static,
    sweep: impl FnMut(Timestamp) -> Result<(), Error> + Send + 'static,
) -> Step {
    let (agreed, steps_until_sweep, last_sweep_failed) = (true, STEPS_BETWEEN_SWEEPS, false);
    let mut job = ClockJob { reader, clock, writer, report, sweep, agreed, steps_until_sweep, last_sweep_failed };
    Box::new(move || job.step())
}

struct ClockJob<R, S> {
    reader: JobReader,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
    report: R,
    sweep: S,
    agreed: bool,
    steps_until_sweep: u32,
    last_sweep_failed: bool,
}

impl<R: Fn(ClockEvent), S: FnMut(Timestamp) -> Result<(), Error>> ClockJob<R, S> {
    /// Runs one step and returns its outcome. Returns `None` while a failed sweep waits until the clocks agree.
    fn step(&mut self) -> Option<Result<(), Error>> {
        let reading = self.clock.read();
        if reading.agrees() != self.agreed {
            self.agreed = reading.agrees();
            (self.report)(ClockEvent::Agreement(reading));
        }
        // Each step calls all three functions, even if one of them fails.
        let outcome: Result<(), Error> =
            [self.adopt_confirmation(reading.wall), self.beat(), self.sweep(&reading)].into_iter().collect();
        if outcome.is_ok() && self.last_sweep_failed { None } else { Some(outcome) }
    }

    fn adopt_confirmation(&self, now: Timestamp) -> Result<(), Error> {
        let heartbeat = self.reader.snapshot(now, heartbeat)?;
        if heartbeat.is_some_and(|heartbeat| self.clock.adopt_confirmation(&heartbeat)) {
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

    /// Runs a sweep if one is due. A failed sweep is tried again in the next step in which the clocks agree.
    fn sweep(&mut self, reading: &ClockReading) -> Result<(), Error> {
        self.steps_until_sweep = self.steps_until_sweep.saturating_sub(1);
        if !reading.agrees() || (self.steps_until_sweep > 0 && !self.last_sweep_failed) {
            return Ok(());
        }
        self.steps_until_sweep = STEPS_BETWEEN_SWEEPS;
        let swept = (self.sweep)(reading.wall);
        self.last_sweep_failed = swept.is_err();
        swept
    }
}

/// Queues the last heartbeat of this process. The writer still writes it, because the writer finishes its queue before
/// it stops. This function does not wait, because the service would meanwhile accept new jobs.
pub(crate) fn stop(clock: &Clock, writer: &Writer) {
    if let Some(heartbeat) = clock.due_beat(true) {
        writer.submit(Grade::Upkeep, move |tx| beat(tx, &heartbeat), |_| ());
    }
}
