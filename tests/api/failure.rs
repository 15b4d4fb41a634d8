//! Answers when the file is damaged, when another process locks it, and while the service stops.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use appliance::http::Stopped;
use serde_json::json;

use crate::portal_apply::apply_path;
use crate::support::race::{Runner, race};
use crate::support::signup::{Form, input_value, status_path, text_area_value};
use crate::support::{Answer, App, Hiring};

crate::tests![
    a_damaged_file_causes_a_500_on_the_portal_without_details,
    a_damaged_file_causes_a_500_page_for_browsers,
    a_damaged_file_causes_a_500_for_requests_that_read_it,
    a_service_with_a_damaged_file_is_alive_but_not_ready,
    writes_are_unavailable_and_change_nothing_while_another_process_holds_the_lock,
    a_refusal_is_replaced_by_unavailable_when_its_usage_row_cannot_be_written,
    reads_continue_while_another_process_writes,
    a_form_that_cannot_be_stored_is_shown_again_with_its_input,
    a_form_without_a_permit_for_its_file_is_shown_again_with_its_input,
    a_stopping_service_finishes_requests_in_progress,
    a_stopping_service_closes_idle_connections,
    a_stopped_service_leaves_one_file,
    a_restarted_service_continues_with_the_stored_data,
];

/// Asserts that an answer is an internal error that reveals no cause.
#[track_caller]
fn assert_internal_error(answer: Answer) {
    let answer = answer.refused(500, "internal_error");
    let request_id = answer.header("x-request-id").unwrap();
    let expected = json!({
        "type": "about:blank",
        "title": "Internal Server Error",
        "status": 500,
        "detail": "the service failed; its log has the id of this request",
        "success": false,
        "code": "internal_error",
        "requestId": request_id,
    });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("retry-after"), None);
}

/// Starts a service with a damaged file. Returns the service and the organization that was in the file.
fn start_damaged() -> (App, Hiring) {
    let app = App::start();
    let hiring = app.hiring();
    app.anonymous().get(&hiring.portal()).expect(200);
    app.restart_damaged();
    (app, hiring)
}

fn a_damaged_file_causes_a_500_on_the_portal_without_details() {
    let (app, hiring) = start_damaged();
    let role = format!("{}/roles/{}", hiring.portal(), hiring.role_id);
    assert_internal_error(app.anonymous().get(&hiring.portal()));
    assert_internal_error(app.anonymous().get(&role));
    assert_internal_error(app.anonymous().post(&apply_path(&hiring), &json!({ "roleId": hiring.role_id })));
    assert_internal_error(app.anonymous().send("GET", &hiring.portal(), &[("If-None-Match", "*")], b""));
    let head = app.anonymous().send("HEAD", &role, &[], b"").expect(500);
    assert_eq!(head.header("etag"), None);
    // Errors in the request itself are still reported.
    app.anonymous().post(&apply_path(&hiring), &json!({})).refused(400, "validation_error");
}

fn a_damaged_file_causes_a_500_page_for_browsers() {
    let (app, _) = start_damaged();
    let answer = app.anonymous().get("/signup/0123456789abcdefghjkmnpqrstvwxyz0").expect(500);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let text = answer.text();
    assert!(text.contains("<h1>Something went wrong</h1>"), "{text}");
    assert!(text.contains(answer.header("x-request-id").unwrap()), "{text}");
    for leak in ["sqlite", "SQL", "malformed", "disk image", "appliance.db"] {
        assert!(!text.contains(leak), "the page shows {leak}: {text}");
    }
}

fn a_damaged_file_causes_a_500_for_requests_that_read_it() {
    let (app, hiring) = start_damaged();
    assert_internal_error(app.admin().get("/api/v1/me"));
    assert_internal_error(app.admin().get("/api/admin/api-keys"));
    assert_internal_error(app.admin().post_empty(&hiring.hire(0)));
    assert_internal_error(app.anonymous().post("/api/auth/sign-in", &json!({ "email": "a@b", "password": "x" })));
    // Without a well-formed credential, the service does not read the file.
    app.anonymous().get("/api/v1/me").refused(401, "unauthorized");
    app.key("rpk_wrong").get("/api/v1/me").refused(401, "unauthorized");
}

fn a_service_with_a_damaged_file_is_alive_but_not_ready() {
    let (app, hiring) = start_damaged();
    assert_internal_error(app.anonymous().get(&hiring.portal()));
    assert_eq!(app.anonymous().get("/healthz").expect(200).text(), "ok\n");
    app.anonymous().get("/").expect(200);
    assert_internal_error(app.anonymous().get("/readyz"));
}

