//! Deliveries to HR systems as admins see them: the state of each delivery, the reason why it is held, and its
//! attempts.

use std::time::Duration;

use super::outbox;
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::hr_delivery::{DeliveryEvent, DeliveryFacts, DeliveryState};
use crate::domain::id::{ApplicationId, CandidateId, DeliveryId, Id, OrganizationId};
use crate::domain::timestamp::Timestamp;

#[derive(Debug, Clone)]
pub struct HrDelivery {
    /// The number of the delivery in the database. Newer deliveries have larger numbers.
    pub number: i64,
    pub id: DeliveryId,
    pub organization_id: OrganizationId,
    pub organization_slug: String,
    /// The application that the delivery is about; `None` for a ping.
    pub application_id: Option<ApplicationId>,
    /// The event and state of the delivery, and the facts that determine whether it is held.
    pub facts: DeliveryFacts,
    pub attempts: i64,
    /// The time of the decision or, for a ping, the time at which the ping was queued.
    pub created_at: Timestamp,
    /// The time of the next attempt. This time has no effect while a missing or disabled integration holds the
    /// delivery. `None` if the delivery is not pending, or if an earlier delivery holds it.
    pub next_attempt_at: Option<Timestamp>,
    pub last_attempt: Option<HrAttempt>,
}

/// A finished attempt.
#[derive(Debug, Clone)]
pub struct HrAttempt {
    /// The time at which the attempt began.
    pub at: Timestamp,
    pub duration: Duration,
    /// The HTTP status of the answer, if the HR system answered.
    pub status: Option<u16>,
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub answer: Option<String>,
}

/// A filter for deliveries. A delivery must meet every condition that is set.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    pub organization_id: Option<OrganizationId>,
    pub state: Option<DeliveryState>,
}

/// The query for the columns of [`HrDelivery`], in the order in which [`delivery`] reads them, without its condition.
const SELECT: &str = "SELECT d.number, d.id, d.organization_id, o.slug, d.candidate_role_id, d.type, d.state,
       h.enabled, (
         SELECT e.id FROM hr_deliveries e
         WHERE e.candidate_role_id = d.candidate_role_id AND e.number < d.number AND e.state <> 'delivered'
         ORDER BY e.number
         LIMIT 1
       ),
       d.attempts, d.created_at, d.next_attempt_at, a.at, a.duration, a.status, a.error, a.answer
     FROM hr_deliveries d
     JOIN organizations o ON o.id = d.organization_id
     LEFT JOIN hr_integrations h ON h.organization_id = d.organization_id
     LEFT JOIN hr_attempts a ON a.delivery_number = d.number AND a.number = d.attempts";

fn delivery(row: &Row<'_>) -> Result<HrDelivery, Error> {
    let mut columns = Columns::of(row);
    Ok(HrDelivery {
        number: columns.read()?,
        id: columns.parse(DeliveryId::parse)?,
        organization_id: columns.parse(OrganizationId::parse)?,
        organization_slug: columns.read()?,
        application_id: columns.parse_or_none(ApplicationId::parse)?,
        facts: DeliveryFacts {
            event: columns.parse(DeliveryEvent::parse)?,
            state: columns.parse(DeliveryState::parse)?,
            enabled: columns.read()?,
            earlier: columns.parse_or_none(DeliveryId::parse)?,
        },
        attempts: columns.read()?,
        created_at: columns.time()?,
        next_attempt_at: columns.time_or_none()?,
        last_attempt: attempt(&mut columns)?,
    })
}

/// Reads the columns from `at` to `answer`. Returns `None` if the row has no attempt.
fn attempt(columns: &mut Columns<'_>) -> Result<Option<HrAttempt>, Error> {
    let Some(at) = columns.time_or_none()? else { return Ok(None) };
    Ok(Some(HrAttempt {
        at,
        duration: Duration::from_micros(columns.read::<i64>()?.unsigned_abs()),
        status: columns.read()?,
        error: columns.read()?,
        answer: columns.read()?,
    }))
}

