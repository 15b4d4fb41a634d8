//! What candidates applied with, as they typed it, and applying itself: in one transaction with everything that it makes.

use super::activity;
use super::candidate::{self, Candidate, acts};
use super::candidate_role;
use super::document;
use super::invitation::Invitation;
use super::role_step;
use super::status_page::{self, About};
use super::tx::{Error, Tx};
use crate::domain::candidate::{Template, first_steps};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::document::Token;
use crate::domain::erasure::Privacy;
use crate::domain::id::{CandidateRoleId, SignupId};
use crate::domain::signup::{Checked, Holder, Outcome, decide};
use crate::world::World;

/// An application that nothing is wrong with, on its way in.
#[derive(Debug, Clone)]
pub struct Wish {
    /// What was typed.
    pub checked: Checked,
    /// The language that it was typed in.
    pub locale: String,
    /// The digest of the token of the page where whoever sent it sees where they stand.
    pub digest: [u8; 32],
    /// The token of a staged document, which is there.
    pub document: Option<Token>,
}

/// Applies to the role that a link leads to: a candidate where nobody has the address, an application where they have none
/// to this role, what was typed, and the page where they see where they stand. Where they have one, or were erased, nothing
/// but the last two, of which nobody can tell that it is so. The caller has looked whether the link leads to the form, and
/// that there is no page of this digest.
///
/// # Errors
/// When SQLite fails.
pub fn apply(tx: &Tx<'_>, world: &dyn World, invitation: &Invitation, wish: &Wish) -> Result<(), Error> {
    let (organization, role) = (&invitation.organization_id, &invitation.role_id);
    let known = candidate::with_email(tx, organization, &wish.checked.email)?;
    let holder = match &known {
        None => Holder::Nobody,
        Some(candidate) => Holder::Candidate {
            has_applied: candidate_role::has_applied(tx, organization, &candidate.id, role)?,
            is_erased: candidate.is_erased,
        },
    };
    let application = match (decide(holder), known) {
        (Outcome::Shadow, _) => None,
        (Outcome::NewApplication, Some(candidate)) => Some(add_application(tx, world, invitation, &candidate)?),
        (Outcome::NewApplication | Outcome::NewCandidate, _) => {
            let candidate = add_candidate(tx, world, invitation, &wish.checked)?;
            Some(add_application(tx, world, invitation, &candidate)?)
        }
    };
    let id: SignupId = world.id();
    insert(tx, &id, invitation, application.as_ref(), wish)?;
    if let Some(token) = &wish.document
        && !document::attach(tx, token, &id)?
    {
        return Err(Error::Defect("a document that was there is gone".to_owned()));
    }
    let about = application.map_or_else(|| About::Signup(id.clone()), About::Application);
    status_page::insert(tx, &wish.digest, &about, &wish.locale)
}

fn add_candidate(
    tx: &Tx<'_>,
    world: &dyn World,
    invitation: &Invitation,
    checked: &Checked,
) -> Result<Candidate, Error> {
    let record = candidate::Record {
        id: world.id(),
        name: checked.name.clone(),
        email: checked.email.clone(),
        privacy: Privacy::default(),
    };
    acts::add(tx, None, &invitation.organization_id, &record, &activity::stamp(world))
}

fn add_application(
    tx: &Tx<'_>,
    world: &dyn World,
    invitation: &Invitation,
    candidate: &Candidate,
) -> Result<CandidateRoleId, Error> {
    let templates = role_step::of_role(tx, &invitation.role_id)?.into_iter();
    let templates = templates.map(|step| Template { id: step.id, name: step.name, step_type: step.step_type });
    let steps = first_steps(templates.collect(), || world.id());
    let application = candidate_role::Record {
        id: world.id(),
        status: ApplicationStatus::InProgress,
        applied_at: tx.now,
        hire: None,
    };
    acts::apply(tx, None, candidate, &invitation.role_id, &application, &steps, &activity::stamp(world))?;
    Ok(application.id)
}

fn insert(
    tx: &Tx<'_>,
    id: &SignupId,
    invitation: &Invitation,
    application: Option<&CandidateRoleId>,
    wish: &Wish,
) -> Result<(), Error> {
    let sql =
        "INSERT INTO signups (id, organization_id, role_id, candidate_role_id, name, email, email_key, phone, links,
                 note, locale, consented_at, created_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)";
    let Checked { name, email, phone, links, note } = &wish.checked;
    let links = serde_json::to_string(links).map_err(|error| Error::Defect(format!("links are no JSON: {error}")))?;
    tx.run(
        sql,
        (
            id.as_str(),
            invitation.organization_id.as_str(),
            invitation.role_id.as_str(),
            application.map(CandidateRoleId::as_str),
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
