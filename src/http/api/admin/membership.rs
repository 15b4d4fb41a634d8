//! `/api/admin/organizations/{id}/memberships`: lets admins list, add, change and remove the members of an
//! organization.

use hyper::Method;
use serde::Serialize;

use crate::domain::id::{OrganizationId, UserId};
use crate::domain::refusal::Refusal;
use crate::domain::user::{Admin, OrgRole};
use crate::http::api::envelope;
use crate::http::api::existing::{self, ORGANIZATION_ABSENT, USER_ABSENT};
use crate::http::api::time_cursor::{self, TimeCursor};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::membership::{Membership, OrgMember};
use crate::store::{self, Error, Grade, Tx};

const NO_MEMBERSHIP: Refusal = Refusal::NotFound("the user is not a member of the organization");

pub(in crate::http) fn routes() -> Vec<Route> {
    let memberships = "/api/admin/organizations/{id}/memberships";
    let membership = "/api/admin/organizations/{id}/memberships/{userId}";
    vec![
        Route::admin(Method::GET, memberships, decode_list, list).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::admin(Method::PUT, membership, decode_put, put).with_body().writes(Grade::Durable).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::admin(Method::DELETE, membership, decode_remove, remove)
            .writes(Grade::Vital)
            .answering(&[(200, ""), (404, "not_found")]),
    ]
}

struct MembershipListInput {
    organization_id: OrganizationId,
    page: PageRequest,
    after: Option<TimeCursor<String>>,
}

/// # Errors
/// `validation_error` for an invalid `limit` or `cursor`; `not_found` if the path has no valid id.
fn decode_list(_: &Ctx, request: &Request) -> Result<MembershipListInput, Error> {
    let (page, after) = time_cursor::decode_text_page(request)?;
    Ok(MembershipListInput { organization_id: request.id_param("id", ORGANIZATION_ABSENT)?, page, after })
}

/// `GET /api/admin/organizations/{id}/memberships`: returns the memberships of an organization, newest first.
///
/// # Errors
/// `not_found` if the organization does not exist.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &MembershipListInput) -> Result<Reply, Error> {
    let id = &input.organization_id;
    existing::require_organization(tx, id)?;
    let rows = store::membership::page(tx, id, input.after.as_ref(), input.page.rows_to_fetch())?;
    let cursor = |member: &Membership| time_cursor::parts(member.created_at, member.user_id.as_str());
    Ok(input.page.reply(rows, cursor, |member| wire(&member)))
}

struct MembershipInput {
    organization_id: OrganizationId,
    user_id: UserId,
    org_role: OrgRole,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for a missing or unknown `orgRole`; `not_found`
/// if the path has no valid id.
fn decode_put(_: &Ctx, request: &Request) -> Result<MembershipInput, Error> {
    let mut fields = request.object()?;
    let org_role = fields.required_string("orgRole");
    let must_be = format!("must be one of {}", OrgRole::WORDS.join(", "));
    let org_role = org_role.and_then(|word| OrgRole::parse(&word).or_else(|| fields.fault("orgRole", must_be)));
    let org_role = fields.valid_with(org_role)?;
    Ok(MembershipInput {
        organization_id: request.id_param("id", ORGANIZATION_ABSENT)?,
        user_id: request.id_param("userId", USER_ABSENT)?,
        org_role,
    })
}

/// `PUT /api/admin/organizations/{id}/memberships/{userId}`: makes a user a member, or changes the organization role of
/// a member.
///
/// # Errors
/// `not_found` if the organization or the user does not exist.
fn put(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, input: &MembershipInput) -> Result<Reply, Error> {
    let (id, user_id) = (&input.organization_id, &input.user_id);
    existing::require_organization(tx, id)?;
    existing::require_user(tx, user_id)?;
    let membership = OrgMember { user_id: user_id.clone(), org_role: input.org_role };
    let stamp = store::activity::stamp(&*ctx.world);
    store::membership::put(tx, &stamp, Some(admin.principal()), id, &membership)?;
    let member = store::membership::find(tx, id, user_id)?.ok_or(NO_MEMBERSHIP)?;
    Ok(envelope::with_data(wire(&member)))
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_remove(_: &Ctx, request: &Request) -> Result<(OrganizationId, UserId), Error> {
    Ok((request.id_param("id", ORGANIZATION_ABSENT)?, request.id_param("userId", USER_ABSENT)?))
}

/// `DELETE /api/admin/organizations/{id}/memberships/{userId}`: removes a member from an organization.
///
/// # Errors
/// `not_found` if the organization or the user does not exist, or the user is not a member.
fn remove(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, (id, user_id): &(OrganizationId, UserId)) -> Result<Reply, Error> {
    existing::require_organization(tx, id)?;
    existing::require_user(tx, user_id)?;
    let stamp = store::activity::stamp(&*ctx.world);
    if !store::membership::remove(tx, &stamp, Some(admin.principal()), id, user_id)? {
        return Err(NO_MEMBERSHIP.into());
    }
    Ok(envelope::success())
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
