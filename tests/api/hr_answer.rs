//! Answers of HR systems, and HR systems that do not answer. An answer other than a success makes the attempt fail, and
//! the attempt records the status, the reason or both. The status 410 also disables the integration.

use std::time::Duration;

use serde_json::{Value, json};

use crate::hr_send::{SHORT, after_attempts, assert_failed, delivering, hire, hire_for, integrate};
use crate::support::app::Hr;
use crate::support::{Behaviour, Receiver};

crate::tests![
    an_attempt_fails_with_the_status_of_an_answer_other_than_2xx,
    a_redirect_is_not_followed,
    the_final_answer_after_informational_answers_decides_the_outcome,
    an_attempt_with_an_invalid_answer_fails_and_its_error_says_why,
    an_attempt_with_a_truncated_answer_fails,
    an_attempt_with_an_answer_body_over_64_kib_fails,
    an_attempt_fails_if_the_answer_has_more_than_256_fields_or_a_very_long_field,
    an_attempt_with_a_slow_answer_times_out,
    an_endless_answer_is_cut_off_before_its_timeout,
    a_410_to_a_ping_does_not_change_an_integration_that_an_admin_disabled,
    a_stored_url_that_is_now_invalid_can_be_read_and_replaced,
];

/// The case's name, the target's behaviour, the expected status of the attempt, and a part of the expected error. An
/// empty part means no error.
type Case = (&'static str, Behaviour, Option<u16>, &'static str);

fn raw(text: &str) -> Behaviour {
    Behaviour::Raw(text.as_bytes().to_vec())
}

/// Asserts that the first attempt of each case fails as the case states, while the service continues to answer, and
/// that the second attempt sends the same message and succeeds. All cases run at the same time.
fn assert_each_fails(timeout: Duration, cases: Vec<Case>) {
    let app = delivering(Hr { timeout, ..Hr::default() });
    let mut sent = Vec::new();
    for (name, behaviour, status, error) in cases {
        let receiver = Receiver::start();
        receiver.will([behaviour, Behaviour::status(204)]);
        sent.push((hire_for(&app, &receiver.url("/")), receiver, name, status, error));
    }
    for (id, _, name, status, error) in &sent {
        assert_failed(name, &after_attempts(&app, id, 1), *status, error);
    }
    app.anonymous().get("/readyz").expect(200);
    app.pass(6);
    for (id, receiver, name, ..) in &sent {
        let delivery = after_attempts(&app, id, 2);
        assert_eq!(
            (&delivery["state"], &delivery["lastAttempt"]["error"]),
            (&json!("delivered"), &Value::Null),
            "{name}"
        );
        let seen = receiver.seen();
        assert_eq!((seen.len(), seen[0].id(), &seen[0].body), (2, id.as_str(), &seen[1].body), "{name}");
        assert_eq!(seen[1].id(), id, "{name}");
    }
}

