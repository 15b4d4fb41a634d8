//! What staff do with candidates, and candidates themselves, each saved whole: the rows, the status cache, and what was done on record. The detail of an
//! activity stands outside the chain, so it may say names.

use serde::Serialize;

use super::{Candidate, Record};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::candidate_step::{ApplicationStatus, CandidateStep};
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::organization::StatusCounts;
use crate::domain::text::Email;
use crate::domain::user::Principal;
use crate::store::candidate_role::{self, Application};
use crate::store::{activity, candidate_step, organization};

/// Adds a candidate, for the caller or, without one, because they signed up.
///
/// # Errors
/// [`Error::Defect`] where the address is taken, which the caller looks at first.
pub fn add(
    tx: &Tx<'_>,
    who: Option<&Principal>,
    organization: &OrganizationId,
    candidate: &Record,
    stamp: &Stamp,
) -> Result<Candidate, Error> {
    super::insert(tx, organization, candidate)?;
    let added = super::find(tx, organization, &candidate.id)?;
    let added = added.ok_or_else(|| Error::Defect(format!("candidate {} was not added", candidate.id)))?;
    let subject = Subject::of_candidate(organization.clone(), candidate.id.clone());
    let detail = activity::detail(&None::<Person<'_>>, &person(&added))?;
    activity::append(tx, stamp, who, Action::CandidateAdded, &subject, &detail)?;
    Ok(added)
}

/// Adds a candidate's application to a role, in progress, with its steps: for the caller or, without one, because they signed
/// up.
///
/// # Errors
/// [`Error::Defect`] where they have applied to it, which the caller looks at first.
pub fn apply(
    tx: &Tx<'_>,
    who: Option<&Principal>,
    candidate: &Candidate,
    role: &RoleId,
    application: &candidate_role::Record,
    steps: &[CandidateStep],
    stamp: &Stamp,
) -> Result<(), Error> {
    let Candidate { organization_id, id, .. } = candidate;
    let mut is_new = candidate_role::insert(tx, organization_id, role, id, application, steps)?;
    for step in steps {
        is_new &= candidate_step::insert(tx, &application.id, step)?;
    }
    if !is_new {
        return Err(Error::Defect(format!("application {} was not added", application.id)));
    }
    organization::move_status(tx, organization_id, StatusCounts::of_application(application.status))?;
    let subject = Subject {
        role_id: Some(role.clone()),
        candidate_role_id: Some(application.id.clone()),
        ..Subject::of_candidate(organization_id.clone(), id.clone())
    };
    let after = Applied { application: application.status.as_str(), applied_at: application.applied_at.to_string() };
    let detail = activity::detail(&None::<Applied>, &after)?;
    let action = if who.is_some() { Action::CandidateRoleAdded } else { Action::CandidateRoleSignedUp };
    activity::append(tx, stamp, who, action, &subject, &detail)
}

/// Gives a candidate another name or address, or both; what stays as it is is not given. The candidate as they are then.
///
/// # Errors
/// [`Error::Defect`] where they were erased, or the address is taken, which the caller looks at first.
pub fn change(
    tx: &Tx<'_>,
    who: &Principal,
    before: Candidate,
    name: Option<&str>,
    email: Option<&Email>,
    stamp: &Stamp,
) -> Result<Candidate, Error> {
    let name = name.unwrap_or(&before.name);
    let email = match email {
        Some(email) => email.clone(),
        None => tx::word(&before.email, Email::parse_stored)?,
    };
    if name == before.name && email.as_str() == before.email {
        return Ok(before);
    }
    super::change(tx, &before, name, &email)?;
    let after =
        Candidate { name: name.to_owned(), email: email.as_str().to_owned(), updated_at: tx.now, ..before.clone() };
    let subject = Subject::of_candidate(after.organization_id.clone(), after.id.clone());
    let detail = activity::detail(&person(&before), &person(&after))?;
    activity::append(tx, stamp, Some(who), Action::CandidateChanged, &subject, &detail)?;
    Ok(after)
}

/// Takes back an application that is in progress, for the caller or, without one, by the service itself.
///
/// # Errors
/// [`Error::Defect`] where it is not, which the caller looks at first.
pub fn withdraw(
    tx: &Tx<'_>,
    who: Option<&Principal>,
    organization: &OrganizationId,
    application: &Application,
    reason: Option<&str>,
    stamp: &Stamp,
) -> Result<(), Error> {
    let (before, after) = (application.record.status, ApplicationStatus::Withdrawn);
    candidate_role::withdraw(tx, organization, &application.record.id)?;
    let change = StatusCounts::of_application(after).minus(StatusCounts::of_application(before));
    organization::move_status(tx, organization, change)?;
    let subject = Subject {
        role_id: Some(application.role_id.clone()),
        candidate_role_id: Some(application.record.id.clone()),
        candidate_role_step_id: application.current.as_ref().map(|current| current.id.clone()),
        ..Subject::of_candidate(organization.clone(), application.candidate_id.clone())
    };
    let side = |status: ApplicationStatus, reason| Withdrawn { application: status.as_str(), reason };
    let detail = activity::detail(&side(before, None), &side(after, reason))?;
    activity::append(tx, stamp, who, Action::CandidateRoleWithdrawn, &subject, &detail)
}

fn person(candidate: &Candidate) -> Person<'_> {
    Person { name: &candidate.name, email: &candidate.email }
}

#[derive(Serialize)]
struct Person<'a> {
    name: &'a str,
    email: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Applied {
    application: &'static str,
    applied_at: String,
}

#[derive(Serialize)]
struct Withdrawn<'a> {
    application: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}
