//! Access rules of the endpoint `me` and of the endpoints that reject candidates, hire candidates and manage API keys.
//! The tests cover each kind of caller at each endpoint, the separation of organizations, the immediate effect of
//! changes to platform roles and memberships, and scopes, which only narrow a user's rights.

use serde_json::{Value, json};

use crate::support::app::Options;
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    each_caller_gets_the_expected_answer_at_each_endpoint,
    requests_with_any_invalid_key_get_the_same_answer,
    a_step_of_another_organization_looks_like_an_unknown_one,
    demoting_a_member_takes_effect_at_once,
    removing_a_member_takes_effect_at_once,
    demoting_an_admin_takes_effect_at_once,
    promoting_a_user_takes_effect_at_once,
    a_member_of_two_organizations_has_a_separate_organization_role_in_each,
    an_admin_manages_every_organization,
    an_admin_decides_even_with_the_organization_role_member,
    only_the_scope_pipeline_write_allows_decisions,
    scopes_never_widen_the_rights_of_the_user,
    a_missing_scope_is_named_in_the_challenge,
    a_key_takes_precedence_over_a_session,
    each_endpoint_of_the_matrix_is_rate_limited,
];

/// The cells of the matrix: a status and an error code, which is empty for a success.
const OK: (u16, &str) = (200, "");
const NO_CREDENTIAL: (u16, &str) = (401, "unauthorized");
const NO_SCOPE: (u16, &str) = (403, "insufficient_scope");
const FORBIDDEN: (u16, &str) = (403, "forbidden");
const HIDDEN: (u16, &str) = (404, "not_found");

