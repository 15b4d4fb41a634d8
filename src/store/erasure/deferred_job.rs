//! The background job that carries out deferred erasures. An erasure is deferred if the candidate asked for it while a
//! hire was hidden from them. The status page responds as it does to a request for any other erasure, and staff still
//! see the hire. Staff can erase these candidates at any time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::deferred::{self, DeferredErasure};
use super::progress::Erasures;
use crate::db::clock::Clock;
use crate::db::connection::{self, Use};
use crate::db::job::Grade;
use crate::db::row::Connection;
use crate::db::scheduler::Step;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::domain::clock::ClockReading;
use crate::domain::erasure::{CandidateRef, deferred as rule};
use crate::store::status_page::deletion;
use crate::world::World;

/// The time between two scans. The delay before a hire is visible is set in whole hours, so scanning once a minute is
/// often enough.
const SCAN_EVERY: Duration = Duration::from_secs(60);

/// The time before the next scan after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The parts of the store that the job uses.
pub(in super::super) struct Parts {
    pub(in super::super) world: Arc<dyn World>,
    pub(in super::super) clock: Arc<Clock>,
    pub(in super::super) erasures: Arc<Erasures>,
    pub(in super::super) writer: Arc<Writer>,
}

/// Prepares the job that carries out deferred erasures. One step scans, and each later step carries out one erasure.
pub(in super::super) fn job_step(path: &Path, parts: Parts) -> Result<Step, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut scanned_at = None;
    let mut has_failed = false;
    let mut due = Vec::new();
    Ok(Box::new(move || {
        let now = parts.world.monotonic();
        let wait = if has_failed { RETRY_AFTER } else { SCAN_EVERY };
        if due.is_empty() && scanned_at.is_some_and(|at| now.saturating_sub(at) < wait) {
            return None;
        }
        let outcome = match due.pop() {
            Some(erasure) => run_erasure(&parts, erasure),
            None => {
                scanned_at = Some(now);
                scan(&connection, &parts).map(|found| due = found)
            }
        };
        // The next scan retries after a failure, such as a full disk or a lock that another process holds.
        has_failed = outcome.is_err();
        if has_failed {
            due.clear();
        }
        due.is_empty().then_some(outcome)
    }))
}

/// Finds the erasures that are due. The oldest erasure is last, because the job removes erasures from the end.
fn scan(connection: &Connection, parts: &Parts) -> Result<Vec<DeferredErasure>, Error> {
    let reading = parts.clock.read();
    tx::snapshot(connection, reading.wall, |tx| {
        let mut due = Vec::new();
        for erasure in deferred::load(tx)?.into_iter().rev() {
            if is_due(tx, &erasure, &reading)? {
                due.push(erasure);
            }
        }
        Ok(due)
    })
}

/// Carries out one erasure in one transaction.
fn run_erasure(parts: &Parts, erasure: DeferredErasure) -> Result<(), Error> {
    let (world, clock, erasures) = (Arc::clone(&parts.world), Arc::clone(&parts.clock), Arc::clone(&parts.erasures));
    let job = move |tx: &Tx<'_>| carry_out(tx, world.as_ref(), &clock.read(), &erasures, &erasure);
    parts.writer.run_as(Grade::Durable, job)
}

fn is_due(tx: &Tx<'_>, erasure: &DeferredErasure, reading: &ClockReading) -> Result<bool, Error> {
    let CandidateRef { id, organization_id, .. } = &erasure.candidate;
    let hires = deferred::hires(tx, organization_id, id)?;
    Ok(rule::is_due(&hires, erasure.visible_after_hours, reading.doubt().is_some(), tx.now))
}

/// Erases a candidate. If the candidate now has other records, only withdraws the application and deletes its signup.
/// Does nothing if staff have placed the candidate under a legal hold or hired the candidate since the scan.
fn carry_out(
    tx: &Tx<'_>,
    world: &dyn World,
    reading: &ClockReading,
    erasures: &Erasures,
    erasure: &DeferredErasure,
) -> Result<(), Error> {
    if !deferred::load(tx)?.contains(erasure) || !is_due(tx, erasure, reading)? {
        return Ok(());
    }
    deferred::remove(tx, &erasure.candidate)?;
    deletion::carry_out_deferred(tx, erasures, world, &erasure.candidate, erasure.application.as_ref())
}
