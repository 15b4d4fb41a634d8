//! Request bodies: the refusals and the accepted forms that all endpoints with a body share.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_body_that_is_not_a_json_object_is_a_bad_request,
    a_repeated_field_at_any_depth_is_a_bad_request,
    a_body_without_a_required_field_is_refused,
    a_body_with_only_optional_fields_can_be_absent,
    unknown_fields_are_ignored,
    every_json_media_type_is_accepted,
    media_types_other_than_json_are_refused,
    the_media_type_of_an_absent_body_is_ignored,
    a_body_over_128_kib_is_refused,
    size_is_checked_before_media_type_and_media_type_before_syntax,
    a_body_is_checked_after_the_credential_and_before_the_resource,
    a_truncated_body_is_a_bad_request,
    requests_with_random_bytes_get_an_answer,
    requests_with_random_fields_get_an_answer,
];

const BYTES_MAX: usize = 128 * 1_024;

/// An endpoint that takes a body.
struct Endpoint {
    name: &'static str,
    client: Client,
    path: String,
    /// A body that the endpoint accepts once.
    good: Value,
    /// Whether every field of the body is optional.
    optional: bool,
}

impl Endpoint {
    fn send(&self, content_type: Option<&str>, body: &[u8]) -> Answer {
        let headers: Vec<(&str, &str)> = content_type.map(|value| ("Content-Type", value)).into_iter().collect();
        self.client.send("POST", &self.path, &headers, body)
    }

    fn json(&self, body: impl AsRef<[u8]>) -> Answer {
        self.send(Some("application/json"), body.as_ref())
    }

    /// Pads the good body to this many bytes with white space before its end.
    fn padded(&self, bytes: usize) -> Vec<u8> {
        let good = self.good.to_string();
        let padding = " ".repeat(bytes - good.len());
        format!("{}{padding}}}", good.strip_suffix('}').unwrap()).into_bytes()
    }
}

/// Returns endpoints that take a body. The decisions are about the `candidate`-th candidate and the next one.
fn endpoints(app: &App, hiring: &Hiring, candidate: usize) -> [Endpoint; 5] {
    let owner = hiring.staff("owner");
    app.set_password(&hiring.email("owner"), "correct horse battery");
    let staff = |name, path, good| Endpoint { name, client: app.user(&owner), path, good, optional: true };
    let open = |name, path: String, good| Endpoint { name, client: app.anonymous(), path, good, optional: false };
    let keys = Endpoint {
        name: "key creation",
        client: app.admin(),
        path: "/api/admin/api-keys".to_owned(),
        good: json!({ "name": "a", "userId": owner }),
        optional: false,
    };
    let password = json!({ "email": hiring.email("owner"), "password": "correct horse battery" });
    [
        staff("reject", hiring.decision(candidate, 0, "reject"), json!({ "outcomeNotes": "a" })),
        staff("hire", hiring.decision((candidate + 1) % 3, 3, "hire"), json!({ "notes": "a" })),
        keys,
        open("apply", format!("{}/apply", hiring.portal()), json!({ "roleId": hiring.role_id })),
        open("sign-in", "/api/auth/sign-in".to_owned(), password),
    ]
}

/// Asserts that the refused requests changed nothing.
fn assert_unchanged(app: &App) {
    let changed = "SELECT count(*) FROM candidate_roles WHERE status <> 'In Progress'";
    assert_eq!(app.sql(changed), ["0"]);
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["0"]);
    assert_eq!(app.sql("SELECT count(*) FROM sessions"), ["0"]);
}

