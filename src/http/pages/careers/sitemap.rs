//! Files that help search engines find pages: `/careers/{orgSlug}/sitemap.xml` (sitemaps.org 0.9) and `/robots.txt`
//! (RFC 9309).

use std::fmt::Write as _;

use hyper::Method;

use super::{portal_file, url};
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::pages::xml;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::{self, Error, Tx};

/// The maximum number of pages in one sitemap, including the portal's list of roles. The protocol sets this limit.
const PAGES_MAX: i64 = 50_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        portal_file::route("/careers/{orgSlug}/sitemap.xml", CachePool::Feeds, sitemap).rendered_one_at_a_time(),
        Route::open(Audience::Api, Method::GET, "/robots.txt", |_, _| Ok(()), robots)
            .answering(&[(200, ""), (304, "")]),
    ]
}

/// `GET /careers/{orgSlug}/sitemap.xml`: returns the URLs of the portal's list and of its newest postings, each with
/// the time of its last change.
///
/// # Errors
/// `not_found` if no organization has this slug, or if the organization or its portal is disabled.
fn sitemap(ctx: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let roles = store::feed::times(tx, &organization.id, PAGES_MAX - 1)?;
    let base = &ctx.settings.base_url;
    let newest = roles.iter().map(|(_, at)| *at).max().unwrap_or(organization.updated_at);
    let mut document = format!("{}<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n", xml::DECLARATION);
    let list = (url::list_url(base, &organization.slug), newest.max(organization.updated_at));
    let pages = roles.iter().map(|(id, at)| (url::role_url(base, &organization.slug, id.as_str()), *at));
    for (loc, at) in std::iter::once(list).chain(pages) {
        let (loc, at) = (xml::escape(&loc), portal_file::rfc3339_seconds(at));
        let _ = writeln!(document, "<url><loc>{loc}</loc><lastmod>{at}</lastmod></url>");
    }
    document.push_str("</urlset>\n");
    portal_file::reply(tx, &organization, "application/xml; charset=utf-8", document)
}

/// `GET /robots.txt`: allows portals, and disallows the API and the pages behind signup and status links. Names the
/// sitemap only if exactly one organization has a portal, because a list of sitemaps would reveal which organizations
/// use the service.
fn robots(ctx: &Ctx, tx: &Tx<'_>, (): &()) -> Result<Reply, Error> {
    let mut text =
        "User-agent: *\nAllow: /careers/\nDisallow: /api/\nDisallow: /signup/\nDisallow: /status/\n".to_owned();
    if let Some(portal) = store::portal::only(tx)? {
        let _ = write!(text, "\nSitemap: {}", url::file_url(&ctx.settings.base_url, &portal.slug, "sitemap.xml"));
    }
    text.push('\n');
    Ok(Reply::tagged_file("text/plain; charset=utf-8", text))
}
