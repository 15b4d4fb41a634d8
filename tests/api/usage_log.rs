//! The usage log: the requests of a key that have a usage row, the contents of a row, and the guarantee that no row
//! is lost.

use std::collections::BTreeSet;

use appliance::domain::id;
use appliance::domain::timestamp::{Rounding, Timestamp};
use serde_json::{Value, json};

use crate::support::app::Options;
use crate::support::{App, Client};

crate::tests![
    accepted_and_refused_decisions_have_a_usage_row,
    accepted_and_refused_admin_requests_have_a_usage_row,
    a_request_not_authenticated_by_a_key_has_no_row,
    a_request_with_a_session_has_no_row,
    a_row_belongs_to_the_key_that_was_sent,
    the_path_is_logged_undecoded_without_its_query,
    a_secret_in_a_path_is_not_stored,
    a_head_request_is_logged_as_head,
    the_logged_address_is_the_peers_or_comes_from_a_trusted_proxy,
    forwarded_addresses_are_ignored_without_trusted_proxies,
    a_user_agent_is_truncated_to_512_characters,
    a_missing_user_agent_is_logged_as_empty,
    a_row_is_committed_before_its_answer,
    the_count_is_exact_and_the_last_request_is_the_newest_row,
    times_increase_while_the_clock_is_stopped,
    times_increase_when_the_clock_steps_back,
    times_follow_a_clock_that_advances,
    rows_survive_a_restart,
    times_increase_across_a_restart,
    concurrent_requests_of_one_key_each_have_a_row,
    concurrent_requests_of_many_keys_are_logged_separately,
];

const ME: &str = "/api/v1/me";
const KEYS: &str = "/api/admin/api-keys";
const REJECT: &str = "/api/v1/candidate-steps/{id}/reject";
const HIRE: &str = "/api/v1/candidate-steps/{id}/hire";
const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Returns a key's usage log, as the admin sees it.
fn log(app: &App, id: &str) -> Value {
    app.admin().get(&format!("{KEYS}/{id}/usage?limit=500")).expect(200).json()["data"].clone()
}

/// Returns the rows of a key, oldest first.
fn rows(app: &App, id: &str) -> Vec<Value> {
    let mut rows = log(app, id)["rows"].as_array().unwrap().clone();
    rows.reverse();
    rows
}

/// Returns one field of each row, oldest first.
fn column(app: &App, id: &str, field: &str) -> Vec<String> {
    rows(app, id).iter().map(|row| row[field].as_str().unwrap().to_owned()).collect()
}

/// Returns the number of requests of a key, according to the list of keys.
fn request_count(app: &App, id: &str) -> Value {
    let all = app.admin().get(KEYS).expect(200).json();
    all["data"].as_array().unwrap().iter().find(|key| key["id"] == id).unwrap()["requestCount"].clone()
}

/// Sends each request, checks its answer, and then checks that the key has one row for each request, in order.
fn assert_each_has_a_row(app: &App, (id, secret): &(String, String), requests: &[LoggedRequest<'_>]) {
    let client = app.key(secret);
    let mut expected = Vec::new();
    for request in requests {
        let answer = client.send(request.method, &request.path, &[request.media_type], request.body);
        let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
        assert_eq!((answer.status, code.as_str()), request.answer, "{} {}", request.method, request.path);
        expected.push(json!([request.method, request.path, request.route]));
    }
    let rows = rows(app, id);
    let found: Vec<Value> = rows.iter().map(|row| json!([row["method"], row["path"], row["authEndpoint"]])).collect();
    assert_eq!(found, expected);
    assert_eq!(request_count(app, id), requests.len());
}

/// A request with its route and its expected answer.
struct LoggedRequest<'a> {
    method: &'static str,
    path: String,
    route: &'static str,
    media_type: (&'static str, &'static str),
    body: &'a [u8],
    answer: (u16, &'static str),
}

impl<'a> LoggedRequest<'a> {
    fn new(method: &'static str, path: &str, route: &'static str, body: &'a [u8], answer: (u16, &'static str)) -> Self {
        Self { method, path: path.to_owned(), route, media_type: JSON, body, answer }
    }

    fn of_type(mut self, media_type: &'static str) -> Self {
        self.media_type.1 = media_type;
        self
    }
}

