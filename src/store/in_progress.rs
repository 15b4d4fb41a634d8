//! The applications to a role that are in progress.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId};
use crate::domain::timestamp::Timestamp;

/// An application in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InProgress {
    pub candidate_role_id: ApplicationId,
    pub candidate_id: CandidateId,
    pub candidate_name: String,
    pub applied_at: Timestamp,
    /// The candidate's current step. An imported application has none if the candidate has passed every step.
    pub step: Option<CurrentStep>,
}

/// A candidate's current step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentStep {
    pub candidate_step_id: CandidateStepId,
    pub name: String,
    /// The time at which the candidate reached the step.
    pub since: Timestamp,
}

/// Returns the applications to a role that are in progress, in the order in which the candidates were added to the
/// organization. `after` is the number of the last candidate on the previous page.
pub fn page(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    after: i64,
    rows_max: usize,
) -> Result<Vec<InProgress>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    tx.all(PAGE, (organization.as_str(), role.as_str(), after, rows_max), |row| {
        let mut columns = Columns::of(row);
        let candidate_role_id = columns.parse(ApplicationId::parse)?;
        let candidate_id = columns.parse(CandidateId::parse)?;
        let (candidate_name, applied_at) = (columns.read()?, columns.time()?);
        let step: (Option<CandidateStepId>, Option<String>, Option<Timestamp>) =
            (columns.parse_or_none(CandidateStepId::parse)?, columns.read()?, columns.time_or_none()?);
        let step = match step {
            (Some(candidate_step_id), Some(name), Some(since)) => Some(CurrentStep { candidate_step_id, name, since }),
            _ => None,
        };
        Ok(InProgress { candidate_role_id, candidate_id, candidate_name, applied_at, step })
    })
}

pub(super) const PAGE: &str = "SELECT a.id, c.id, c.name, a.applied_at, s.id, s.name, a.at_since
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     JOIN candidates c ON c.number = a.candidate_number
     LEFT JOIN candidate_role_steps s ON s.candidate_role_id = a.id AND s.role_step_id = a.at_role_step_id
     WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'In Progress' AND a.candidate_number > $3
     ORDER BY a.candidate_number
     LIMIT $4";
