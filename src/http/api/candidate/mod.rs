//! `/api/v1/organizations/{id}/candidates` and `/api/v1/candidates/{id}`: staff list and search candidates (`list`),
//! read a candidate, add a candidate to a role (`add`) and change a candidate (`change`).

mod add;
mod change;
pub(in crate::http) mod find;
mod list;
pub(in crate::http) mod wire;

use hyper::Method;

use self::find::{candidate_reply, find};
use crate::domain::api_key::Scope;
use crate::domain::id::CandidateId;
use crate::domain::user::Principal;
use crate::http::api::resource::{CANDIDATE, CANDIDATES};
use crate::http::api::visible::CANDIDATE_NOT_VISIBLE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::{Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let candidates = "/api/v1/organizations/{id}/candidates";
    let candidate = "/api/v1/candidates/{id}";
    let (reads, writes) = (Scope::CandidatesRead, Scope::CandidatesWrite);
    vec![
        Route::scoped(CANDIDATES, reads, Method::GET, candidates, list::decode, list::list).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::scoped(CANDIDATES, writes, Method::POST, candidates, add::decode, add::add)
            .with_body()
            .writes(Grade::Durable)
            .answering(CHANGE_ANSWERS),
        Route::scoped(CANDIDATE, reads, Method::GET, candidate, decode_id, get)
            .answering(&[(200, ""), (404, "not_found")]),
        Route::scoped(CANDIDATE, writes, Method::PATCH, candidate, change::decode, change::change)
            .with_body()
            .writes(Grade::Durable)
            .answering(CHANGE_ANSWERS),
    ]
}

/// The answers of endpoints that change a candidate or an application.
pub(in crate::http) const CHANGE_ANSWERS: &[Answer] =
    &[(200, ""), (400, "validation_error"), (403, "forbidden"), (404, "not_found"), (409, "conflict")];

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<CandidateId, Error> {
    Ok(request.id_param("id", CANDIDATE_NOT_VISIBLE)?)
}

/// `GET /api/v1/candidates/{id}`: a candidate with all their applications and steps.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them.
fn get(_: &Ctx, tx: &Tx<'_>, caller: &Principal, id: &CandidateId) -> Result<Reply, Error> {
    let (candidate, _) = find(tx, caller, id)?;
    candidate_reply(tx, candidate)
}
