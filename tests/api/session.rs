//! `POST /api/auth/sign-in` and `/api/auth/sign-out`: how a session starts, what it gives access to, when it ends, and
//! how long sign-ins wait after failures.

use std::collections::BTreeSet;
use std::time::Duration;

use appliance::http::server::access_rule::AccessRule;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::app::Options;
use crate::support::race::{Runner, race};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    signing_in_returns_the_same_answer_as_the_me_endpoint,
    the_cookie_is_http_only_and_lax,
    the_cookie_behind_https_is_secure_and_bound_to_its_host,
    each_cookie_has_256_new_random_bits,
    the_file_stores_only_the_digest_of_a_cookie,
    the_address_matches_ignoring_case_and_outer_spaces,
    a_password_is_compared_exactly,
    every_failed_sign_in_gets_the_same_answer,
    a_missing_or_blank_address_or_password_is_refused,
    a_body_that_is_not_a_json_object_is_a_bad_request,
    media_types_other_than_json_and_large_bodies_are_refused,
    signing_in_ignores_other_credentials,
    a_session_is_refused_on_routes_that_need_a_key,
    the_refusal_of_a_session_on_a_route_for_keys_does_not_show_whether_the_session_is_valid,
    an_admins_session_does_not_replace_a_key,
    a_key_takes_precedence_over_a_session_even_if_the_key_is_invalid,
    the_cookie_is_found_among_other_cookies,
    behind_https_only_the_host_bound_cookie_is_read,
    a_request_with_an_invalid_cookie_is_answered_with_401,
    a_session_has_the_users_current_platform_role,
    a_session_ends_after_thirty_minutes_without_use,
    using_a_session_extends_it,
    only_accepted_requests_extend_a_session,
    a_session_ends_twelve_hours_after_the_sign_in_despite_use,
    a_session_survives_a_restart,
    ended_sessions_are_deleted,
    signing_out_ends_the_session_and_removes_the_cookie,
    signing_out_does_not_end_other_sessions,
    a_sign_out_without_a_session_is_answered_with_401,
    a_sign_out_with_a_key_is_answered_with_401_and_writes_no_usage_row,
    signing_out_from_another_origin_is_forbidden,
    a_sign_out_behind_https_is_checked_against_the_public_origin,
    default_ports_are_not_part_of_an_origin,
    requests_with_a_repeated_origin_or_sec_fetch_site_are_forbidden,
    reading_with_a_session_needs_no_origin,
    signing_in_from_another_origin_is_forbidden,
    a_forbidden_sign_in_does_not_count_as_a_failure,
    requests_with_a_session_are_rate_limited,
    after_five_failures_each_failure_doubles_the_wait_of_an_account_up_to_15_minutes,
    a_wait_is_reported_in_whole_seconds_rounded_up,
    the_right_password_is_refused_during_the_wait_and_accepted_after_it,
    an_attempt_during_the_wait_does_not_lengthen_it,
    a_success_resets_the_failures,
    failures_expire_after_an_hour,
    an_account_waits_under_every_spelling_of_its_address,
    failures_for_one_account_do_not_make_another_account_wait,
    an_unknown_address_waits_like_a_known_one,
    an_invalid_request_does_not_count_as_a_failure,
    a_client_address_waits_after_fifty_failures,
    a_success_does_not_renew_the_wait_of_a_client_address,
    an_address_claimed_by_an_untrusted_client_is_ignored,
    only_five_of_many_concurrent_attempts_are_checked,
    after_a_password_change_the_users_sessions_and_old_password_are_refused,
];

const PASSWORD: &str = "correct horse battery";
const KEY_REQUIRED: &str = "this endpoint needs an API key; the session of a browser is not accepted here";
const NOT_VALID: &str = "this request needs a valid API key or session";
const SIGN_IN: &str = "/api/auth/sign-in";
const SIGN_OUT: &str = "/api/auth/sign-out";
const SAME_ORIGIN: (&str, &str) = ("Sec-Fetch-Site", "same-origin");

/// Starts a service in which the owner of an organization has a password.
fn start() -> (App, Hiring) {
    start_with(Options::default())
}

fn start_with(options: Options) -> (App, Hiring) {
    let app = App::with(options);
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), PASSWORD);
    (app, hiring)
}

fn attempt_sign_in(app: &App, email: &str, password: &str) -> Answer {
    app.anonymous().post(SIGN_IN, &json!({ "email": email, "password": password }))
}

/// Signs in as the owner.
fn session(app: &App, hiring: &Hiring) -> Client {
    app.sign_in(&hiring.email("owner"), PASSWORD)
}

fn sign_out(client: &Client) -> Answer {
    client.send("POST", SIGN_OUT, &[SAME_ORIGIN], b"")
}

fn cookie(answer: &Answer) -> String {
    let pair = answer.header("set-cookie").unwrap().split(';').next().unwrap();
    pair.split_once('=').unwrap().1.to_owned()
}

/// Makes `times` attempts to sign in with a wrong password, and asserts that none of them has to wait.
#[track_caller]
fn fail(app: &App, email: &str, times: usize) {
    for _ in 0..times {
        attempt_sign_in(app, email, "a wrong password").refused(401, "unauthorized");
    }
}

