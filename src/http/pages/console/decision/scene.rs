//! The application that a form is about, with the data that a decision and its page need.

use crate::domain::candidate_step::{self, ApplicationStatus, CandidateStep, StepFacts};
use crate::domain::id::{ApplicationId, CandidateStepId, Id};
use crate::domain::refusal::Refusal;
use crate::domain::return_path;
use crate::domain::user::Principal;
use crate::http::pages::console::visit::{self, ABSENT, Visit};
use crate::http::server::body_fields::BodyFields;
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::application::Application;
use crate::store::candidate::Candidate;
use crate::store::{self, Error, Tx};

/// The maximum length, in characters, of the path of the page to which the browser returns.
const BACK_CHARACTERS_MAX: usize = 2_000;

/// The maximum length, in characters, of the name of an application's state.
const SEEN_CHARACTERS_MAX: usize = 64;

/// The application that a form names, the state that the page showed, and the page to which the browser returns.
pub(super) struct Target {
    pub(super) visit: Visit,
    application: ApplicationId,
    /// The state of the application that the page showed.
    pub(super) seen: Option<String>,
    /// The path of the page to which the browser returns; `None` for the candidate's page.
    back: Option<String>,
}

impl Target {
    /// # Errors
    /// `not_found` if the path has no valid id; `validation_error` if `lang` or `locale` is repeated.
    pub(super) fn decode(request: &Request, fields: &mut BodyFields) -> Result<Self, Refusal> {
        let back = fields.text("back", BACK_CHARACTERS_MAX);
        Ok(Self {
            visit: Visit::decode(request)?,
            application: visit::id(request, "id")?,
            seen: fields.text("seen", SEEN_CHARACTERS_MAX),
            back: back.as_deref().and_then(return_path::parse).map(str::to_owned),
        })
    }

    /// Decodes the request for a page that shows a form. The query may contain `back`.
    ///
    /// # Errors
    /// The errors of [`Target::decode`]; `validation_error` if `back` is repeated.
    pub(super) fn decode_page(request: &Request) -> Result<Self, Refusal> {
        let back = request.query("back")?;
        Ok(Self {
            visit: Visit::decode(request)?,
            application: visit::id(request, "id")?,
            seen: None,
            back: back.as_deref().and_then(return_path::parse).map(str::to_owned),
        })
    }

    /// Loads the application.
    ///
    /// # Errors
    /// `not_found` if the organization or the application does not exist, or the caller may not see it.
    pub(super) fn load(&self, tx: &Tx<'_>, who: &Principal) -> Result<Scene, Error> {
        Scene::load(tx, self.visit.organization(tx, who)?, &self.application)
    }

    /// Returns the path of the page to which the browser returns.
    pub(super) fn back(&self, scene: &Scene) -> String {
        let own = || candidate_path(&scene.organization.slug, scene.candidate.id.as_str());
        self.back.clone().unwrap_or_else(own)
    }

    /// Returns the path of [`Target::back()`] with the query parameter `done`, so that the page shows the message about
    /// the decision.
    pub(super) fn back_when_done(&self, scene: &Scene) -> String {
        let back = self.back(scene);
        let path = back.split('#').next().unwrap_or_default();
        let join = if path.contains('?') { '&' } else { '?' };
        format!("{path}{join}done={}", self.application)
    }
}

/// Returns the path of a candidate's page.
pub(in crate::http::pages::console) fn candidate_path(slug: &str, candidate: &str) -> String {
    format!("/app/{slug}/candidates/{candidate}")
}

/// An application of an organization that the caller may see.
pub(super) struct Scene {
    pub(super) organization: VisibleOrganization,
    pub(super) application: Application,
    pub(super) candidate: Candidate,
    pub(super) steps: Vec<CandidateStep>,
}

impl Scene {
    /// Loads an application of an organization that the caller may see.
    ///
    /// # Errors
    /// `not_found` if the organization has no such application.
    pub(super) fn load(tx: &Tx<'_>, organization: VisibleOrganization, id: &ApplicationId) -> Result<Self, Error> {
        let application = store::application::find(tx, &organization.id, id)?.ok_or(ABSENT)?;
        let candidate = store::candidate::find(tx, &organization.id, &application.candidate_id)?.ok_or(ABSENT)?;
        let steps = store::candidate_step::of_application(tx, &application.record.id)?;
        Ok(Self { organization, application, candidate, steps })
    }

    /// Loads the facts for a decision at one of the application's steps.
    ///
    /// # Errors
    /// `not_found` if the application has no such step.
    pub(super) fn facts(&self, tx: &Tx<'_>, who: &Principal, step: &CandidateStepId) -> Result<StepFacts, Error> {
        let is_own = self.steps.iter().any(|own| own.id == *step);
        let facts = if is_own { store::candidate_step::load(tx, who, step)? } else { None };
        Ok(facts.ok_or(ABSENT)?)
    }

    /// Loads the facts at the current step or, if no step is current, at the final step.
    ///
    /// # Errors
    /// `not_found` for an application without steps.
    pub(super) fn facts_here(&self, tx: &Tx<'_>, who: &Principal) -> Result<StepFacts, Error> {
        let current = candidate_step::current_step(self.status(), &self.steps);
        let step = current.or(self.steps.last()).ok_or(ABSENT)?;
        self.facts(tx, who, &step.id.clone())
    }

    /// Checks that the caller may decide, and that the application is still in the state that the page showed.
    ///
    /// # Errors
    /// `forbidden` for a plain member; `conflict` if the state has changed.
    pub(super) fn require_open_to(&self, target: &Target) -> Result<(), Refusal> {
        self.organization.caller.require_manager()?;
        candidate_step::require_as_seen(self.status(), &self.steps, target.seen.as_deref())
    }

    pub(super) fn status(&self) -> ApplicationStatus {
        self.application.record.status
    }

    /// Returns the name of the current step, if there is one.
    pub(super) fn step_name(&self) -> Option<&str> {
        self.application.current.as_ref().map(|current| current.name.as_str())
    }
}

/// Reads the id of the step that a form names.
///
/// # Errors
/// `not_found` if the form names no valid id.
pub(super) fn step_field(fields: &mut BodyFields) -> Result<CandidateStepId, Refusal> {
    let step = fields.string("step").unwrap_or_default();
    CandidateStepId::parse(&step).ok_or(ABSENT)
}
