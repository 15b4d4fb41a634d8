//! `POST /api/public/portal/{orgSlug}/apply`: the signup link of a role, and when it is reused or replaced.

use std::time::Duration;

use serde_json::{Value, json};

use crate::portal::add_role;
use crate::support::app::Options;
use crate::support::race::{Runner, race};
use crate::support::{Answer, App, Hiring};

crate::tests![
    the_answer_has_only_the_signup_link,
    the_link_starts_with_the_base_url,
    a_token_has_enough_randomness,
    the_link_has_the_given_locale_or_en,
    a_locale_that_is_not_a_language_tag_is_refused,
    a_missing_or_blank_role_id_is_refused,
    all_validation_errors_are_reported_together,
    the_body_is_checked_before_the_portal,
    a_body_that_is_not_a_json_object_is_a_bad_request,
    media_types_other_than_json_are_refused,
    a_body_over_128_kib_is_refused,
    unknown_fields_are_ignored,
    unknown_and_disabled_portals_are_not_found,
    a_role_that_accepts_no_applications_is_not_found,
    a_link_is_reused_for_every_locale,
    a_link_is_reused_while_at_least_seven_days_are_left,
    an_expired_link_is_replaced,
    a_role_reopened_by_a_reversal_gets_a_new_link,
    each_role_has_its_own_link,
    a_link_survives_a_restart,
    concurrent_requests_get_one_link,
    credentials_are_ignored,
    requesting_a_link_changes_nothing_else,
];

const DAY: u64 = 86_400;

pub(crate) fn apply_path(hiring: &Hiring) -> String {
    format!("{}/apply", hiring.portal())
}

fn post(app: &App, hiring: &Hiring, body: &Value) -> Answer {
    app.anonymous().post(&apply_path(hiring), body)
}

fn post_bytes(app: &App, hiring: &Hiring, content_type: &str, body: &[u8]) -> Answer {
    app.anonymous().send("POST", &apply_path(hiring), &[("Content-Type", content_type)], body)
}

/// Requests a signup link for this role and returns it.
fn link(app: &App, hiring: &Hiring, role_id: &str) -> String {
    let answer = post(app, hiring, &json!({ "roleId": role_id })).expect(200);
    answer.json()["inviteUrl"].as_str().unwrap().to_owned()
}

/// Returns the path of the signup link of the organization's role.
pub(crate) fn signup_path(app: &App, hiring: &Hiring) -> String {
    path_of(&link(app, hiring, &hiring.role_id))
}

fn path_of(link: &str) -> String {
    let (_, rest) = link.split_once("/signup/").unwrap();
    format!("/signup/{}", rest.split('?').next().unwrap())
}

fn the_answer_has_only_the_signup_link() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = post(&app, &hiring, &json!({ "roleId": hiring.role_id })).expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = answer.json();
    let link = body["inviteUrl"].as_str().unwrap();
    let token = link.strip_prefix(&format!("http://{}/signup/", app.address)).unwrap();
    let token = token.strip_suffix("?locale=en").unwrap();
    assert_eq!(app.sql("SELECT token, role_id FROM invitations"), [format!("{token}|{}", hiring.role_id)]);
    assert_eq!(body, json!({ "inviteUrl": link }));
}

fn the_link_starts_with_the_base_url() {
    let options = Options { base_url: Some("https://jobs.example.com".to_owned()), ..Options::default() };
    let app = App::with(options);
    let hiring = app.hiring();
    let evil = app.anonymous().with_header("X-Forwarded-Host", "evil.example");
    let answer = evil.post(&apply_path(&hiring), &json!({ "roleId": hiring.role_id })).expect(200);
    let link = answer.json()["inviteUrl"].as_str().unwrap().to_owned();
    assert!(link.starts_with("https://jobs.example.com/signup/"), "{link}");
}

fn a_token_has_enough_randomness() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let token = path.strip_prefix("/signup/").unwrap();
    assert!(token.bytes().all(|byte| b"0123456789abcdefghjkmnpqrstvwxyz".contains(&byte)), "{token}");
    // The token has 160 random bits: 26 characters encode the first 16 bytes, and 7 characters the last 4.
    assert_eq!(token.len(), 33);
}