/// Attempts to sign in, asserts that the caller must wait, and returns the number of seconds to wait.
#[track_caller]
fn wait(app: &App, email: &str, password: &str) -> u64 {
    retry_after(&attempt_sign_in(app, email, password).refused(429, "rate_limited"))
}

fn retry_after(answer: &Answer) -> u64 {
    answer.header("retry-after").unwrap().parse().unwrap()
}

fn signing_in_returns_the_same_answer_as_the_me_endpoint() {
    let (app, hiring) = start();
    let answer = attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200);
    let user = json!({ "id": hiring.staff("owner"), "email": hiring.email("owner"), "role": "user" });
    assert_eq!(answer.json(), json!({ "user": user, "auth": { "type": "session" } }));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let me = session(&app, &hiring).get("/api/v1/me").expect(200);
    assert_eq!(me.body, answer.body);
}

fn the_cookie_is_http_only_and_lax() {
    let (app, hiring) = start();
    let answer = attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200);
    let value = cookie(&answer);
    let expected = format!("appliance_session={value}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax");
    assert_eq!(answer.header("set-cookie"), Some(expected.as_str()));
    let set = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    assert_eq!(set.count(), 1);
    assert!(!answer.text().contains(&value));
}

fn the_cookie_behind_https_is_secure_and_bound_to_its_host() {
    let base_url = Some("https://jobs.example.com".to_owned());
    let (app, hiring) = start_with(Options { base_url, ..Options::default() });
    let answer = attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200);
    let value = cookie(&answer);
    let expected = format!("__Host-appliance_session={value}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure");
    assert_eq!(answer.header("set-cookie"), Some(expected.as_str()));
    let client = app.anonymous().with_header("Cookie", &format!("__Host-appliance_session={value}"));
    client.get("/api/v1/me").expect(200);
    let gone = sign_out(&client).expect(204);
    let expected = "__Host-appliance_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure";
    assert_eq!(gone.header("set-cookie"), Some(expected));
}

fn each_cookie_has_256_new_random_bits() {
    let (app, hiring) = start();
    let cookies: BTreeSet<String> =
        (0..8).map(|_| cookie(&attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200))).collect();
    assert_eq!(cookies.len(), 8);
    for value in cookies {
        // The value has two halves of 128 bits. Each half is encoded in 26 characters of five bits.
        assert_eq!(value.len(), 52, "{value}");
        assert!(value.bytes().all(|byte| b"0123456789abcdefghjkmnpqrstvwxyz".contains(&byte)), "{value}");
    }
}

fn the_file_stores_only_the_digest_of_a_cookie() {
    let (app, hiring) = start();
    let value = cookie(&attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200));
    let digest: String = Sha256::digest(value.as_bytes()).iter().map(|byte| format!("{byte:02X}")).collect();
    let row = app.sql("SELECT hex(digest), user_id FROM sessions");
    assert_eq!(row, [format!("{digest}|{}", hiring.staff("owner"))]);
    app.stop();
    for secret in [value.as_str(), PASSWORD] {
        assert!(!app.stores(secret), "the database contains {secret}");
    }
}

fn the_address_matches_ignoring_case_and_outer_spaces() {
    let app = App::start();
    app.import(&json!({ "users": [{ "id": "user_oe", "email": "Jörg.Öl@Example.ORG", "name": "Jörg" }] }));
    app.set_password("jörg.öl@example.org", PASSWORD);
    for email in ["Jörg.Öl@Example.ORG", "jörg.öl@example.org", " JÖRG.ÖL@EXAMPLE.ORG\t\n"] {
        let answer = attempt_sign_in(&app, email, PASSWORD).expect(200).json();
        assert_eq!(answer["user"]["email"], "Jörg.Öl@Example.ORG", "{email:?}");
    }
    attempt_sign_in(&app, "jorg.ol@example.org", PASSWORD).refused(401, "unauthorized");
}

fn a_password_is_compared_exactly() {
    let (app, hiring) = start();
    let email = hiring.email("member");
    app.set_password(&email, " Pass wörd\u{0}🐎 ");
    attempt_sign_in(&app, &email, "Pass wörd\u{0}🐎").refused(401, "unauthorized");
    attempt_sign_in(&app, &email, " pass wörd\u{0}🐎 ").refused(401, "unauthorized");
    attempt_sign_in(&app, &email, " Pass wörd").refused(401, "unauthorized");
    attempt_sign_in(&app, &email, " Pass wörd\u{0}🐎 ").expect(200);
}

