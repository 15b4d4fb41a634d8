//! The retention clock: candidates of an organization are erased so many whole local days after the last decision about them.
//! Every ten minutes a thread walks through the candidates of every organization that wants it, a few at a time, so that
//! neither the writer nor the end of the service waits for it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rusqlite::Connection;

use super::super::connection::{self, Use};
use super::super::job::Grade;
use super::super::thread::Periodic;
use super::super::tx::{self, Error, Tx};
use super::super::writer::Writer;
use super::{Candidate, Erasures, erase};
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// How often it is looked who is to be erased.
const LOOK_EVERY: Duration = Duration::from_secs(600);

/// How long the thread rests between two steps of its way.
const STEP_EVERY: Duration = Duration::from_millis(50);

/// Candidates that are looked at in one step: a few milliseconds of a reader.
const LOOKED_AT: usize = 1_000;

/// Candidates that one transaction erases: a few milliseconds of the writer, which others wait for.
const ERASED: usize = 8;

/// Where the thread is.
struct Walk {
    organizations: VecDeque<OrganizationId>,
    /// The number of the last candidate of the first of them who was looked at.
    after: i64,
}

/// Starts the thread. The first look is at the start.
pub(in super::super) fn start(
    path: &Path,
    world: Arc<dyn World>,
    erasures: Arc<Erasures>,
    writer: Arc<Writer>,
) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut looked_at = None;
    let mut walk = Walk { organizations: VecDeque::new(), after: 0 };
    let step = move || {
        let now = world.monotonic();
        let is_due = looked_at.is_none_or(|at| now.saturating_sub(at) >= LOOK_EVERY);
        if walk.organizations.is_empty() && is_due {
            looked_at = Some(now);
            let found = tx::snapshot(&connection, world.now(), wanting);
            // What cannot be read now is read at the next look.
            walk = Walk { organizations: found.unwrap_or_default(), after: 0 };
        }
        let Some(organization) = walk.organizations.front().cloned() else { return };
        match take_step(&connection, &world, &erasures, &writer, &organization, walk.after) {
            Ok(Some(after)) => walk.after = after,
            // What fails now, because of a full disk or another process's lock, is tried again at the next look.
            Ok(None) | Err(_) => {
                walk.organizations.pop_front();
                walk.after = 0;
            }
        }
    };
    Periodic::start("retention", STEP_EVERY, step)
}

/// Looks at the organization's next candidates and erases whoever is to be. Up to which number it has come; `None` at the
/// end.
fn take_step(
    connection: &Connection,
    world: &Arc<dyn World>,
    erasures: &Arc<Erasures>,
    writer: &Writer,
    organization: &OrganizationId,
    after: i64,
) -> Result<Option<i64>, Error> {
    let looked_at = tx::snapshot(connection, world.now(), |tx| look(tx, world.as_ref(), organization, after))?;
    let mut outdated: Vec<Candidate> =
        looked_at.iter().filter(|(_, is_so)| *is_so).map(|(one, _)| one.clone()).collect();
    let is_all = outdated.len() <= ERASED;
    outdated.truncate(ERASED);
    let last = if is_all { looked_at.last().map(|(one, _)| one) } else { outdated.last() };
    let last = last.map(|one| one.number);
    if !outdated.is_empty() {
        let (world, erasures) = (Arc::clone(world), Arc::clone(erasures));
        let (done, ended) = mpsc::channel();
        let job = move |tx: &Tx<'_>| erase_outdated(tx, world.as_ref(), &erasures, &outdated);
        writer.submit(Grade::Durable, job, move |outcome| drop(done.send(outcome)));
        ended.recv().unwrap_or_else(|_| Err(Error::Defect("a job was dropped".to_owned())))?;
    }
    Ok(last)
}

/// Erases those of them who still are to be: since they were looked at, they may have applied again or been held, and the
/// organization may want to keep them for longer.
fn erase_outdated(tx: &Tx<'_>, world: &dyn World, erasures: &Erasures, candidates: &[Candidate]) -> Result<(), Error> {
    let mut outdated = Vec::new();
    for candidate in candidates {
        let found = look_from(tx, world, &candidate.organization_id, candidate.number - 1, 1)?;
        outdated.extend(found.into_iter().filter(|(one, is_so)| *is_so && one == candidate).map(|(one, _)| one));
    }
    if outdated.is_empty() { Ok(()) } else { erase(tx, erasures, world, None, &outdated) }
}

/// The organizations that want their candidates erased.
fn wanting(tx: &Tx<'_>) -> Result<VecDeque<OrganizationId>, Error> {
    let sql = "SELECT id
               FROM organizations
               WHERE retention_days IS NOT NULL
               ORDER BY id";
    Ok(tx.all(sql, [], |row| tx::word(&row.get::<_, String>(0)?, OrganizationId::parse))?.into())
}

fn look(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    after: i64,
) -> Result<Vec<(Candidate, bool)>, Error> {
    look_from(tx, world, organization, after, LOOKED_AT)
}

/// The organization's next candidates, and whether each is to be erased: neither erased nor held, every application ended, and
/// the last decision, what came last under the address, or where there is no application the last change, before the days
/// that are kept.
fn look_from(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    after: i64,
    candidates_max: usize,
) -> Result<Vec<(Candidate, bool)>, Error> {
    let Some(kept_since) = kept_since(tx, world, organization)? else { return Ok(Vec::new()) };
    let sql = "SELECT c.number, c.id, c.erased_at IS NULL AND c.hold_reason IS NULL
                 AND NOT EXISTS (
                   SELECT 1 FROM candidate_roles a
                   WHERE a.candidate_id = c.id AND (a.status = 'In Progress' OR a.updated_at >= $1
                     OR EXISTS (SELECT 1 FROM signups s WHERE s.later_of = a.id AND s.created_at >= $1))
                 )
                 AND (c.updated_at < $1 OR EXISTS (SELECT 1 FROM candidate_roles a WHERE a.candidate_id = c.id))
               FROM (
                 SELECT number, id, hold_reason, erased_at, updated_at
                 FROM candidates
                 WHERE organization_id = $2 AND number > $3
                 ORDER BY number
                 LIMIT $4
               ) c
               ORDER BY c.number";
    let rows_max = i64::try_from(candidates_max).unwrap_or(i64::MAX);
    tx.all(sql, (kept_since.micros(), organization.as_str(), after, rows_max), |row| {
        let id = tx::word(&row.get::<_, String>(1)?, CandidateId::parse)?;
        let candidate = Candidate { id, number: row.get(0)?, organization_id: organization.clone() };
        Ok((candidate, row.get(2)?))
    })
}

/// The beginning of the first day that an organization keeps; `None` where it keeps all.
fn kept_since(tx: &Tx<'_>, world: &dyn World, organization: &OrganizationId) -> Result<Option<Timestamp>, Error> {
    let sql = "SELECT retention_days, time_zone
               FROM organizations
               WHERE id = $1 AND retention_days IS NOT NULL";
    let found = tx.one(sql, [organization.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    Ok(found.and_then(|(days, zone)| {
        let in_zone = world.days_before(&zone, tx.now, days);
        // A zone that this machine does not know: late by a day rather than early.
        in_zone.or_else(|| world.days_before("UTC", tx.now, days + 1))
    }))
}
