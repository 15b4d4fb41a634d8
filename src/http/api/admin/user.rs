//! `/api/admin/users`: admins make, list, read and change users, and disable them. None is deleted.

use hyper::Method;
use serde::Serialize;

use super::{After, LISTS, NO_USER, READS};
use crate::domain::id::{Id, UserId};
use crate::domain::refusal::Refusal;
use crate::domain::text::{EMAIL_MUST_BE, Email, NAME_CHARACTERS_MAX};
use crate::domain::user::{Admin, PlatformRole, UserProfile};
use crate::http::api::api_key::WireData;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::membership::Membership;
use crate::store::user::User;
use crate::store::{self, Error, Grade, Tx};

const EMAIL_TAKEN: Refusal = Refusal::Conflict("a user with this email address is there already");

pub(in crate::http) fn routes() -> Vec<Route> {
    let users = "/api/admin/users";
    let user = "/api/admin/users/{id}";
    vec![
        Route::admin(Method::POST, users, decode_create, create).with_body().writes(Grade::Durable).answering(&[
            (200, ""),
            (400, "bad_request"),
            (400, "validation_error"),
            (401, "unauthorized"),
            (403, "forbidden"),
            (409, "conflict"),
            (413, "payload_too_large"),
            (415, "unsupported_media_type"),
            (429, "rate_limited"),
        ]),
        Route::admin(Method::GET, users, decode_list, list).answering(LISTS),
        Route::admin(Method::GET, user, decode_id, read).answering(READS),
        Route::admin(Method::PATCH, user, decode_change, change).with_body().writes(Grade::Vital).answering(&[
            (200, ""),
            (400, "bad_request"),
            (400, "validation_error"),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (409, "conflict"),
            (413, "payload_too_large"),
            (415, "unsupported_media_type"),
            (429, "rate_limited"),
        ]),
    ]
}

struct NewUser {
    email: Email,
    name: String,
    platform_role: PlatformRole,
    enabled: bool,
}

/// Who a new user is to be. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without an `email` or `name`, for an address that
/// is none, or a `platformRole` that there is none of.
fn decode_create(_: &Ctx, request: &Request) -> Result<NewUser, Error> {
    let mut fields = request.object()?;
    let address = fields.required_string("email");
    let email = email(&mut fields, address);
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let platform_role = fields.word("platformRole", PlatformRole::WORDS, PlatformRole::parse);
    let enabled = fields.boolean("enabled").unwrap_or(true);
    let (email, name) = fields.valid_with(email.zip(name))?;
    Ok(NewUser { email, name, platform_role: platform_role.unwrap_or(PlatformRole::User), enabled })
}

/// `POST /api/admin/users`: makes a user, who is no member of anything yet and has neither key nor password.
///
/// # Errors
/// `conflict` where another has the address.
fn create(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, input: &NewUser) -> Result<Reply, Error> {
    let NewUser { email, name, platform_role, enabled } = input;
    let user = UserProfile {
        id: ctx.world.id(),
        email: email.clone(),
        name: name.clone(),
        platform_role: *platform_role,
        enabled: *enabled,
    };
    let stamp = store::activity::stamp(&*ctx.world);
    if !store::user::create(tx, &stamp, Some(who.principal()), &user)? {
        return Err(EMAIL_TAKEN.into());
    }
    found(tx, &user.id)
}

fn email(fields: &mut BodyFields, address: Option<String>) -> Option<Email> {
    Email::parse(&address?).or_else(|| fields.fault("email", format!("must be {EMAIL_MUST_BE}")))
}

struct UserListInput {
    page: PageRequest,
    after: After,
    email: Option<String>,
}

/// Which users are asked for. All parameters at fault are told at once.
///
/// # Errors
/// `validation_error` for a `limit` that is no integer, a `cursor` that no page gave, a parameter that is there twice.
fn decode_list(_: &Ctx, request: &Request) -> Result<UserListInput, Error> {
    let ((page, after), email) = Refusal::both(super::page(request), request.query("email"))?;
    Ok(UserListInput { page, after, email })
}

/// `GET /api/admin/users`: a page of all users, newest first, the disabled ones too; with `email` the one who has that
/// address, if any.
///
/// # Errors
/// None of its own; admins only, as the whole path.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &UserListInput) -> Result<Reply, Error> {
    let users = match &input.email {
        None => store::user::page(tx, input.after.as_ref(), input.page.rows_to_fetch())?,
        // Nobody has an address that is none, and nobody comes behind the only one who has it.
        Some(email) => match Email::parse_stored(email).filter(|_| input.after.is_none()) {
            Some(email) => store::user::find_by_email(tx, &email)?.into_iter().collect(),
            None => Vec::new(),
        },
    };
    let key = |user: &User| super::key(user.created_at, user.profile.id.as_str());
    Ok(input.page.reply(users, key, |user| wire(&user, None)))
}

