//! Routing and HTTP: paths, methods, limits of the head, persistent connections, and malformed requests.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use appliance::domain::sign_in_link::LinkPurpose;
use appliance::http::server::access_rule::AccessRule;
use appliance::http::server::route::Route;
use serde_json::{Value, json};

use crate::access_matrix;
use crate::support::console::{sign_in_link, staff_path};
use crate::support::{Answer, App, Client, stored_signup};

crate::tests![
    an_unknown_path_is_not_found,
    an_id_is_percent_decoded_once,
    a_405_lists_exactly_the_methods_of_its_path,
    head_works_on_every_route_with_get,
    path_and_method_are_checked_before_credentials,
    a_target_over_8192_bytes_is_refused,
    header_fields_over_16384_bytes_are_refused,
    more_than_100_header_fields_are_refused,
    limits_of_the_head_are_checked_first,
    heads_far_over_the_limits_are_refused,
    a_request_without_exactly_one_host_is_refused_in_http_1_1,
    an_http_1_0_request_is_answered_and_its_connection_closed,
    an_absolute_target_is_routed_by_its_path,
    the_length_limit_applies_to_the_whole_absolute_target,
    a_connection_stays_open_between_requests,
    pipelined_requests_are_answered_in_order,
    the_body_of_a_get_is_ignored,
    a_refused_body_does_not_shift_the_next_request,
    a_client_that_closed_its_sending_side_gets_its_answer,
    a_client_that_hangs_up_does_not_affect_others,
    a_complete_request_takes_effect_after_its_client_is_gone,
    a_client_that_expects_100_continue_gets_it_before_it_sends_the_body,
    a_refusal_comes_without_100_continue,
    a_chunked_body_is_accepted,
    a_broken_chunk_is_a_bad_request,
    a_large_body_does_not_hide_an_early_refusal,
    a_connection_survives_a_refused_body_of_a_megabyte,
    a_refused_body_is_read_to_its_end,
    garbage_does_not_stop_the_service,
    every_answer_has_its_own_request_id,
    the_test_client_never_sends_a_post_twice,
];

/// One connection that sends bytes unchanged and is never reopened.
struct Wire(TcpStream);

impl Wire {
    fn open(app: &App) -> Self {
        let stream = TcpStream::connect(app.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(stream)
    }

    fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// Reads the head of the next message, including its empty line.
    fn head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            let read = self.0.read(&mut byte).unwrap();
            assert_eq!(read, 1, "the connection is closed after {:?}", String::from_utf8_lossy(&head));
            head.push(byte[0]);
        }
        String::from_utf8(head).unwrap()
    }

    /// Reads the next answer and returns its status line and its body.
    fn answer(&mut self) -> (String, String) {
        let head = self.head();
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.0.read_exact(&mut body).unwrap();
        (head.lines().next().unwrap_or_default().to_owned(), String::from_utf8(body).unwrap())
    }

    /// Returns whether the server has closed its side, with nothing left to read.
    fn is_closed(&mut self) -> bool {
        matches!(self.0.read(&mut [0]), Ok(0))
    }
}

/// Returns an HTTP/1.1 GET request as it is sent.
fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// Fills a path template with a placeholder for each parameter.
fn fill_path(template: &str) -> String {
    let segment = |segment: &str| if segment.starts_with('{') { "nothing".to_owned() } else { segment.to_owned() };
    template.split('/').map(segment).collect::<Vec<_>>().join("/")
}

fn status_of(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer).split(' ').nth(1).unwrap_or("none").to_owned()
}