fn the_link_has_the_given_locale_or_en() {
    let app = App::start();
    let hiring = app.hiring();
    let first = link(&app, &hiring, &hiring.role_id);
    let base = first.strip_suffix("?locale=en").unwrap();
    for locale in ["de", "de-CH", "DE-ch", "gsw", "zh-Hant-TW", "es-419", "sl-rozaj-biske-1994"] {
        let answer = post(&app, &hiring, &json!({ "roleId": hiring.role_id, "locale": locale })).expect(200);
        assert_eq!(answer.json()["inviteUrl"], format!("{base}?locale={locale}"));
    }
    let null = post(&app, &hiring, &json!({ "roleId": hiring.role_id, "locale": null })).expect(200);
    assert_eq!(null.json()["inviteUrl"], first);
}

fn a_locale_that_is_not_a_language_tag_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let texts =
        ["", " ", "e", "engl", "en_US", "en-", "-en", "en-a", "en-123456789", "e1", "en ", "../x", "en&a=b", "én"];
    let mut locales: Vec<Value> = texts.iter().map(|text| json!(text)).collect();
    locales.extend([json!(5), json!(true), json!(["en"]), json!({})]);
    for locale in locales {
        let answer = post(&app, &hiring, &json!({ "roleId": hiring.role_id, "locale": locale }));
        assert_eq!(answer.refused(400, "validation_error").fields(), ["locale"], "{locale}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["0"]);
}

fn a_missing_or_blank_role_id_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    for body in [
        json!({}),
        json!({ "roleId": null }),
        json!({ "roleId": "" }),
        json!({ "roleId": " \t\n" }),
        json!({ "roleId": 5 }),
        json!({ "roleId": true }),
        json!({ "roleId": [hiring.role_id] }),
        json!({ "roleId": { "id": hiring.role_id } }),
        json!({ "roleid": hiring.role_id }),
    ] {
        assert_eq!(post(&app, &hiring, &body).refused(400, "validation_error").fields(), ["roleId"], "{body}");
    }
    let nothing = app.anonymous().post_empty(&apply_path(&hiring)).refused(400, "validation_error");
    assert_eq!(nothing.json()["errors"], json!([{ "field": "roleId", "detail": "is required" }]));
}

fn all_validation_errors_are_reported_together() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = post(&app, &hiring, &json!({ "roleId": 5, "locale": "en_US" })).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["roleId", "locale"]);
    assert_eq!(answer.json()["errors"][0]["detail"], "must be a string");
}

fn the_body_is_checked_before_the_portal() {
    let app = App::start();
    let nobody = "/api/public/portal/nobody/apply";
    assert_eq!(app.anonymous().post(nobody, &json!({})).refused(400, "validation_error").fields(), ["roleId"]);
    app.anonymous().post(nobody, &json!({ "roleId": "role_1" })).refused(404, "not_found");
}

fn a_body_that_is_not_a_json_object_is_a_bad_request() {
    let app = App::start();
    let hiring = app.hiring();
    let repeated = br#"{"roleId":"role_1","roleId":"role_1"}"#;
    let bodies: [&[u8]; 8] = [
        b"{",
        b"null",
        b"[]",
        b"\"role_1\"",
        b"roleId=role_1",
        repeated,
        b"{\"roleId\":\"\xff\"}",
        b"{\"roleId\":\"role_1\"} x",
    ];
    for body in bodies {
        let text = String::from_utf8_lossy(body).into_owned();
        let answer = post_bytes(&app, &hiring, "application/json", body).refused(400, "bad_request");
        assert_eq!(answer.json().get("errors"), None, "{text}");
    }
}

fn media_types_other_than_json_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "roleId": hiring.role_id }).to_string();
    for content_type in
        ["text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonp", "multipart/x"]
    {
        post_bytes(&app, &hiring, content_type, body.as_bytes()).refused(415, "unsupported_media_type");
    }
    for content_type in
        ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/ld+json"]
    {
        post_bytes(&app, &hiring, content_type, body.as_bytes()).expect(200);
    }
    app.anonymous().send("POST", &apply_path(&hiring), &[], body.as_bytes()).expect(200);
}

