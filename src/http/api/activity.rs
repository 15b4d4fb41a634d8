//! `/api/v1/…/activity`: staff read the activity of an organization, a role or a candidate. `/api/admin/activity`:
//! admins read the platform activity.
//!
//! The activity contains the names of candidates, so the staff endpoints require the scope that reads candidates.

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
use crate::http::api::decode;
use crate::http::api::resource::{CANDIDATE, ORGANIZATION, ROLE};
use crate::http::api::visible::{self, CANDIDATE_NOT_VISIBLE, ORGANIZATION_NOT_VISIBLE, ROLE_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::activity::Activity;
use crate::store::{self, Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let scope = Scope::CandidatesRead;
    let organization = "/api/v1/organizations/{id}/activity";
    let role = "/api/v1/roles/{id}/activity";
    let candidate = "/api/v1/candidates/{id}/activity";
    let staff = [
        Route::scoped(ORGANIZATION, scope, Method::GET, organization, decode, organization_activity),
        Route::scoped(ROLE, scope, Method::GET, role, decode, role_activity),
        Route::scoped(CANDIDATE, scope, Method::GET, candidate, decode, candidate_activity),
    ];
    let staff = staff.map(|route| route.answering(&[(200, ""), (400, "validation_error"), (404, "not_found")]));
    let platform = Route::admin(Method::GET, "/api/admin/activity", decode, platform_activity);
    staff.into_iter().chain([platform.answering(&[(200, ""), (400, "validation_error")])]).collect()
}

struct ActivityInput {
    /// The `{id}` in the path, which each staff endpoint parses as its own type of id.
    id: String,
    action: Option<Action>,
    page: PageRequest,
}

/// # Errors
/// `validation_error`, which names all invalid parameters.
fn decode(_: &Ctx, request: &Request) -> Result<ActivityInput, Error> {
    let action = decode::word_param(request, "action", Action::WORDS, Action::parse);
    let (action, page) = Refusal::both(action, PageRequest::parse(request, 1))?;
    Ok(ActivityInput { id: request.param("id").to_owned(), action, page })
}

/// `GET /api/v1/organizations/{id}/activity`: the activity of an organization, newest first.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it; `validation_error` for a `cursor` from
/// another list.
fn organization_activity(_: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &ActivityInput) -> Result<Reply, Error> {
    let id = OrganizationId::parse(&input.id).ok_or(ORGANIZATION_NOT_VISIBLE)?;
    visible::organization(tx, caller, &id)?;
    page_reply(tx, &Subject::of_organization(id), input)
}

/// `GET /api/v1/roles/{id}/activity`: the activity of a role and its applications, newest first.
///
/// # Errors
/// `not_found` if the role does not exist or the caller may not see it; `validation_error` for a `cursor` from another
/// list.
fn role_activity(_: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &ActivityInput) -> Result<Reply, Error> {
    let id = RoleId::parse(&input.id).ok_or(ROLE_NOT_VISIBLE)?;
    let (organization, _) = visible::role(tx, caller, &id)?;
    page_reply(tx, &Subject::of_role(organization, id), input)
}

/// `GET /api/v1/candidates/{id}/activity`: the activity of a candidate in all their applications, newest first.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them; `validation_error` for a `cursor` from
/// another list.
fn candidate_activity(_: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &ActivityInput) -> Result<Reply, Error> {
    let id = CandidateId::parse(&input.id).ok_or(CANDIDATE_NOT_VISIBLE)?;
    let (organization, _) = visible::candidate(tx, caller, &id)?;
    page_reply(tx, &Subject::of_candidate(organization, id), input)
}

/// `GET /api/admin/activity`: platform activity, newest first.
///
/// # Errors
/// `validation_error` for a `cursor` from another list.
fn platform_activity(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &ActivityInput) -> Result<Reply, Error> {
    let before = number_before(input, |id| store::activity::platform::number(tx, id))?;
    let rows = store::activity::platform::page(tx, input.action, before, input.page.rows_to_fetch())?;
    Ok(input.page.reply(rows.iter().map(wire).collect(), |row| vec![row.id.to_owned()], |row| row))
}

fn page_reply(tx: &Tx<'_>, subject: &Subject, input: &ActivityInput) -> Result<Reply, Error> {
    let before = number_before(input, |id| store::activity::number(tx, subject, id))?;
    let rows = store::activity::page(tx, subject, input.action, before, input.page.rows_to_fetch())?;
    Ok(input.page.reply(rows.iter().map(wire).collect(), |row| vec![row.id.to_owned()], |row| row))
}

/// Returns the number of the last row on the previous page, or the largest number for the first page. The cursor
/// contains the id of that row, because the number would reveal how much activity the whole database contains.
///
/// # Errors
/// `validation_error` if the cursor contains no valid id, or if `number_of` finds no row with the id.
fn number_before(
    input: &ActivityInput,
    number_of: impl Fn(&ActivityId) -> Result<Option<i64>, Error>,
) -> Result<i64, Error> {
    let Some([id]) = input.page.after.as_deref() else { return Ok(i64::MAX) };
    let id = ActivityId::parse(id).ok_or_else(invalid_cursor)?;
    Ok(number_of(&id)?.ok_or_else(invalid_cursor)?)
}

/// Returns an activity row as the API shows it. If its detail was erased or cannot be parsed, `before` and `after` are
/// null.
pub(in crate::http) fn wire(activity: &Activity) -> WireActivity<'_> {
    let detail: Option<Value> = activity.detail.as_ref().and_then(|text| serde_json::from_str(text).ok());
    let mut detail = detail.unwrap_or(Value::Null);
    let mut side = |name: &str| detail.get_mut(name).map(Value::take).unwrap_or_default();
    WireActivity {
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
    }
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