fn an_unknown_path_is_not_found() {
    let app = App::start();
    let hiring = app.hiring();
    for path in [
        "/nothing",
        "/api",
        "/api/v1",
        "/api/v2/me",
        "/API/v1/me",
        "/api/v1/ME",
        "/api/v1/me/",
        "//api/v1/me",
        "/api//v1/me",
        "/api/v1//me",
        "/api/v1/%6de",
        "/%61pi/v1/me",
        "/api/v1/./me",
        "/api/v1/x/../me",
        "/api/v1/candidate-steps/../me",
        "/api/v1/%2e%2e/v1/me",
        "/api/v1%2Fme",
        "/api/v1/me;x=1",
        "/api/v1/me%00",
        "/api/v1/me.json",
        "/api/admin/api-keys/",
        "/api/admin/api-keys//usage",
        "/api/public/portal/",
        "/healthz/",
        "/metrics",
        "/.well-known",
        &format!("{}/", hiring.portal()),
        &format!("{}/roles", hiring.portal()),
        &format!("{}/roles/", hiring.portal()),
        &format!("{}/roles//{}", hiring.portal(), hiring.role_id),
    ] {
        let answer = app.admin().get(path).refused(404, "not_found");
        assert_eq!(answer.header("allow"), None, "{path}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
    }
    for path in ["/api/v1/candidate-steps//hire", "/api/v1/candidate-steps/hire", "/api/public/portal//apply"] {
        app.admin().post_empty(path).refused(404, "not_found");
    }
}

fn an_id_is_percent_decoded_once() {
    let app = App::start();
    let hiring = app.hiring();
    let recruiter = app.user(&hiring.staff("hr_representative"));
    let path = |id: &str| format!("/api/v1/candidate-steps/{id}/reject");
    let step = recruiter.post_empty(&path("%63step_1_1_2")).expect(200).json();
    assert_eq!(step["step"]["id"], "cstep_1_1_2");
    for encoded in ["cstep%5F1%5f1_2", "%63%73%74%65%70%5f%31%5f%31%5f%32"] {
        recruiter.post_empty(&path(encoded)).refused(409, "conflict");
    }
    for other in ["%2563step_1_2_2", "cstep_1_2_2%FF", "%FF", "%C3%28", "a%2Fb", "cstep_1_2_2%2F", "%", "%zz", "%00"] {
        recruiter.post_empty(&path(other)).refused(404, "not_found");
    }
    let portal = app.anonymous().get("/api/public/portal/%61cme%2D1").expect(200).json();
    assert_eq!(portal["org"]["slug"], "acme-1");
    app.anonymous().get("/api/public/portal/%2561cme-1").refused(404, "not_found");
}

fn a_405_lists_exactly_the_methods_of_its_path() {
    let (app, table) = (App::start(), appliance::http::routes::table());
    let paths: BTreeSet<&str> = table.routes().iter().map(|route| route.path).collect();
    for path in paths {
        let mut allowed = BTreeSet::new();
        for route in table.routes().iter().filter(|route| route.path == path) {
            allowed.insert(route.method.as_str());
            allowed.extend((route.method == "GET").then_some("HEAD"));
            allowed.extend(route.cors().then_some("OPTIONS"));
        }
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get"] {
            if allowed.contains(method) {
                continue;
            }
            let answer = app.anonymous().send(method, &fill_path(path), &[], b"").expect(405);
            let named: Vec<&str> = answer.header("allow").unwrap().split(", ").collect();
            assert_eq!(named.len(), allowed.len(), "{method} {path}: {named:?}");
            assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), allowed, "{method} {path}");
            let is_page = table.routes().iter().any(|route| route.path == path && route.is_page());
            if is_page {
                assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{method} {path}");
            } else if method != "HEAD" {
                answer.refused(405, "method_not_allowed");
            }
        }
    }
}

