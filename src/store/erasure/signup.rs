//! What a candidate applied with: which of it is theirs, and how it goes.

use super::super::document;
use super::super::status_page::{self, About};
use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, Id, SignupId};

/// The signups of a candidate: those of their applications, then those that came later under their address.
///
/// # Errors
/// When SQLite fails.
pub(in super::super) fn of_candidate(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<SignupId>, Error> {
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN signups s ON s.candidate_role_id = a.id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    let id = |row: &crate::db::row::Row<'_>| tx::word(&row.get::<_, String>(0)?, SignupId::parse);
    let mut signups = tx.all(sql, [candidate.as_str()], id)?;
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN signups s ON s.later_of = a.id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    signups.extend(tx.all(sql, [candidate.as_str()], id)?);
    Ok(signups)
}

/// Takes away all that a candidate applied with: what they typed, their documents and the pages that show where they stand.
pub(super) fn forget_all(tx: &Tx<'_>, candidate: &CandidateId) -> Result<(), Error> {
    let sql = "SELECT id
               FROM candidate_roles
               WHERE candidate_id = $1";
    let applications =
        tx.all(sql, [candidate.as_str()], |row| tx::word(&row.get::<_, String>(0)?, ApplicationId::parse))?;
    for application in applications {
        status_page::remove(tx, &About::Application(application))?;
    }
    of_candidate(tx, candidate)?.iter().try_for_each(|signup| forget(tx, signup))
}

/// Takes away one signup, with its page where it has one. Its documents are nobody's from then on, and wait to be swept.
///
/// # Errors
/// When SQLite fails.
pub(in super::super) fn forget(tx: &Tx<'_>, signup: &SignupId) -> Result<(), Error> {
    status_page::remove(tx, &About::Signup(signup.clone()))?;
    document::detach(tx, signup)?;
    tx.run("DELETE FROM signups WHERE id = $1", [signup.as_str()])?;
    Ok(())
}
