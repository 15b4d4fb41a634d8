//! The board of a role: the candidates of its applications in progress, by their current step. `card` reads the cards
//! of a whole board, or one of them.

pub(super) mod card;

pub use self::card::{BoardCard, HiredCard, OtherRole, card, cards, hired, since_at};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::candidate_step::StepType;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::report::ApplicationCounts;
use crate::domain::timestamp::Timestamp;

/// A step of a role's pipeline, or a step that was removed from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardStep {
    pub id: RoleStepId,
    pub name: String,
    /// The step's position in the pipeline, from 1; `None` if the step was removed.
    pub order: Option<i64>,
    pub step_type: StepType,
}

/// A candidate at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardEntry {
    pub candidate_role_id: ApplicationId,
    /// The application's copy of the step.
    pub candidate_step_id: CandidateStepId,
    pub candidate_id: CandidateId,
    pub candidate_name: String,
    /// The time at which the candidate applied.
    pub applied_at: Timestamp,
    /// The time at which the candidate reached the step.
    pub since: Timestamp,
}

/// The cursor of the first page, which is before every entry.
pub const FIRST_PAGE: (i64, &str) = (i64::MIN, "");

/// Returns the steps of a role in pipeline order, followed by the removed steps.
pub fn steps(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<BoardStep>, Error> {
    let mut steps = tx.all(STEPS, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok(BoardStep {
            id: columns.parse(RoleStepId::parse)?,
            name: columns.read()?,
            order: columns.read()?,
            step_type: columns.parse(StepType::parse)?,
        })
    })?;
    steps.sort_by(|one, other| {
        let key = |step: &BoardStep| (step.order.is_none(), step.order);
        key(one).cmp(&key(other)).then_with(|| one.id.cmp(&other.id))
    });
    Ok(steps)
}

pub(super) const STEPS: &str = "SELECT s.id, s.name, s.step_order, s.step_type
     FROM roles r
     JOIN role_steps s ON s.role_id = r.id
     WHERE r.organization_id = $1 AND r.id = $2";

/// Counts the applications to a role by status.
pub fn applications(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<ApplicationCounts, Error> {
    let counts: Vec<(String, i64)> = tx.all(BY_STATUS, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?))
    })?;
    let count = |status: &str| counts.iter().find(|(known, _)| known == status).map_or(0, |(_, count)| *count);
    Ok(ApplicationCounts {
        in_progress: count("In Progress"),
        hired: count("Hired"),
        not_selected: count("Not Selected"),
        withdrawn: count("Withdrawn"),
    })
}

pub(super) const BY_STATUS: &str = "SELECT a.status, count(*)
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     WHERE r.organization_id = $1 AND r.id = $2
     GROUP BY a.status";

/// Counts the candidates at each step of a role. Leaves out steps without candidates.
pub fn counts(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<(RoleStepId, i64)>, Error> {
    tx.all(BY_STEP, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(RoleStepId::parse)?, columns.read()?))
    })
}

pub(super) const BY_STEP: &str = "SELECT a.at_role_step_id, count(*)
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'In Progress' AND a.at_role_step_id IS NOT NULL
     GROUP BY a.at_role_step_id";

/// Returns a page of the candidates at a step. Candidates who have been at the step the longest come first. The cursor
/// consists of [`BoardEntry::since`], in microseconds, and the application id, both of the last entry before the page.
pub fn page(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    step: &RoleStepId,
    cursor: (i64, &str),
    rows_max: usize,
) -> Result<Vec<BoardEntry>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let (since, id) = cursor;
    tx.all(PAGE, (organization.as_str(), role.as_str(), step.as_str(), since, id, rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok(BoardEntry {
            candidate_role_id: columns.parse(ApplicationId::parse)?,
            candidate_step_id: columns.parse(CandidateStepId::parse)?,
            candidate_id: columns.parse(CandidateId::parse)?,
            candidate_name: columns.read()?,
            applied_at: columns.time()?,
            since: columns.time()?,
        })
    })
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
