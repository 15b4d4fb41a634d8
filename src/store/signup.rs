//! What candidates applied with, as they typed it, and applying itself: in one transaction with everything that it makes.
//! And what becomes of the later ones where the first goes.

use super::activity;
use super::candidate::{self, Candidate, acts};
use super::candidate_role;
use super::document;
use super::invitation::Invitation;
use super::role_step;
use super::status_page::sent::{self, Sent};
use super::status_page::{self, About};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Subject};
use crate::domain::attachment::AttachmentToken;
use crate::domain::candidate::{StepTemplate, first_steps};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, CandidateId, OrganizationId, RoleId, SignupId};
use crate::domain::signup::{AddressHolder, CheckedSignup, SignupOutcome, decide};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// An application that nothing is wrong with, on its way in.
#[derive(Debug, Clone)]
pub struct Wish {
    /// What was typed.
    pub checked: CheckedSignup,
    /// The language that it was typed in.
    pub locale: String,
    /// The digest of the token of the page where whoever sent it sees where they stand.
    pub digest: [u8; 32],
    /// The token of a staged document, which is there.
    pub document: Option<AttachmentToken>,
}

/// Applies to the role that a link leads to: a candidate where nobody has the address, an application where they have none
/// to this role, what was typed, and the page where they see where they stand. Where they have one, or were erased, nothing
/// but the last two, of which nobody can tell that it is so. The caller has looked whether the link leads to the form, and
/// that there is no page of this digest.
///
/// # Errors
/// When SQLite fails.
pub fn apply(tx: &Tx<'_>, world: &dyn World, invitation: &Invitation, wish: &Wish) -> Result<(), Error> {
    let CheckedSignup { name, email, .. } = &wish.checked;
    let (organization, role) = (&invitation.organization_id, &invitation.role_id);
    let made = make(tx, world, organization, &Applicant { role, name, email, applied_at: tx.now })?;
    if let (None, Some((candidate, former))) = (&made.application, &made.former) {
        note_later(tx, world, organization, role, candidate, former)?;
    }
    let id: SignupId = world.id();
    insert(tx, &id, invitation, &made, wish)?;
    if let Some(token) = &wish.document
        && !document::attach(tx, token, &id)?
    {
        return Err(Error::Defect("a document that was there is gone".to_owned()));
    }
    let about = made.application.map_or_else(|| About::Signup(id.clone()), About::Application);
    status_page::insert(tx, &wish.digest, &about, made.is_candidate, &wish.locale)
}

/// The candidate of an application was erased by whoever made it, and these came later under the same address. Each is what
/// it would be had the other not come: those that go on first, the first of them makes a candidate and an application of its
/// own, unless somebody else has its address by now. Their pages stay.
///
/// # Errors
/// When SQLite fails.
pub fn found_anew(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    later: &[SignupId],
) -> Result<(), Error> {
    let read = |id| sent::find(tx, id)?.ok_or_else(|| Error::Defect(format!("signup {id} is gone")));
    let mut signups = later.iter().map(read).collect::<Result<Vec<Sent>, Error>>()?;
    signups.sort_by_key(|sent| sent.withdrawn_at.is_some());
    for sent in &signups {
        let email = tx::word(&sent.email, Email::parse_stored)?;
        let applicant = Applicant { role: &sent.role_id, name: &sent.name, email: &email, applied_at: sent.sent_at };
        let made = make(tx, world, organization, &applicant)?;
        match &made.application {
            Some(application) => take_place(tx, world, organization, sent, application, made.is_candidate)?,
            None => {
                let sql = "UPDATE signups
                           SET later_of = $1
                           WHERE id = $2";
                let former = made.former.as_ref().map(|(_, application)| application.as_str());
                tx.run(sql, (former, sent.id.as_str()))?;
            }
        }
    }
    Ok(())
}

/// An application is the one that a signup made, and its page the signup's.
fn take_place(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    sent: &Sent,
    application: &ApplicationId,
    is_candidate: bool,
) -> Result<(), Error> {
    let sql = "UPDATE signups
               SET candidate_role_id = $1, later_of = NULL, steps = NULL
               WHERE id = $2";
    tx.run(sql, (application.as_str(), sent.id.as_str()))?;
    status_page::hand_over(tx, &sent.id, application, is_candidate)?;
    if sent.withdrawn_at.is_some()
        && let Some(application) = candidate_role::find(tx, organization, application)?
    {
        acts::withdraw(tx, None, organization, &application, None, &activity::stamp(world))?;
    }
    Ok(())
}

