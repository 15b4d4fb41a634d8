//! The facts about candidates that retention needs, and the tables of due candidates and daily erasures.

use std::ops::ControlFlow;

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::CandidateRef;
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::retention::{ApplicationFacts, CandidateFacts, DueCandidate, RetentionDay};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// A candidate in a retention scan.
#[derive(Debug, Clone)]
pub(super) struct ScannedCandidate {
    pub(super) candidate: CandidateRef,
    /// The start of the candidate's retention period, if the candidate is due.
    pub(super) counted_from: Option<Timestamp>,
    /// The row from an earlier scan that found the candidate due.
    pub(super) recorded: Option<DueCandidate>,
}

/// Returns the organizations with a retention period.
pub(super) fn organizations(tx: &Tx<'_>) -> Result<Vec<OrganizationId>, Error> {
    let sql = "SELECT id
               FROM organizations
               WHERE retention_days IS NOT NULL
               ORDER BY id";
    tx.all(sql, [], |row| Columns::of(row).parse(OrganizationId::parse))
}

/// Reads the organization's next candidates after the number `after`. Returns an empty list if the organization has no
/// retention period.
pub(super) fn scan(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    after: i64,
    candidates_max: usize,
) -> Result<Vec<ScannedCandidate>, Error> {
    let Some(retained_since) = retained_since(tx, world, organization)? else { return Ok(Vec::new()) };
    let sql = "SELECT c.number, c.id, c.erased_at IS NOT NULL, c.hold_reason IS NOT NULL, c.updated_at,
                 d.due_since, d.counted_from, d.confirmed,
                 a.status, a.updated_at, EXISTS (
                   SELECT 1 FROM activities t
                   WHERE t.candidate_id = c.id AND t.candidate_role_id = a.id
                     AND t.action IN ('candidate_step.validated', 'candidate_step.moved', 'candidate_step.rejected',
                       'candidate_step.reopened', 'candidate_step.hired', 'candidate_step.hire_reversed',
                       'candidate_step.undone', 'candidate_role.withdrawn')
                 ),
                 a.hired_date,
                 (SELECT max(s.rejected_at) FROM candidate_role_steps s WHERE s.candidate_role_id = a.id),
                 (SELECT max(s.created_at) FROM signups s WHERE s.later_of = a.id)
               FROM (
                 SELECT number, id, hold_reason, erased_at, updated_at
                 FROM candidates
                 WHERE organization_id = $1 AND number > $2
                 ORDER BY number
                 LIMIT $3
               ) c
               LEFT JOIN retention_due d ON d.candidate_number = c.number
               LEFT JOIN candidate_roles a ON a.candidate_id = c.id
               ORDER BY c.number";
    let rows_max = i64::try_from(candidates_max).unwrap_or(i64::MAX);
    let mut rows: Vec<CandidateRow> = Vec::new();
    tx.each(sql, (organization.as_str(), after, rows_max), |row| {
        let mut columns = Columns::of(row);
        let row = candidate_row(&mut columns)?;
        let application = application_facts(&mut columns)?;
        if rows.last().is_none_or(|last| last.number != row.number) {
            rows.push(row);
        }
        if let Some(last) = rows.last_mut() {
            last.facts.applications.extend(application);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let scanned = rows.into_iter().map(|CandidateRow { number, id, facts, recorded }| ScannedCandidate {
        candidate: CandidateRef { id, number, organization_id: organization.clone() },
        counted_from: facts.due(retained_since),
        recorded,
    });
    Ok(scanned.collect())
}

struct CandidateRow {
    number: i64,
    id: CandidateId,
    facts: CandidateFacts,
    recorded: Option<DueCandidate>,
}

/// Reads the columns of a candidate, from `c.number` to `d.confirmed`.
fn candidate_row(columns: &mut Columns<'_>) -> Result<CandidateRow, Error> {
    let (number, id) = (columns.read()?, columns.parse(CandidateId::parse)?);
    let facts = CandidateFacts {
        is_erased: columns.read()?,
        is_held: columns.read()?,
        updated_at: columns.time()?,
        applications: Vec::new(),
    };
    let (due_since, counted_from) = (columns.time_or_none()?, columns.time_or_none()?);
    let is_confirmed = columns.read::<Option<bool>>()?.unwrap_or(false);
    let recorded = due_since.zip(counted_from).map(|(due_since, counted_from)| DueCandidate {
        due_since,
        counted_from,
        is_confirmed,
    });
    Ok(CandidateRow { number, id, facts, recorded })
}

/// Reads the columns of an application, starting with `a.status`. Returns `None` for a candidate without applications.
fn application_facts(columns: &mut Columns<'_>) -> Result<Option<ApplicationFacts>, Error> {
    let Some(status) = columns.parse_or_none(ApplicationStatus::parse)? else { return Ok(None) };
    Ok(Some(ApplicationFacts {
        is_in_progress: status == ApplicationStatus::InProgress,
        updated_at: columns.time()?,
        is_decided_here: columns.read()?,
        hired_at: columns.time_or_none()?,
        rejected_at: columns.time_or_none()?,
        later_signup_at: columns.time_or_none()?,
    }))
}

/// Returns the beginning of the earliest day within the organization's retention period, or `None` if the organization
/// retains candidates forever or does not exist.
fn retained_since(tx: &Tx<'_>, world: &dyn World, organization: &OrganizationId) -> Result<Option<Timestamp>, Error> {
    let Some((Some(days), zone)) = settings(tx, organization)? else { return Ok(None) };
    let in_zone = world.days_before(&zone, tx.now, days);
    // If this machine does not know the zone, candidates become due a day late rather than early.
    Ok(in_zone.or_else(|| world.days_before("UTC", tx.now, days + 1)))
}

/// Returns the beginning of the organization's current local day or, if this machine does not know the organization's
/// time zone, of the current day in UTC. Returns `None` if the organization does not exist.
pub(super) fn today(tx: &Tx<'_>, world: &dyn World, organization: &OrganizationId) -> Result<Option<Timestamp>, Error> {
    let Some((_, zone)) = settings(tx, organization)? else { return Ok(None) };
    Ok(world.days_before(&zone, tx.now, 0).or_else(|| world.days_before("UTC", tx.now, 0)))
}

/// Reads the retention period in days and the time zone of an organization.
fn settings(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<(Option<i64>, String)>, Error> {
    let sql = "SELECT retention_days, time_zone
               FROM organizations
               WHERE id = $1";
    tx.one(sql, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?))
    })
}

/// Records that a candidate is due from now on. The candidate's retention period began at `counted_from`.
pub(super) fn insert(tx: &Tx<'_>, candidate: &CandidateRef, counted_from: Timestamp) -> Result<(), Error> {
    let sql = "INSERT INTO retention_due (candidate_number, organization_id, due_since, counted_from, confirmed)
               VALUES ($1, $2, $3, $4, 0)
               ON CONFLICT (candidate_number) DO UPDATE
               SET due_since = excluded.due_since, counted_from = excluded.counted_from, confirmed = 0";
    let organization = candidate.organization_id.as_str();
    tx.run(sql, (candidate.number, organization, tx.now.micros(), counted_from.micros()))?;
    Ok(())
}

/// Records that a candidate is not due. Retention does not erase the candidate unless a later scan finds the candidate
/// due again.
pub(in super::super) fn remove(tx: &Tx<'_>, candidate_number: i64) -> Result<(), Error> {
    let sql = "DELETE FROM retention_due
               WHERE candidate_number = $1";
    tx.run(sql, [candidate_number])?;
    Ok(())
}

/// Records that no candidate of an organization is due, because the organization's retention period has changed.
pub(in super::super::super) fn remove_all(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let sql = "DELETE FROM retention_due
               WHERE organization_id = $1";
    tx.run(sql, [organization.as_str()])?;
    Ok(())
}

/// Confirms the erasure of all due candidates of an organization.
pub(super) fn confirm_all(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let sql = "UPDATE retention_due
               SET confirmed = 1
               WHERE organization_id = $1";
    tx.run(sql, [organization.as_str()])?;
    Ok(())
}

/// Counts the due candidates of all organizations.
pub(super) fn count(tx: &Tx<'_>) -> Result<i64, Error> {
    Ok(tx.value("SELECT count(*) FROM retention_due", [])?.unwrap_or(0))
}

/// Returns the numbers of the next candidates, after the number `after`, who became due before `today`. Leaves out
/// candidates whose erasure is not confirmed, unless `with_unconfirmed` is set.
pub(super) fn due_before(
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
    tx.values(sql, (organization.as_str(), after, today.micros(), with_unconfirmed, rows_max))
}

/// Reads the organization's retention counts for the day that began at `today`.
pub(super) fn day(tx: &Tx<'_>, organization: &OrganizationId, today: Timestamp) -> Result<RetentionDay, Error> {
    let sql = "SELECT
                 (SELECT count(*) FROM candidates WHERE organization_id = $1 AND erased_at IS NULL),
                 (SELECT count(*) FROM retention_due WHERE organization_id = $1 AND due_since < $2 AND confirmed = 0),
                 coalesce((SELECT erased FROM retention_days WHERE organization_id = $1 AND day = $2), 0)";
    let day = tx.one(sql, (organization.as_str(), today.micros()), |row| {
        let mut columns = Columns::of(row);
        Ok(RetentionDay { candidates: columns.read()?, unconfirmed: columns.read()?, erased: columns.read()? })
    })?;
    Ok(day.unwrap_or_default())
}

/// Adds `erased`, a number of candidates who were erased without confirmation, to the count for the day that began at
/// `today`.
pub(super) fn add_erased(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    today: Timestamp,
    erased: i64,
) -> Result<(), Error> {
    let sql = "INSERT INTO retention_days (organization_id, day, erased)
               VALUES ($1, $2, $3)
               ON CONFLICT (organization_id) DO UPDATE
               SET erased = excluded.erased
                   + CASE WHEN retention_days.day = excluded.day THEN retention_days.erased ELSE 0 END,
                 day = excluded.day";
    tx.run(sql, (organization.as_str(), today.micros(), erased))?;
    Ok(())
}