fn head_works_on_every_route_with_get() {
    let app = App::start();
    let hiring = app.hiring();
    let invite = app.anonymous().post(&format!("{}/apply", hiring.portal()), &json!({ "roleId": hiring.role_id }));
    let invite = invite.json()["inviteUrl"].as_str().unwrap().to_owned();
    let key_id = app.make_key(&hiring.staff("member")).0;
    let logo = format!("/api/admin/organizations/{}/logo", hiring.organization_id);
    app.admin().send("PUT", &logo, &[], b"GIF89a").expect(200);
    let application = stored_signup::add_candidate(&app, &hiring, "ada@example.org");
    let status = stored_signup::insert_signup(&app, &hiring, Some(&application), "ada@example.org", "the-link");
    let path = |route: &Route| match route.path {
        status_path if status_path.starts_with("/status/{token}") => {
            status_path.replace("/status/{token}", &status).replace("{documentId}", "doc_the-link")
        }
        career_path if career_path.starts_with("/careers/") => {
            career_path.replace("{orgSlug}", &hiring.slug).replace("{roleId}", &hiring.role_id)
        }
        "/api/admin/api-keys/{id}/usage" => format!("/api/admin/api-keys/{key_id}/usage"),
        "/api/public/portal/{orgSlug}" => hiring.portal(),
        "/api/public/portal/{orgSlug}/roles/{roleId}" => format!("{}/roles/{}", hiring.portal(), hiring.role_id),
        "/signup/{token}" => format!("/signup/{}", invite.rsplit('/').next().unwrap().split('?').next().unwrap()),
        "/join/{token}" => sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset),
        plain => access_matrix::permitted_path(&app, &hiring, route).unwrap_or_else(|| plain.to_owned()),
    };
    let table = appliance::http::routes::table();
    let browser = app.browser(&hiring, "owner");
    for route in table.routes().iter().filter(|route| route.method == "GET") {
        let is_console = route.access == AccessRule::Staff;
        let admin = app.admin();
        let client = if is_console { &browser } else { &admin };
        let path = if is_console {
            let path = staff_path(route, &hiring.slug, &hiring).replace("doc_none", "doc_the-link");
            // The page with the menu of a card needs the id of a card.
            let card = format!("/decide?card={}", hiring.candidates[0].steps[1]);
            if path.ends_with("/decide") { path.replace("/decide", &card) } else { path }
        } else {
            path(route)
        };
        // Some pages first redirect to themselves: the review queue, for example, adds the time at which it begins.
        let begun = client.get(&path);
        let path = begun.header("location").map_or(path, str::to_owned);
        let head = client.send("HEAD", &path, &[], b"");
        assert_eq!(head.status, 200, "{path}");
        // This request uses the same connection, so a body after the HEAD answer would make the next answer
        // unreadable.
        let whole = client.get(&path).expect(200);
        assert!(head.body.is_empty() && !whole.body.is_empty(), "{path}");
        for field in ["content-type", "etag", "cache-control", "vary", "access-control-allow-origin"] {
            assert_eq!(head.header(field), whole.header(field), "{field} of {path}");
        }
        // Other bodies, such as lists with request counts, can grow between requests.
        if route.path.starts_with("/api/public/") {
            assert_eq!(head.header("content-length").unwrap(), whole.body.len().to_string(), "{path}");
        }
    }
    app.admin().send("HEAD", "/api/public/portal/none", &[], b"").expect(404);
    app.anonymous().send("HEAD", "/api/v1/me", &[], b"").expect(401);
}

fn path_and_method_are_checked_before_credentials() {
    let app = App::start();
    let wrong = app.key("rpk_wrong");
    for client in [app.anonymous(), wrong] {
        client.get("/api/admin/nothing").refused(404, "not_found");
        client.get("/api/v1/me/").refused(404, "not_found");
        client.send("PUT", "/api/v1/me", &[], b"").refused(405, "method_not_allowed");
        client.get("/api/v1/candidate-steps/a/hire").refused(405, "method_not_allowed");
        client.get("/api/v1/me").refused(401, "unauthorized");
        client.get("/api/admin/api-keys/none/usage").refused(401, "unauthorized");
        client.post_empty("/api/v1/candidate-steps/none/hire").refused(401, "unauthorized");
    }
}

