//! The queue of the outbox. This module queues pings, makes scheduled deliveries due, and finds the deliveries that are
//! due.

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::hr_delivery::DeliveryEvent;
use crate::domain::hr_dispatch::DueOrganization;
use crate::domain::id::{DeliveryId, Id, OrganizationId};

use super::payload;

/// Queues a ping, which is due at once, even if the integration is disabled. Returns whether the organization exists.
pub fn enqueue_ping(tx: &Tx<'_>, id: &DeliveryId, organization: &OrganizationId) -> Result<bool, Error> {
    let Some(payload) = payload::of_ping(tx, organization)? else { return Ok(false) };
    let sql = "INSERT INTO hr_deliveries (id, organization_id, type, payload, state, attempts, failed_attempts,
                 created_at, next_attempt_at)
               VALUES ($1, $2, $3, $4, 'pending', 0, 0, $5, $5)";
    let ping = DeliveryEvent::Ping.as_str();
    tx.run(sql, (id.as_str(), organization.as_str(), ping, payload, tx.now.micros()))?;
    Ok(true)
}

/// Makes the scheduled deliveries of an organization due, as if no attempt had failed. Each delivery is due as of its
/// `created_at`, but at the latest now, so that the oldest is sent first. A delivery that has no time for its next
/// attempt continues to wait for an earlier delivery.
pub(in super::super) fn release_all(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let sql = "UPDATE hr_deliveries
               SET next_attempt_at = CASE WHEN created_at < $1 THEN created_at ELSE $1 END, failed_attempts = 0
               WHERE state = 'pending' AND organization_id = $2 AND next_attempt_at IS NOT NULL
                 AND (next_attempt_at > $1 OR failed_attempts > 0)";
    tx.run(sql, (tx.now.micros(), organization.as_str()))?;
    Ok(())
}

/// Returns the organizations with a delivery that is due now: a ping, or any delivery if the integration is enabled.
/// The cost grows with the number of organizations that have pending deliveries, not with the number of deliveries.
pub fn due(tx: &Tx<'_>) -> Result<Vec<DueOrganization>, Error> {
    let sql = "WITH RECURSIVE owed (organization_id) AS (
                 SELECT min(organization_id) FROM hr_deliveries WHERE state = 'pending'
                 UNION ALL
                 SELECT (
                   SELECT min(d.organization_id) FROM hr_deliveries d
                   WHERE d.state = 'pending' AND d.organization_id > owed.organization_id
                 )
                 FROM owed
                 WHERE owed.organization_id IS NOT NULL
               ), earliest (organization_id, since) AS (
                 SELECT o.organization_id, (
                   SELECT min(d.next_attempt_at) FROM hr_deliveries d
                   WHERE d.state = 'pending' AND d.organization_id = o.organization_id AND d.next_attempt_at IS NOT NULL
                 )
                 FROM owed o
                 JOIN hr_integrations h ON h.organization_id = o.organization_id AND h.enabled = 1
                 UNION ALL
                 SELECT organization_id, coalesce(next_attempt_at, created_at)
                 FROM hr_deliveries
                 WHERE type = 'ping' AND state = 'pending'
               )
               SELECT e.organization_id, min(e.since), h.timed_out
               FROM earliest e
               JOIN hr_integrations h ON h.organization_id = e.organization_id
               WHERE e.since <= $1
               GROUP BY e.organization_id, h.timed_out";
    tx.all(sql, [tx.now.micros()], |row| {
        let mut columns = Columns::of(row);
        Ok(DueOrganization {
            organization_id: columns.parse(OrganizationId::parse)?,
            since: columns.time()?,
            is_suspect: columns.read()?,
        })
    })
}

/// A delivery to send.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub number: i64,
    /// The delivery's id, which is the same in each attempt.
    pub id: DeliveryId,
    pub organization_id: OrganizationId,
    pub event: DeliveryEvent,
    /// The message as JSON.
    pub payload: String,
}

/// Returns the next due delivery of an organization, if any. A ping comes first, because an admin waits for it. If
/// there is no ping and the integration is enabled, returns the delivery that has been due longest.
pub fn first_due(tx: &Tx<'_>, organization: &OrganizationId, enabled: bool) -> Result<Option<Delivery>, Error> {
    let sql = "SELECT number, id, type, payload
               FROM hr_deliveries
               WHERE organization_id = $1 AND type = 'ping' AND state = 'pending'
               ORDER BY number
               LIMIT 1";
    let ping = tx.one(sql, [organization.as_str()], |row| delivery(row, organization))?;
    if ping.is_some() || !enabled {
        return Ok(ping);
    }
    let sql = "SELECT number, id, type, payload
               FROM hr_deliveries
               WHERE state = 'pending' AND organization_id = $1 AND next_attempt_at <= $2
               ORDER BY next_attempt_at, number
               LIMIT 1";
    tx.one(sql, (organization.as_str(), tx.now.micros()), |row| delivery(row, organization))
}

fn delivery(row: &Row<'_>, organization: &OrganizationId) -> Result<Delivery, Error> {
    let mut columns = Columns::of(row);
    Ok(Delivery {
        number: columns.read()?,
        id: columns.parse(DeliveryId::parse)?,
        organization_id: organization.clone(),
        event: columns.parse(DeliveryEvent::parse)?,
        payload: columns.read()?,
    })
}
