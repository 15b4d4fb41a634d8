//! `GET /api/v1/organizations/{id}/roles`: lists an organization's roles, newest first.

use hyper::Method;

use super::wire::WireRole;
use crate::domain::api_key::Scope;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::{RoleStatus, WorkType};
use crate::domain::text::{NAME_CHARACTERS_MAX, characters};
use crate::domain::user::Principal;
use crate::http::api::decode::word_param;
use crate::http::api::resource::ORGANIZATION;
use crate::http::api::time_cursor::{self, TimeCursor};
use crate::http::api::visible::{self, ORGANIZATION_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::role::RoleFilter;
use crate::store::{self, Error, Tx};

pub(super) fn route(path: &'static str) -> Route {
    Route::scoped(ORGANIZATION, Scope::RolesRead, Method::GET, path, decode, list).answering(&[
        (200, ""),
        (400, "validation_error"),
        (404, "not_found"),
    ])
}

struct RoleListInput {
    organization: OrganizationId,
    filter: RoleFilter,
    page: PageRequest,
    after: Option<TimeCursor<RoleId>>,
}

/// # Errors
/// `validation_error`, which names every invalid parameter; `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<RoleListInput, Error> {
    let status = word_param(request, "status", RoleStatus::WORDS, RoleStatus::parse);
    let work_type = word_param(request, "workType", WorkType::WORDS, WorkType::parse);
    let public = word_param(request, "public", &["true", "false"], |word| word.parse().ok());
    let department_and_location = Refusal::both(request.query("department"), request.query("location"));
    let page = time_cursor::decode_page(request, RoleId::parse);
    let words = Refusal::both(Refusal::both(status, work_type), Refusal::both(public, name_part(request)));
    let (filters, (page, after)) = Refusal::both(Refusal::both(words, department_and_location), page)?;
    let (((status, work_type), (public, name_part)), (department, location)) = filters;
    let filter = RoleFilter { status, public, department, location, work_type, name_part };
    let organization = request.id_param("id", ORGANIZATION_NOT_VISIBLE)?;
    Ok(RoleListInput { organization, filter, page, after })
}

/// Decodes the search for a part of the name. An empty string finds every role.
fn name_part(request: &Request) -> Result<Option<String>, Refusal> {
    match request.query("q")? {
        Some(text) if characters(&text) > NAME_CHARACTERS_MAX => {
            Err(Refusal::invalid("q", format!("must have at most {NAME_CHARACTERS_MAX} characters")))
        }
        text => Ok(text.filter(|text| !text.is_empty())),
    }
}

/// `GET /api/v1/organizations/{id}/roles`: lists the roles that match the filter. The store examines a limited number
/// of roles for a page, so a page can be short even if more pages follow.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it.
fn list(_: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &RoleListInput) -> Result<Reply, Error> {
    let organization = &input.organization;
    visible::organization(tx, caller, organization)?;
    let found = store::role::page(tx, organization, &input.filter, input.after.as_ref(), input.page.rows)?;
    let next = found.end.map(|(at, id)| time_cursor::parts(at, id.as_str()));
    Ok(input.page.reply_with_cursor(found.roles.into_iter().map(WireRole::new).collect(), next.as_deref()))
}
