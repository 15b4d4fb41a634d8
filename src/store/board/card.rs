//! The cards of a role's board: one for each application in progress that has a current step, and one for each hire.
//!
//! A board can have many cards, so the queries read only the columns that the board needs.

use std::ops::ControlFlow;

use crate::db::row::{Columns, Row, word};
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
    /// Whether the signup of the application has an attachment, or an import added one to the application.
    pub has_attachment: bool,
    /// The day until which staff put the application aside. The day can be in the past.
    pub later_due_on: Option<DueDay>,
    /// The other roles to which the candidate has applied.
    pub other_roles: Vec<OtherRole>,
}

/// Another role to which the candidate of a card has applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRole {
    pub id: RoleId,
    pub name: String,
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
    let mut cards = Vec::new();
    tx.each(CARDS, (organization.as_str(), role.as_str()), |row| add(&mut cards, row))?;
    Ok(cards)
}

/// Returns the card of one application to a role, or `None` if the application is not in progress or has no current
/// step.
pub fn card(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    application: &ApplicationId,
) -> Result<Option<BoardCard>, Error> {
    let mut cards = Vec::new();
    tx.each(CARD, (organization.as_str(), role.as_str(), application.as_str()), |row| add(&mut cards, row))?;
    Ok(cards.pop())
}

// Outer joins read the attachments and the other roles. A subquery for each application would take longer, because
// SQLite opens its indexes again each time. An application with several attachments or other roles has several rows,
// one after the other.
macro_rules! select_cards {
    ($condition:literal) => {
        concat!(
            "SELECT a.id, d.signup_id IS NOT NULL OR e.candidate_role_id IS NOT NULL, o.id, o.name,
               a.at_role_step_id, s.id, c.id, c.name, a.at_since, a.later_due_on
             FROM roles r
             JOIN candidate_roles a ON a.role_id = r.id
             JOIN candidates c ON c.number = a.candidate_number
             JOIN candidate_role_steps s ON s.candidate_role_id = a.id AND s.role_step_id = a.at_role_step_id
             LEFT JOIN signups g ON g.candidate_role_id = a.id
             LEFT JOIN documents d ON d.signup_id = g.id
             LEFT JOIN documents e ON e.candidate_role_id = a.id
             LEFT JOIN candidate_roles b ON b.candidate_id = c.id AND b.role_id <> r.id
             LEFT JOIN roles o ON o.id = b.role_id
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

/// Adds the card of a row, or completes the last card if the row belongs to the same application.
fn add(cards: &mut Vec<BoardCard>, row: &Row<'_>) -> Result<ControlFlow<()>, Error> {
    let mut columns = Columns::of(row);
    let application = columns.text()?;
    let has_attachment: bool = columns.read()?;
    let other_role = (columns.parse_or_none(RoleId::parse)?, columns.read::<Option<String>>()?);
    let is_next = cards.last().is_none_or(|last| last.application_id.as_str() != application);
    if is_next {
        cards.push(BoardCard {
            application_id: word(application, ApplicationId::parse)?,
            role_step_id: columns.parse(RoleStepId::parse)?,
            candidate_step_id: columns.parse(CandidateStepId::parse)?,
            candidate_id: columns.parse(CandidateId::parse)?,
            candidate_name: columns.read()?,
            since: columns.time()?,
            has_attachment: false,
            later_due_on: columns.parse_or_none(DueDay::parse)?,
            other_roles: Vec::new(),
        });
    }
    if let Some(card) = cards.last_mut() {
        card.has_attachment |= has_attachment;
        if let (Some(id), Some(name)) = other_role
            && card.other_roles.iter().all(|known| known.id != id)
        {
            card.other_roles.push(OtherRole { id, name });
        }
    }
    Ok(ControlFlow::Continue(()))
}

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