fn a_body_over_128_kib_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let mut body = json!({ "roleId": hiring.role_id }).to_string().into_bytes();
    body.resize(128 * 1_024, b' ');
    post_bytes(&app, &hiring, "application/json", &body).expect(200);
    body.push(b' ');
    post_bytes(&app, &hiring, "application/json", &body).refused(413, "payload_too_large");
}

fn unknown_fields_are_ignored() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "roleId": hiring.role_id, "token": "chosen", "expiresAt": "2999-01-01", "x": { "y": [] } });
    let answer = post(&app, &hiring, &body).expect(200).json();
    assert!(!answer["inviteUrl"].as_str().unwrap().contains("chosen"));
    let thirty_days_later = "2026-12-21T09:00:00.000000Z";
    let expires_at = app.sql("SELECT expires_at FROM invitations")[0].parse().unwrap();
    assert_eq!(appliance::domain::timestamp::Timestamp::from_micros(expires_at).to_string(), thirty_days_later);
}

fn unknown_and_disabled_portals_are_not_found() {
    let app = App::start();
    let off = app.hiring_with(|document| document["organizations"][0]["portal"]["enabled"] = json!(false));
    let body = json!({ "roleId": off.role_id });
    let detail = |path: &str| app.anonymous().post(path, &body).refused(404, "not_found").json()["detail"].clone();
    let unknown = detail("/api/public/portal/nobody/apply");
    assert_eq!(detail(&apply_path(&off)), unknown);
    assert_eq!(detail("/api/public/portal/a_b/apply"), unknown);
    app.change("UPDATE organizations SET portal_enabled = 1");
    post(&app, &off, &body).expect(200);
}

fn a_role_that_accepts_no_applications_is_not_found() {
    let app = App::start();
    let other = app.hiring();
    let hiring = app.hiring_with(|document| {
        add_role(document, &json!({ "id": "role_draft", "status": "draft" }));
        add_role(document, &json!({ "id": "role_closed", "status": "closed" }));
        add_role(document, &json!({ "id": "role_private", "public": false }));
    });
    let long = "a".repeat(5_000);
    let unknown = post(&app, &hiring, &json!({ "roleId": "role_unknown" })).refused(404, "not_found");
    for role_id in ["role_draft", "role_closed", "role_private", &other.role_id, " role_2", "ROLE_2", "ä", "'", &long]
    {
        let answer = post(&app, &hiring, &json!({ "roleId": role_id })).refused(404, "not_found");
        assert_eq!(answer.json()["detail"], unknown.json()["detail"], "{role_id}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["0"]);
    post(&app, &hiring, &json!({ "roleId": hiring.role_id })).expect(200);
}

fn a_link_is_reused_for_every_locale() {
    let app = App::start();
    let hiring = app.hiring();
    let german = post(&app, &hiring, &json!({ "roleId": hiring.role_id, "locale": "de" })).expect(200);
    let german = german.json()["inviteUrl"].as_str().unwrap().to_owned();
    assert_eq!(german.strip_suffix("?locale=de"), link(&app, &hiring, &hiring.role_id).strip_suffix("?locale=en"));
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["1"]);
}

fn a_link_is_reused_while_at_least_seven_days_are_left() {
    let app = App::start();
    let hiring = app.hiring();
    let first = link(&app, &hiring, &hiring.role_id);
    app.pass(23 * DAY);
    assert_eq!(link(&app, &hiring, &hiring.role_id), first, "exactly seven days are left");
    app.world.pass(Duration::from_micros(1));
    let second = link(&app, &hiring, &hiring.role_id);
    assert_ne!(second, first, "less than seven days are left");
    assert_eq!(link(&app, &hiring, &hiring.role_id), second);
    app.anonymous().get(&path_of(&first)).expect(200);
    app.anonymous().get(&path_of(&second)).expect(200);
    app.pass(23 * DAY);
    assert_eq!(link(&app, &hiring, &hiring.role_id), second, "exactly seven days of the second link are left");
    app.anonymous().get(&path_of(&first)).expect(410);
}

fn an_expired_link_is_replaced() {
    let app = App::start();
    let hiring = app.hiring();
    let first = link(&app, &hiring, &hiring.role_id);
    app.pass(400 * DAY);
    let second = link(&app, &hiring, &hiring.role_id);
    assert_ne!(second, first);
    app.anonymous().get(&path_of(&first)).expect(410);
    app.anonymous().get(&path_of(&second)).expect(200);
}

fn a_role_reopened_by_a_reversal_gets_a_new_link() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user(&hiring.staff("owner"));
    let first = link(&app, &hiring, &hiring.role_id);
    owner.post_empty(&hiring.hire(0)).expect(200);
    assert_eq!(link(&app, &hiring, &hiring.role_id), first, "the role is still open");
    owner.post_empty(&hiring.hire(1)).expect(200);
    post(&app, &hiring, &json!({ "roleId": hiring.role_id })).refused(404, "not_found");
    app.anonymous().get(&path_of(&first)).expect(410);
    owner.post_empty(&hiring.reject(0)).expect(200);
    let second = link(&app, &hiring, &hiring.role_id);
    assert_ne!(second, first);
    app.anonymous().get(&path_of(&first)).expect(410);
    app.anonymous().get(&path_of(&second)).expect(200);
    assert_eq!(link(&app, &hiring, &hiring.role_id), second);
}