fn every_failed_sign_in_gets_the_same_answer() {
    let (app, hiring) = start();
    let refused = |email: &str, password: &str| {
        let answer = attempt_sign_in(&app, email, password).refused(401, "unauthorized");
        let challenge = "Bearer realm=\"appliance\", error=\"invalid_token\"";
        assert_eq!(answer.header("www-authenticate"), Some(challenge), "{email}");
        assert_eq!(answer.header("set-cookie"), None, "{email}");
        let mut body = answer.json();
        body["requestId"] = json!("");
        body
    };
    let wrong_password = refused(&hiring.email("owner"), "a wrong password");
    // The cases are an unknown address, a user without a password (also with `null` as the password), strings that are
    // not addresses, and a very long password.
    for (email, password) in [
        ("nobody@example.org", PASSWORD),
        (&hiring.email("member"), PASSWORD),
        (&hiring.email("member"), "null"),
        ("no address", PASSWORD),
        ("a@b@c", PASSWORD),
        (&"a".repeat(10_000), PASSWORD),
        (&hiring.email("owner"), &"a".repeat(100_000)),
    ] {
        assert_eq!(refused(email, password), wrong_password, "{email}");
    }
}

fn a_missing_or_blank_address_or_password_is_refused() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    for (body, fields) in [
        (json!({}), vec!["email", "password"]),
        (json!({ "email": null, "password": null }), vec!["email", "password"]),
        (json!({ "email": 5, "password": ["x"] }), vec!["email", "password"]),
        (json!({ "email": " ", "password": "" }), vec!["email", "password"]),
        (json!({ "email": email }), vec!["password"]),
        (json!({ "email": email, "password": 123_456_789_012_u64 }), vec!["password"]),
        (json!({ "password": PASSWORD }), vec!["email"]),
        (json!({ "email": { "$ne": "" }, "password": PASSWORD }), vec!["email"]),
    ] {
        assert_eq!(app.anonymous().post(SIGN_IN, &body).refused(400, "validation_error").fields(), fields, "{body}");
    }
    let nothing = app.anonymous().post_empty(SIGN_IN).refused(400, "validation_error");
    assert_eq!(nothing.fields(), ["email", "password"]);
}

fn a_body_that_is_not_a_json_object_is_a_bad_request() {
    let (app, _) = start();
    let repeated = br#"{"email":"a@b","password":"x","password":"y"}"#;
    let bodies: [&[u8]; 6] = [b"{", b"null", b"[]", b"email=a&password=b", repeated, b"{\"email\":\"\xff\"}"];
    for body in bodies {
        app.anonymous().send("POST", SIGN_IN, &[], body).refused(400, "bad_request");
    }
}

fn media_types_other_than_json_and_large_bodies_are_refused() {
    let (app, hiring) = start();
    let mut body = json!({ "email": hiring.email("owner"), "password": PASSWORD }).to_string().into_bytes();
    let send = |content_type: &str, body: &[u8]| {
        app.anonymous().send("POST", SIGN_IN, &[("Content-Type", content_type)], body)
    };
    // A form on another site can send these media types without a preflight.
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        send(content_type, &body).refused(415, "unsupported_media_type");
    }
    body.resize(128 * 1_024, b' ');
    send("application/json", &body).expect(200);
    body.push(b' ');
    send("application/json", &body).refused(413, "payload_too_large");
}

fn signing_in_ignores_other_credentials() {
    let (app, hiring) = start();
    let body = json!({ "email": hiring.email("owner"), "password": PASSWORD });
    app.key("rpk_wrong").post(SIGN_IN, &body).expect(200);
    app.admin().post(SIGN_IN, &body).expect(200);
    let first = session(&app, &hiring);
    // Signing in again starts a second session and does not end the first.
    let second = first.post(SIGN_IN, &body).expect(200);
    assert_eq!(second.json()["auth"]["type"], "session");
    first.get("/api/v1/me").expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM sessions"), ["4"]);
    assert_eq!(app.sql("SELECT count(*) FROM api_key_usage"), ["0"]);
}

fn a_session_is_refused_on_routes_that_need_a_key() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    client.get("/api/v1/me").expect(200);
    let mut checked = 0;
    for route in appliance::http::routes::table().routes() {
        if matches!(route.access, AccessRule::Scoped(_) | AccessRule::Admin(_)) {
            checked += 1;
            let path = route.path.replace("{id}", &hiring.candidates[0].steps[1]);
            let answer = client.send(route.method.as_str(), &path, &[SAME_ORIGIN], b"").refused(401, "unauthorized");
            let challenge = "Bearer realm=\"appliance\", error=\"invalid_token\"";
            assert_eq!(answer.header("www-authenticate"), Some(challenge), "{path}");
            assert_eq!(answer.json()["detail"], KEY_REQUIRED, "{path}");
            client.send(route.method.as_str(), &path, &[], b"").refused(401, "unauthorized");
        }
    }
    assert!(checked >= 13);
    sign_out(&client).expect(204);
}

fn the_refusal_of_a_session_on_a_route_for_keys_does_not_show_whether_the_session_is_valid() {
    let (app, hiring) = start();
    let valid = session(&app, &hiring);
    let ended = session(&app, &hiring);
    sign_out(&ended).expect(204);
    let unknown = app.anonymous().with_header("Cookie", "appliance_session=abc");
    for client in [valid, ended, unknown] {
        let problem = client.get("/api/admin/api-keys").refused(401, "unauthorized").json();
        assert_eq!(problem["detail"], KEY_REQUIRED);
        let problem = client.with_header("Authorization", "Bearer rpk_wrong").get("/api/admin/api-keys");
        assert_eq!(problem.refused(401, "unauthorized").json()["detail"], NOT_VALID);
    }
    assert_eq!(app.anonymous().get("/api/admin/api-keys").refused(401, "unauthorized").json()["detail"], NOT_VALID);
}

