//! The rate limit: how many requests a key or the user of a session may send, the fields that report the limit, and the
//! requests that it does not cover.

use std::collections::BTreeSet;

use appliance::domain::api_key::KeySecret;
use appliance::http::server::access_rule::AccessRule;
use serde_json::json;

use crate::support::app::Options;
use crate::support::race::{Runner, race};
use crate::support::{Answer, App, Client, fill_path};

crate::tests![
    every_answer_to_an_authenticated_request_reports_the_remainder,
    the_default_limit_is_reported_as_documented,
    without_a_limit_nothing_is_reported_or_refused,
    a_full_bucket_allows_exactly_as_many_requests_as_the_limit,
    a_request_passes_after_the_reported_wait_but_not_before,
    the_reported_wait_is_rounded_up,
    a_refused_request_takes_nothing_from_the_bucket,
    the_bucket_refills_evenly,
    the_bucket_never_holds_more_than_a_minutes_requests,
    the_limit_does_not_depend_on_the_wall_clock,
    each_key_has_its_own_bucket,
    the_sessions_of_a_user_share_one_bucket,
    a_refused_request_is_not_in_the_usage_log,
    the_limit_is_checked_before_scope_body_and_resource,
    credentials_and_paths_are_checked_before_the_limit,
    every_api_route_that_needs_a_credential_is_limited,
    a_credential_of_the_wrong_kind_takes_nothing_from_the_bucket,
    sign_out_is_limited,
    exactly_the_allowed_number_of_concurrent_requests_passes,
    one_of_many_concurrent_requests_passes_when_one_is_left_in_the_bucket,
    requests_without_a_valid_credential_are_not_limited,
];

const ME: &str = "/api/v1/me";
const KEYS: &str = "/api/admin/api-keys";
const PASSWORD: &str = "correct horse battery";

fn limited(per_minute: u32) -> App {
    App::with(Options { per_minute: Some(per_minute), ..Options::default() })
}

/// Returns the fields `RateLimit-Policy` and `RateLimit` of an answer.
fn limit_fields(answer: &Answer) -> (Option<&str>, Option<&str>) {
    (answer.header("ratelimit-policy"), answer.header("ratelimit"))
}

/// Starts a service with this limit and returns it with the client of a new key. A minute has passed, so all buckets
/// are full.
fn with_full_bucket(per_minute: u32) -> (App, Client) {
    let app = limited(per_minute);
    let client = app.key(&app.make_key("user_admin").1);
    app.pass(60);
    (app, client)
}

/// Sends this many requests and returns how many of them pass.
fn passing(client: &Client, requests: usize) -> usize {
    let statuses: Vec<u16> = (0..requests).map(|_| client.get(ME).status).collect();
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    statuses.iter().filter(|status| **status == 200).count()
}

fn every_answer_to_an_authenticated_request_reports_the_remainder() {
    let app = limited(60);
    let hiring = app.hiring();
    let owner = app.user(&hiring.staff("owner"));
    let scopeless = json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": [] });
    let scopeless = app.key(&app.make_key_with(&scopeless).1);
    app.pass(60);
    let long = vec![b' '; 128 * 1_024 + 1];
    let (reject, json_type) = (hiring.reject(0), ("Content-Type", "application/json"));
    let send = |path: &str, body: &[u8]| owner.send("POST", path, &[json_type], body);
    let answers = [
        owner.get(ME).expect(200),
        owner.send("HEAD", ME, &[], b"").expect(200),
        owner.get(KEYS).expect(403),
        send("/api/v1/candidate-steps/none/reject", b"").expect(404),
        send(&reject, b"[]").expect(400),
        owner.send("POST", &reject, &[("Content-Type", "text/plain")], b"x").expect(415),
        send(&reject, &long).expect(413),
        send(&reject, b"").expect(200),
        send(&reject, b"").expect(409),
    ];
    for (answer, taken) in answers.iter().zip(1..) {
        let left = format!("\"default\";r={};t={taken}", 60 - taken);
        assert_eq!(limit_fields(answer), (Some("\"default\";q=60;w=60"), Some(left.as_str())));
    }
    let answer = scopeless.post_empty(&reject).refused(403, "insufficient_scope");
    assert_eq!(limit_fields(&answer), (Some("\"default\";q=60;w=60"), Some("\"default\";r=59;t=1")));
    let admin = app.admin();
    for (answer, left) in [
        (admin.post(KEYS, &json!({})).refused(400, "validation_error"), 59),
        (admin.get("/api/admin/api-keys/none/usage?limit=x").refused(400, "validation_error"), 58),
        (admin.delete("/api/admin/api-keys/none").refused(404, "not_found"), 57),
    ] {
        let left = format!("\"default\";r={left};t={}", 60 - left);
        assert_eq!(limit_fields(&answer), (Some("\"default\";q=60;w=60"), Some(left.as_str())));
    }
}

