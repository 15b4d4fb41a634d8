//! `POST /api/public/signup/{token}`: applying through the API, for sites with their own form.

use serde_json::{Value, json};

use crate::support::app::Options;
use crate::support::signup::{Form, signup_path};
use crate::support::{Answer, App};

crate::tests![
    applying_returns_the_status_link,
    the_link_starts_with_the_base_url,
    the_sent_values_are_stored,
    a_multipart_form_with_a_file_is_accepted,
    all_validation_errors_are_reported_together,
    a_value_of_a_wrong_type_is_refused,
    values_at_a_limit_are_accepted_and_values_beyond_it_are_refused,
    a_refused_file_is_reported_with_its_field,
    the_language_comes_from_the_locale_field_or_the_request,
    each_request_gets_its_own_status_link,
    a_dead_link_is_refused,
    a_body_that_is_neither_json_nor_a_form_is_refused,
    any_origin_may_apply,
    neither_a_cookie_nor_a_form_signature_is_needed,
    requests_with_an_unsupported_method_get_405_with_an_allow_field,
];

fn api(app: &App, hiring: &crate::support::Hiring) -> String {
    format!("/api/public{}", signup_path(app, hiring))
}

fn body() -> Value {
    json!({ "name": "Ada Lovelace", "email": "ada@example.org", "consent": true })
}

/// Returns the body with this field.
fn with(name: &str, value: Value) -> Value {
    let mut body = body();
    body[name] = value;
    body
}

/// Returns a form with the required fields and these fields. The API accepts forms as well as JSON.
fn form(path: &str, fields: &[(&str, &str)]) -> Form {
    let form = Form::from_page("<input name=\"form\" value=\"\">", path).without("form");
    fields.iter().fold(form, |form, (name, value)| form.with_another(name, value))
}

fn applying_returns_the_status_link() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = app.anonymous().post(&api(&app, &hiring), &body()).expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("set-cookie"), None);
    let answer_json = answer.json();
    let url = answer_json["data"]["statusUrl"].as_str().unwrap();
    let token = url.strip_prefix(&format!("http://{}/status/", app.address)).unwrap();
    assert_eq!(token.len(), 43);
    assert_eq!(answer_json, json!({ "success": true, "data": { "statusUrl": url } }));
    assert_eq!(app.sql("SELECT count(*) FROM status_pages WHERE candidate_role_id IS NOT NULL"), ["1"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_link_starts_with_the_base_url() {
    let app = App::with(Options { base_url: Some("https://jobs.example.com".to_owned()), ..Options::default() });
    let hiring = app.hiring();
    let answer_json = app.anonymous().post(&api(&app, &hiring), &body()).expect(200).json();
    assert!(
        answer_json["data"]["statusUrl"].as_str().unwrap().starts_with("https://jobs.example.com/status/"),
        "{answer_json}"
    );
}

fn the_sent_values_are_stored() {
    let app = App::start();
    let hiring = app.hiring();
    let mut body = with("links", json!([" https://a.example ", "", "http://b.example"]));
    body["name"] = json!(" Ada <b>Lovelace</b> ");
    body["phone"] = json!("+44");
    body["note"] = json!("One\r\n\ttwo\n");
    body["more"] = json!([1]);
    app.anonymous().post(&api(&app, &hiring), &body).expect(200);
    assert_eq!(
        app.sql("SELECT name, email, phone, links, note, locale FROM signups"),
        ["Ada <b>Lovelace</b>|ada@example.org|+44|[\"https://a.example\",\"http://b.example\"]|One\n two|en"]
    );
}

fn a_multipart_form_with_a_file_is_accepted() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    let sent = form(&path, &[("links", "https://a.example\nhttps://b.example"), ("links", "https://c.example")]);
    let answer = sent.with_another("locale", "de-CH").with_file("cv.pdf", b"%PDF-1.7\n").send(&app).expect(200);
    assert!(answer.json()["data"]["statusUrl"].is_string());
    assert_eq!(
        app.sql("SELECT s.links, s.locale, d.file_name FROM signups s JOIN documents d ON d.signup_id = s.id"),
        ["[\"https://a.example\",\"https://b.example\",\"https://c.example\"]|de-CH|cv.pdf"]
    );
    let sent = form(&path, &[]).with("email", "b@example.org").with("consent", "true");
    sent.send_urlencoded(&app).expect(200);
    let sent = form(&path, &[]).with("email", "c@example.org").with("name", "x").with_another("name", "y");
    let refused = sent.with("consent", "yes").send(&app).refused(400, "validation_error");
    assert_eq!(refused.fields(), ["name", "consent"]);
}

fn all_validation_errors_are_reported_together() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    let refused = |body: Value| app.anonymous().post(&path, &body).refused(400, "validation_error");
    assert_eq!(refused(json!({})).fields(), ["name", "email", "consent"]);
    assert_eq!(
        app.anonymous().post_empty(&path).refused(400, "validation_error").fields(),
        ["name", "email", "consent"]
    );
    let all = json!({
        "name": " ", "email": "ada", "phone": "\u{7}", "links": ["ada.example"], "note": "\u{0}", "consent": false,
        "locale": "en_US"
    });
    let answer = refused(all);
    assert_eq!(answer.fields(), ["name", "email", "phone", "links", "note", "consent", "locale"]);
    let answer_json = answer.json();
    let details: Vec<&str> =
        answer_json["errors"].as_array().unwrap().iter().map(|error| error["detail"].as_str().unwrap()).collect();
    assert_eq!(
        details,
        [
            "is required",
            "must be an email address",
            "must have no control character (U+0007)",
            "must be http:// or https:// addresses with a host, and without a user name or spaces",
            "must have no NUL character (U+0000)",
            "is required",
            "must be a language tag such as en, de-CH or zh-Hant",
        ]
    );
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
}

