//! `/api/admin/organizations/{id}/hr-integration`: lets admins read, save, test and delete an organization's HR
//! integration.

use hyper::Method;
use serde::Serialize;

use crate::domain::hr_integration::{self, Integration, IntegrationInput, SecretInput, TargetUrl, URL_CHARACTERS_MAX};
use crate::domain::id::{DeliveryId, OrganizationId};
use crate::domain::refusal::Refusal;
use crate::domain::signature::{SECRET_BYTES_MIN, SECRET_CHARACTERS_MAX, SigningSecret};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Admin;
use crate::http::api::envelope;
use crate::http::api::existing::{self, ORGANIZATION_ABSENT};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{self, Error, Grade, Tx};

const NO_INTEGRATION: Refusal = Refusal::NotFound("the organization has no HR integration; save one with PUT");
const NO_SECRET: Refusal =
    Refusal::Conflict("the HR integration has no signing secret; save the integration again to generate one");

pub(in crate::http) fn routes() -> Vec<Route> {
    let integration = "/api/admin/organizations/{id}/hr-integration";
    let test = "/api/admin/organizations/{id}/hr-integration/test";
    vec![
        Route::admin(Method::GET, integration, decode_id, get).answering(&[(200, ""), (404, "not_found")]),
        Route::admin(Method::PUT, integration, decode_put, put).with_body().writes(Grade::Durable).answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::admin(Method::DELETE, integration, decode_id, delete)
            .writes(Grade::Durable)
            .answering(&[(200, ""), (404, "not_found")]),
        Route::admin(Method::POST, test, decode_id, ping).writes(Grade::Durable).answering(&[
            (202, ""),
            (404, "not_found"),
            (409, "conflict"),
        ]),
    ]
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    Ok(request.id_param("id", ORGANIZATION_ABSENT)?)
}

struct IntegrationPutInput {
    organization_id: OrganizationId,
    integration: IntegrationInput,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for invalid fields (the error names all of them),
/// or for `secret` together with `rotateSecret`; `not_found` if the path has no valid id.
fn decode_put(_: &Ctx, request: &Request) -> Result<IntegrationPutInput, Error> {
    let mut fields = request.object()?;
    let must_be =
        format!("must be an http or https URL with a host and no user name, at most {URL_CHARACTERS_MAX} characters");
    let url = fields.required_string("url");
    let url = url.and_then(|url| TargetUrl::parse(&url).or_else(|| fields.fault("url", must_be)));
    let must_be = format!(
        "must be whsec_ followed by at least {SECRET_BYTES_MIN} bytes in base64, at most {SECRET_CHARACTERS_MAX} \
         characters; if secret is missing, the service keeps the current secret or generates one"
    );
    let given = fields.string("secret");
    let given = given.and_then(|given| {
        SigningSecret::parse(&given).filter(SigningSecret::is_strong).or_else(|| fields.fault("secret", must_be))
    });
    let rotate = fields.boolean("rotateSecret").unwrap_or(false);
    let enabled = fields.boolean("enabled");
    if given.is_some() && rotate {
        fields.fault::<()>("rotateSecret", "generates a new secret, so the request must not also contain a secret");
    }
    let url = fields.valid_with(url)?;
    let without_given = if rotate { SecretInput::Rotate } else { SecretInput::Unchanged };
    let integration = IntegrationInput { url, secret: given.map_or(without_given, SecretInput::Given), enabled };
    Ok(IntegrationPutInput { organization_id: request.id_param("id", ORGANIZATION_ABSENT)?, integration })
}

/// `GET /api/admin/organizations/{id}/hr-integration`: returns the integration without its secret.
///
/// # Errors
/// `not_found` if the organization does not exist or has no integration.
fn get(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    let (integration, updated_at) = find(tx, id)?.ok_or(NO_INTEGRATION)?;
    Ok(envelope::with_data(wire(id, &integration, updated_at, None, tx.now)))
}

/// `PUT /api/admin/organizations/{id}/hr-integration`: saves the integration. If the integration is enabled, its
/// scheduled deliveries become due. Only this answer shows a generated secret.
///
/// # Errors
/// `not_found` if the organization does not exist.
fn put(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, input: &IntegrationPutInput) -> Result<Reply, Error> {
    let id = &input.organization_id;
    let before = find(tx, id)?.map(|(integration, _)| integration);
    let generated = SigningSecret::generate(|bytes| ctx.world.fill(bytes));
    let (integration, is_generated) = hr_integration::put(before.as_ref(), &input.integration, &generated, tx.now);
    store::hr_integration::save(tx, id, &integration)?;
    if before.as_ref() != Some(&integration) {
        let stamp = store::activity::stamp(&*ctx.world);
        let change = (before.as_ref(), Some(&integration));
        store::hr_integration::append_activity(tx, &stamp, admin.principal(), id, change)?;
    }
    let shown_secret = is_generated.then(|| generated.reveal());
    Ok(envelope::with_data(wire(id, &integration, tx.now, shown_secret, tx.now)))
}

/// `DELETE /api/admin/organizations/{id}/hr-integration`: deletes the integration. Pending deliveries wait until the
/// organization has an enabled integration again.
///
/// # Errors
/// `not_found` if the organization does not exist or has no integration.
fn delete(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    let (before, _) = find(tx, id)?.ok_or(NO_INTEGRATION)?;
    store::hr_integration::delete(tx, id)?;
    let stamp = store::activity::stamp(&*ctx.world);
    store::hr_integration::append_activity(tx, &stamp, admin.principal(), id, (Some(&before), None))?;
    Ok(envelope::success())
}

/// `POST /api/admin/organizations/{id}/hr-integration/test`: queues a `ping`, which is signed like any other message.
/// The service tries to send the ping once, even if the integration is disabled.
///
/// # Errors
/// `not_found` if the organization does not exist or has no integration; `conflict` if the integration has no secret.
fn ping(ctx: &Ctx, tx: &Tx<'_>, _: &Admin, organization: &OrganizationId) -> Result<Reply, Error> {
    let (integration, _) = find(tx, organization)?.ok_or(NO_INTEGRATION)?;
    if integration.secret.is_none() {
        return Err(NO_SECRET.into());
    }
    let id: DeliveryId = ctx.world.id();
    store::outbox::enqueue_ping(tx, &id, organization)?;
    Ok(envelope::accepted(WirePing { id: id.as_str() }))
}

/// Returns an organization's integration, if any, and the time of its last change.
///
/// # Errors
/// `not_found` if the organization does not exist.
fn find(tx: &Tx<'_>, id: &OrganizationId) -> Result<Option<(Integration, Timestamp)>, Error> {
    existing::require_organization(tx, id)?;
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
