//! `GET /api/v1/me`, and the rules for all credentials: which are accepted, and how the others are refused.

use appliance::domain::api_key::KeySecret;
use appliance::http::server::access_rule::AccessRule;
use serde_json::{Value, json};

use crate::support::{Answer, App, fill_path};

crate::tests![
    a_request_with_a_key_returns_the_user_the_key_id_and_the_scopes,
    a_request_with_a_session_returns_the_user_without_a_key_or_scopes,
    the_role_in_the_answer_is_the_platform_role,
    a_head_request_returns_the_header_fields_of_a_get_and_no_body,
    query_parameters_and_bodies_are_ignored,
    a_request_without_a_credential_gets_a_challenge_without_an_error,
    requests_with_any_invalid_credential_get_the_same_answer,
    the_bearer_scheme_is_case_insensitive,
    a_key_takes_precedence_over_a_session,
    an_invalid_key_is_refused_even_with_a_valid_session,
    the_session_cookie_is_found_among_other_cookies,
    a_key_expires_exactly_at_its_expiry,
    a_changed_platform_role_takes_effect_at_once,
    every_api_route_that_needs_a_credential_refuses_requests_without_one,
    a_session_is_refused_where_a_key_is_needed,
];

const ME: &str = "/api/v1/me";
const PASSWORD: &str = "correct horse battery";

fn a_request_with_a_key_returns_the_user_the_key_id_and_the_scopes() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "name": "n", "userId": hiring.staff("member"), "scopes": ["roles:write", "candidates:read"] });
    let (id, secret) = app.make_key_with(&body);
    let answer = app.key(&secret).get(ME).expect(200);
    let expected = json!({
        "user": { "id": "user_1_member", "email": "member@org-1.example", "role": "user" },
        "auth": { "type": "api_key", "keyId": id, "scopes": ["roles:write", "candidates:read"] },
    });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("set-cookie"), None);
}

fn a_request_with_a_session_returns_the_user_without_a_key_or_scopes() {
    let app = App::start();
    let hiring = app.hiring();
    app.set_password(&hiring.email("member"), PASSWORD);
    let session = app.sign_in(&hiring.email("member"), PASSWORD);
    let expected = json!({
        "user": { "id": "user_1_member", "email": "member@org-1.example", "role": "user" },
        "auth": { "type": "session" },
    });
    assert_eq!(session.get(ME).expect(200).json(), expected);
}

fn the_role_in_the_answer_is_the_platform_role() {
    let app = App::start();
    let hiring = app.hiring();
    let admin = app.admin().get(ME).expect(200).json();
    assert_eq!(admin["user"], json!({ "id": "user_admin", "email": "admin@appliance.example", "role": "admin" }));
    // An admin of an organization is not a platform admin.
    let org_admin = app.user(&hiring.staff("admin")).get(ME).expect(200).json();
    assert_eq!(org_admin["user"]["role"], "user");
    app.set_password("admin@appliance.example", PASSWORD);
    let session = app.sign_in("admin@appliance.example", PASSWORD).get(ME).expect(200).json();
    assert_eq!(session["user"]["role"], "admin");
}

fn a_head_request_returns_the_header_fields_of_a_get_and_no_body() {
    let app = App::start();
    let got = app.admin().get(ME).expect(200);
    let head = app.admin().send("HEAD", ME, &[], b"").expect(200);
    assert_eq!(head.body, b"");
    for name in ["content-type", "content-length", "cache-control"] {
        assert!(got.header(name).is_some(), "{name}");
        assert_eq!(head.header(name), got.header(name), "{name}");
    }
    let refused = app.anonymous().send("HEAD", ME, &[], b"").expect(401);
    assert_eq!(refused.body, b"");
    assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer realm="));
}

fn query_parameters_and_bodies_are_ignored() {
    let app = App::start();
    let plain = app.admin().get(ME).expect(200).json();
    assert_eq!(app.admin().get("/api/v1/me?limit=abc&limit=1").expect(200).json(), plain);
    assert_eq!(app.admin().send("GET", ME, &[("Content-Type", "text/plain")], b"{").expect(200).json(), plain);
    // The service reads a key only from the `Authorization` field.
    let in_query = format!("{ME}?access_token={}", app.admin_secret());
    assert_eq!(app.anonymous().get(&in_query).refused(401, "unauthorized").header("www-authenticate"), Some(NOTHING));
}

