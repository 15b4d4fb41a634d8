//! The queue in which staff review applications, one after the other: those at one step of a role, or those at the
//! first steps of all open roles. A queue offers the applications that were at these steps when the queue began. An
//! application stays in the queue after a decision.

use jiff::civil::Date;

use super::activity_detail::RecordedDecision;
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::timestamp::Timestamp;

/// The applications that a queue contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueScope {
    /// The applications at one step of a role.
    Step(RoleId, RoleStepId),
    /// The applications at the first steps of all open roles.
    NewOfAllRoles,
}

impl QueueScope {
    fn ids(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Step(role, step) => (Some(role.as_str()), Some(step.as_str())),
            Self::NewOfAllRoles => (None, None),
        }
    }
}

/// An application in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry {
    pub application_id: ApplicationId,
    pub candidate_id: CandidateId,
    pub candidate_name: String,
    pub applied_at: Timestamp,
    /// The latest decision since the queue began, if the application has left the step or was put aside.
    pub decision: Option<QueueDecision>,
}

/// A decision on an application in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDecision {
    /// The word for the action.
    pub action: String,
    pub at: Timestamp,
    /// The id and the name of the user; `None` if the candidate or the service itself acted.
    pub by: Option<(String, String)>,
}

/// The maximum number of activity rows that are read to find decisions since a queue began: far more than an
/// organization adds while somebody reviews one queue.
const ACTIVITY_ROWS_MAX: i64 = 5_000;

/// Returns the applications of a queue that began at `begun`, oldest application first. Leaves out applications that
/// staff put aside until after `today`, unless staff put them aside after the queue began.
pub fn queue(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    scope: &QueueScope,
    begun: Timestamp,
    today: Date,
) -> Result<Vec<QueueEntry>, Error> {
    let mut entries = waiting(tx, organization, scope, begun, today)?;
    for decided in decided_since(tx, organization, scope, begun)? {
        let is_listed = |entry: &QueueEntry| entry.application_id == decided.application_id;
        if !entries.iter().any(is_listed) {
            entries.push(decided);
        }
    }
    let key = |entry: &QueueEntry| (entry.applied_at, entry.application_id.as_str().to_owned());
    entries.sort_by_cached_key(key);
    Ok(entries)
}

/// Returns the applications that have been at a step of the queue since the queue began and are not put aside.
fn waiting(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    scope: &QueueScope,
    begun: Timestamp,
    today: Date,
) -> Result<Vec<QueueEntry>, Error> {
    let sql = "SELECT a.id, c.id, c.name, a.applied_at
               FROM roles r
               JOIN role_steps s ON s.role_id = r.id
               JOIN candidate_roles a ON a.role_id = r.id AND a.at_role_step_id = s.id
               JOIN candidates c ON c.number = a.candidate_number
               WHERE r.organization_id = $1 AND a.status = 'In Progress' AND a.at_since <= $2
                 AND (r.id = $3 AND s.id = $4 OR $3 IS NULL AND r.status = 'open' AND s.step_order = 1)
                 AND (a.later_due_on IS NULL OR a.later_due_on <= $5)";
    let (role, step) = scope.ids();
    tx.all(sql, (organization.as_str(), begun.micros(), role, step, today.to_string()), |row| {
        let mut columns = Columns::of(row);
        entry(&mut columns)
    })
}

fn entry(columns: &mut Columns<'_>) -> Result<QueueEntry, Error> {
    Ok(QueueEntry {
        application_id: columns.parse(ApplicationId::parse)?,
        candidate_id: columns.parse(CandidateId::parse)?,
        candidate_name: columns.read()?,
        applied_at: columns.time()?,
        decision: None,
    })
}

/// Returns the applications that were at a step of the queue when somebody made a decision on them after the queue
/// began, newest decision first.
fn decided_since(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    scope: &QueueScope,
    begun: Timestamp,
) -> Result<Vec<QueueEntry>, Error> {
    let sql = "SELECT a.id, c.id, c.name, a.applied_at, s.id, v.action, v.at, u.id, u.name, v.candidate_role_step_id,
                 v.detail
               FROM (
                 SELECT number, action, at, user_id, candidate_role_id, candidate_role_step_id, detail
                 FROM activities
                 WHERE organization_id = $1
                 ORDER BY number DESC
                 LIMIT $2
               ) v
               JOIN candidate_roles a ON a.id = v.candidate_role_id
               JOIN candidates c ON c.number = a.candidate_number
               JOIN candidate_role_steps s ON s.candidate_role_id = a.id
               LEFT JOIN users u ON u.id = v.user_id
               WHERE v.at >= $3 AND c.erased_at IS NULL
                 AND v.action IN ('candidate_step.validated', 'candidate_step.moved', 'candidate_step.rejected',
                   'candidate_step.hired', 'candidate_role.withdrawn', 'candidate_role.put_aside')
                 AND (a.role_id = $4 AND s.role_step_id = $5 OR $4 IS NULL AND s.step_order = 1)
               ORDER BY v.number DESC";
    let (role, step) = scope.ids();
    let params = (organization.as_str(), ACTIVITY_ROWS_MAX, begun.micros(), role, step);
    Ok(tx.all(sql, params, decided)?.into_iter().flatten().collect())
}

/// Reads a row of [`decided_since`]. Returns `None` if the application was at another step before the decision.
fn decided(row: &Row<'_>) -> Result<Option<QueueEntry>, Error> {
    let mut columns = Columns::of(row);
    let entry = entry(&mut columns)?;
    let step: String = columns.read()?;
    let (action, at): (String, Timestamp) = (columns.read()?, columns.time()?);
    let (user, name): (Option<String>, Option<String>) = (columns.read()?, columns.read()?);
    let acted_on = columns.parse_or_none(CandidateStepId::parse)?;
    let detail = columns.text_or_none()?.and_then(RecordedDecision::parse);
    let before = detail.map(|detail| detail.before.steps).unwrap_or_default();
    let has_left =
        before.iter().any(|left| left.id == step && matches!(left.status.as_str(), "in_progress" | "pending"));
    // Withdrawals and later marks change no step; their rows name the step at which the candidate was.
    let is_here = acted_on.is_some_and(|acted_on| acted_on.as_str() == step);
    let was_here = if before.is_empty() { is_here } else { has_left && is_first_open(&before, &step) };
    let decision = QueueDecision { action, at, by: user.zip(name) };
    Ok(was_here.then_some(QueueEntry { decision: Some(decision), ..entry }))
}

/// Returns whether the candidate was at the step before a decision. `before` contains the steps that the decision
/// changed, in their state before the decision.
fn is_first_open(before: &[super::activity_detail::RecordedStep], step: &str) -> bool {
    let in_progress = before.iter().find(|recorded| recorded.status == "in_progress");
    in_progress.or(before.first()).is_some_and(|recorded| recorded.id == step)
}
