//! The retention: candidates of an organization are erased so many whole local days after the last decision about them.
//!
//! Every ten minutes a run looks through the candidates of every organization that wants it. Whoever is due is noted on one
//! day (`due`) and erased on a later one, if still due for the same reason. Many at once wait for an admin's word
//! (`confirm`), and nothing happens on a clock that is not believed. A run goes in small steps, so that neither the writer nor
//! the end of the service waits for it.

mod confirm;
pub(in super::super) mod due;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::db::row::Connection;

pub use self::confirm::{RetentionConfirmation, RetentionStanding, confirm, standing};
use self::due::Looked;
use super::{Erasures, erase_by_retention};
use crate::db::clock::Clock;
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::job::Grade;
use crate::db::notice::Notices;
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::domain::clock::{ClockDoubt, ClockReading};
use crate::domain::id::OrganizationId;
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// How often a run begins.
const RUN_EVERY: Duration = Duration::from_secs(600);

/// How soon the next run begins where something of the last one failed.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// How long the thread rests between two steps of its way.
const STEP_EVERY: Duration = Duration::from_millis(50);

/// Candidates that are looked at in one step: a few milliseconds of a reader.
const LOOKED_AT: usize = 1_000;

/// Candidates that one transaction notes or takes off.
const NOTED: usize = 256;

/// Candidates that one transaction erases: a few milliseconds of the writer, which others wait for.
const ERASED: usize = 8;

/// What the runs of this process have come to.
#[derive(Default)]
pub struct Runs {
    erased: AtomicU64,
    last: Mutex<Option<Run>>,
}

/// A run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// When it ended.
    pub at: Timestamp,
    /// Why it did nothing, where it did not.
    pub doubt: Option<ClockDoubt>,
    /// Candidates that are due, of all organizations.
    pub due: i64,
    /// Those of them who wait for an admin's word.
    pub waiting: i64,
}

impl Runs {
    /// Candidates that were erased since the start of the process.
    pub fn erased(&self) -> u64 {
        self.erased.load(Ordering::Relaxed)
    }

    /// The last run, once there was one.
    pub fn last(&self) -> Option<Run> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread works with.
pub(in super::super) struct Parts {
    pub(in super::super) world: Arc<dyn World>,
    pub(in super::super) clock: Arc<Clock>,
    pub(in super::super) erasures: Arc<Erasures>,
    pub(in super::super) writer: Arc<Writer>,
    pub(in super::super) notices: Arc<Notices>,
    pub(in super::super) runs: Arc<Runs>,
    pub(in super::super) health: Arc<Health>,
}

/// Starts the thread.
pub(in super::super) fn start(path: &Path, parts: Parts) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut worker = Worker { connection, parts, begun_at: None, under_way: None, has_failed: false };
    Periodic::start("retention", STEP_EVERY, move || worker.step())
}

struct Worker {
    connection: Connection,
    parts: Parts,
    begun_at: Option<Duration>,
    under_way: Option<Walk>,
    /// Something of the run failed, so the next one begins soon.
    has_failed: bool,
}

/// Where a run is.
struct Walk {
    organizations: VecDeque<OrganizationId>,
    stage: Stage,
    erased: u64,
    waiting: i64,
}

/// Where it is in an organization: the number of the last candidate it came to.
#[derive(Clone, Copy)]
enum Stage {
    /// It looks who is due.
    Look { after: i64 },
    /// It erases who was due before today.
    Erase { after: i64, today: Timestamp, with_unconfirmed: bool },
}

impl Worker {
    fn step(&mut self) {
        let now = self.parts.world.monotonic();
        let Some(mut walk) = self.under_way.take() else {
            let wait = if self.has_failed { RETRY_AFTER } else { RUN_EVERY };
            if self.begun_at.is_none_or(|at| now.saturating_sub(at) >= wait) {
                self.begun_at = Some(now);
                self.has_failed = false;
                self.begin();
            }
            return;
        };
        let Some(organization) = walk.organizations.front().cloned() else {
            return self.end(None, walk.erased, walk.waiting);
        };
        let next = match walk.stage {
            Stage::Look { after } => self.look(&mut walk, &organization, after),
            Stage::Erase { after, today, with_unconfirmed } => {
                self.erase(&mut walk, &organization, after, today, with_unconfirmed)
            }
        };
        match next {
            Ok(Some(stage)) => walk.stage = stage,
            // What fails now, because of a full disk or another process's lock, is tried again by the next run.
            next => {
                if let Err(error) = next {
                    self.fail(error);
                }
                walk.organizations.pop_front();
                walk.stage = Stage::Look { after: 0 };
            }
        }
        self.under_way = Some(walk);
    }

    fn begin(&mut self) {
        let organizations = match tx::snapshot(&self.connection, self.parts.world.now(), due::wanting) {
            Ok(organizations) => organizations,
            Err(error) => return self.fail(error),
        };
        let reading = self.parts.clock.read();
        if let Some(doubt) = reading.doubt() {
            if !organizations.is_empty() {
                self.parts.notices.say(waits(doubt, &reading));
            }
            return self.end(Some(doubt), 0, 0);
        }
        let (organizations, stage) = (organizations.into(), Stage::Look { after: 0 });
        self.under_way = Some(Walk { organizations, stage, erased: 0, waiting: 0 });
    }

    fn fail(&mut self, error: Error) {
        self.has_failed = true;
        self.parts.health.report(Job::Retention, &Err::<(), _>(error));
    }

