//! What a role's report is made of: counts of its applications and of their steps.

use crate::db::tx::{self, Error, Tx};
use crate::domain::candidate_step::StepStatus;
use crate::domain::id::{Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::timestamp::Timestamp;

/// How many of the applications to a role have each of its steps in each status.
///
/// # Errors
/// When SQLite fails.
pub fn steps(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
) -> Result<Vec<(RoleStepId, StepStatus, i64)>, Error> {
    tx.all(STEPS, (organization.as_str(), role.as_str()), |row| {
        Ok((
            tx::word(&row.get::<_, String>(0)?, RoleStepId::parse)?,
            tx::word(&row.get::<_, String>(1)?, StepStatus::parse)?,
            row.get(2)?,
        ))
    })
}

// The steps of the role as a list, so that they come in the order of the index and nothing has to be sorted.
pub(super) const STEPS: &str = "SELECT s.role_step_id, s.status, count(*)
     FROM candidate_role_steps s
     WHERE s.role_step_id IN (
       SELECT o.id
       FROM roles r
       JOIN role_steps o ON o.role_id = r.id
       WHERE r.organization_id = $1 AND r.id = $2
     )
     GROUP BY s.role_step_id, s.status";

/// When each of those who are hired for a role applied, and the day of their hire.
///
/// # Errors
/// When SQLite fails.
pub fn hires(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<(Timestamp, Timestamp)>, Error> {
    tx.all(HIRES, (organization.as_str(), role.as_str()), |row| Ok((tx::time(row, 0)?, tx::time(row, 1)?)))
}

pub(super) const HIRES: &str = "SELECT applied_at, hired_date
     FROM candidate_roles
     WHERE +organization_id = $1 AND role_id = $2 AND status = 'Hired'";

/// How many of the applications that were not selected were ended with each `outcomeType`, or with none. The rejection
/// that came first ended the application.
///
/// # Errors
/// When SQLite fails.
pub fn endings(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<(Option<String>, i64)>, Error> {
    tx.all(ENDINGS, (organization.as_str(), role.as_str()), |row| Ok((row.get(0)?, row.get(1)?)))
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
       WHERE +a.organization_id = $1 AND a.role_id = $2 AND a.status = 'Not Selected'
     ) e
     GROUP BY outcome_type";
