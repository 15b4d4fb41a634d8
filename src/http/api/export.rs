//! `GET /api/v1/candidates/{id}/export`: everything that is held about a candidate, as one document to hand out.
//! Files that they applied with are told of, and downloaded by themselves.

use hyper::Method;
use serde::Serialize;
use serde_json::Value;

use super::activity::{self, WireActivity};
use super::api_key::WireData;
use super::candidate::find::{find, in_full};
use super::candidate::wire::{WireAttachment, WireTyped};
use super::erasure::NO_CANDIDATE;
use super::hr_delivery;
use crate::domain::activity::Subject;
use crate::domain::api_key::Scope;
use crate::domain::id::{ApplicationId, CandidateId, Id};
use crate::domain::user::Principal;
use crate::http::api::resource::CANDIDATE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::export::ExportedResponse;
use crate::store::signup::Signup;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidates/{id}/export";
    // It reads, and is on record: whoever hands out all of a person's data is to be known later.
    vec![
        Route::scoped(CANDIDATE, Scope::CandidatesWrite, Method::GET, path, decode, export)
            .writes(Grade::Vital)
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

struct ExportInput {
    id: Option<CandidateId>,
    /// Whether anything leaves: not where only the head is asked for.
    is_handed_out: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode(_: &Ctx, request: &Request) -> Result<ExportInput, Error> {
    let is_handed_out = request.method() != Method::HEAD;
    Ok(ExportInput { id: CandidateId::parse(request.param("id")), is_handed_out })
}

/// `GET /api/v1/candidates/{id}/export`: all of it, with what HR systems were told and answered.
///
/// # Errors
/// `not_found` where there is no such candidate, or the caller may not see them; `forbidden` for a plain member.
fn export(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ExportInput) -> Result<Reply, Error> {
    let (candidate, standing) = find(tx, who, input.id.as_ref())?;
    standing.require_manager()?;
    let (id, organization) = (candidate.id.clone(), candidate.organization_id.clone());
    let facts = store::erasure::facts(tx, &organization, &id)?.ok_or(NO_CANDIDATE)?;
    let subject = Subject::of_candidate(organization.clone(), id.clone());
    let done = store::activity::page(tx, &subject, None, i64::MAX, usize::MAX)?;
    let deliveries = store::hr_delivery::of_candidate(tx, &organization, &id)?;
    let responses = store::export::stored_responses(tx, &id)?;
    let signups = store::export::signups(tx, &id)?;
    let data = WireExport {
        exported_at: tx.now.to_string(),
        candidate: in_full(tx, candidate)?,
        hold_reason: facts.hold_reason.as_deref(),
        erased_at: facts.erased_at.map(|at| at.to_string()),
        signups: signups.iter().map(WireSignup::of).collect(),
        activity: done.iter().map(activity::wire).collect::<Result<_, _>>()?,
        hr_deliveries: deliveries.iter().map(|one| hr_delivery::in_full(tx, one)).collect::<Result<_, _>>()?,
        stored_answers: responses.into_iter().map(WireAnswer::of).collect(),
    };
    let reply = Reply::json(&WireData { success: true, data });
    if input.is_handed_out {
        store::export::record(tx, &store::activity::stamp(&*ctx.world), who, &subject)?;
    }
    Ok(reply)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireExport<'a> {
    exported_at: String,
    candidate: Value,
    hold_reason: Option<&'a str>,
    erased_at: Option<String>,
    signups: Vec<WireSignup<'a>>,
    activity: Vec<WireActivity<'a>>,
    hr_deliveries: Vec<Value>,
    stored_answers: Vec<WireAnswer>,
}

/// What they typed, what it was for, and its attachments.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireSignup<'a> {
    id: &'a str,
    role_id: &'a str,
    candidate_role_id: Option<&'a str>,
    #[serde(flatten)]
    typed: WireTyped<'a>,
    created_at: String,
    withdrew_at: Option<String>,
    documents: Vec<WireAttachment>,
}

impl<'a> WireSignup<'a> {
    fn of(signup: &'a Signup) -> Self {
        Self {
            id: signup.id.as_str(),
            role_id: signup.role_id.as_str(),
            candidate_role_id: signup.application.as_ref().map(ApplicationId::as_str),
            typed: WireTyped::of(signup),
            created_at: signup.submitted_at.to_string(),
            withdrew_at: signup.withdrawn_at.map(|at| at.to_string()),
            documents: signup.attachments.iter().map(WireAttachment::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct WireAnswer {
    at: String,
    status: u16,
    answer: Value,
}

impl WireAnswer {
    fn of(stored: ExportedResponse) -> Self {
        let ExportedResponse { at, status, body } = stored;
        // Bodies are JSON; any other text becomes a JSON string.
        let answer = body.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap_or(Value::String(text)));
        Self { at: at.to_string(), status, answer }
    }
}
