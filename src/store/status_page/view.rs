//! The view of a status page for the holder of its link, with the facts that acts on the page need.

use std::time::Duration;

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::Subject;
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{ApplicationId, CandidateId, Id, OrganizationId, SignupId};
use crate::domain::progress::role_end::{RoleEnd, RoleState, visible_role_end};
use crate::domain::progress::{self, ApplicationHistory, Progress};
use crate::domain::role::RoleStatus;
use crate::domain::timestamp::Timestamp;
use crate::store::application::{self, Application};
use crate::store::candidate_step;
use crate::store::signup::{self, Signup};
use crate::store::status_page::{PageSubject, StatusPage};

/// The content of a status page.
#[derive(Debug, Clone)]
pub struct StatusPageView {
    pub organization: PageOrganization,
    pub role_name: String,
    pub role: RoleState,
    /// The time at which the holder applied.
    pub applied_at: Timestamp,
    /// The names of the steps in order.
    pub steps: Vec<String>,
    /// The application; `None` on the page of a later signup.
    pub application: Option<PageApplication>,
    /// On the page of a later signup, the candidate who had applied under the same address. The page shows nothing
    /// about this candidate.
    pub prior_candidate: Option<PageCandidate>,
    /// The signup; `None` if staff or an import added the application, or if the signup was deleted.
    pub signup: Option<Signup>,
}

/// The part of an organization that its status pages need.
#[derive(Debug, Clone)]
pub struct PageOrganization {
    pub id: OrganizationId,
    pub name: String,
    pub slug: String,
    /// Whether the organization has a portal that the page can link to.
    pub has_portal: bool,
    pub has_logo: bool,
    /// The IANA time zone of the dates on the page.
    pub time_zone: String,
    /// The number of hours after which the page shows rejections, hires, reversals of hires, and the end of the role;
    /// `None` if the page never shows them.
    pub visible_after_hours: Option<u32>,
}

impl PageOrganization {
    /// Returns `visible_after_hours` as a duration.
    fn visible_after(&self) -> Option<Duration> {
        self.visible_after_hours.map(|hours| Duration::from_secs(u64::from(hours) * 3_600))
    }
}

/// The application of a page.
#[derive(Debug, Clone)]
pub struct PageApplication {
    pub application: Application,
    pub history: ApplicationHistory,
    pub candidate: PageCandidate,
}

impl PageApplication {
    pub(super) fn is_in_progress(&self) -> bool {
        self.application.record.status == ApplicationStatus::InProgress
    }
}

/// A candidate who has not been erased.
#[derive(Debug, Clone)]
pub struct PageCandidate {
    pub id: CandidateId,
    /// The candidate's number in the database.
    pub number: i64,
    pub name: String,
    pub email: String,
    /// Whether a legal hold prevents the candidate's erasure.
    pub is_held: bool,
    /// The last time at which the candidate asked on this page for erasure while a hold prevented it.
    pub asked_at: Option<Timestamp>,
}

impl StatusPageView {
    /// Returns the progress that the page shows.
    pub fn progress(&self, page: &StatusPage, now: Timestamp) -> Progress {
        match &self.application {
            Some(application) => {
                let delay = self.organization.visible_after();
                progress::visible_progress(&application.history, page.withdrawn_at, delay, now)
            }
            None if page.withdrawn_at.is_some() => Progress::untouched(self.steps.len(), ApplicationStatus::Withdrawn),
            None => Progress::untouched(self.steps.len(), ApplicationStatus::InProgress),
        }
    }

    /// Returns the end of the role that the page shows with this progress.
    pub fn role_end(&self, progress: &Progress, now: Timestamp) -> Option<RoleEnd> {
        visible_role_end(self.role, progress, self.organization.visible_after(), now)
    }

    /// Returns the subject for an activity row about the page's application.
    pub(super) fn activity_subject(&self, application: &PageApplication) -> Subject {
        let PageApplication { application, candidate, .. } = application;
        Subject {
            role_id: Some(application.role_id.clone()),
            candidate_role_id: Some(application.record.id.clone()),
            ..Subject::of_candidate(self.organization.id.clone(), candidate.id.clone())
        }
    }
}

/// Loads the view of a page. Returns `None` if the candidate of the page's application was erased.
pub fn load(tx: &Tx<'_>, page: &StatusPage) -> Result<Option<StatusPageView>, Error> {
    load_subject(tx, &page.subject)
}

pub(super) fn load_subject(tx: &Tx<'_>, subject: &PageSubject) -> Result<Option<StatusPageView>, Error> {
    match subject {
        PageSubject::Application(id) => load_application(tx, id),
        PageSubject::LaterSignup(id) => load_later_signup(tx, id).map(Some),
    }
}

