//! Who is due: an organization's candidates beside what the file has noted of them.

use super::super::Candidate;
use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::retention::{DueCandidate, RetentionDay};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// A candidate as the retention sees them.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    pub(super) candidate: Candidate,
    /// Since when their time counts, where it is over.
    pub(super) counted_from: Option<Timestamp>,
    /// What is noted of them, where they were found due before.
    pub(super) noted: Option<DueCandidate>,
}

/// The organizations that want their candidates erased.
pub(super) fn wanting(tx: &Tx<'_>) -> Result<Vec<OrganizationId>, Error> {
    let sql = "SELECT id
               FROM organizations
               WHERE retention_days IS NOT NULL
               ORDER BY id";
    tx.all(sql, [], |row| tx::word(&row.get::<_, String>(0)?, OrganizationId::parse))
}

/// The organization's next candidates. One is due who is neither erased nor held, whose every application has ended, and where
/// the last decision, what came last under the address, or without an application the last change, lies before the days that
/// are kept. An application that was imported with its decision counts from the date that came with it, if that was over by
/// then.
pub(super) fn look_from(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    after: i64,
    candidates_max: usize,
) -> Result<Vec<Looked>, Error> {
    let Some(kept_since) = kept_since(tx, world, organization)? else { return Ok(Vec::new()) };
    let sql = "SELECT c.number, c.id,
                 c.erased_at IS NULL AND c.hold_reason IS NULL AND NOT EXISTS (
                   SELECT 1 FROM candidate_roles a WHERE a.candidate_id = c.id AND a.status = 'In Progress'
                 ),
                 coalesce((
                   SELECT max(CASE WHEN told.at < told.updated_at THEN told.at ELSE told.updated_at END)
                   FROM (
                     SELECT a.updated_at, CASE
                       WHEN EXISTS (
                         SELECT 1 FROM activities t
                         WHERE t.candidate_id = c.id AND t.candidate_role_id = a.id
                           AND t.action IN ('candidate_step.validated', 'candidate_step.rejected', 'candidate_step.reopened',
                             'candidate_step.hired', 'candidate_step.hire_reversed', 'candidate_role.withdrawn')
                       ) THEN a.updated_at
                       ELSE coalesce(
                         a.hired_date,
                         (SELECT max(s.rejected_at) FROM candidate_role_steps s WHERE s.candidate_role_id = a.id),
                         a.updated_at
                       )
                     END AS at
                     FROM candidate_roles a
                     WHERE a.candidate_id = c.id
                   ) told
                 ), c.updated_at),
                 (
                   SELECT max(s.created_at)
                   FROM candidate_roles a
                   JOIN signups s ON s.later_of = a.id
                   WHERE a.candidate_id = c.id
                 ),
                 d.due_since, d.counted_from, d.confirmed
               FROM (
                 SELECT number, id, hold_reason, erased_at, updated_at
                 FROM candidates
                 WHERE organization_id = $1 AND number > $2
                 ORDER BY number
                 LIMIT $3
               ) c
               LEFT JOIN retention_due d ON d.candidate_number = c.number
               ORDER BY c.number";
    let rows_max = i64::try_from(candidates_max).unwrap_or(i64::MAX);
    tx.all(sql, (organization.as_str(), after, rows_max), |row| {
        let id = tx::word(&row.get::<_, String>(1)?, CandidateId::parse)?;
        let candidate = Candidate { id, number: row.get(0)?, organization_id: organization.clone() };
        let (decided, later) = (tx::time(row, 3)?, tx::time_or_none(row, 4)?);
        let counted_from = later.map_or(decided, |later| later.max(decided));
        let is_due = row.get::<_, bool>(2)? && counted_from < kept_since;
        let noted = tx::time_or_none(row, 5)?.map(|due_since| -> Result<DueCandidate, Error> {
            Ok(DueCandidate { due_since, counted_from: tx::time(row, 6)?, is_confirmed: row.get(7)? })
        });
        Ok(Looked { candidate, counted_from: is_due.then_some(counted_from), noted: noted.transpose()? })
    })
}

/// The beginning of the first day that an organization keeps; `None` where it keeps all.
fn kept_since(tx: &Tx<'_>, world: &dyn World, organization: &OrganizationId) -> Result<Option<Timestamp>, Error> {
    let Some((Some(days), zone)) = settings(tx, organization)? else { return Ok(None) };
    let in_zone = world.days_before(&zone, tx.now, days);
    // A zone that this machine does not know: late by a day rather than early.
    Ok(in_zone.or_else(|| world.days_before("UTC", tx.now, days + 1)))
}

