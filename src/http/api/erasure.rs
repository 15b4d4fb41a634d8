//! `DELETE /api/v1/candidates/{id}` and `…/hold`: owners and admins of an organization erase a candidate's personal data, or
//! keep it from being erased.

use hyper::Method;
use serde::Serialize;

use super::api_key::WireData;
use crate::domain::api_key::Scope;
use crate::domain::erasure::{self, CandidateRef, ErasureDecision, ErasureFacts, REASON_CHARACTERS_MAX};
use crate::domain::id::{CandidateId, Id};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::resource::CANDIDATE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::{self, Error, Grade, Tx};

/// What is told of a candidate who is not there, or not to be seen.
pub(in crate::http) const NO_CANDIDATE: Refusal =
    Refusal::NotFound("there is no such candidate, or this key may not see them");

const ANSWERS: &[Answer] = &[
    (200, ""),
    (401, "unauthorized"),
    (403, "forbidden"),
    (403, "insufficient_scope"),
    (404, "not_found"),
    (409, "conflict"),
    (429, "rate_limited"),
];

pub(in crate::http) fn routes() -> Vec<Route> {
    let scope = Scope::CandidatesWrite;
    let hold_path = "/api/v1/candidates/{id}/hold";
    vec![
        Route::scoped(CANDIDATE, scope, Method::DELETE, "/api/v1/candidates/{id}", decode_id, erase)
            .writes(Grade::Vital)
            .answering(ANSWERS),
        Route::scoped(CANDIDATE, scope, Method::PUT, hold_path, decode_hold, hold)
            .with_body()
            .writes(Grade::Vital)
            .answering(&[
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
            ]),
        Route::scoped(CANDIDATE, scope, Method::DELETE, hold_path, decode_id, release)
            .writes(Grade::Durable)
            .answering(&[
                (200, ""),
                (401, "unauthorized"),
                (403, "forbidden"),
                (403, "insufficient_scope"),
                (404, "not_found"),
                (429, "rate_limited"),
            ]),
    ]
}

/// The candidate that a path names; an id that none can have names nobody.
///
/// # Errors
/// None.
fn decode_id(_: &Ctx, request: &Request) -> Result<Option<CandidateId>, Error> {
    Ok(CandidateId::parse(request.param("id")))
}

/// The candidate, and why they are to be held.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `reason`, or with one that is blank, no
/// text, or too long.
fn decode_hold(_: &Ctx, request: &Request) -> Result<(Option<CandidateId>, String), Error> {
    let mut fields = request.object()?;
    let reason = fields.required_lines("reason", REASON_CHARACTERS_MAX);
    let reason = fields.valid_with(reason)?;
    Ok((CandidateId::parse(request.param("id")), reason.trim().to_owned()))
}

/// `DELETE /api/v1/candidates/{id}`: erases the candidate. Again, it changes nothing.
///
/// # Errors
/// `not_found` where there is no such candidate, or the caller may not see them; `forbidden` for all but owners and
/// admins; `conflict` where the candidate is held.
fn erase(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<CandidateId>) -> Result<Reply, Error> {
    let (candidate, facts) = load(tx, who, id.as_ref())?;
    let erased_at = match erasure::erase(&facts)? {
        ErasureDecision::Before(at) => at,
        ErasureDecision::Now => {
            let (erasures, world) = (ctx.store.erasures(), &*ctx.world);
            store::erasure::erase(tx, erasures, world, Some(who), std::slice::from_ref(&candidate))?;
            tx.now
        }
    };
    let data = WireErased { id: candidate.id.as_str(), erased_at: erased_at.to_string() };
    Ok(Reply::json(&WireData { success: true, data }))
}

/// `PUT …/hold`: whatever the retention says, and whoever asks, the candidate is not erased from now on. The same reason
/// again changes nothing.
///
/// # Errors
/// `not_found` where there is no such candidate, or the caller may not see them; `forbidden` for all but owners and
/// admins; `conflict` where the candidate is erased.
fn hold(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, (id, reason): &(Option<CandidateId>, String)) -> Result<Reply, Error> {
    let (candidate, facts) = load(tx, who, id.as_ref())?;
    if erasure::hold(&facts, reason)? {
        let stamp = store::activity::stamp(&*ctx.world);
        store::erasure::set_hold(tx, &stamp, who, &candidate, &facts, Some(reason))?;
    }
    Ok(held(&candidate, Some(reason)))
}

/// `DELETE …/hold`: the candidate may be erased again. One who is not held is none to release, and that is fine.
///
/// # Errors
/// `not_found` where there is no such candidate, or the caller may not see them; `forbidden` for all but owners and
/// admins.
fn release(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<CandidateId>) -> Result<Reply, Error> {
    let (candidate, facts) = load(tx, who, id.as_ref())?;
    if facts.hold_reason.is_some() {
        let stamp = store::activity::stamp(&*ctx.world);
        store::erasure::set_hold(tx, &stamp, who, &candidate, &facts, None)?;
    }
    Ok(held(&candidate, None))
}

/// The candidate with what is to be known of them, for somebody who answers for the organization's personal data.
fn load(tx: &Tx<'_>, who: &Principal, id: Option<&CandidateId>) -> Result<(CandidateRef, ErasureFacts), Error> {
    let id = id.ok_or(NO_CANDIDATE)?;
    let (organization_id, standing) = store::access::to_candidate(tx, who, id)?.ok_or(NO_CANDIDATE)?;
    standing.require_eraser()?;
    let facts = store::erasure::facts(tx, &organization_id, id)?.ok_or(NO_CANDIDATE)?;
    Ok((CandidateRef { id: id.clone(), number: facts.number, organization_id }, facts))
}

fn held(candidate: &CandidateRef, reason: Option<&str>) -> Reply {
    Reply::json(&WireData { success: true, data: WireHold { id: candidate.id.as_str(), hold_reason: reason } })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireErased<'a> {
    id: &'a str,
    erased_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireHold<'a> {
    id: &'a str,
    hold_reason: Option<&'a str>,
}
