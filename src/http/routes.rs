//! Every endpoint: the only file that names all of them.

use std::sync::Arc;

use super::api::openapi::Description;
use super::api::signup as public_signup;
use super::api::{
    access, activity, admin, api_key, application, attachment, board, candidate, candidate_step, erasure, export,
    health, hr_delivery, hr_integration, logo, me, openapi, portal, report, role, role_step, security_txt, session,
    status, status_link, usage,
};
use super::pages::{careers, plain, signup, status_page};
use super::server::resource::Audience;
use super::server::route::Route;
use super::server::table::{Area, Table};

/// The paths that begin so, and whom they serve where no route answers.
const AREAS: &[Area] = &[
    ("/api/public/", Audience::Public),
    ("/careers", Audience::Page),
    ("/signup", Audience::Page),
    ("/status", Audience::Page),
];

/// The table of this service.
pub fn table() -> Table {
    let description = Arc::new(Description::default());
    let table = Table::new(all(&description), AREAS, plain::problem);
    description.describe(table.routes());
    table
}

/// Every route there is.
fn all(description: &Arc<Description>) -> Vec<Route> {
    [
        access::routes(),
        role::routes(),
        role_step::routes(),
        candidate::routes(),
        application::routes(),
        status_link::routes(),
        candidate_step::routes(),
        attachment::routes(),
        erasure::routes(),
        export::routes(),
        me::routes(),
        api_key::routes(),
        usage::routes(),
        admin::organization::routes(),
        admin::retention::routes(),
        logo::routes(),
        admin::user::routes(),
        admin::membership::routes(),
        hr_integration::routes(),
        hr_delivery::routes(),
        board::routes(),
        status::routes(),
        report::routes(),
        activity::routes(),
        portal::routes(),
        careers::routes(),
        session::routes(),
        signup::routes(),
        public_signup::routes(),
        status_page::routes(),
        health::routes(),
        security_txt::routes(),
        openapi::routes(description),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::server::resource::Idempotency;
    use crate::http::server::response_cache::Pool;

    #[test]
    fn areas_serve_whom_their_routes_serve() {
        let table = table();
        for route in table.routes() {
            let is_public = table.area(route.path) == Audience::Public;
            assert_eq!(is_public, route.audience == Audience::Public, "{}", route.path);
        }
    }

    #[test]
    fn staff_repeat_only_what_they_manage() {
        for route in table().routes() {
            let Idempotency::ByKey(resource) = route.idempotency else { continue };
            let is_of_platform = route.path.starts_with("/api/admin/");
            assert_eq!(resource.standing.is_none(), is_of_platform, "{}", route.path);
            assert_eq!(resource.names_candidate, route.path.contains("/candidate"), "{}", route.path);
            assert!(is_of_platform || route.path.contains("/{id}"), "{}", route.path);
        }
    }

    #[test]
    fn feeds_alone_are_rendered_alone() {
        for route in table().routes() {
            let is_feed = route.caching.is_some_and(|caching| caching.pool == Pool::Feeds);
            assert_eq!(route.renders_alone, is_feed, "{}", route.path);
            assert_eq!(is_feed, route.path.ends_with(".xml") || route.path.ends_with(".atom"), "{}", route.path);
        }
    }
}