fn a_body_that_is_not_a_json_object_is_a_bad_request() {
    let app = App::start();
    let hiring = app.hiring();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let bodies: [&[u8]; 36] = [
        b"[]",
        b"[{}]",
        b"\"a\"",
        b"null",
        b"true",
        b"7",
        b"-0.5e3",
        b" ",
        b"\r\n",
        b"a",
        b"{",
        b"}",
        b"{\"a\"",
        b"{\"a\":",
        b"{\"a\":1",
        b"{\"a\":1,",
        b"{\"a\":1,}",
        b"{\"a\":\"b",
        b"{a:1}",
        b"{'a':1}",
        b"{\"a\":01}",
        b"{\"a\":+1}",
        b"{\"a\":NaN}",
        b"{\"a\":-Infinity}",
        b"{\"a\":1e999}",
        b"{} {}",
        b"{}x",
        b"{}\0",
        b"{/* a */}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":\"\xff\"}",
        b"{\"a\":\"\xed\xa0\x80\"}",
        b"{\"a\":\"\\ud800\"}",
        b"{\"a\":\"\\udc00\\ud800\"}",
        b"{\"a\":\"\n\"}",
        deep.as_bytes(),
    ];
    for endpoint in endpoints(&app, &hiring, 0) {
        for body in bodies {
            let answer = endpoint.json(body);
            let shown = (endpoint.name, body.escape_ascii().to_string(), answer.text());
            assert_eq!((answer.status, answer.json()["code"].as_str()), (400, Some("bad_request")), "{shown:?}");
            assert_eq!(answer.json().get("errors"), None, "{shown:?}");
        }
    }
    assert_unchanged(&app);
}

fn a_repeated_field_at_any_depth_is_a_bad_request() {
    let app = App::start();
    let hiring = app.hiring();
    for endpoint in endpoints(&app, &hiring, 0) {
        let good = endpoint.good.to_string();
        let inside = good.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap();
        for body in [
            format!("{{{inside},{inside}}}"),
            format!("{{{inside},\"x\":1,\"x\":1}}"),
            format!("{{{inside},\"x\":1,\"\\u0078\":2}}"),
            format!("{{{inside},\"x\":{{\"y\":1,\"y\":1}}}}"),
            format!("{{{inside},\"x\":[[{{\"y\":{{\"z\":null,\"z\":null}}}}]]}}"),
        ] {
            let answer = endpoint.json(&body).refused(400, "bad_request");
            let detail = answer.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains("appears twice"), "{}: {body}: {detail}", endpoint.name);
        }
    }
    assert_unchanged(&app);
}

fn a_body_without_a_required_field_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    for endpoint in endpoints(&app, &hiring, 0).iter().filter(|endpoint| !endpoint.optional) {
        let expected: &[&str] = match endpoint.name {
            "key creation" => &["name", "userId"],
            "apply" => &["roleId"],
            _ => &["email", "password"],
        };
        for body in ["{}", "", "{\"other\":1}"] {
            assert_eq!(endpoint.json(body).refused(400, "validation_error").fields(), expected, "{}", endpoint.name);
        }
        let nulls = expected.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
        let answer = endpoint.json(Value::Object(nulls).to_string()).refused(400, "validation_error");
        assert_eq!(answer.fields(), expected, "{}", endpoint.name);
    }
}

fn a_body_with_only_optional_fields_can_be_absent() {
    let app = App::start();
    // A request can omit all fields in three ways. The test needs an organization for each of them.
    for (send, number) in [0, 1, 2].into_iter().zip(1..) {
        let hiring = app.hiring();
        assert_eq!(hiring.slug, format!("acme-{number}"));
        for endpoint in endpoints(&app, &hiring, 0).iter().filter(|endpoint| endpoint.optional) {
            let answer = match send {
                0 => endpoint.send(None, b""),
                1 => endpoint.json(""),
                _ => endpoint.json("{}"),
            };
            let step = &answer.expect(200).json()["step"];
            let expected = if endpoint.name == "hire" { "validated" } else { "rejected" };
            assert_eq!(step["status"], expected);
        }
    }
}

fn unknown_fields_are_ignored() {
    let app = App::start();
    let hiring = app.hiring();
    let nested = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    for endpoint in endpoints(&app, &hiring, 0) {
        let mut body = endpoint.good.clone();
        body["unknown"] = serde_json::from_str(&nested).unwrap();
        body["status"] = json!("Hired");
        body["\u{0}"] = json!({ "": null, "ä": [1.5, true, "\u{1f980}"] });
        endpoint.json(body.to_string()).expect(200);
    }
}

fn every_json_media_type_is_accepted() {
    let app = App::start();
    for content_type in [
        None,
        Some("application/json"),
        Some("application/json; charset=utf-8"),
        Some("application/json;charset=UTF-8"),
        Some("APPLICATION/JSON"),
        Some("Application/Json ; x=y"),
        Some("application/merge-patch+json"),
        Some("application/vnd.example.v1+json"),
        Some("application/problem+JSON; charset=utf-8"),
    ] {
        let hiring = app.hiring();
        for endpoint in endpoints(&app, &hiring, 0) {
            let answer = endpoint.send(content_type, endpoint.good.to_string().as_bytes());
            assert_eq!(answer.status, 200, "{} {content_type:?}: {}", endpoint.name, answer.text());
        }
    }
}