/// Returns a page of deliveries with numbers below `before`, newest first.
pub fn page(tx: &Tx<'_>, filter: &DeliveryFilter, before: i64, rows_max: usize) -> Result<Vec<HrDelivery>, Error> {
    // The subquery selects and sorts only the numbers, not whole rows. SQLite can use the partial index for a state
    // only if the state is a literal. An expression instead of a column prevents the engine from using an index on this
    // column where another index is better.
    let (state, number, of) = match filter.state {
        None => ("", "number", "organization_id"),
        Some(DeliveryState::Pending) => ("AND state = 'pending'", "+number", "organization_id"),
        Some(DeliveryState::Delivered) => ("AND state = 'delivered' AND attempts > 0", "number", "organization_id"),
        Some(DeliveryState::Failed) => ("AND state = 'failed'", "number", "coalesce(organization_id, '')"),
    };
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let Some(organization) = &filter.organization_id else {
        let sql = format!(
            "{SELECT}
             WHERE d.number IN (
               SELECT number FROM hr_deliveries
               WHERE {number} < $1 {state}
               ORDER BY {number} DESC
               LIMIT $2
             )
             ORDER BY d.number DESC"
        );
        return tx.all(&sql, (before, rows_max), delivery);
    };
    let numbers = if filter.state.is_some() {
        format!(
            "SELECT number FROM hr_deliveries
             WHERE {number} < $1 AND {of} = $2 {state}
             ORDER BY {number} DESC
             LIMIT $3"
        )
    } else {
        "SELECT number FROM (
           SELECT number FROM hr_deliveries
           WHERE number < $1 AND organization_id = $2 AND attempts > 0
           ORDER BY number DESC
           LIMIT $3
         ) AS attempted
         UNION ALL
         SELECT number FROM hr_deliveries
         WHERE +number < $1 AND organization_id = $2 AND state = 'pending' AND attempts = 0
         ORDER BY number DESC
         LIMIT $3"
            .to_owned()
    };
    let sql = format!("{SELECT} WHERE d.number IN ({numbers}) ORDER BY d.number DESC");
    tx.all(&sql, (before, organization.as_str(), rows_max), delivery)
}

/// Returns the deliveries that might need an admin, oldest first: failed, held, or attempted without success. Leaves
/// out pings.
pub fn stuck(tx: &Tx<'_>) -> Result<Vec<HrDelivery>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE d.number IN (
             SELECT number FROM hr_deliveries WHERE state = 'pending' UNION ALL
             SELECT number FROM hr_deliveries WHERE state = 'failed'
           ) AND d.type <> 'ping'
           AND (d.state = 'failed' OR d.next_attempt_at IS NULL OR d.attempts > 0 OR coalesce(h.enabled, 0) = 0)
         ORDER BY d.number"
    );
    tx.all(&sql, [], delivery)
}

/// Returns every delivery about a candidate of an organization, oldest first.
pub fn of_candidate(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
) -> Result<Vec<HrDelivery>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE d.number IN (
           SELECT e.number FROM candidate_roles r
           JOIN hr_deliveries e ON e.candidate_role_id = r.id
           WHERE r.organization_id = $1 AND r.candidate_id = $2
         )
         ORDER BY d.number"
    );
    tx.all(&sql, (organization.as_str(), candidate.as_str()), delivery)
}

/// Counts the deliveries that have not arrived, except pings, and the decisions whose delivery has not been created
/// yet.
pub fn owed(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT (SELECT count(*) FROM hr_deliveries WHERE state = 'pending' AND type <> 'ping')
                 + (SELECT count(*) FROM hr_deliveries WHERE state = 'failed' AND type <> 'ping')";
    let messages: i64 = tx.value(sql, [])?.unwrap_or(0);
    Ok(messages + outbox::count_awaiting_intake(tx)?)
}

pub fn find(tx: &Tx<'_>, id: &DeliveryId) -> Result<Option<HrDelivery>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE d.number IN (
           SELECT number FROM hr_deliveries WHERE id = $1 AND attempts > 0
           UNION ALL
           SELECT number FROM hr_deliveries WHERE id = $1 AND state = 'pending' AND attempts = 0
         )"
    );
    tx.one(&sql, [id.as_str()], delivery)
}

/// Returns the message of a delivery as JSON.
pub fn payload(tx: &Tx<'_>, number: i64) -> Result<Option<String>, Error> {
    let sql = "SELECT payload
               FROM hr_deliveries
               WHERE number = $1";
    tx.value(sql, [number])
}

/// Returns the stored attempts of a delivery, oldest first.
pub fn attempts(tx: &Tx<'_>, number: i64) -> Result<Vec<HrAttempt>, Error> {
    let sql = "SELECT at, duration, status, error, answer
               FROM hr_attempts
               WHERE delivery_number = $1
               ORDER BY number";
    let attempts = tx.all(sql, [number], |row| attempt(&mut Columns::of(row)))?;
    Ok(attempts.into_iter().flatten().collect())
}

/// Makes a delivery due now, and restarts its retry schedule. Does not change a delivery that has arrived.
pub fn send_again(tx: &Tx<'_>, number: i64) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET state = 'pending', failed_attempts = 0, next_attempt_at = $1
               WHERE number = $2 AND state <> 'delivered'";
    tx.run(sql, (tx.now.micros(), number))?;
    Ok(())
}