fn an_admins_session_does_not_replace_a_key() {
    let app = App::start();
    app.set_password("admin@appliance.example", PASSWORD);
    let client = app.sign_in("admin@appliance.example", PASSWORD);
    let me = client.get("/api/v1/me").expect(200).json();
    let user = json!({ "id": "user_admin", "email": "admin@appliance.example", "role": "admin" });
    assert_eq!(me, json!({ "user": user, "auth": { "type": "session" } }));
    client.get("/api/admin/api-keys").refused(401, "unauthorized");
}

fn a_key_takes_precedence_over_a_session_even_if_the_key_is_invalid() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    let both = client.with_header("Authorization", &format!("Bearer {}", app.admin_secret()));
    let me = both.get("/api/v1/me").expect(200).json();
    assert_eq!((&me["user"]["id"], &me["auth"]["type"]), (&json!("user_admin"), &json!("api_key")));
    for value in ["Bearer rpk_wrong", "Bearer", "Basic eDp5", "appliance_session"] {
        client.with_header("Authorization", value).get("/api/v1/me").refused(401, "unauthorized");
    }
    sign_out(&both).refused(401, "unauthorized");
    client.get("/api/v1/me").expect(200);
}

fn the_cookie_is_found_among_other_cookies() {
    let (app, hiring) = start();
    let value = cookie(&attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200));
    for line in [
        format!("a=b; appliance_session={value}; c=d"),
        format!("appliance_session={value};theme=dark"),
        format!("xappliance_session=wrong; appliance_session={value}"),
    ] {
        app.anonymous().with_header("Cookie", &line).get("/api/v1/me").expect(200);
    }
    let two_fields =
        app.anonymous().with_header("Cookie", "a=b").with_header("Cookie", &format!("appliance_session={value}"));
    two_fields.get("/api/v1/me").expect(200);
}

fn behind_https_only_the_host_bound_cookie_is_read() {
    let base_url = Some("https://jobs.example.com".to_owned());
    let (app, hiring) = start_with(Options { base_url, ..Options::default() });
    app.set_password(&hiring.email("member"), PASSWORD);
    let own = cookie(&attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200));
    let planted = cookie(&attempt_sign_in(&app, &hiring.email("member"), PASSWORD).expect(200));
    let me = |line: &str| app.anonymous().with_header("Cookie", line).get("/api/v1/me");
    // A neighbouring host can set a cookie with the plain name. Browsers prevent that host from setting the
    // host-bound name.
    for value in [&own, &planted] {
        me(&format!("appliance_session={value}")).refused(401, "unauthorized");
    }
    for line in [
        format!("appliance_session={planted}; __Host-appliance_session={own}"),
        format!("__Host-appliance_session={own}; appliance_session={planted}"),
        format!("appliance_session=; __Host-appliance_session={own}"),
        // A comma does not separate cookies, so this text is part of a value that a neighbouring host can set.
        format!("theme=1,__Host-appliance_session={planted}; __Host-appliance_session={own}"),
    ] {
        assert_eq!(me(&line).expect(200).json()["user"]["id"], hiring.staff("owner"), "{line}");
    }
    me(&format!("theme=1,__Host-appliance_session={planted}")).refused(401, "unauthorized");
    let two_fields = app.anonymous().with_header("Cookie", &format!("appliance_session={planted}"));
    let two_fields = two_fields.with_header("Cookie", &format!("__Host-appliance_session={own}"));
    assert_eq!(two_fields.get("/api/v1/me").expect(200).json()["user"]["id"], hiring.staff("owner"));
    sign_out(&two_fields).expect(204);
    assert_eq!(app.sql("SELECT user_id FROM sessions"), [hiring.staff("member")]);
    // Without HTTPS, the service reads only the plain name.
    let (app, hiring) = start();
    let value = cookie(&attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200));
    let host = app.anonymous().with_header("Cookie", &format!("__Host-appliance_session={value}"));
    host.get("/api/v1/me").refused(401, "unauthorized");
}

fn a_request_with_an_invalid_cookie_is_answered_with_401() {
    let (app, hiring) = start();
    let value = cookie(&attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200));
    let digest = app.sql("SELECT lower(hex(digest)) FROM sessions")[0].clone();
    for line in [
        "appliance_session=".to_owned(),
        "appliance_session".to_owned(),
        "appliance_session=wrong".to_owned(),
        format!("appliance_session={}", value.to_uppercase()),
        format!("appliance_session={}", &value[..51]),
        format!("appliance_session={digest}"),
        format!("APPLIANCE_SESSION={value}"),
        format!("session={value}"),
    ] {
        app.anonymous().with_header("Cookie", &line).get("/api/v1/me").refused(401, "unauthorized");
    }
    app.anonymous()
        .with_header("Authorization", &format!("Bearer {value}"))
        .get("/api/v1/me")
        .refused(401, "unauthorized");
}