fn the_default_limit_is_reported_as_documented() {
    let (_app, client) = with_full_bucket(1_200);
    for left in (1_180..=1_199).rev() {
        let answer = client.get(ME).expect(200);
        let left = format!("\"default\";r={left};t=1");
        assert_eq!(limit_fields(&answer), (Some("\"default\";q=1200;w=60"), Some(left.as_str())));
    }
    assert_eq!(limit_fields(&client.get(ME)).1, Some("\"default\";r=1179;t=2"));
}

fn without_a_limit_nothing_is_reported_or_refused() {
    let app = App::with(Options { per_minute: None, ..Options::default() });
    let hiring = app.hiring();
    app.set_password(&hiring.email("owner"), PASSWORD);
    let session = app.sign_in(&hiring.email("owner"), PASSWORD);
    for client in [app.admin(), app.user(&hiring.staff("owner")), session] {
        for _ in 0..50 {
            let answer = client.get(ME).expect(200);
            assert_eq!(limit_fields(&answer), (None, None));
        }
    }
    assert_eq!(limit_fields(&app.admin().get("/api/admin/api-keys/none/usage").expect(404)), (None, None));
}

fn a_full_bucket_allows_exactly_as_many_requests_as_the_limit() {
    for per_minute in [1, 2, 3, 7, 60, 61] {
        let (_app, client) = with_full_bucket(per_minute);
        for taken in 1..=per_minute {
            let answer = client.get(ME).expect(200);
            let left = format!("\"default\";r={};", per_minute - taken);
            assert!(limit_fields(&answer).1.unwrap().starts_with(&left), "{:?}", limit_fields(&answer));
        }
        for _ in 0..3 {
            client.get(ME).refused(429, "rate_limited");
        }
    }
}

fn a_request_passes_after_the_reported_wait_but_not_before() {
    // The bucket regains a request every ten seconds.
    let (app, client) = with_full_bucket(6);
    assert_eq!(passing(&client, 6), 6);
    let answer = client.get(ME).refused(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), Some("10"));
    assert_eq!(limit_fields(&answer), (Some("\"default\";q=6;w=60"), Some("\"default\";r=0;t=60")));
    assert_eq!(answer.json()["detail"], "too many requests; try again in 10 s");
    app.pass(9);
    let answer = client.get(ME).refused(429, "rate_limited");
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(limit_fields(&answer).1, Some("\"default\";r=0;t=51"));
    app.pass(1);
    let answer = client.get(ME).expect(200);
    assert_eq!(limit_fields(&answer).1, Some("\"default\";r=0;t=60"));
    assert_eq!(answer.header("retry-after"), None);
    assert_eq!(client.get(ME).refused(429, "rate_limited").header("retry-after"), Some("10"));
}

fn the_reported_wait_is_rounded_up() {
    // With a limit of 7 requests a minute, the bucket regains a request every 60 / 7 = 8.57 seconds.
    for (per_minute, wait_s) in [(7, 9), (1_200, 1), (1, 60), (59, 2), (60, 1), (61, 1)] {
        let (app, client) = with_full_bucket(per_minute);
        assert_eq!(passing(&client, per_minute as usize), per_minute as usize);
        let answer = client.get(ME).refused(429, "rate_limited");
        assert_eq!(answer.header("retry-after"), Some(wait_s.to_string().as_str()), "{per_minute}");
        app.pass(wait_s - 1);
        client.get(ME).refused(429, "rate_limited");
        app.pass(1);
        client.get(ME).expect(200);
    }
}

