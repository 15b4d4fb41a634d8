//! `/api/admin/organizations/{id}/logo`: admins give an organization a logo, or take it away; and
//! `/careers/{orgSlug}/logo`, where its pages have it from.

use hyper::{Method, header};
use serde::Serialize;

use super::api_key::{WireData, WireSuccess};
use super::portal;
use crate::domain::id::{Id, OrganizationId};
use crate::domain::logo::{self, LOGO_BYTES_MAX, LOGO_MUST_BE, LogoType};
use crate::domain::refusal::Refusal;
use crate::domain::text::Slug;
use crate::domain::user::Admin;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::logo::Logo;
use crate::store::{self, Error, Grade, Tx};

const NO_ORGANIZATION: Refusal = Refusal::NotFound("there is no such organization");
const NOTHING_TO_REMOVE: Refusal = Refusal::NotFound("there is no such organization, or it has no logo");
const NO_PICTURE: Refusal = Refusal::NotFound("there is no career portal here, or it has no logo");

/// What a picture may do where somebody opens it by itself: nothing.
const PICTURE_POLICY: &str = "default-src 'none'; sandbox";

pub(in crate::http) fn routes() -> Vec<Route> {
    let logo = "/api/admin/organizations/{id}/logo";
    vec![
        Route::admin(Method::PUT, logo, decode_put, put).with_body_of(LOGO_BYTES_MAX).writes(Grade::Durable).answering(
            &[
                (200, ""),
                (400, "bad_request"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (404, "not_found"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (429, "rate_limited"),
            ],
        ),
        Route::admin(Method::DELETE, logo, decode_delete, delete).writes(Grade::Durable).answering(&[
            (200, ""),
            (401, "unauthorized"),
            (403, "forbidden"),
            (404, "not_found"),
            (429, "rate_limited"),
        ]),
        Route::open(Audience::Page, Method::GET, "/careers/{orgSlug}/logo", portal::decode, picture)
            .cached_in(CachePool::Pages)
            .answering(&[(200, ""), (304, ""), (404, "not_found")]),
    ]
}

struct LogoInput {
    organization: Option<OrganizationId>,
    media_type: LogoType,
    content: Vec<u8>,
}

/// The picture. Its content says of which kind it is, whatever `Content-Type` the request names.
///
/// # Errors
/// `bad_request` for an empty body; `unsupported_media_type` where it is no picture of a kind that pages show.
fn decode_put(_: &Ctx, request: &Request) -> Result<LogoInput, Error> {
    let content = request.body();
    if content.is_empty() {
        return Err(Refusal::bad_request(LOGO_MUST_BE).into());
    }
    let media_type = logo::type_of(content).ok_or(Refusal::UnsupportedContent(LOGO_MUST_BE))?;
    Ok(LogoInput { organization: OrganizationId::parse(request.param("id")), media_type, content: content.to_vec() })
}

/// `PUT /api/admin/organizations/{id}/logo`: the picture that the organization's pages show from now on.
///
/// # Errors
/// `not_found` where there is no such organization.
fn put(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, input: &LogoInput) -> Result<Reply, Error> {
    let id = input.organization.as_ref().ok_or(NO_ORGANIZATION)?;
    let organization = store::organization::find(tx, id)?.ok_or(NO_ORGANIZATION)?.record;
    let stamp = store::activity::stamp(&*ctx.world);
    store::logo::put(tx, &stamp, Some(who.principal()), id, input.media_type, &input.content)?;
    let Logo { media_type, bytes, updated_at, .. } = store::logo::find(tx, id)?.ok_or(NO_ORGANIZATION)?;
    let url = format!("{}/careers/{}/logo", ctx.settings.base_url, organization.slug.as_str());
    let data = WireLogo { media_type: media_type.as_str(), bytes, url, updated_at: updated_at.to_string() };
    Ok(Reply::json(&WireData { success: true, data }))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
fn decode_delete(_: &Ctx, request: &Request) -> Result<Option<OrganizationId>, Error> {
    Ok(OrganizationId::parse(request.param("id")))
}

/// `DELETE /api/admin/organizations/{id}/logo`: takes the picture away.
///
/// # Errors
/// `not_found` where there is no such organization, or it has none.
fn delete(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, id: &Option<OrganizationId>) -> Result<Reply, Error> {
    let id = id.as_ref().ok_or(NOTHING_TO_REMOVE)?;
    let stamp = store::activity::stamp(&*ctx.world);
    if !store::logo::remove(tx, &stamp, Some(who.principal()), id)? {
        return Err(NOTHING_TO_REMOVE.into());
    }
    Ok(Reply::json(&WireSuccess { success: true }))
}

/// `GET /careers/{orgSlug}/logo`: the picture.
///
/// # Errors
/// `not_found` where there is no such portal, or its organization has none.
fn picture(_: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = store::portal::organization(tx, slug.as_ref().ok_or(NO_PICTURE)?)?.ok_or(NO_PICTURE)?;
    let (media_type, content) = store::logo::content(tx, &organization.id)?.ok_or(NO_PICTURE)?;
    let reply = Reply::tagged_file(media_type.as_str(), content).with(header::CONTENT_SECURITY_POLICY, PICTURE_POLICY);
    Ok(reply.valid_until_change(organization.id, store::change::portals(tx)?))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireLogo {
    media_type: &'static str,
    bytes: usize,
    url: String,
    updated_at: String,
}