fn each_role_has_its_own_link() {
    let app = App::start();
    let hiring = app.hiring_with(|document| add_role(document, &json!({ "id": "role_second" })));
    let other = app.hiring();
    let links =
        [link(&app, &hiring, &hiring.role_id), link(&app, &hiring, "role_second"), link(&app, &other, &other.role_id)];
    assert!(links[0] != links[1] && links[1] != links[2] && links[0] != links[2], "{links:?}");
    assert_eq!(link(&app, &hiring, "role_second"), links[1]);
}

fn a_link_survives_a_restart() {
    let app = App::start();
    let hiring = app.hiring();
    let first = link(&app, &hiring, &hiring.role_id);
    app.stop();
    app.start_again();
    assert_eq!(link(&app, &hiring, &hiring.role_id), first);
    app.anonymous().get(&path_of(&first)).expect(200);
}

fn concurrent_requests_get_one_link() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "roleId": hiring.role_id }).to_string();
    let runner = || Runner { client: app.anonymous(), method: "POST", path: apply_path(&hiring), body: body.clone() };
    let answers = race((0..16).map(|_| runner()).collect());
    let links: Vec<Value> = answers.into_iter().map(|answer| answer.expect(200).json()["inviteUrl"].clone()).collect();
    assert!(links.iter().all(|link| *link == links[0]), "{links:?}");
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["1"]);
}

fn credentials_are_ignored() {
    let app = App::start();
    let hiring = app.hiring();
    let first = link(&app, &hiring, &hiring.role_id);
    let body = json!({ "roleId": hiring.role_id });
    let bad = app.key("rpk_wrong").post(&apply_path(&hiring), &body).expect(200);
    assert_eq!(bad.json()["inviteUrl"], first);
    let foreign = app.anonymous().with_header("Origin", "https://elsewhere.example");
    assert_eq!(foreign.post(&apply_path(&hiring), &body).expect(200).json()["inviteUrl"], first);
}

fn requesting_a_link_changes_nothing_else() {
    let app = App::start();
    let hiring = app.hiring();
    let counts = "SELECT (SELECT count(*) FROM candidates), (SELECT count(*) FROM candidate_roles),
                    (SELECT count(*) FROM activities), (SELECT count(*) FROM hr_deliveries)";
    let before = app.sql(counts);
    let portal = app.anonymous().get(&hiring.portal()).expect(200).body;
    link(&app, &hiring, &hiring.role_id);
    assert_eq!(app.sql(counts), before);
    assert_eq!(app.anonymous().get(&hiring.portal()).expect(200).body, portal);
    assert_eq!(app.check(), Vec::<String>::new());
}
