//! `GET /api/v1/roles/{id}/board`: where a role's candidates are.

use std::collections::HashMap;

use hyper::Method;
use serde::Serialize;

use super::api_key::WireData;
use super::candidate::wire::WireSignup;
use super::status::WireApplications;
use crate::domain::api_key::Scope;
use crate::domain::id::{ApplicationId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::api::resource::ORGANIZATION;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{self, PageRequest, WirePagination};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::board::{self, BoardEntry, BoardStep};
use crate::store::signup::{self, Signup};
use crate::store::{self, Error, Tx};

const NO_ROLE: Refusal = Refusal::NotFound("there is no such role, or this key may not see it");
const NO_STEP: Refusal = Refusal::NotFound("the role has no step with this stepId");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/roles/{id}/board";
    vec![Route::scoped(ORGANIZATION, Scope::CandidatesRead, Method::GET, path, decode, board).answering(&[
        (200, ""),
        (400, "validation_error"),
        (401, "unauthorized"),
        (403, "insufficient_scope"),
        (404, "not_found"),
        (429, "rate_limited"),
    ])]
}

struct BoardInput {
    role: Option<RoleId>,
    /// The one step that is asked for, as it was given.
    step: Option<String>,
    page: PageRequest,
    /// The last entry before the page.
    after: Option<(i64, ApplicationId)>,
}

/// What of the board is asked for. All parameters at fault are told at once.
///
/// # Errors
/// `validation_error` for a `limit` that is no integer, a `cursor` that no page gave, one without the step that it is of,
/// a parameter that is there twice.
fn decode(_: &Ctx, request: &Request) -> Result<BoardInput, Error> {
    let (step, page) = Refusal::both(request.query("stepId"), PageRequest::parse(request, 2))?;
    let after = page.after.as_deref().map(|parts| cursor(parts).ok_or_else(pagination::invalid_cursor)).transpose()?;
    if after.is_some() && step.is_none() {
        return Err(Refusal::invalid("cursor", "is one of a step's pages; send that step's stepId with it").into());
    }
    Ok(BoardInput { role: RoleId::parse(request.param("id")), step, page, after })
}

fn cursor(parts: &[String]) -> Option<(i64, ApplicationId)> {
    let [since, id] = parts else { return None };
    Some((since.parse().ok()?, ApplicationId::parse(id)?))
}

/// `GET /api/v1/roles/{id}/board`: the steps of a role in their order, and at each the candidates whose applications are
/// in progress, those who are there longest first. With `stepId` further pages of one step.
///
/// A candidate who moves goes to the end of the step that they come to, and nobody else moves: whoever stays is
/// on the pages of their step exactly once, however many others come and go meanwhile.
///
/// # Errors
/// `not_found` where there is no such role, the caller may not see it, or it has no such step.
fn board(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &BoardInput) -> Result<Reply, Error> {
    let role = input.role.as_ref().ok_or(NO_ROLE)?;
    let (organization, _) = store::access::to_role(tx, who, role)?.ok_or(NO_ROLE)?;
    let steps = board::steps(tx, &organization, role)?;
    match &input.step {
        Some(id) => {
            let step = steps.iter().find(|step| step.id.as_str() == id).ok_or(NO_STEP)?;
            one_step(tx, &organization, role, &step.id, input)
        }
        None => all_steps(tx, &organization, role, &steps, &input.page),
    }
}

fn one_step(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    step: &RoleStepId,
    input: &BoardInput,
) -> Result<Reply, Error> {
    let after = input.after.as_ref().map_or(board::FIRST_PAGE, |(since, id)| (*since, id.as_str()));
    let found = board::page(tx, organization, role, step, after, input.page.rows_to_fetch())?;
    let signups = signups_of(tx, found.iter())?;
    Ok(input.page.reply(found, key, |entry| wire_entry(entry, &signups, tx.now)))
}

fn all_steps(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    steps: &[BoardStep],
    page: &PageRequest,
) -> Result<Reply, Error> {
    let counts: HashMap<RoleStepId, i64> = board::counts(tx, organization, role)?.into_iter().collect();
    let mut pages = Vec::new();
    for step in steps {
        let count = counts.get(&step.id).copied().unwrap_or(0);
        // A step that was removed is shown for as long as somebody is there.
        if step.order.is_none() && count == 0 {
            continue;
        }
        let found = board::page(tx, organization, role, &step.id, board::FIRST_PAGE, page.rows_to_fetch())?;
        pages.push((step, count, page.take_page(found, key)));
    }
    let signups = signups_of(tx, pages.iter().flat_map(|(_, _, (entries, _))| entries))?;
    let shown = pages.into_iter().map(|(step, count, (entries, pagination))| WireStep {
        id: step.id.as_str(),
        name: &step.name,
        order: step.order,
        step_type: step.step_type.as_str(),
        removed: step.order.is_none(),
        count,
        candidates: entries.into_iter().map(|entry| wire_entry(entry, &signups, tx.now)).collect(),
        pagination,
    });
    let applications = board::applications(tx, organization, role)?.into();
    let data = WireBoard { role_id: role.as_str(), applications, steps: shown.collect() };
    Ok(Reply::json(&WireData { success: true, data }))
}

fn key(entry: &BoardEntry) -> Vec<String> {
    vec![entry.since.micros().to_string(), entry.candidate_role_id.to_string()]
}

/// What the applications of a page were made with.
fn signups_of<'a>(
    tx: &Tx<'_>,
    entries: impl Iterator<Item = &'a BoardEntry>,
) -> Result<HashMap<ApplicationId, Signup>, Error> {
    signup::of_applications(tx, entries.map(|entry| &entry.candidate_role_id))
}

fn wire_entry(entry: BoardEntry, signups: &HashMap<ApplicationId, Signup>, now: Timestamp) -> WireEntry<'_> {
    WireEntry {
        signup: signups.get(&entry.candidate_role_id).map(WireSignup::of),
        candidate: WireCandidate { id: entry.candidate_id.into(), name: entry.candidate_name },
        candidate_role_id: entry.candidate_role_id.into(),
        candidate_step_id: entry.candidate_step_id.into(),
        applied_at: entry.applied_at.to_string(),
        since: entry.since.to_string(),
        seconds_in_step: now.since(entry.since).as_secs(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireBoard<'a> {
    role_id: &'a str,
    applications: WireApplications,
    steps: Vec<WireStep<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireStep<'a> {
    id: &'a str,
    name: &'a str,
    order: Option<i64>,
    step_type: &'static str,
    removed: bool,
    count: i64,
    candidates: Vec<WireEntry<'a>>,
    pagination: WirePagination,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireEntry<'a> {
    candidate: WireCandidate,
    candidate_role_id: String,
    candidate_step_id: String,
    applied_at: String,
    since: String,
    seconds_in_step: u64,
    signup: Option<WireSignup<'a>>,
}

#[derive(Serialize)]
struct WireCandidate {
    id: String,
    name: String,
}
