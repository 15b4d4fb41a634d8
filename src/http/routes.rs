//! The route table of this service. It contains every endpoint except those of the metrics and redirect listeners.

use std::sync::Arc;

use super::api::openapi::Description;
use super::api::signup as public_signup;
use super::api::{
    access, activity, admin, api_key, application, application_transfer, attachment, board, candidate, candidate_step,
    decision_batch, erasure, export, health, hr_delivery, hr_integration, in_progress, later, logo, me, openapi,
    organization_status, portal, report, role, role_step, security_txt, session, status_link, usage,
};
use super::pages::{asset, careers, console, home, problem, signup, status_page};
use super::server::resource::Audience;
use super::server::route::Route;
use super::server::table::{Area, Table};

/// Path prefixes, each with the audience of the paths below it that match no route.
const AREAS: &[Area] = &[
    ("/api/public/", Audience::Public),
    ("/careers", Audience::Page),
    ("/signup", Audience::Page),
    ("/status", Audience::Page),
    ("/app", Audience::Staff),
    ("/sign-in", Audience::Staff),
    ("/join", Audience::Staff),
];

/// Builds the route table and completes the OpenAPI description with the routes.
pub fn table() -> Table {
    let description = Arc::new(Description::default());
    let table = Table::new(all(&description), AREAS, problem::page);
    description.describe(table.routes());
    table
}

fn all(description: &Arc<Description>) -> Vec<Route> {
    [
        access::routes(),
        role::routes(),
        role_step::routes(),
        candidate::routes(),
        application::routes(),
        application_transfer::routes(),
        later::routes(),
        status_link::routes(),
        candidate_step::routes(),
        decision_batch::routes(),
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
        in_progress::routes(),
        organization_status::routes(),
        report::routes(),
        activity::routes(),
        portal::routes(),
        careers::routes(),
        asset::routes(),
        session::routes(),
        signup::routes(),
        public_signup::routes(),
        status_page::routes(),
        console::routes(),
        home::routes(),
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
    use crate::http::server::response_cache::CachePool;
    use crate::http::server::route::Work;
    use crate::store::Grade;

    #[test]
    fn a_route_is_public_if_and_only_if_its_area_is_public() {
        let table = table();
        for route in table.routes() {
            let is_public = table.area(route.path) == Audience::Public;
            assert_eq!(is_public, route.audience == Audience::Public, "{}", route.path);
        }
    }

    #[test]
    fn only_platform_routes_repeat_stored_responses_without_a_check_of_the_organization_role() {
        for route in table().routes() {
            let Idempotency::ByKey(resource) = route.idempotency else { continue };
            let is_platform_route = route.path.starts_with("/api/admin/");
            assert_eq!(resource.caller_roles.is_none(), is_platform_route, "{}", route.path);
            let names_candidate = route.path.contains("/candidate") || route.path.contains("/decisions");
            assert_eq!(resource.names_candidate, names_candidate, "{}", route.path);
            assert!(is_platform_route || route.path.contains("/{id}"), "{}", route.path);
        }
    }

    /// The reserve is for acts that should not wait, such as erasures, revocations and sign-ins. On a full disk, edits
    /// of roles are refused until there is space.
    #[test]
    fn acts_on_roles_do_not_use_the_reserve_of_disk_space() {
        let mut count = 0;
        for route in table().routes().iter().filter(|route| route.path.contains("/roles")) {
            let Work::Write(grade) = route.work else { continue };
            assert_eq!(grade, Grade::Durable, "{} {}", route.method, route.path);
            count += 1;
        }
        assert!(count > 20, "{count}");
    }

    #[test]
    fn only_feeds_are_rendered_one_at_a_time() {
        for route in table().routes() {
            let is_feed = route.caching.is_some_and(|caching| caching.pool == CachePool::Feeds);
            assert_eq!(route.renders_one_at_a_time, is_feed, "{}", route.path);
            assert_eq!(is_feed, route.path.ends_with(".xml") || route.path.ends_with(".atom"), "{}", route.path);
        }
    }
}