/// The beginning of the organization's day.
pub(super) fn today(tx: &Tx<'_>, world: &dyn World, organization: &OrganizationId) -> Result<Option<Timestamp>, Error> {
    let Some((_, zone)) = settings(tx, organization)? else { return Ok(None) };
    Ok(world.days_before(&zone, tx.now, 0).or_else(|| world.days_before("UTC", tx.now, 0)))
}

fn settings(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<(Option<i64>, String)>, Error> {
    let sql = "SELECT retention_days, time_zone
               FROM organizations
               WHERE id = $1";
    tx.one(sql, [organization.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Notes who was found due now, and since when their time counts.
pub(super) fn note(tx: &Tx<'_>, candidate: &Candidate, counted_from: Timestamp) -> Result<(), Error> {
    let sql = "INSERT INTO retention_due (candidate_number, organization_id, due_since, counted_from, confirmed)
               VALUES ($1, $2, $3, $4, 0)
               ON CONFLICT (candidate_number) DO UPDATE
               SET due_since = excluded.due_since, counted_from = excluded.counted_from, confirmed = 0";
    let organization = candidate.organization_id.as_str();
    tx.run(sql, (candidate.number, organization, tx.now.micros(), counted_from.micros()))?;
    Ok(())
}

/// A candidate is not due, or not any more for the same reason.
///
/// # Errors
/// When SQLite fails.
pub(in super::super) fn take_off(tx: &Tx<'_>, candidate_number: i64) -> Result<(), Error> {
    let sql = "DELETE FROM retention_due
               WHERE candidate_number = $1";
    tx.run(sql, [candidate_number])?;
    Ok(())
}

/// Nobody of an organization is due any more: it keeps its candidates for another time.
///
/// # Errors
/// When SQLite fails.
pub(in super::super::super) fn take_off_all(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let sql = "DELETE FROM retention_due
               WHERE organization_id = $1";
    tx.run(sql, [organization.as_str()])?;
    Ok(())
}

/// The next who were noted before `today`, by their numbers; the unconfirmed only where they are wanted.
pub(super) fn ripe(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    today: Timestamp,
    with_unconfirmed: bool,
    after: i64,
    rows_max: usize,
) -> Result<Vec<i64>, Error> {
    let sql = "SELECT candidate_number
               FROM retention_due
               WHERE organization_id = $1 AND candidate_number > $2 AND due_since < $3 AND (confirmed = 1 OR $4)
               ORDER BY candidate_number
               LIMIT $5";
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let params = (organization.as_str(), after, today.micros(), with_unconfirmed, rows_max);
    tx.all(sql, params, |row| Ok(row.get(0)?))
}

/// The figures of the organization's day that began at `today`.
pub(super) fn day(tx: &Tx<'_>, organization: &OrganizationId, today: Timestamp) -> Result<RetentionDay, Error> {
    let sql = "SELECT
                 (SELECT count(*) FROM candidates WHERE organization_id = $1 AND erased_at IS NULL),
                 (SELECT count(*) FROM retention_due WHERE organization_id = $1 AND due_since < $2 AND confirmed = 0),
                 coalesce((SELECT erased FROM retention_days WHERE organization_id = $1 AND day = $2), 0)";
    let found = tx.one(sql, (organization.as_str(), today.micros()), |row| {
        Ok(RetentionDay { candidates: row.get(0)?, unconfirmed: row.get(1)?, erased: row.get(2)? })
    })?;
    Ok(found.unwrap_or_default())
}

/// Counts who were erased without an admin's word in the day that began at `today`.
pub(super) fn count(tx: &Tx<'_>, organization: &OrganizationId, today: Timestamp, erased: i64) -> Result<(), Error> {
    let sql = "INSERT INTO retention_days (organization_id, day, erased)
               VALUES ($1, $2, $3)
               ON CONFLICT (organization_id) DO UPDATE
               SET erased = CASE WHEN day = excluded.day THEN erased + excluded.erased ELSE excluded.erased END,
                 day = excluded.day";
    tx.run(sql, (organization.as_str(), today.micros(), erased))?;
    Ok(())
}