fn writes_are_unavailable_and_change_nothing_while_another_process_holds_the_lock() {
    let app = App::start();
    let hiring = app.hiring();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let state = "SELECT (SELECT group_concat(status) FROM candidate_role_steps),
                        (SELECT group_concat(status) FROM candidate_roles), (SELECT group_concat(status || hired) FROM roles),
                        (SELECT count(*) FROM activities), (SELECT count(*) FROM invitations),
                        (SELECT count(*) FROM readiness)";
    let before = app.sql(state);
    let lock = app.lock();
    let apply = json!({ "roleId": hiring.role_id }).to_string();
    let runner = |client, method, path: &str, body: &str| Runner {
        client,
        method,
        path: path.to_owned(),
        body: body.to_owned(),
    };
    // Each request waits up to 5 s for the lock. The first request waits alone, and the others wait together.
    let answers = race(vec![
        Runner::post(app.key(&secret), &hiring.hire(0)),
        Runner::post(app.key(&secret), &hiring.reject(1)),
        runner(app.key(&secret), "GET", "/api/v1/me", ""),
        runner(app.anonymous(), "POST", &apply_path(&hiring), &apply),
        runner(app.anonymous(), "GET", "/readyz", ""),
    ]);
    lock.release();
    for answer in answers {
        assert_eq!(answer.refused(503, "unavailable").header("retry-after"), Some("1"));
    }
    assert_eq!(app.sql(state), before);
    let usage = app.admin().get(&format!("/api/admin/api-keys/{key_id}/usage")).expect(200).json();
    assert_eq!((&usage["data"]["rows"], &usage["data"]["key"]["requestCount"]), (&json!([]), &json!(0)));
    app.key(&secret).post_empty(&hiring.hire(0)).expect(200);
    app.anonymous().post(&apply_path(&hiring), &json!({ "roleId": hiring.role_id })).expect(200);
    app.anonymous().get("/readyz").expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_refusal_is_replaced_by_unavailable_when_its_usage_row_cannot_be_written() {
    let app = App::start();
    let hiring = app.hiring();
    let (key_id, secret) = app.make_key(&hiring.staff("owner"));
    let scopeless = json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": [] });
    let (scopeless_id, scopeless) = app.make_key_with(&scopeless);
    let none = "/api/v1/candidate-steps/none/reject";
    let long = " ".repeat(128 * 1_024 + 1);
    let requests = || {
        let post = |client, path: &str, body: &str| Runner {
            client,
            method: "POST",
            path: path.to_owned(),
            body: body.to_owned(),
        };
        let get = |client, path: &str| Runner { method: "GET", ..Runner::post(client, path) };
        vec![
            (get(app.key(&secret), "/api/admin/api-keys"), 403, "forbidden"),
            (Runner::post(app.key(&scopeless), &hiring.reject(0)), 403, "insufficient_scope"),
            (post(app.key(&secret), &hiring.reject(0), "[]"), 400, "bad_request"),
            (post(app.key(&secret), &hiring.reject(0), &long), 413, "payload_too_large"),
            (
                post(app.key(&secret).with_header("Content-Type", "text/plain"), &hiring.reject(0), "x"),
                415,
                "unsupported_media_type",
            ),
            (Runner::post(app.key(&secret), none), 404, "not_found"),
            (get(app.admin(), "/api/admin/api-keys/none/usage"), 404, "not_found"),
            (get(app.admin(), "/api/admin/api-keys/none/usage?limit=x"), 400, "validation_error"),
        ]
    };
    let rows = || app.sql("SELECT count(*) FROM api_key_usage");
    let before = rows();
    let lock = app.lock();
    for answer in race(requests().into_iter().map(|(runner, ..)| runner).collect()) {
        answer.refused(503, "unavailable");
    }
    lock.release();
    assert_eq!(rows(), before);
    let count = |id: &str| {
        let usage = app.admin().get(&format!("/api/admin/api-keys/{id}/usage")).expect(200).json();
        usage["data"]["key"]["requestCount"].clone()
    };
    assert_eq!((count(&key_id), count(&scopeless_id)), (json!(0), json!(0)));
    // After the lock is released, the same requests get their own answers and usage rows.
    for (runner, status, code) in requests() {
        race(vec![runner]).remove(0).refused(status, code);
    }
    assert_eq!((count(&key_id), count(&scopeless_id)), (json!(5), json!(1)));
}

/// Asserts that a 503 answer shows the form again with its input. Returns the text of the page.
#[track_caller]
fn assert_form_shown_again(answer: &Answer) -> String {
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.header("retry-after").is_some());
    let text = answer.text();
    assert_eq!(
        (input_value(&text, "name").as_deref(), text_area_value(&text, "note").as_str()),
        (Some("Ada Lovelace"), "Engines")
    );
    text
}

fn a_form_that_cannot_be_stored_is_shown_again_with_its_input() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("note", "Engines");
    // The service stores the attachment before another process locks the database file.
    let text = form.with("name", "").with_file("cv.pdf", b"%PDF-1.7").send(&app).expect(400).text();
    let form = form.with("cvToken", &input_value(&text, "cvToken").unwrap());
    let lock = app.lock();
    let in_words = |tag: &str| assert_form_shown_again(&form.sent_to(&format!("{}?lang={tag}", form.path)).send(&app));
    let text = in_words("en");
    assert!(text.contains("Your application cannot be accepted right now."), "{text}");
    assert!(text.contains("cv.pdf is already uploaded.") && text.contains("value=\"on\" required checked"), "{text}");
    assert!(in_words("de").contains("Ihre Bewerbung kann gerade nicht angenommen werden."));
    lock.release();
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
    let again = Form::from_page(&text, &form.path).with("cvToken", &input_value(&text, "cvToken").unwrap());
    status_path(&again.send(&app));
    assert_eq!(app.sql("SELECT file_name, signup_id IS NOT NULL FROM documents"), ["cv.pdf|1"]);
}

