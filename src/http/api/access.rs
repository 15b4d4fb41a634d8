//! `/api/v1/organizations`: the organizations that the caller may see, and what they are there.

use hyper::Method;
use serde::Serialize;

use super::api_key::WireData;
use crate::domain::api_key::Scope;
use crate::domain::id::{Id, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{OrgRole, Principal};
use crate::http::api::resource::ORGANIZATION;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::{self, Error, Tx};

pub(in crate::http) const NO_ORGANIZATION: Refusal =
    Refusal::NotFound("there is no such organization, or this key may not see it");

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::scoped(ORGANIZATION, Scope::RolesRead, Method::GET, "/api/v1/organizations", decode_list, list)
            .answering(&[
                (200, ""),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "insufficient_scope"),
                (429, "rate_limited"),
            ]),
        Route::scoped(ORGANIZATION, Scope::RolesRead, Method::GET, "/api/v1/organizations/{id}", decode_id, read)
            .answering(&[
                (200, ""),
                (401, "unauthorized"),
                (403, "insufficient_scope"),
                (404, "not_found"),
                (429, "rate_limited"),
            ]),
    ]
}

/// The position of a row in a list by time: its time and its id.
pub(in crate::http) type TimeCursor<I> = (Timestamp, I);

/// The position that a cursor of two parts names.
///
/// # Errors
/// `validation_error` where no page gave it.
pub(in crate::http) fn read_cursor<I: Id>(page: &PageRequest) -> Result<Option<TimeCursor<I>>, Refusal> {
    let Some(parts) = &page.after else { return Ok(None) };
    let [micros, id] = parts.as_slice() else { return Err(invalid_cursor()) };
    let at = micros.parse().map(Timestamp::from_micros).map_err(|_| invalid_cursor())?;
    Ok(Some((at, I::parse(id).ok_or_else(invalid_cursor)?)))
}

/// The parts of the cursor for a position.
pub(in crate::http) fn cursor_parts(at: Timestamp, id: &str) -> Vec<String> {
    vec![at.micros().to_string(), id.to_owned()]
}

/// Which page of the list is asked for.
///
/// # Errors
/// `validation_error` for a `limit` that is no integer, or a `cursor` that no page gave.
fn decode_list(_: &Ctx, request: &Request) -> Result<(PageRequest, Option<TimeCursor<OrganizationId>>), Error> {
    let page = PageRequest::parse(request, 2)?;
    let after = read_cursor(&page)?;
    Ok((page, after))
}

/// `GET /api/v1/organizations`: those that the caller is a member of and that are switched on; for a platform admin all
/// there are.
///
/// # Errors
/// None of its own.
fn list(
    _: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    (page, after): &(PageRequest, Option<TimeCursor<OrganizationId>>),
) -> Result<Reply, Error> {
    let found = store::access::organizations(tx, who, after.as_ref(), page.rows_to_fetch())?;
    Ok(page.reply(found, |last| cursor_parts(last.created_at, last.id.as_str()), wire))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode_id(_: &Ctx, request: &Request) -> Result<Option<OrganizationId>, Error> {
    Ok(OrganizationId::parse(request.param("id")))
}

/// `GET /api/v1/organizations/{id}`: one of them.
///
/// # Errors
/// `not_found` where there is none, or the caller may not see it.
fn read(_: &Ctx, tx: &Tx<'_>, who: &Principal, id: &Option<OrganizationId>) -> Result<Reply, Error> {
    let id = id.as_ref().ok_or(NO_ORGANIZATION)?;
    let found = store::access::organization(tx, who, id)?.ok_or(NO_ORGANIZATION)?;
    Ok(Reply::json(&WireData { success: true, data: wire(found) }))
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
