//! Candidates who had themselves deleted by the link of their page while a hire of theirs was still hidden from them. The page
//! says what it always says, and staff keep the hire: the erasure is on record, and carried out once the hire shows or staff
//! have reversed it. Staff can erase the candidate at any time, as anybody else.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::db::row::Connection;

use super::super::status_page::acts;
use super::super::{candidate_role, candidate_step};
use super::{Candidate, Erasures};
use crate::db::clock::Clock;
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::job::Grade;
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::clock::ClockReading;
use crate::domain::id::{ApplicationId, CandidateId, Id, OrganizationId};
use crate::domain::progress;
use crate::world::World;

/// How often the thread looks: a hire shows by the hour, so a minute is soon enough.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How soon the next look follows one that failed.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// How long the thread sleeps between two glances at the clock.
const STEP_EVERY: Duration = Duration::from_millis(250);

/// Candidates that one look reads; the next look goes on behind those that were erased.
const LOOKED_AT: i64 = 1_000;

/// What the thread works with.
pub(in super::super) struct Parts {
    pub(in super::super) world: Arc<dyn World>,
    pub(in super::super) clock: Arc<Clock>,
    pub(in super::super) erasures: Arc<Erasures>,
    pub(in super::super) writer: Arc<Writer>,
}

/// Starts the thread. The first look is at the start.
pub(in super::super) fn start(path: &Path, parts: Parts, health: &Arc<Health>) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut looked_at = None;
    let mut has_failed = false;
    let step = move || {
        let now = parts.world.monotonic();
        let wait = if has_failed { RETRY_AFTER } else { LOOK_EVERY };
        if looked_at.is_some_and(|at| now.saturating_sub(at) < wait) {
            return None;
        }
        looked_at = Some(now);
        // What fails now, because of a full disk or another process's lock, is tried again at the next look.
        let looked = look(&connection, &parts);
        has_failed = looked.is_err();
        Some(looked)
    };
    Periodic::reporting(health, Job::AskedErasures, STEP_EVERY, step)
}

/// Erases whoever asked and nothing keeps any more, each in a transaction of their own.
fn look(connection: &Connection, parts: &Parts) -> Result<(), Error> {
    let reading = parts.clock.read();
    let due = tx::snapshot(connection, reading.wall, |tx| {
        let asked = asked(tx)?;
        let due = asked.into_iter().map(|asked| Ok((is_due(tx, &asked, &reading)?, asked)));
        due.collect::<Result<Vec<_>, Error>>()
    })?;
    for (_, asked) in due.into_iter().filter(|(is_due, _)| *is_due) {
        let (world, clock, erasures) =
            (Arc::clone(&parts.world), Arc::clone(&parts.clock), Arc::clone(&parts.erasures));
        let job = move |tx: &Tx<'_>| carry_out(tx, world.as_ref(), &clock.read(), &erasures, &asked);
        parts.writer.run_as(Grade::Durable, job)?;
    }
    Ok(())
}

/// Somebody who asked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    candidate: Candidate,
    /// The application whose page they asked by.
    application: Option<ApplicationId>,
    visible_after_hours: Option<u32>,
}

/// Everybody who asked and is not held.
fn asked(tx: &Tx<'_>) -> Result<Vec<Asked>, Error> {
    let sql = "SELECT c.number, c.id, c.organization_id, e.candidate_role_id, o.decision_visible_after_hours
               FROM erasures_asked e
               JOIN candidates c ON c.number = e.candidate_number
               JOIN organizations o ON o.id = c.organization_id
               WHERE c.erased_at IS NULL AND c.hold_reason IS NULL
               ORDER BY e.asked_at, c.number
               LIMIT $1";
    tx.all(sql, [LOOKED_AT], |row| {
        let application = row.get::<_, Option<String>>(3)?;
        Ok(Asked {
            candidate: Candidate {
                number: row.get(0)?,
                id: tx::word(&row.get::<_, String>(1)?, CandidateId::parse)?,
                organization_id: tx::word(&row.get::<_, String>(2)?, OrganizationId::parse)?,
            },
            application: application.map(|id| tx::word(&id, ApplicationId::parse)).transpose()?,
            visible_after_hours: row.get(4)?,
        })
    })
}

/// An erasure cannot be undone, so a clock that is not believed shows no hire. A hire that staff have reversed is no reason to
/// wait, whatever the clock says.
fn is_due(tx: &Tx<'_>, asked: &Asked, reading: &ClockReading) -> Result<bool, Error> {
    let Candidate { id, organization_id, .. } = &asked.candidate;
    let hours = asked.visible_after_hours.filter(|_| reading.doubt().is_none());
    Ok(!has_hidden_hire(tx, organization_id, id, hours)?)
}

/// Erases somebody who asked, unless they were held or hired anew since they were looked at.
fn carry_out(
    tx: &Tx<'_>,
    world: &dyn World,
    reading: &ClockReading,
    erasures: &Erasures,
    asked: &Asked,
) -> Result<(), Error> {
    let still = self::asked(tx)?.into_iter().any(|still| still == *asked);
    if !still || !is_due(tx, asked, reading)? {
        return Ok(());
    }
    forget(tx, &asked.candidate)?;
    acts::carry_out(tx, erasures, world, &asked.candidate, asked.application.as_ref())
}

/// Whether a candidate has a hire that their page does not show yet.
///
/// # Errors
/// When SQLite fails.
pub(in super::super) fn has_hidden_hire(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    visible_after_hours: Option<u32>,
) -> Result<bool, Error> {
    let delay = visible_after_hours.map(|hours| Duration::from_secs(u64::from(hours) * 3_600));
    for application in candidate_role::of_candidate(tx, organization, candidate)? {
        if application.record.status != ApplicationStatus::Hired {
            continue;
        }
        let steps = candidate_step::of_application(tx, &application.record.id)?;
        let history = candidate_step::history(tx, &application, &steps)?;
        if progress::visible_progress(&history, None, delay, tx.now).status != ApplicationStatus::Hired {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Puts on record that a candidate is to be erased once no hire of theirs is hidden. The first time counts.
///
/// # Errors
/// When SQLite fails.
pub(in super::super) fn insert(
    tx: &Tx<'_>,
    candidate: &Candidate,
    application: Option<&ApplicationId>,
) -> Result<(), Error> {
    let sql = "INSERT INTO erasures_asked (candidate_number, candidate_role_id, asked_at)
               VALUES ($1, $2, $3)
               ON CONFLICT DO NOTHING";
    tx.run(sql, (candidate.number, application.map(ApplicationId::as_str), tx.now.micros()))?;
    Ok(())
}

/// Forgets that a candidate asked.
pub(super) fn forget(tx: &Tx<'_>, candidate: &Candidate) -> Result<(), Error> {
    let sql = "DELETE FROM erasures_asked
               WHERE candidate_number = $1";
    tx.run(sql, [candidate.number])?;
    Ok(())
}
