//! `/api/admin/organizations/{id}/hr-integration`: admins say where an organization's HR system listens, and try it.

use hyper::Method;
use serde::Serialize;

use super::api_key::{WireData, WireSuccess};
use crate::domain::hr_integration::{self, Integration, IntegrationInput, SecretInput, TargetUrl, URL_CHARACTERS_MAX};
use crate::domain::id::{DeliveryId, Id, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::signature::{SECRET_BYTES_MIN, SECRET_CHARACTERS_MAX, SigningSecret};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Admin;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

const NO_ORGANIZATION: Refusal = Refusal::NotFound("there is no such organization");
const NO_INTEGRATION: Refusal = Refusal::NotFound("the organization has no HR integration; save one with PUT");
const NO_SECRET: Refusal =
    Refusal::Conflict("the HR integration has no secret to sign with; save it again, which makes one");

pub(in crate::http) fn routes() -> Vec<Route> {
    let integration = "/api/admin/organizations/{id}/hr-integration";
    let test = "/api/admin/organizations/{id}/hr-integration/test";
    vec![
        Route::admin(Method::GET, integration, decode_id, read).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::admin(Method::PUT, integration, decode_put, put).with_body().writes(Grade::Durable).answering(&[
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
        Route::admin(Method::DELETE, integration, decode_id, delete).writes(Grade::Durable).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::admin(Method::POST, test, decode_id, ping).writes(Grade::Durable).answering(&[
            (202, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (409, "conflict"),
            (429, "rate_limited"),
        ]),
    ]
}

/// The organization that a path names; an id that none can have names nothing.
///
/// # Errors
/// `not_found`.
fn decode_id(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    OrganizationId::parse(request.param("id")).ok_or(Error::Refused(NO_ORGANIZATION))
}

struct IntegrationPutInput {
    organization_id: Option<OrganizationId>,
    integration: IntegrationInput,
}

/// What an integration is to be. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `url` or with one that is not http or
/// https with a host and without user information, for a `secret` that cannot sign or is too short, for both a `secret`
/// and `rotateSecret`.
fn decode_put(_: &Ctx, request: &Request) -> Result<IntegrationPutInput, Error> {
    let mut fields = request.object()?;
    let must_be =
        format!("must be an http or https URL with a host and no user name, at most {URL_CHARACTERS_MAX} characters");
    let url = fields.required_string("url");
    let url = url.and_then(|url| TargetUrl::parse(&url).or_else(|| fields.fault("url", must_be)));
    let must_be = format!(
        "must be whsec_ and the base 64 of at least {SECRET_BYTES_MIN} bytes, at most {SECRET_CHARACTERS_MAX} \
         characters; leave it out and one is made"
    );
    let given = fields.string("secret");
    let given = given.and_then(|given| {
        SigningSecret::parse(&given).filter(SigningSecret::is_strong).or_else(|| fields.fault("secret", must_be))
    });
    let rotate = fields.boolean("rotateSecret").unwrap_or(false);
    let enabled = fields.boolean("enabled");
    if given.is_some() && rotate {
        fields.fault::<()>("rotateSecret", "makes a new secret, so none can be given with it");
    }
    let url = fields.valid_with(url)?;
    let rotated = if rotate { SecretInput::Rotate } else { SecretInput::Keep };
    let integration = IntegrationInput { url, secret: given.map_or(rotated, SecretInput::Given), enabled };
    Ok(IntegrationPutInput { organization_id: OrganizationId::parse(request.param("id")), integration })
}

/// `GET …/hr-integration`: where the HR system listens. The secret is not shown.
///
/// # Errors
/// `not_found` where there is no such organization, or it has no integration.
fn read(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    let (integration, updated_at) = find(tx, id)?.ok_or(NO_INTEGRATION)?;
    Ok(Reply::json(&WireData { success: true, data: wire(id, &integration, updated_at, None, tx.now) }))
}

/// `PUT …/hr-integration`: saves where the HR system listens. Enabled, all that it is owed is sent from now on. A
/// secret that was made here is shown this once.
///
/// # Errors
/// `not_found` where there is no such organization.
fn put(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, input: &IntegrationPutInput) -> Result<Reply, Error> {
    let id = input.organization_id.as_ref().ok_or(NO_ORGANIZATION)?;
    let before = find(tx, id)?.map(|(integration, _)| integration);
    let made = SigningSecret::generate(|bytes| ctx.world.fill(bytes));
    let (integration, is_made) = hr_integration::put(before.as_ref(), &input.integration, &made, tx.now);
    store::hr_integration::save(tx, id, &integration)?;
    if before.as_ref() != Some(&integration) {
        let stamp = store::activity::stamp(&*ctx.world);
        let change = (before.as_ref(), Some(&integration));
        store::hr_integration::append_activity(tx, &stamp, who.principal(), id, change)?;
    }
    let shown = is_made.then(|| made.reveal());
    Ok(Reply::json(&WireData { success: true, data: wire(id, &integration, tx.now, shown, tx.now) }))
}

/// `DELETE …/hr-integration`: takes it away. What the HR system is owed is kept, and sent once there is another.
///
/// # Errors
/// `not_found` where there is no such organization, or it has no integration.
fn delete(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    let (before, _) = find(tx, id)?.ok_or(NO_INTEGRATION)?;
    store::hr_integration::delete(tx, id)?;
    let stamp = store::activity::stamp(&*ctx.world);
    store::hr_integration::append_activity(tx, &stamp, who.principal(), id, (Some(&before), None))?;
    Ok(Reply::json(&WireSuccess { success: true }))
}

/// `POST …/hr-integration/test`: queues a signed `ping`, which is tried once, whether the integration is enabled or not.
///
/// # Errors
/// `not_found` where there is no such organization, or it has no integration; `conflict` where nothing can sign.
fn ping(ctx: &Ctx, tx: &Tx<'_>, _: &Admin, organization: &OrganizationId) -> Result<Reply, Error> {
    let (integration, _) = find(tx, organization)?.ok_or(NO_INTEGRATION)?;
    if integration.secret.is_none() {
        return Err(NO_SECRET.into());
    }
    let id: DeliveryId = ctx.world.id();
    store::outbox::enqueue_ping(tx, &id, organization)?;
    Ok(Reply::accepted(&WireData { success: true, data: WirePing { id: id.as_str() } }))
}

/// The integration of an organization that is there, and when it was last changed.
fn find(tx: &Tx<'_>, id: &OrganizationId) -> Result<Option<(Integration, Timestamp)>, Error> {
    if !store::organization::exists(tx, id)? {
        return Err(NO_ORGANIZATION.into());
    }
    store::hr_integration::find(tx, id)
}

fn wire<'a>(
    organization: &'a OrganizationId,
    integration: &'a Integration,
    updated_at: Timestamp,
    shown_secret: Option<&'a str>,
    now: Timestamp,
) -> WireIntegration<'a> {
    let previous_until = integration.previous_secret.as_ref().map(|(_, until)| *until);
    WireIntegration {
        organization_id: organization.as_str(),
        url: integration.url.as_str(),
        enabled: integration.enabled,
        disabled_reason: integration.disabled_reason.as_deref(),
        has_secret: integration.secret.is_some(),
        previous_secret_until: previous_until.filter(|until| now < *until).map(|until| until.to_string()),
        updated_at: updated_at.to_string(),
        secret: shown_secret,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireIntegration<'a> {
    organization_id: &'a str,
    url: &'a str,
    enabled: bool,
    disabled_reason: Option<&'a str>,
    has_secret: bool,
    previous_secret_until: Option<String>,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

#[derive(Serialize)]
struct WirePing<'a> {
    id: &'a str,
}