fn a_session_has_the_users_current_platform_role() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    let role = || client.get("/api/v1/me").expect(200).json()["user"]["role"].clone();
    assert_eq!(role(), "user");
    app.change(&format!("UPDATE users SET platform_role = 'admin' WHERE id = '{}'", hiring.staff("owner")));
    assert_eq!(role(), "admin");
    app.change(&format!("UPDATE users SET platform_role = 'user' WHERE id = '{}'", hiring.staff("owner")));
    assert_eq!(role(), "user");
}

fn a_session_ends_after_thirty_minutes_without_use() {
    let (app, hiring) = start();
    let (used, unused) = (session(&app, &hiring), session(&app, &hiring));
    app.world.pass(Duration::from_secs(30 * 60) - Duration::from_micros(1));
    used.get("/api/v1/me").expect(200);
    app.world.pass(Duration::from_micros(1));
    unused.get("/api/v1/me").refused(401, "unauthorized");
    sign_out(&unused).refused(401, "unauthorized");
    used.get("/api/v1/me").expect(200);
}

fn using_a_session_extends_it() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    for _ in 0..3 {
        app.pass(30 * 60 - 1);
        client.get("/api/v1/me").expect(200);
    }
    app.pass(30 * 60);
    client.get("/api/v1/me").refused(401, "unauthorized");
}

fn only_accepted_requests_extend_a_session() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    app.pass(1_000);
    client.get(&hiring.portal()).expect(200);
    client.get("/api/admin/api-keys").refused(401, "unauthorized");
    client.send("POST", SIGN_OUT, &[], b"").refused(403, "forbidden");
    app.pass(800);
    client.get("/api/v1/me").refused(401, "unauthorized");
}

fn a_session_ends_twelve_hours_after_the_sign_in_despite_use() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    for _ in 0..24 {
        app.pass(1_799);
        client.get("/api/v1/me").expect(200);
    }
    app.pass(12 * 3_600 - 24 * 1_799 - 1);
    client.get("/api/v1/me").expect(200);
    app.pass(1);
    client.get("/api/v1/me").refused(401, "unauthorized");
    attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200);
    client.get("/api/v1/me").refused(401, "unauthorized");
}

fn a_session_survives_a_restart() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    app.pass(1_000);
    client.get("/api/v1/me").expect(200);
    app.stop();
    app.start_again();
    app.pass(1_799);
    client.get("/api/v1/me").expect(200);
    app.pass(1_800);
    client.get("/api/v1/me").refused(401, "unauthorized");
}

fn ended_sessions_are_deleted() {
    let (app, hiring) = start();
    session(&app, &hiring);
    session(&app, &hiring);
    app.pass(1_799);
    session(&app, &hiring);
    assert_eq!(app.sql("SELECT count(*) FROM sessions"), ["3"]);
    app.pass(1);
    session(&app, &hiring);
    assert_eq!(app.sql("SELECT count(*) FROM sessions"), ["2"]);
}

fn signing_out_ends_the_session_and_removes_the_cookie() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    let answer = sign_out(&client).expect(204);
    let expected = "appliance_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax";
    assert_eq!(answer.header("set-cookie"), Some(expected));
    assert!(answer.body.is_empty());
    client.get("/api/v1/me").refused(401, "unauthorized");
    sign_out(&client).refused(401, "unauthorized");
    assert_eq!(app.sql("SELECT count(*) FROM sessions"), ["0"]);
}

fn signing_out_does_not_end_other_sessions() {
    let (app, hiring) = start();
    let (here, there) = (session(&app, &hiring), session(&app, &hiring));
    sign_out(&here).expect(204);
    here.get("/api/v1/me").refused(401, "unauthorized");
    there.get("/api/v1/me").expect(200);
}

fn a_sign_out_without_a_session_is_answered_with_401() {
    let (app, _) = start();
    let answer = sign_out(&app.anonymous()).refused(401, "unauthorized");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"appliance\""));
    assert_eq!(answer.header("set-cookie"), None);
    let wrong = app.anonymous().with_header("Cookie", "appliance_session=wrong");
    sign_out(&wrong).refused(401, "unauthorized");
}

fn a_sign_out_with_a_key_is_answered_with_401_and_writes_no_usage_row() {
    let (app, hiring) = start();
    session(&app, &hiring);
    sign_out(&app.admin()).refused(401, "unauthorized");
    app.admin().post_empty(SIGN_OUT).refused(401, "unauthorized");
    assert_eq!(app.sql("SELECT count(*) FROM api_key_usage"), ["0"]);
    assert_eq!(app.sql("SELECT count(*) FROM sessions"), ["1"]);
}

