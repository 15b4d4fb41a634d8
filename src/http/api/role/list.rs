//! `GET /api/v1/organizations/{id}/roles`: a page of an organization's roles, newest first.

use hyper::Method;

use super::wire::WireRole;
use crate::domain::api_key::Scope;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::{RoleStatus, WorkType};
use crate::domain::text::{NAME_CHARACTERS_MAX, characters};
use crate::domain::user::Principal;
use crate::http::api::access::{self, NO_ORGANIZATION, TimeCursor};
use crate::http::api::resource::ORGANIZATION;
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
        (401, "unauthorized"),
        (403, "insufficient_scope"),
        (404, "not_found"),
        (429, "rate_limited"),
    ])
}

struct RoleListInput {
    organization: Option<OrganizationId>,
    filter: RoleFilter,
    page: PageRequest,
    after: Option<TimeCursor<RoleId>>,
}

/// Which roles are asked for. All parameters at fault are told at once.
///
/// # Errors
/// `validation_error` for a filter that no role can fit, a `limit` that is no integer, a `cursor` that no page gave, a
/// parameter that is there twice.
fn decode(_: &Ctx, request: &Request) -> Result<RoleListInput, Error> {
    let status = word(request, "status", RoleStatus::WORDS, RoleStatus::parse);
    let work_type = word(request, "workType", WorkType::WORDS, WorkType::parse);
    let public = word(request, "public", &["true", "false"], |word| word.parse().ok());
    let texts = Refusal::both(request.query("department"), request.query("location"));
    let page = PageRequest::parse(request, 2).and_then(|page| Ok((access::read_cursor(&page)?, page)));
    let words = Refusal::both(Refusal::both(status, work_type), Refusal::both(public, name_part(request)));
    let (filters, (after, page)) = Refusal::both(Refusal::both(words, texts), page)?;
    let (((status, work_type), (public, name_part)), (department, location)) = filters;
    let filter = RoleFilter { status, public, department, location, work_type, name_part };
    Ok(RoleListInput { organization: OrganizationId::parse(request.param("id")), filter, page, after })
}

fn word<T>(
    request: &Request,
    name: &str,
    known: &[&str],
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    let Some(text) = request.query(name)? else { return Ok(None) };
    let wrong = || Refusal::invalid(name, format!("must be one of {}", known.join(", ")));
    Ok(Some(parse(&text).ok_or_else(wrong)?))
}

/// The part of a name that is looked for; an empty one is part of every name.
fn name_part(request: &Request) -> Result<Option<String>, Refusal> {
    match request.query("q")? {
        Some(text) if characters(&text) > NAME_CHARACTERS_MAX => {
            Err(Refusal::invalid("q", format!("must have at most {NAME_CHARACTERS_MAX} characters")))
        }
        text => Ok(text.filter(|text| !text.is_empty())),
    }
}

/// `GET /api/v1/organizations/{id}/roles`: the roles that fit. A page looks at so many roles and no more, so it may have
/// fewer rows than it could have, and yet there are more behind it.
///
/// # Errors
/// `not_found` where there is no such organization, or the caller may not see it.
fn list(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleListInput) -> Result<Reply, Error> {
    let organization = input.organization.as_ref().ok_or(NO_ORGANIZATION)?;
    store::access::to_organization(tx, who, organization)?.ok_or(NO_ORGANIZATION)?;
    let found = store::role::page(tx, organization, &input.filter, input.after.as_ref(), input.page.rows)?;
    let next = found.end.map(|(at, id)| access::cursor_parts(at, id.as_str()));
    Ok(input.page.reply_with_cursor(found.roles.into_iter().map(WireRole::new).collect(), next.as_deref()))
}
