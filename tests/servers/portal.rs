//! Cached responses of portals when two servers share a database.

use serde_json::json;

use crate::service::Service;

/// The number of changes. A server that compared change numbers only from time to time would miss most changes.
const CHANGES: usize = 60;

#[test]
fn a_change_to_a_portal_on_one_server_is_in_the_next_answer_of_the_other() {
    let Some(service) = Service::start() else { return };
    let (organization, _) = service.organization("acme");
    let path = format!("/api/admin/organizations/{organization}");
    let mut admins = [service.admin(0), service.admin(1)];
    let mut visitors = [service.anonymous(0), service.anonymous(1)];
    for number in 1..=CHANGES {
        let name = format!("Name {number}");
        let (changed_on, read_on) = (number % 2, (number + 1) % 2);
        admins[changed_on].call("PATCH", &path, &json!({ "name": name })).succeeded();
        for _ in 0..2 {
            let page = visitors[read_on].get("/careers/acme").succeeded();
            assert!(page.text.contains(&name), "the page does not show change {number}");
        }
    }
}

#[test]
fn a_server_without_its_database_serves_no_cached_portal() {
    let Some(service) = Service::start() else { return };
    service.organization("acme");
    let mut visitor = service.anonymous(1);
    for _ in 0..2 {
        visitor.get("/careers/acme").succeeded();
    }
    let Service { servers: _servers, postgres, .. } = service;
    drop(postgres);
    let answer = visitor.get("/careers/acme");
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert!(answer.field("retry-after").is_some());
}