fn a_refused_request_takes_nothing_from_the_bucket() {
    let (app, client) = with_full_bucket(6);
    assert_eq!(passing(&client, 100), 6);
    app.pass(10);
    assert_eq!(passing(&client, 100), 1);
    // Repeated refusals take nothing either.
    for _ in 0..9 {
        app.pass(1);
        assert_eq!(passing(&client, 10), 0);
    }
    app.pass(1);
    assert_eq!(passing(&client, 10), 1);
}

fn the_bucket_refills_evenly() {
    let (app, client) = with_full_bucket(6);
    assert_eq!(passing(&client, 7), 6);
    for (seconds, back) in [(10, 1), (30, 3), (25, 2), (5, 1), (59, 5), (1, 1), (60, 6)] {
        app.pass(seconds);
        assert_eq!(passing(&client, 8), back, "{seconds}");
    }
    // The reported remainder includes the refill: two requests are taken, one is regained, and one more is taken.
    app.pass(60);
    assert_eq!(passing(&client, 2), 2);
    app.pass(10);
    assert_eq!(limit_fields(&client.get(ME)).1, Some("\"default\";r=4;t=20"));
    app.pass(5);
    assert_eq!(limit_fields(&client.get(ME)).1, Some("\"default\";r=3;t=25"));
}

fn the_bucket_never_holds_more_than_a_minutes_requests() {
    let (app, client) = with_full_bucket(6);
    for seconds in [61, 3_600, 7 * 86_400] {
        app.pass(seconds);
        assert_eq!(passing(&client, 10), 6, "{seconds}");
    }
}

fn the_limit_does_not_depend_on_the_wall_clock() {
    let (app, client) = with_full_bucket(6);
    assert_eq!(passing(&client, 6), 6);
    for micros in [1_795_300_000_000_000, 1_700_000_000_000_000] {
        app.world.set(appliance::domain::timestamp::Timestamp::from_micros(micros));
        assert_eq!(client.get(ME).refused(429, "rate_limited").header("retry-after"), Some("10"));
    }
}

fn each_key_has_its_own_bucket() {
    let app = limited(6);
    let hiring = app.hiring();
    let [first, second] = [0, 1].map(|_| app.user(&hiring.staff("owner")));
    assert_eq!(passing(&first, 8), 6);
    assert_eq!(passing(&second, 8), 6);
    app.set_password(&hiring.email("owner"), PASSWORD);
    assert_eq!(passing(&app.sign_in(&hiring.email("owner"), PASSWORD), 8), 6);
    // The admin used two requests to create keys.
    assert_eq!(passing(&app.admin(), 8), 4);
}

fn the_sessions_of_a_user_share_one_bucket() {
    let app = limited(6);
    let hiring = app.hiring();
    for org_role in ["owner", "member"] {
        app.set_password(&hiring.email(org_role), PASSWORD);
    }
    let [first, second] = [0, 1].map(|_| app.sign_in(&hiring.email("owner"), PASSWORD));
    assert_eq!(passing(&first, 4), 4);
    assert_eq!(limit_fields(&second.get(ME).expect(200)), (Some("\"default\";q=6;w=60"), Some("\"default\";r=1;t=50")));
    assert_eq!(passing(&second, 4), 1);
    assert_eq!(first.get(ME).refused(429, "rate_limited").header("retry-after"), Some("10"));
    assert_eq!(passing(&app.sign_in(&hiring.email("owner"), PASSWORD), 1), 0);
    assert_eq!(passing(&app.sign_in(&hiring.email("member"), PASSWORD), 8), 6);
}