/// Who applies, to which role, and when.
struct Applicant<'a> {
    role: &'a RoleId,
    name: &'a str,
    email: &'a Email,
    applied_at: Timestamp,
}

/// What became of it.
struct Made {
    /// The application, where it made one.
    application: Option<ApplicationId>,
    /// Whether it made the candidate, too.
    is_candidate: bool,
    /// Where it made none: whose address it was, and the application that they had made.
    former: Option<(CandidateId, ApplicationId)>,
}

fn make(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    applicant: &Applicant<'_>,
) -> Result<Made, Error> {
    let Applicant { role, name, email, applied_at } = *applicant;
    let known = candidate::with_email(tx, organization, email)?;
    let former = known.as_ref().map(|candidate| candidate_role::to_role(tx, organization, &candidate.id, role));
    let former = former.transpose()?.flatten();
    let holder = known.as_ref().map_or(AddressHolder::Nobody, |candidate| AddressHolder::Candidate {
        has_applied: former.is_some(),
        is_erased: candidate.is_erased,
    });
    let outcome = decide(holder);
    let application = match (outcome, &known) {
        (SignupOutcome::Later, _) => None,
        (SignupOutcome::NewApplication, Some(candidate)) => {
            Some(add_application(tx, world, role, candidate, applied_at)?)
        }
        (SignupOutcome::NewApplication | SignupOutcome::NewCandidate, _) => {
            let candidate = add_candidate(tx, world, organization, name, email)?;
            Some(add_application(tx, world, role, &candidate, applied_at)?)
        }
    };
    let former = known.map(|candidate| candidate.id).zip(former);
    Ok(Made { application, is_candidate: outcome == SignupOutcome::NewCandidate, former })
}

fn add_candidate(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    name: &str,
    email: &Email,
) -> Result<Candidate, Error> {
    let record =
        candidate::Record { id: world.id(), name: name.to_owned(), email: email.clone(), privacy: Privacy::default() };
    acts::add(tx, None, organization, &record, &activity::stamp(world))
}

fn add_application(
    tx: &Tx<'_>,
    world: &dyn World,
    role: &RoleId,
    candidate: &Candidate,
    applied_at: Timestamp,
) -> Result<ApplicationId, Error> {
    let templates = role_step::of_role(tx, role)?.into_iter();
    let templates = templates.map(|step| StepTemplate { id: step.id, name: step.name, step_type: step.step_type });
    let steps = first_steps(templates.collect(), || world.id());
    let application =
        candidate_role::Record { id: world.id(), status: ApplicationStatus::InProgress, applied_at, hire: None };
    acts::apply(tx, None, candidate, role, &application, &steps, &activity::stamp(world))?;
    Ok(application.id)
}

/// Nothing changes, and staff learn that there is something to look at.
fn note_later(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    role: &RoleId,
    candidate: &CandidateId,
    former: &ApplicationId,
) -> Result<(), Error> {
    let subject = Subject {
        role_id: Some(role.clone()),
        candidate_role_id: Some(former.clone()),
        ..Subject::of_candidate(organization.clone(), candidate.clone())
    };
    let detail = activity::detail(&None::<()>, &None::<()>)?;
    activity::append(tx, &activity::stamp(world), None, Action::CandidateRoleSignedUpAgain, &subject, &detail)
}

fn insert(tx: &Tx<'_>, id: &SignupId, invitation: &Invitation, made: &Made, wish: &Wish) -> Result<(), Error> {
    let sql =
        "INSERT INTO signups (id, organization_id, role_id, candidate_role_id, later_of, steps, name, email, email_key,
                 phone, links, note, locale, consented_at, created_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)";
    let CheckedSignup { name, email, phone, links, note } = &wish.checked;
    let json = |texts: &[String]| {
        serde_json::to_string(texts).map_err(|error| Error::Defect(format!("texts are no JSON: {error}")))
    };
    // An application has steps of its own.
    let steps = match &made.application {
        Some(_) => None,
        None => {
            let steps = role_step::of_role(tx, &invitation.role_id)?;
            Some(json(&steps.into_iter().map(|step| step.name).collect::<Vec<_>>())?)
        }
    };
    let links = json(links)?;
    tx.run(
        sql,
        (
            id.as_str(),
            invitation.organization_id.as_str(),
            invitation.role_id.as_str(),
            made.application.as_ref().map(ApplicationId::as_str),
            made.former.as_ref().map(|(_, application)| application.as_str()),
            steps,
            name,
            email.as_str(),
            email.key(),
            phone,
            links,
            note,
            &wish.locale,
            tx.now.micros(),
        ),
    )?;
    Ok(())
}
