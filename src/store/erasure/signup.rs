//! What a candidate applied with: which of it is theirs, and how it goes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::tx::{self, Error, Tx};
use crate::domain::activity::Action;
use crate::domain::id::{CandidateId, Id, OrganizationId, SignupId};
use crate::domain::text::Email;

/// The signups of a candidate: those of their applications, and those that came later under an address of theirs. Such a one
/// has no application, so all that ties it to them is the address: the one they have, those that they typed themselves, and
/// those that staff gave them; but not one that somebody else has by now.
///
/// # Errors
/// When SQLite fails.
pub(in super::super) fn of_candidate(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
) -> Result<Vec<SignupId>, Error> {
    let sql = "SELECT s.id, s.email_key
               FROM signups s
               JOIN candidate_roles a ON a.id = s.candidate_role_id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    let own = tx.all(sql, [candidate.as_str()], |row| {
        Ok((tx::word(&row.get::<_, String>(0)?, SignupId::parse)?, row.get::<_, String>(1)?))
    })?;
    let mut keys = given(tx, candidate)?;
    keys.extend(own.iter().map(|(_, key)| key.clone()));
    let mut signups: Vec<SignupId> = own.into_iter().map(|(id, _)| id).collect();
    let sql = "SELECT s.id
               FROM signups s
               WHERE s.organization_id = $1 AND s.email_key = $2 AND s.candidate_role_id IS NULL
                 AND NOT EXISTS (
                   SELECT 1 FROM candidates c WHERE c.organization_id = $1 AND c.email_key = $2 AND c.id <> $3
                 )
               ORDER BY s.number";
    for key in keys {
        let later = tx.all(sql, (organization.as_str(), key, candidate.as_str()), |row| {
            tx::word(&row.get::<_, String>(0)?, SignupId::parse)
        })?;
        signups.extend(later);
    }
    Ok(signups)
}

/// The addresses that the candidate has, and had before they were changed, as they are compared.
fn given(tx: &Tx<'_>, candidate: &CandidateId) -> Result<BTreeSet<String>, Error> {
    let sql = "SELECT email_key
               FROM candidates
               WHERE id = $1";
    let mut keys: BTreeSet<String> = tx.all(sql, [candidate.as_str()], |row| Ok(row.get(0)?))?.into_iter().collect();
    let sql = "SELECT detail
               FROM activities
               WHERE candidate_id = $1 AND action = $2";
    let details =
        tx.all(sql, (candidate.as_str(), Action::CandidateChanged.as_str()), |row| Ok(row.get::<_, String>(0)?))?;
    for detail in details {
        let detail: Value = serde_json::from_str(&detail).unwrap_or_default();
        let former = detail["before"]["email"].as_str().and_then(Email::parse);
        keys.extend(former.map(|email| email.key().to_owned()));
    }
    Ok(keys)
}

/// Takes away all that a candidate applied with: what they typed, their documents and the pages that show where they stand.
/// To be done while they still have their address.
pub(super) fn forget(tx: &Tx<'_>, organization: &OrganizationId, candidate: &CandidateId) -> Result<(), Error> {
    let sql = "DELETE FROM status_pages
               WHERE candidate_role_id IN (SELECT id FROM candidate_roles WHERE candidate_id = $1)";
    tx.run(sql, [candidate.as_str()])?;
    for signup in of_candidate(tx, organization, candidate)? {
        let id = [signup.as_str()];
        tx.run("DELETE FROM status_pages WHERE signup_id = $1", id)?;
        let sql = "DELETE FROM document_pieces
                   WHERE document_number IN (SELECT number FROM documents WHERE signup_id = $1)";
        tx.run(sql, id)?;
        tx.run("DELETE FROM documents WHERE signup_id = $1", id)?;
        tx.run("DELETE FROM signups WHERE id = $1", id)?;
    }
    Ok(())
}
