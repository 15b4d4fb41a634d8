//! `GET /api/v1/roles/{id}/board`: the steps of a role, each with the candidates whose applications are in progress at
//! the step.

use std::collections::HashMap;

use hyper::Method;
use serde::Serialize;

use super::candidate::wire::WireSignup;
use super::organization_status::WireApplicationCounts;
use crate::domain::api_key::Scope;
use crate::domain::id::{ApplicationId, Id, OrganizationId, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::ROLE;
use crate::http::api::visible::{self, ROLE_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, WirePagination, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::board::{self, BoardEntry, BoardStep};
use crate::store::signup::{self, Signup};
use crate::store::{Error, Tx};

const NO_STEP: Refusal = Refusal::NotFound("the role has no step with this stepId");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/roles/{id}/board";
    vec![Route::scoped(ROLE, Scope::CandidatesRead, Method::GET, path, decode, board).answering(&[
        (200, ""),
        (400, "validation_error"),
        (404, "not_found"),
    ])]
}

struct BoardInput {
    role: RoleId,
    /// The `stepId`, if any. With a `stepId`, the answer is a page of that step only.
    step: Option<String>,
    page: PageRequest,
    after: Option<BoardCursor>,
}

/// The last candidate on the previous page: the time at which they arrived at the step, in microseconds, and their
/// application.
type BoardCursor = (i64, ApplicationId);

/// # Errors
/// `validation_error` for invalid parameters (the error names all of them), or for a `cursor` without its `stepId`;
/// `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<BoardInput, Error> {
    let (step, page) = Refusal::both(request.query("stepId"), PageRequest::parse(request, 2))?;
    let after = page.after.as_deref().map(|parts| parse_cursor(parts).ok_or_else(invalid_cursor)).transpose()?;
    if after.is_some() && step.is_none() {
        return Err(Refusal::invalid("cursor", "belongs to one step; also send the stepId of that step").into());
    }
    Ok(BoardInput { role: request.id_param("id", ROLE_NOT_VISIBLE)?, step, page, after })
}

fn parse_cursor(parts: &[String]) -> Option<BoardCursor> {
    let [since, id] = parts else { return None };
    Some((since.parse().ok()?, ApplicationId::parse(id)?))
}

/// `GET /api/v1/roles/{id}/board`: the steps of a role in order. Each step lists the candidates whose applications are
/// in progress at the step. The candidate who has been at the step longest comes first. With `stepId`, the answer is a
/// page of one step.
///
/// The candidates of a step are sorted by `since`, so most new arrivals come last. A candidate who returns to a step by
/// a move back, a reopening or an undo gets their earlier position again. The order of the others does not change. A
/// caller who reads a step page by page therefore sees exactly once each candidate who stays at the step, even if
/// others arrive or leave.
///
/// # Errors
/// `not_found` if the role does not exist, the caller may not see it, or it has no such step.
fn board(_: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &BoardInput) -> Result<Reply, Error> {
    let role = &input.role;
    let (organization, _) = visible::role(tx, caller, role)?;
    let steps = board::steps(tx, &organization, role)?;
    match &input.step {
        Some(id) => {
            let step = steps.iter().find(|step| step.id.as_str() == id).ok_or(NO_STEP)?;
            step_reply(tx, &organization, role, &step.id, input)
        }
        None => board_reply(tx, &organization, role, &steps, &input.page),
    }
}

fn step_reply(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    step: &RoleStepId,
    input: &BoardInput,
) -> Result<Reply, Error> {
    let after = input.after.as_ref().map_or(board::FIRST_PAGE, |(since, id)| (*since, id.as_str()));
    let candidates = board::page(tx, organization, role, step, after, input.page.rows_to_fetch())?;
    let signups = signups_of(tx, candidates.iter())?;
    Ok(input.page.reply(candidates, cursor_parts, |entry| wire_entry(entry, &signups, tx.now)))
}

fn board_reply(
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
        // The board shows a removed step only while candidates are at the step.
        if step.order.is_none() && count == 0 {
            continue;
        }
        let candidates = board::page(tx, organization, role, &step.id, board::FIRST_PAGE, page.rows_to_fetch())?;
        pages.push((step, count, page.take_page(candidates, cursor_parts)));
    }
    let signups = signups_of(tx, pages.iter().flat_map(|(_, _, (candidates, _))| candidates))?;
    let steps = pages.into_iter().map(|(step, count, (candidates, pagination))| WireStep {
        id: step.id.as_str(),
        name: &step.name,
        order: step.order,
        step_type: step.step_type.as_str(),
        removed: step.order.is_none(),
        count,
        candidates: candidates.into_iter().map(|entry| wire_entry(entry, &signups, tx.now)).collect(),
        pagination,
    });
    let applications = board::applications(tx, organization, role)?.into();
    Ok(envelope::with_data(WireBoard { role_id: role.as_str(), applications, steps: steps.collect() }))
}

fn cursor_parts(last: &BoardEntry) -> Vec<String> {
    vec![last.since.micros().to_string(), last.candidate_role_id.to_string()]
}

/// Returns the original signups of the applications on a page.
fn signups_of<'a>(
    tx: &Tx<'_>,
    candidates: impl Iterator<Item = &'a BoardEntry>,
) -> Result<HashMap<ApplicationId, Signup>, Error> {
    signup::of_applications(tx, candidates.map(|entry| &entry.candidate_role_id))
}

fn wire_entry(entry: BoardEntry, signups: &HashMap<ApplicationId, Signup>, now: Timestamp) -> WireBoardEntry<'_> {
    WireBoardEntry {
        signup: signups.get(&entry.candidate_role_id).map(WireSignup::new),
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
    applications: WireApplicationCounts,
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
    candidates: Vec<WireBoardEntry<'a>>,
    pagination: WirePagination,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireBoardEntry<'a> {
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
