//! What is on the page where a candidate sees where they stand.

use crate::db::row::Row;

use super::sent::{self, Sent};
use super::{About, StatusPage};
use crate::db::tx::{self, Error, Tx};
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep};
use crate::domain::id::{ApplicationId, CandidateId, Id, OrganizationId, SignupId};
use crate::domain::progress::{self, ApplicationHistory, Progress};
use crate::domain::timestamp::Timestamp;
use crate::store::candidate_role::{self, Application};
use crate::store::candidate_step;

/// What a page shows, and what its acts look at.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Whose role it is.
    pub organization: Organization,
    /// The role's name.
    pub role_name: String,
    /// When the candidate applied.
    pub applied_at: Timestamp,
    /// The names of the steps, first to last.
    pub steps: Vec<String>,
    /// The application; none where the signup made none.
    pub application: Option<Applied>,
    /// Where the signup made none: the candidate who had its address already. Nothing of theirs is shown.
    pub former: Option<Candidate>,
    /// What they applied with; none where somebody else added them.
    pub sent: Option<Sent>,
}

/// An organization, as its candidates' pages need it.
#[derive(Debug, Clone)]
pub struct Organization {
    /// Its id.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// Its slug, as it was given.
    pub slug: String,
    /// Whether there is a portal to lead to.
    pub has_portal: bool,
    /// Whether it has a picture of its own.
    pub has_logo: bool,
    /// The time zone that dates its pages (IANA).
    pub time_zone: String,
    /// How old a decision must be for its candidate to see it; none for never.
    pub visible_after_hours: Option<u32>,
}

/// An application with all that is known of it.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The application itself.
    pub application: Application,
    /// How it came to be where it is.
    pub history: ApplicationHistory,
    /// Whose it is.
    pub candidate: Candidate,
}

/// The candidate of an application.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Their id.
    pub id: CandidateId,
    /// Their number in the file.
    pub number: i64,
    /// Their name.
    pub name: String,
    /// Their address.
    pub email: String,
    /// Whether they are held, and so not erased.
    pub is_held: bool,
    /// When they asked to be erased all the same, the last time, by the page of this application.
    pub asked_at: Option<Timestamp>,
}

impl Shown {
    /// Where the candidate sees that they stand.
    pub fn progress(&self, page: &StatusPage, now: Timestamp) -> Progress {
        match &self.application {
            Some(applied) => {
                let hours = self.organization.visible_after_hours.map(u64::from);
                let delay = hours.map(|hours| std::time::Duration::from_secs(hours * 3_600));
                progress::visible_progress(&applied.history, page.withdrawn_at, delay, now)
            }
            None if page.withdrawn_at.is_some() => Progress::untouched(self.steps.len(), ApplicationStatus::Withdrawn),
            None => Progress::untouched(self.steps.len(), ApplicationStatus::InProgress),
        }
    }
}

/// What a page shows; `None` where its candidate was erased.
///
/// # Errors
/// When SQLite fails.
pub fn of(tx: &Tx<'_>, page: &StatusPage) -> Result<Option<Shown>, Error> {
    about(tx, &page.about)
}

pub(super) fn about(tx: &Tx<'_>, about: &About) -> Result<Option<Shown>, Error> {
    match about {
        About::Application(id) => of_application(tx, id),
        About::Signup(id) => of_signup(tx, id).map(Some),
    }
}

