//! `GET /api/v1/candidates/{id}/documents/{documentId}`: staff download an attachment of an application.

use hyper::Method;

use super::candidate::find::find;
use crate::domain::activity::Subject;
use crate::domain::api_key::Scope;
use crate::domain::id::{AttachmentId, CandidateId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::resource::CANDIDATE;
use crate::http::api::visible::CANDIDATE_NOT_VISIBLE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

const NO_ATTACHMENT: Refusal = Refusal::NotFound("the candidate has no such attachment");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidates/{id}/documents/{documentId}";
    // The handler writes, because the activity records which user opened which attachment.
    vec![
        Route::scoped(CANDIDATE, Scope::CandidatesRead, Method::GET, path, decode, download)
            .writes(Grade::Vital)
            .answering(&[(200, ""), (404, "not_found")]),
    ]
}

struct DownloadInput {
    candidate_id: CandidateId,
    id: AttachmentId,
    /// Whether the answer has content. An answer to `HEAD` has none, so `HEAD` adds no activity row.
    sends_content: bool,
}

/// # Errors
/// `not_found` if an id in the path is not valid.
fn decode(_: &Ctx, request: &Request) -> Result<DownloadInput, Error> {
    Ok(DownloadInput {
        candidate_id: request.id_param("id", CANDIDATE_NOT_VISIBLE)?,
        id: request.id_param("documentId", NO_ATTACHMENT)?,
        sends_content: request.method() != Method::HEAD,
    })
}

/// `GET /api/v1/candidates/{id}/documents/{documentId}`: the attachment, byte for byte as it was uploaded or imported.
/// Browsers save the attachment and do not display it.
///
/// # Errors
/// `not_found` if the candidate does not exist, the caller may not see them, or they have no such attachment.
fn download(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &DownloadInput) -> Result<Reply, Error> {
    let (candidate, _) = find(tx, caller, &input.candidate_id)?;
    let found = store::attachment::find(tx, &candidate.organization_id, &candidate.id, &input.id)?;
    let attachment = found.ok_or(NO_ATTACHMENT)?;
    store::attachment::require_complete(tx, &attachment)?;
    if input.sends_content {
        let subject = Subject::of_candidate(candidate.organization_id, candidate.id);
        store::attachment::record_opened(tx, &store::activity::stamp(&*ctx.world), caller, &subject, &input.id)?;
    }
    Ok(Reply::download(&attachment))
}