fn a_target_over_8192_bytes_is_refused() {
    let app = App::start();
    let query = |bytes: usize| format!("/api/v1/me?x={}", "a".repeat(bytes - "/api/v1/me?x=".len()));
    assert_eq!(query(8_192).len(), 8_192);
    app.admin().get(&query(8_192)).expect(200);
    app.admin().get(&query(8_193)).refused(414, "uri_too_long");
    let path = |bytes: usize| format!("/{}", "a".repeat(bytes - 1));
    app.admin().get(&path(8_192)).refused(404, "not_found");
    app.admin().get(&path(8_193)).refused(414, "uri_too_long");
    app.admin().get("/api/v1/me").expect(200);
}

fn header_fields_over_16384_bytes_are_refused() {
    let app = App::start();
    let host = app.address.to_string();
    // The size of a field includes its name, its value, the `: ` between them and the line end.
    let rest = 16_384 - ("Host".len() + host.len() + 4) - ("X-Fill".len() + 4);
    app.anonymous().with_header("X-Fill", &"a".repeat(rest)).get("/healthz").expect(200);
    app.anonymous().with_header("X-Fill", &"a".repeat(rest + 1)).get("/healthz").refused(431, "headers_too_large");
    let two = app.anonymous().with_header("X-One", &"a".repeat(8_200)).with_header("X-Two", &"a".repeat(8_200));
    two.get("/healthz").refused(431, "headers_too_large");
}

fn more_than_100_header_fields_are_refused() {
    let app = App::start();
    // `Host` is one of the fields.
    let with = |count: usize, name: fn(usize) -> String| {
        (1..count).fold(app.anonymous(), |client, number| client.with_header(&name(number), "a"))
    };
    with(100, |number| format!("X-{number}")).get("/healthz").expect(200);
    with(101, |number| format!("X-{number}")).get("/healthz").refused(431, "headers_too_large");
    with(100, |_| "X-Same".to_owned()).get("/healthz").expect(200);
    with(101, |_| "X-Same".to_owned()).get("/healthz").refused(431, "headers_too_large");
}

fn limits_of_the_head_are_checked_first() {
    let app = App::start();
    let long = format!("/api/v1/me?{}", "a".repeat(8_192));
    app.anonymous().get(&long).refused(414, "uri_too_long");
    app.anonymous().send("PUT", &long, &[], b"").refused(414, "uri_too_long");
    app.anonymous().with_header("X-Fill", &"a".repeat(17_000)).get("/nothing").refused(431, "headers_too_large");
    app.admin().with_header("X-Fill", &"a".repeat(17_000)).get("/api/v1/me").refused(431, "headers_too_large");
    assert_eq!(app.sql("SELECT count(*) FROM api_key_usage"), ["0"]);
}

fn heads_far_over_the_limits_are_refused() {
    let app = App::start();
    for (bytes, statuses) in [
        (get(&format!("/{}", "a".repeat(200_000))), ["414", "431"]),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(200_000)), ["431", "431"]),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: a\r\n".repeat(1_000)), ["431", "431"]),
    ] {
        // The server can close the connection before it has read the whole request. The client then cannot send the
        // rest, but the answer still arrives.
        let mut wire = Wire::open(&app);
        let _ = wire.0.write_all(bytes.as_bytes());
        let (line, body) = wire.answer();
        assert!(statuses.contains(&line.split(' ').nth(1).unwrap()), "{line}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert!(["uri_too_long", "headers_too_large"].contains(&body["code"].as_str().unwrap()), "{body}");
    }
    app.anonymous().get("/healthz").expect(200);
}

fn a_request_without_exactly_one_host_is_refused_in_http_1_1() {
    let app = App::start();
    for (hosts, status) in
        [("", 400), ("Host: a\r\n", 200), ("Host: a\r\nHost: a\r\n", 400), ("Host: a\r\nhost: b\r\n", 400)]
    {
        let answer = app.anonymous().raw(format!("GET /healthz HTTP/1.1\r\n{hosts}\r\n").as_bytes()).expect(status);
        if status == 400 {
            assert_eq!(answer.json()["code"], "bad_request");
            assert_eq!(answer.json()["detail"], "the request must have exactly one Host field");
        }
    }
    app.anonymous().raw(b"GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n").expect(400);
}

