//! `GET /api/v1/roles/{id}/in-progress`: the candidates whose applications to a role are in progress. Staff can then
//! end these applications in decision batches, for example after the role was filled or closed.

use hyper::Method;
use serde::Serialize;

use crate::domain::api_key::Scope;
use crate::domain::id::{CandidateId, Id, OrganizationId, RoleId};
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::ROLE;
use crate::http::api::visible::{self, ROLE_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, WirePagination, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::in_progress::{self, InProgress};
use crate::store::{self, Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/roles/{id}/in-progress";
    vec![Route::scoped(ROLE, Scope::CandidatesRead, Method::GET, path, decode, list).answering(&[
        (200, ""),
        (400, "validation_error"),
        (404, "not_found"),
    ])]
}

/// # Errors
/// `validation_error` for an invalid `limit` or `cursor`; `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<(RoleId, PageRequest), Error> {
    let page = PageRequest::parse(request, 1)?;
    Ok((request.id_param("id", ROLE_NOT_VISIBLE)?, page))
}

/// `GET /api/v1/roles/{id}/in-progress`: a page of the applications in progress, with the status of the role and the
/// total number. The role may have any status.
///
/// # Errors
/// `not_found` if the role does not exist or the caller may not see it; `validation_error` for a `cursor` that does not
/// name a candidate of the organization.
fn list(_: &Ctx, tx: &Tx<'_>, caller: &Principal, (role, page): &(RoleId, PageRequest)) -> Result<Reply, Error> {
    let (organization, _) = visible::role(tx, caller, role)?;
    let seats = store::role::seats(tx, &organization, role)?.ok_or(ROLE_NOT_VISIBLE)?;
    let after = match &page.after {
        Some(after) => number_of_last(tx, &organization, after)?,
        None => 0,
    };
    let loaded = in_progress::page(tx, &organization, role, after, page.rows_to_fetch())?;
    let (candidates, pagination) = page.take_page(loaded, |last| vec![last.candidate_id.to_string()]);
    Ok(envelope::with_data(WireInProgress {
        role_id: role.as_str(),
        role_status: seats.status.as_str(),
        total: store::board::applications(tx, &organization, role)?.in_progress,
        candidates: candidates.iter().map(WireEntry::new).collect(),
        pagination,
    }))
}

/// Returns the number of the last candidate on the previous page.
fn number_of_last(tx: &Tx<'_>, organization: &OrganizationId, after: &[String]) -> Result<i64, Error> {
    let id = after.first().and_then(|id| CandidateId::parse(id)).ok_or_else(invalid_cursor)?;
    Ok(store::candidate::find(tx, organization, &id)?.ok_or_else(invalid_cursor)?.number)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireInProgress<'a> {
    role_id: &'a str,
    role_status: &'static str,
    total: i64,
    candidates: Vec<WireEntry<'a>>,
    pagination: WirePagination,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireEntry<'a> {
    candidate: WireCandidate<'a>,
    candidate_role_id: &'a str,
    applied_at: String,
    step: Option<WireStep<'a>>,
}

#[derive(Serialize)]
struct WireCandidate<'a> {
    id: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireStep<'a> {
    candidate_step_id: &'a str,
    name: &'a str,
    since: String,
}

impl<'a> WireEntry<'a> {
    fn new(entry: &'a InProgress) -> Self {
        Self {
            candidate: WireCandidate { id: entry.candidate_id.as_str(), name: &entry.candidate_name },
            candidate_role_id: entry.candidate_role_id.as_str(),
            applied_at: entry.applied_at.to_string(),
            step: entry.step.as_ref().map(|step| WireStep {
                candidate_step_id: step.candidate_step_id.as_str(),
                name: &step.name,
                since: step.since.to_string(),
            }),
        }
    }
}
