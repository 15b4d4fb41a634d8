//! `/api/admin/api-keys`: admins make, list and revoke keys. What a key was used for is in `usage`.

use hyper::Method;
use serde::Serialize;

use crate::domain::api_key::{self, EXPIRES_IN_DAYS, EXPIRES_IN_DAYS_DEFAULT, Grant, KEY_PREFIX, KeySecret, Scope};
use crate::domain::id::{ApiKeyId, Id, UserId};
use crate::domain::refusal::Refusal;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::user::{Admin, OrgRole};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::api_key::{ApiKey, NewApiKey};
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) const NO_KEY: Refusal = Refusal::NotFound("there is no such API key");

pub(in crate::http) fn routes() -> Vec<Route> {
    let keys = "/api/admin/api-keys";
    vec![
        Route::admin(Method::POST, keys, decode_create, create).with_body().writes(Grade::Durable).answering(&[
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
        Route::admin(Method::GET, keys, |_, _| Ok(()), list).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (429, "rate_limited"),
        ]),
        Route::admin(Method::DELETE, "/api/admin/api-keys/{id}", decode_id, revoke).writes(Grade::Vital).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
    ]
}

struct KeyCreateInput {
    name: String,
    user_id: Option<UserId>,
    days: i64,
    grant: Grant,
}

/// What a new key is to be. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `name` or `userId`, for days that a
/// key may not live, or for a scope that there is none of.
fn decode_create(_: &Ctx, request: &Request) -> Result<KeyCreateInput, Error> {
    let mut fields = request.object()?;
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let user_id = fields.required_string("userId");
    let days = fields.integer("expiresInDays", EXPIRES_IN_DAYS).unwrap_or(EXPIRES_IN_DAYS_DEFAULT);
    let grant = Grant::of(fields.words("scopes", Scope::WORDS, Scope::parse));
    fields.valid()?;
    // An id that none can have is an unknown user, not a fault of form.
    let user_id = user_id.and_then(|id| UserId::parse(&id));
    Ok(KeyCreateInput { name: name.unwrap_or_default(), user_id, days, grant })
}

/// `POST /api/admin/api-keys`: makes a key for a user, and shows its text this once.
///
/// # Errors
/// `not_found` where there is no such user; `forbidden` where the key that calls was made with explicit scopes, and the new
/// one would have none or more of them.
fn create(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, input: &KeyCreateInput) -> Result<Reply, Error> {
    let no_user = Error::Refused(Refusal::NotFound("there is no user with this userId"));
    let user_id = input.user_id.clone().ok_or(no_user.clone())?;
    if !store::user::exists(tx, &user_id)? {
        return Err(no_user);
    }
    who.require_no_broader(&input.grant)?;
    let key = NewApiKey {
        id: ctx.world.id(),
        secret: KeySecret::generate(|bytes| ctx.world.fill(bytes)),
        user_id,
        name: input.name.clone(),
        grant: input.grant.clone(),
        expires_at: api_key::expires_at(tx.now, input.days),
    };
    let stamp = store::activity::stamp(&*ctx.world);
    store::api_key::create(tx, &stamp, Some(who.principal()), &key)?;
    let data = WireCreated {
        id: key.id.as_str(),
        name: &key.name,
        key: key.secret.reveal(),
        prefix: KEY_PREFIX,
        start: key.secret.start(),
        scopes: words(&key.grant.scopes),
        expires_at: key.expires_at.to_string(),
        user_id: key.user_id.as_str(),
    };
    Ok(Reply::json(&WireData { success: true, data }).with_secret_of(key.id.as_str()))
}

/// `GET /api/admin/api-keys`: every key, newest first, the revoked and expired ones too.
///
/// # Errors
/// None of its own; admins only, as the whole path.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, (): &()) -> Result<Reply, Error> {
    let keys = store::api_key::list(tx)?;
    let data: Vec<WireApiKey<'_>> = keys.iter().map(wire).collect();
    Ok(Reply::json(&WireData { success: true, data }))
}

/// The key that a path names; an id that none can have names nothing.
#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode_id(_: &Ctx, request: &Request) -> Result<Option<ApiKeyId>, Error> {
    Ok(ApiKeyId::parse(request.param("id")))
}

/// `DELETE /api/admin/api-keys/{id}`: revokes a key for good. A second time is no mistake.
///
/// # Errors
/// `not_found` where there is no such key.
fn revoke(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, id: &Option<ApiKeyId>) -> Result<Reply, Error> {
    let id = id.as_ref().ok_or(NO_KEY)?;
    let stamp = store::activity::stamp(&*ctx.world);
    if !store::api_key::revoke(tx, &stamp, Some(who.principal()), id)? {
        return Err(NO_KEY.into());
    }
    Ok(Reply::json(&WireSuccess { success: true }))
}

fn words(scopes: &[Scope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.as_str()).collect()
}

pub(in crate::http) fn wire(key: &ApiKey) -> WireApiKey<'_> {
    WireApiKey {
        id: key.id.as_str(),
        name: key.name.as_deref(),
        prefix: KEY_PREFIX,
        start: &key.start,
        scopes: words(&key.scopes),
        enabled: key.enabled,
        created_at: key.created_at.to_string(),
        updated_at: key.updated_at.to_string(),
        last_request: key.last_request.map(|at| at.to_string()),
        expires_at: key.expires_at.map(|at| at.to_string()),
        request_count: key.request_count,
        owner: WireOwner {
            id: key.owner.id.as_str(),
            email: &key.owner.email,
            name: &key.owner.name,
            platform_role: key.owner.platform_role.as_str(),
            org_role: key.owner.org_role.map(OrgRole::as_str),
            organization_id: key.owner.organization_id.as_deref(),
        },
    }
}

/// What an admin is told of something that needs no more words.
#[derive(Serialize)]
pub(in crate::http) struct WireSuccess {
    pub(in crate::http) success: bool,
}

/// What an admin's question is answered with.
#[derive(Serialize)]
pub(in crate::http) struct WireData<T> {
    pub(in crate::http) success: bool,
    pub(in crate::http) data: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireCreated<'a> {
    id: &'a str,
    name: &'a str,
    key: &'a str,
    prefix: &'static str,
    start: &'a str,
    scopes: Vec<&'static str>,
    expires_at: String,
    user_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireApiKey<'a> {
    id: &'a str,
    name: Option<&'a str>,
    prefix: &'static str,
    start: &'a str,
    scopes: Vec<&'static str>,
    enabled: bool,
    created_at: String,
    updated_at: String,
    last_request: Option<String>,
    expires_at: Option<String>,
    request_count: i64,
    owner: WireOwner<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireOwner<'a> {
    id: &'a str,
    email: &'a str,
    name: &'a str,
    platform_role: &'static str,
    org_role: Option<&'static str>,
    organization_id: Option<&'a str>,
}