fn accepted_and_refused_decisions_have_a_usage_row() {
    let app = App::start();
    let hiring = app.hiring();
    let long = vec![b' '; 128 * 1_024 + 1];
    let (reject, hire) = (hiring.reject(0), hiring.hire(1));
    let post = |path: &str, route, body, answer| LoggedRequest::new("POST", path, route, body, answer);
    let requests = [
        LoggedRequest::new("GET", ME, ME, b"", (200, "")),
        post(&reject, REJECT, br#"{"outcomeNotes":5}"#, (400, "bad_request")),
        post(&reject, REJECT, b"{", (400, "bad_request")),
        post(&reject, REJECT, b"x", (415, "unsupported_media_type")).of_type("text/plain"),
        post(&reject, REJECT, &long, (413, "payload_too_large")),
        post("/api/v1/candidate-steps/none/reject", REJECT, b"", (404, "not_found")),
        post("/api/v1/candidate-steps/no%20id/hire", HIRE, b"", (404, "not_found")),
        post(&reject, REJECT, b"", (200, "")),
        post(&reject, REJECT, b"", (409, "conflict")),
        post(&hire, HIRE, b"{}", (200, "")),
        post(&hire, HIRE, b"{}", (409, "conflict")),
        LoggedRequest::new("GET", KEYS, KEYS, b"", (403, "forbidden")),
    ];
    assert_each_has_a_row(&app, &app.make_key(&hiring.staff("owner")), &requests);
    let member = app.make_key(&hiring.staff("member"));
    assert_each_has_a_row(&app, &member, &[post(&hiring.reject(2), REJECT, b"", (403, "forbidden"))]);
    let scopeless = app.make_key_with(&json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": [] }));
    let requests = [
        post(&hiring.reject(2), REJECT, b"", (403, "insufficient_scope")),
        post("/api/v1/candidate-steps/none/hire", HIRE, b"{", (403, "insufficient_scope")),
    ];
    assert_each_has_a_row(&app, &scopeless, &requests);
}

fn accepted_and_refused_admin_requests_have_a_usage_row() {
    let app = App::start();
    let key = app.make_key("user_admin");
    let (usage, one) = ("/api/admin/api-keys/{id}/usage", "/api/admin/api-keys/{id}");
    let (none, none_usage, own_usage) =
        (format!("{KEYS}/none"), format!("{KEYS}/none/usage"), format!("{KEYS}/{}/usage", key.0));
    let long = vec![b' '; 128 * 1_024 + 1];
    let requests = [
        LoggedRequest::new("GET", KEYS, KEYS, b"", (200, "")),
        LoggedRequest::new("POST", KEYS, KEYS, br#"{"name":"n","userId":"user_admin"}"#, (200, "")),
        LoggedRequest::new("POST", KEYS, KEYS, b"{}", (400, "validation_error")),
        LoggedRequest::new("POST", KEYS, KEYS, b"[]", (400, "bad_request")),
        LoggedRequest::new("POST", KEYS, KEYS, br#"{"name":"n","userId":"nobody"}"#, (404, "not_found")),
        LoggedRequest::new("POST", KEYS, KEYS, b"{}", (415, "unsupported_media_type")).of_type("text/plain"),
        LoggedRequest::new("POST", KEYS, KEYS, &long, (413, "payload_too_large")),
        LoggedRequest::new("GET", &own_usage, usage, b"", (200, "")),
        LoggedRequest::new("GET", &none_usage, usage, b"", (404, "not_found")),
        LoggedRequest::new("DELETE", &none, one, b"", (404, "not_found")),
    ];
    assert_each_has_a_row(&app, &key, &requests);
}

fn a_request_not_authenticated_by_a_key_has_no_row() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    client.get("/api/v1/nothing").expect(404);
    client.get("/").expect(200);
    client.get("/api/admin/api-keys/%FF/usage").expect(404);
    client.get("/api/admin/api-keys/a/b/usage").expect(404);
    client.get("/api/v1/me/").expect(404);
    client.delete(ME).expect(405);
    client.send("PUT", KEYS, &[], b"").expect(405);
    client.get(&hiring.reject(0)).expect(405);
    // These routes do not check a key.
    client.get(&hiring.portal()).expect(200);
    client.get("/healthz").expect(200);
    // This route needs a session, not a key.
    client.post_empty("/api/auth/sign-out").expect(401);
    assert_eq!(log(&app, &id)["rows"], json!([]));
    assert_eq!(request_count(&app, &id), 0);
    client.get(ME).expect(200);
    app.admin().delete(&format!("{KEYS}/{id}")).expect(200);
    client.get(ME).expect(401);
    client.post_empty(&hiring.reject(0)).expect(401);
    assert_eq!(column(&app, &id, "path"), [ME]);
    assert_eq!(request_count(&app, &id), 1);
}

fn a_request_with_a_session_has_no_row() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, _) = app.make_key(&hiring.staff("owner"));
    app.set_password(&hiring.email("owner"), "correct horse battery");
    let before = app.sql("SELECT count(*) FROM api_key_usage");
    let session = app.sign_in(&hiring.email("owner"), "correct horse battery");
    session.get(ME).expect(200);
    session.get(KEYS).expect(401);
    session.with_header("Sec-Fetch-Site", "same-origin").post_empty("/api/auth/sign-out").expect(204);
    assert_eq!(app.sql("SELECT count(*) FROM api_key_usage"), before);
    assert_eq!(request_count(&app, &id), 0);
}

fn a_row_belongs_to_the_key_that_was_sent() {
    let app = App::start();
    let hiring = app.hiring();
    let (first, _) = app.make_key(&hiring.staff("owner"));
    let (second, secret) = app.make_key(&hiring.staff("owner"));
    app.set_password(&hiring.email("owner"), "correct horse battery");
    let both = app.sign_in(&hiring.email("owner"), "correct horse battery");
    both.with_header("Authorization", &format!("Bearer {secret}")).get(ME).expect(200);
    assert_eq!((request_count(&app, &first), request_count(&app, &second)), (json!(0), json!(1)));
}

fn the_path_is_logged_undecoded_without_its_query() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    for path in [
        "/api/v1/me?token=secret&x=%20#",
        "/api/v1/me?",
        "/api/admin/api-keys/%6bey%5F1/usage?limit=1",
        "/api/admin/api-keys/a%2Fb/usage",
        "/api/admin/api-keys/%C3%A4/usage",
        "/api/admin/api-keys/%252F/usage",
        "/api/admin/api-keys/a;b=c,d:e@f!$&'()*+/usage",
    ] {
        let answer = client.get(path);
        assert!(matches!(answer.status, 200 | 404), "{path}");
    }
    let long = "x".repeat(4_000);
    client.get(&format!("/api/admin/api-keys/{long}/usage")).expect(404);
    let expected = [
        "/api/v1/me",
        "/api/v1/me",
        "/api/admin/api-keys/%6bey%5F1/usage",
        "/api/admin/api-keys/a%2Fb/usage",
        "/api/admin/api-keys/%C3%A4/usage",
        "/api/admin/api-keys/%252F/usage",
        "/api/admin/api-keys/a;b=c,d:e@f!$&'()*+/usage",
        // A long path is truncated to 512 bytes.
        &format!("/api/admin/api-keys/{long}/usage")[..512],
    ];
    assert_eq!(column(&app, &id, "path"), expected);
    let mut routes = column(&app, &id, "authEndpoint");
    routes.dedup();
    assert_eq!(routes, [ME, "/api/admin/api-keys/{id}/usage"]);
}