fn of_application(tx: &Tx<'_>, id: &ApplicationId) -> Result<Option<Shown>, Error> {
    let sql = "SELECT organization_id
               FROM candidate_roles
               WHERE id = $1";
    let gone = || Error::Defect(format!("application {id} of a page is gone"));
    let organization = tx.one(sql, [id.as_str()], |row| tx::word(&row.get::<_, String>(0)?, OrganizationId::parse))?;
    let organization = find_organization(tx, &organization.ok_or_else(gone)?)?;
    let application = candidate_role::find(tx, &organization.id, id)?.ok_or_else(gone)?;
    let Some(candidate) = candidate(tx, &application.candidate_id, Some(id))? else { return Ok(None) };
    let steps = candidate_step::of_application(tx, id)?;
    let sent = sent::of_application(tx, id)?;
    Ok(Some(Shown {
        organization,
        role_name: application.role_name.clone(),
        applied_at: sent.as_ref().map_or(application.record.applied_at, |sent| sent.sent_at),
        steps: steps.iter().map(|step: &CandidateStep| step.name.clone()).collect(),
        application: Some(Applied {
            history: candidate_step::history(tx, &application, &steps)?,
            application,
            candidate,
        }),
        former: None,
        sent,
    }))
}

/// A signup without an application shows what one that nobody has touched would: the steps that the role had then.
fn of_signup(tx: &Tx<'_>, id: &SignupId) -> Result<Shown, Error> {
    let sql = "SELECT r.name, r.organization_id, a.candidate_id
               FROM signups s
               JOIN roles r ON r.id = s.role_id
               LEFT JOIN candidate_roles a ON a.id = s.later_of
               WHERE s.id = $1";
    let gone = || Error::Defect(format!("signup {id} of a page is gone"));
    let found = tx.one(sql, [id.as_str()], |row| {
        let name: String = row.get(0)?;
        let former = row.get::<_, Option<String>>(2)?.map(|former| tx::word(&former, CandidateId::parse));
        Ok((name, tx::word(&row.get::<_, String>(1)?, OrganizationId::parse)?, former.transpose()?))
    })?;
    let (role_name, organization, former) = found.ok_or_else(gone)?;
    let sent = sent::find(tx, id)?.ok_or_else(gone)?;
    Ok(Shown {
        organization: find_organization(tx, &organization)?,
        role_name,
        applied_at: sent.sent_at,
        steps: sent.steps.clone(),
        application: None,
        former: former.map(|former| candidate(tx, &former, None)).transpose()?.flatten(),
        sent: Some(sent),
    })
}

fn find_organization(tx: &Tx<'_>, id: &OrganizationId) -> Result<Organization, Error> {
    let sql =
        "SELECT o.name, o.slug, o.portal_enabled = 1 AND o.enabled = 1, l.organization_id IS NOT NULL, o.time_zone,
                 o.decision_visible_after_hours
               FROM organizations o
               LEFT JOIN organization_logos l ON l.organization_id = o.id
               WHERE o.id = $1";
    let found = tx.one(sql, [id.as_str()], |row| {
        Ok(Organization {
            id: id.clone(),
            name: row.get(0)?,
            slug: row.get(1)?,
            has_portal: row.get(2)?,
            has_logo: row.get(3)?,
            time_zone: row.get(4)?,
            visible_after_hours: row.get(5)?,
        })
    })?;
    found.ok_or_else(|| Error::Defect(format!("organization {id} of a page is gone")))
}

/// A candidate who was not erased, as the page of this application knows them.
fn candidate(tx: &Tx<'_>, id: &CandidateId, application: Option<&ApplicationId>) -> Result<Option<Candidate>, Error> {
    let sql = "SELECT number, name, email, hold_reason IS NOT NULL,
                 (SELECT max(at)
                  FROM activities
                  WHERE candidate_id = $1 AND candidate_role_id = $2 AND action = 'candidate.erasure_asked')
               FROM candidates
               WHERE id = $1 AND erased_at IS NULL";
    let candidate = |row: &Row<'_>| {
        Ok(Candidate {
            id: id.clone(),
            number: row.get(0)?,
            name: row.get(1)?,
            email: row.get(2)?,
            is_held: row.get(3)?,
            asked_at: tx::time_or_none(row, 4)?,
        })
    };
    tx.one(sql, (id.as_str(), application.map(ApplicationId::as_str)), candidate)
}
