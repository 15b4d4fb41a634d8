//! The cards of a role's board: one for each application in progress that has a current step, and one for each hire.
//!
//! A board can have many cards, so the queries read only columns that the board needs.

use std::collections::HashMap;

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::due_day::DueDay;
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::timestamp::Timestamp;

/// A candidate at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardCard {
    pub application_id: ApplicationId,
    pub role_step_id: RoleStepId,
    /// The application's copy of the step.
    pub candidate_step_id: CandidateStepId,
    pub candidate_id: CandidateId,
    pub candidate_name: String,
    /// The time at which the candidate reached the step.
    pub since: Timestamp,
    /// Whether the candidate attached a file to the application.
    pub has_attachment: bool,
    /// The day until which staff put the application aside. The day can be in the past.
    pub later_due_on: Option<DueDay>,
}

/// A hired candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiredCard {
    pub candidate_id: CandidateId,
    pub candidate_name: String,
    pub hired_date: Timestamp,
}

/// Returns the candidates at the steps of a role, grouped by step. At each step, candidates who have been there the
/// longest come first.
pub fn cards(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Vec<BoardCard>, Error> {
    tx.all(CARDS, (organization.as_str(), role.as_str()), board_card)
}

/// Returns the card of one application to a role, or `None` if the application is not in progress or has no current
/// step.
pub fn card(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    application: &ApplicationId,
) -> Result<Option<BoardCard>, Error> {
    tx.one(CARD, (organization.as_str(), role.as_str(), application.as_str()), board_card)
}

macro_rules! select_cards {
    ($condition:literal) => {
        concat!(
            "SELECT a.id, a.at_role_step_id, s.id, c.id, c.name, a.at_since, EXISTS (
               SELECT 1
               FROM signups g
               JOIN documents d ON d.signup_id = g.id
               WHERE g.candidate_role_id = a.id
             ) OR EXISTS (
               SELECT 1
               FROM documents d
               WHERE d.candidate_role_id = a.id
             ), a.later_due_on
             FROM roles r
             JOIN candidate_roles a ON a.role_id = r.id
             JOIN candidates c ON c.number = a.candidate_number
             JOIN candidate_role_steps s ON s.candidate_role_id = a.id AND s.role_step_id = a.at_role_step_id
             ",
            $condition
        )
    };
}

pub(in super::super) const CARDS: &str = select_cards!(
    "WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'In Progress' AND a.at_role_step_id IS NOT NULL
     ORDER BY a.at_role_step_id, a.at_since, a.id"
);

pub(in super::super) const CARD: &str = select_cards!(
    "WHERE r.organization_id = $1 AND r.id = $2 AND a.id = $3 AND a.status = 'In Progress'
       AND a.at_role_step_id IS NOT NULL"
);

fn board_card(row: &Row<'_>) -> Result<BoardCard, Error> {
    let mut columns = Columns::of(row);
    Ok(BoardCard {
        application_id: columns.parse(ApplicationId::parse)?,
        role_step_id: columns.parse(RoleStepId::parse)?,
        candidate_step_id: columns.parse(CandidateStepId::parse)?,
        candidate_id: columns.parse(CandidateId::parse)?,
        candidate_name: columns.read()?,
        since: columns.time()?,
        has_attachment: columns.read()?,
        later_due_on: columns.parse_or_none(DueDay::parse)?,
    })
}

/// Returns the names of the other roles to which the role's candidates in progress have applied, by application.
pub fn other_roles(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
) -> Result<HashMap<ApplicationId, Vec<String>>, Error> {
    let mut found: HashMap<ApplicationId, Vec<String>> = HashMap::new();
    let rows = tx.all(OTHER_ROLES, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(ApplicationId::parse)?, columns.read::<String>()?))
    })?;
    for (application, name) in rows {
        found.entry(application).or_default().push(name);
    }
    Ok(found)
}

pub(in super::super) const OTHER_ROLES: &str = "SELECT a.id, o.name
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     JOIN candidate_roles b ON b.candidate_id = a.candidate_id AND b.role_id <> a.role_id
     JOIN roles o ON o.id = b.role_id
     WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'In Progress'";

/// Returns the names of the other roles to which the candidate of an application has applied.
pub fn other_roles_of(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    application: &ApplicationId,
) -> Result<Vec<String>, Error> {
    tx.values(OTHER_ROLES_OF, (organization.as_str(), application.as_str()))
}

pub(in super::super) const OTHER_ROLES_OF: &str = "SELECT o.name
     FROM candidate_roles a
     JOIN candidate_roles b ON b.candidate_id = a.candidate_id AND b.role_id <> a.role_id
     JOIN roles o ON o.id = b.role_id
     WHERE a.organization_id = $1 AND a.id = $2";

/// Returns the time at which a candidate reached a step. `position` is the position of the candidate at the step,
/// counted from 0. The candidate who has been there the longest comes first.
pub fn since_at(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    step: &RoleStepId,
    position: i64,
) -> Result<Option<Timestamp>, Error> {
    let micros: Option<i64> = tx.value(SINCE_AT, (organization.as_str(), role.as_str(), step.as_str(), position))?;
    Ok(micros.map(Timestamp::from_micros))
}

pub(in super::super) const SINCE_AT: &str = "SELECT a.at_since
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'In Progress' AND a.at_role_step_id = $3
     ORDER BY a.at_since
     LIMIT 1 OFFSET $4";

/// Returns up to `rows_max` hired candidates of a role, in the order in which they were added to the organization.
pub fn hired(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    rows_max: usize,
) -> Result<Vec<HiredCard>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    tx.all(HIRED, (organization.as_str(), role.as_str(), rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok(HiredCard {
            candidate_id: columns.parse(CandidateId::parse)?,
            candidate_name: columns.read()?,
            hired_date: columns.time()?,
        })
    })
}

pub(in super::super) const HIRED: &str = "SELECT c.id, c.name, a.hired_date
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     JOIN candidates c ON c.number = a.candidate_number
     WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'Hired'
     ORDER BY a.candidate_number
     LIMIT $3";