fn an_http_1_0_request_is_answered_and_its_connection_closed() {
    let app = App::start();
    let mut wire = Wire::open(&app);
    wire.send("GET /healthz HTTP/1.0\r\n\r\n");
    let (line, body) = wire.answer();
    assert!(line.ends_with(" 200 OK"), "{line}");
    assert_eq!(body, "ok\n");
    assert!(wire.is_closed());
    let mut persistent = Wire::open(&app);
    persistent.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(persistent.answer().1, "ok\n");
    persistent.send("GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!(persistent.answer().1, "ok\n");
}

fn an_absolute_target_is_routed_by_its_path() {
    let app = App::start();
    let target = |method: &str, target: &str| {
        app.anonymous().raw(format!("{method} {target} HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n").as_bytes())
    };
    assert_eq!(target("GET", "http://jobs.example/healthz").expect(200).text(), "ok\n");
    assert_eq!(target("GET", "http://jobs.example:81/api/v1/me?a=b").expect(401).json()["code"], "unauthorized");
    assert_eq!(target("GET", "http://jobs.example").expect(200).json()["name"], "Recruiting appliance");
    assert_eq!(target("GET", "http://jobs.example/nothing").expect(404).json()["code"], "not_found");
    assert_eq!(target("OPTIONS", "*").expect(404).json()["code"], "not_found");
}

fn the_length_limit_applies_to_the_whole_absolute_target() {
    let app = App::start();
    for origin in ["http://a", "http://jobs.example:81", &format!("http://{}.example", "a".repeat(5_000))] {
        let get = |bytes: usize| {
            let rest = bytes - origin.len() - "/healthz?".len();
            let request = format!("GET {origin}/healthz?{} HTTP/1.1\r\nHost: a\r\n\r\n", "b".repeat(rest));
            app.anonymous().raw(request.as_bytes())
        };
        assert_eq!(get(8_192).expect(200).text(), "ok\n");
        assert_eq!(get(8_193).expect(414).json()["code"], "uri_too_long");
    }
}

fn a_connection_stays_open_between_requests() {
    let app = App::start();
    let mut wire = Wire::open(&app);
    for (path, status) in [("/healthz", "200"), ("/nothing", "404"), ("/api/v1/me", "401"), ("/healthz", "200")] {
        wire.send(&get(path));
        let (line, _) = wire.answer();
        assert_eq!(line.split(' ').nth(1), Some(status), "{path}");
    }
    wire.send("POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert!(wire.answer().0.contains(" 405 "));
    wire.send("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(wire.answer().1, "ok\n");
    assert!(wire.is_closed());
}

fn pipelined_requests_are_answered_in_order() {
    let app = App::start();
    let hiring = app.hiring();
    let apply = |role: &str| {
        let (path, body) = (format!("{}/apply", hiring.portal()), json!({ "roleId": role }).to_string());
        format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let mut wire = Wire::open(&app);
    let requests = [get("/healthz"), apply(&hiring.role_id), apply("role_none"), get("/readyz"), get("/api/v1/me")];
    wire.send(&requests.concat());
    assert_eq!(wire.answer().1, "ok\n");
    let (line, body) = wire.answer();
    assert!(line.contains(" 200 ") && body.contains("\"inviteUrl\""), "{body}");
    assert!(wire.answer().0.contains(" 404 "));
    assert_eq!(wire.answer().1, "ready\n");
    assert!(wire.answer().0.contains(" 401 "));
}

fn the_body_of_a_get_is_ignored() {
    let app = App::start();
    let mut wire = Wire::open(&app);
    for body in ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"] {
        wire.send(&format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{body}"));
        assert_eq!(wire.answer().1, "ok\n");
    }
    wire.send(&get("/readyz"));
    assert_eq!(wire.answer().1, "ready\n");
    let not_json = [("Content-Type", "text/plain")];
    let answer = app.admin().send("GET", "/api/v1/me", &not_json, b"{ no JSON").expect(200);
    assert_eq!(answer.json()["user"]["email"], "admin@appliance.example");
}

fn a_refused_body_does_not_shift_the_next_request() {
    let app = App::start();
    let mut wire = Wire::open(&app);
    // A body that looks like a request must not be parsed as one.
    let smuggled = get("/nothing");
    for head in ["POST /api/admin/api-keys", "POST /nothing", "PUT /healthz", "POST /api/v1/candidate-steps/a/hire"] {
        wire.send(&format!("{head} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{smuggled}", smuggled.len()));
        let (line, _) = wire.answer();
        assert!([" 401 ", " 404 ", " 405 "].iter().any(|status| line.contains(status)), "{head}: {line}");
        wire.send(&get("/readyz"));
        assert_eq!(wire.answer().1, "ready\n", "after {head}");
    }
}

fn a_client_that_closed_its_sending_side_gets_its_answer() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = app.anonymous().raw_to_end(get("/healthz").as_bytes());
    assert_eq!(status_of(&answer), "200");
    assert!(answer.ends_with(b"\r\n\r\nok\n"));
    let body = json!({ "roleId": hiring.role_id }).to_string();
    let head = format!("POST {}/apply HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", hiring.portal(), body.len());
    let answer = app.anonymous().raw_to_end(format!("{head}{body}").as_bytes());
    assert_eq!(status_of(&answer), "200");
    assert!(String::from_utf8_lossy(&answer).contains("\"inviteUrl\""));
}

fn a_client_that_hangs_up_does_not_affect_others() {
    let app = App::start();
    let hiring = app.hiring();
    let key = app.make_key(&hiring.staff("owner")).1;
    for bytes in
        ["", "GET", "GET /healthz HTTP/1.1\r\n", "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n12"]
    {
        let mut wire = Wire::open(&app);
        wire.send(bytes);
        wire.0.shutdown(Shutdown::Both).unwrap();
    }
    let mut wire = Wire::open(&app);
    wire.send(&format!("POST {} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n", hiring.hire(0)));
    drop(wire);
    // The decision is complete or absent, whether or not the request reached the service before the connection closed.
    let second = app.key(&key).post_empty(&hiring.hire(0));
    assert!(second.status == 200 || second.status == 409, "{}", second.text());
    assert_eq!(app.check(), Vec::<String>::new());
}

/// Closes the connection with a reset, so nothing more is sent or received.
fn reset(wire: Wire) {
    socket2::SockRef::from(&wire.0).set_linger(Some(Duration::ZERO)).unwrap();
    drop(wire);
}

/// Polls until the query returns the expected value.
#[track_caller]
fn assert_becomes(app: &App, sql: &str, expected: &str) {
    let began = std::time::Instant::now();
    while app.sql(sql) != [expected] {
        assert!(began.elapsed() < Duration::from_secs(60), "{sql} is still {:?}, expected {expected}", app.sql(sql));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn a_complete_request_takes_effect_after_its_client_is_gone() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["roles"][0]["positions"] = json!(3));
    let key = app.make_key(&hiring.staff("owner")).1;
    let head =
        |method: &str, path: &str| format!("{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n");
    let hired = "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'";
    let mut wire = Wire::open(&app);
    wire.send(&format!("{}\r\n", head("POST", &hiring.hire(0))));
    drop(wire);
    assert_becomes(&app, hired, "1");
    let mut wire = Wire::open(&app);
    wire.send(&format!("{}Content-Length: 13\r\n\r\n{{\"notes\":\"x\"}}", head("POST", &hiring.hire(1))));
    wire.0.shutdown(Shutdown::Both).unwrap();
    assert_becomes(&app, hired, "2");
    // The service has begun to handle this request when the client resets its connection.
    let mut wire = Wire::open(&app);
    wire.send(&format!("{}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", head("POST", &hiring.hire(2))));
    assert!(wire.head().starts_with("HTTP/1.1 100 "));
    wire.send("{}");
    reset(wire);
    assert_becomes(&app, hired, "3");
    let rows = "SELECT count(*) FROM api_key_usage WHERE path <> '/api/admin/api-keys'";
    assert_becomes(&app, rows, "3");
    // A GET request leaves a usage row even if nobody reads the answer.
    for _ in 0..50 {
        let mut wire = Wire::open(&app);
        wire.send(&get("/healthz"));
        assert_eq!(wire.answer().1, "ok\n");
        wire.send(&format!("{}\r\n", head("GET", "/api/v1/me")));
        reset(wire);
    }
    assert_becomes(&app, rows, "53");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_client_that_expects_100_continue_gets_it_before_it_sends_the_body() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "roleId": hiring.role_id }).to_string();
    let mut wire = Wire::open(&app);
    wire.send(&format!(
        "POST {}/apply HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        hiring.portal(),
        body.len()
    ));
    assert!(wire.head().starts_with("HTTP/1.1 100 "));
    wire.send(&body);
    let (line, body) = wire.answer();
    assert_eq!(line, "HTTP/1.1 200 OK");
    assert!(body.contains("\"inviteUrl\""), "{body}");
}

fn a_refusal_comes_without_100_continue() {
    let app = App::start();
    for (path, status) in [("/api/admin/api-keys", " 401 "), ("/nothing", " 404 "), ("/healthz", " 405 ")] {
        let mut wire = Wire::open(&app);
        wire.send(&format!("POST {path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 50000\r\n\r\n"));
        let (line, _) = wire.answer();
        assert!(line.contains(status), "{path}: {line}");
    }
    // The same holds for a request that announces too large a body.
    let hiring = app.hiring();
    let mut wire = Wire::open(&app);
    let path = format!("{}/apply", hiring.portal());
    wire.send(&format!("POST {path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 131073\r\n\r\n"));
    assert!(wire.answer().0.contains(" 413 "));
}

fn a_chunked_body_is_accepted() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "roleId": hiring.role_id, "locale": "de" }).to_string();
    let chunk = |text: &str| format!("{:X};extension=1\r\n{text}\r\n", text.len());
    let chunks: Vec<String> = body.as_bytes().chunks(7).map(|part| chunk(std::str::from_utf8(part).unwrap())).collect();
    let mut wire = Wire::open(&app);
    let head = format!("POST {}/apply HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", hiring.portal());
    wire.send(&format!("{head}{}0\r\nTrailer: ignored\r\n\r\n", chunks.concat()));
    let (line, body) = wire.answer();
    assert_eq!(line, "HTTP/1.1 200 OK");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert!(body["inviteUrl"].as_str().unwrap().ends_with("?locale=de"), "{body}");
    wire.send(&get("/healthz"));
    assert_eq!(wire.answer().1, "ok\n");
}

