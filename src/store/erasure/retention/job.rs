//! The background job for retention. Every ten minutes, a run scans the candidates of every organization with a
//! retention period. The run records due candidates. A run on a later day erases those who are still due and whose
//! retention period still has the recorded start. If many candidates are due at once, they wait for confirmation by an
//! admin. While the clock is in doubt, a run does nothing.
//!
//! A run works in small steps, so that neither the writer nor the shutdown waits long for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::super::candidate::erase_by_retention;
use super::super::progress::Erasures;
use super::due::{self, ScannedCandidate};
use crate::db::clock::Clock;
use crate::db::job::Grade;
use crate::db::job_reader::JobReader;
use crate::db::scheduler::Step;
use crate::db::service_log::ServiceLog;
use crate::db::tx::{Error, Tx};
use crate::db::writer::Writer;
use crate::domain::clock::{ClockDoubt, ClockReading};
use crate::domain::id::OrganizationId;
use crate::domain::retention::{self as rule, DueDecision, ScanResult};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// The time between the starts of two runs.
const RUN_EVERY: Duration = Duration::from_secs(600);

/// The time between the start of a failed run and the start of the next run.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The maximum number of candidates that one step scans: a few milliseconds of a reader's time.
const SCANNED_MAX: usize = 1_000;

/// The maximum number of scan results that one transaction records.
const RECORDED_MAX: usize = 256;

/// The maximum number of candidates that one transaction erases: a few milliseconds of the writer's time, during which
/// other jobs wait.
const ERASED_MAX: usize = 8;

/// The retention runs of this process.
#[derive(Default)]
pub struct Runs {
    erased: AtomicU64,
    last: Mutex<Option<Run>>,
}

/// A run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The time at which the run ended.
    pub at: Timestamp,
    /// The doubt about the clock that prevented the run, if any.
    pub doubt: Option<ClockDoubt>,
    /// The number of due candidates in all organizations.
    pub due: i64,
    /// The number of due candidates who wait for confirmation by an admin.
    pub waiting: i64,
}

impl Runs {
    /// Returns the number of candidates whom retention has erased since the start of the process.
    pub fn erased(&self) -> u64 {
        self.erased.load(Ordering::Relaxed)
    }

    /// Returns the last run, or `None` before the end of the first run.
    pub fn last(&self) -> Option<Run> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parts of the store that the job uses.
pub(in crate::store) struct Parts {
    pub(in crate::store) world: Arc<dyn World>,
    pub(in crate::store) clock: Arc<Clock>,
    pub(in crate::store) erasures: Arc<Erasures>,
    pub(in crate::store) writer: Arc<Writer>,
    pub(in crate::store) log: Arc<ServiceLog>,
    pub(in crate::store) runs: Arc<Runs>,
}

/// Prepares the job that runs retention, one slice in each step.
pub(in crate::store) fn job_step(reader: JobReader, parts: Parts) -> Step {
    let mut worker = Worker { reader, parts, begun_at: None, under_way: None, has_failed: false };
    Box::new(move || worker.step())
}

struct Worker {
    reader: JobReader,
    parts: Parts,
    begun_at: Option<Duration>,
    under_way: Option<RunUnderWay>,
    /// Whether a part of the run failed. If so, the next run begins soon.
    has_failed: bool,
}

struct RunUnderWay {
    organizations: VecDeque<OrganizationId>,
    /// The stage in the first of these organizations.
    stage: Stage,
    erased: u64,
    waiting: i64,
}

/// The stage of a run in an organization. `after` is the number of the last candidate that the run has handled.
#[derive(Clone, Copy)]
enum Stage {
    /// The scan that records which candidates are due.
    Scan { after: i64 },
    /// The erasure of candidates who became due before today.
    Erase { after: i64, today: Timestamp, with_unconfirmed: bool },
}

impl Worker {
    /// Runs one step. Returns an error as soon as a part of a run fails, and success at the end of a run without a
    /// failure.
    fn step(&mut self) -> Option<Result<(), Error>> {
        let now = self.parts.world.monotonic();
        let Some(mut run) = self.under_way.take() else {
            let wait = if self.has_failed { RETRY_AFTER } else { RUN_EVERY };
            if self.begun_at.is_none_or(|at| now.saturating_sub(at) >= wait) {
                self.begun_at = Some(now);
                self.has_failed = false;
                return self.begin();
            }
            return None;
        };
        let Some(organization) = run.organizations.front().cloned() else {
            return self.end(None, run.erased, run.waiting);
        };
        let next = match run.stage {
            Stage::Scan { after } => self.scan(&mut run, &organization, after),
            Stage::Erase { after, today, with_unconfirmed } => {
                self.erase(&mut run, &organization, after, today, with_unconfirmed)
            }
        };
        let mut failed = None;
        match next {
            Ok(Some(stage)) => run.stage = stage,
            // The next run retries after a failure, such as a full disk or a lock that another process holds.
            next => {
                failed = next.err().map(|error| self.fail(error));
                run.organizations.pop_front();
                run.stage = Stage::Scan { after: 0 };
            }
        }
        self.under_way = Some(run);
        failed
    }

