//! API keys with explicit scopes: under `/api/admin`, such a key needs `admin:read` or `admin:write`, and cannot create
//! a key with a scope that it lacks.

use appliance::http::server::access_rule::AccessRule;
use appliance::http::server::route::Route;
use serde_json::json;

use crate::support::{Answer, App, Client};

crate::tests![
    admin_routes_refuse_a_scoped_key_without_their_scope,
    a_scoped_key_cannot_create_a_broader_key,
    a_scoped_key_can_create_keys_with_a_subset_of_its_scopes,
    a_stored_admin_key_without_explicit_scopes_has_admin_access,
];

const KEYS: &str = "/api/admin/api-keys";

fn admin_routes_refuse_a_scoped_key_without_their_scope() {
    let app = App::start();
    let (none, reader, writer) =
        (admin_key(&app, &[]), admin_key(&app, &["admin:read"]), admin_key(&app, &["admin:write"]));
    let unscoped = app.user("user_admin");
    let before = row_counts(&app);
    let mut count = 0;
    for route in
        appliance::http::routes::table().routes().iter().filter(|route| matches!(route.access, AccessRule::Admin(_)))
    {
        let is_safe = route.method == "GET";
        let (scope, good, bad) =
            if is_safe { ("admin:read", &reader, &writer) } else { ("admin:write", &writer, &reader) };
        let methods: &[&str] = if is_safe { &["GET", "HEAD"] } else { &[route.method.as_str()] };
        for method in methods {
            for client in [&none, bad] {
                let answer = send(client, method, route).expect(403);
                let challenge = answer.header("www-authenticate").unwrap();
                let expected = format!("error=\"insufficient_scope\", scope=\"{scope}\"");
                assert!(challenge.contains(&expected), "{method} {}: {challenge}", route.path);
            }
            for client in [good, &unscoped] {
                assert_ne!(send(client, method, route).status, 403, "{method} {}", route.path);
            }
        }
        count += 1;
    }
    assert!(count >= 20, "the table has only {count} admin routes");
    assert_eq!(row_counts(&app), before);
}

fn a_scoped_key_cannot_create_a_broader_key() {
    let app = App::start();
    let scoped = admin_key(&app, &["admin:write", "roles:read"]);
    let before = app.sql("SELECT count(*) FROM api_keys");
    for body in [
        json!({ "name": "n", "userId": "user_admin" }),
        json!({ "name": "n", "userId": "user_admin", "scopes": null }),
        json!({ "name": "n", "userId": "user_admin", "scopes": ["admin:read"] }),
        json!({ "name": "n", "userId": "user_admin", "scopes": ["admin:write", "candidates:read"] }),
    ] {
        let problem = scoped.post(KEYS, &body).refused(403, "forbidden").json();
        assert!(problem["detail"].as_str().unwrap().contains("explicit scopes"), "{problem}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM api_keys"), before);
}

fn a_scoped_key_can_create_keys_with_a_subset_of_its_scopes() {
    let app = App::start();
    let scoped = admin_key(&app, &["admin:write", "roles:read"]);
    for scopes in [&["admin:write", "roles:read"][..], &["roles:read"], &[]] {
        let body = json!({ "name": "n", "userId": "user_admin", "scopes": scopes });
        assert_eq!(scoped.post(KEYS, &body).expect(200).json()["data"]["scopes"], json!(scopes));
    }
}

/// A key that was created without a list of scopes has the default scopes, and 0 in the column `scopes_explicit`.
fn a_stored_admin_key_without_explicit_scopes_has_admin_access() {
    let app = App::start();
    let body = json!({ "name": "n", "userId": "user_admin", "scopes": ["roles:read"] });
    let client = app.key(&app.make_key_with(&body).1);
    client.get(KEYS).refused(403, "insufficient_scope");
    app.change("UPDATE api_keys SET scopes_explicit = 0 WHERE scopes = 'roles:read'");
    app.stop();
    app.start_again();
    client.get(KEYS).expect(200);
    client.post(KEYS, &json!({ "name": "n", "userId": "user_admin" })).expect(200);
}

fn admin_key(app: &App, scopes: &[&str]) -> Client {
    app.key(&app.make_key_with(&json!({ "name": "n", "userId": "user_admin", "scopes": scopes })).1)
}

/// Sends an empty object to the route, with ids that do not exist, so that nothing changes.
fn send(client: &Client, method: &str, route: &Route) -> Answer {
    let path: Vec<&str> = route.path.split('/').map(|part| if part.starts_with('{') { "none" } else { part }).collect();
    client.send(method, &path.join("/"), &[("Content-Type", "application/json")], b"{}")
}

fn row_counts(app: &App) -> Vec<String> {
    app.sql("SELECT (SELECT count(*) FROM api_keys) || ' ' || (SELECT count(*) FROM users) || ' ' || (SELECT count(*) FROM organizations)")
}