fn signing_out_from_another_origin_is_forbidden() {
    let (app, hiring) = start();
    let own = format!("http://{}", app.address);
    let (other_port, secure) = (format!("http://{}:1", app.address.ip()), format!("https://{}", app.address));
    let attempt = |headers: &[(&str, &str)]| {
        let client = session(&app, &hiring);
        let answer = client.send("POST", SIGN_OUT, headers, b"");
        let alive = client.get("/api/v1/me").status == 200;
        assert_eq!(alive, answer.status == 403, "{headers:?}");
        if answer.status == 204 { true } else { answer.refused(403, "forbidden").status == 204 }
    };
    assert!(attempt(&[SAME_ORIGIN]));
    assert!(attempt(&[("Origin", &own)]));
    assert!(attempt(&[SAME_ORIGIN, ("Origin", "https://evil.example")]), "Sec-Fetch-Site decides");
    for site in ["cross-site", "same-site", "none", "", "Same-Origin"] {
        assert!(!attempt(&[("Sec-Fetch-Site", site)]), "{site}");
        assert!(!attempt(&[("Sec-Fetch-Site", site), ("Origin", &own)]), "{site} with the service's own origin");
    }
    for origin in
        ["https://evil.example", "null", "", &other_port, &secure, &format!("{own}/"), &format!("{own}.evil.example")]
    {
        assert!(!attempt(&[("Origin", origin)]), "{origin}");
    }
    assert!(!attempt(&[]), "a request without an origin is forbidden");
}

fn a_sign_out_behind_https_is_checked_against_the_public_origin() {
    let base_url = Some("https://jobs.example.com".to_owned());
    let (app, hiring) = start_with(Options { base_url, ..Options::default() });
    for (origin, status) in [
        ("https://jobs.example.com", 204),
        ("http://jobs.example.com", 403),
        ("https://jobs.example.com:444", 403),
        ("https://example.com", 403),
    ] {
        let client = session(&app, &hiring);
        client.send("POST", SIGN_OUT, &[("Origin", origin)], b"").expect(status);
    }
}

fn default_ports_are_not_part_of_an_origin() {
    for (base_url, own, other) in [
        ("https://jobs.example.com:443", "https://jobs.example.com", "https://jobs.example.com:80"),
        ("http://jobs.example.com:80", "http://jobs.example.com", "http://jobs.example.com:443"),
        ("https://jobs.example.com:8443", "https://jobs.example.com:8443", "https://jobs.example.com"),
    ] {
        let (app, hiring) = start_with(Options { base_url: Some(base_url.to_owned()), ..Options::default() });
        let body = json!({ "email": hiring.email("owner"), "password": PASSWORD });
        let signed = app.anonymous().with_header("Origin", own).post(SIGN_IN, &body).expect(200);
        let pair = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let client = app.anonymous().with_header("Cookie", &pair);
        client.send("POST", SIGN_OUT, &[("Origin", other)], b"").refused(403, "forbidden");
        client.send("POST", SIGN_OUT, &[("Origin", own)], b"").expect(204);
        app.anonymous().with_header("Origin", other).post(SIGN_IN, &body).refused(403, "forbidden");
    }
}

