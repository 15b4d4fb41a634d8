//! The signups of a candidate, and deleting them.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, Id, SignupId};
use crate::store::document;
use crate::store::status_page::{self, About};

/// The signups of a candidate: first those of their applications, then later signups under their address.
pub(in super::super) fn of_candidate(tx: &Tx<'_>, candidate: &CandidateId) -> Result<Vec<SignupId>, Error> {
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN signups s ON s.candidate_role_id = a.id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    let mut signups = tx.all(sql, [candidate.as_str()], |row| Columns::of(row).parse(SignupId::parse))?;
    let sql = "SELECT s.id
               FROM candidate_roles a
               JOIN signups s ON s.later_of = a.id
               WHERE a.candidate_id = $1
               ORDER BY s.number";
    signups.extend(tx.all(sql, [candidate.as_str()], |row| Columns::of(row).parse(SignupId::parse))?);
    Ok(signups)
}

/// Deletes all signups of a candidate, with their attachments and status pages.
pub(super) fn delete_all(tx: &Tx<'_>, candidate: &CandidateId) -> Result<(), Error> {
    let sql = "SELECT id
               FROM candidate_roles
               WHERE candidate_id = $1";
    let applications = tx.all(sql, [candidate.as_str()], |row| Columns::of(row).parse(ApplicationId::parse))?;
    for application in applications {
        status_page::remove(tx, &About::Application(application))?;
    }
    of_candidate(tx, candidate)?.iter().try_for_each(|signup| delete(tx, signup))
}

/// Deletes one signup with its own status page, if it has one. Its attachments are detached and wait for the sweep.
pub(in super::super) fn delete(tx: &Tx<'_>, signup: &SignupId) -> Result<(), Error> {
    status_page::remove(tx, &About::Signup(signup.clone()))?;
    document::detach(tx, signup)?;
    tx.run("DELETE FROM signups WHERE id = $1", [signup.as_str()])?;
    Ok(())
}