fn a_refused_request_is_not_in_the_usage_log() {
    let app = limited(3);
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    assert_eq!(passing(&client, 10), 3);
    app.pass(5);
    client.get(ME).refused(429, "rate_limited");
    let usage = app.admin().get(&format!("{KEYS}/{id}/usage")).expect(200).json()["data"].clone();
    assert_eq!(usage["rows"].as_array().unwrap().len(), 3);
    assert_eq!(usage["key"]["requestCount"], 3);
    assert_eq!(usage["key"]["lastRequest"], usage["rows"][0]["timestamp"]);
    assert!(usage["key"]["lastRequest"].as_str().unwrap() < "2026-11-21T09:00:01");
    app.pass(60);
    client.get(ME).expect(200);
    let usage = app.admin().get(&format!("{KEYS}/{id}/usage")).expect(200).json()["data"].clone();
    assert_eq!(usage["key"]["requestCount"], 4);
}

fn the_limit_is_checked_before_scope_body_and_resource() {
    let app = limited(4);
    let hiring = app.hiring();
    let scopeless = json!({ "name": "n", "userId": hiring.staff("member"), "scopes": [] });
    let (_, scopeless) = app.make_key_with(&scopeless);
    let member = app.user(&hiring.staff("member"));
    let scopeless = app.key(&scopeless);
    assert_eq!((passing(&member, 5), passing(&scopeless, 5), passing(&app.admin(), 5)), (4, 4, 2));
    let long = vec![b' '; 128 * 1_024 + 1];
    let refused = [
        member.get(KEYS),
        member.post_empty(&hiring.reject(0)),
        scopeless.post_empty(&hiring.reject(0)),
        member.send("POST", &hiring.reject(0), &[("Content-Type", "text/plain")], b"{"),
        member.send("POST", &hiring.reject(0), &[], &long),
        app.admin().post(KEYS, &json!({})),
        app.admin().get("/api/admin/api-keys/none/usage?limit=x"),
        app.admin().delete("/api/admin/api-keys/none"),
    ];
    for answer in refused {
        let answer = answer.refused(429, "rate_limited");
        assert_eq!(answer.header("retry-after"), Some("15"));
        assert_eq!(limit_fields(&answer), (Some("\"default\";q=4;w=60"), Some("\"default\";r=0;t=60")));
    }
    // None of the refused requests had an effect.
    app.pass(60);
    app.admin().post_empty(&hiring.reject(0)).expect(200);
}

fn credentials_and_paths_are_checked_before_the_limit() {
    let app = limited(2);
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    assert_eq!(passing(&client, 3), 2);
    client.get("/api/v1/nothing").refused(404, "not_found");
    client.delete(ME).refused(405, "method_not_allowed");
    client.get("/api/public/portal/nothing").refused(404, "not_found");
    app.admin().delete(&format!("{KEYS}/{id}")).expect(200);
    let answer = client.get(ME).refused(401, "unauthorized");
    assert_eq!(limit_fields(&answer), (None, None));
}

fn every_api_route_that_needs_a_credential_is_limited() {
    let app = limited(1);
    app.set_password("admin@appliance.example", PASSWORD);
    let session = app.sign_in("admin@appliance.example", PASSWORD);
    let key = app.admin();
    assert_eq!((passing(&key, 1), passing(&session, 1)), (1, 1));
    let table = appliance::http::routes::table();
    let is_closed = |access: AccessRule| !matches!(access, AccessRule::Open | AccessRule::Staff);
    let closed: Vec<_> = table.routes().iter().filter(|route| is_closed(route.access)).collect();
    assert!(closed.len() >= 15);
    for route in closed {
        let client = if route.access == AccessRule::Session { &session } else { &key };
        let answer = client.send(route.method.as_str(), &fill_path(route.path), &[], b"");
        let answer = answer.refused(429, "rate_limited");
        assert_eq!(answer.header("retry-after"), Some("60"), "{}", route.path);
        assert_eq!(
            limit_fields(&answer),
            (Some("\"default\";q=1;w=60"), Some("\"default\";r=0;t=60")),
            "{}",
            route.path
        );
    }
}

