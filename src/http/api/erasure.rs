//! `DELETE /api/v1/candidates/{id}`, and `PUT` and `DELETE …/hold`: owners and admins of an organization, and platform
//! admins, erase a candidate, or place or release a legal hold.

use hyper::Method;
use serde::Serialize;

use crate::domain::api_key::Scope;
use crate::domain::erasure::{self, CandidateRef, ErasureDecision, ErasureFacts, REASON_CHARACTERS_MAX};
use crate::domain::id::CandidateId;
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::CANDIDATE;
use crate::http::api::visible::{self, CANDIDATE_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let scope = Scope::CandidatesWrite;
    let hold_path = "/api/v1/candidates/{id}/hold";
    vec![
        Route::scoped(CANDIDATE, scope, Method::DELETE, "/api/v1/candidates/{id}", decode_id, erase)
            .writes(Grade::Vital)
            .answering(&[(200, ""), (403, "forbidden"), (404, "not_found"), (409, "conflict")]),
        Route::scoped(CANDIDATE, scope, Method::PUT, hold_path, decode_hold, hold)
            .with_body()
            .writes(Grade::Vital)
            .answering(&[
                (200, ""),
                (400, "validation_error"),
                (403, "forbidden"),
                (404, "not_found"),
                (409, "conflict"),
            ]),
        Route::scoped(CANDIDATE, scope, Method::DELETE, hold_path, decode_id, release)
            .writes(Grade::Durable)
            .answering(&[(200, ""), (403, "forbidden"), (404, "not_found")]),
    ]
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<CandidateId, Error> {
    Ok(request.id_param("id", CANDIDATE_NOT_VISIBLE)?)
}

struct HoldInput {
    id: CandidateId,
    reason: String,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for a missing or invalid `reason`; `not_found` if
/// the path has no valid id.
fn decode_hold(_: &Ctx, request: &Request) -> Result<HoldInput, Error> {
    let mut fields = request.object()?;
    let reason = fields.required_lines("reason", REASON_CHARACTERS_MAX);
    let reason = fields.valid_with(reason)?;
    Ok(HoldInput { id: request.id_param("id", CANDIDATE_NOT_VISIBLE)?, reason: reason.trim().to_owned() })
}

/// `DELETE /api/v1/candidates/{id}`: erases the candidate. Erasing an erased candidate succeeds and changes nothing.
///
/// # Errors
/// The errors of [`load`]; `conflict` if the candidate is under a legal hold.
fn erase(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, id: &CandidateId) -> Result<Reply, Error> {
    let (candidate, facts) = load(tx, caller, id)?;
    let erased_at = match erasure::erase(&facts)? {
        ErasureDecision::Before(at) => at,
        ErasureDecision::Now => {
            let (erasures, world) = (ctx.store.erasures(), &*ctx.world);
            store::erasure::erase(tx, erasures, world, Some(caller), std::slice::from_ref(&candidate))?;
            tx.now
        }
    };
    Ok(envelope::with_data(WireErased { id: candidate.id.as_str(), erased_at: erased_at.to_string() }))
}

/// `PUT /api/v1/candidates/{id}/hold`: places a legal hold, which prevents every erasure. Repeating the request with
/// the same reason changes nothing.
///
/// # Errors
/// The errors of [`load`]; `conflict` if the candidate was erased.
fn hold(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, HoldInput { id, reason }: &HoldInput) -> Result<Reply, Error> {
    let (candidate, facts) = load(tx, caller, id)?;
    if erasure::hold(&facts, reason)? {
        let stamp = store::activity::stamp(&*ctx.world);
        store::erasure::set_hold(tx, &stamp, caller, &candidate, &facts, Some(reason))?;
    }
    Ok(hold_reply(&candidate, Some(reason)))
}

/// `DELETE /api/v1/candidates/{id}/hold`: releases a legal hold. Without a hold, the request succeeds and changes
/// nothing.
///
/// # Errors
/// The errors of [`load`].
fn release(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, id: &CandidateId) -> Result<Reply, Error> {
    let (candidate, facts) = load(tx, caller, id)?;
    if facts.hold_reason.is_some() {
        let stamp = store::activity::stamp(&*ctx.world);
        store::erasure::set_hold(tx, &stamp, caller, &candidate, &facts, None)?;
    }
    Ok(hold_reply(&candidate, None))
}

/// Returns the candidate and the facts for the rules, if the caller may erase candidates. Owners and admins of the
/// organization may, and so may platform admins.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them; `forbidden` if the caller may see the
/// candidate but not erase them.
fn load(tx: &Tx<'_>, caller: &Principal, id: &CandidateId) -> Result<(CandidateRef, ErasureFacts), Error> {
    let (organization_id, roles) = visible::candidate(tx, caller, id)?;
    roles.require_eraser()?;
    let facts = store::erasure::facts(tx, &organization_id, id)?.ok_or(CANDIDATE_NOT_VISIBLE)?;
    Ok((CandidateRef { id: id.clone(), number: facts.number, organization_id }, facts))
}

fn hold_reply(candidate: &CandidateRef, reason: Option<&str>) -> Reply {
    envelope::with_data(WireHold { id: candidate.id.as_str(), hold_reason: reason })
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
