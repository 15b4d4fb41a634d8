//! Pages of the activity of an organization, of one of its roles, or of one of its candidates, and the latest act on an
//! application.

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, CHAIN_START, Subject};
use crate::domain::id::{
    ActivityId, ApiKeyId, ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId,
};
use crate::domain::timestamp::Timestamp;

/// An activity row with its actor.
#[derive(Debug, Clone)]
pub struct Activity {
    pub id: ActivityId,
    pub at: Timestamp,
    /// The word for the action. The database can contain words that this version does not know.
    pub action: String,
    /// The user who acted; `None` if no user acted, as in a command.
    pub actor: Option<Actor>,
    /// The key with which the user acted; `None` if the user acted in a session, or if no user acted.
    pub api_key_id: Option<ApiKeyId>,
    pub role_id: Option<RoleId>,
    pub candidate_id: Option<CandidateId>,
    pub candidate_role_id: Option<ApplicationId>,
    pub candidate_role_step_id: Option<CandidateStepId>,
    /// The detail as JSON text; `None` if it was erased.
    pub detail: Option<String>,
    pub hash: [u8; 32],
    /// The hash of the previous row in the database, which may belong to another organization.
    pub previous_hash: [u8; 32],
}

/// The user who acted, with the user's current name and email address.
#[derive(Debug, Clone)]
pub struct Actor {
    pub id: String,
    pub name: String,
    pub email: String,
}

/// The `SELECT` and `FROM` clauses of the queries whose rows [`activity`] reads.
pub(in crate::store) const SELECT: &str =
    "SELECT a.id, a.at, a.action, u.id, u.name, u.email, a.api_key_id, a.role_id, a.candidate_id,
       a.candidate_role_id, a.candidate_role_step_id, CASE WHEN a.salt IS NOT NULL THEN a.detail END, a.hash,
       (SELECT b.hash FROM activities b WHERE b.number = a.number - 1)
     FROM activities a
     LEFT JOIN users u ON u.id = a.user_id";

// An index on the organization and the action finds rare actions quickly among the many rows of an organization. A role
// or a candidate has few rows, so the engine checks the action of each row. The `coalesce` prevents the engine from
// using an index on the organization instead. PostgreSQL infers the type of a parameter from its first occurrence, so
// the comparison with the column comes before the test for null.
pub(in crate::store) const OF_ORGANIZATION: &str = "WHERE a.organization_id = $1 AND a.number < $2
     ORDER BY a.number DESC
     LIMIT $3";
pub(in crate::store) const OF_ORGANIZATION_BY_ACTION: &str =
    "WHERE a.organization_id = $1 AND a.number < $2 AND a.action = $3
     ORDER BY a.number DESC
     LIMIT $4";
pub(in crate::store) const OF_ROLE: &str =
    "WHERE coalesce(a.organization_id, '') = $1 AND a.number < $2 AND a.role_id = $3
       AND (a.action = $4 OR $4 IS NULL)
     ORDER BY a.number DESC
     LIMIT $5";
pub(in crate::store) const OF_CANDIDATE: &str =
    "WHERE coalesce(a.organization_id, '') = $1 AND a.number < $2 AND a.candidate_id = $3
       AND (a.action = $4 OR $4 IS NULL)
     ORDER BY a.number DESC
     LIMIT $5";

/// Returns a page of the activity of the subject's role, candidate or organization: rows with numbers below `before`,
/// newest first.
pub fn page(
    tx: &Tx<'_>,
    subject: &Subject,
    action: Option<Action>,
    before: i64,
    rows_max: usize,
) -> Result<Vec<Activity>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let organization = subject.organization_id.as_ref().map(OrganizationId::as_str);
    let action = action.map(Action::as_str);
    match (&subject.role_id, &subject.candidate_id, action) {
        (Some(role), _, action) => {
            let params = (organization, before, role.as_str(), action, rows_max);
            tx.all(&format!("{SELECT} {OF_ROLE}"), params, activity)
        }
        (None, Some(candidate), action) => {
            let params = (organization, before, candidate.as_str(), action, rows_max);
            tx.all(&format!("{SELECT} {OF_CANDIDATE}"), params, activity)
        }
        (None, None, Some(action)) => {
            let params = (organization, before, action, rows_max);
            tx.all(&format!("{SELECT} {OF_ORGANIZATION_BY_ACTION}"), params, activity)
        }
        (None, None, None) => {
            tx.all(&format!("{SELECT} {OF_ORGANIZATION}"), (organization, before, rows_max), activity)
        }
    }
}

/// Returns the newest decision on an application, or `None` if there is none. Withdrawals count as decisions.
pub fn latest_decision(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    application: &ApplicationId,
) -> Result<Option<Activity>, Error> {
    latest(tx, organization, candidate, application, "a.action = 'candidate_role.withdrawn'")
}

/// Returns the newest decision on an application or, if it is newer, the newest change to the application's later mark.
/// Returns `None` if there is neither.
pub fn latest_act(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    application: &ApplicationId,
) -> Result<Option<Activity>, Error> {
    let others = "a.action IN ('candidate_role.withdrawn', 'candidate_role.put_aside', 'candidate_role.taken_up')";
    latest(tx, organization, candidate, application, others)
}

/// Returns an application's newest activity row that records a decision at a step or meets the condition `others`.
fn latest(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
    application: &ApplicationId,
    others: &str,
) -> Result<Option<Activity>, Error> {
    // The `coalesce` makes the engine use the index on the candidate, who has few rows.
    let sql = format!(
        "{SELECT}
         WHERE coalesce(a.organization_id, '') = $1 AND a.candidate_id = $2 AND a.candidate_role_id = $3
           AND (a.action LIKE 'candidate\\_step.%' ESCAPE '\\' OR {others})
         ORDER BY a.number DESC
         LIMIT 1"
    );
    tx.one(&sql, (organization.as_str(), candidate.as_str(), application.as_str()), activity)
}

/// Returns the number of an activity row, or `None` if the subject's organization has no such row.
pub fn number(tx: &Tx<'_>, subject: &Subject, activity: &ActivityId) -> Result<Option<i64>, Error> {
    let sql = "SELECT number
               FROM activities
               WHERE id = $1 AND organization_id = $2";
    let organization = subject.organization_id.as_ref().map(OrganizationId::as_str);
    tx.value(sql, (activity.as_str(), organization))
}

pub(super) fn activity(row: &Row<'_>) -> Result<Activity, Error> {
    let mut columns = Columns::of(row);
    Ok(Activity {
        id: columns.parse(ActivityId::parse)?,
        at: columns.time()?,
        action: columns.read()?,
        actor: actor(&mut columns)?,
        api_key_id: columns.parse_or_none(ApiKeyId::parse)?,
        role_id: columns.parse_or_none(RoleId::parse)?,
        candidate_id: columns.parse_or_none(CandidateId::parse)?,
        candidate_role_id: columns.parse_or_none(ApplicationId::parse)?,
        candidate_role_step_id: columns.parse_or_none(CandidateStepId::parse)?,
        detail: columns.read()?,
        hash: columns.read()?,
        previous_hash: columns.read::<Option<[u8; 32]>>()?.unwrap_or(CHAIN_START),
    })
}

/// Reads the three columns of the actor. They are all null if no user acted.
fn actor(columns: &mut Columns<'_>) -> Result<Option<Actor>, Error> {
    let (id, name, email) = (columns.read()?, columns.read()?, columns.read()?);
    Ok(match (id, name, email) {
        (Some(id), Some(name), Some(email)) => Some(Actor { id, name, email }),
        _ => None,
    })
}
