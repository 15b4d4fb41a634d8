//! `GET /api/v1/organizations/{id}/status`: an organization's counts, which the service updates when roles and
//! applications change.

use hyper::Method;
use serde::Serialize;

use crate::domain::api_key::Scope;
use crate::domain::id::OrganizationId;
use crate::domain::report::ApplicationCounts;
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::ORGANIZATION;
use crate::http::api::visible::{self, ORGANIZATION_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/organizations/{id}/status";
    vec![
        Route::scoped(ORGANIZATION, Scope::RolesRead, Method::GET, path, decode, status)
            .answering(&[(200, ""), (404, "not_found")]),
    ]
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    Ok(request.id_param("id", ORGANIZATION_NOT_VISIBLE)?)
}

/// `GET /api/v1/organizations/{id}/status`: returns the numbers of open roles and open positions, and the number of
/// applications in each status.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it.
fn status(_: &Ctx, tx: &Tx<'_>, caller: &Principal, id: &OrganizationId) -> Result<Reply, Error> {
    visible::organization(tx, caller, id)?;
    let counts = store::organization::status(tx, id)?
        .ok_or_else(|| Error::Defect(format!("organization {id} has no status row")))?;
    Ok(envelope::with_data(WireStatus {
        organization_id: id.as_str(),
        open_roles: counts.open_roles,
        open_positions: counts.open_positions,
        applications: WireApplicationCounts {
            in_progress: counts.in_progress,
            hired: counts.hired,
            not_selected: counts.not_selected,
            withdrawn: counts.withdrawn,
        },
    }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireStatus<'a> {
    organization_id: &'a str,
    open_roles: i64,
    open_positions: i64,
    applications: WireApplicationCounts,
}

/// The number of applications in each status.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireApplicationCounts {
    pub(in crate::http) in_progress: i64,
    pub(in crate::http) hired: i64,
    pub(in crate::http) not_selected: i64,
    pub(in crate::http) withdrawn: i64,
}

impl From<ApplicationCounts> for WireApplicationCounts {
    fn from(counts: ApplicationCounts) -> Self {
        let ApplicationCounts { in_progress, hired, not_selected, withdrawn } = counts;
        Self { in_progress, hired, not_selected, withdrawn }
    }
}