/// The user that a path names; an id that none can have names nothing.
///
/// # Errors
/// `not_found`.
fn decode_id(_: &Ctx, request: &Request) -> Result<UserId, Error> {
    UserId::parse(request.param("id")).ok_or(Error::Refused(NO_USER))
}

/// `GET /api/admin/users/{id}`: a user with their memberships.
///
/// # Errors
/// `not_found` where there is no such user.
fn read(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &UserId) -> Result<Reply, Error> {
    found(tx, id)
}

struct UserChangeInput {
    id: Option<UserId>,
    email: Option<Email>,
    name: Option<String>,
    platform_role: Option<PlatformRole>,
    enabled: Option<bool>,
}

/// Who a user is to be from now on: only the members that are given change.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` for a field that is not what it must be.
fn decode_change(_: &Ctx, request: &Request) -> Result<UserChangeInput, Error> {
    let mut fields = request.object()?;
    let address = fields.string("email");
    let input = UserChangeInput {
        id: UserId::parse(request.param("id")),
        email: email(&mut fields, address),
        name: fields.text_not_blank("name", NAME_CHARACTERS_MAX),
        platform_role: fields.word("platformRole", PlatformRole::WORDS, PlatformRole::parse),
        enabled: fields.boolean("enabled"),
    };
    fields.valid()?;
    Ok(input)
}

/// `PATCH /api/admin/users/{id}`: changes a user. The sessions of one who is disabled, or who gets another address, end.
/// Keys of a user who is disabled do not count until they are enabled again.
///
/// # Errors
/// `not_found` where there is no such user; `conflict` where another user has the address, or nobody would be left who is
/// an enabled admin.
fn change(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, input: &UserChangeInput) -> Result<Reply, Error> {
    let id = input.id.as_ref().ok_or(NO_USER)?;
    let before = store::user::find(tx, id)?.ok_or(NO_USER)?.profile;
    if let Some(email) = &input.email
        && store::user::find_by_email(tx, email)?.is_some_and(|other| other.profile.id != *id)
    {
        return Err(EMAIL_TAKEN.into());
    }
    let after = UserProfile {
        email: input.email.clone().unwrap_or_else(|| before.email.clone()),
        name: input.name.clone().unwrap_or_else(|| before.name.clone()),
        platform_role: input.platform_role.unwrap_or(before.platform_role),
        enabled: input.enabled.unwrap_or(before.enabled),
        ..before.clone()
    };
    let stamp = store::activity::stamp(&*ctx.world);
    store::user::change(tx, &stamp, Some(who.principal()), &before, &after)?;
    found(tx, id)
}

/// The answer with a user as they are now.
fn found(tx: &Tx<'_>, id: &UserId) -> Result<Reply, Error> {
    let user = store::user::find(tx, id)?.ok_or(NO_USER)?;
    let memberships = store::membership::of_user(tx, id)?;
    Ok(Reply::json(&WireData { success: true, data: wire(&user, Some(&memberships)) }))
}

pub(in crate::http) fn wire(user: &User, memberships: Option<&[Membership]>) -> WireUser {
    let User { profile, created_at, updated_at } = user;
    WireUser {
        id: profile.id.to_string(),
        email: profile.email.as_str().to_owned(),
        name: profile.name.clone(),
        platform_role: profile.platform_role.as_str(),
        enabled: profile.enabled,
        created_at: created_at.to_string(),
        updated_at: updated_at.to_string(),
        memberships: memberships.map(|all| all.iter().map(wire_membership).collect()),
    }
}

fn wire_membership(membership: &Membership) -> WireMembership {
    WireMembership {
        organization_id: membership.organization_id.to_string(),
        organization_slug: membership.organization_slug.clone(),
        org_role: membership.org_role.as_str(),
        created_at: membership.created_at.to_string(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireUser {
    id: String,
    email: String,
    name: String,
    platform_role: &'static str,
    enabled: bool,
    created_at: String,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    memberships: Option<Vec<WireMembership>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireMembership {
    organization_id: String,
    organization_slug: String,
    org_role: &'static str,
    created_at: String,
}