    fn begin(&mut self) -> Option<Result<(), Error>> {
        let organizations = match self.reader.snapshot(self.parts.world.now(), due::organizations) {
            Ok(organizations) => organizations,
            Err(error) => return Some(self.fail(error)),
        };
        let reading = self.parts.clock.read();
        if let Some(doubt) = reading.doubt() {
            if !organizations.is_empty() {
                self.parts.log.write(describe_wait(doubt, &reading));
            }
            return self.end(Some(doubt), 0, 0);
        }
        let (organizations, stage) = (organizations.into(), Stage::Scan { after: 0 });
        self.under_way = Some(RunUnderWay { organizations, stage, erased: 0, waiting: 0 });
        None
    }

    fn fail(&mut self, error: Error) -> Result<(), Error> {
        self.has_failed = true;
        Err(error)
    }

    fn end(&mut self, doubt: Option<ClockDoubt>, erased: u64, waiting: i64) -> Option<Result<(), Error>> {
        let at = self.parts.world.now();
        let due = self.reader.snapshot(at, due::count).unwrap_or_default();
        if erased > 0 || waiting > 0 {
            self.parts.log.write(format!(
                "candidates erased by retention: {erased}; still due: {due}; waiting for an admin's confirmation: {waiting}"
            ));
        }
        let run = Run { at, doubt, due, waiting };
        *self.parts.runs.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
        (!self.has_failed).then_some(Ok(()))
    }

    /// Scans the organization's next candidates, and records who has become due and who is no longer due. Returns the
    /// next stage in the organization.
    fn scan(&self, run: &mut RunUnderWay, organization: &OrganizationId, after: i64) -> Result<Option<Stage>, Error> {
        let world = self.parts.world.as_ref();
        let scan = |tx: &Tx<'_>| due::scan(tx, world, organization, after, SCANNED_MAX);
        let scanned = self.reader.snapshot(world.now(), scan)?;
        let Some(last) = scanned.last().map(|entry| entry.candidate.number) else {
            return self.plan(run, organization);
        };
        let changed: Vec<_> = scanned.into_iter().filter(|entry| scan_result(entry) != ScanResult::Unchanged).collect();
        for slice in changed.chunks(RECORDED_MAX) {
            let (slice, clock) = (slice.to_vec(), Arc::clone(&self.parts.clock));
            // If the clock has jumped since the run began, the job records nothing.
            let is_believed = move || clock.read().doubt().is_none();
            let job = move |tx: &Tx<'_>| {
                if is_believed() { slice.iter().try_for_each(|entry| record_result(tx, entry)) } else { Ok(()) }
            };
            self.parts.writer.run(job)?;
        }
        Ok(Some(Stage::Scan { after: last }))
    }

