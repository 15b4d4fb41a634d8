//! The board of a role: where the candidates of its running applications are.

use crate::db::row::Row;

use crate::db::tx::{self, Error, Tx};
use crate::domain::candidate_step::StepType;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::report::ApplicationCounts;
use crate::domain::timestamp::Timestamp;

/// A step that a role has or had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its id.
    pub id: RoleStepId,
    /// Its name.
    pub name: String,
    /// Its position in the pipeline, from 1; none where it was removed.
    pub order: Option<i64>,
    /// What it is for.
    pub step_type: StepType,
}

/// A candidate at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The application.
    pub candidate_role_id: ApplicationId,
    /// The application's own step.
    pub candidate_step_id: CandidateStepId,
    /// Whose it is.
    pub candidate_id: CandidateId,
    /// Their name.
    pub candidate_name: String,
    /// When they applied.
    pub applied_at: Timestamp,
    /// Since when they are at the step.
    pub since: Timestamp,
}

/// What stands before the first place of a step.
pub const BEGINNING: (i64, &str) = (i64::MIN, "");

/// Every step that a role has, first to last, and behind them those that were removed.
///
/// # Errors
/// When SQLite fails.
pub fn steps(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<Step>, Error> {
    let mut steps = tx.all(STEPS, (organization.as_str(), role.as_str()), |row| {
        Ok(Step {
            id: tx::word(&row.get::<_, String>(0)?, RoleStepId::parse)?,
            name: row.get(1)?,
            order: row.get(2)?,
            step_type: tx::word(&row.get::<_, String>(3)?, StepType::parse)?,
        })
    })?;
    steps.sort_by(|one, other| {
        let place = |step: &Step| (step.order.is_none(), step.order);
        place(one).cmp(&place(other)).then_with(|| one.id.cmp(&other.id))
    });
    Ok(steps)
}

pub(super) const STEPS: &str = "SELECT s.id, s.name, s.step_order, s.step_type
     FROM roles r
     JOIN role_steps s ON s.role_id = r.id
     WHERE r.organization_id = $1 AND r.id = $2";

/// How many applications a role has, by what became of them.
///
/// # Errors
/// When SQLite fails.
pub fn applications(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<ApplicationCounts, Error> {
    let counted = tx.all(BY_STATUS, (organization.as_str(), role.as_str()), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    })?;
    let of = |status: &str| counted.iter().find(|(known, _)| known == status).map_or(0, |(_, count)| *count);
    Ok(ApplicationCounts {
        in_progress: of("In Progress"),
        hired: of("Hired"),
        not_selected: of("Not Selected"),
        withdrawn: of("Withdrawn"),
    })
}

pub(super) const BY_STATUS: &str = "SELECT a.status, count(*)
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     WHERE r.organization_id = $1 AND r.id = $2
     GROUP BY a.status";

/// How many candidates are at each of a role's steps; steps where nobody is are left out.
///
/// # Errors
/// When SQLite fails.
pub fn counts(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<(RoleStepId, i64)>, Error> {
    tx.all(BY_STEP, (organization.as_str(), role.as_str()), |row| {
        Ok((tx::word(&row.get::<_, String>(0)?, RoleStepId::parse)?, row.get(1)?))
    })
}

pub(super) const BY_STEP: &str = "SELECT a.at_role_step_id, count(*)
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'In Progress' AND a.at_role_step_id IS NOT NULL
     GROUP BY a.at_role_step_id";

/// A page of the candidates at a step, those who are there longest first, behind a place that is known by its time in
/// microseconds and its application.
///
/// # Errors
/// When SQLite fails.
pub fn page(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    step: &RoleStepId,
    after: (i64, &str),
    rows_max: usize,
) -> Result<Vec<Place>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let (since, id) = after;
    tx.all(PAGE, (organization.as_str(), role.as_str(), step.as_str(), since, id, rows_max), place)
}

pub(super) const PAGE: &str = "SELECT a.id, s.id, c.id, c.name, a.applied_at, a.at_since
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     JOIN candidates c ON c.number = a.candidate_number
     JOIN candidate_role_steps s ON s.candidate_role_id = a.id AND s.role_step_id = a.at_role_step_id
     WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'In Progress' AND a.at_role_step_id = $3
       AND (a.at_since, a.id) > ($4, $5)
     ORDER BY a.at_since, a.id
     LIMIT $6";

fn place(row: &Row<'_>) -> Result<Place, Error> {
    Ok(Place {
        candidate_role_id: tx::word(&row.get::<_, String>(0)?, ApplicationId::parse)?,
        candidate_step_id: tx::word(&row.get::<_, String>(1)?, CandidateStepId::parse)?,
        candidate_id: tx::word(&row.get::<_, String>(2)?, CandidateId::parse)?,
        candidate_name: row.get(3)?,
        applied_at: tx::time(row, 4)?,
        since: tx::time(row, 5)?,
    })
}
