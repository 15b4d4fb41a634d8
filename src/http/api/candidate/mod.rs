//! `/api/v1/organizations/{id}/candidates` and `/api/v1/candidates/{id}`: an organization's candidates are listed and
//! searched (`list`), read, added by hand to a role (`add`) and changed (`change`).

mod add;
mod change;
pub(in crate::http) mod find;
mod list;
pub(in crate::http) mod wire;

use hyper::Method;

use self::find::{find, in_full_reply};
use crate::domain::api_key::Scope;
use crate::domain::id::{CandidateId, Id};
use crate::domain::user::Principal;
use crate::http::api::resource::{CANDIDATE, CANDIDATES};
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
            (401, "unauthorized"),
            (403, "insufficient_scope"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::scoped(CANDIDATES, writes, Method::POST, candidates, add::decode, add::add)
            .with_body()
            .writes(Grade::Durable)
            .answering(WRITES),
        Route::scoped(CANDIDATE, reads, Method::GET, candidate, decode_id, read).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "insufficient_scope"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::scoped(CANDIDATE, writes, Method::PATCH, candidate, change::decode, change::change)
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
    in_full_reply(tx, candidate)
}
