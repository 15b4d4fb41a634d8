//! Submission of the signup form. One transaction stores the signup and, if the rule requires them, creates the
//! candidate and the application.

use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Subject};
use crate::domain::attachment::AttachmentToken;
use crate::domain::candidate::{StepTemplate, first_steps};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::erasure::Privacy;
use crate::domain::id::{ApplicationId, CandidateId, OrganizationId, RoleId, SignupId};
use crate::domain::signup::{AddressHolder, CheckedSignup, SignupOutcome, decide};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::application::{self, ApplicationRecord};
use crate::store::candidate::{self, Candidate, CandidateRecord};
use crate::store::invitation::Invitation;
use crate::store::status_page::{self, PageSubject};
use crate::store::{activity, attachment, role_step};
use crate::world::World;

/// The input from a valid form.
#[derive(Debug, Clone)]
pub struct SignupInput {
    /// The fields of the form.
    pub checked: CheckedSignup,
    /// The language of the form.
    pub locale: String,
    /// The digest of the status page's token.
    pub digest: [u8; 32],
    /// The token of the staged attachment; `None` if the applicant attached nothing. The attachment must exist.
    pub attachment: Option<AttachmentToken>,
}

/// Submits a form for the role of a signup link. Creates the signup and its status page. The rule ([`decide`])
/// determines whether a candidate and an application are created too. Before calling this function, check that the link
/// leads to the form and that no page has the digest in `input`.
pub fn submit(tx: &Tx<'_>, world: &dyn World, invitation: &Invitation, input: &SignupInput) -> Result<(), Error> {
    let CheckedSignup { name, email, .. } = &input.checked;
    let (organization, role) = (&invitation.organization_id, &invitation.role_id);
    let applicant = Applicant { role, name, email, applied_at: tx.now };
    let application = create_application(tx, world, organization, &applicant)?;
    if let (None, Some(prior)) = (&application.created, &application.prior) {
        record_later_signup(tx, world, organization, role, prior)?;
    }
    let id: SignupId = world.id();
    insert(tx, &id, invitation, &application, input)?;
    if let Some(token) = &input.attachment
        && !attachment::claim(tx, token, &id)?
    {
        return Err(Error::Defect("a staged attachment is gone".to_owned()));
    }
    let is_trusted = application.outcome.proves_identity();
    let subject = application.created.map_or_else(|| PageSubject::LaterSignup(id), PageSubject::Application);
    status_page::insert(tx, &input.digest, &subject, is_trusted, &input.locale)
}

/// A person who applies for a role.
pub(super) struct Applicant<'a> {
    pub(super) role: &'a RoleId,
    pub(super) name: &'a str,
    pub(super) email: &'a Email,
    pub(super) applied_at: Timestamp,
}

/// The outcome of a signup, with the application that it created and any earlier one.
pub(super) struct SignupApplication {
    pub(super) outcome: SignupOutcome,
    /// The application that the signup created; `None` for a later signup.
    pub(super) created: Option<ApplicationId>,
    /// The earlier application for the role under the same address.
    pub(super) prior: Option<PriorApplication>,
}

pub(super) struct PriorApplication {
    pub(super) candidate: CandidateId,
    pub(super) application: ApplicationId,
}

/// Creates the candidate and the application if the rule requires them.
pub(super) fn create_application(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    applicant: &Applicant<'_>,
) -> Result<SignupApplication, Error> {
    let holder = candidate::with_email(tx, organization, applicant.email)?;
    let prior = match &holder {
        Some(candidate) => application::to_role(tx, organization, &candidate.id, applicant.role)?,
        None => None,
    };
    let outcome = decide(holder.as_ref().map_or(AddressHolder::Nobody, |candidate| AddressHolder::Candidate {
        has_applied: prior.is_some(),
        is_erased: candidate.is_erased,
    }));
    let created = match (outcome, &holder) {
        (SignupOutcome::Later, _) => None,
        (SignupOutcome::NewApplication, Some(candidate)) => Some(add_application(tx, world, applicant, candidate)?),
        (SignupOutcome::NewApplication | SignupOutcome::NewCandidate, _) => {
            let candidate = add_candidate(tx, world, organization, applicant)?;
            Some(add_application(tx, world, applicant, &candidate)?)
        }
    };
    let prior = holder.zip(prior).map(|(holder, application)| PriorApplication { candidate: holder.id, application });
    Ok(SignupApplication { outcome, created, prior })
}

