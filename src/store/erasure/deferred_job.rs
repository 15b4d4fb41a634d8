//! The background job that carries out deferred erasures: of candidates who erased themselves while a hire was hidden from
//! them. Their status page answered as always, and staff still see the hire. Staff can erase such a candidate at any time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::deferred::{self, DeferredErasure};
use super::progress::Erasures;
use crate::db::clock::Clock;
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::job::Grade;
use crate::db::row::Connection;
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::domain::clock::ClockReading;
use crate::domain::erasure::{CandidateRef, deferred as rule};
use crate::store::status_page::deletion;
use crate::world::World;

/// The time between two scans. Hires become visible by the hour, so a minute is soon enough.
const SCAN_EVERY: Duration = Duration::from_secs(60);

/// The time before the next scan after one that failed.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// How often the thread compares the time with that of its last scan.
const STEP_EVERY: Duration = Duration::from_millis(250);

/// The parts of the store that the thread works with.
pub(in super::super) struct Parts {
    pub(in super::super) world: Arc<dyn World>,
    pub(in super::super) clock: Arc<Clock>,
    pub(in super::super) erasures: Arc<Erasures>,
    pub(in super::super) writer: Arc<Writer>,
}

/// Starts the thread. The first scan follows at once.
pub(in super::super) fn start(path: &Path, parts: Parts, health: &Arc<Health>) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut scanned_at = None;
    let mut has_failed = false;
    let step = move || {
        let now = parts.world.monotonic();
        let wait = if has_failed { RETRY_AFTER } else { SCAN_EVERY };
        if scanned_at.is_some_and(|at| now.saturating_sub(at) < wait) {
            return None;
        }
        scanned_at = Some(now);
        // A failure, because of a full disk or another process's lock, is retried by the next scan.
        let scanned = scan(&connection, &parts);
        has_failed = scanned.is_err();
        Some(scanned)
    };
    Periodic::reporting(health, Job::AskedErasures, STEP_EVERY, step)
}

/// Carries out each due erasure in a transaction of its own.
fn scan(connection: &Connection, parts: &Parts) -> Result<(), Error> {
    let reading = parts.clock.read();
    let due = tx::snapshot(connection, reading.wall, |tx| {
        let mut due = Vec::new();
        for erasure in deferred::load(tx)? {
            if is_due(tx, &erasure, &reading)? {
                due.push(erasure);
            }
        }
        Ok(due)
    })?;
    for erasure in due {
        let (world, clock, erasures) =
            (Arc::clone(&parts.world), Arc::clone(&parts.clock), Arc::clone(&parts.erasures));
        let job = move |tx: &Tx<'_>| carry_out(tx, world.as_ref(), &clock.read(), &erasures, &erasure);
        parts.writer.run_as(Grade::Durable, job)?;
    }
    Ok(())
}

fn is_due(tx: &Tx<'_>, erasure: &DeferredErasure, reading: &ClockReading) -> Result<bool, Error> {
    let CandidateRef { id, organization_id, .. } = &erasure.candidate;
    let hires = deferred::hires(tx, organization_id, id)?;
    Ok(rule::is_due(&hires, erasure.visible_after_hours, reading.doubt().is_some(), tx.now))
}

/// Erases a candidate, unless staff have held or hired them since the scan.
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