    /// Decides which of the due candidates to erase.
    fn plan(&self, run: &mut RunUnderWay, organization: &OrganizationId) -> Result<Option<Stage>, Error> {
        let world = self.parts.world.as_ref();
        let load = |tx: &Tx<'_>| {
            let Some(today) = due::today(tx, world, organization)? else { return Ok(None) };
            Ok(Some((today, due::day(tx, organization, today)?)))
        };
        let Some((today, day)) = self.reader.snapshot(world.now(), load)? else { return Ok(None) };
        run.waiting += day.waiting();
        Ok(Some(Stage::Erase { after: 0, today, with_unconfirmed: day.waiting() == 0 }))
    }

    fn erase(
        &self,
        run: &mut RunUnderWay,
        organization: &OrganizationId,
        after: i64,
        today: Timestamp,
        with_unconfirmed: bool,
    ) -> Result<Option<Stage>, Error> {
        let load = |tx: &Tx<'_>| due::due_before(tx, organization, today, with_unconfirmed, after, ERASED_MAX);
        let numbers = self.reader.snapshot(self.parts.world.now(), load)?;
        let Some(last) = numbers.last().copied() else { return Ok(None) };
        let (world, erasures, clock) =
            (Arc::clone(&self.parts.world), Arc::clone(&self.parts.erasures), Arc::clone(&self.parts.clock));
        let organization = organization.clone();
        let job = move |tx: &Tx<'_>| {
            if clock.read().doubt().is_some() {
                return Ok(0);
            }
            erase_due(tx, world.as_ref(), &erasures, &organization, &numbers, today)
        };
        let erased = self.parts.writer.run_as(Grade::Durable, job)?;
        run.erased += erased;
        self.parts.runs.erased.fetch_add(erased, Ordering::Relaxed);
        Ok(Some(Stage::Erase { after: last, today, with_unconfirmed }))
    }
}

fn scan_result(scanned: &ScannedCandidate) -> ScanResult {
    rule::scan(scanned.recorded, scanned.counted_from)
}

fn record_result(tx: &Tx<'_>, scanned: &ScannedCandidate) -> Result<(), Error> {
    match scan_result(scanned) {
        ScanResult::Unchanged => Ok(()),
        ScanResult::Due(counted_from) => due::insert(tx, &scanned.candidate, counted_from),
        ScanResult::NotDue => due::remove(tx, scanned.candidate.number),
    }
}

/// Erases the candidates with these numbers who are still due. Returns the number of erased candidates.
fn erase_due(
    tx: &Tx<'_>,
    world: &dyn World,
    erasures: &Erasures,
    organization: &OrganizationId,
    numbers: &[i64],
    today: Timestamp,
) -> Result<u64, Error> {
    let (mut candidates, mut unconfirmed) = (Vec::new(), 0);
    for number in numbers {
        let scanned = due::scan(tx, world, organization, number - 1, 1)?;
        let Some(entry) = scanned.into_iter().find(|entry| entry.candidate.number == *number) else { continue };
        let Some(recorded) = entry.recorded else { continue };
        match recorded.decide(entry.counted_from, today) {
            DueDecision::NotDue => due::remove(tx, *number)?,
            DueDecision::Wait => {}
            DueDecision::Erase => {
                unconfirmed += i64::from(!recorded.is_confirmed);
                candidates.push(entry.candidate);
            }
        }
    }
    if candidates.is_empty() {
        return Ok(0);
    }
    erase_by_retention(tx, erasures, world, &candidates)?;
    due::add_erased(tx, organization, today, unconfirmed)?;
    Ok(candidates.len() as u64)
}

/// Returns the log line for a run that does nothing.
fn describe_wait(doubt: ClockDoubt, reading: &ClockReading) -> String {
    let minutes = reading.wait().as_secs().div_ceil(60);
    match doubt {
        ClockDoubt::Start => {
            format!("retention waits: the service has just started; retention begins in {minutes} min")
        }
        ClockDoubt::Clock => format!(
            "retention waits: the clock shows {}, but {} was expected; retention continues in {minutes} min \
             of uptime, or when an admin confirms the time",
            reading.wall, reading.believed
        ),
    }
}