fn add_candidate(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    applicant: &Applicant<'_>,
) -> Result<Candidate, Error> {
    let (name, email) = (applicant.name.to_owned(), applicant.email.clone());
    let record = CandidateRecord { id: world.id(), name, email, privacy: Privacy::default() };
    candidate::recorded_act::add(tx, None, organization, &record, &activity::stamp(world))
}

fn add_application(
    tx: &Tx<'_>,
    world: &dyn World,
    applicant: &Applicant<'_>,
    candidate: &Candidate,
) -> Result<ApplicationId, Error> {
    let Applicant { role, applied_at, .. } = *applicant;
    let templates = role_step::of_role(tx, role)?.into_iter();
    let templates = templates.map(|step| StepTemplate { id: step.id, name: step.name, step_type: step.step_type });
    let steps = first_steps(templates.collect(), || world.id());
    let status = ApplicationStatus::InProgress;
    let record = ApplicationRecord { id: world.id(), status, applied_at, hire: None, later_due_on: None };
    application::recorded_act::add(tx, None, candidate, role, &record, &steps, &activity::stamp(world))?;
    Ok(record.id)
}

/// Records a later signup in the activity of the earlier application, so that staff notice the signup.
fn record_later_signup(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
    role: &RoleId,
    prior: &PriorApplication,
) -> Result<(), Error> {
    let subject = Subject {
        role_id: Some(role.clone()),
        candidate_role_id: Some(prior.application.clone()),
        ..Subject::of_candidate(organization.clone(), prior.candidate.clone())
    };
    let detail = activity::detail(&None::<()>, &None::<()>)?;
    activity::append(tx, &activity::stamp(world), None, Action::CandidateRoleSignedUpAgain, &subject, &detail)
}

fn insert(
    tx: &Tx<'_>,
    id: &SignupId,
    invitation: &Invitation,
    application: &SignupApplication,
    input: &SignupInput,
) -> Result<(), Error> {
    let sql =
        "INSERT INTO signups (id, organization_id, role_id, candidate_role_id, later_of, steps, name, email, email_key,
                 phone, links, note, locale, consented_at, created_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)";
    let CheckedSignup { name, email, phone, links, note } = &input.checked;
    let prior = application.prior.as_ref();
    let links = json(links)?;
    tx.run(
        sql,
        (
            id.as_str(),
            invitation.organization_id.as_str(),
            invitation.role_id.as_str(),
            application.created.as_ref().map(ApplicationId::as_str),
            prior.map(|prior| prior.application.as_str()),
            stored_steps(tx, &invitation.role_id, application)?,
            name,
            email.as_str(),
            email.key(),
            phone,
            links,
            note,
            &input.locale,
            tx.now.micros(),
        ),
    )?;
    Ok(())
}

/// Returns the names of the role's steps as JSON, for the status page of a later signup. Returns `None` if the
/// signup created an application, because an application has its own steps.
fn stored_steps(tx: &Tx<'_>, role: &RoleId, application: &SignupApplication) -> Result<Option<String>, Error> {
    if application.created.is_some() {
        return Ok(None);
    }
    let names: Vec<String> = role_step::of_role(tx, role)?.into_iter().map(|step| step.name).collect();
    json(&names).map(Some)
}

fn json(strings: &[String]) -> Result<String, Error> {
    serde_json::to_string(strings).map_err(|error| Error::Defect(format!("strings cannot be written as JSON: {error}")))
}
