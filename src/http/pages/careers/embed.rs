//! `/careers/{orgSlug}/embed.js`: the script that puts an organization's roles into pages of other sites.

use hyper::header;

use super::feed;
use super::visit::file;
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::{Error, Tx};

/// The script. It learns from its own address whose roles it shows, so it is the same for everybody.
const SCRIPT: &str = include_str!("embed.js");

/// Seconds for which browsers keep it: what it shows is read anew each time.
const KEPT_FOR_S: u32 = 3_600;

const CROSS_ORIGIN_RESOURCE_POLICY: header::HeaderName =
    header::HeaderName::from_static("cross-origin-resource-policy");

pub(super) fn routes() -> Vec<Route> {
    vec![file("/careers/{orgSlug}/embed.js", CachePool::Pages, embed)]
}

/// `GET /careers/{orgSlug}/embed.js`: the script, for pages of any origin, also of those that ask for leave.
///
/// # Errors
/// `not_found` where there is no organization with this slug, or its portal is off.
fn embed(_: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let reply = feed::reply(tx, &organization, "text/javascript; charset=utf-8", SCRIPT.to_owned())?;
    Ok(reply.with_max_age(KEPT_FOR_S).with(CROSS_ORIGIN_RESOURCE_POLICY, "cross-origin"))
}
