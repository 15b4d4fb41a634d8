//! A request about a board, and the board's role.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::candidate_step::StepFacts;
use crate::domain::id::{self, ApplicationId, CandidateStepId, DecisionBatchId, Id, RoleId};
use crate::domain::user::Principal;
use crate::http::pages::console::visit::{self, ABSENT, Visit};
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::decision_batch::BatchRole;
use crate::store::role::RoleRecord;
use crate::store::{self, Error, Tx};

/// The value of `step` that shows the hired candidates on a narrow screen.
pub(super) const HIRED: &str = "hired";

/// A request about a board.
pub(super) struct BoardInput {
    pub(super) visit: Visit,
    pub(super) role: RoleId,
    /// The id of the step that a narrow screen shows, or [`HIRED`].
    pub(super) step: Option<String>,
    /// The application of the decision that led to this page.
    pub(super) done: Option<ApplicationId>,
    /// The decision on several candidates that led to this page.
    pub(super) decided: Option<Decided>,
}

/// A decision on several candidates.
pub(super) struct Decided {
    pub(super) count: usize,
    pub(super) batch: Option<DecisionBatchId>,
    /// Whether the decision was undone.
    pub(super) is_undone: bool,
}

impl BoardInput {
    /// # Errors
    /// `not_found` if the path has no valid id; `validation_error` if `lang` or `locale` is repeated.
    pub(super) fn of_form(request: &Request, view: Option<String>) -> Result<Self, Error> {
        let role = visit::id(request, "id")?;
        Ok(Self { visit: Visit::decode(request)?, role, step: view, done: None, decided: None })
    }

    /// # Errors
    /// `not_found` if the role does not exist in the organization, or the caller may not see it.
    pub(super) fn load(&self, tx: &Tx<'_>, who: &Principal) -> Result<Scene, Error> {
        let organization = self.visit.organization(tx, who)?;
        let role = store::role::find(tx, &organization.id, &self.role)?.ok_or(ABSENT)?.record;
        Ok(Scene { organization, role })
    }
}

/// A role of an organization that the caller may see.
pub(super) struct Scene {
    pub(super) organization: VisibleOrganization,
    pub(super) role: RoleRecord,
}

impl Scene {
    pub(super) fn path(&self) -> String {
        format!("/app/{}/roles/{}", self.organization.slug, self.role.id)
    }

    /// Returns the ids by which decision batches identify the role.
    pub(super) fn batch_role(&self) -> BatchRole<'_> {
        BatchRole { organization_id: &self.organization.id, id: &self.role.id }
    }

    /// Returns the path at which the board asks for changes.
    pub(super) fn changes_path(&self) -> String {
        format!("{}/changes", self.path())
    }

    /// Returns the URL of the board. `step` is the step that a narrow screen shows, or [`HIRED`]. A value that could
    /// not be an id is ignored.
    pub(super) fn url(&self, step: Option<&str>) -> String {
        let path = self.path();
        step.filter(|step| id::is_id(step)).map_or_else(|| path.clone(), |step| format!("{path}?step={step}"))
    }

    /// Loads the facts about a candidate step of an application to the role. Returns `None` if `card` names no such
    /// step.
    pub(super) fn facts(&self, tx: &Tx<'_>, who: &Principal, card: &str) -> Result<Option<StepFacts>, Error> {
        let Some(step) = CandidateStepId::parse(card) else { return Ok(None) };
        let facts = store::candidate_step::load(tx, who, &step)?;
        Ok(facts.filter(|facts| facts.organization_id == self.organization.id && facts.role_id == self.role.id))
    }

    /// Returns the path of the organization's candidates.
    pub(super) fn candidates(&self) -> String {
        format!("/app/{}/candidates", self.organization.slug)
    }

    /// Returns the URL of the page that hires a candidate and leads back to the board.
    pub(super) fn hire_url(&self, application: &ApplicationId) -> String {
        let back = utf8_percent_encode(&self.path(), NON_ALPHANUMERIC).to_string();
        format!("/app/{}/applications/{application}/hire?back={back}", self.organization.slug)
    }
}
