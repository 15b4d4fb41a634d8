//! Candidates as their endpoints find and show them.

use serde_json::Value;

use super::wire::{Stepped, WireApplicationInFull, WireCandidate};
use crate::domain::id::{CandidateId, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::text::{EMAIL_MUST_BE, Email};
use crate::domain::user::{CallerRoles, Principal};
use crate::http::api::api_key::WireData;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::reply::Reply;
use crate::store::candidate::Candidate;
use crate::store::signup;
use crate::store::{self, Error, Tx};

const NO_ORGANIZATION: Refusal = Refusal::NotFound("there is no such organization, or this key may not see it");
const NO_CANDIDATE: Refusal = Refusal::NotFound("there is no such candidate, or this key may not see them");
pub(super) const NO_ROLE: Refusal = Refusal::NotFound("there is no role with this roleId in the organization");

/// An organization that the caller may see.
///
/// # Errors
/// `not_found`.
pub(super) fn organization<'a>(
    tx: &Tx<'_>,
    who: &Principal,
    id: Option<&'a OrganizationId>,
) -> Result<(&'a OrganizationId, CallerRoles), Error> {
    let id = id.ok_or(NO_ORGANIZATION)?;
    let standing = store::access::to_organization(tx, who, id)?.ok_or(NO_ORGANIZATION)?;
    Ok((id, standing))
}

/// A candidate that the caller may see.
///
/// # Errors
/// `not_found`.
pub(in crate::http) fn find(
    tx: &Tx<'_>,
    who: &Principal,
    id: Option<&CandidateId>,
) -> Result<(Candidate, CallerRoles), Error> {
    let id = id.ok_or(NO_CANDIDATE)?;
    let (organization, standing) = store::access::to_candidate(tx, who, id)?.ok_or(NO_CANDIDATE)?;
    let candidate = store::candidate::find(tx, &organization, id)?.ok_or(NO_CANDIDATE)?;
    Ok((candidate, standing))
}

/// The answer that tells all of a candidate.
pub(super) fn in_full_reply(tx: &Tx<'_>, candidate: Candidate) -> Result<Reply, Error> {
    let id = candidate.id.clone();
    Ok(Reply::json(&WireData { success: true, data: in_full(tx, candidate)? }).about(id))
}

/// A candidate with their applications and the steps of these.
pub(in crate::http) fn in_full(tx: &Tx<'_>, candidate: Candidate) -> Result<Value, Error> {
    let applications = store::application::of_candidate(tx, &candidate.organization_id, &candidate.id)?;
    let stepped = |application: store::application::Application| -> Result<Stepped, Error> {
        let steps = store::candidate_step::of_application(tx, &application.record.id)?;
        let signups = signup::all_of_application(tx, &application.record.id)?;
        Ok((application, steps, signups))
    };
    let stepped = applications.into_iter().map(stepped).collect::<Result<Vec<_>, Error>>()?;
    let applications = stepped.iter().map(WireApplicationInFull::of).collect();
    serde_json::to_value(WireCandidate::of(candidate, applications))
        .map_err(|error| Error::Defect(format!("a candidate cannot be told: {error}")))
}

/// The address that a body gives a candidate.
pub(super) fn email(fields: &mut BodyFields, text: Option<String>) -> Option<Email> {
    let text = text?;
    Email::parse(&text).or_else(|| fields.fault("email", format!("must be {EMAIL_MUST_BE}")))
}

/// What an address must be.
pub(super) const EMAIL: &str = "must be an email address of at most 254 characters";