fn a_value_of_a_wrong_type_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    for (name, values) in [
        ("name", vec![json!(5), json!(["Ada"]), json!({}), json!(true)]),
        ("email", vec![json!(5), json!(["ada@example.org"])]),
        ("phone", vec![json!(44), json!([])]),
        ("links", vec![json!("https://a.example"), json!([1]), json!({}), json!([["https://a.example"]])]),
        ("note", vec![json!(false), json!([])]),
        ("consent", vec![json!("on"), json!("true"), json!(1), json!([true])]),
        ("locale", vec![json!(5), json!([])]),
    ] {
        for value in values {
            let answer = app.anonymous().post(&path, &with(name, value.clone())).refused(400, "validation_error");
            assert_eq!(answer.fields(), [name], "{value}");
        }
    }
    for name in ["phone", "links", "note", "locale"] {
        app.anonymous().post(&path, &with(name, Value::Null)).expect(200);
    }
    for name in ["name", "email", "consent"] {
        app.anonymous().post(&path, &with(name, Value::Null)).refused(400, "validation_error");
    }
}

fn values_at_a_limit_are_accepted_and_values_beyond_it_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    let long = |count: usize| "ä".repeat(count);
    for (name, most, more) in [
        ("name", json!(long(255)), json!(long(256))),
        ("email", json!(format!("{}@b", long(252))), json!(format!("{}@b", long(253)))),
        ("phone", json!(long(50)), json!(long(51))),
        ("links", json!(vec!["https://a"; 5]), json!(vec!["https://a"; 6])),
        ("links", json!([format!("https://{}", long(492))]), json!([format!("https://{}", long(493))])),
        ("note", json!(long(5_000)), json!(long(5_001))),
        ("locale", json!(format!("en{}", "-abcdefg".repeat(31))), json!(format!("en{}", "-abcdefg".repeat(32)))),
    ] {
        app.anonymous().post(&path, &with(name, most)).expect(200);
        let answer = app.anonymous().post(&path, &with(name, more)).refused(400, "validation_error");
        assert_eq!(answer.fields(), [name]);
    }
}

fn a_refused_file_is_reported_with_its_field() {
    let app = App::start();
    let hiring = app.hiring();
    let form = form(&api(&app, &hiring), &[]);
    for content in [&b"MZ\0"[..], b""] {
        let answer = form.with("name", "").with_file("cv.pdf", content).send(&app).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["name", "cv"]);
    }
    let large = vec![b' '; 10 * 1_024 * 1_024 + 1];
    form.with_file("cv.txt", &large).send(&app).refused(413, "payload_too_large");
    assert_eq!(app.sql("SELECT count(*) FROM documents"), ["0"]);
}

