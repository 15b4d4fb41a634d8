//! The access matrix: the callers that each endpoint of `/api/v1` and `/api/admin` admits and refuses. Seven endpoints
//! are tested in `access` and have no line here.
//!
//! Each other route has one line, which states the access that the route requires and how to make a request to it.
//! Every kind of caller sends that request. The rules for bodies and unknown ids, which hold for all routes, are tested
//! on each line as well. A new route needs one line in `lines.rs` and no change here.

pub(crate) mod line;
pub(crate) mod lines;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use appliance::domain::api_key::Scope;
use appliance::http::server::access_rule::AccessRule;
use appliance::http::server::route::Route;
use appliance::http::server::table::Table;
use serde_json::json;

use self::line::{Kind, Line, Request};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    each_route_that_access_does_not_test_has_one_line,
    each_caller_gets_the_expected_answer_at_each_route,
    each_route_with_a_json_body_accepts_only_objects_up_to_128_kib,
    an_unknown_id_is_not_found_for_admins,
];

/// The routes that are tested in `access`.
const TESTED_IN_ACCESS: [&str; 7] = [
    "POST /api/v1/candidate-steps/{id}/reject",
    "POST /api/v1/candidate-steps/{id}/hire",
    "GET /api/v1/me",
    "POST /api/admin/api-keys",
    "GET /api/admin/api-keys",
    "GET /api/admin/api-keys/{id}/usage",
    "DELETE /api/admin/api-keys/{id}",
];

static TABLE: LazyLock<Table> = LazyLock::new(appliance::http::routes::table);

/// The largest JSON body that the server reads.
const BODY_BYTES_MAX: usize = 128 * 1_024;

const NO_CREDENTIAL: (u16, &str) = (401, "unauthorized");
const NO_SCOPE: (u16, &str) = (403, "insufficient_scope");
const FORBIDDEN: (u16, &str) = (403, "forbidden");
const HIDDEN: (u16, &str) = (404, "not_found");

fn each_route_that_access_does_not_test_has_one_line() {
    let route_names = TABLE.routes().iter().map(route_name).collect::<Vec<_>>();
    let of_staff = |route_name: &&String| route_name.contains(" /api/v1/") || route_name.contains(" /api/admin/");
    let expected: BTreeSet<&str> = route_names
        .iter()
        .filter(of_staff)
        .map(String::as_str)
        .filter(|route_name| !TESTED_IN_ACCESS.contains(route_name))
        .collect();
    let lines = lines::lines();
    let found: BTreeSet<&str> = lines.iter().map(|line| line.route_name).collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), lines.len(), "a route has two lines");
    for line in &lines {
        assert_eq!(line.kind == Kind::Admin, matches!(route(line).access, AccessRule::Admin(_)), "{}", line.route_name);
    }
}

