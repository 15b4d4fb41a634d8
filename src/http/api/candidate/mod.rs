//! `/api/v1/organizations/{id}/candidates` and `/api/v1/candidates/{id}`: an organization's candidates are listed and
//! searched (`list`), read, added by hand to a role (`add`) and changed (`change`).

mod add;
mod change;
mod list;
pub(in crate::http) mod wire;

use hyper::Method;
use serde_json::Value;

use super::api_key::WireData;
use crate::domain::api_key::Scope;
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::text::{EMAIL_MUST_BE, Email};
use crate::domain::user::{CallerRoles, Principal};
use crate::http::server::ctx::Ctx;
use crate::http::server::fields::Fields;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::candidate::Candidate;
use crate::store::status_page::sent;
use crate::store::{self, Error, Grade, Tx};
use wire::{Stepped, WireApplicationInFull, WireCandidate};

const NO_ORGANIZATION: Refusal = Refusal::NotFound("there is no such organization, or this key may not see it");
const NO_CANDIDATE: Refusal = Refusal::NotFound("there is no such candidate, or this key may not see them");
const NO_ROLE: Refusal = Refusal::NotFound("there is no role with this roleId in the organization");

pub(in crate::http) fn routes() -> Vec<Route> {
    let candidates = "/api/v1/organizations/{id}/candidates";
    let candidate = "/api/v1/candidates/{id}";
    let (reads, writes) = (Scope::CandidatesRead, Scope::CandidatesWrite);
    vec![
        Route::scoped(reads, Method::GET, candidates, list::decode, list::list).answering(&[
            (200, ""),
            (400, "validation_error"),
            (401, "unauthorized"),
            (403, "insufficient_scope"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::scoped(writes, Method::POST, candidates, add::decode, add::add)
            .with_body()
            .writes(Grade::Durable)
            .answering(WRITES),
        Route::scoped(reads, Method::GET, candidate, decode_id, read).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "insufficient_scope"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::scoped(writes, Method::PATCH, candidate, change::decode, change::change)
            .with_body()
            .writes(Grade::Durable)
            .answering(WRITES),
    ]
}

/// What adding and changing a candidate, and taking back an application, can be answered with.
pub(in crate::http) const WRITES: &[Answer] = &[
    (200, ""),
    (400, "bad_request"),
    (400, "validation_error"),
    (401, "unauthorized"),
    (403, "forbidden"),
    (403, "insufficient_scope"),
    (404, "not_found"),
    (409, "conflict"),
    (413, "payload_too_large"),
    (415, "unsupported_media_type"),
    (429, "rate_limited"),
];

/// The candidate that a path names; an id that none can have names nobody.
#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode_id(_: &Ctx, request: &Request) -> Result<Option<CandidateId>, Error> {
    Ok(CandidateId::parse(request.param("id")))
}

/// `GET /api/v1/candidates/{id}`: a candidate with their applications and the steps of these.
///
/// # Errors
/// `not_found` where there is no such candidate, or the caller may not see them.
fn read(_: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<CandidateId>) -> Result<Reply, Error> {
    let (candidate, _) = find(tx, who, id.as_ref())?;
    told(tx, candidate)
}

/// An organization that the caller may see.
///
/// # Errors
/// `not_found`.
fn organization<'a>(
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
fn told(tx: &Tx<'_>, candidate: Candidate) -> Result<Reply, Error> {
    let id = candidate.id.clone();
    Ok(Reply::json(&WireData { success: true, data: in_full(tx, candidate)? }).about(id))
}

/// A candidate with their applications and the steps of these.
pub(in crate::http) fn in_full(tx: &Tx<'_>, candidate: Candidate) -> Result<Value, Error> {
    let applications = store::candidate_role::of_candidate(tx, &candidate.organization_id, &candidate.id)?;
    let stepped = |application: store::candidate_role::Application| -> Result<Stepped, Error> {
        let steps = store::candidate_step::of_application(tx, &application.record.id)?;
        let signups = sent::all_of(tx, &application.record.id)?;
        Ok((application, steps, signups))
    };
    let stepped = applications.into_iter().map(stepped).collect::<Result<Vec<_>, Error>>()?;
    let applications = stepped.iter().map(WireApplicationInFull::of).collect();
    serde_json::to_value(WireCandidate::of(candidate, applications))
        .map_err(|error| Error::Defect(format!("a candidate cannot be told: {error}")))
}

/// The address that a body gives a candidate.
fn email(fields: &mut Fields, text: Option<String>) -> Option<Email> {
    let text = text?;
    Email::parse(&text).or_else(|| fields.fault("email", format!("must be {EMAIL_MUST_BE}")))
}

/// What an address must be.
const EMAIL: &str = "must be an email address of at most 254 characters";
