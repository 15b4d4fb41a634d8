//! Numbers about an organization's roles, for the lists of the staff console.

use jiff::civil::Date;

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::role::RoleStatus;
use crate::domain::timestamp::Timestamp;

/// Numbers about a role's applications in progress, except those that are put aside or have passed every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoleOverview {
    /// The number of candidates at the first step.
    pub new: i64,
    /// The number of candidates at other steps.
    pub in_review: i64,
    /// The number of overdue candidates; see [`overview`].
    pub overdue: i64,
    /// The time at which the candidate with the longest wait reached their step.
    pub waiting_since: Option<Timestamp>,
}

/// Counts the candidates at the steps of a role. Candidates who reached their step before `overdue_since` are overdue.
/// `today` is the current day in the organization's time zone.
pub fn overview(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    overdue_since: Timestamp,
    today: Date,
) -> Result<RoleOverview, Error> {
    let mut overview = RoleOverview::default();
    let params = (overdue_since.micros(), organization.as_str(), role.as_str(), today.to_string());
    let steps: Vec<(Option<i64>, i64, i64, Timestamp)> = tx.all(OVERVIEW, params, |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?, columns.read()?, columns.time()?))
    })?;
    for (order, count, overdue, since) in steps {
        if order == Some(1) {
            overview.new += count;
        } else {
            overview.in_review += count;
        }
        overview.overdue += overdue;
        overview.waiting_since = Some(overview.waiting_since.map_or(since, |earlier| earlier.min(since)));
    }
    Ok(overview)
}

pub(in super::super) const OVERVIEW: &str =
    "SELECT (SELECT s.step_order FROM role_steps s WHERE s.id = a.at_role_step_id),
       count(*), sum(CASE WHEN a.at_since < $1 THEN 1 ELSE 0 END), min(a.at_since)
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     WHERE r.organization_id = $2 AND r.id = $3 AND a.status = 'In Progress' AND a.at_role_step_id IS NOT NULL
       AND (a.later_due_on IS NULL OR a.later_due_on <= $4)
     GROUP BY a.at_role_step_id";

/// Counts an organization's roles by status. Leaves out statuses that no role has.
pub fn counts(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<(RoleStatus, i64)>, Error> {
    tx.all(COUNTS, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(RoleStatus::parse)?, columns.read()?))
    })
}

pub(in super::super) const COUNTS: &str = "SELECT status, count(*)
     FROM roles
     WHERE organization_id = $1
     GROUP BY status";