fn media_types_other_than_json_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    for endpoint in endpoints(&app, &hiring, 0) {
        for content_type in [
            "text/plain",
            "text/json",
            "text/plain; application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=a",
            "application/jsonx",
            "application/x-json",
            "application/+json",
            "application/xml",
            "application",
            "json",
            "*/*",
            "image/svg+json",
            "application/json+xml",
        ] {
            let answer = endpoint.send(Some(content_type), endpoint.good.to_string().as_bytes());
            let shown = (endpoint.name, content_type, answer.text());
            let status_and_code = (answer.status, answer.json()["code"].as_str().map(str::to_owned));
            assert_eq!(status_and_code, (415, Some("unsupported_media_type".to_owned())), "{shown:?}");
        }
    }
    assert_unchanged(&app);
}

fn the_media_type_of_an_absent_body_is_ignored() {
    let app = App::start();
    let hiring = app.hiring();
    for endpoint in endpoints(&app, &hiring, 0) {
        let answer = endpoint.send(Some("text/plain"), b"");
        if endpoint.optional {
            answer.expect(200);
        } else {
            answer.refused(400, "validation_error");
        }
    }
}

fn a_body_over_128_kib_is_refused() {
    let app = App::start();
    for chunked in [false, true] {
        let hiring = app.hiring();
        for endpoint in endpoints(&app, &hiring, 0) {
            let send = |bytes: usize| {
                let body = endpoint.padded(bytes);
                assert_eq!(body.len(), bytes);
                if !chunked {
                    return endpoint.json(body);
                }
                let mut chunks = Vec::new();
                for chunk in body.chunks(10_000) {
                    chunks.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    chunks.extend_from_slice(chunk);
                    chunks.extend_from_slice(b"\r\n");
                }
                chunks.extend_from_slice(b"0\r\n\r\n");
                endpoint.client.send("POST", &endpoint.path, &[("Transfer-Encoding", "chunked")], &chunks)
            };
            send(BYTES_MAX + 1).refused(413, "payload_too_large");
            send(3 * BYTES_MAX).refused(413, "payload_too_large");
            send(BYTES_MAX).expect(200);
        }
    }
}

fn size_is_checked_before_media_type_and_media_type_before_syntax() {
    let app = App::start();
    let hiring = app.hiring();
    for endpoint in endpoints(&app, &hiring, 0) {
        endpoint.send(Some("text/plain"), &vec![b'x'; BYTES_MAX + 1]).refused(413, "payload_too_large");
        endpoint.send(Some("application/json"), &vec![b'x'; BYTES_MAX + 1]).refused(413, "payload_too_large");
        endpoint.send(Some("text/plain"), &vec![b'x'; BYTES_MAX]).refused(415, "unsupported_media_type");
        endpoint.send(Some("application/json"), &vec![b'x'; BYTES_MAX]).refused(400, "bad_request");
    }
}

fn a_body_is_checked_after_the_credential_and_before_the_resource() {
    let app = App::start();
    let hiring = app.hiring();
    let large = vec![b'x'; BYTES_MAX + 1];
    for path in [hiring.hire(0), hiring.reject(0), "/api/admin/api-keys".to_owned()] {
        for body in [&b"{"[..], &large] {
            app.anonymous().send("POST", &path, &[("Content-Type", "text/plain")], body).refused(401, "unauthorized");
        }
    }
    let scopeless = app.make_key_with(&json!({ "name": "a", "userId": hiring.staff("owner"), "scopes": [] })).1;
    app.key(&scopeless).send("POST", &hiring.hire(0), &[], &large).refused(403, "insufficient_scope");
    let owner = app.user(&hiring.staff("owner"));
    owner.send("POST", "/api/admin/api-keys", &[], &large).refused(403, "forbidden");
    let member = app.user(&hiring.staff("member"));
    for decision in ["hire", "reject"] {
        let none = format!("/api/v1/candidate-steps/none/{decision}");
        owner.send("POST", &none, &[], b"{").refused(400, "bad_request");
        owner.send("POST", &none, &[("Content-Type", "text/plain")], b"{}").refused(415, "unsupported_media_type");
        owner.send("POST", &none, &[], b"{}").refused(404, "not_found");
        member.send("POST", &hiring.decision(0, 1, decision), &[], b"{").refused(400, "bad_request");
        member.send("POST", &hiring.decision(0, 1, decision), &[], b"{}").refused(403, "forbidden");
    }
    app.anonymous().send("POST", "/api/public/portal/none/apply", &[], b"[]").refused(400, "bad_request");
    app.anonymous().send("POST", "/api/public/portal/none/apply", &[], b"{}").refused(400, "validation_error");
}