fn requests_with_a_repeated_origin_or_sec_fetch_site_are_forbidden() {
    let (app, hiring) = start();
    let own = format!("http://{}", app.address);
    let body = json!({ "email": hiring.email("owner"), "password": PASSWORD }).to_string();
    let client = session(&app, &hiring);
    for headers in [
        [("Origin", own.as_str()), ("Origin", "https://evil.example")],
        [("Origin", "https://evil.example"), ("Origin", &own)],
        [("Origin", &own), ("Origin", &own)],
        [SAME_ORIGIN, ("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "cross-site"), SAME_ORIGIN],
        [SAME_ORIGIN, SAME_ORIGIN],
    ] {
        client.send("POST", SIGN_OUT, &headers, b"").refused(403, "forbidden");
        app.anonymous().send("POST", SIGN_IN, &headers, body.as_bytes()).refused(403, "forbidden");
    }
    client.get("/api/v1/me").expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM sessions"), ["1"]);
}

fn reading_with_a_session_needs_no_origin() {
    let (app, hiring) = start();
    let client = session(&app, &hiring);
    client.get("/api/v1/me").expect(200);
    client.send("GET", "/api/v1/me", &[("Sec-Fetch-Site", "cross-site")], b"").expect(200);
    client.send("HEAD", "/api/v1/me", &[("Origin", "https://evil.example")], b"").expect(200);
}

fn signing_in_from_another_origin_is_forbidden() {
    let (app, hiring) = start();
    let own = format!("http://{}", app.address);
    let body = json!({ "email": hiring.email("owner"), "password": PASSWORD }).to_string();
    let status = |headers: &[(&str, &str)]| {
        let answer = app.anonymous().send("POST", SIGN_IN, headers, body.as_bytes());
        assert_eq!(answer.header("set-cookie").is_some(), answer.status == 200, "{headers:?}");
        if answer.status == 403 { answer.refused(403, "forbidden").status } else { answer.status }
    };
    assert_eq!(status(&[]), 200);
    assert_eq!(status(&[SAME_ORIGIN]), 200);
    assert_eq!(status(&[("Origin", &own)]), 200);
    for site in ["cross-site", "same-site", "none"] {
        assert_eq!(status(&[("Sec-Fetch-Site", site)]), 403, "{site}");
    }
    for origin in ["https://evil.example", "null", &format!("{own}0")] {
        assert_eq!(status(&[("Origin", origin)]), 403, "{origin}");
    }
    let undecodable = app.anonymous().raw_to_end(
        format!("POST {SIGN_IN} HTTP/1.1\r\nHost: a\r\nOrigin: \u{e4}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .as_bytes(),
    );
    assert!(undecodable.starts_with(b"HTTP/1.1 403 "), "{}", String::from_utf8_lossy(&undecodable));
}

fn a_forbidden_sign_in_does_not_count_as_a_failure() {
    let (app, hiring) = start();
    let body = json!({ "email": hiring.email("owner"), "password": "a wrong password" });
    let foreign = app.anonymous().with_header("Origin", "https://evil.example");
    for _ in 0..10 {
        foreign.post(SIGN_IN, &body).refused(403, "forbidden");
    }
    attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200);
}

fn requests_with_a_session_are_rate_limited() {
    let (app, hiring) = start_with(Options { per_minute: Some(2), ..Options::default() });
    let (first, second) = (session(&app, &hiring), session(&app, &hiring));
    let answer = first.get("/api/v1/me").expect(200);
    assert_eq!(answer.header("ratelimit-policy"), Some("\"default\";q=2;w=60"));
    assert_eq!(answer.header("ratelimit"), Some("\"default\";r=1;t=30"));
    // The limit applies to the user, not to each session.
    second.get("/api/v1/me").expect(200);
    let limited = sign_out(&first).refused(429, "rate_limited");
    assert_eq!(retry_after(&limited), 30);
    app.pass(29);
    sign_out(&first).refused(429, "rate_limited");
    app.pass(1);
    sign_out(&first).expect(204);
}

fn after_five_failures_each_failure_doubles_the_wait_of_an_account_up_to_15_minutes() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    fail(&app, &email, 5);
    for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] {
        assert_eq!(wait(&app, &email, "a wrong password"), seconds);
        app.world.pass(Duration::from_secs(seconds) - Duration::from_micros(1));
        assert_eq!(wait(&app, &email, "a wrong password"), 1, "a microsecond before {seconds} s are over");
        app.world.pass(Duration::from_micros(1));
        fail(&app, &email, 1);
    }
}

fn a_wait_is_reported_in_whole_seconds_rounded_up() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    fail(&app, &email, 5);
    app.pass(1);
    fail(&app, &email, 1);
    app.pass(2);
    fail(&app, &email, 1);
    assert_eq!(wait(&app, &email, PASSWORD), 4);
    app.world.pass(Duration::from_micros(1));
    assert_eq!(wait(&app, &email, PASSWORD), 4);
    app.world.pass(Duration::from_micros(999_999));
    assert_eq!(wait(&app, &email, PASSWORD), 3);
    app.pass(3);
    attempt_sign_in(&app, &email, PASSWORD).expect(200);
}

fn the_right_password_is_refused_during_the_wait_and_accepted_after_it() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    fail(&app, &email, 5);
    let answer = attempt_sign_in(&app, &email, PASSWORD).refused(429, "rate_limited");
    assert_eq!((retry_after(&answer), answer.header("set-cookie")), (1, None));
    app.pass(1);
    attempt_sign_in(&app, &email, PASSWORD).expect(200);
}

fn an_attempt_during_the_wait_does_not_lengthen_it() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    fail(&app, &email, 5);
    app.pass(1);
    fail(&app, &email, 1);
    for _ in 0..20 {
        assert_eq!(wait(&app, &email, "a wrong password"), 2);
    }
    app.pass(2);
    attempt_sign_in(&app, &email, PASSWORD).expect(200);
}

fn a_success_resets_the_failures() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    fail(&app, &email, 4);
    attempt_sign_in(&app, &email, PASSWORD).expect(200);
    fail(&app, &email, 5);
    assert_eq!(wait(&app, &email, PASSWORD), 1);
    app.pass(1);
    attempt_sign_in(&app, &email, PASSWORD).expect(200);
    fail(&app, &email, 5);
    assert_eq!(wait(&app, &email, PASSWORD), 1);
}

fn failures_expire_after_an_hour() {
    let (app, hiring) = start();
    let (owner, member) = (hiring.email("owner"), hiring.email("member"));
    fail(&app, &owner, 5);
    fail(&app, &member, 5);
    app.pass(3_599);
    fail(&app, &owner, 1);
    assert_eq!(wait(&app, &owner, PASSWORD), 2, "the wait after the sixth failure within an hour");
    app.pass(1);
    fail(&app, &member, 5);
    assert_eq!(wait(&app, &member, PASSWORD), 1, "after an hour the count starts over");
}

fn an_account_waits_under_every_spelling_of_its_address() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    for spelling in [&email, &email.to_uppercase(), &format!(" {email}"), &format!("{email}\n"), &email] {
        fail(&app, spelling, 1);
    }
    assert_eq!(wait(&app, &format!("\t{}", email.to_uppercase()), PASSWORD), 1);
}

