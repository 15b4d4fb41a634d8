//! The background job that closes open roles after their closing date. Every ten seconds, a run scans the open roles
//! whose closing date is today or earlier in UTC. It closes those roles whose date has passed in their organization's
//! time zone. Signups are refused from the end of the closing date, even before the job has run.
//!
//! The job relies on the believed clock, so a system clock that jumps ahead does not close roles at once. Unlike
//! retention, the job does not wait for an hour after a start, because staff can open a closed role again.

use std::sync::Arc;
use std::time::Duration;

use super::change::save;
use super::record::{RoleRecord, find};
use crate::db::clock::Clock;
use crate::db::job::Grade;
use crate::db::job_reader::JobReader;
use crate::db::row::Columns;
use crate::db::scheduler::Step;
use crate::db::tx::{Error, Tx};
use crate::db::writer::Writer;
use crate::domain::activity::Action;
use crate::domain::closing_day::ClosingDay;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::RoleStatus;
use crate::domain::timestamp::Timestamp;
use crate::store::{activity, organization};
use crate::world::World;

/// The time between the starts of two runs. Candidates should soon see that a role is closed, and a run without work
/// reads only a few entries of an index.
const RUN_EVERY: Duration = Duration::from_secs(10);

/// The time between the start of a failed run and the start of the next run.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The maximum number of roles that one step scans and one transaction closes. Other jobs wait a few milliseconds for
/// the transaction.
const SCANNED_MAX: usize = 32;

/// Prepares the job that closes roles, one slice in each step.
pub(in crate::store) fn job_step(
    reader: JobReader,
    world: Arc<dyn World>,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
) -> Step {
    let mut worker = Worker { reader, world, clock, writer, begun_at: None, under_way: None, last_run_failed: false };
    Box::new(move || worker.step())
}

/// The position of a role in the index that the job scans.
type Position = (String, String);

struct Worker {
    reader: JobReader,
    world: Arc<dyn World>,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
    begun_at: Option<Duration>,
    /// The last role that the current run has scanned; `None` between two runs.
    under_way: Option<Position>,
    last_run_failed: bool,
}

/// An open role with a closing date that may have passed.
struct ScannedRole {
    organization_id: OrganizationId,
    id: RoleId,
    closes_on: ClosingDay,
    time_zone: String,
}

impl Worker {
    /// Runs one step. Returns the outcome at the end of a run.
    fn step(&mut self) -> Option<Result<(), Error>> {
        let after = match self.under_way.take() {
            Some(after) => after,
            None => {
                let now = self.world.monotonic();
                let wait = if self.last_run_failed { RETRY_AFTER } else { RUN_EVERY };
                if self.begun_at.is_some_and(|at| now.saturating_sub(at) < wait) {
                    return None;
                }
                self.begun_at = Some(now);
                Position::default()
            }
        };
        let outcome = self.run_slice(&after);
        self.last_run_failed = outcome.is_err();
        match outcome {
            Ok(Some(next)) => {
                self.under_way = Some(next);
                None
            }
            // The next run retries after a failure, such as a full disk or a lock that another process holds.
            outcome => Some(outcome.map(drop)),
        }
    }

    /// Closes the next due roles after the position `after`. Returns the position of the last scanned role, or `None`
    /// at the end of the run.
    fn run_slice(&self, after: &Position) -> Result<Option<Position>, Error> {
        let (reading, world) = (self.clock.read(), self.world.as_ref());
        let at = reading.earliest();
        let scanned = self.reader.snapshot(reading.wall, |tx| scan(tx, world, at, after))?;
        let is_last_page = scanned.len() < SCANNED_MAX;
        let next = scanned.last().map(|role| (role.closes_on.to_string(), role.id.to_string()));
        let due: Vec<ScannedRole> = scanned
            .into_iter()
            .filter(|role| role.closes_on.has_passed(world.local_day(&role.time_zone, at)))
            .collect();
        if !due.is_empty() {
            let (world, clock) = (Arc::clone(&self.world), Arc::clone(&self.clock));
            let job = move |tx: &Tx<'_>| {
                let at = clock.read().earliest();
                due.iter().try_for_each(|role| close(tx, world.as_ref(), at, role))
            };
            self.writer.run_as(Grade::Durable, job)?;
        }
        Ok(next.filter(|_| !is_last_page))
    }
}

/// Finds the next open roles whose closing date is not after the current day in UTC. Every time zone differs from UTC
/// by less than a day, so no later closing date has passed anywhere.
fn scan(tx: &Tx<'_>, world: &dyn World, at: Timestamp, after: &Position) -> Result<Vec<ScannedRole>, Error> {
    let sql = "SELECT r.organization_id, r.id, r.closes_on, o.time_zone
               FROM roles r
               JOIN organizations o ON o.id = r.organization_id
               WHERE r.status = 'open' AND r.closes_on IS NOT NULL AND r.closes_on <= $1
                 AND (r.closes_on, r.id) > ($2, $3)
               ORDER BY r.closes_on, r.id
               LIMIT $4";
    let today = world.local_day("UTC", at).to_string();
    tx.all(sql, (today, &after.0, &after.1, SCANNED_MAX as i64), |row| {
        let mut columns = Columns::of(row);
        Ok(ScannedRole {
            organization_id: columns.parse(OrganizationId::parse)?,
            id: columns.parse(RoleId::parse)?,
            closes_on: columns.parse(ClosingDay::parse)?,
            time_zone: columns.read()?,
        })
    })
}

/// Closes a role as staff would, if the role is still open and its closing date has passed. The status and the closing
/// date may have changed since the scan.
fn close(tx: &Tx<'_>, world: &dyn World, at: Timestamp, scanned: &ScannedRole) -> Result<(), Error> {
    let ScannedRole { organization_id, id, .. } = scanned;
    let Some(before) = find(tx, organization_id, id)? else { return Ok(()) };
    let today = organization::today(tx, world, organization_id, at)?;
    let Some(day) = before.record.closes_on.filter(|day| day.has_passed(today)) else { return Ok(()) };
    if before.record.seats.status != RoleStatus::Open {
        return Ok(());
    }
    let seats = before.record.seats.closed()?;
    let after = RoleRecord { seats, close_reason: Some(day.close_reason()), ..before.record.clone() };
    save(tx, None, Action::RoleClosed, &before, &after, &activity::stamp(world))
}