fn a_truncated_body_is_a_bad_request() {
    let app = App::start();
    let hiring = app.hiring();
    let key = app.make_key(&hiring.staff("owner")).1;
    for (path, authorization) in [
        (hiring.hire(0), format!("Authorization: Bearer {key}\r\n")),
        (hiring.reject(0), format!("Authorization: Bearer {key}\r\n")),
        ("/api/admin/api-keys".to_owned(), format!("Authorization: Bearer {}\r\n", app.admin_secret())),
        (format!("{}/apply", hiring.portal()), String::new()),
        ("/api/auth/sign-in".to_owned(), String::new()),
    ] {
        // The bytes that arrive can form a complete object. The service must not treat that object as the body.
        for body in ["", "{}", "{\"roleId\":"] {
            let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\n{authorization}Content-Length: 20\r\n\r\n");
            let answer = app.anonymous().raw_to_end(format!("{head}{body}").as_bytes());
            let text = String::from_utf8_lossy(&answer);
            assert!(text.starts_with("HTTP/1.1 400 "), "{path} {body}: {text}");
            assert!(text.contains("\"code\":\"bad_request\""), "{path} {body}: {text}");
        }
    }
    assert_unchanged(&app);
}

/// Sends generated bodies to every endpoint. `Client` checks that each refusal is a problem document.
fn try_bodies(cases: u32, bodies: impl Strategy<Value = Vec<u8>>) {
    let app = App::start();
    let hiring = app.hiring();
    let endpoints = endpoints(&app, &hiring, 0);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let tried = TestRunner::new(config).run(&bodies, |body| {
        for endpoint in &endpoints {
            let answer = endpoint.json(&body);
            let known: &[u16] = match endpoint.name {
                "reject" | "hire" => &[200, 400, 409],
                "key creation" | "apply" => &[200, 400, 404],
                _ => &[200, 400, 401, 429],
            };
            assert!(known.contains(&answer.status), "{}: {}: {}", endpoint.name, body.escape_ascii(), answer.text());
        }
        Ok(())
    });
    tried.unwrap();
    assert_eq!(app.check(), Vec::<String>::new());
}

fn requests_with_random_bytes_get_an_answer() {
    try_bodies(96, prop::collection::vec(any::<u8>(), 0..300));
}

fn requests_with_random_fields_get_an_answer() {
    let names = [
        "outcomeNotes",
        "outcomeType",
        "outcomeReason",
        "notes",
        "hiredDate",
        "offerAcceptedDate",
        "externalPositionId",
        "name",
        "userId",
        "expiresInDays",
        "scopes",
        "roleId",
        "locale",
        "email",
        "password",
        "unknown",
    ];
    let text = prop_oneof![
        any::<String>(),
        Just("role_1".to_owned()),
        Just("user_1_owner".to_owned()),
        Just("owner@org-1.example".to_owned()),
        Just("2026-11-21".to_owned()),
        Just("9999-12-31T23:59:59.999999-23:59".to_owned()),
        Just("a".repeat(300)),
        Just("\u{0}".to_owned()),
    ];
    let leaf = prop_oneof![
        4 => text.prop_map(Value::String),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        2 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(|number| json!(number)),
    ];
    let value = prop_oneof![6 => leaf.clone(), 1 => prop::collection::vec(leaf, 0..4).prop_map(Value::Array)];
    let member = (prop::sample::select(names.to_vec()), value);
    let object = prop::collection::vec(member, 0..8).prop_map(|members| {
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::Object(members.collect()).to_string().into_bytes()
    });
    try_bodies(192, object);
}
