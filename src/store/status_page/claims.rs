//! What a candidate is kept for when somebody deletes what they sent: applications and signups of others, of whom nothing is
//! known but that they typed the same address.

use serde::Serialize;

use super::sent::Sent;
use super::shown::Candidate;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Subject};
use crate::domain::id::{ApplicationId, CandidateId, Id, OrganizationId, SignupId};
use crate::domain::text::Email;
use crate::store::{activity, candidate};
use crate::world::World;

/// Whether there is anything, but for an application that is about to go with all that came later to it: a page, or an
/// application that staff added and nobody wanted deleted by a link. What was wanted deleted while the candidate was held is
/// no reason to keep them.
pub(super) fn are_there(tx: &Tx<'_>, candidate: &CandidateId, but_for: Option<&ApplicationId>) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidate_roles a
               WHERE a.candidate_id = $1 AND a.id IS NOT $2 AND (
                 EXISTS (SELECT 1 FROM signups s JOIN status_pages p ON p.signup_id = s.id WHERE s.later_of = a.id)
                 OR EXISTS (SELECT 1 FROM status_pages WHERE candidate_role_id = a.id)
                 OR NOT EXISTS (
                   SELECT 1 FROM activities
                   WHERE candidate_id = $1 AND candidate_role_id = a.id AND action IN ($3, $4)
                 )
               )";
    let (deleted, asked) = (Action::CandidateRoleSignupDeleted, Action::CandidateRoleDeletionAsked);
    tx.exists(sql, (candidate.as_str(), but_for.map(ApplicationId::as_str), deleted.as_str(), asked.as_str()))
}

/// Lets what came later to a candidate's applications go from them, so that the candidate's erasure leaves it: all that
/// somebody still has the link of. What it was, in order.
///
/// # Errors
/// When SQLite fails.
pub(in super::super) fn let_go(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<SignupId>, Error> {
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN signups s ON s.later_of = a.id
               JOIN status_pages p ON p.signup_id = s.id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    let later = tx.all(sql, [candidate.as_str()], |row| tx::word(&row.get::<_, String>(0)?, SignupId::parse))?;
    let sql = "UPDATE signups
               SET later_of = NULL
               WHERE id = $1";
    tx.run_each(sql, later.iter(), |id| Ok([id.as_str()]))?;
    Ok(later)
}

/// A candidate who is called as in a signup that is gone is called as in the first of those that are left, and no record of
/// what was done tells the name before.
pub(super) fn rename(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    shown: &Candidate,
    gone: &Sent,
) -> Result<(), Error> {
    if (&shown.name, &shown.email) != (&gone.name, &gone.email) {
        return Ok(());
    }
    let sql = "SELECT s.name, s.email
               FROM candidate_roles a
               JOIN candidates c ON c.id = a.candidate_id
               JOIN signups s ON s.candidate_role_id = a.id OR s.later_of = a.id
               WHERE a.candidate_id = $1 AND s.email_key = c.email_key
               ORDER BY s.number
               LIMIT 1";
    let next = tx.one(sql, [shown.id.as_str()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let Some((name, email)) = next.filter(|next| (&next.0, &next.1) != (&gone.name, &gone.email)) else {
        return Ok(());
    };
    let before = candidate::find(tx, organization, &shown.id)?;
    let before = before.ok_or_else(|| Error::Defect(format!("candidate {} is gone", shown.id)))?;
    candidate::change(tx, &before, &name, &tx::word(&email, Email::parse_stored)?)?;
    let sql = "UPDATE activities
               SET detail = '{}', salt = NULL
               WHERE candidate_id = $1 AND action IN ($2, $3) AND salt IS NOT NULL";
    let named = (Action::CandidateAdded.as_str(), Action::CandidateChanged.as_str());
    tx.run(sql, (shown.id.as_str(), named.0, named.1))?;
    let detail = activity::detail(&None::<Person<'_>>, &Person { name: &name, email: &email })?;
    let subject = Subject::of_candidate(organization.clone(), shown.id.clone());
    activity::append(tx, &activity::stamp(world), None, Action::CandidateChanged, &subject, &detail)
}

#[derive(Serialize)]
struct Person<'a> {
    name: &'a str,
    email: &'a str,
}