/// The columns of the matrix: reject, hire, `me`, and the admin endpoints for API keys (create, list, usage, revoke).
type Row = [(u16, &'static str); 7];

const MANAGES: Row = [OK, OK, OK, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN];
const CANNOT_DECIDE: Row = [FORBIDDEN, FORBIDDEN, OK, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN];
const OUTSIDE: Row = [HIDDEN, HIDDEN, OK, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN];
const WITHOUT_SCOPES: Row = [NO_SCOPE, NO_SCOPE, OK, FORBIDDEN, FORBIDDEN, FORBIDDEN, FORBIDDEN];
const ADMIN: Row = [OK; 7];
const ADMIN_WITHOUT_SCOPES: Row = [NO_SCOPE, NO_SCOPE, OK, NO_SCOPE, NO_SCOPE, NO_SCOPE, NO_SCOPE];
const SESSION: Row = [NO_CREDENTIAL, NO_CREDENTIAL, OK, NO_CREDENTIAL, NO_CREDENTIAL, NO_CREDENTIAL, NO_CREDENTIAL];
const STRANGER: Row = [NO_CREDENTIAL; 7];

const SCOPES: [&str; 5] = ["candidates:read", "candidates:write", "roles:read", "roles:write", "pipeline:write"];

fn each_caller_gets_the_expected_answer_at_each_endpoint() {
    let app = App::start();
    for (name, client, expected) in callers(&app) {
        // Each caller gets its own target organization, so that no earlier caller has revoked the target key or decided
        // on a candidate.
        let target = app.hiring();
        app.change(&format!(
            "UPDATE memberships SET organization_id = '{}' WHERE organization_id = 'home'",
            target.organization_id
        ));
        let found = answers_of_caller(&app, &client, &target);
        assert_eq!(found, expected.map(|(status, code)| (status, code.to_owned())), "{name}");
        let decided = |column: usize, word: &str, candidate: usize| {
            let id = &target.candidates[candidate].application_id;
            let status = app.sql(&format!("SELECT status FROM candidate_roles WHERE id = '{id}'")).join("");
            assert_eq!(status, if expected[column] == OK { word } else { "In Progress" }, "{name}");
        };
        decided(0, "Not Selected", 0);
        decided(1, "Hired", 1);
        app.change(&format!(
            "UPDATE memberships SET organization_id = 'home'
             WHERE organization_id = '{}' AND user_id LIKE 'home_%'",
            target.organization_id
        ));
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn requests_with_any_invalid_key_get_the_same_answer() {
    let app = App::start();
    let hiring = app.hiring();
    let (revoked_id, revoked) = app.make_key(&hiring.staff("owner"));
    app.admin().delete(&format!("/api/admin/api-keys/{revoked_id}")).expect(200);
    let body = json!({ "name": "short", "userId": hiring.staff("owner"), "expiresInDays": 1 });
    let (_, expired) = app.make_key_with(&body);
    app.pass(86_400);
    let changed: String = revoked.chars().rev().collect();
    let unknown = format!("rpk_{}", "0".repeat(38));
    let clients = [&revoked, &expired, &changed, &unknown, &"rpk_".to_owned(), &String::new()].map(|key| app.key(key));
    let without_credential =
        without_request_id(&app.anonymous().post_empty(&hiring.hire(0)).refused(401, "unauthorized"));
    for client in &clients {
        for answer in [
            client.post_empty(&hiring.reject(0)),
            client.post_empty(&hiring.hire(0)),
            client.post_empty("/api/v1/candidate-steps/none/hire"),
            client.get("/api/v1/me"),
            client.get("/api/admin/api-keys"),
            client.post("/api/admin/api-keys", &json!({})),
            client.get("/api/admin/api-keys/none/usage"),
            client.delete(&format!("/api/admin/api-keys/{revoked_id}")),
        ] {
            let answer = answer.refused(401, "unauthorized");
            assert!(answer.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
            assert_eq!(without_request_id(&answer), without_credential);
        }
    }
    assert_eq!(app.sql("SELECT DISTINCT status FROM candidate_roles"), ["In Progress"]);
}

fn a_step_of_another_organization_looks_like_an_unknown_one() {
    let app = App::start();
    let (mine, theirs) = (app.hiring(), app.hiring());
    let callers = [app.user(&mine.staff("owner")), app.user(&mine.staff("member")), outsider(&app)];
    app.admin().post_empty(&theirs.reject(1)).expect(200);
    app.admin().post_empty(&theirs.hire(2)).expect(200);
    for client in &callers {
        for decision in ["reject", "hire"] {
            let seen = |path: &str| {
                let answer = client.post(path, &json!({ "notes": "x" })).refused(404, "not_found");
                let known = ["x-request-id", "date", "ratelimit"];
                let other = |(name, _): &&(String, String)| !known.contains(&name.to_ascii_lowercase().as_str());
                let headers: Vec<_> = answer.headers.iter().filter(other).cloned().collect();
                (without_request_id(&answer), headers)
            };
            let unknown_step = seen(&format!("/api/v1/candidate-steps/cstep_9_9_9/{decision}"));
            for candidate in 0..3 {
                for step in 0..4 {
                    assert_eq!(seen(&theirs.decision(candidate, step, decision)), unknown_step);
                }
            }
        }
    }
    assert_eq!(statuses(&app, &theirs), ["In Progress", "Not Selected", "Hired"]);
}

fn demoting_a_member_takes_effect_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.user(&hiring.staff("hr_representative"));
    client.post_empty(&hiring.reject(0)).expect(200);
    for (role, expected) in [("member", FORBIDDEN), ("moderator", OK), ("member", FORBIDDEN), ("owner", OK)] {
        let user = hiring.staff("hr_representative");
        app.change(&format!("UPDATE memberships SET org_role = '{role}' WHERE user_id = '{user}'"));
        let steps = app.sql("SELECT count(*) FROM candidate_role_steps WHERE status = 'rejected'")[0].parse().unwrap();
        assert_eq!(
            status_and_code(&client.post_empty(&hiring.decision(1, steps, "reject"))),
            owned(expected),
            "{role}"
        );
    }
    let user = hiring.staff("hr_representative");
    app.change(&format!("UPDATE memberships SET org_role = 'member' WHERE user_id = '{user}'"));
    client.post_empty(&hiring.hire(2)).refused(403, "forbidden");
    assert_eq!(statuses(&app, &hiring), ["Not Selected", "Not Selected", "In Progress"]);
}

fn removing_a_member_takes_effect_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.user(&hiring.staff("owner"));
    client.post_empty(&hiring.reject(0)).expect(200);
    app.change(&format!("DELETE FROM memberships WHERE user_id = '{}'", hiring.staff("owner")));
    client.post_empty(&hiring.reject(0)).refused(404, "not_found");
    client.post_empty(&hiring.reject(1)).refused(404, "not_found");
    client.post_empty(&hiring.hire(2)).refused(404, "not_found");
    client.get("/api/v1/me").expect(200);
    assert_eq!(statuses(&app, &hiring), ["Not Selected", "In Progress", "In Progress"]);
}

fn demoting_an_admin_takes_effect_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let second = app.user("user_admin");
    let (victim, _) = app.make_key(&hiring.staff("owner"));
    second.get("/api/admin/api-keys").expect(200);
    second.post_empty(&hiring.reject(0)).expect(200);
    assert_eq!(second.get("/api/v1/me").expect(200).json()["user"]["role"], "admin");
    app.change("UPDATE users SET platform_role = 'user' WHERE id = 'user_admin'");
    let user = json!({ "name": "more", "userId": hiring.staff("owner") });
    second.post("/api/admin/api-keys", &user).refused(403, "forbidden");
    second.get("/api/admin/api-keys").refused(403, "forbidden");
    second.get(&format!("/api/admin/api-keys/{victim}/usage")).refused(403, "forbidden");
    second.delete(&format!("/api/admin/api-keys/{victim}")).refused(403, "forbidden");
    second.post_empty(&hiring.reject(1)).refused(404, "not_found");
    second.post_empty(&hiring.hire(2)).refused(404, "not_found");
    assert_eq!(second.get("/api/v1/me").expect(200).json()["user"]["role"], "user");
    assert_eq!(app.sql(&format!("SELECT enabled FROM api_keys WHERE id = '{victim}'")), ["1"]);
    assert_eq!(statuses(&app, &hiring), ["Not Selected", "In Progress", "In Progress"]);
}

fn promoting_a_user_takes_effect_at_once() {
    let app = App::start();
    let (mine, theirs) = (app.hiring(), app.hiring());
    let client = app.user(&mine.staff("member"));
    client.get("/api/admin/api-keys").refused(403, "forbidden");
    client.post_empty(&mine.reject(0)).refused(403, "forbidden");
    client.post_empty(&theirs.reject(0)).refused(404, "not_found");
    app.change(&format!("UPDATE users SET platform_role = 'admin' WHERE id = '{}'", mine.staff("member")));
    client.get("/api/admin/api-keys").expect(200);
    client.post_empty(&mine.reject(0)).expect(200);
    client.post_empty(&theirs.reject(0)).expect(200);
}

fn a_member_of_two_organizations_has_a_separate_organization_role_in_each() {
    let app = App::start();
    let first = app.hiring();
    let second = app.hiring_with(|document| {
        let membership = json!({ "userId": first.staff("owner"), "orgRole": "member" });
        document["organizations"][0]["members"].as_array_mut().unwrap().push(membership);
    });
    let client = app.user(&first.staff("owner"));
    client.post_empty(&second.reject(0)).refused(403, "forbidden");
    client.post_empty(&second.hire(1)).refused(403, "forbidden");
    client.post_empty(&first.reject(0)).expect(200);
    client.post_empty(&first.hire(1)).expect(200);
    app.user(&second.staff("owner")).post_empty(&first.reject(2)).refused(404, "not_found");
    assert_eq!(statuses(&app, &first), ["Not Selected", "Hired", "In Progress"]);
    assert_eq!(statuses(&app, &second), ["In Progress", "In Progress", "In Progress"]);
}

fn an_admin_manages_every_organization() {
    let app = App::start();
    let organizations = [app.hiring(), app.hiring(), app.hiring()];
    assert_eq!(app.sql("SELECT count(*) FROM memberships WHERE user_id = 'user_admin'"), ["0"]);
    for hiring in &organizations {
        app.admin().post_empty(&hiring.reject(0)).expect(200);
        app.admin().post_empty(&hiring.hire(1)).expect(200);
        let owner = app.make_key(&hiring.staff("owner"));
        app.key(&owner.1).get("/api/v1/me").expect(200);
        let usage = app.admin().get(&format!("/api/admin/api-keys/{}/usage", owner.0)).expect(200).json();
        assert_eq!(usage["data"]["key"]["requestCount"], 1);
        app.admin().delete(&format!("/api/admin/api-keys/{}", owner.0)).expect(200);
        app.key(&owner.1).get("/api/v1/me").refused(401, "unauthorized");
        assert_eq!(statuses(&app, hiring), ["Not Selected", "Hired", "In Progress"]);
    }
    let keys = app.admin().get("/api/admin/api-keys").expect(200).json();
    let mut owners: Vec<&str> =
        keys["data"].as_array().unwrap().iter().filter_map(|key| key["owner"]["organizationId"].as_str()).collect();
    owners.sort_unstable();
    assert_eq!(owners, ["org_1", "org_2", "org_3"]);
}

fn an_admin_decides_even_with_the_organization_role_member() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let membership = json!({ "userId": "user_admin", "orgRole": "member" });
        document["organizations"][0]["members"].as_array_mut().unwrap().push(membership);
    });
    app.admin().post_empty(&hiring.reject(0)).expect(200);
    app.admin().post_empty(&hiring.hire(1)).expect(200);
}

