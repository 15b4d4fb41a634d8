//! What whoever has the link of a page does: take the application back, have what they sent deleted. And what staff do: make
//! a new link.

use serde::Serialize;

use super::claims;
use super::sent;
use super::shown::{self, Applied, Candidate, Shown};
use super::{About, StatusPage};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::{CandidateRef, deferred as deferred_erasure};
use crate::domain::id::{ApplicationId, SignupId};
use crate::domain::user::Principal;
use crate::store::candidate::acts;
use crate::store::erasure::candidate::erase_own;
use crate::store::erasure::progress::Erasures;
use crate::store::erasure::{deferred, signup};
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
        (Some(applied), _, _) if applied.candidate.is_held && page.is_trusted => {
            if applied.candidate.asked_at.is_none() {
                note(tx, world, shown, applied, Action::CandidateErasureAsked)?;
            }
            return Ok(Deletion::Held);
        }
        (Some(applied), _, _) if applied.candidate.is_held => {
            take_back(tx, world, shown, applied)?;
            super::remove(tx, &page.about)?;
            note(tx, world, shown, applied, Action::CandidateRoleDeletionAsked)?;
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
    fn application(&self, applied: &Applied) -> Result<(), Error> {
        let (tx, id) = (self.tx, &applied.application.record.id);
        if claims::are_there(tx, &applied.candidate.id, Some(id))? {
            if let Some(sent) = &self.shown.sent {
                self.erasures.record_signup(&sent.id)?;
            }
            beside_others(tx, self.world, self.shown, applied)
        } else {
            self.erase(&applied.candidate, Some(applied))
        }
    }

    /// A signup that came later. It may be the last that its candidate was kept for.
    fn later(&self, id: &SignupId, former: Option<&Candidate>) -> Result<(), Error> {
        self.erasures.record_signup(id)?;
        forget_later(self.tx, id, former)?;
        let Some(former) = former else { return Ok(()) };
        if claims::are_there(self.tx, &former.id, None)? { Ok(()) } else { self.erase(former, None) }
    }

    /// Erases the candidate; one with a hire that their page does not show yet is erased later. Staff would lose somebody whom
    /// they have hired otherwise, and a refusal here would tell of the hire.
    fn erase(&self, candidate: &Candidate, applied: Option<&Applied>) -> Result<(), Error> {
        let Shown { organization, .. } = self.shown;
        let (id, organization_id) = (candidate.id.clone(), organization.id.clone());
        let candidate = CandidateRef { id, number: candidate.number, organization_id };
        let (tx, hours) = (self.tx, organization.visible_after_hours);
        let hires = deferred::hires(tx, &organization.id, &candidate.id)?;
        if deferred_erasure::has_hidden_hire(&hires, hours, tx.now) {
            return self.ask(&candidate, applied);
        }
        erase_own(tx, self.erasures, self.world, &candidate)
    }

    /// The page goes as it would with an erasure, and that the candidate asked is on record.
    fn ask(&self, candidate: &CandidateRef, applied: Option<&Applied>) -> Result<(), Error> {
        let Self { tx, world, shown, .. } = *self;
        deferred::insert(tx, candidate, applied.map(|applied| &applied.application.record.id))?;
        let Some(applied) = applied else {
            let subject = Subject::of_candidate(candidate.organization_id.clone(), candidate.id.clone());
            let detail = activity::detail(&None::<Status>, &None::<Status>)?;
            let action = Action::CandidateErasureAsked;
            return activity::append(tx, &activity::stamp(world), None, action, &subject, &detail);
        };
        take_back(tx, world, shown, applied)?;
        super::remove(tx, &About::Application(applied.application.record.id.clone()))?;
        note(tx, world, shown, applied, Action::CandidateRoleDeletionAsked)
    }
}

/// Carries out what a candidate asked for while a hire was hidden from them: what the deletion would have done, by what there
/// is of them now.
///
/// # Errors
/// As [`delete`].
pub(in crate::store) fn carry_out(
    tx: &Tx<'_>,
    erasures: &Erasures,
    world: &dyn World,
    candidate: &CandidateRef,
    application: Option<&ApplicationId>,
) -> Result<(), Error> {
    if !claims::are_there(tx, &candidate.id, application)? {
        return erase_own(tx, erasures, world, candidate);
    }
    let Some(application) = application else { return Ok(()) };
    let shown = shown::about(tx, &About::Application(application.clone()))?;
    let Some((shown, applied)) = shown.as_ref().and_then(|shown| Some((shown, shown.application.as_ref()?))) else {
        return Ok(());
    };
    if let Some(sent) = &shown.sent {
        erasures.record_signup(&sent.id)?;
    }
    beside_others(tx, world, shown, applied)
}

/// An application that goes on is taken back.
fn take_back(tx: &Tx<'_>, world: &dyn World, shown: &Shown, applied: &Applied) -> Result<(), Error> {
    let application = &applied.application;
    if application.record.status != ApplicationStatus::InProgress {
        return Ok(());
    }
    acts::withdraw(tx, None, &shown.organization.id, application, None, &activity::stamp(world))
}

/// The candidate stays for what others sent, or staff added: called as they typed it, where the name was this one's.
fn beside_others(tx: &Tx<'_>, world: &dyn World, shown: &Shown, applied: &Applied) -> Result<(), Error> {
    take_back(tx, world, shown, applied)?;
    super::remove(tx, &About::Application(applied.application.record.id.clone()))?;
    // On record first: only behind this row may the details of earlier ones be emptied.
    note(tx, world, shown, applied, Action::CandidateRoleSignupDeleted)?;
    if let Some(sent) = &shown.sent {
        signup::delete(tx, &sent.id)?;
        claims::rename(tx, world, &shown.organization.id, &applied.candidate, sent)?;
    }
    // Stored responses contain what was sent.
    idempotency_key::erase_candidate(tx, &applied.candidate.id)
}

/// The same of a signup that came later.
fn forget_later(tx: &Tx<'_>, id: &SignupId, former: Option<&Candidate>) -> Result<(), Error> {
    signup::delete(tx, id)?;
    former.map_or(Ok(()), |former| idempotency_key::erase_candidate(tx, &former.id))
}

/// What somebody sent and had deleted is deleted once more, in an older copy of the file. Whoever it left nothing of is on
/// the list by themselves.
///
/// # Errors
/// When SQLite fails.
pub(in crate::store) fn delete_again(tx: &Tx<'_>, world: &dyn World, id: &SignupId) -> Result<(), Error> {
    let Some(sent) = sent::find(tx, id)? else { return Ok(()) };
    let about = sent.application.map_or_else(|| About::Signup(id.clone()), About::Application);
    let shown = shown::about(tx, &about)?;
    match shown.as_ref().and_then(|shown| Some((shown, shown.application.as_ref()?))) {
        Some((shown, applied)) => beside_others(tx, world, shown, applied),
        None => forget_later(tx, id, shown.and_then(|shown| shown.former).as_ref()),
    }
}

/// Puts on record what whoever has a link did, which the action says all of.
fn note(tx: &Tx<'_>, world: &dyn World, shown: &Shown, applied: &Applied, action: Action) -> Result<(), Error> {
    let detail = activity::detail(&None::<Status>, &None::<Status>)?;
    activity::append(tx, &activity::stamp(world), None, action, &subject(shown, applied), &detail)
}

/// Makes a new link of an application's page, and the page where there is none. The link itself is not on record.
///
/// # Errors
/// When SQLite fails.
pub fn issue(
    tx: &Tx<'_>,
    who: &Principal,
    subject: &Subject,
    application: &ApplicationId,
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
