//! `/api/admin/users`: admins create, list, read, change and disable users. Users are never deleted.

use hyper::Method;
use serde::Serialize;

use crate::domain::id::UserId;
use crate::domain::refusal::Refusal;
use crate::domain::text::{Email, NAME_CHARACTERS_MAX};
use crate::domain::user::{Admin, PlatformRole, UserProfile};
use crate::http::api::existing::USER_ABSENT;
use crate::http::api::time_cursor::{self, TimeCursor};
use crate::http::api::{decode, envelope};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::membership::Membership;
use crate::store::user::User;
use crate::store::{self, Error, Grade, Tx};

const EMAIL_TAKEN: Refusal = Refusal::Conflict("a user with this email address already exists");

pub(in crate::http) fn routes() -> Vec<Route> {
    let users = "/api/admin/users";
    let user = "/api/admin/users/{id}";
    vec![
        Route::admin(Method::POST, users, decode_create, create).with_body().writes(Grade::Durable).answering(&[
            (200, ""),
            (400, "validation_error"),
            (409, "conflict"),
        ]),
        Route::admin(Method::GET, users, decode_list, list).answering(&[(200, ""), (400, "validation_error")]),
        Route::admin(Method::GET, user, decode_id, get).answering(&[(200, ""), (404, "not_found")]),
        Route::admin(Method::PATCH, user, decode_change, change).with_body().writes(Grade::Vital).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
            (409, "conflict"),
        ]),
    ]
}

struct UserCreateInput {
    email: Email,
    name: String,
    platform_role: PlatformRole,
    enabled: bool,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field.
fn decode_create(_: &Ctx, request: &Request) -> Result<UserCreateInput, Error> {
    let mut fields = request.object()?;
    let email = decode::required_email(&mut fields);
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let platform_role = fields.word("platformRole", PlatformRole::WORDS, PlatformRole::parse);
    let enabled = fields.boolean("enabled").unwrap_or(true);
    let (email, name) = fields.valid_with(email.zip(name))?;
    Ok(UserCreateInput { email, name, platform_role: platform_role.unwrap_or(PlatformRole::User), enabled })
}

/// `POST /api/admin/users`: creates a user without memberships, API keys or a password.
///
/// # Errors
/// `conflict` if another user has the address.
fn create(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, input: &UserCreateInput) -> Result<Reply, Error> {
    let UserCreateInput { email, name, platform_role, enabled } = input;
    let user = UserProfile {
        id: ctx.world.id(),
        email: email.clone(),
        name: name.clone(),
        platform_role: *platform_role,
        enabled: *enabled,
    };
    let stamp = store::activity::stamp(&*ctx.world);
    if !store::user::create(tx, &stamp, Some(admin.principal()), &user)? {
        return Err(EMAIL_TAKEN.into());
    }
    user_reply(tx, &user.id)
}

struct UserListInput {
    page: PageRequest,
    after: Option<TimeCursor<String>>,
    email: Option<String>,
}

/// # Errors
/// `validation_error`, which names every invalid parameter.
fn decode_list(_: &Ctx, request: &Request) -> Result<UserListInput, Error> {
    let ((page, after), email) = Refusal::both(time_cursor::decode_text_page(request), request.query("email"))?;
    Ok(UserListInput { page, after, email })
}

/// `GET /api/admin/users`: returns all users, newest first, including disabled ones. With `email`, the list contains
/// only the user with that address, if any.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &UserListInput) -> Result<Reply, Error> {
    let users = match &input.email {
        None => store::user::page(tx, input.after.as_ref(), input.page.rows_to_fetch())?,
        // A string that is not an address matches no user. An address matches at most one user, so there is no second
        // page.
        Some(email) => match Email::parse_stored(email).filter(|_| input.after.is_none()) {
            Some(email) => store::user::find_by_email(tx, &email)?.into_iter().collect(),
            None => Vec::new(),
        },
    };
    let cursor = |user: &User| time_cursor::parts(user.created_at, user.profile.id.as_str());
    Ok(input.page.reply(users, cursor, |user| wire(&user, None)))
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<UserId, Error> {
    Ok(request.id_param("id", USER_ABSENT)?)
}

/// `GET /api/admin/users/{id}`: returns a user with their memberships.
///
/// # Errors
/// `not_found` if the user does not exist.
fn get(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &UserId) -> Result<Reply, Error> {
    user_reply(tx, id)
}

struct UserChangeInput {
    id: UserId,
    email: Option<Email>,
    name: Option<String>,
    platform_role: Option<PlatformRole>,
    enabled: Option<bool>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field; `not_found` if
/// the path has no valid id.
fn decode_change(_: &Ctx, request: &Request) -> Result<UserChangeInput, Error> {
    let mut fields = request.object()?;
    let email = decode::email(&mut fields);
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let platform_role = fields.word("platformRole", PlatformRole::WORDS, PlatformRole::parse);
    let enabled = fields.boolean("enabled");
    fields.valid()?;
    Ok(UserChangeInput { id: request.id_param("id", USER_ABSENT)?, email, name, platform_role, enabled })
}

/// `PATCH /api/admin/users/{id}`: changes the fields that the body contains. A change ends the user's sessions and
/// deletes their sign-in links if it disables the user, or if the new address differs in more than letter case. When a
/// disabled user is enabled again, the user's API keys become valid, unless they were revoked or have expired.
///
/// # Errors
/// `not_found` if the user does not exist; `conflict` if another user has the address, or if no enabled admin would
/// remain.
fn change(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, input: &UserChangeInput) -> Result<Reply, Error> {
    let id = &input.id;
    let before = store::user::find(tx, id)?.ok_or(USER_ABSENT)?.profile;
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
    store::user::change(tx, &stamp, Some(admin.principal()), &before, &after)?;
    user_reply(tx, id)
}

/// Answers with the current state of a user.
fn user_reply(tx: &Tx<'_>, id: &UserId) -> Result<Reply, Error> {
    let user = store::user::find(tx, id)?.ok_or(USER_ABSENT)?;
    let memberships = store::membership::of_user(tx, id)?;
    Ok(envelope::with_data(wire(&user, Some(&memberships))))
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
