//! Who may do what at each endpoint of v1 and admin beside the contract's ten: a line a route says what it asks of a caller
//! and how a request to it is made; every kind of caller sends it. What is the same for every route (what its body must be,
//! an id that names nothing) is asked of each line, too.
//!
//! A new route needs one line in `lines.rs`, nothing here.

pub(crate) mod line;
pub(crate) mod lines;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use appliance::domain::api_key::Scope;
use appliance::http::server::route::{Entry, Route};
use appliance::http::server::table::Table;
use serde_json::json;

use self::line::{Asked, Kind, Line};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    each_route_of_the_table_has_its_line,
    each_caller_gets_at_each_route_what_they_may,
    each_body_is_a_json_object_of_a_bounded_size,
    an_id_that_names_nothing_is_not_found_by_an_admin_either,
];

/// The contract's own, which `tenancy` has.
const CONTRACT: [&str; 7] = [
    "POST /api/v1/candidate-steps/{id}/reject",
    "POST /api/v1/candidate-steps/{id}/hire",
    "GET /api/v1/me",
    "POST /api/admin/api-keys",
    "GET /api/admin/api-keys",
    "GET /api/admin/api-keys/{id}/usage",
    "DELETE /api/admin/api-keys/{id}",
];

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// The largest body that is read.
const BODY_BYTES_MAX: usize = 128 * 1_024;

const NOBODY: (u16, &str) = (401, "unauthorized");
const SCOPE: (u16, &str) = (403, "insufficient_scope");
const NO: (u16, &str) = (403, "forbidden");
const HIDDEN: (u16, &str) = (404, "not_found");

fn each_route_of_the_table_has_its_line() {
    let places = TABLE.routes().iter().map(place).collect::<Vec<_>>();
    let of_staff = |place: &&String| place.contains(" /api/v1/") || place.contains(" /api/admin/");
    let expected: BTreeSet<&str> =
        places.iter().filter(of_staff).map(String::as_str).filter(|place| !CONTRACT.contains(place)).collect();
    let lines = lines::lines();
    let found: BTreeSet<&str> = lines.iter().map(|line| line.place).collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), lines.len(), "a route has its line twice");
    for line in &lines {
        assert_eq!(line.kind == Kind::Admin, matches!(route(line).entry, Entry::Admin(_)), "{}", line.place);
    }
}