const NOTHING: &str = "Bearer realm=\"appliance\"";
const INVALID: &str = "Bearer realm=\"appliance\", error=\"invalid_token\"";

/// Returns a refusal's body without its request id.
fn without_request_id(answer: &Answer) -> Value {
    let mut problem = answer.json();
    problem.as_object_mut().unwrap().remove("requestId").unwrap();
    problem
}

fn unauthorized() -> Value {
    json!({
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "detail": "this request needs a valid API key or session",
        "success": false,
        "code": "unauthorized",
    })
}

fn a_request_without_a_credential_gets_a_challenge_without_an_error() {
    let app = App::start();
    let nobody = app.anonymous();
    for client in [nobody.with_header("Cookie", "theme=dark"), nobody] {
        let answer = client.get(ME).expect(401);
        assert_eq!(without_request_id(&answer), unauthorized());
        assert_eq!(answer.header("www-authenticate"), Some(NOTHING));
    }
}

fn requests_with_any_invalid_credential_get_the_same_answer() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = hiring.staff("owner");
    let (revoked_id, revoked) = app.make_key(&owner);
    app.admin().delete(&format!("/api/admin/api-keys/{revoked_id}")).expect(200);
    let (_, expired) = app.make_key_with(&json!({ "name": "n", "userId": owner, "expiresInDays": 1 }));
    app.set_password(&hiring.email("owner"), PASSWORD);
    let session = app.sign_in(&hiring.email("owner"), PASSWORD);
    app.pass(86_400);
    let (_, good) = app.make_key(&owner);
    let unknown = KeySecret::generate(|bytes| bytes.fill(7)).reveal().to_owned();
    let mistyped = format!("{}{}{}", &good[..10], if &good[10..11] == "a" { "b" } else { "a" }, &good[11..]);
    let bearers: [&str; 10] =
        [&revoked, &expired, &unknown, &mistyped, &good[..41], &good[4..], "", "null", "rpk_ä", "ä"];
    let mut sent: Vec<String> = bearers.iter().map(|token| format!("Bearer {token}")).collect();
    sent.extend([
        format!("Bearer {good}0"),
        format!("Bearer {good} {good}"),
        format!("Bearer {good}, Bearer {good}"),
        format!("Bearer \"{good}\""),
        format!("Bearer={good}"),
        format!("Bearer{good}"),
        format!("Basic {good}"),
        format!("Token {good}"),
        format!("ApiKey {good}"),
        good.clone(),
        "Bearer".to_owned(),
    ]);
    let anybody = app.anonymous();
    let mut answers: Vec<(String, Answer)> = Vec::new();
    for value in sent {
        let answer = anybody.with_header("Authorization", &value).get(ME);
        answers.push((value, answer));
    }
    let twice = app.key(&good).with_header("Authorization", &format!("Bearer {good}")).get(ME);
    answers.push(("the field twice".to_owned(), twice));
    answers.push(("an ended session".to_owned(), session.get(ME)));
    answers.push(("an unknown session".to_owned(), anybody.with_header("Cookie", "appliance_session=abc").get(ME)));
    for (credential, answer) in answers {
        assert_eq!(answer.status, 401, "{credential}");
        assert_eq!(without_request_id(&answer), unauthorized(), "{credential}");
        assert_eq!(answer.header("www-authenticate"), Some(INVALID), "{credential}");
        assert_eq!(answer.header("set-cookie"), None, "{credential}");
    }
    app.key(&good).get(ME).expect(200);
}

fn the_bearer_scheme_is_case_insensitive() {
    let app = App::start();
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
        let value = format!("{scheme} {}", app.admin_secret());
        let who = app.anonymous().with_header("Authorization", &value).get(ME).expect(200).json();
        assert_eq!(who["user"]["id"], "user_admin", "{scheme}");
    }
    // The key itself is case-sensitive.
    app.key(&app.admin_secret().to_uppercase()).get(ME).refused(401, "unauthorized");
}

fn a_key_takes_precedence_over_a_session() {
    let app = App::start();
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), PASSWORD);
    let session = app.sign_in(&hiring.email("owner"), PASSWORD);
    let (id, secret) = app.make_key(&hiring.staff("member"));
    let who = session.with_header("Authorization", &format!("Bearer {secret}")).get(ME).expect(200).json();
    assert_eq!(who["user"]["id"], "user_1_member");
    assert_eq!((&who["auth"]["type"], &who["auth"]["keyId"]), (&json!("api_key"), &json!(id)));
    let ended = app.key(&secret).with_header("Cookie", "appliance_session=abc").get(ME).expect(200).json();
    assert_eq!(ended["auth"]["keyId"], id);
}

