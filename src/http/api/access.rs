//! `/api/v1/organizations`: the organizations that the caller may see, each with the caller's organization role.

use hyper::Method;
use serde::Serialize;

use crate::domain::api_key::Scope;
use crate::domain::id::{Id, OrganizationId};
use crate::domain::user::{OrgRole, Principal};
use crate::http::api::envelope;
use crate::http::api::resource::ORGANIZATION;
use crate::http::api::time_cursor::{self, TimeCursor};
use crate::http::api::visible::ORGANIZATION_NOT_VISIBLE;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::{self, Error, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let (organizations, organization) = ("/api/v1/organizations", "/api/v1/organizations/{id}");
    vec![
        Route::scoped(ORGANIZATION, Scope::RolesRead, Method::GET, organizations, decode_list, list)
            .answering(&[(200, ""), (400, "validation_error")]),
        Route::scoped(ORGANIZATION, Scope::RolesRead, Method::GET, organization, decode_id, get)
            .answering(&[(200, ""), (404, "not_found")]),
    ]
}

struct ListInput {
    page: PageRequest,
    after: Option<TimeCursor<OrganizationId>>,
}

/// # Errors
/// `validation_error` for an invalid `limit` or `cursor`.
fn decode_list(_: &Ctx, request: &Request) -> Result<ListInput, Error> {
    let (page, after) = time_cursor::decode_page(request, OrganizationId::parse)?;
    Ok(ListInput { page, after })
}

/// `GET /api/v1/organizations`: the enabled organizations that the caller is a member of. A platform admin gets all
/// organizations.
fn list(_: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &ListInput) -> Result<Reply, Error> {
    let rows = store::access::organizations(tx, caller, input.after.as_ref(), input.page.rows_to_fetch())?;
    Ok(input.page.reply(rows, |last| time_cursor::parts(last.created_at, last.id.as_str()), wire))
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    Ok(request.id_param("id", ORGANIZATION_NOT_VISIBLE)?)
}

/// `GET /api/v1/organizations/{id}`: one organization.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it.
fn get(_: &Ctx, tx: &Tx<'_>, caller: &Principal, id: &OrganizationId) -> Result<Reply, Error> {
    let organization = store::access::organization(tx, caller, id)?.ok_or(ORGANIZATION_NOT_VISIBLE)?;
    Ok(envelope::with_data(wire(organization)))
}

fn wire(organization: VisibleOrganization) -> WireOrganization {
    WireOrganization {
        id: organization.id.into(),
        slug: organization.slug,
        name: organization.name,
        domain: organization.domain,
        logo: organization.logo,
        org_role: organization.caller.org_role.map(OrgRole::as_str),
        enabled: organization.enabled,
        portal_enabled: organization.portal_enabled,
        require_external_position_id: organization.require_external_position_id,
        pay_transparency: organization.pay_transparency,
        time_zone: organization.time_zone,
        created_at: organization.created_at.to_string(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireOrganization {
    id: String,
    slug: String,
    name: String,
    domain: String,
    logo: String,
    org_role: Option<&'static str>,
    enabled: bool,
    portal_enabled: bool,
    require_external_position_id: bool,
    pay_transparency: bool,
    time_zone: String,
    created_at: String,
}
