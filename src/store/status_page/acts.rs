//! What whoever has the link of a page does: take the application back, have what they sent deleted. And what staff do: make
//! a new link.

use serde::Serialize;

use super::claims;
use super::shown::{Applied, Candidate, Shown};
use super::{About, StatusPage};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{CandidateRoleId, SignupId};
use crate::domain::user::Principal;
use crate::store::candidate::acts;
use crate::store::erasure::{self, Erasures};
use crate::store::tx::{Error, Tx};
use crate::store::{activity, idempotency_key, signup};
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

/// Deletes what is behind a page's link, and the page. A link proves no more than its own application: what others have sent
/// stays with them, and so does the candidate as long as there is anything of it (see `claims`).
///
/// Only a page that is the candidate's own ([`StatusPage::is_trusted`]) tells that they are held. Behind another, what they
/// sent is held too, and its link leads nowhere as it would otherwise: whoever only knows an address learns nothing.
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
    let deleted = Deleted { tx, erasures, world, shown };
    match (&shown.application, &shown.former, &page.about) {
        (Some(applied), _, _) if applied.candidate.is_held => {
            ask(tx, world, shown, applied)?;
            if page.is_trusted {
                return Ok(Deletion::Held);
            }
            deleted.take_back(applied)?;
            super::remove(tx, &page.about)?;
        }
        (Some(applied), _, _) => deleted.application(applied)?,
        (None, Some(former), _) if former.is_held => super::remove(tx, &page.about)?,
        (None, former, About::Signup(id)) => deleted.later(id, former.as_ref())?,
        (None, ..) => {}
    }
    Ok(Deletion::Done)
}

/// A deletion that nothing holds up.
struct Deleted<'a> {
    tx: &'a Tx<'a>,
    erasures: &'a Erasures,
    world: &'a dyn World,
    shown: &'a Shown,
}

impl Deleted<'_> {
    /// An application that goes on is taken back.
    fn take_back(&self, applied: &Applied) -> Result<(), Error> {
        let application = &applied.application;
        if application.record.status != ApplicationStatus::InProgress {
            return Ok(());
        }
        let stamp = activity::stamp(self.world);
        acts::withdraw(self.tx, None, &self.shown.organization.id, application, None, &stamp)
    }

    fn application(&self, applied: &Applied) -> Result<(), Error> {
        let (tx, id) = (self.tx, &applied.application.record.id);
        if claims::are_there(tx, &applied.candidate.id, Some(id))? {
            self.beside_others(applied)
        } else {
            let later = claims::let_go(tx, id)?;
            self.erase(&applied.candidate)?;
            signup::found_anew(tx, self.world, &self.shown.organization.id, &later)
        }
    }

    /// The candidate stays for what others sent, or staff added: called as they typed it, where the name was this one's.
    fn beside_others(&self, applied: &Applied) -> Result<(), Error> {
        let (tx, world, shown) = (self.tx, self.world, self.shown);
        self.take_back(applied)?;
        super::remove(tx, &About::Application(applied.application.record.id.clone()))?;
        if let Some(sent) = &shown.sent {
            erasure::signup::forget(tx, &sent.id)?;
            claims::rename(tx, world, &shown.organization.id, &applied.candidate, sent)?;
        }
        // Answers that are kept for repeats tell what was sent.
        idempotency_key::forget_candidate(tx, &applied.candidate.id)?;
        let detail = activity::detail(&None::<Status>, &None::<Status>)?;
        let (stamp, subject) = (activity::stamp(world), subject(shown, applied));
        activity::append(tx, &stamp, None, Action::CandidateRoleSignupDeleted, &subject, &detail)?;
        self.erasures.taken_away();
        Ok(())
    }

    /// A signup that came later. It may be the last that its candidate was kept for.
    fn later(&self, id: &SignupId, former: Option<&Candidate>) -> Result<(), Error> {
        erasure::signup::forget(self.tx, id)?;
        self.erasures.taken_away();
        let Some(former) = former else { return Ok(()) };
        idempotency_key::forget_candidate(self.tx, &former.id)?;
        if claims::are_there(self.tx, &former.id, None)? { Ok(()) } else { self.erase(former) }
    }

    fn erase(&self, candidate: &Candidate) -> Result<(), Error> {
        let (id, organization_id) = (candidate.id.clone(), self.shown.organization.id.clone());
        let candidate = erasure::Candidate { id, number: candidate.number, organization_id };
        erasure::erase(self.tx, self.erasures, self.world, None, std::slice::from_ref(&candidate))
    }
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