fn only_the_scope_pipeline_write_allows_decisions() {
    let app = App::start();
    let hiring = app.hiring();
    let all_others = json!(["candidates:read", "candidates:write", "roles:read", "roles:write"]);
    let mut cases: Vec<(Value, bool)> =
        SCOPES.iter().map(|scope| (json!([scope]), *scope == "pipeline:write")).collect();
    cases.extend([(json!([]), false), (all_others, false), (json!(SCOPES), true), (json!(null), true)]);
    for user in [hiring.staff("owner"), "user_admin".to_owned()] {
        for (scopes, decides) in &cases {
            let client = app.key(&app.make_key_with(&json!({ "name": "k", "userId": user, "scopes": scopes })).1);
            // A decision on an unknown step shows whether the scope suffices, and changes nothing.
            for decision in ["reject", "hire"] {
                let answer = client.post_empty(&format!("/api/v1/candidate-steps/none/{decision}"));
                assert_eq!(status_and_code(&answer), owned(if *decides { HIDDEN } else { NO_SCOPE }), "{scopes}");
            }
            if !decides {
                client.post_empty(&hiring.reject(0)).refused(403, "insufficient_scope");
                client.post_empty(&hiring.hire(0)).refused(403, "insufficient_scope");
            }
        }
    }
    assert_eq!(statuses(&app, &hiring), ["In Progress", "In Progress", "In Progress"]);
}