/// The path has a key or the token of a link instead of an id.
fn a_secret_in_a_path_is_not_stored() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let (_, other) = app.make_key("user_admin");
    let client = app.key(&secret);
    let link = id::token(&[0x5a; 20]);
    for typed in [other.as_str(), link.as_str()] {
        client.get(&format!("/api/admin/api-keys/{typed}/usage")).expect(404);
    }
    assert_eq!(column(&app, &id, "path"), ["/api/admin/api-keys/{id}/usage", "/api/admin/api-keys/{id}/usage"]);
    app.stop();
    assert!(!app.stores(&other) && !app.stores(&link));
}

fn a_head_request_is_logged_as_head() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    client.send("HEAD", "/api/v1/me?x", &[], b"").expect(200);
    client.send("HEAD", "/api/admin/api-keys/none/usage", &[], b"").expect(404);
    assert_eq!(column(&app, &id, "method"), ["HEAD", "HEAD"]);
    assert_eq!(column(&app, &id, "path"), ["/api/v1/me", "/api/admin/api-keys/none/usage"]);
    assert_eq!(column(&app, &id, "authEndpoint"), [ME, "/api/admin/api-keys/{id}/usage"]);
}

fn the_logged_address_is_the_peers_or_comes_from_a_trusted_proxy() {
    let app = App::with(Options { trusted_proxies: vec!["127.0.0.0/8", "10.0.0.0/8"], ..Options::default() });
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    let mut expected = Vec::new();
    for (forwarded, ip) in [
        (vec![], "127.0.0.1"),
        (vec!["198.51.100.7"], "198.51.100.7"),
        (vec!["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        (vec!["203.0.113.9,198.51.100.7,10.1.2.3"], "198.51.100.7"),
        (vec!["203.0.113.9", "198.51.100.7, 10.1.2.3"], "198.51.100.7"),
        (vec!["2001:DB8::1"], "2001:db8::1"),
        (vec!["10.1.2.3"], "10.1.2.3"),
        (vec!["198.51.100.7, rubbish"], "127.0.0.1"),
        (vec![""], "127.0.0.1"),
        (vec!["203.0.113.9", "ä, 198.51.100.7"], "198.51.100.7"),
        (vec!["203.0.113.9", "ä"], "127.0.0.1"),
    ] {
        let headers: Vec<(&str, &str)> = forwarded.iter().map(|value| ("X-Forwarded-For", *value)).collect();
        client.send("GET", ME, &headers, b"").expect(200);
        expected.push(ip);
    }
    assert_eq!(column(&app, &id, "ip"), expected);
}

fn forwarded_addresses_are_ignored_without_trusted_proxies() {
    for trusted_proxies in [vec![], vec!["10.0.0.0/8", "::1/128"]] {
        let app = App::with(Options { trusted_proxies, ..Options::default() });
        let (id, secret) = app.make_key("user_admin");
        let headers =
            [("X-Forwarded-For", "198.51.100.7"), ("Forwarded", "for=198.51.100.7"), ("X-Real-IP", "10.0.0.1")];
        app.key(&secret).send("GET", ME, &headers, b"").expect(200);
        assert_eq!(column(&app, &id, "ip"), ["127.0.0.1"]);
    }
}

fn a_user_agent_is_truncated_to_512_characters() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let mut expected = Vec::new();
    for (given, logged) in [
        ("curl/8.16".to_owned(), "curl/8.16".to_owned()),
        ("x".repeat(512), "x".repeat(512)),
        ("x".repeat(513), "x".repeat(512)),
        ("ä".repeat(512), "ä".repeat(512)),
        ("ä".repeat(513), "ä".repeat(512)),
        (format!("{}😀!", "y".repeat(511)), format!("{}😀", "y".repeat(511))),
        ("😀".repeat(2_000), "😀".repeat(512)),
        ("<b>\"quoted\"</b> \\".to_owned(), "<b>\"quoted\"</b> \\".to_owned()),
    ] {
        app.key(&secret).with_header("User-Agent", &given).get(ME).expect(200);
        expected.push(logged);
    }
    assert_eq!(column(&app, &id, "userAgent"), expected);
}

fn a_missing_user_agent_is_logged_as_empty() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.key(&secret).get(ME).expect(200);
    app.key(&secret).with_header("User-Agent", "").get(ME).expect(200);
    assert_eq!(column(&app, &id, "userAgent"), ["", ""]);
    // A user agent that is not UTF-8 is accepted, and the request is logged.
    let head = format!("GET {ME} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}\r\nUser-Agent: a");
    let answer = app.anonymous().raw(&[head.as_bytes(), b"\xffb\r\n\r\n"].concat());
    assert_eq!(answer.status, 200);
    assert_eq!(column(&app, &id, "userAgent"), ["", "", "a\u{fffd}b"]);
}

