//! Deliveries to HR systems as admins see them: what became of each, what holds it, what came of its attempts.

use std::time::Duration;

use crate::db::row::Row;

use super::outbox;
use crate::db::tx::{self, Error, Tx};
use crate::domain::hr_delivery::{DeliveryEvent, DeliveryFacts, DeliveryState};
use crate::domain::id::{ApplicationId, CandidateId, DeliveryId, Id, OrganizationId};
use crate::domain::timestamp::Timestamp;

/// A delivery.
#[derive(Debug, Clone)]
pub struct HrDelivery {
    /// Its number in the file: newer ones have larger ones.
    pub number: i64,
    /// Its id.
    pub id: DeliveryId,
    /// Whose it is.
    pub organization_id: OrganizationId,
    /// The organization's slug.
    pub organization_slug: String,
    /// The application it is about; `None` for a ping.
    pub application_id: Option<ApplicationId>,
    /// What it tells, what has become of it, and what could hold it.
    pub standing: DeliveryFacts,
    /// How often it was tried.
    pub attempts: i64,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it is tried next, unless its integration holds it; `None` where it is not pending, or an earlier one holds it.
    pub next_attempt_at: Option<Timestamp>,
    /// What came of the last attempt.
    pub last_attempt: Option<HrAttempt>,
}

/// What came of an attempt.
#[derive(Debug, Clone)]
pub struct HrAttempt {
    /// When it began.
    pub at: Timestamp,
    /// How long it took.
    pub duration: Duration,
    /// The answer's status, where one came.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub answer: Option<String>,
}

/// Which deliveries are asked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this organization.
    pub organization_id: Option<OrganizationId>,
    /// Only those of which this has become.
    pub state: Option<DeliveryState>,
}

/// The columns of [`HrDelivery`], from the tables that they are in.
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

/// A page of deliveries with numbers below `before`, newest first.
///
/// # Errors
/// When SQLite fails.
pub fn page(tx: &Tx<'_>, filter: &Filter, before: i64, rows_max: usize) -> Result<Vec<HrDelivery>, Error> {
    // Their numbers first: what has to be sorted is sorted without the rows. The states are spelled out so that their
    // partial indexes count, and a `+` keeps a column from being searched by, where another index is the better one.
    let (state, number, plus) = match filter.state {
        None => ("", "number", ""),
        Some(DeliveryState::Pending) => ("AND state = 'pending'", "+number", ""),
        Some(DeliveryState::Delivered) => ("AND state = 'delivered' AND attempts > 0", "number", ""),
        Some(DeliveryState::Failed) => ("AND state = 'failed'", "number", "+"),
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
             WHERE {number} < $1 AND {plus}organization_id = $2 {state}
             ORDER BY {number} DESC
             LIMIT $3"
        )
    } else {
        "SELECT number FROM (
           SELECT number FROM hr_deliveries
           WHERE number < $1 AND organization_id = $2 AND attempts > 0
           ORDER BY number DESC
           LIMIT $3
         )
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

/// Everything but pings that does not go its way by itself: failed, held, or tried without success; oldest first.
///
/// # Errors
/// When SQLite fails.
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

/// Every delivery about a candidate of an organization, oldest first.
///
/// # Errors
/// When SQLite fails.
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

/// How many deliveries have not arrived, pings aside; with what was decided and is no message yet.
///
/// # Errors
/// When SQLite fails.
pub fn owed(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT (SELECT count(*) FROM hr_deliveries WHERE state = 'pending' AND type <> 'ping')
                 + (SELECT count(*) FROM hr_deliveries WHERE state = 'failed' AND type <> 'ping')";
    let messages: i64 = tx.one(sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0);
    Ok(messages + outbox::not_taken_up(tx)?)
}

/// A delivery.
///
/// # Errors
/// When SQLite fails.
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

/// The message of a delivery: JSON text.
///
/// # Errors
/// When SQLite fails.
pub fn payload(tx: &Tx<'_>, number: i64) -> Result<Option<String>, Error> {
    let sql = "SELECT payload
               FROM hr_deliveries
               WHERE number = $1";
    tx.one(sql, [number], |row| Ok(row.get(0)?))
}

/// The attempts of a delivery that are kept, oldest first.
///
/// # Errors
/// When SQLite fails.
pub fn attempts(tx: &Tx<'_>, number: i64) -> Result<Vec<HrAttempt>, Error> {
    let sql = "SELECT at, duration, status, error, answer
               FROM hr_attempts
               WHERE delivery_number = $1
               ORDER BY number";
    tx.all(sql, [number], |row| attempt(row, 0))
}

/// Makes a delivery due now, with its whole schedule before it.
///
/// # Errors
/// When SQLite fails.
pub fn send_again(tx: &Tx<'_>, number: i64) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET state = 'pending', failed_attempts = 0, next_attempt_at = $1
               WHERE number = $2 AND state <> 'delivered'";
    tx.run(sql, (tx.now.micros(), number))?;
    Ok(())
}

fn delivery(row: &Row<'_>) -> Result<HrDelivery, Error> {
    let text = |column| -> Result<String, Error> { Ok(row.get(column)?) };
    let application: Option<String> = row.get(4)?;
    let earlier: Option<String> = row.get(8)?;
    let tried: Option<i64> = row.get(12)?;
    Ok(HrDelivery {
        number: row.get(0)?,
        id: tx::word(&text(1)?, DeliveryId::parse)?,
        organization_id: tx::word(&text(2)?, OrganizationId::parse)?,
        organization_slug: text(3)?,
        application_id: application.map(|id| tx::word(&id, ApplicationId::parse)).transpose()?,
        standing: DeliveryFacts {
            event: tx::word(&text(5)?, DeliveryEvent::parse)?,
            state: tx::word(&text(6)?, DeliveryState::parse)?,
            enabled: row.get(7)?,
            earlier: earlier.map(|id| tx::word(&id, DeliveryId::parse)).transpose()?,
        },
        attempts: row.get(9)?,
        created_at: tx::time(row, 10)?,
        next_attempt_at: tx::time_or_none(row, 11)?,
        last_attempt: tried.map(|_| attempt(row, 12)).transpose()?,
    })
}

/// The columns from `at` to `answer`, from the `first` on.
fn attempt(row: &Row<'_>, first: usize) -> Result<HrAttempt, Error> {
    let micros: i64 = row.get(first + 1)?;
    Ok(HrAttempt {
        at: tx::time(row, first)?,
        duration: Duration::from_micros(micros.unsigned_abs()),
        status: row.get(first + 2)?,
        error: row.get(first + 3)?,
        answer: row.get(first + 4)?,
    })
}
