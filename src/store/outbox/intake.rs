//! The intake of the outbox creates deliveries from decisions. The committed activity row of a decision records that
//! the service owes a delivery. A moment later, the delivery worker processes many of these rows in one transaction. A
//! hire therefore needs no additional write, and staff do not wait for the HR system.

use super::payload::{self, DecisionFacts, NamedId, PersonFacts};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::Action;
use crate::domain::hr_delivery::DeliveryEvent;
use crate::domain::id::{ActivityId, DeliveryId, Id};

/// The maximum number of decisions that the delivery worker processes in one transaction: about 5 ms of the writer's
/// time, during which other decisions wait. The worker uses the same limit when it brings postponed attempts forward.
pub const TAKEN_IN_MAX: usize = 256;

/// If at least this many activity rows follow the last processed row, [`has_more`] returns true without searching them
/// for decisions, so that the check stays cheap.
const PASSED_OVER_MAX: i64 = 1_000;

/// Returns whether there might be decisions to process.
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

/// Processes at most `decisions_max` decisions, oldest first. Creates the deliveries that the service owes for them.
///
/// # Errors
/// [`Error::Defect`] if the detail of an activity row cannot be read, if a decision refers to a missing record, or if
/// the database does not record which decisions are processed.
pub fn take_in(tx: &Tx<'_>, decisions_max: usize) -> Result<(), Error> {
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
    let decisions = tx.all(sql, (taken, rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<i64>()?, columns.read::<String>()?, columns.read::<bool>()?))
    })?;
    for (number, application, is_integrated) in &decisions {
        enqueue(tx, *number, application, *is_integrated)?;
    }
    let last = decisions.last().filter(|_| decisions.len() == decisions_max).map_or(newest, |(number, ..)| *number);
    let sql = "UPDATE hr_intake
               SET activity_number = $1
               WHERE id = 1";
    tx.run(sql, [last])?;
    Ok(())
}

/// Processes all earlier decisions, so that the rest of the transaction sees their deliveries.
///
/// # Errors
/// The errors of [`take_in`].
pub fn take_in_all(tx: &Tx<'_>) -> Result<(), Error> {
    take_in(tx, usize::MAX)
}

/// Counts the decisions that are not processed yet and whose organization has an HR integration.
pub(in super::super) fn count_awaiting_intake(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT count(*)
               FROM activities a
               JOIN hr_integrations h ON h.organization_id = a.organization_id
               WHERE a.number > (SELECT activity_number FROM hr_intake WHERE id = 1)
                 AND a.action IN ('candidate_step.hired', 'candidate_step.hire_reversed')";
    Ok(tx.value(sql, [])?.unwrap_or(0))
}

/// Returns the number of the last activity row that was processed, and the number of the newest activity row.
fn bounds(tx: &Tx<'_>) -> Result<(i64, i64), Error> {
    let sql = "SELECT activity_number, (SELECT coalesce(max(number), 0) FROM activities)
               FROM hr_intake
               WHERE id = 1";
    let bounds = tx.one(sql, [], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?))
    })?;
    bounds.ok_or_else(|| {
        Error::Defect("the database does not record which decisions the outbox has processed".to_owned())
    })
}

/// Queues the message of a decision if the organization has an HR integration, enabled or not. Without an integration,
/// the message is still queued if an earlier message was about the same application, so that the HR system can
/// receive a reversal later.
fn enqueue(tx: &Tx<'_>, activity: i64, application: &str, is_integrated: bool) -> Result<(), Error> {
    let sql = "SELECT count(*), count(*) FILTER (WHERE state <> 'delivered')
               FROM hr_deliveries
               WHERE candidate_role_id = $1";
    let earlier = tx.one(sql, [application], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<i64>()?, columns.read::<i64>()?))
    })?;
    let (earlier, waiting) = earlier.unwrap_or_default();
    if !is_integrated && earlier == 0 {
        return Ok(());
    }
    let (id, facts) = decision_facts(tx, activity)?;
    let payload = payload::of_decision(&facts)?;
    let sql = "INSERT INTO hr_deliveries (id, organization_id, candidate_role_id, type, payload, state, attempts,
                 failed_attempts, created_at, next_attempt_at)
               VALUES ($1, $2, $3, $4, $5, 'pending', 0, 0, $6, $7)";
    let (at, event) = (facts.at.micros(), facts.event.as_str());
    // The clock may have been ahead at the time of the decision.
    let next_attempt_at = (waiting == 0).then_some(at.min(tx.now.micros()));
    tx.run(sql, (id.as_str(), &facts.organization.id, application, event, payload, at, next_attempt_at))?;
    Ok(())
}

/// Reads the facts for a decision's message, with the current names. The step of a hire is the last step, which the
/// hire validates. The step of a reversal is the rejected step.
fn decision_facts(tx: &Tx<'_>, activity: i64) -> Result<(DeliveryId, DecisionFacts), Error> {
    let sql = "SELECT a.id, a.action, a.at, a.detail, a.candidate_role_id, o.slug, o.id, o.name, r.id, r.name,
                 s.id, s.name, c.id, c.name, c.email, u.id, u.name, u.email
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
    let facts = tx.one(sql, [activity], |row| {
        let mut columns = Columns::of(row);
        let id = columns.parse(ActivityId::parse)?;
        let facts = DecisionFacts {
            event: columns.parse(event)?,
            at: columns.time()?,
            detail: columns.read()?,
            application_id: columns.read()?,
            slug: columns.read()?,
            organization: named_id(&mut columns)?,
            role: named_id(&mut columns)?,
            step: named_id(&mut columns)?,
            candidate: person(&mut columns)?,
            decided_by: person(&mut columns)?,
        };
        Ok((DeliveryId::about(&id), facts))
    })?;
    facts.ok_or_else(|| Error::Defect("a decision refers to a record that is not in the database".to_owned()))
}

fn named_id(columns: &mut Columns<'_>) -> Result<NamedId, Error> {
    Ok(NamedId { id: columns.read()?, name: columns.read()? })
}

fn person(columns: &mut Columns<'_>) -> Result<PersonFacts, Error> {
    Ok(PersonFacts { id: columns.read()?, name: columns.read()?, email: columns.read()? })
}

fn event(action: &str) -> Option<DeliveryEvent> {
    Action::parse(action).and_then(DeliveryEvent::of_action)
}
