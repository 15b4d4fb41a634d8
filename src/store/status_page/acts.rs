//! What whoever has the link of a page does: take the application back, have what they sent deleted. And what staff do: make
//! a new link.

use serde::Serialize;

use super::shown::{Applied, Shown};
use super::{About, StatusPage};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{CandidateRoleId, SignupId};
use crate::domain::user::Principal;
use crate::store::candidate::acts;
use crate::store::candidate_role::Application;
use crate::store::erasure::{self, Candidate, Erasures};
use crate::store::tx::{Error, Tx};
use crate::store::{activity, idempotency_key};
use crate::world::World;

/// Takes back what a page is about. An application that was decided on stays as it was decided, and what the candidate did is
/// on record.
///
/// # Errors
/// When SQLite fails.
pub fn withdraw(tx: &Tx<'_>, world: &dyn World, page: &StatusPage, shown: &Shown) -> Result<(), Error> {
    if let Some(applied) = &shown.application {
        let stamp = activity::stamp(world);
        if applied.application.record.status == ApplicationStatus::InProgress {
            acts::withdraw(tx, None, &shown.organization.id, &applied.application, None, &stamp)?;
        } else {
            let side = Status { application: applied.application.record.status.as_str() };
            let detail = activity::detail(&side, &side)?;
            activity::append(tx, &stamp, None, Action::CandidateRoleWithdrawn, &subject(shown, applied), &detail)?;
        }
    }
    super::withdraw(tx, page.number)
}

/// What a deletion came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is done: nothing is left behind the link.
    Done,
    /// The candidate is held: nothing but that they asked.
    Held,
}

/// Deletes what is behind a page's link, and the page. A link proves no more than its own application, so the candidate is
/// erased only where they have no other; else what they sent with this one goes, and it is taken back where it goes on.
///
/// # Errors
/// [`Error::Unavailable`] where the list of who was erased cannot be written. When SQLite fails.
pub fn delete(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    page: &StatusPage,
    shown: &Shown,
) -> Result<Deletion, Error> {
    let Some(applied) = &shown.application else {
        if let About::Signup(id) = &page.about {
            forget_signup(tx, id)?;
        }
        erasure::erase(tx, erasures, world, None, &[])?;
        return Ok(Deletion::Done);
    };
    if applied.candidate.is_held {
        ask(tx, world, shown, applied)?;
        return Ok(Deletion::Held);
    }
    let application = &applied.application;
    if has_others(tx, application)? {
        if application.record.status == ApplicationStatus::InProgress {
            let stamp = activity::stamp(world);
            acts::withdraw(tx, None, &shown.organization.id, application, None, &stamp)?;
        }
        forget(tx, application)?;
        // Answers that are kept for repeats tell what was sent.
        idempotency_key::forget_candidate(tx, &applied.candidate.id)?;
        let detail = activity::detail(&None::<Status>, &None::<Status>)?;
        let (stamp, subject) = (activity::stamp(world), subject(shown, applied));
        activity::append(tx, &stamp, None, Action::CandidateRoleSignupDeleted, &subject, &detail)?;
        // Nobody is erased, and what is left of the rows in the file's pages is wiped all the same.
        erasure::erase(tx, erasures, world, None, &[])?;
    } else {
        let shown_candidate = &applied.candidate;
        let (id, organization_id) = (shown_candidate.id.clone(), shown.organization.id.clone());
        let candidate = Candidate { id, number: shown_candidate.number, organization_id };
        erasure::erase(tx, erasures, world, None, std::slice::from_ref(&candidate))?;
        forget(tx, application)?;
    }
    Ok(Deletion::Done)
}

/// Puts on record that a candidate who is held asked to be erased. Asked again, it was asked already.
fn ask(tx: &Tx<'_>, world: &dyn World, shown: &Shown, applied: &Applied) -> Result<(), Error> {
    if applied.candidate.asked_at.is_some() {
        return Ok(());
    }
    let detail = activity::detail(&None::<Status>, &None::<Status>)?;
    let (stamp, subject) = (activity::stamp(world), subject(shown, applied));
    activity::append(tx, &stamp, None, Action::CandidateErasureAsked, &subject, &detail)
}

/// Makes a new link of an application's page, and the page where there is none. The link itself is not on record.
///
/// # Errors
/// When SQLite fails.
pub fn issue(
    tx: &Tx<'_>,
    who: &Principal,
    subject: &Subject,
    application: &CandidateRoleId,
    digest: &[u8; 32],
    locale: &str,
    stamp: &Stamp,
) -> Result<(), Error> {
    super::renew(tx, digest, application, locale)?;
    let detail = activity::detail(&None::<Link<'_>>, &Link { locale })?;
    activity::append(tx, stamp, Some(who), Action::StatusLinkIssued, subject, &detail)
}

/// What was sent with an application, and its page.
fn forget(tx: &Tx<'_>, application: &Application) -> Result<(), Error> {
    let id = application.record.id.as_str();
    let sql = "DELETE FROM status_pages
               WHERE candidate_role_id = $1";
    tx.run(sql, [id])?;
    let sql = "SELECT id
               FROM signups
               WHERE candidate_role_id = $1";
    let signups = tx.all(sql, [id], |row| Ok(row.get::<_, String>(0)?))?;
    signups.iter().try_for_each(|signup| forget_by_id(tx, signup))
}

fn forget_signup(tx: &Tx<'_>, signup: &SignupId) -> Result<(), Error> {
    let sql = "DELETE FROM status_pages
               WHERE signup_id = $1";
    tx.run(sql, [signup.as_str()])?;
    forget_by_id(tx, signup.as_str())
}

fn forget_by_id(tx: &Tx<'_>, signup: &str) -> Result<(), Error> {
    let sql = "DELETE FROM document_pieces
               WHERE document_number IN (SELECT number FROM documents WHERE signup_id = $1)";
    tx.run(sql, [signup])?;
    let sql = "DELETE FROM documents
               WHERE signup_id = $1";
    tx.run(sql, [signup])?;
    let sql = "DELETE FROM signups
               WHERE id = $1";
    tx.run(sql, [signup])?;
    Ok(())
}

/// Whether the candidate has applied to other roles.
fn has_others(tx: &Tx<'_>, application: &Application) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM candidate_roles
               WHERE candidate_id = $1 AND id <> $2";
    tx.exists(sql, (application.candidate_id.as_str(), application.record.id.as_str()))
}

fn subject(shown: &Shown, applied: &Applied) -> Subject {
    let Applied { application, candidate, .. } = applied;
    Subject {
        role_id: Some(application.role_id.clone()),
        candidate_role_id: Some(application.record.id.clone()),
        ..Subject::of_candidate(shown.organization.id.clone(), candidate.id.clone())
    }
}

#[derive(Serialize)]
struct Status {
    application: &'static str,
}

#[derive(Serialize)]
struct Link<'a> {
    locale: &'a str,
}