/// Asserts that each of these answers makes the delivery succeed at the first attempt.
fn assert_each_delivers(cases: Vec<(&'static str, Behaviour)>) {
    let app = delivering(Hr::default());
    for (name, behaviour) in cases {
        let receiver = Receiver::start();
        receiver.will([behaviour]);
        let delivery = after_attempts(&app, &hire_for(&app, &receiver.url("/")), 1);
        assert_eq!(
            (&delivery["state"], &delivery["lastAttempt"]["error"]),
            (&json!("delivered"), &Value::Null),
            "{name}"
        );
    }
}

fn an_attempt_fails_with_the_status_of_an_answer_other_than_2xx() {
    let mut cases: Vec<Case> = [400, 401, 404, 418, 429, 500, 503, 599, 600, 999]
        .into_iter()
        .map(|status| ("a status", Behaviour::status(status), Some(status), ""))
        .collect();
    cases.push(("a change of protocol", raw("HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n"), Some(101), ""));
    assert_each_fails(Hr::default().timeout, cases);
}

fn a_redirect_is_not_followed() {
    let elsewhere = Receiver::start();
    let redirect = |status| {
        let location = vec![("Location", elsewhere.url("/"))];
        ("a redirect", Behaviour::Answer(status, location, Vec::new()), Some(status), "redirects are not followed")
    };
    assert_each_fails(Hr::default().timeout, [300, 301, 302, 303, 304, 307, 308].map(redirect).to_vec());
    assert_eq!(elsewhere.connections(), 0);
}

fn the_final_answer_after_informational_answers_decides_the_outcome() {
    assert_each_delivers(vec![
        ("100", raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 X\r\n\r\n")),
        ("103", raw("HTTP/1.1 103 X\r\nLink: </x>\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok")),
        ("199", raw("HTTP/1.1 199 X\r\n\r\nHTTP/1.1 299 X\r\nContent-Length: 0\r\n\r\n")),
        ("an old version", raw("HTTP/1.0 200 OK\r\n\r\nok")),
        ("a body that ends with the connection", raw("HTTP/1.1 200 OK\r\n\r\nok")),
    ]);
}

fn an_attempt_with_an_invalid_answer_fails_and_its_error_says_why() {
    let no_response = |name, behaviour| (name, behaviour, None, "no response: ");
    assert_each_fails(
        Hr::default().timeout,
        vec![
            no_response("hanging up", Behaviour::HangUp),
            no_response("199 and no more", raw("HTTP/1.1 199 X\r\n\r\n")),
            no_response("100 and no more", raw("HTTP/1.1 100 Continue\r\n\r\n")),
            no_response("a line", raw("hello\r\n")),
            no_response("bytes", Behaviour::Raw((0..=255).collect())),
            no_response("zeros", Behaviour::Raw(vec![0; 100_000])),
            no_response("another protocol", raw("SSH-2.0-OpenSSH_9.6\r\n")),
            no_response("HTTP/2", Behaviour::Raw(b"\0\0\0\x04\0\0\0\0\0".to_vec())),
            no_response("a page", raw("<html>hello</html>\r\n\r\n")),
            no_response("an invalid version", raw("HTTP/9.9 200 OK\r\n\r\n")),
            no_response("an invalid status", raw("HTTP/1.1 099 X\r\n\r\n")),
            no_response("a status in words", raw("HTTP/1.1 fine X\r\n\r\n")),
            no_response("a status of four digits", raw("HTTP/1.1 2000 X\r\n\r\n")),
            no_response("a length in words", raw("HTTP/1.1 200 X\r\nContent-Length: two\r\n\r\nok")),
            no_response("two lengths", raw("HTTP/1.1 200 X\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!")),
            no_response("a field without a colon", raw("HTTP/1.1 200 X\r\nno colon\r\n\r\n")),
            no_response("half a head", raw("HTTP/1.1 200 X\r\nServer: x")),
        ],
    );
}

fn an_attempt_with_a_truncated_answer_fails() {
    let ended_early = |name, text| (name, raw(text), Some(200), "the response ended early: ");
    let chunked = |then: &[u8]| {
        let head = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        Behaviour::Forever(head, then.to_vec(), Duration::ZERO)
    };
    assert_each_fails(
        Hr::default().timeout,
        vec![
            ended_early("no body", "HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n"),
            ended_early("half a body", "HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nhalf"),
            ended_early("no last chunk", "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
            ended_early("an invalid chunk", "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nhalf\r\n"),
            ("a chunk's endless extension", chunked(b"1;"), Some(200), "the response ended early: "),
            ("endless trailers", chunked(b"0\r\na: b\r\n"), Some(200), "the response ended early: "),
        ],
    );
}

fn an_attempt_with_an_answer_body_over_64_kib_fails() {
    let answer_of = |length: usize| Behaviour::Answer(200, Vec::new(), vec![b'x'; length]);
    let chunked = |length: usize| {
        raw(&format!(
            "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{}\r\n0\r\n\r\n",
            "x".repeat(length)
        ))
    };
    let endless = |head: &str, then: String| {
        Behaviour::Forever(format!("HTTP/1.1 200 X\r\n{head}\r\n").into_bytes(), then.into_bytes(), Duration::ZERO)
    };
    let too_long = |name, behaviour| (name, behaviour, Some(200), "the body of the response is longer than 64 KiB");
    assert_each_delivers(vec![("64 KiB", answer_of(65_536)), ("64 KiB in a chunk", chunked(65_536))]);
    let chunks = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
    assert_each_fails(
        Hr::default().timeout,
        vec![
            too_long("a byte more", answer_of(65_537)),
            too_long("a byte more in a chunk", chunked(65_537)),
            too_long("a gigabyte", Behaviour::Endless),
            too_long("endless chunks", endless("Transfer-Encoding: chunked\r\n", chunks)),
            too_long("endless without a length", endless("", "x".repeat(16_384))),
        ],
    );
}

fn an_attempt_fails_if_the_answer_has_more_than_256_fields_or_a_very_long_field() {
    let answer_of = |fields: usize| {
        let fields: String = (1..fields).map(|nth| format!("X-{nth}: x\r\n")).collect();
        raw(&format!("HTTP/1.1 200 X\r\n{fields}Content-Length: 0\r\n\r\n"))
    };
    let of_bytes =
        |bytes: usize| raw(&format!("HTTP/1.1 200 X\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(bytes)));
    let endless = Behaviour::Forever(b"HTTP/1.1 200 X\r\n".to_vec(), b"X: x\r\n".to_vec(), Duration::ZERO);
    assert_each_delivers(vec![("256 fields", answer_of(256)), ("60 KB", of_bytes(60_000))]);
    assert_each_fails(
        Hr::default().timeout,
        vec![
            ("257 fields", answer_of(257), None, "no response: "),
            ("300 fields", answer_of(300), None, "no response: "),
            ("a field of 200 KB", of_bytes(200_000), None, "no response: "),
            ("endless fields", endless, None, "no response: "),
        ],
    );
}

fn an_attempt_with_a_slow_answer_times_out() {
    let stalling = |text: &str, then: &str, millis| {
        Behaviour::Forever(text.as_bytes().to_vec(), then.as_bytes().to_vec(), Duration::from_millis(millis))
    };
    let (whole, body) =
        ("timed out after 3s before the response was complete", "timed out after 1s while reading the body");
    assert_each_fails(
        SHORT,
        vec![
            ("silence", Behaviour::Silence, None, whole),
            ("a byte a second", Behaviour::Drip(Duration::from_secs(1)), None, whole),
            ("a field every 100 ms", stalling("HTTP/1.1 200 X\r\n", "X: x\r\n", 100), None, whole),
            ("100 and then silence", stalling("HTTP/1.1 100 X\r\n\r\n", "", 60_000), None, whole),
            ("no body", stalling("HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n", "", 60_000), Some(200), body),
            (
                "a body byte by byte",
                stalling("HTTP/1.1 200 X\r\nContent-Length: 9999\r\n\r\n", "x", 100),
                Some(200),
                body,
            ),
            ("no end", stalling("HTTP/1.1 200 X\r\n\r\n", "x", 100), Some(200), body),
            ("an error byte by byte", stalling("HTTP/1.1 500 X\r\n\r\n", "x", 100), Some(500), body),
        ],
    );
}

fn an_endless_answer_is_cut_off_before_its_timeout() {
    let app = delivering(Hr { timeout: Duration::from_secs(9), ..Hr::default() });
    let chunked = "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut timed_out = Vec::new();
    for (name, first, then) in [
        ("informational answers", "", "HTTP/1.1 100 X\r\n\r\n"),
        ("zeros before a chunk's length", chunked, "0"),
        ("spaces after a chunk's length", &format!("{chunked}1"), " "),
    ] {
        let receiver = Receiver::start();
        let then = then.repeat(4_096).into_bytes();
        receiver.will([Behaviour::Forever(first.as_bytes().to_vec(), then, Duration::ZERO), Behaviour::status(204)]);
        let id = hire_for(&app, &receiver.url("/"));
        let attempt = after_attempts(&app, &id, 1)["lastAttempt"].clone();
        if attempt["error"].as_str().unwrap().contains("timed out") {
            timed_out.push(format!("{name}: {} after {} ms", attempt["error"], attempt["durationMs"]));
        }
        app.pass(6);
        assert_eq!(after_attempts(&app, &id, 2)["state"], "delivered", "{name}");
    }
    // A worker that continued to read would occupy the one thread that all deliveries share.
    assert_eq!(timed_out, [] as [String; 0]);
}

fn a_410_to_a_ping_does_not_change_an_integration_that_an_admin_disabled() {
    let app = delivering(Hr::default());
    let (hiring, receiver) = (app.hiring(), Receiver::start());
    receiver.will([Behaviour::status(410)]);
    integrate(&app, &hiring.organization_id, &receiver.url("/"), false);
    let path = format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    let ping = app.admin().post_empty(&format!("{path}/test")).expect(202).json();
    assert_eq!(after_attempts(&app, ping["data"]["id"].as_str().unwrap(), 1)["state"], "failed");
    let integration = app.admin().get(&path).expect(200).json();
    assert_eq!(integration["data"]["disabledReason"], Value::Null);
    let rotated = app.admin().put(&path, &json!({ "url": receiver.url("/"), "rotateSecret": true })).expect(200);
    assert_eq!(rotated.json()["data"]["enabled"], false);
}

fn a_stored_url_that_is_now_invalid_can_be_read_and_replaced() {
    let app = delivering(Hr::default());
    let (hiring, receiver) = (app.hiring(), Receiver::start());
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    let old = "http://hr.example/<hooks>";
    app.change(&format!("UPDATE hr_integrations SET url = '{old}'"));
    let path = format!("/api/admin/organizations/{}/hr-integration", hiring.organization_id);
    assert_eq!(app.admin().get(&path).expect(200).json()["data"]["url"], old);
    app.admin().put(&path, &json!({ "url": old })).refused(400, "validation_error");
    let id = hire(&app, &hiring, 0);
    assert_failed("an old URL", &after_attempts(&app, &id, 1), None, "a request cannot contain");
    app.admin().put(&path, &json!({ "url": receiver.url("/") })).expect(200);
    assert_eq!(after_attempts(&app, &id, 2)["state"], "delivered");
}
