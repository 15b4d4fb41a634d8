//! `/careers/{orgSlug}/embed.js`: the script that shows an organization's roles on other websites.

use hyper::header;

use super::portal_file;
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::{Error, Tx};

/// The script takes the organization's slug from its own URL, so all organizations share one script.
const SCRIPT: &str = include_str!("embed.js");

/// The time for which browsers may cache the script. The roles stay current, because the script loads them on each page
/// view.
const MAX_AGE_S: u32 = 3_600;

const CROSS_ORIGIN_RESOURCE_POLICY: header::HeaderName =
    header::HeaderName::from_static("cross-origin-resource-policy");

pub(super) fn routes() -> Vec<Route> {
    vec![portal_file::route("/careers/{orgSlug}/embed.js", CachePool::Pages, embed)]
}

/// `GET /careers/{orgSlug}/embed.js`: returns the script. Pages from any origin may load it, including pages that
/// require `Cross-Origin-Resource-Policy`.
///
/// # Errors
/// `not_found` if no organization has this slug, or if the organization or its portal is disabled.
fn embed(_: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let reply = portal_file::reply(tx, &organization, "text/javascript; charset=utf-8", SCRIPT.to_owned())?;
    Ok(reply.with_max_age(MAX_AGE_S).with(CROSS_ORIGIN_RESOURCE_POLICY, "cross-origin"))
}
