//! The data for a role's report: counts of its applications and their steps, and the times of its hires.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::StepStatus;
use crate::domain::id::{Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::timestamp::Timestamp;

/// Counts a role's applications for each step and each status of that step.
pub fn steps(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
) -> Result<Vec<(RoleStepId, StepStatus, i64)>, Error> {
    tx.all(STEPS, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(RoleStepId::parse)?, columns.parse(StepStatus::parse)?, columns.read()?))
    })
}

// Because the query selects the role's steps with `IN`, SQLite reads the rows in the order of the index and does not
// sort them.
pub(super) const STEPS: &str = "SELECT s.role_step_id, s.status, count(*)
     FROM candidate_role_steps s
     WHERE s.role_step_id IN (
       SELECT o.id
       FROM roles r
       JOIN role_steps o ON o.role_id = r.id
       WHERE r.organization_id = $1 AND r.id = $2
     )
     GROUP BY s.role_step_id, s.status";

/// Returns the time of the application and the day of the hire for each hired candidate of a role.
pub fn hires(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<(Timestamp, Timestamp)>, Error> {
    tx.all(HIRES, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.time()?, columns.time()?))
    })
}

pub(super) const HIRES: &str = "SELECT applied_at, hired_date
     FROM candidate_roles
     WHERE coalesce(organization_id, '') = $1 AND role_id = $2 AND status = 'Hired'";

/// Counts a role's applications that were not selected, for each `outcomeType` and for applications without one. If
/// several steps of an application are rejected, its `outcomeType` is that of the earliest rejection, which ended the
/// application.
pub fn endings(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<(Option<String>, i64)>, Error> {
    tx.all(ENDINGS, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?))
    })
}

pub(super) const ENDINGS: &str = "SELECT outcome_type, count(*)
     FROM (
       SELECT (
         SELECT s.outcome_type
         FROM candidate_role_steps s
         WHERE s.candidate_role_id = a.id AND s.status = 'rejected'
         ORDER BY s.rejected_at, s.step_order
         LIMIT 1
       ) AS outcome_type
       FROM candidate_roles a
       WHERE coalesce(a.organization_id, '') = $1 AND a.role_id = $2 AND a.status = 'Not Selected'
     ) e
     GROUP BY outcome_type";