fn scopes_never_widen_the_rights_of_the_user() {
    let app = App::start();
    let (mine, theirs) = (app.hiring(), app.hiring());
    let all = |user: &str| app.key(&app.make_key_with(&json!({ "name": "all", "userId": user, "scopes": SCOPES })).1);
    let (member, owner) = (all(&mine.staff("member")), all(&mine.staff("owner")));
    member.post_empty(&mine.reject(0)).refused(403, "forbidden");
    member.post_empty(&mine.hire(0)).refused(403, "forbidden");
    owner.post_empty(&theirs.reject(0)).refused(404, "not_found");
    owner.post_empty(&theirs.hire(0)).refused(404, "not_found");
    for client in [&member, &owner] {
        client.get("/api/admin/api-keys").refused(403, "forbidden");
        client.post("/api/admin/api-keys", &json!({ "name": 1 })).refused(403, "forbidden");
        client.get("/api/admin/api-keys/none/usage?limit=abc").refused(403, "forbidden");
        client.delete("/api/admin/api-keys/none").refused(403, "forbidden");
    }
}

fn a_missing_scope_is_named_in_the_challenge() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "name": "reader", "userId": hiring.staff("owner"), "scopes": ["candidates:read"] });
    let reader = app.key(&app.make_key_with(&body).1);
    for path in [hiring.reject(0), hiring.hire(0)] {
        let answer = reader.post_empty(&path).refused(403, "insufficient_scope");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer "), "{challenge}");
        assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
        assert!(challenge.contains("scope=\"pipeline:write\""), "{challenge}");
        assert!(answer.json()["detail"].as_str().unwrap().contains("pipeline:write"));
    }
    let member = app.user(&hiring.staff("member"));
    assert_eq!(member.post_empty(&hiring.hire(0)).refused(403, "forbidden").header("www-authenticate"), None);
}