fn a_row_is_committed_before_its_answer() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    let client = app.key(&secret);
    for number in 1..=20 {
        let answer = if number % 2 == 0 { client.get(ME) } else { client.post_empty(&hiring.reject(0)) };
        assert!(matches!(answer.status, 200 | 409));
        // Another connection sees the row at once, so the row is committed.
        let sql = format!(
            "SELECT count(*) FROM api_key_usage u JOIN api_keys k ON k.number = u.key_number WHERE k.id = '{id}'"
        );
        assert_eq!(app.sql(&sql), [number.to_string()]);
    }
}

fn the_count_is_exact_and_the_last_request_is_the_newest_row() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    for count in 1..=5 {
        app.pass(1);
        client.get(ME).expect(200);
        client.get(KEYS).expect(200);
        let log = log(&app, &id);
        assert_eq!(log["rows"].as_array().unwrap().len(), 2 * count);
        assert_eq!(log["key"]["requestCount"], 2 * count);
        assert_eq!(log["key"]["lastRequest"], log["rows"][0]["timestamp"]);
        assert_eq!(request_count(&app, &id), 2 * count);
    }
}

/// Returns the times of a key's rows, oldest first.
fn times(app: &App, id: &str) -> Vec<Timestamp> {
    let times = column(app, id, "timestamp");
    times.iter().map(|text| Timestamp::parse(text, Rounding::Down).unwrap()).collect()
}

fn timestamp(text: &str) -> Timestamp {
    Timestamp::parse(text, Rounding::Down).unwrap()
}

