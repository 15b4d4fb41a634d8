//! `GET /api/v1/organizations/{id}/status`: an organization's figures, as they are moved with each decision.

use hyper::Method;
use serde::Serialize;

use super::api_key::WireData;
use crate::domain::api_key::Scope;
use crate::domain::id::{Id, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::report::ApplicationCounts;
use crate::domain::user::Principal;
use crate::http::api::resource::ORGANIZATION;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Tx};

const NO_ORGANIZATION: Refusal = Refusal::NotFound("there is no such organization, or this key may not see it");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/organizations/{id}/status";
    vec![Route::scoped(ORGANIZATION, Scope::RolesRead, Method::GET, path, decode, status).answering(&[
        (200, ""),
        (401, "unauthorized"),
        (403, "insufficient_scope"),
        (404, "not_found"),
        (429, "rate_limited"),
    ])]
}

/// The organization that a path names; an id that none can have names nothing.
#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode(_: &Ctx, request: &Request) -> Result<Option<OrganizationId>, Error> {
    Ok(OrganizationId::parse(request.param("id")))
}

/// `GET /api/v1/organizations/{id}/status`: its open roles and positions, and its applications by what became of them.
///
/// # Errors
/// `not_found` where there is no such organization, or the caller may not see it.
fn status(_: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<OrganizationId>) -> Result<Reply, Error> {
    let id = id.as_ref().ok_or(NO_ORGANIZATION)?;
    store::access::to_organization(tx, who, id)?.ok_or(NO_ORGANIZATION)?;
    let counts = store::organization::status(tx, id)?
        .ok_or_else(|| Error::Defect(format!("organization {id} has no status row")))?;
    let data = WireStatus {
        organization_id: id.as_str(),
        open_roles: counts.open_roles,
        open_positions: counts.open_positions,
        applications: WireApplications {
            in_progress: counts.in_progress,
            hired: counts.hired,
            not_selected: counts.not_selected,
            withdrawn: counts.withdrawn,
        },
    };
    Ok(Reply::json(&WireData { success: true, data }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireStatus<'a> {
    organization_id: &'a str,
    open_roles: i64,
    open_positions: i64,
    applications: WireApplications,
}

/// Applications by what became of them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireApplications {
    in_progress: i64,
    hired: i64,
    not_selected: i64,
    withdrawn: i64,
}

impl From<ApplicationCounts> for WireApplications {
    fn from(applications: ApplicationCounts) -> Self {
        let ApplicationCounts { in_progress, hired, not_selected, withdrawn } = applications;
        Self { in_progress, hired, not_selected, withdrawn }
    }
}
