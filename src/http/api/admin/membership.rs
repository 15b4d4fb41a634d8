//! `/api/admin/organizations/{id}/memberships`: admins say who is what in an organization.

use hyper::Method;
use serde::Serialize;

use super::{After, NO_ORGANIZATION, NO_USER, READS};
use crate::domain::id::{Id, OrganizationId, UserId};
use crate::domain::refusal::Refusal;
use crate::domain::user::{Admin, OrgRole};
use crate::http::api::api_key::{WireData, WireSuccess};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::membership::{Membership, OrgMember};
use crate::store::{self, Error, Grade, Tx};

const NO_MEMBERSHIP: Refusal = Refusal::NotFound("the user is no member of the organization");

pub(in crate::http) fn routes() -> Vec<Route> {
    let memberships = "/api/admin/organizations/{id}/memberships";
    let membership = "/api/admin/organizations/{id}/memberships/{userId}";
    vec![
        Route::admin(Method::GET, memberships, decode_list, list).answering(&[
            (200, ""),
            (400, "validation_error"),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::admin(Method::PUT, membership, decode_put, put).with_body().writes(Grade::Durable).answering(&[
            (200, ""),
            (400, "bad_request"),
            (400, "validation_error"),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (413, "payload_too_large"),
            (415, "unsupported_media_type"),
            (429, "rate_limited"),
        ]),
        Route::admin(Method::DELETE, membership, decode_remove, remove).writes(Grade::Vital).answering(READS),
    ]
}

struct MembershipListInput {
    organization_id: Option<OrganizationId>,
    page: PageRequest,
    after: After,
}

fn decode_list(_: &Ctx, request: &Request) -> Result<MembershipListInput, Error> {
    let (page, after) = super::page(request)?;
    Ok(MembershipListInput { organization_id: OrganizationId::parse(request.param("id")), page, after })
}

/// `GET …/memberships`: a page of an organization's members, newest first.
///
/// # Errors
/// `not_found` where there is no such organization.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &MembershipListInput) -> Result<Reply, Error> {
    let id = organization(tx, input.organization_id.as_ref())?;
    let members = store::membership::page(tx, id, input.after.as_ref(), input.page.rows_to_fetch())?;
    let key = |member: &Membership| super::key(member.created_at, member.user_id.as_str());
    Ok(input.page.reply(members, key, |member| wire(&member)))
}

struct MembershipInput {
    organization_id: Option<OrganizationId>,
    user_id: Option<UserId>,
    org_role: OrgRole,
}

/// What a user is to be in an organization.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without an `orgRole`, or for one that there is
/// none of.
fn decode_put(_: &Ctx, request: &Request) -> Result<MembershipInput, Error> {
    let mut fields = request.object()?;
    let org_role = fields.required_string("orgRole");
    let must_be = format!("must be one of {}", OrgRole::WORDS.join(", "));
    let org_role = org_role.and_then(|word| OrgRole::parse(&word).or_else(|| fields.fault("orgRole", must_be)));
    let org_role = fields.valid_with(org_role)?;
    Ok(MembershipInput {
        organization_id: OrganizationId::parse(request.param("id")),
        user_id: UserId::parse(request.param("userId")),
        org_role,
    })
}

/// `PUT …/memberships/{userId}`: makes a user a member, or another kind of one.
///
/// # Errors
/// `not_found` where there is no such organization or user.
fn put(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, input: &MembershipInput) -> Result<Reply, Error> {
    let id = organization(tx, input.organization_id.as_ref())?;
    let user_id = user(tx, input.user_id.as_ref())?;
    let membership = OrgMember { user_id: user_id.clone(), org_role: input.org_role };
    let stamp = store::activity::stamp(&*ctx.world);
    store::membership::put(tx, &stamp, Some(who.principal()), id, &membership)?;
    let member = store::membership::find(tx, id, user_id)?.ok_or(NO_MEMBERSHIP)?;
    Ok(Reply::json(&WireData { success: true, data: wire(&member) }))
}

/// The membership that a path names; ids that nothing can have name nothing.
#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode_remove(_: &Ctx, request: &Request) -> Result<(Option<OrganizationId>, Option<UserId>), Error> {
    Ok((OrganizationId::parse(request.param("id")), UserId::parse(request.param("userId"))))
}

/// `DELETE …/memberships/{userId}`: takes a membership away.
///
/// # Errors
/// `not_found` where there is no such organization or user, or the user is no member of it.
fn remove(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Admin,
    (id, user_id): &(Option<OrganizationId>, Option<UserId>),
) -> Result<Reply, Error> {
    let id = organization(tx, id.as_ref())?;
    let user_id = user(tx, user_id.as_ref())?;
    let stamp = store::activity::stamp(&*ctx.world);
    if !store::membership::remove(tx, &stamp, Some(who.principal()), id, user_id)? {
        return Err(NO_MEMBERSHIP.into());
    }
    Ok(Reply::json(&WireSuccess { success: true }))
}

/// # Errors
/// `not_found` where there is no such organization.
fn organization<'a>(tx: &Tx<'_>, id: Option<&'a OrganizationId>) -> Result<&'a OrganizationId, Error> {
    let id = id.ok_or(NO_ORGANIZATION)?;
    if store::organization::exists(tx, id)? { Ok(id) } else { Err(NO_ORGANIZATION.into()) }
}

/// # Errors
/// `not_found` where there is no such user.
fn user<'a>(tx: &Tx<'_>, id: Option<&'a UserId>) -> Result<&'a UserId, Error> {
    let id = id.ok_or(NO_USER)?;
    if store::user::exists(tx, id)? { Ok(id) } else { Err(NO_USER.into()) }
}

fn wire(membership: &Membership) -> WireMembership {
    WireMembership {
        organization_id: membership.organization_id.to_string(),
        user: WireMember {
            id: membership.user_id.to_string(),
            email: membership.user_email.clone(),
            name: membership.user_name.clone(),
            enabled: membership.user_enabled,
        },
        org_role: membership.org_role.as_str(),
        created_at: membership.created_at.to_string(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireMembership {
    organization_id: String,
    user: WireMember,
    org_role: &'static str,
    created_at: String,
}

#[derive(Serialize)]
struct WireMember {
    id: String,
    email: String,
    name: String,
    enabled: bool,
}