fn an_invalid_key_is_refused_even_with_a_valid_session() {
    let app = App::start();
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), PASSWORD);
    let session = app.sign_in(&hiring.email("owner"), PASSWORD);
    let unknown = KeySecret::generate(|bytes| bytes.fill(7)).reveal().to_owned();
    let values: [&str; 6] = [&format!("Bearer {unknown}"), "Bearer x", "Basic b3duZXI6eA==", "Bearer ä", "ä", ""];
    for value in values {
        let answer = session.with_header("Authorization", value).get(ME).refused(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), Some(INVALID), "{value}");
    }
    session.get(ME).expect(200);
}

fn the_session_cookie_is_found_among_other_cookies() {
    let app = App::start();
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), PASSWORD);
    let body = json!({ "email": hiring.email("owner"), "password": PASSWORD });
    let answer = app.anonymous().post("/api/auth/sign-in", &body).expect(200);
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap();
    for all in [format!("a=1; {cookie}"), format!("{cookie}; b=2"), format!("name=Jürgen; {cookie}; c=\"x\"")] {
        let who = app.anonymous().with_header("Cookie", &all).get(ME).expect(200).json();
        assert_eq!(who["user"]["id"], "user_1_owner", "{all}");
    }
}

fn a_key_expires_exactly_at_its_expiry() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "name": "n", "userId": hiring.staff("owner"), "expiresInDays": 1 });
    let client = app.key(&app.make_key_with(&body).1);
    app.pass(86_399);
    client.get(ME).expect(200);
    app.pass(1);
    client.get(ME).refused(401, "unauthorized");
}

fn a_changed_platform_role_takes_effect_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.user(&hiring.staff("owner"));
    let keys = "/api/admin/api-keys";
    client.get(keys).refused(403, "forbidden");
    app.change("UPDATE users SET platform_role = 'admin' WHERE id = 'user_1_owner'");
    assert_eq!(client.get(ME).expect(200).json()["user"]["role"], "admin");
    client.get(keys).expect(200);
    app.change("UPDATE users SET platform_role = 'user' WHERE id = 'user_1_owner'");
    assert_eq!(client.get(ME).expect(200).json()["user"]["role"], "user");
    client.get(keys).refused(403, "forbidden");
}

fn every_api_route_that_needs_a_credential_refuses_requests_without_one() {
    let app = App::start();
    let table = appliance::http::routes::table();
    let is_closed = |access: AccessRule| !matches!(access, AccessRule::Open | AccessRule::Staff);
    let closed: Vec<_> = table.routes().iter().filter(|route| is_closed(route.access)).collect();
    assert!(closed.len() >= 15);
    for route in closed {
        let (method, path) = (route.method.as_str(), fill_path(route.path));
        let answer = app.anonymous().send(method, &path, &[], b"").expect(401);
        assert_eq!(without_request_id(&answer), unauthorized(), "{method} {path}");
        assert_eq!(answer.header("www-authenticate"), Some(NOTHING), "{method} {path}");
        let answer = app.key("rpk_no").send(method, &path, &[], b"").expect(401);
        assert_eq!(without_request_id(&answer), unauthorized(), "{method} {path}");
        assert_eq!(answer.header("www-authenticate"), Some(INVALID), "{method} {path}");
    }
}

fn a_session_is_refused_where_a_key_is_needed() {
    let app = App::start();
    app.set_password("admin@appliance.example", PASSWORD);
    let session = app.sign_in("admin@appliance.example", PASSWORD).with_header("Sec-Fetch-Site", "same-origin");
    let keyed = |access: AccessRule| matches!(access, AccessRule::Admin(_) | AccessRule::Scoped(_));
    for route in appliance::http::routes::table().routes().iter().filter(|route| keyed(route.access)) {
        let (method, path) = (route.method.as_str(), fill_path(route.path));
        let answer = session.send(method, &path, &[], b"").expect(401);
        let mut expected = unauthorized();
        expected["detail"] = json!("this endpoint needs an API key; the session of a browser is not accepted here");
        assert_eq!(without_request_id(&answer), expected, "{method} {path}");
        assert_eq!(answer.header("www-authenticate"), Some(INVALID), "{method} {path}");
    }
    session.get(ME).expect(200);
}
