//! `/api/v1/…/activity`: staff read what was done to an organization, a role or a candidate.
//!
//! What was done tells of candidates by name, so all three ask for the scope that reads them.

use hyper::Method;
use serde::Serialize;
use serde_json::Value;

use crate::domain::activity::{Action, Subject};
use crate::domain::api_key::Scope;
use crate::domain::id::{
    ActivityId, ApiKeyId, ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId,
};
use crate::domain::refusal::Refusal;
use crate::domain::user::{Admin, Principal};
use crate::http::api::resource::{CANDIDATE, ORGANIZATION, ROLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{self, PageRequest};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::activity::Activity;
use crate::store::{self, Error, Tx};

const ANSWERS: &[Answer] = &[
    (200, ""),
    (400, "validation_error"),
    (401, "unauthorized"),
    (403, "insufficient_scope"),
    (404, "not_found"),
    (429, "rate_limited"),
];

const LISTS: &[Answer] =
    &[(200, ""), (400, "validation_error"), (401, "unauthorized"), (403, "forbidden"), (429, "rate_limited")];

const NO_ORGANIZATION: Refusal = Refusal::NotFound("there is no such organization, or this key may not see it");
const NO_ROLE: Refusal = Refusal::NotFound("there is no such role, or this key may not see it");
const NO_CANDIDATE: Refusal = Refusal::NotFound("there is no such candidate, or this key may not see them");

pub(in crate::http) fn routes() -> Vec<Route> {
    let scope = Scope::CandidatesRead;
    let organization = "/api/v1/organizations/{id}/activity";
    let role = "/api/v1/roles/{id}/activity";
    let candidate = "/api/v1/candidates/{id}/activity";
    let platform = Route::admin(Method::GET, "/api/admin/activity", decode, of_platform);
    let mut routes = vec![
        Route::scoped(ORGANIZATION, scope, Method::GET, organization, decode, of_organization),
        Route::scoped(ROLE, scope, Method::GET, role, decode, of_role),
        Route::scoped(CANDIDATE, scope, Method::GET, candidate, decode, of_candidate),
    ];
    routes = routes.into_iter().map(|route| route.answering(ANSWERS)).collect();
    routes.push(platform.answering(LISTS));
    routes
}

/// Which rows are asked for. The id is read by whoever knows what it names.
struct ActivityInput {
    id: String,
    action: Option<Action>,
    page: PageRequest,
}

/// All parameters at fault are told at once.
///
/// # Errors
/// `validation_error` for an `action` that there is none of, a `limit` that is no integer, a `cursor` that no page gave,
/// a parameter that is there twice.
fn decode(_: &Ctx, request: &Request) -> Result<ActivityInput, Error> {
    let action = request.query("action").and_then(|text| text.as_deref().map(action).transpose());
    let (action, page) = Refusal::both(action, PageRequest::parse(request, 1))?;
    Ok(ActivityInput { id: request.param("id").to_owned(), action, page })
}

fn action(text: &str) -> Result<Action, Refusal> {
    let unknown = || Refusal::invalid("action", format!("must be one of {}", Action::WORDS.join(", ")));
    Action::parse(text).ok_or_else(unknown)
}

/// `GET /api/v1/organizations/{id}/activity`: all that was done in an organization, newest first.
///
/// # Errors
/// `not_found` where there is no such organization, or the caller may not see it; `validation_error` for a `cursor` that
/// no page of the organization gave.
fn of_organization(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ActivityInput) -> Result<Reply, Error> {
    let id = OrganizationId::parse(&input.id).ok_or(NO_ORGANIZATION)?;
    store::access::to_organization(tx, who, &id)?.ok_or(NO_ORGANIZATION)?;
    page(tx, &Subject::of_organization(id), input)
}

/// `GET /api/v1/roles/{id}/activity`: what was done to a role and to whoever applied to it, newest first.
///
/// # Errors
/// The same about the role.
fn of_role(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ActivityInput) -> Result<Reply, Error> {
    let id = RoleId::parse(&input.id).ok_or(NO_ROLE)?;
    let (organization, _) = store::access::to_role(tx, who, &id)?.ok_or(NO_ROLE)?;
    page(tx, &Subject::of_role(organization, id), input)
}

/// `GET /api/v1/candidates/{id}/activity`: what was done to a candidate in all their applications, newest first.
///
/// # Errors
/// The same about the candidate.
fn of_candidate(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ActivityInput) -> Result<Reply, Error> {
    let id = CandidateId::parse(&input.id).ok_or(NO_CANDIDATE)?;
    let (organization, _) = store::access::to_candidate(tx, who, &id)?.ok_or(NO_CANDIDATE)?;
    page(tx, &Subject::of_candidate(organization, id), input)
}

/// `GET /api/admin/activity`: platform activity, which is what was done to the appliance itself, newest first.
///
/// # Errors
/// `validation_error` for a `cursor` that no page of it gave.
fn of_platform(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &ActivityInput) -> Result<Reply, Error> {
    let before = match input.page.after.as_deref() {
        Some([id]) => {
            let id = ActivityId::parse(id).ok_or_else(pagination::invalid_cursor)?;
            store::activity::platform::number(tx, &id)?.ok_or_else(pagination::invalid_cursor)?
        }
        _ => i64::MAX,
    };
    let found = store::activity::platform::page(tx, input.action, before, input.page.rows_to_fetch())?;
    let rows = found.iter().map(wire).collect::<Result<Vec<_>, _>>()?;
    Ok(input.page.reply(rows, |row| vec![row.id.to_owned()], |row| row))
}

fn page(tx: &Tx<'_>, subject: &Subject, input: &ActivityInput) -> Result<Reply, Error> {
    // A row is found again by its id: its number would tell how much is done in the whole file.
    let before = match input.page.after.as_deref() {
        Some([id]) => {
            let id = ActivityId::parse(id).ok_or_else(pagination::invalid_cursor)?;
            store::activity::number(tx, subject, &id)?.ok_or_else(pagination::invalid_cursor)?
        }
        _ => i64::MAX,
    };
    let found = store::activity::page(tx, subject, input.action, before, input.page.rows_to_fetch())?;
    let rows = found.iter().map(wire).collect::<Result<Vec<_>, _>>()?;
    Ok(input.page.reply(rows, |row| vec![row.id.to_owned()], |row| row))
}

/// What was done, as it is told.
pub(in crate::http) fn wire(activity: &Activity) -> Result<WireActivity<'_>, Error> {
    // Earlier versions took JSON that is nested deeper than any reader goes. Such a row is shown without its detail.
    let detail = activity.detail.as_ref().and_then(|text| serde_json::from_str(text).ok());
    let mut detail = detail.unwrap_or(Value::Null);
    let mut side = |name: &str| detail.get_mut(name).map(Value::take).unwrap_or_default();
    Ok(WireActivity {
        id: activity.id.as_str(),
        at: activity.at.to_string(),
        action: &activity.action,
        user: activity.actor.as_ref().map(|actor| WireActor { id: &actor.id, name: &actor.name, email: &actor.email }),
        api_key_id: activity.api_key_id.as_ref().map(ApiKeyId::as_str),
        role_id: activity.role_id.as_ref().map(RoleId::as_str),
        candidate_id: activity.candidate_id.as_ref().map(CandidateId::as_str),
        candidate_role_id: activity.candidate_role_id.as_ref().map(ApplicationId::as_str),
        candidate_step_id: activity.candidate_role_step_id.as_ref().map(CandidateStepId::as_str),
        before: side("before"),
        after: side("after"),
        erased: activity.detail.is_none(),
        hash: hex(&activity.hash),
        previous_hash: hex(&activity.previous_hash),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireActivity<'a> {
    id: &'a str,
    at: String,
    action: &'a str,
    user: Option<WireActor<'a>>,
    api_key_id: Option<&'a str>,
    role_id: Option<&'a str>,
    candidate_id: Option<&'a str>,
    candidate_role_id: Option<&'a str>,
    candidate_step_id: Option<&'a str>,
    before: Value,
    after: Value,
    erased: bool,
    hash: String,
    previous_hash: String,
}

#[derive(Serialize)]
struct WireActor<'a> {
    id: &'a str,
    name: &'a str,
    email: &'a str,
}
