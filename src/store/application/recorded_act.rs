//! Adds and withdraws applications, updates the organization's counts, and appends activity rows. `candidate_step`
//! saves decisions on steps.

use serde::Serialize;

use super::{Application, ApplicationRecord};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep};
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::organization::StatusCounts;
use crate::domain::user::Principal;
use crate::store::candidate::Candidate;
use crate::store::{activity, candidate_step, organization};

/// Adds an application in progress with its steps, on behalf of the caller or, without a caller, of a candidate who
/// signed up.
///
/// # Errors
/// [`Error::Defect`] if the candidate has already applied to the role, or if an id is taken. Check for an earlier
/// application before calling this function.
pub fn add(
    tx: &Tx<'_>,
    who: Option<&Principal>,
    candidate: &Candidate,
    role: &RoleId,
    application: &ApplicationRecord,
    steps: &[CandidateStep],
    stamp: &Stamp,
) -> Result<(), Error> {
    let Candidate { organization_id, id, .. } = candidate;
    let mut is_new = super::insert(tx, organization_id, role, id, application, steps)?;
    for step in steps {
        is_new &= candidate_step::insert(tx, &application.id, step)?;
    }
    if !is_new {
        return Err(Error::Defect(format!("application {} was not added", application.id)));
    }
    organization::add_to_status(tx, organization_id, StatusCounts::of_application(application.status))?;
    let subject = Subject {
        role_id: Some(role.clone()),
        candidate_role_id: Some(application.id.clone()),
        ..Subject::of_candidate(organization_id.clone(), id.clone())
    };
    let after =
        AddedDetail { application: application.status.as_str(), applied_at: application.applied_at.to_string() };
    let detail = activity::detail(&None::<AddedDetail>, &after)?;
    let action = if who.is_some() { Action::CandidateRoleAdded } else { Action::CandidateRoleSignedUp };
    activity::append(tx, stamp, who, action, &subject, &detail)
}

/// Withdraws an application in progress, on behalf of the caller or, without a caller, of the candidate or the service
/// itself.
///
/// # Errors
/// [`Error::Defect`] if the application is not in progress. Check its status before calling this function.
pub fn withdraw(
    tx: &Tx<'_>,
    who: Option<&Principal>,
    organization: &OrganizationId,
    application: &Application,
    reason: Option<&str>,
    stamp: &Stamp,
) -> Result<(), Error> {
    let (before, after) = (application.record.status, ApplicationStatus::Withdrawn);
    super::withdraw(tx, organization, &application.record.id)?;
    let change = StatusCounts::of_application(after).minus(StatusCounts::of_application(before));
    organization::add_to_status(tx, organization, change)?;
    let subject = Subject {
        role_id: Some(application.role_id.clone()),
        candidate_role_id: Some(application.record.id.clone()),
        candidate_role_step_id: application.current.as_ref().map(|current| current.id.clone()),
        ..Subject::of_candidate(organization.clone(), application.candidate_id.clone())
    };
    let side = |status: ApplicationStatus, reason| WithdrawnDetail { application: status.as_str(), reason };
    let detail = activity::detail(&side(before, None), &side(after, reason))?;
    activity::append(tx, stamp, who, Action::CandidateRoleWithdrawn, &subject, &detail)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AddedDetail {
    application: &'static str,
    applied_at: String,
}

#[derive(Serialize)]
struct WithdrawnDetail<'a> {
    application: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}