fn load_application(tx: &Tx<'_>, id: &ApplicationId) -> Result<Option<StatusPageView>, Error> {
    let sql = "SELECT r.organization_id, r.status, r.ended_at
               FROM candidate_roles a
               JOIN roles r ON r.id = a.role_id
               WHERE a.id = $1";
    let gone = || Error::Defect(format!("application {id} of a status page is gone"));
    let found = tx.one(sql, [id.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(OrganizationId::parse)?, role_state(&mut columns)?))
    })?;
    let (organization, role) = found.ok_or_else(gone)?;
    let organization = load_organization(tx, &organization)?;
    let application = application::find(tx, &organization.id, id)?.ok_or_else(gone)?;
    let Some(candidate) = load_candidate(tx, &application.candidate_id, Some(id))? else { return Ok(None) };
    let steps = candidate_step::of_application(tx, id)?;
    let signup = signup::of_application(tx, id)?;
    let history = candidate_step::history(tx, &application, &steps)?;
    Ok(Some(StatusPageView {
        organization,
        role_name: application.role_name.clone(),
        role,
        applied_at: signup.as_ref().map_or(application.record.applied_at, |signup| signup.submitted_at),
        steps: steps.into_iter().map(|step| step.name).collect(),
        application: Some(PageApplication { application, history, candidate }),
        prior_candidate: None,
        signup,
    }))
}

/// Loads the view of the page of a later signup. The page looks like the page of an application without decisions, and
/// shows the steps that the role had at the time of the signup.
fn load_later_signup(tx: &Tx<'_>, id: &SignupId) -> Result<StatusPageView, Error> {
    let sql = "SELECT r.name, r.organization_id, r.status, r.ended_at, a.candidate_id
               FROM signups s
               JOIN roles r ON r.id = s.role_id
               LEFT JOIN candidate_roles a ON a.id = s.later_of
               WHERE s.id = $1";
    let gone = || Error::Defect(format!("signup {id} of a status page is gone"));
    let found: Option<(String, _, _, _)> = tx.one(sql, [id.as_str()], |row| {
        let mut columns = Columns::of(row);
        let (name, organization) = (columns.read()?, columns.parse(OrganizationId::parse)?);
        Ok((name, organization, role_state(&mut columns)?, columns.parse_or_none(CandidateId::parse)?))
    })?;
    let (role_name, organization, role, prior) = found.ok_or_else(gone)?;
    let signup = signup::find(tx, id)?.ok_or_else(gone)?;
    Ok(StatusPageView {
        organization: load_organization(tx, &organization)?,
        role_name,
        role,
        applied_at: signup.submitted_at,
        steps: signup.steps.clone(),
        application: None,
        prior_candidate: prior.map(|prior| load_candidate(tx, &prior, None)).transpose()?.flatten(),
        signup: Some(signup),
    })
}

/// Reads the columns `status` and `ended_at` of a role.
fn role_state(columns: &mut Columns<'_>) -> Result<RoleState, Error> {
    Ok(RoleState { status: columns.parse(RoleStatus::parse)?, ended_at: columns.time_or_none()? })
}

fn load_organization(tx: &Tx<'_>, id: &OrganizationId) -> Result<PageOrganization, Error> {
    let sql =
        "SELECT o.name, o.slug, o.portal_enabled = 1 AND o.enabled = 1, l.organization_id IS NOT NULL, o.time_zone,
                 o.decision_visible_after_hours
               FROM organizations o
               LEFT JOIN organization_logos l ON l.organization_id = o.id
               WHERE o.id = $1";
    let organization = tx.one(sql, [id.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(PageOrganization {
            id: id.clone(),
            name: columns.read()?,
            slug: columns.read()?,
            has_portal: columns.read()?,
            has_logo: columns.read()?,
            time_zone: columns.read()?,
            visible_after_hours: columns.read()?,
        })
    })?;
    organization.ok_or_else(|| Error::Defect(format!("organization {id} of a status page is gone")))
}

/// Loads a candidate, with the last time at which they asked for erasure on the page of this application. Returns
/// `None` if the candidate was erased.
fn load_candidate(
    tx: &Tx<'_>,
    id: &CandidateId,
    application: Option<&ApplicationId>,
) -> Result<Option<PageCandidate>, Error> {
    let sql = "SELECT number, name, email, hold_reason IS NOT NULL,
                 (SELECT max(at)
                  FROM activities
                  WHERE candidate_id = $1 AND candidate_role_id = $2 AND action = 'candidate.erasure_asked')
               FROM candidates
               WHERE id = $1 AND erased_at IS NULL";
    tx.one(sql, (id.as_str(), application.map(ApplicationId::as_str)), |row| {
        let mut columns = Columns::of(row);
        Ok(PageCandidate {
            id: id.clone(),
            number: columns.read()?,
            name: columns.read()?,
            email: columns.read()?,
            is_held: columns.read()?,
            asked_at: columns.time_or_none()?,
        })
    })
}