fn times_increase_while_the_clock_is_stopped() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.pass(60);
    let client = app.key(&secret);
    for _ in 0..50 {
        client.get(ME).expect(200);
    }
    // The first row has the exact time of the clock, and each further row is a microsecond later.
    let begin = timestamp("2026-11-21T09:01:00Z").micros();
    let expected: Vec<Timestamp> = (begin..begin + 50).map(Timestamp::from_micros).collect();
    assert_eq!(times(&app, &id), expected);
    let ids: BTreeSet<String> = column(&app, &id, "id").into_iter().collect();
    assert_eq!(ids.len(), 50);
}

fn times_increase_when_the_clock_steps_back() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    app.pass(3_600);
    client.get(ME).expect(200);
    for back in ["2026-11-21T09:59:59.999999Z", "2026-11-21T09:00:00Z", "2020-01-01T00:00:00Z", "1971-01-01T00:00:00Z"]
    {
        app.world.set(timestamp(back));
        client.get(ME).expect(200);
        client.get(ME).expect(200);
    }
    let times = times(&app, &id);
    assert_eq!(times.len(), 9);
    assert!(times.is_sorted_by(|earlier, later| earlier < later), "{times:?}");
    assert_eq!(times[0], timestamp("2026-11-21T10:00:00Z"));
    assert!(*times.last().unwrap() < timestamp("2026-11-21T10:00:00.001Z"), "{times:?}");
    assert_eq!(log(&app, &id)["key"]["requestCount"], 9);
}

fn times_follow_a_clock_that_advances() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let client = app.key(&secret);
    let moments = ["2026-11-21T09:30:00.000000Z", "2026-11-21T09:30:00.500000Z", "2026-11-21T09:30:00.500020Z"];
    for text in moments {
        app.world.set(timestamp(text));
        client.get(ME).expect(200);
    }
    assert_eq!(column(&app, &id, "timestamp"), moments);
}

fn rows_survive_a_restart() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    let client = app.key(&secret).with_header("User-Agent", "Mozilla/5.0");
    client.get(ME).expect(200);
    client.post_empty(&hiring.reject(0)).expect(200);
    let before = log(&app, &id);
    assert_eq!(before["key"]["requestCount"], 2);
    app.stop();
    app.start_again();
    assert_eq!(log(&app, &id), before);
    app.key(&secret).get(ME).expect(200);
    let after = log(&app, &id);
    assert_eq!(after["key"]["requestCount"], 3);
    assert_eq!(after["rows"].as_array().unwrap()[1..], before["rows"].as_array().unwrap()[..]);
}

fn times_increase_across_a_restart() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    for back in ["2026-11-21T08:00:00Z", "2026-11-21T07:00:00Z"] {
        app.key(&secret).get(ME).expect(200);
        app.key(&secret).get(ME).expect(200);
        app.stop();
        app.world.set(timestamp(back));
        app.start_again();
    }
    app.key(&secret).get(ME).expect(200);
    let times = times(&app, &id);
    assert_eq!(times.len(), 5);
    assert!(times.is_sorted_by(|earlier, later| earlier < later), "{times:?}");
    assert_eq!(request_count(&app, &id), 5);
}

/// Sends the same request from each client on its own thread, `times_each` times.
fn send_in_parallel(clients: Vec<Client>, times_each: usize) {
    let threads: Vec<_> = clients
        .into_iter()
        .map(|client| {
            std::thread::spawn(move || {
                for _ in 0..times_each {
                    client.get(ME).expect(200);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn concurrent_requests_of_one_key_each_have_a_row() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.key(&secret).get(ME).expect(200);
    send_in_parallel((0..8).map(|_| app.key(&secret)).collect(), 25);
    let times = times(&app, &id);
    assert_eq!(times.len(), 201);
    assert!(times.is_sorted_by(|earlier, later| earlier < later));
    let log = log(&app, &id);
    assert_eq!(log["key"]["requestCount"], 201);
    assert_eq!(log["key"]["lastRequest"], log["rows"][0]["timestamp"]);
    let ids: BTreeSet<String> = column(&app, &id, "id").into_iter().collect();
    assert_eq!(ids.len(), 201);
}

fn concurrent_requests_of_many_keys_are_logged_separately() {
    let app = App::start();
    let keys: Vec<(String, String)> = (0..6).map(|_| app.make_key("user_admin")).collect();
    send_in_parallel(keys.iter().map(|(_, secret)| app.key(secret)).collect(), 20);
    let mut all = BTreeSet::new();
    for (id, _) in &keys {
        assert_eq!(request_count(&app, id), 20);
        let times = times(&app, id);
        assert!(times.len() == 20 && times.is_sorted_by(|earlier, later| earlier < later));
        all.extend(column(&app, id, "id"));
    }
    assert_eq!(all.len(), 120, "no two rows of the service have the same id");
}
