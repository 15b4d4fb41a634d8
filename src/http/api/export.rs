//! `GET /api/v1/candidates/{id}/export`: the data that the service stores about a candidate, in one document.
//!
//! The document lists attachments without their content. Staff download attachments one by one.

use hyper::Method;
use serde::Serialize;
use serde_json::Value;

use super::activity::{self, WireActivity};
use super::candidate::find::{find, in_full};
use super::candidate::wire::{WireAttachment, WireTyped};
use super::hr_delivery;
use crate::domain::activity::Subject;
use crate::domain::api_key::Scope;
use crate::domain::id::{ApplicationId, CandidateId};
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::CANDIDATE;
use crate::http::api::visible::CANDIDATE_NOT_VISIBLE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::export::ExportedResponse;
use crate::store::signup::Signup;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidates/{id}/export";
    // The handler writes, because the activity records which user exported a candidate's data.
    vec![
        Route::scoped(CANDIDATE, Scope::CandidatesWrite, Method::GET, path, decode, export)
            .writes(Grade::Vital)
            .answering(&[(200, ""), (403, "forbidden"), (404, "not_found")]),
    ]
}

struct ExportInput {
    id: CandidateId,
    /// Whether the answer has content. An answer to `HEAD` has none, so `HEAD` adds no activity row.
    sends_content: bool,
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<ExportInput, Error> {
    let sends_content = request.method() != Method::HEAD;
    Ok(ExportInput { id: request.id_param("id", CANDIDATE_NOT_VISIBLE)?, sends_content })
}

/// `GET /api/v1/candidates/{id}/export`: returns the data about the candidate, including the messages to HR systems and
/// the answers of these systems.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them; `forbidden` for a plain member.
fn export(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &ExportInput) -> Result<Reply, Error> {
    let (candidate, roles) = find(tx, caller, &input.id)?;
    roles.require_manager()?;
    let (id, organization) = (candidate.id.clone(), candidate.organization_id.clone());
    let facts = store::erasure::facts(tx, &organization, &id)?.ok_or(CANDIDATE_NOT_VISIBLE)?;
    let subject = Subject::of_candidate(organization.clone(), id.clone());
    let rows = store::activity::page(tx, &subject, None, i64::MAX, usize::MAX)?;
    let deliveries = store::hr_delivery::of_candidate(tx, &organization, &id)?;
    let stored_responses = store::export::stored_responses(tx, &id)?;
    let signups = store::export::signups(tx, &id)?;
    let reply = envelope::with_data(WireExport {
        exported_at: tx.now.to_string(),
        candidate: in_full(tx, candidate)?,
        hold_reason: facts.hold_reason.as_deref(),
        erased_at: facts.erased_at.map(|at| at.to_string()),
        signups: signups.iter().map(WireSignup::new).collect(),
        activity: rows.iter().map(activity::wire).collect(),
        hr_deliveries: deliveries
            .iter()
            .map(|delivery| hr_delivery::in_full(tx, delivery))
            .collect::<Result<_, _>>()?,
        stored_answers: stored_responses.into_iter().map(WireStoredResponse::new).collect(),
    });
    if input.sends_content {
        store::export::record(tx, &store::activity::stamp(&*ctx.world), caller, &subject)?;
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
    stored_answers: Vec<WireStoredResponse>,
}

/// A signup of the candidate with its role and its attachments.
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
    #[serde(rename = "documents")]
    attachments: Vec<WireAttachment>,
}

impl<'a> WireSignup<'a> {
    fn new(signup: &'a Signup) -> Self {
        Self {
            id: signup.id.as_str(),
            role_id: signup.role_id.as_str(),
            candidate_role_id: signup.application.as_ref().map(ApplicationId::as_str),
            typed: WireTyped::new(signup),
            created_at: signup.submitted_at.to_string(),
            withdrew_at: signup.withdrawn_at.map(|at| at.to_string()),
            attachments: signup.attachments.iter().map(WireAttachment::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct WireStoredResponse {
    at: String,
    status: u16,
    answer: Value,
}

impl WireStoredResponse {
    fn new(stored: ExportedResponse) -> Self {
        let ExportedResponse { at, status, body } = stored;
        // Stored responses are JSON. A response that cannot be parsed is shown as a string.
        let answer = body.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap_or(Value::String(text)));
        Self { at: at.to_string(), status, answer }
    }
}