fn a_broken_chunk_is_a_bad_request() {
    let app = App::start();
    let hiring = app.hiring();
    for chunks in ["zz\r\n{}\r\n0\r\n\r\n", "5\r\n{}\r\n0\r\n\r\n", "2\r\n{}", "FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"]
    {
        let head = format!("POST {}/apply HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", hiring.portal());
        let answer = app.anonymous().raw_to_end(format!("{head}{chunks}").as_bytes());
        let text = String::from_utf8_lossy(&answer);
        assert_eq!(status_of(&answer), "400", "{chunks:?}: {text}");
        assert!(text.contains("\"code\":\"bad_request\""), "{chunks:?}: {text}");
    }
    app.anonymous().get("/healthz").expect(200);
}

fn a_large_body_does_not_hide_an_early_refusal() {
    let app = App::start();
    let body = vec![b' '; 5_000_000];
    for _ in 0..8 {
        let post = |client: Client, path: &str| -> Answer { client.send("POST", path, &[], &body) };
        post(app.anonymous(), "/api/admin/api-keys").refused(401, "unauthorized");
        post(app.anonymous(), "/nothing").refused(404, "not_found");
        post(app.anonymous(), "/healthz").refused(405, "method_not_allowed");
        post(app.admin(), "/api/admin/api-keys").refused(413, "payload_too_large");
    }
}

