//! `/api/admin/api-keys`: admins create, list and revoke API keys. The module `usage` serves the usage log of a key.

use hyper::Method;
use serde::Serialize;

use crate::domain::api_key::{self, EXPIRES_IN_DAYS, EXPIRES_IN_DAYS_DEFAULT, Grant, KEY_PREFIX, KeySecret, Scope};
use crate::domain::id::{ApiKeyId, Id, UserId};
use crate::domain::refusal::Refusal;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::user::{Admin, OrgRole};
use crate::http::api::envelope;
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
            (400, "validation_error"),
            (404, "not_found"),
            (409, "conflict"),
        ]),
        Route::admin(Method::GET, keys, |_, _| Ok(()), list).answering(&[(200, "")]),
        Route::admin(Method::DELETE, "/api/admin/api-keys/{id}", decode_id, revoke)
            .writes(Grade::Vital)
            .answering(&[(200, ""), (404, "not_found")]),
    ]
}

struct KeyCreateInput {
    name: String,
    /// The user's id, or `None` if the string is not a valid id. In that case, the user does not exist.
    user_id: Option<UserId>,
    expires_in_days: i64,
    grant: Grant,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field.
fn decode_create(_: &Ctx, request: &Request) -> Result<KeyCreateInput, Error> {
    let mut fields = request.object()?;
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let user_id = fields.required_string("userId");
    let expires_in_days = fields.integer("expiresInDays", EXPIRES_IN_DAYS).unwrap_or(EXPIRES_IN_DAYS_DEFAULT);
    let grant = Grant::of(fields.words("scopes", Scope::WORDS, Scope::parse));
    fields.valid()?;
    let user_id = user_id.and_then(|id| UserId::parse(&id));
    Ok(KeyCreateInput { name: name.unwrap_or_default(), user_id, expires_in_days, grant })
}

/// `POST /api/admin/api-keys`: creates a key for a user. Only this answer shows the key.
///
/// # Errors
/// `not_found` if the user does not exist; `forbidden` if the caller's key has explicit scopes, and the new key would
/// have no explicit scopes or a scope that the caller's key lacks.
fn create(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, input: &KeyCreateInput) -> Result<Reply, Error> {
    let no_user = Error::Refused(Refusal::NotFound("there is no user with this userId"));
    let user_id = input.user_id.clone().ok_or(no_user.clone())?;
    if !store::user::exists(tx, &user_id)? {
        return Err(no_user);
    }
    admin.require_not_broader(&input.grant)?;
    let key = NewApiKey {
        id: ctx.world.id(),
        secret: KeySecret::generate(|bytes| ctx.world.fill(bytes)),
        user_id,
        name: input.name.clone(),
        grant: input.grant.clone(),
        expires_at: api_key::expires_at(tx.now, input.expires_in_days),
    };
    let stamp = store::activity::stamp(&*ctx.world);
    store::api_key::create(tx, &stamp, Some(admin.principal()), &key)?;
    let data = WireCreatedKey {
        id: key.id.as_str(),
        name: &key.name,
        key: key.secret.reveal(),
        prefix: KEY_PREFIX,
        start: key.secret.start(),
        scopes: scope_words(&key.grant.scopes),
        expires_at: key.expires_at.to_string(),
        user_id: key.user_id.as_str(),
    };
    Ok(envelope::with_data(data).with_secret_of(key.id.as_str()))
}

/// `GET /api/admin/api-keys`: all keys, newest first, including revoked and expired ones.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, (): &()) -> Result<Reply, Error> {
    let keys = store::api_key::list(tx)?;
    Ok(envelope::with_data(keys.iter().map(wire).collect::<Vec<_>>()))
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<ApiKeyId, Error> {
    Ok(request.id_param("id", NO_KEY)?)
}

/// `DELETE /api/admin/api-keys/{id}`: revokes a key permanently. Revoking a revoked key succeeds and changes nothing.
///
/// # Errors
/// `not_found` if the key does not exist.
fn revoke(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, id: &ApiKeyId) -> Result<Reply, Error> {
    let stamp = store::activity::stamp(&*ctx.world);
    if !store::api_key::revoke(tx, &stamp, Some(admin.principal()), id)? {
        return Err(NO_KEY.into());
    }
    Ok(envelope::success())
}

fn scope_words(scopes: &[Scope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.as_str()).collect()
}

pub(in crate::http) fn wire(key: &ApiKey) -> WireApiKey<'_> {
    WireApiKey {
        id: key.id.as_str(),
        name: key.name.as_deref(),
        prefix: KEY_PREFIX,
        start: &key.start,
        scopes: scope_words(&key.scopes),
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireCreatedKey<'a> {
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
