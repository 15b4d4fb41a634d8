//! `/careers/{orgSlug}`: an organization's career portal as pages, from the same data and by the same rules as the public API.
//!
//! `list` has the roles with filters and a search, `role` one of them and the way to apply, `privacy` the notice on personal
//! data, `theme` the colours. Where something is not there, `missing` says so and leads on. For machines there are `posting`
//! and `share` in a role's page, `sitemap`, `feed`, `jobs`, and `embed` for the pages of others.

mod embed;
mod feed;
mod jobs;
mod list;
mod missing;
pub(in crate::http) mod place;
pub(in crate::http) mod posting;
mod privacy;
mod role;
mod role_facts;
pub(in crate::http) mod share;
mod sitemap;
mod theme;
mod visit;

use hyper::Method;

use super::frame::{self, ICON_PATH, STYLE_PATH};
use crate::http::api::portal;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::Grade;

pub(in crate::http) fn routes() -> Vec<Route> {
    let page = &[(200, ""), (304, ""), (400, "validation_error"), (404, "not_found")];
    let of_role = &[(200, ""), (304, ""), (400, "validation_error"), (404, "not_found"), (410, "gone")];
    let apply = &[(303, ""), (400, "validation_error"), (404, "not_found"), (410, "gone")];
    let pages = vec![
        Route::open(Audience::Page, Method::GET, "/careers/{orgSlug}", list::decode, list::list)
            .cached_by_language(list::PARAMETERS)
            .answering(page),
        Route::open(Audience::Page, Method::GET, "/careers/{orgSlug}/roles/{roleId}", role::decode, role::role)
            .cached_by_language(&[])
            .answering(of_role),
        Route::open(Audience::Page, Method::POST, "/careers/{orgSlug}/roles/{roleId}/apply", role::decode, role::apply)
            .writes(Grade::Durable)
            .answering(apply),
        Route::open(Audience::Page, Method::GET, "/careers/{orgSlug}/privacy", visit::decode, privacy::privacy)
            .cached_by_language(&[])
            .answering(page),
        Route::open(Audience::Api, Method::GET, "/careers/{orgSlug}/theme.css", portal::decode_slug, theme::theme)
            .cached_in(CachePool::Pages)
            .answering(&[(200, ""), (304, ""), (404, "not_found")]),
        Route::plain(Audience::Api, Method::GET, STYLE_PATH, |_| frame::style())
            .cached_in(CachePool::Pages)
            .answering(&[(200, ""), (304, "")]),
        Route::plain(Audience::Api, Method::GET, ICON_PATH, |_| frame::icon())
            .cached_in(CachePool::Pages)
            .answering(&[(200, ""), (304, "")]),
    ];
    [pages, feed::routes(), jobs::routes(), sitemap::routes(), embed::routes()].into_iter().flatten().collect()
}