fn each_caller_gets_the_expected_answer_at_each_route() {
    let app = App::start();
    let (session, elsewhere) = (session(&app), app.hiring());
    for line in lines::lines() {
        assert_refused(&app, &line, &elsewhere, &session);
        for caller in line.kind.admitted() {
            let hiring = app.hiring();
            let request = (line.request)(&app, &hiring);
            let answer = request.send(&admitted(&app, caller, &line, &hiring), route(&line).method.as_str());
            assert_eq!(
                status_and_code(&answer),
                owned(request.granted),
                "{caller} at {}: {}",
                line.route_name,
                answer.text()
            );
        }
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

/// Asserts that every refused caller gets the expected answer and changes nothing. All of them send the same request,
/// to one organization.
fn assert_refused(app: &App, line: &Line, elsewhere: &Hiring, session: &Client) {
    let hiring = app.hiring();
    let (route, request) = (route(line), (line.request)(app, &hiring));
    let before = fingerprint(app);
    app.pass(1);
    let assert_refused_with = |name: &str, client: &Client, expected: (u16, &str)| {
        let answer = request.send(client, route.method.as_str());
        assert_eq!(status_and_code(&answer), owned(expected), "{name} at {}: {}", line.route_name, answer.text());
        if expected == NO_SCOPE {
            let challenge = answer.header("www-authenticate").unwrap();
            assert!(challenge.contains(&format!("scope=\"{}\"", scope(route).as_str())), "{challenge}");
        }
    };
    for (name, client, expected) in refused(app, line, &hiring, elsewhere, session) {
        assert_refused_with(&name, &client, expected);
    }
    if !matches!(line.kind, Kind::Admin | Kind::Lists) {
        let id = &hiring.organization_id;
        app.change(&format!("UPDATE organizations SET enabled = 0 WHERE id = '{id}'"));
        assert_refused_with(
            "an owner of a disabled organization",
            &staff_with(app, &hiring, "owner", &Scope::ALL),
            HIDDEN,
        );
        app.change(&format!("UPDATE organizations SET enabled = 1 WHERE id = '{id}'"));
    }
    assert_eq!(fingerprint(app), before, "a refusal at {} changed something", line.route_name);
}

fn each_route_with_a_json_body_accepts_only_objects_up_to_128_kib() {
    let app = App::start();
    let admin = admin_with(&app, &Scope::ALL);
    for line in lines::lines() {
        let route = route(&line);
        let request = (line.request)(&app, &app.hiring());
        let before = fingerprint(&app);
        let send = |media_type: &str, body: &[u8]| {
            let length = body.len().to_string();
            let headers = [("Content-Type", media_type), ("Content-Length", &length)];
            admin.send(route.method.as_str(), &request.path, &headers, body)
        };
        if !route.accepts_body || request.has_non_json_body() {
            continue;
        }
        send("application/json", &vec![b' '; BODY_BYTES_MAX + 1]).refused(413, "payload_too_large");
        send("text/plain", b"{}").refused(415, "unsupported_media_type");
        for broken in ["[]", "null", "{", "{\"a\":1,\"a\":1}"] {
            send("application/json", broken.as_bytes()).refused(400, "bad_request");
        }
        assert_eq!(fingerprint(&app), before, "a refusal at {} changed something", line.route_name);
    }
}

fn an_unknown_id_is_not_found_for_admins() {
    let app = App::start();
    let admin = admin_with(&app, &Scope::ALL);
    for line in lines::lines() {
        let route = route(&line);
        let request = (line.request)(&app, &app.hiring());
        let templates: Vec<&str> = route.path.split('/').collect();
        for parameter in templates.iter().filter(|segment| segment.starts_with('{')) {
            // Each iteration replaces one id and leaves the others.
            for unknown_id in ["none", "no%20id", "%C3%A4"] {
                let path = request.path.split('?').next().unwrap().split('/').zip(&templates);
                let path: Vec<&str> =
                    path.map(|(given, template)| if template == parameter { unknown_id } else { given }).collect();
                let request = Request { path: path.join("/"), body: request.body.clone(), granted: HIDDEN };
                let answer = request.send(&admin, route.method.as_str());
                assert_eq!(
                    status_and_code(&answer),
                    owned(HIDDEN),
                    "{} at {}: {}",
                    request.path,
                    line.route_name,
                    answer.text()
                );
            }
        }
    }
}

/// Returns every kind of caller who is refused, with the expected answer.
fn refused(
    app: &App,
    line: &Line,
    hiring: &Hiring,
    elsewhere: &Hiring,
    session: &Client,
) -> Vec<(String, Client, (u16, &'static str))> {
    let others: Vec<Scope> = Scope::ALL.into_iter().filter(|other| *other != scope(route(line))).collect();
    let mut callers = vec![
        ("nobody".to_owned(), app.anonymous(), NO_CREDENTIAL),
        ("a session of an admin".to_owned(), session.with_header("Sec-Fetch-Site", "same-origin"), NO_CREDENTIAL),
        (
            "a bad key and a good session".to_owned(),
            session.with_header("Authorization", "Bearer rpk_none"),
            NO_CREDENTIAL,
        ),
    ];
    if line.kind == Kind::Admin {
        for org_role in ["owner", "admin", "moderator", "hr_representative", "member"] {
            callers.push((org_role.to_owned(), staff_with(app, hiring, org_role, &Scope::ALL), FORBIDDEN));
        }
        callers.push(("an owner elsewhere".to_owned(), staff_with(app, elsewhere, "owner", &Scope::ALL), FORBIDDEN));
        callers.push(("an owner without scopes".to_owned(), staff_with(app, hiring, "owner", &[]), FORBIDDEN));
        callers.push(("a platform admin with all other scopes".to_owned(), admin_with(app, &others), NO_SCOPE));
        callers.push(("a platform admin without scopes".to_owned(), admin_with(app, &[]), NO_SCOPE));
        return callers;
    }
    callers.push(("an owner with all other scopes".to_owned(), staff_with(app, hiring, "owner", &others), NO_SCOPE));
    callers.push(("an owner without scopes".to_owned(), staff_with(app, hiring, "owner", &[]), NO_SCOPE));
    callers.push(("a platform admin with all other scopes".to_owned(), admin_with(app, &others), NO_SCOPE));
    if line.kind != Kind::Lists {
        callers.push(("an owner elsewhere".to_owned(), staff_with(app, elsewhere, "owner", &Scope::ALL), HIDDEN));
        callers.push(("a member elsewhere".to_owned(), staff_with(app, elsewhere, "member", &Scope::ALL), HIDDEN));
    }
    for org_role in line.kind.forbidden() {
        callers.push(((*org_role).to_owned(), staff_with(app, hiring, org_role, &Scope::ALL), FORBIDDEN));
    }
    callers
}

/// Returns the client of a caller with access. `caller` is a name from the list of the line's kind.
fn admitted(app: &App, caller: &str, line: &Line, hiring: &Hiring) -> Client {
    let route = route(line);
    match caller {
        "platform admin" => admin_with(app, &[scope(route)]),
        org_role => staff_with(app, hiring, org_role, &[scope(route)]),
    }
}

fn staff_with(app: &App, hiring: &Hiring, org_role: &str, scopes: &[Scope]) -> Client {
    user_with(app, &hiring.staff(org_role), scopes)
}

fn admin_with(app: &App, scopes: &[Scope]) -> Client {
    user_with(app, "user_admin", scopes)
}

fn user_with(app: &App, user: &str, scopes: &[Scope]) -> Client {
    let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    app.key(&app.make_key_with(&json!({ "name": "test", "userId": user, "scopes": scopes })).1)
}

/// Signs in as the platform admin.
fn session(app: &App) -> Client {
    let (email, password) = ("admin@appliance.example", "correct horse battery");
    app.set_password(email, password);
    app.sign_in(email, password)
}

/// Returns counts and times. Every act changes at least one of them.
fn fingerprint(app: &App) -> Vec<String> {
    app.sql(
        "SELECT (SELECT count(*) FROM activities), (SELECT count(*) FROM organizations), (SELECT count(*) FROM users),
           (SELECT count(*) FROM memberships), (SELECT count(*) FROM roles), (SELECT count(*) FROM role_steps),
           (SELECT count(*) FROM candidates), (SELECT count(*) FROM candidate_roles),
           (SELECT count(*) FROM hr_integrations), (SELECT count(*) FROM hr_deliveries),
           (SELECT max(updated_at) FROM organizations), (SELECT max(updated_at) FROM users),
           (SELECT max(updated_at) FROM roles), (SELECT max(updated_at) FROM candidates)",
    )
}

/// Returns the path of a permitted request to a route, for this organization, or `None` if the route has no line.
pub(crate) fn permitted_path(app: &App, hiring: &Hiring, route: &Route) -> Option<String> {
    let line = lines::lines().into_iter().find(|line| line.route_name == route_name(route));
    line.map(|line| (line.request)(app, hiring).path)
}

fn route_name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn route(line: &Line) -> &'static Route {
    let found = TABLE.routes().iter().find(|route| route_name(route) == line.route_name);
    found.unwrap_or_else(|| panic!("the table has no route {}", line.route_name))
}

fn scope(route: &Route) -> Scope {
    match route.access {
        AccessRule::Scoped(scope) | AccessRule::Admin(scope) => scope,
        other => panic!("{} needs no scope: {other:?}", route.path),
    }
}

fn status_and_code(answer: &Answer) -> (u16, String) {
    // Files and empty answers have no error code.
    let is_json = answer.header("content-type").is_some_and(|media_type| media_type.contains("json"));
    let code = if answer.body.is_empty() || !is_json {
        String::new()
    } else {
        answer.json()["code"].as_str().unwrap_or_default().to_owned()
    };
    (answer.status, code)
}

fn owned((status, code): (u16, &str)) -> (u16, String) {
    (status, code.to_owned())
}