fn failures_for_one_account_do_not_make_another_account_wait() {
    let (app, hiring) = start();
    fail(&app, &hiring.email("member"), 5);
    wait(&app, &hiring.email("member"), PASSWORD);
    attempt_sign_in(&app, &hiring.email("owner"), PASSWORD).expect(200);
}

fn an_unknown_address_waits_like_a_known_one() {
    let (app, hiring) = start();
    for email in ["nobody@example.org", &hiring.email("member"), "no address", &"x".repeat(1_000)] {
        fail(&app, email, 5);
        for seconds in [1, 2, 4] {
            assert_eq!(wait(&app, email, PASSWORD), seconds, "{email}");
            app.pass(seconds);
            fail(&app, email, 1);
        }
    }
}

fn an_invalid_request_does_not_count_as_a_failure() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    for _ in 0..10 {
        app.anonymous().post(SIGN_IN, &json!({ "email": email })).refused(400, "validation_error");
        app.anonymous().send("POST", SIGN_IN, &[], b"{").refused(400, "bad_request");
    }
    fail(&app, &email, 4);
    attempt_sign_in(&app, &email, PASSWORD).expect(200);
}

fn a_client_address_waits_after_fifty_failures() {
    let (app, hiring) = start_with(Options { trusted_proxies: vec!["127.0.0.0/8"], ..Options::default() });
    let from = |address: &str, email: &str, password: &str| {
        let client = app.anonymous().with_header("X-Forwarded-For", address);
        client.post(SIGN_IN, &json!({ "email": email, "password": password }))
    };
    for number in 0..50 {
        from("203.0.113.9", &format!("{number}@example.org"), "a wrong password").refused(401, "unauthorized");
    }
    for seconds in [1, 2, 4] {
        let answer = from("203.0.113.9", &hiring.email("owner"), PASSWORD).refused(429, "rate_limited");
        assert_eq!(retry_after(&answer), seconds);
        from("203.0.113.10", &hiring.email("owner"), PASSWORD).expect(200);
        app.pass(seconds);
        from("203.0.113.9", &format!("more-{seconds}@example.org"), "a wrong password").refused(401, "unauthorized");
    }
    app.pass(8);
    from("203.0.113.9", &hiring.email("owner"), PASSWORD).expect(200);
}

fn a_success_does_not_renew_the_wait_of_a_client_address() {
    let (app, hiring) = start();
    let email = hiring.email("owner");
    let nobody = |number: usize| format!("{number}@example.org");
    (0..50).for_each(|number| fail(&app, &nobody(number), 1));
    for (number, seconds) in [1, 2, 4, 8].into_iter().enumerate() {
        assert_eq!(wait(&app, &email, PASSWORD), seconds);
        app.pass(seconds);
        // After the wait, several sign-ins from this client address succeed one after the other.
        for _ in 0..3 {
            attempt_sign_in(&app, &email, PASSWORD).expect(200);
        }
        // The failures of the client address are still counted, so the next failure doubles the wait.
        fail(&app, &nobody(50 + number), 1);
    }
    assert_eq!(wait(&app, &email, PASSWORD), 16);
}

fn an_address_claimed_by_an_untrusted_client_is_ignored() {
    let (app, hiring) = start();
    for number in 0..50 {
        let claimed = app.anonymous().with_header("X-Forwarded-For", &format!("203.0.113.{number}"));
        let body = json!({ "email": format!("{number}@example.org"), "password": "a wrong password" });
        claimed.post(SIGN_IN, &body).refused(401, "unauthorized");
    }
    assert_eq!(wait(&app, &hiring.email("owner"), PASSWORD), 1);
}

fn only_five_of_many_concurrent_attempts_are_checked() {
    let (app, hiring) = start();
    let body = json!({ "email": hiring.email("owner"), "password": "a wrong password" }).to_string();
    let runner = || Runner { client: app.anonymous(), method: "POST", path: SIGN_IN.to_owned(), body: body.clone() };
    let answers = race((0..20).map(|_| runner()).collect());
    let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((count(401), count(429)), (5, 15));
    let answer: Vec<Value> =
        answers.iter().filter(|answer| answer.status == 429).map(|answer| json!(retry_after(answer))).collect();
    assert_eq!(answer, vec![json!(1); 15]);
}

fn after_a_password_change_the_users_sessions_and_old_password_are_refused() {
    let (app, hiring) = start();
    app.set_password(&hiring.email("member"), PASSWORD);
    let email = hiring.email("owner");
    let (first, second) = (session(&app, &hiring), session(&app, &hiring));
    let member = app.sign_in(&hiring.email("member"), PASSWORD);
    app.set_password(&email, "another horse battery");
    first.get("/api/v1/me").refused(401, "unauthorized");
    sign_out(&second).refused(401, "unauthorized");
    member.get("/api/v1/me").expect(200);
    attempt_sign_in(&app, &email, PASSWORD).refused(401, "unauthorized");
    attempt_sign_in(&app, &email, "another horse battery").expect(200);
}
