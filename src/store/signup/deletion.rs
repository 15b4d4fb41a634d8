//! Deletion of signups, with their attachments and status pages.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, Id, SignupId};
use crate::store::status_page::{self, PageSubject};
use crate::store::{attachment, signup};

/// Deletes all signups of a candidate, and the status pages of all the candidate's applications. Detaches the
/// attachments that imports added to the applications.
pub(in crate::store) fn delete_of_candidate(tx: &Tx<'_>, candidate: &CandidateId) -> Result<(), Error> {
    let sql = "SELECT id
               FROM candidate_roles
               WHERE candidate_id = $1";
    let applications = tx.all(sql, [candidate.as_str()], |row| Columns::of(row).parse(ApplicationId::parse))?;
    for application in applications {
        attachment::imported::detach_of_application(tx, &application)?;
        status_page::remove(tx, &PageSubject::Application(application))?;
    }
    signup::ids_of_candidate(tx, candidate)?.iter().try_for_each(|signup| delete(tx, signup))
}

/// Deletes a signup and, if it is a later signup, its status page. Detaches the attachments, which the sweep deletes
/// later.
pub(in crate::store) fn delete(tx: &Tx<'_>, signup: &SignupId) -> Result<(), Error> {
    status_page::remove(tx, &PageSubject::LaterSignup(signup.clone()))?;
    attachment::detach(tx, signup)?;
    tx.run("DELETE FROM signups WHERE id = $1", [signup.as_str()])?;
    Ok(())
}