    fn end(&mut self, doubt: Option<ClockDoubt>, erased: u64, waiting: i64) {
        if !self.has_failed {
            self.parts.health.report(Job::Retention, &Ok(()));
        }
        let at = self.parts.world.now();
        let sql = "SELECT count(*) FROM retention_due";
        let due = tx::snapshot(&self.connection, at, |tx| tx.one(sql, [], |row| Ok(row.get(0)?)));
        let due = due.ok().flatten().unwrap_or_default();
        if erased > 0 || waiting > 0 {
            self.parts.notices.say(format!(
                "retention erased {erased} candidates; {due} are due, {waiting} of them wait for an admin's confirmation"
            ));
        }
        let run = Run { at, doubt, due, waiting };
        *self.parts.runs.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    /// Looks at the organization's next candidates, and notes who has become due and who is not any more. What is next in the
    /// organization.
    fn look(&self, walk: &mut Walk, organization: &OrganizationId, after: i64) -> Result<Option<Stage>, Error> {
        let world = self.parts.world.as_ref();
        let now = world.now();
        let looked =
            tx::snapshot(&self.connection, now, |tx| due::look_from(tx, world, organization, after, LOOKED_AT))?;
        let Some(last) = looked.last().map(|one| one.candidate.number) else {
            return self.plan(walk, organization);
        };
        let changed: Vec<Looked> = looked.into_iter().filter(is_changed).collect();
        for some in changed.chunks(NOTED) {
            let (some, clock) = (some.to_vec(), Arc::clone(&self.parts.clock));
            // A clock that has jumped since the run began notes nothing.
            let is_believed = move || clock.read().doubt().is_none();
            let job = move |tx: &Tx<'_>| {
                if is_believed() { some.iter().try_for_each(|one| note(tx, one)) } else { Ok(()) }
            };
            self.parts.writer.run(job)?;
        }
        Ok(Some(Stage::Look { after: last }))
    }

    /// Whom to erase of those who are due.
    fn plan(&self, walk: &mut Walk, organization: &OrganizationId) -> Result<Option<Stage>, Error> {
        let world = self.parts.world.as_ref();
        let plan = |tx: &Tx<'_>| {
            let Some(today) = due::today(tx, world, organization)? else { return Ok(None) };
            Ok(Some((today, due::day(tx, organization, today)?)))
        };
        let Some((today, day)) = tx::snapshot(&self.connection, world.now(), plan)? else { return Ok(None) };
        let needs_confirmation = day.needs_confirmation();
        if needs_confirmation {
            walk.waiting += day.unconfirmed;
        }
        Ok(Some(Stage::Erase { after: 0, today, with_unconfirmed: !needs_confirmation }))
    }

    fn erase(
        &self,
        walk: &mut Walk,
        organization: &OrganizationId,
        after: i64,
        today: Timestamp,
        with_unconfirmed: bool,
    ) -> Result<Option<Stage>, Error> {
        let ripe = |tx: &Tx<'_>| due::ripe(tx, organization, today, with_unconfirmed, after, ERASED);
        let numbers = tx::snapshot(&self.connection, self.parts.world.now(), ripe)?;
        let Some(last) = numbers.last().copied() else { return Ok(None) };
        let (world, erasures, clock) =
            (Arc::clone(&self.parts.world), Arc::clone(&self.parts.erasures), Arc::clone(&self.parts.clock));
        let organization = organization.clone();
        let job = move |tx: &Tx<'_>| {
            if clock.read().doubt().is_some() {
                return Ok(0);
            }
            erase_ripe(tx, world.as_ref(), &erasures, &organization, &numbers, today)
        };
        let erased = self.parts.writer.run_as(Grade::Durable, job)?;
        walk.erased += erased;
        self.parts.runs.erased.fetch_add(erased, Ordering::Relaxed);
        Ok(Some(Stage::Erase { after: last, today, with_unconfirmed }))
    }
}

/// Whether what is noted of a candidate is not how it is.
fn is_changed(one: &Looked) -> bool {
    match one.noted {
        Some(noted) => !noted.holds(one.counted_from),
        None => one.counted_from.is_some(),
    }
}

fn note(tx: &Tx<'_>, one: &Looked) -> Result<(), Error> {
    match one.counted_from {
        Some(counted_from) => due::note(tx, &one.candidate, counted_from),
        None => due::take_off(tx, one.candidate.number),
    }
}

/// Erases those of them who still are due for the same reason: since they were noted, they may have applied again or been held,
/// and the organization may want to keep them for longer. How many they were.
fn erase_ripe(
    tx: &Tx<'_>,
    world: &dyn World,
    erasures: &Erasures,
    organization: &OrganizationId,
    numbers: &[i64],
    today: Timestamp,
) -> Result<u64, Error> {
    let (mut candidates, mut unconfirmed) = (Vec::new(), 0);
    for number in numbers {
        let found = due::look_from(tx, world, organization, number - 1, 1)?;
        let Some(one) = found.into_iter().find(|one| one.candidate.number == *number) else { continue };
        let Some(noted) = one.noted else { continue };
        if !noted.holds(one.counted_from) {
            due::take_off(tx, *number)?;
        } else if noted.is_ripe(today) {
            unconfirmed += i64::from(!noted.is_confirmed);
            candidates.push(one.candidate);
        }
    }
    if candidates.is_empty() {
        return Ok(0);
    }
    erase_by_retention(tx, erasures, world, &candidates)?;
    due::count(tx, organization, today, unconfirmed)?;
    Ok(candidates.len() as u64)
}

/// Why a run does nothing.
fn waits(doubt: ClockDoubt, reading: &ClockReading) -> String {
    let minutes = reading.wait().as_secs().div_ceil(60);
    match doubt {
        ClockDoubt::Start => format!("retention waits: the service has just started; it begins in {minutes} minutes"),
        ClockDoubt::Clock => format!(
            "retention waits: the clock says {} where {} was expected; it goes on in {minutes} minutes of uptime, or when an \
             admin confirms the time",
            reading.wall, reading.believed
        ),
    }
}