fn a_credential_of_the_wrong_kind_takes_nothing_from_the_bucket() {
    let app = limited(2);
    app.set_password("admin@appliance.example", PASSWORD);
    let session = app.sign_in("admin@appliance.example", PASSWORD);
    let table = appliance::http::routes::table();
    let for_keys =
        || table.routes().iter().filter(|route| matches!(route.access, AccessRule::Scoped(_) | AccessRule::Admin(_)));
    assert!(for_keys().count() >= 13);
    let refused = || {
        for route in for_keys() {
            let answer = session.send(route.method.as_str(), &fill_path(route.path), &[], b"");
            assert_eq!(limit_fields(&answer.refused(401, "unauthorized")), (None, None), "{}", route.path);
        }
    };
    refused();
    assert_eq!(passing(&session, 3), 2, "refused requests do not count against the limit");
    // With an empty bucket, the refusal is the same.
    refused();
    session.get(ME).refused(429, "rate_limited");
    // The same holds for a key on a route that needs a session.
    let sign_out = || app.admin().post_empty("/api/auth/sign-out").refused(401, "unauthorized");
    assert_eq!(limit_fields(&sign_out()), (None, None));
    assert_eq!(passing(&app.admin(), 3), 2);
    assert_eq!(limit_fields(&sign_out()), (None, None));
}

fn sign_out_is_limited() {
    let app = limited(1);
    app.set_password("admin@appliance.example", PASSWORD);
    let session = app.sign_in("admin@appliance.example", PASSWORD);
    let same = session.with_header("Sec-Fetch-Site", "same-origin");
    session.get(ME).expect(200);
    // A refused sign-out does not end the session.
    same.post_empty("/api/auth/sign-out").refused(429, "rate_limited");
    app.pass(60);
    session.get(ME).expect(200);
    app.pass(60);
    let answer = same.post_empty("/api/auth/sign-out").expect(204);
    assert_eq!(limit_fields(&answer), (Some("\"default\";q=1;w=60"), Some("\"default\";r=0;t=60")));
}

fn exactly_the_allowed_number_of_concurrent_requests_passes() {
    let app = limited(100);
    let (id, secret) = app.make_key("user_admin");
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let client = app.key(&secret);
            std::thread::spawn(move || (0..10).map(|_| client.get(ME)).collect::<Vec<Answer>>())
        })
        .collect();
    let answers: Vec<Answer> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let passed: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
    let refused = answers.iter().filter(|answer| answer.status == 429).count();
    assert_eq!((passed.len(), refused), (100, 60));
    // Each answer to a request that passed reports a different remainder.
    let left: BTreeSet<&str> = passed.iter().map(|answer| limit_fields(answer).1.unwrap()).collect();
    assert_eq!(left.len(), 100);
    let usage = app.admin().get(&format!("{KEYS}/{id}/usage")).expect(200).json();
    assert_eq!(usage["data"]["key"]["requestCount"], 100);
}

fn one_of_many_concurrent_requests_passes_when_one_is_left_in_the_bucket() {
    let app = limited(6);
    let hiring = app.hiring();
    let (_, secret) = app.make_key(&hiring.staff("owner"));
    assert_eq!(passing(&app.key(&secret), 5), 5);
    let runners = (0..16).map(|_| Runner::post(app.key(&secret), &hiring.reject(0))).collect();
    let mut statuses: Vec<u16> = race(runners).iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, [429; 15].as_slice()));
}

fn requests_without_a_valid_credential_are_not_limited() {
    let app = limited(1);
    let hiring = app.hiring();
    let unknown = KeySecret::generate(|bytes| bytes.fill(7)).reveal().to_owned();
    for _ in 0..5 {
        for client in [app.anonymous(), app.key("rpk_no"), app.key(&unknown)] {
            let answer = client.get(ME).refused(401, "unauthorized");
            assert_eq!(limit_fields(&answer), (None, None));
        }
        // Routes that need no credential do not check one.
        for client in [app.anonymous(), app.admin(), app.key("rpk_no")] {
            assert_eq!(limit_fields(&client.get(&hiring.portal()).expect(200)), (None, None));
            assert_eq!(limit_fields(&client.get("/healthz").expect(200)), (None, None));
        }
    }
    assert_eq!(passing(&app.admin(), 2), 1);
}
