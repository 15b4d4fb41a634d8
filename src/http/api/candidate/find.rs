//! Finds a candidate, and renders the candidate with all their applications.

use serde_json::Value;

use super::wire::{ApplicationInFull, WireApplicationInFull, WireCandidate};
use crate::domain::id::CandidateId;
use crate::domain::refusal::Refusal;
use crate::domain::user::{CallerRoles, Principal};
use crate::http::api::envelope;
use crate::http::api::visible::{self, CANDIDATE_NOT_VISIBLE};
use crate::http::server::reply::Reply;
use crate::store::candidate::Candidate;
use crate::store::signup;
use crate::store::{self, Error, Tx};

pub(in crate::http::api) const NO_ROLE: Refusal =
    Refusal::NotFound("there is no role with this roleId in the organization");

/// Returns a candidate, and the caller's organization role and platform role.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them.
pub(in crate::http) fn find(
    tx: &Tx<'_>,
    caller: &Principal,
    id: &CandidateId,
) -> Result<(Candidate, CallerRoles), Error> {
    let (organization, roles) = visible::candidate(tx, caller, id)?;
    let candidate = store::candidate::find(tx, &organization, id)?.ok_or(CANDIDATE_NOT_VISIBLE)?;
    Ok((candidate, roles))
}

/// Answers with the current state of a candidate.
pub(super) fn candidate_reply(tx: &Tx<'_>, candidate: Candidate) -> Result<Reply, Error> {
    let id = candidate.id.clone();
    Ok(envelope::with_data(in_full(tx, candidate)?).about(id))
}

/// Returns a candidate with all their applications and steps.
pub(in crate::http) fn in_full(tx: &Tx<'_>, candidate: Candidate) -> Result<Value, Error> {
    let mut applications = Vec::new();
    for application in store::application::of_candidate(tx, &candidate.organization_id, &candidate.id)? {
        let steps = store::candidate_step::of_application(tx, &application.record.id)?;
        let signups = signup::all_of_application(tx, &application.record.id)?;
        applications.push(ApplicationInFull { application, steps, signups });
    }
    let applications = applications.iter().map(WireApplicationInFull::new).collect();
    serde_json::to_value(WireCandidate::new(candidate, applications))
        .map_err(|error| Error::Defect(format!("a candidate cannot be converted to JSON: {error}")))
}
