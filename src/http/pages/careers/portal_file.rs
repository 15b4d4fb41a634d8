//! The files that a portal offers to programs: their routes, responses and timestamps.

use hyper::Method;

use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;
use crate::http::api::portal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::portal::PortalOrganization;
use crate::store::{self, Error, Tx};

pub(super) fn route(
    path: &'static str,
    pool: CachePool,
    act: fn(&Ctx, &Tx<'_>, &Option<Slug>) -> Result<Reply, Error>,
) -> Route {
    let route = Route::open(Audience::Api, Method::GET, path, portal::decode_slug, act);
    route.cached_in(pool).answering(&[(200, ""), (304, ""), (404, "not_found")])
}

/// Returns a reply that the response cache may serve until the portal changes. A large body is compressed.
pub(super) fn reply(
    tx: &Tx<'_>,
    organization: &PortalOrganization,
    content_type: &'static str,
    body: String,
) -> Result<Reply, Error> {
    let read_at = store::change_number::portals(tx)?;
    Ok(Reply::tagged_file(content_type, body)
        .compressed_if_large()
        .valid_until_change(organization.id.clone(), read_at))
}

/// Formats a time according to RFC 3339, with whole seconds. Some feed readers do not accept fractions of a second.
pub(super) fn rfc3339_seconds(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{}Z", text.split('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_whole_seconds() {
        assert_eq!(rfc3339_seconds(Timestamp::from_micros(1_790_000_000_999_999)), "2026-09-21T14:13:20Z");
    }
}