fn a_key_takes_precedence_over_a_session() {
    let app = App::start();
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), "correct horse battery");
    let session = app.sign_in(&hiring.email("owner"), "correct horse battery");
    let (key_id, secret) = app.make_key(&hiring.staff("member"));
    let both = session.with_header("Authorization", &format!("Bearer {secret}"));
    let me = both.get("/api/v1/me").expect(200).json();
    assert_eq!((&me["user"]["id"], &me["auth"]["keyId"]), (&json!(hiring.staff("member")), &json!(key_id)));
    both.post_empty(&hiring.reject(0)).refused(403, "forbidden");
    let bad = session.with_header("Authorization", &format!("Bearer {secret}0"));
    bad.get("/api/v1/me").refused(401, "unauthorized");
    bad.post_empty(&hiring.reject(0)).refused(401, "unauthorized");
    assert_eq!(session.get("/api/v1/me").expect(200).json()["auth"], json!({ "type": "session" }));
}

fn each_endpoint_of_the_matrix_is_rate_limited() {
    let app = App::with(Options { per_minute: Some(10), ..Options::default() });
    let hiring = app.hiring();
    let admin = app.user("user_admin");
    for _ in 0..10 {
        admin.get("/api/v1/me").expect(200);
    }
    let (key, _) = app.make_key(&hiring.staff("owner"));
    for (status, code) in answers_at_endpoints(&admin, &hiring, &hiring.staff("owner"), &key) {
        assert_eq!((status, code.as_str()), (429, "rate_limited"));
    }
    assert_eq!(statuses(&app, &hiring), ["In Progress", "In Progress", "In Progress"]);
    app.pass(60);
    for found in answers_at_endpoints(&admin, &hiring, &hiring.staff("owner"), &key) {
        assert_eq!(found, owned(OK));
    }
}

