//! The background job that carries out deferred erasures. An erasure is deferred if the candidate asked for it while a
//! hire was hidden from them. The status page responds as it does to a request for any other erasure, and staff still
//! see the hire. Meanwhile, staff can erase the candidate, unless a legal hold prevents the erasure.

use std::sync::Arc;
use std::time::Duration;

use super::deferred::{self, Cursor, DeferredErasure, PAGE_ROWS};
use super::progress::Erasures;
use crate::db::clock::Clock;
use crate::db::job::Grade;
use crate::db::job_reader::JobReader;
use crate::db::scheduler::Step;
use crate::db::service_log::ServiceLog;
use crate::db::tx::{Error, Tx};
use crate::db::writer::Writer;
use crate::domain::clock::ClockReading;
use crate::domain::erasure::{CandidateRef, deferred as rule};
use crate::domain::id::CandidateId;
use crate::store::status_page::deletion;
use crate::world::World;

/// The time between the starts of two scans. The delay before a hire becomes visible is set in whole hours, so one scan
/// a minute is enough.
const SCAN_EVERY: Duration = Duration::from_secs(60);

/// The time between the start of a scan that fails and the start of the next scan.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The parts of the store that the job uses.
pub(in super::super) struct Parts {
    pub(in super::super) world: Arc<dyn World>,
    pub(in super::super) clock: Arc<Clock>,
    pub(in super::super) erasures: Arc<Erasures>,
    pub(in super::super) writer: Arc<Writer>,
    pub(in super::super) log: Arc<ServiceLog>,
}

/// Prepares the job that carries out deferred erasures. One step reads a page of the scan, and each later step carries
/// out one erasure of this page.
pub(in super::super) fn job_step(reader: JobReader, parts: Parts) -> Step {
    let mut scan = Scan::default();
    Box::new(move || scan.step(&reader, &parts))
}

/// The state of a scan.
#[derive(Default)]
struct Scan {
    begun_at: Option<Duration>,
    /// Whether the scan has further pages.
    is_running: bool,
    /// The last deferred erasure on the page, after which the next page begins.
    after: Option<Cursor>,
    /// The due erasures of the page, the oldest last, because the job removes erasures from the end.
    due: Vec<DeferredErasure>,
    /// The first failure of the scan.
    failure: Option<Error>,
    /// Whether the last scan failed.
    has_failed: bool,
}

impl Scan {
    /// Reads the next page or carries out one erasure. An erasure that fails does not stop the others: the scan goes
    /// on, and reports the failure at its end.
    fn step(&mut self, reader: &JobReader, parts: &Parts) -> Option<Result<(), Error>> {
        if let Some(erasure) = self.due.pop() {
            let candidate = erasure.candidate.id.clone();
            if let Err(error) = run_erasure(parts, erasure) {
                self.fail(&parts.log, &candidate, error);
            }
        } else if self.is_running || self.begin_if_time(parts.world.monotonic()) {
            if let Err(error) = self.read_page(reader, parts) {
                self.is_running = false;
                self.failure.get_or_insert(error);
            }
        } else {
            return None;
        }
        if self.is_running || !self.due.is_empty() {
            return None;
        }
        Some(self.end())
    }

    /// Records the failure of an erasure. A full disk, for example, makes every erasure of every scan fail until there
    /// is space. Therefore, only the first failure of a scan is logged, and only if the last scan did not fail.
    fn fail(&mut self, log: &ServiceLog, candidate: &CandidateId, error: Error) {
        if self.failure.is_none() && !self.has_failed {
            log.write(format!("the deferred erasure of candidate {candidate} failed: {error}"));
        }
        self.failure.get_or_insert(error);
    }

    /// Ends the scan and returns its outcome.
    fn end(&mut self) -> Result<(), Error> {
        self.has_failed = self.failure.is_some();
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Begins a scan if it is time, and returns whether a scan began. The scan after a failure, such as a full disk or
    /// a lock that another process holds, begins sooner.
    fn begin_if_time(&mut self, now: Duration) -> bool {
        let wait = if self.has_failed { RETRY_AFTER } else { SCAN_EVERY };
        if self.begun_at.is_some_and(|at| now.saturating_sub(at) < wait) {
            return false;
        }
        (self.begun_at, self.after) = (Some(now), None);
        true
    }

    /// Reads a page and finds the erasures that are due.
    fn read_page(&mut self, reader: &JobReader, parts: &Parts) -> Result<(), Error> {
        let reading = parts.clock.read();
        reader.snapshot(reading.wall, |tx| {
            let page = deferred::page(tx, self.after)?;
            self.is_running = page.len() == PAGE_ROWS;
            self.after = page.last().map(DeferredErasure::cursor);
            for erasure in page.into_iter().rev() {
                if is_due(tx, &erasure, &reading)? {
                    self.due.push(erasure);
                }
            }
            Ok(())
        })
    }
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

/// Erases a candidate, unless the candidate now has records other than the subject of the status page on which the
/// candidate asked for the erasure. A candidate with other records stays. Instead, if the page belongs to an
/// application, the service withdraws the application if it is in progress, and deletes the page and the application's
/// signup.
///
/// Does nothing if the erasure is no longer due, for example because staff have placed the candidate under a legal hold
/// or hired the candidate since the scan.
fn carry_out(
    tx: &Tx<'_>,
    world: &dyn World,
    reading: &ClockReading,
    erasures: &Erasures,
    erasure: &DeferredErasure,
) -> Result<(), Error> {
    if deferred::find(tx, &erasure.candidate)?.as_ref() != Some(erasure) || !is_due(tx, erasure, reading)? {
        return Ok(());
    }
    deferred::remove(tx, &erasure.candidate)?;
    deletion::carry_out_deferred(tx, erasures, world, &erasure.candidate, erasure.application.as_ref())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::domain::id::Id as _;

    #[test]
    fn the_log_has_one_line_for_erasures_that_keep_failing() {
        let (log, lines) = (ServiceLog::default(), Arc::new(Mutex::new(Vec::new())));
        let written = Arc::clone(&lines);
        log.connect(move |line| written.lock().unwrap().push(line.to_owned()));
        let mut scan = Scan::default();
        let mut scan_with = |failures: &[&str]| {
            for candidate in failures {
                scan.fail(&log, &CandidateId::parse(candidate).unwrap(), Error::Full("the disk is full".to_owned()));
            }
            assert_eq!(scan.end().is_err(), !failures.is_empty());
            std::mem::take(&mut *lines.lock().unwrap())
        };
        let line = |candidate: &str| format!("the deferred erasure of candidate {candidate} failed: the disk is full");
        for (failures, expected) in [
            (&["cand_1", "cand_2"][..], vec![line("cand_1")]),
            (&["cand_1", "cand_2"], vec![]),
            (&["cand_3"], vec![]),
            (&[], vec![]),
            (&["cand_2"], vec![line("cand_2")]),
        ] {
            assert_eq!(scan_with(failures), expected);
        }
    }
}
