//! `/careers/{orgSlug}`: the pages of an organization's career portal, with the same data and rules as the public API.
//!
//! `list`, `role`, `privacy` and, for missing portals and roles, `missing` are pages for people. `posting` (JSON-LD in
//! a role's page), `sitemap`, `feed` and `jobs` are for programs. `embed` shows the roles on other websites, and
//! `theme` contains the organization's colours.

mod card;
mod closing_day;
mod embed;
mod feed;
mod job_location;
mod jobs;
mod list;
mod missing;
mod portal_file;
mod posting;
mod privacy;
mod role;
mod role_facts;
mod sitemap;
mod theme;
mod url;
mod visit;

use hyper::Method;

pub(super) use self::role::preview;

use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::Grade;

pub(in crate::http) fn routes() -> Vec<Route> {
    let page = &[(200, ""), (304, ""), (400, "validation_error"), (404, "not_found")];
    let role_page = &[(200, ""), (304, ""), (400, "validation_error"), (404, "not_found"), (410, "gone")];
    let apply = &[(303, ""), (400, "validation_error"), (404, "not_found"), (410, "gone")];
    let pages = vec![
        Route::open(Audience::Page, Method::GET, "/careers/{orgSlug}", list::decode, list::list)
            .cached_by_language(list::PARAMETERS)
            .answering(page),
        Route::open(Audience::Page, Method::GET, "/careers/{orgSlug}/roles/{roleId}", role::decode, role::role)
            .cached_by_language(&[])
            .answering(role_page),
        Route::open(Audience::Page, Method::POST, "/careers/{orgSlug}/roles/{roleId}/apply", role::decode, role::apply)
            .writes(Grade::Durable)
            .answering(apply),
        Route::open(Audience::Page, Method::GET, "/careers/{orgSlug}/privacy", visit::decode, privacy::privacy)
            .cached_by_language(&[])
            .answering(page),
    ];
    [pages, theme::routes(), feed::routes(), jobs::routes(), sitemap::routes(), embed::routes()]
        .into_iter()
        .flatten()
        .collect()
}
