//! `/api/admin/organizations/{id}/logo`: lets admins upload or remove an organization's logo. `/careers/{orgSlug}/logo`
//! serves the logo.

use hyper::{Method, header};
use serde::Serialize;

use super::portal;
use crate::domain::id::OrganizationId;
use crate::domain::logo::{self, LOGO_BYTES_MAX, LOGO_MUST_BE, LogoType};
use crate::domain::refusal::Refusal;
use crate::domain::text::Slug;
use crate::domain::user::Admin;
use crate::http::api::envelope;
use crate::http::api::existing::ORGANIZATION_ABSENT;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::logo::Logo;
use crate::store::{self, Error, Grade, Tx};

const NOTHING_TO_REMOVE: Refusal = Refusal::NotFound("there is no such organization, or it has no logo");
const NO_LOGO: Refusal = Refusal::NotFound("there is no career portal here, or it has no logo");

/// The content security policy for logos. Under this policy, a logo that a browser opens as a separate document can
/// neither run scripts nor load anything.
const LOGO_POLICY: &str = "default-src 'none'; sandbox";

pub(in crate::http) fn routes() -> Vec<Route> {
    let logo = "/api/admin/organizations/{id}/logo";
    vec![
        Route::admin(Method::PUT, logo, decode_put, put)
            .with_body_of(LOGO_BYTES_MAX)
            .writes(Grade::Durable)
            .answering(&[(200, ""), (404, "not_found")]),
        Route::admin(Method::DELETE, logo, decode_delete, delete)
            .writes(Grade::Durable)
            .answering(&[(200, ""), (404, "not_found")]),
        Route::open(Audience::Page, Method::GET, "/careers/{orgSlug}/logo", portal::decode_slug, download)
            .cached_in(CachePool::Pages)
            .answering(&[(200, ""), (304, ""), (404, "not_found")]),
    ]
}

struct LogoInput {
    organization: OrganizationId,
    media_type: LogoType,
    content: Vec<u8>,
}

/// Decodes an uploaded logo. The content determines the media type. `Content-Type` is ignored.
///
/// # Errors
/// `bad_request` for an empty body; `unsupported_media_type` if the content is not an image of a supported type;
/// `not_found` if the path has no valid id.
fn decode_put(_: &Ctx, request: &Request) -> Result<LogoInput, Error> {
    let content = request.body();
    if content.is_empty() {
        return Err(Refusal::bad_request(LOGO_MUST_BE).into());
    }
    let media_type = logo::type_of(content).ok_or(Refusal::UnsupportedContent(LOGO_MUST_BE))?;
    let organization = request.id_param("id", ORGANIZATION_ABSENT)?;
    Ok(LogoInput { organization, media_type, content: content.to_vec() })
}

/// `PUT /api/admin/organizations/{id}/logo`: sets or replaces the logo.
///
/// # Errors
/// `not_found` if the organization does not exist.
fn put(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, input: &LogoInput) -> Result<Reply, Error> {
    let id = &input.organization;
    let organization = store::organization::find(tx, id)?.ok_or(ORGANIZATION_ABSENT)?.record;
    let stamp = store::activity::stamp(&*ctx.world);
    store::logo::put(tx, &stamp, Some(admin.principal()), id, input.media_type, &input.content)?;
    let Logo { media_type, bytes, updated_at, .. } = store::logo::find(tx, id)?.ok_or(ORGANIZATION_ABSENT)?;
    let url = format!("{}/careers/{}/logo", ctx.settings.base_url, organization.slug.as_str());
    Ok(envelope::with_data(WireLogo {
        media_type: media_type.as_str(),
        bytes,
        url,
        updated_at: updated_at.to_string(),
    }))
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_delete(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    Ok(request.id_param("id", NOTHING_TO_REMOVE)?)
}

/// `DELETE /api/admin/organizations/{id}/logo`: removes the logo.
///
/// # Errors
/// `not_found` if the organization does not exist or has no logo.
fn delete(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    let stamp = store::activity::stamp(&*ctx.world);
    if !store::logo::remove(tx, &stamp, Some(admin.principal()), id)? {
        return Err(NOTHING_TO_REMOVE.into());
    }
    Ok(envelope::success())
}

/// `GET /careers/{orgSlug}/logo`: returns the logo of an organization whose portal is enabled.
///
/// # Errors
/// `not_found` if there is no portal with this slug, or its organization has no logo.
fn download(_: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = store::portal::organization(tx, slug.as_ref().ok_or(NO_LOGO)?)?.ok_or(NO_LOGO)?;
    let (media_type, content) = store::logo::content(tx, &organization.id)?.ok_or(NO_LOGO)?;
    let reply = Reply::tagged_file(media_type.as_str(), content).with(header::CONTENT_SECURITY_POLICY, LOGO_POLICY);
    Ok(reply.valid_until_change(organization.id, store::change_number::portals(tx)?))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireLogo {
    media_type: &'static str,
    bytes: usize,
    url: String,
    updated_at: String,
}