/// Returns every kind of caller with its row in the matrix. The test moves the members of the organization `home`
/// into the organization under test.
fn callers(app: &App) -> Vec<(String, Client, Row)> {
    app.import(&home());
    let other = app.hiring();
    let key_with = |user: &str, scopes: Value| {
        let (id, secret) = app.make_key_with(&json!({ "name": "test", "userId": user, "scopes": scopes }));
        (id, app.key(&secret))
    };
    let expired = app.make_key_with(&json!({ "name": "short", "userId": "home_owner", "expiresInDays": 1 })).1;
    app.pass(86_400);
    let (revoked, revoked_client) = key_with("home_owner", json!(SCOPES));
    app.admin().delete(&format!("/api/admin/api-keys/{revoked}")).expect(200);
    let mut callers = vec![("anonymous".to_owned(), app.anonymous(), STRANGER)];
    for role in ["owner", "admin", "moderator", "hr_representative", "member"] {
        let own = if role == "member" { CANNOT_DECIDE } else { MANAGES };
        callers.push((role.to_owned(), app.user(&format!("home_{role}")), own));
        callers.push((format!("{role} elsewhere"), app.user(&other.staff(role)), OUTSIDE));
        callers.push((
            format!("{role} without scopes"),
            key_with(&format!("home_{role}"), json!([])).1,
            WITHOUT_SCOPES,
        ));
    }
    let password = "correct horse battery";
    for (email, name) in [("owner@home.example", "owner"), ("admin@appliance.example", "platform admin")] {
        app.set_password(email, password);
        callers.push((format!("session of the {name}"), app.sign_in(email, password), SESSION));
    }
    callers.push(("user with no membership".to_owned(), outsider(app), OUTSIDE));
    callers.push(("platform admin".to_owned(), app.admin(), ADMIN));
    let (_, admin_without_scopes) = key_with("user_admin", json!([]));
    callers.push(("platform admin without scopes".to_owned(), admin_without_scopes, ADMIN_WITHOUT_SCOPES));
    callers.push(("revoked key".to_owned(), revoked_client, STRANGER));
    callers.push(("expired key".to_owned(), app.key(&expired), STRANGER));
    callers
}

/// Returns the interchange document of the organization `home`, with a user for each organization role.
fn home() -> Value {
    let roles = ["owner", "admin", "moderator", "hr_representative", "member"];
    let id = |role: &str| format!("home_{role}");
    let user = |role: &&str| json!({ "id": id(role), "email": format!("{role}@home.example"), "name": role });
    let member = |role: &&str| json!({ "userId": id(role), "orgRole": role });
    json!({
        "users": roles.iter().map(user).collect::<Vec<_>>(),
        "organizations": [{
            "id": "home",
            "slug": "home",
            "name": "Home",
            "members": roles.iter().map(member).collect::<Vec<_>>(),
        }],
    })
}

/// Creates a user without a membership.
fn outsider(app: &App) -> Client {
    app.import(&json!({ "users": [{ "id": "outsider", "email": "out@side.example", "name": "Outsider" }] }));
    app.user("outsider")
}

/// Returns the answers that a caller gets at each endpoint, for a key that is not revoked and for candidates without a
/// decision.
fn answers_of_caller(app: &App, client: &Client, target: &Hiring) -> [(u16, String); 7] {
    let (key, _) = app.make_key(&target.staff("owner"));
    let found = answers_at_endpoints(client, target, &target.staff("owner"), &key);
    let is_enabled = app.sql(&format!("SELECT enabled FROM api_keys WHERE id = '{key}'")).join("") == "1";
    assert_eq!(is_enabled, found[6].0 != 200, "a refused revocation leaves the key enabled");
    found
}

fn answers_at_endpoints(client: &Client, target: &Hiring, user: &str, key: &str) -> [(u16, String); 7] {
    [
        client.post_empty(&target.reject(0)),
        client.post_empty(&target.hire(1)),
        client.get("/api/v1/me"),
        client.post("/api/admin/api-keys", &json!({ "name": "new", "userId": user })),
        client.get("/api/admin/api-keys"),
        client.get(&format!("/api/admin/api-keys/{key}/usage")),
        client.delete(&format!("/api/admin/api-keys/{key}")),
    ]
    .map(|answer| status_and_code(&answer))
}

fn status_and_code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

fn owned((status, code): (u16, &str)) -> (u16, String) {
    (status, code.to_owned())
}

/// Returns the body of a refusal without its request id.
fn without_request_id(answer: &Answer) -> Value {
    let mut body = answer.json();
    body.as_object_mut().unwrap().remove("requestId");
    body
}

/// Returns the status of each candidate's application.
fn statuses(app: &App, hiring: &Hiring) -> Vec<String> {
    let status = |id: &str| app.sql(&format!("SELECT status FROM candidate_roles WHERE id = '{id}'")).join("");
    hiring.candidates.iter().map(|candidate| status(&candidate.application_id)).collect()
}