fn each_caller_gets_at_each_route_what_they_may() {
    let app = App::start();
    let (session, elsewhere) = (session(&app), app.hiring());
    for line in lines::lines() {
        refuses(&app, &line, &elsewhere, &session);
        for caller in line.kind.admitted() {
            let ground = app.hiring();
            let asked = (line.ask)(&app, &ground);
            let answer = asked.send(&admitted(&app, caller, &line, &ground), route(&line).method.as_str());
            assert_eq!(verdict(&answer), cell(asked.granted), "{caller} at {}: {}", line.place, answer.text());
        }
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

/// Whoever is refused changes nothing, so all of them meet on the same ground.
fn refuses(app: &App, line: &Line, elsewhere: &Hiring, session: &Client) {
    let ground = app.hiring();
    let (route, asked) = (route(line), (line.ask)(app, &ground));
    let before = trace(app);
    app.pass(1);
    let refused_with = |name: &str, client: &Client, expected: (u16, &str)| {
        let answer = asked.send(client, route.method.as_str());
        assert_eq!(verdict(&answer), cell(expected), "{name} at {}: {}", line.place, answer.text());
        if expected == SCOPE {
            let challenge = answer.header("www-authenticate").unwrap();
            assert!(challenge.contains(&format!("scope=\"{}\"", scope(route).as_str())), "{challenge}");
        }
    };
    for (name, client, expected) in refused(app, line, &ground, elsewhere, session) {
        refused_with(&name, &client, expected);
    }
    if !matches!(line.kind, Kind::Admin | Kind::Lists) {
        let id = &ground.organization_id;
        app.change(&format!("UPDATE organizations SET enabled = 0 WHERE id = '{id}'"));
        refused_with("an owner of one that is switched off", &staff_with(app, &ground, "owner", &Scope::ALL), HIDDEN);
        app.change(&format!("UPDATE organizations SET enabled = 1 WHERE id = '{id}'"));
    }
    assert_eq!(trace(app), before, "a refusal at {} left something", line.place);
}

fn each_body_is_a_json_object_of_a_bounded_size() {
    let app = App::start();
    let admin = admin_with(&app, &Scope::ALL);
    for line in lines::lines() {
        let route = route(&line);
        let asked = (line.ask)(&app, &app.hiring());
        let before = trace(&app);
        let send = |media_type: &str, body: &[u8]| {
            let length = body.len().to_string();
            let headers = [("Content-Type", media_type), ("Content-Length", &length)];
            admin.send(route.method.as_str(), &asked.path, &headers, body)
        };
        if !route.takes_body || asked.has_other_than_json() {
            continue;
        }
        send("application/json", &vec![b' '; BODY_BYTES_MAX + 1]).refused(413, "payload_too_large");
        send("text/plain", b"{}").refused(415, "unsupported_media_type");
        for broken in ["[]", "null", "{", "{\"a\":1,\"a\":1}"] {
            send("application/json", broken.as_bytes()).refused(400, "bad_request");
        }
        assert_eq!(trace(&app), before, "a refusal at {} left something", line.place);
    }
}

fn an_id_that_names_nothing_is_not_found_by_an_admin_either() {
    let app = App::start();
    let admin = admin_with(&app, &Scope::ALL);
    for line in lines::lines() {
        let route = route(&line);
        let asked = (line.ask)(&app, &app.hiring());
        let templates: Vec<&str> = route.path.split('/').collect();
        for parameter in templates.iter().filter(|segment| segment.starts_with('{')) {
            // One of the ids at a time, and the rest as they are.
            for nothing in ["none", "no%20id", "%C3%A4"] {
                let path = asked.path.split('?').next().unwrap().split('/').zip(&templates);
                let path: Vec<&str> =
                    path.map(|(given, template)| if template == parameter { nothing } else { given }).collect();
                let asked = Asked { path: path.join("/"), body: asked.body.clone(), granted: HIDDEN };
                let answer = asked.send(&admin, route.method.as_str());
                assert_eq!(verdict(&answer), cell(HIDDEN), "{} at {}: {}", asked.path, line.place, answer.text());
            }
        }
    }
}

/// Everybody who is refused, with what they are answered.
fn refused(
    app: &App,
    line: &Line,
    ground: &Hiring,
    elsewhere: &Hiring,
    session: &Client,
) -> Vec<(String, Client, (u16, &'static str))> {
    let others: Vec<Scope> = Scope::ALL.into_iter().filter(|other| *other != scope(route(line))).collect();
    let mut callers = vec![
        ("nobody".to_owned(), app.anonymous(), NOBODY),
        ("a session of an admin".to_owned(), session.with_header("Sec-Fetch-Site", "same-origin"), NOBODY),
        ("a bad key and a good session".to_owned(), session.with_header("Authorization", "Bearer rpk_none"), NOBODY),
    ];
    if line.kind == Kind::Admin {
        for org_role in ["owner", "admin", "moderator", "hr_representative", "member"] {
            callers.push((org_role.to_owned(), staff_with(app, ground, org_role, &Scope::ALL), NO));
        }
        callers.push(("an owner elsewhere".to_owned(), staff_with(app, elsewhere, "owner", &Scope::ALL), NO));
        callers.push(("an owner without scopes".to_owned(), staff_with(app, ground, "owner", &[]), NO));
        callers.push(("a platform admin with all other scopes".to_owned(), admin_with(app, &others), SCOPE));
        callers.push(("a platform admin without scopes".to_owned(), admin_with(app, &[]), SCOPE));
        return callers;
    }
    callers.push(("an owner with all other scopes".to_owned(), staff_with(app, ground, "owner", &others), SCOPE));
    callers.push(("an owner without scopes".to_owned(), staff_with(app, ground, "owner", &[]), SCOPE));
    callers.push(("a platform admin with all other scopes".to_owned(), admin_with(app, &others), SCOPE));
    if line.kind != Kind::Lists {
        callers.push(("an owner elsewhere".to_owned(), staff_with(app, elsewhere, "owner", &Scope::ALL), HIDDEN));
        callers.push(("a member elsewhere".to_owned(), staff_with(app, elsewhere, "member", &Scope::ALL), HIDDEN));
    }
    for org_role in line.kind.forbidden() {
        callers.push(((*org_role).to_owned(), staff_with(app, ground, org_role, &Scope::ALL), NO));
    }
    callers
}

/// Somebody who may, by the name that the kind of the line has for them.
fn admitted(app: &App, caller: &str, line: &Line, ground: &Hiring) -> Client {
    let route = route(line);
    match caller {
        "platform admin" => admin_with(app, &[scope(route)]),
        org_role => staff_with(app, ground, org_role, &[scope(route)]),
    }
}

fn staff_with(app: &App, ground: &Hiring, org_role: &str, scopes: &[Scope]) -> Client {
    user_with(app, &ground.staff(org_role), scopes)
}

fn admin_with(app: &App, scopes: &[Scope]) -> Client {
    user_with(app, "user_admin", scopes)
}

fn user_with(app: &App, user: &str, scopes: &[Scope]) -> Client {
    let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    app.key(&app.make_key_with(&json!({ "name": "test", "userId": user, "scopes": scopes })).1)
}

/// The platform admin, signed in.
fn session(app: &App) -> Client {
    let (email, word) = ("admin@appliance.example", "correct horse battery");
    app.set_password(email, word);
    app.sign_in(email, word)
}

/// What every act leaves, and what keeps count of it.
fn trace(app: &App) -> Vec<String> {
    app.sql(
        "SELECT (SELECT count(*) FROM activities), (SELECT count(*) FROM organizations), (SELECT count(*) FROM users),
           (SELECT count(*) FROM memberships), (SELECT count(*) FROM roles), (SELECT count(*) FROM role_steps),
           (SELECT count(*) FROM candidates), (SELECT count(*) FROM candidate_roles),
           (SELECT count(*) FROM hr_integrations), (SELECT count(*) FROM hr_deliveries),
           (SELECT max(updated_at) FROM organizations), (SELECT max(updated_at) FROM users),
           (SELECT max(updated_at) FROM roles), (SELECT max(updated_at) FROM candidates)",
    )
}

/// The path of a request to a route that whoever may is granted, on this ground.
pub(crate) fn granted_path(app: &App, ground: &Hiring, route: &Route) -> Option<String> {
    let line = lines::lines().into_iter().find(|line| line.place == place(route));
    line.map(|line| (line.ask)(app, ground).path)
}

fn place(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn route(line: &Line) -> &'static Route {
    let found = TABLE.routes().iter().find(|route| place(route) == line.place);
    found.unwrap_or_else(|| panic!("the table has no {}", line.place))
}

fn scope(route: &Route) -> Scope {
    match route.entry {
        Entry::Scoped(scope) | Entry::Admin(scope) => scope,
        other => panic!("{} takes no scope but {other:?}", route.path),
    }
}

fn verdict(answer: &Answer) -> (u16, String) {
    // A file has no code, nor has nothing.
    let is_json = answer.header("content-type").is_some_and(|media_type| media_type.contains("json"));
    let code = if answer.body.is_empty() || !is_json {
        String::new()
    } else {
        answer.json()["code"].as_str().unwrap_or_default().to_owned()
    };
    (answer.status, code)
}

fn cell((status, code): (u16, &str)) -> (u16, String) {
    (status, code.to_owned())
}