fn a_connection_survives_a_refused_body_of_a_megabyte() {
    let app = App::start();
    let mut wire = Wire::open(&app);
    let body = " ".repeat(1_000_000);
    for (head, status) in [
        ("POST /nothing", " 404 "),
        ("PUT /healthz", " 405 "),
        ("POST /api/admin/api-keys", " 401 "),
        ("POST /api/auth/sign-in", " 413 "),
    ] {
        wire.send(&format!("{head} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        let (line, _) = wire.answer();
        assert!(line.contains(status), "{head}: {line}");
    }
    wire.send(&get("/healthz"));
    assert_eq!(wire.answer().1, "ok\n");
}

fn a_refused_body_is_read_to_its_end() {
    let app = App::start();
    let body = vec![b' '; 5_000_000];
    for (head, status) in [("POST /nothing", " 404 "), ("POST /api/admin/api-keys", " 401 ")] {
        // The client sends the whole body before it reads the answer, and the answer still arrives.
        let mut wire = Wire::open(&app);
        wire.send(&format!("{head} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len()));
        wire.0.write_all(&body).unwrap();
        let (line, problem) = wire.answer();
        assert!(line.contains(status) && problem.contains("\"success\":false"), "{head}: {line}");
        wire.send(&get("/healthz"));
        assert_eq!(wire.answer().1, "ok\n");
    }
}

fn garbage_does_not_stop_the_service() {
    let app = App::start();
    for bytes in [
        &b"garbage\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"POST /api/auth/sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/auth/sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n{}",
        b"POST /api/auth/sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /api/auth/sign-in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n{}",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let answer = app.anonymous().raw_to_end(bytes);
        let status = status_of(&answer);
        assert!(answer.is_empty() || status.starts_with('4'), "{}: {status}", bytes.escape_ascii());
        if !answer.is_empty() {
            let answer = String::from_utf8(answer).unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["status"].to_string(), status, "{}", bytes.escape_ascii());
            assert!(head.contains(&format!("x-request-id: {}", body["requestId"].as_str().unwrap())), "{head}");
        }
        app.anonymous().get("/healthz").expect(200);
    }
}

fn every_answer_has_its_own_request_id() {
    let app = App::start();
    let mut ids = BTreeSet::new();
    let client = app.admin();
    for path in ["/healthz", "/nothing", "/api/v1/me", "/api/admin/api-keys", "/signup/none"].repeat(10) {
        let answer = client.get(path);
        ids.insert(answer.header("x-request-id").unwrap().to_owned());
    }
    assert_eq!(ids.len(), 50);
    // The id comes from the server, which ignores an id that a client sends.
    let answer = app.anonymous().with_header("X-Request-Id", "req_mine").get("/healthz");
    assert_ne!(answer.header("x-request-id"), Some("req_mine"));
}

fn the_test_client_never_sends_a_post_twice() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = Client::new(listener.local_addr().unwrap());
    let (sender, received) = std::sync::mpsc::channel();
    // This server answers the first request on each connection, and closes the connection after the second.
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""] {
                let head: Vec<String> =
                    lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
                let _ = sender.send(head.concat());
                let _ = (&stream).write_all(answer.as_bytes());
            }
        }
    });
    let (get, post) = ("GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\n\r\n");
    client.raw(get.as_bytes()).expect(200);
    client.raw(get.as_bytes()).expect(200);
    let unanswered = std::panic::AssertUnwindSafe(|| client.raw(post.as_bytes()));
    assert!(std::panic::catch_unwind(unanswered).is_err());
    let seen: Vec<String> = received.try_iter().collect();
    assert_eq!(seen, ["GET / HTTP/1.1", "GET / HTTP/1.1", "GET / HTTP/1.1", "POST / HTTP/1.1"]);
    client.raw(post.as_bytes()).expect(200);
}
