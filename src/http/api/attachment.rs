//! `GET /api/v1/candidates/{id}/documents/{documentId}`: staff download what a candidate applied with.

use hyper::Method;

use super::candidate::find::find;
use crate::domain::activity::Subject;
use crate::domain::api_key::Scope;
use crate::domain::id::{AttachmentId, CandidateId, Id};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::resource::CANDIDATE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

const NO_ATTACHMENT: Refusal = Refusal::NotFound("the candidate has no such document");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidates/{id}/documents/{documentId}";
    // It reads, and is on record: who opened an attachment is to be known later.
    vec![
        Route::scoped(CANDIDATE, Scope::CandidatesRead, Method::GET, path, decode, download)
            .writes(Grade::Vital)
            .answering(&[
                (200, ""),
                (401, "unauthorized"),
                (403, "insufficient_scope"),
                (404, "not_found"),
                (429, "rate_limited"),
            ]),
    ]
}

struct DownloadInput {
    candidate_id: Option<CandidateId>,
    id: Option<AttachmentId>,
    /// Whether the content leaves: not where only the head is asked for.
    is_opened: bool,
}

/// Decodes the path. An id that no attachment can have is answered like an unknown one.
#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode(_: &Ctx, request: &Request) -> Result<DownloadInput, Error> {
    let candidate_id = CandidateId::parse(request.param("id"));
    let is_opened = request.method() != Method::HEAD;
    Ok(DownloadInput { candidate_id, id: AttachmentId::parse(request.param("documentId")), is_opened })
}

/// `GET /api/v1/candidates/{id}/documents/{documentId}`: the file as it was uploaded, to be saved and never shown in place.
///
/// # Errors
/// `not_found` where there is no such candidate, or the caller may not see them, or they have no such attachment.
fn download(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &DownloadInput) -> Result<Reply, Error> {
    let (candidate, _) = find(tx, who, input.candidate_id.as_ref())?;
    let id = input.id.as_ref().ok_or(NO_ATTACHMENT)?;
    let found = store::attachment::find(tx, &candidate.organization_id, &candidate.id, id)?;
    let attachment = found.ok_or(NO_ATTACHMENT)?;
    store::attachment::require_complete(tx, &attachment)?;
    if input.is_opened {
        let subject = Subject::of_candidate(candidate.organization_id, candidate.id);
        store::attachment::record_opened(tx, &store::activity::stamp(&*ctx.world), who, &subject, id)?;
    }
    Ok(Reply::download(&attachment))
}