/// Uploads that stall after their head hold the permits of their client address.
fn a_form_without_a_permit_for_its_file_is_shown_again_with_its_input() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring).with("note", "Engines").with_file("cv.pdf", b"%PDF-1.7");
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\
         Content-Type: multipart/form-data; boundary=b\r\n\r\n",
        form.path
    );
    let hold = || {
        let mut connection = connect(&app);
        connection.get_mut().write_all(head.as_bytes()).unwrap();
        // The service asks for the body, so it has granted a permit.
        (read_line(&mut connection) == "HTTP/1.1 100 Continue").then_some(connection)
    };
    let mut held = Vec::new();
    let answer = loop {
        held.push(hold().expect("the previous form was accepted, so a permit is free"));
        let answer = form.send(&app);
        if answer.status != 303 {
            break answer;
        }
    };
    // A form whose file is discarded uses a separate set of permits.
    let text = assert_form_shown_again(&answer);
    assert!(text.contains("Your application cannot be accepted right now."), "{text}");
    assert!(
        text.contains("Your file cannot be accepted right now.") && input_value(&text, "cvToken").is_none(),
        "{text}"
    );
    // When no permit is left, the page explains that the input is not lost.
    held.extend(std::iter::from_fn(hold));
    let text = form.send(&app).expect(503).text();
    assert!(text.contains("go back in your browser: what you entered is still there"), "{text}");
}

fn reads_continue_while_another_process_writes() {
    let app = App::start();
    let hiring = app.hiring();
    let before = app.anonymous().get(&hiring.portal()).expect(200).body;
    let mut other = app.lock();
    other.change("UPDATE roles SET name = 'Half done'");
    assert_eq!(app.anonymous().get(&hiring.portal()).expect(200).body, before);
    app.anonymous().get(&format!("{}/roles/{}", hiring.portal(), hiring.role_id)).expect(200);
    app.anonymous().get("/healthz").expect(200);
    other.commit();
    app.anonymous().get_until(&hiring.portal(), |answer| answer.json()["roles"][0]["name"] == "Half done");
}

/// Opens a separate connection that never sends a request twice.
fn connect(app: &App) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(app.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    BufReader::new(stream)
}

fn read_line(connection: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn a_stopping_service_finishes_requests_in_progress() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "roleId": hiring.role_id }).to_string();
    let mut connection = connect(&app);
    let (path, address, length) = (apply_path(&hiring), app.address, body.len());
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n");
    connection.get_mut().write_all(head.as_bytes()).unwrap();
    // The service asks for the body, so it has started the request.
    assert_eq!(read_line(&mut connection), "HTTP/1.1 100 Continue");
    assert_eq!(read_line(&mut connection), "");
    let client = std::thread::spawn(move || {
        // Once the service accepts no more connections, it has started to stop.
        while TcpStream::connect(address).is_ok() {}
        connection.get_mut().write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    });
    assert_eq!(app.stop(), Stopped::Gracefully);
    let answer = client.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\"inviteUrl\":\""), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("\r\nconnection: close\r\n"), "{answer}");
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["1"]);
}

fn a_stopping_service_closes_idle_connections() {
    let app = App::start();
    let (mut used, mut unused) = (connect(&app), connect(&app));
    used.get_mut().write_all(format!("HEAD / HTTP/1.1\r\nHost: {}\r\n\r\n", app.address).as_bytes()).unwrap();
    assert_eq!(read_line(&mut used), "HTTP/1.1 200 OK");
    while !read_line(&mut used).is_empty() {}
    assert_eq!(app.stop(), Stopped::Gracefully);
    for connection in [&mut used, &mut unused] {
        let mut rest = Vec::new();
        let _ = connection.read_to_end(&mut rest);
        assert_eq!(rest, b"");
    }
}

fn a_stopped_service_leaves_one_file() {
    let app = App::start();
    app.hiring();
    assert_eq!(app.stop(), Stopped::Gracefully);
    // All data is in one file. The write-ahead log is removed or empty.
    let wal = app.path.with_file_name("appliance.db-wal");
    assert!(!wal.exists() || std::fs::metadata(&wal).unwrap().len() == 0);
}

fn a_restarted_service_continues_with_the_stored_data() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user(&hiring.staff("owner"));
    owner.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(app.stop(), Stopped::Gracefully);
    app.start_again();
    owner.post_empty(&hiring.hire(0)).refused(409, "conflict");
    owner.post_empty(&hiring.hire(1)).expect(200);
    assert_eq!(app.check(), Vec::<String>::new());
}
