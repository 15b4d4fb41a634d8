//! The way into the outbox: a decision's activity is what an HR system is owed, from its commit on; here it becomes a
//! message, a moment later and many at once. So a hire writes nothing more than it does without an integration, and
//! whoever hires does not wait for what only a machine elsewhere wants.

use super::super::activity;
use super::payload::{self, Named, Person, Told};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::Action;
use crate::domain::hr_delivery::DeliveryEvent;
use crate::domain::id::{ActivityId, DeliveryId, Id};

/// Messages that are made in one transaction: some 5 ms of the writer's time, which whoever decides meanwhile waits.
pub const TAKEN_UP_MAX: usize = 256;

/// Activities that may lie behind the last that was taken up without anything to tell, so that looking stays cheap.
const PASSED_OVER_MAX: i64 = 1_000;

/// Whether there is something to take up.
///
/// # Errors
/// When SQLite fails.
pub fn has_more(tx: &Tx<'_>) -> Result<bool, Error> {
    let (taken, newest) = bounds(tx)?;
    if newest - taken >= PASSED_OVER_MAX {
        return Ok(true);
    }
    let sql = "SELECT 1
               FROM activities
               WHERE number > $1 AND action IN ('candidate_step.hired', 'candidate_step.hire_reversed')";
    tx.exists(sql, [taken])
}

/// Takes up the next decisions, in the order in which they were made: one that an HR system is to learn of becomes a
/// message. At most as many of them as given.
///
/// # Errors
/// When SQLite fails, or what an activity tells cannot be read.
pub fn take_up(tx: &Tx<'_>, decisions_max: usize) -> Result<(), Error> {
    let (taken, newest) = bounds(tx)?;
    if newest == taken {
        return Ok(());
    }
    let sql = "SELECT number, candidate_role_id, EXISTS (
                 SELECT 1 FROM hr_integrations h WHERE h.organization_id = a.organization_id
               )
               FROM activities a
               WHERE number > $1 AND action IN ('candidate_step.hired', 'candidate_step.hire_reversed')
               ORDER BY number
               LIMIT $2";
    let rows_max = i64::try_from(decisions_max).unwrap_or(i64::MAX);
    let found = tx.all(sql, (taken, rows_max), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?))
    })?;
    for (number, application, is_integrated) in &found {
        enqueue(tx, *number, application, *is_integrated)?;
    }
    let last = found.last().filter(|_| found.len() == decisions_max).map_or(newest, |(number, ..)| *number);
    let sql = "UPDATE hr_intake
               SET activity_number = $1
               WHERE id = 1";
    tx.run(sql, [last])?;
    Ok(())
}

/// Takes up everything that was decided before, so that what comes next in this transaction meets the outbox as the
/// decisions left it.
///
/// # Errors
/// As [`take_up`].
pub fn take_up_all(tx: &Tx<'_>) -> Result<(), Error> {
    take_up(tx, usize::MAX)
}

/// How many messages are still to be made.
///
/// # Errors
/// When SQLite fails.
pub(in super::super) fn not_taken_up(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT count(*)
               FROM activities a
               JOIN hr_integrations h ON h.organization_id = a.organization_id
               WHERE a.number > (SELECT activity_number FROM hr_intake WHERE id = 1)
                 AND a.action IN ('candidate_step.hired', 'candidate_step.hire_reversed')";
    Ok(tx.one(sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0))
}

/// The last activity that was taken up, and the last there is.
fn bounds(tx: &Tx<'_>) -> Result<(i64, i64), Error> {
    let sql = "SELECT activity_number, (SELECT coalesce(max(number), 0) FROM activities)
               FROM hr_intake
               WHERE id = 1";
    let found = tx.one(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    found.ok_or_else(|| Error::Defect("how far the outbox is, is not in the file".to_owned()))
}

/// Queues the message of a decision, where the organization has an HR integration, also while that is disabled; and where
/// an earlier message told of the same application, so that what was told is taken back even when the integration is gone.
fn enqueue(tx: &Tx<'_>, activity: i64, application: &str, is_integrated: bool) -> Result<(), Error> {
    let sql = "SELECT count(*), count(*) FILTER (WHERE state <> 'delivered')
               FROM hr_deliveries
               WHERE candidate_role_id = $1";
    let earlier = tx.one(sql, [application], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    let (told_before, waiting) = earlier.unwrap_or_default();
    if !is_integrated && told_before == 0 {
        return Ok(());
    }
    let (id, told) = decision(tx, activity)?;
    let payload = payload::of_decision(&told)?;
    let sql = "INSERT INTO hr_deliveries (id, organization_id, candidate_role_id, type, payload, state, attempts,
                 failed_attempts, created_at, next_attempt_at)
               VALUES ($1, $2, $3, $4, $5, 'pending', 0, 0, $6, $7)";
    let (at, event) = (told.at.micros(), told.event.as_str());
    // The decision may have been made on a clock that was ahead.
    let next_attempt_at = (waiting == 0).then_some(at.min(tx.now.micros()));
    tx.run(sql, (id.as_str(), &told.organization.id, application, event, payload, at, next_attempt_at))?;
    Ok(())
}

/// What a decision's message tells, with the names of now. A hire is told at its final step, which is the one that it
/// validates; a reversal at the step that was rejected.
fn decision(tx: &Tx<'_>, activity: i64) -> Result<(DeliveryId, Told), Error> {
    let sql = "SELECT a.id, a.action, a.at, a.detail, o.id, o.slug, o.name, r.id, r.name, c.id, c.name, c.email,
                 a.candidate_role_id, s.id, s.name, u.id, u.name, u.email
               FROM activities a
               JOIN organizations o ON o.id = a.organization_id
               JOIN roles r ON r.id = a.role_id
               JOIN candidates c ON c.id = a.candidate_id
               JOIN users u ON u.id = a.user_id
               JOIN candidate_role_steps s ON s.id = CASE a.action
                 WHEN 'candidate_step.hired' THEN (
                   SELECT f.id FROM candidate_role_steps f
                   WHERE f.candidate_role_id = a.candidate_role_id
                   ORDER BY f.step_order DESC
                   LIMIT 1
                 )
                 ELSE a.candidate_role_step_id
               END
               WHERE a.number = $1";
    let found = tx.one(sql, [activity], |row| {
        let named =
            |first: usize| -> Result<Named, Error> { Ok(Named { id: row.get(first)?, name: row.get(first + 1)? }) };
        let person = |first: usize| -> Result<Person, Error> {
            Ok(Person { id: row.get(first)?, name: row.get(first + 1)?, email: row.get(first + 2)? })
        };
        let id = tx::word(&row.get::<_, String>(0)?, ActivityId::parse)?;
        let told = Told {
            event: tx::word(&row.get::<_, String>(1)?, event)?,
            at: tx::time(row, 2)?,
            detail: row.get(3)?,
            organization: Named { id: row.get(4)?, name: row.get(6)? },
            slug: row.get(5)?,
            role: named(7)?,
            candidate: person(9)?,
            application_id: row.get(12)?,
            step: named(13)?,
            decided_by: person(15)?,
        };
        Ok((DeliveryId::about(&id), told))
    })?;
    found.ok_or_else(|| Error::Defect("a decision names something that is not there".to_owned()))
}

fn event(action: &str) -> Option<DeliveryEvent> {
    Action::parse(action).and_then(activity::event)
}