fn the_language_comes_from_the_locale_field_or_the_request() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    for (number, (locale, query, accepted, expected)) in [
        (json!("fr-CA"), "", "de", "fr-CA"),
        (json!("gsw"), "", "de", "gsw"),
        (Value::Null, "", "de-AT, en", "de"),
        (Value::Null, "?locale=es", "de", "es"),
        (Value::Null, "", "", "en"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = with("locale", locale);
        body["email"] = json!(format!("{number}@example.org"));
        let client = app.anonymous().with_header("Accept-Language", accepted);
        client.post(&format!("{path}{query}"), &body).expect(200);
        assert_eq!(app.sql("SELECT locale FROM signups ORDER BY number DESC LIMIT 1"), [expected]);
    }
}

fn each_request_gets_its_own_status_link() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    let urls: Vec<Value> =
        (0..3).map(|_| app.anonymous().post(&path, &body()).expect(200).json()["data"]["statusUrl"].take()).collect();
    assert!(urls[0] != urls[1] && urls[1] != urls[2] && urls[0] != urls[2], "{urls:?}");
    assert_eq!(app.sql("SELECT count(candidate_role_id), count(*) FROM signups"), ["1|3"]);
}

fn a_dead_link_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    let post = || -> Answer { app.anonymous().post(&path, &body()) };
    for token in ["nothing", "%00", "%3Cscript%3E"] {
        let path = format!("/api/public/signup/{token}");
        app.anonymous().post(&path, &body()).refused(404, "not_found");
    }
    app.change("UPDATE organizations SET portal_enabled = 0");
    post().refused(404, "not_found");
    app.change("UPDATE organizations SET portal_enabled = 1; UPDATE roles SET public = 0");
    post().refused(404, "not_found");
    app.change("UPDATE roles SET public = 1");
    app.pass(30 * 86_400);
    let expired = post().refused(410, "gone").json();
    assert!(expired["detail"].as_str().unwrap().contains("has expired"), "{expired}");
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.post(&format!("{}/close", hiring.role()), &json!({ "reason": "found" })).expect(200);
    let closed = post().refused(410, "gone").json();
    assert!(closed["detail"].as_str().unwrap().contains("no longer accepts applications"), "{closed}");
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
}

fn a_body_that_is_neither_json_nor_a_form_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    let send =
        |content_type: &str, body: &[u8]| app.anonymous().send("POST", &path, &[("Content-Type", content_type)], body);
    send("text/plain", b"{}").refused(415, "unsupported_media_type");
    for body in [&b"{"[..], b"[]", b"null", b"\"a\"", b"{\"name\":\"a\",\"name\":\"b\"}", b"\xff"] {
        send("application/json", body).refused(400, "bad_request");
    }
    send("multipart/form-data; boundary=x", b"no form").refused(400, "bad_request");
    let large = format!("{{\"note\":\"{}\"}}", "a".repeat(128 * 1_024));
    send("application/json", large.as_bytes()).refused(413, "payload_too_large");
}

fn any_origin_may_apply() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    let origin = ("Origin", "https://acme.example");
    let preflight = app.anonymous().send(
        "OPTIONS",
        &path,
        &[origin, ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "content-type")],
        b"",
    );
    let preflight = preflight.expect(204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert_eq!(preflight.header("access-control-allow-methods"), Some("POST, OPTIONS"));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("Content-Type"));
    let answer = app.anonymous().with_header("Origin", "https://acme.example").post(&path, &body()).expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
}

fn neither_a_cookie_nor_a_form_signature_is_needed() {
    let app = App::start();
    let hiring = app.hiring();
    let path = api(&app, &hiring);
    let sent = form(&path, &[("homepage", "https://a.example"), ("form", "x"), ("cvToken", "x")]);
    sent.send(&app).expect(200);
    let cookie = format!("applied_{}=x", hiring.role_id);
    app.anonymous().with_header("Cookie", &cookie).post(&path, &body()).expect(200);
}

fn requests_with_an_unsupported_method_get_405_with_an_allow_field() {
    let app = App::start();
    let hiring = app.hiring();
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let answer = app.anonymous().send(method, &api(&app, &hiring), &[], b"").expect(405);
        assert_eq!(answer.header("allow"), Some("POST, OPTIONS"), "{method}");
    }
}
