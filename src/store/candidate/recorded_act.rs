//! Changes to candidates, each recorded with an activity row. The activity chain contains only a salted hash of each
//! detail, so details may contain names, which an erasure removes.

use serde::Serialize;

use super::{Candidate, CandidateRecord};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::OrganizationId;
use crate::domain::text::Email;
use crate::domain::user::Principal;
use crate::store::activity;

/// Adds a candidate on behalf of the caller. If there is no caller, the candidate has signed up.
///
/// # Errors
/// [`Error::Defect`] if the address is taken. Check this before calling this function.
pub fn add(
    tx: &Tx<'_>,
    who: Option<&Principal>,
    organization: &OrganizationId,
    candidate: &CandidateRecord,
    stamp: &Stamp,
) -> Result<Candidate, Error> {
    super::insert(tx, organization, candidate)?;
    let added = super::find(tx, organization, &candidate.id)?;
    let added = added.ok_or_else(|| Error::Defect(format!("candidate {} was not added", candidate.id)))?;
    let subject = Subject::of_candidate(organization.clone(), candidate.id.clone());
    let detail = activity::detail(&None::<PersonDetail<'_>>, &person_detail(&added))?;
    activity::append(tx, stamp, who, Action::CandidateAdded, &subject, &detail)?;
    Ok(added)
}

/// Changes the name, the address or both. `None` means no change. Returns the changed candidate.
///
/// # Errors
/// [`Error::Defect`] if the candidate was erased or the address is taken. Check both before calling this function.
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
    super::update(tx, &before, name, &email)?;
    let after =
        Candidate { name: name.to_owned(), email: email.as_str().to_owned(), updated_at: tx.now, ..before.clone() };
    let subject = Subject::of_candidate(after.organization_id.clone(), after.id.clone());
    let detail = activity::detail(&person_detail(&before), &person_detail(&after))?;
    activity::append(tx, stamp, Some(who), Action::CandidateChanged, &subject, &detail)?;
    Ok(after)
}

fn person_detail(candidate: &Candidate) -> PersonDetail<'_> {
    PersonDetail { name: &candidate.name, email: &candidate.email }
}

#[derive(Serialize)]
struct PersonDetail<'a> {
    name: &'a str,
    email: &'a str,
}
