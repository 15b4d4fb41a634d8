//! `…/hr-integration`: admins set up and test an organization's HR integration.

mod secret;

use serde_json::{Value, json};

use self::secret::{
    a_generated_secret_is_shown_once_and_signs_deliveries, a_given_secret_and_a_rotation_cannot_be_combined,
    a_given_secret_is_stored_and_never_shown, a_replaced_secret_signs_alongside_the_new_one_for_24_hours,
    a_secret_is_retained_until_it_is_replaced, a_secret_under_24_bytes_or_over_255_characters_is_refused,
    an_imported_integration_without_a_secret_cannot_be_tested_until_saved,
    an_imported_short_secret_is_retained_and_signs_deliveries, no_other_answer_and_no_export_shows_a_secret,
    only_a_new_secret_moves_the_expiry_of_a_replaced_secret,
};
use super::hr_delivery::{NOW, after_attempts, hire, integration, ping, read, save, start, wait_until};
use super::support::app::Options;
use super::support::receiver::Message;
use super::support::{Answer, App, Behaviour, Hiring};

crate::tests![
    saving_an_integration_returns_every_field,
    a_generated_secret_is_shown_once_and_signs_deliveries,
    a_given_secret_is_stored_and_never_shown,
    a_secret_is_retained_until_it_is_replaced,
    a_replaced_secret_signs_alongside_the_new_one_for_24_hours,
    only_a_new_secret_moves_the_expiry_of_a_replaced_secret,
    a_secret_under_24_bytes_or_over_255_characters_is_refused,
    a_url_over_2048_characters_is_refused,
    only_http_and_https_urls_with_a_host_and_without_a_user_name_are_accepted,
    all_validation_errors_are_reported_together,
    a_given_secret_and_a_rotation_cannot_be_combined,
    null_is_treated_as_omitted_and_unknown_fields_are_ignored,
    a_body_that_is_not_a_json_object_is_a_bad_request,
    a_body_over_the_limit_or_of_another_media_type_is_refused,
    unknown_organizations_and_absent_integrations_are_not_found,
    only_admins_read_change_and_test_integrations,
    no_other_answer_and_no_export_shows_a_secret,
    a_change_that_omits_enabled_leaves_enabled_unchanged,
    disabling_an_integration_holds_deliveries_and_enabling_it_sends_them,
    deleting_an_integration_holds_deliveries_and_a_new_integration_sends_them,
    a_hire_without_an_integration_queues_no_delivery,
    the_reversal_of_a_delivered_hire_is_queued_without_an_integration,
    saving_an_integration_sends_waiting_deliveries_at_once,
    an_imported_integration_without_a_secret_cannot_be_tested_until_saved,
    an_imported_short_secret_is_retained_and_signs_deliveries,
    an_answer_of_410_disables_the_integration_and_stores_the_reason,
    a_410_to_a_ping_disables_the_integration,
];

/// A secret of 24 bytes.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const URL: &str = "https://hr.example.com/hooks";

fn put(app: &App, hiring: &Hiring, body: &Value) -> Answer {
    app.admin().put(&integration(hiring), body)
}

fn get(app: &App, hiring: &Hiring) -> Value {
    app.admin().get(&integration(hiring)).expect(200).json()["data"].clone()
}

/// Returns the secret that an answer shows.
fn shown_secret(data: &Value) -> String {
    data["secret"].as_str().unwrap_or_else(|| panic!("no secret in {data}")).to_owned()
}

fn saving_an_integration_returns_every_field() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = put(&app, &hiring, &json!({ "url": URL })).expect(200);
    let mut expected = json!({
        "success": true,
        "data": {
            "organizationId": hiring.organization_id,
            "url": URL,
            "enabled": true,
            "disabledReason": null,
            "hasSecret": true,
            "previousSecretUntil": null,
            "updatedAt": NOW,
            "secret": shown_secret(&answer.json()["data"]),
        },
    });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    expected["data"].as_object_mut().unwrap().remove("secret");
    assert_eq!(app.admin().get(&integration(&hiring)).expect(200).json(), expected);
    app.pass(60);
    expected["data"]["url"] = json!("HTTP://[2001:DB8::1]:8443?a=b#c");
    expected["data"]["enabled"] = json!(false);
    expected["data"]["updatedAt"] = json!("2026-11-21T09:01:00.000000Z");
    let body = json!({ "url": expected["data"]["url"], "enabled": false });
    assert_eq!(put(&app, &hiring, &body).expect(200).json(), expected, "the URL is returned as given");
    assert_eq!(get(&app, &hiring), expected["data"]);
    let deleted = app.admin().delete(&integration(&hiring)).expect(200);
    assert_eq!(deleted.json(), json!({ "success": true }));
}

fn a_url_over_2048_characters_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let with_length = |characters: usize| json!({ "url": format!("{URL}/{}", "a".repeat(characters - URL.len() - 1)) });
    assert_eq!(save(&app, &hiring, &with_length(2_048))["url"].as_str().unwrap().len(), 2_048);
    assert_eq!(put(&app, &hiring, &with_length(2_049)).refused(400, "validation_error").fields(), ["url"]);
}

fn only_http_and_https_urls_with_a_host_and_without_a_user_name_are_accepted() {
    let app = App::start();
    let hiring = app.hiring();
    // The service checks the address when it connects, not when the URL is saved.
    for good in
        ["http://hr", "HTTPS://HR.example.com:65535/", "http://127.0.0.1/", "http://[::1]", "https://hr.example?a@b"]
    {
        assert_eq!(save(&app, &hiring, &json!({ "url": good }))["url"], good);
    }
    let detail = "must be an http or https URL with a host and no user name, at most 2048 characters";
    for (bad, detail) in [
        ("", "must not be blank"),
        (" ", "must not be blank"),
        ("hr.example.com", detail),
        ("//hr.example.com", detail),
        ("https:hr.example.com", detail),
        ("ftp://hr.example.com", detail),
        ("file:///etc/passwd", detail),
        ("https://", detail),
        ("https://:443", detail),
        ("https://user@hr.example.com", detail),
        ("https://user:word@hr.example.com", detail),
        ("https://@hr.example.com", detail),
        ("https://hr.example.com:0", detail),
        ("https://hr.example.com:65536", detail),
        ("https://hr.example.com:", detail),
        ("https://hr.example.com\\@evil.example", detail),
        ("https://hr example.com", detail),
        ("https://hr.example.com/a b", detail),
        ("https://hr.example.com/<a>", detail),
        ("https://hr.example.com/`a", detail),
        ("https://hr.example.com/\"a", detail),
        ("https://hr.example.com/\r\nX: y", detail),
        (" https://hr.example.com", detail),
        ("https://bücher.example", detail),
        ("https://[::1", detail),
        ("https://[hr]", detail),
        ("https://[::1%25eth0]", detail),
    ] {
        let answer = put(&app, &hiring, &json!({ "url": bad })).refused(400, "validation_error");
        assert_eq!(answer.json()["errors"], json!([{ "field": "url", "detail": detail }]), "{bad:?}");
    }
}

fn all_validation_errors_are_reported_together() {
    let app = App::start();
    let hiring = app.hiring();
    let all = json!({ "url": 5, "secret": [SECRET], "rotateSecret": "yes", "enabled": 1 });
    let answer = put(&app, &hiring, &all).refused(400, "validation_error");
    let faults = [
        ("url", "must be a string"),
        ("secret", "must be a string"),
        ("rotateSecret", "must be true or false"),
        ("enabled", "must be true or false"),
    ];
    let faults: Vec<Value> = faults.iter().map(|(field, detail)| json!({ "field": field, "detail": detail })).collect();
    assert_eq!(answer.json()["errors"], json!(faults));
    for (body, fields) in [
        (json!({}), vec!["url"]),
        (json!({ "url": null, "secret": "x", "rotateSecret": true }), vec!["url", "secret"]),
        (
            json!({ "url": "x", "secret": SECRET, "rotateSecret": true, "enabled": "false" }),
            vec!["url", "enabled", "rotateSecret"],
        ),
        (
            json!({ "url": { "a": URL }, "secret": {}, "rotateSecret": 0, "enabled": [] }),
            vec!["url", "secret", "rotateSecret", "enabled"],
        ),
    ] {
        assert_eq!(put(&app, &hiring, &body).refused(400, "validation_error").fields(), fields, "{body}");
    }
    let nowhere = "/api/admin/organizations/none/hr-integration";
    assert_eq!(
        app.admin().put(nowhere, &json!({})).refused(400, "validation_error").fields(),
        ["url"],
        "the body is checked before the organization"
    );
    app.admin().get(&integration(&hiring)).refused(404, "not_found");
}

fn null_is_treated_as_omitted_and_unknown_fields_are_ignored() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({
        "url": URL, "secret": null, "rotateSecret": null, "enabled": null,
        "Enabled": false, "disabledReason": "x", "organizationId": "org_9", "updatedAt": 5, "hasSecret": false,
    });
    let saved = save(&app, &hiring, &body);
    assert_eq!(
        (&saved["enabled"], &saved["disabledReason"], &saved["updatedAt"]),
        (&json!(true), &json!(null), &json!(NOW))
    );
    assert_eq!((&saved["organizationId"], shown_secret(&saved).len()), (&json!(hiring.organization_id), 50));
}

fn a_body_that_is_not_a_json_object_is_a_bad_request() {
    let app = App::start();
    let hiring = app.hiring();
    for body in [
        "[]",
        "null",
        "\"x\"",
        "{",
        "{\"url\":}",
        "url=x",
        "{\"url\":\"a\",\"url\":\"b\"}",
        "{\"url\":\"\\ud800\"}",
        "{} {}",
    ] {
        let json_type = [("Content-Type", "application/json")];
        app.admin().send("PUT", &integration(&hiring), &json_type, body.as_bytes()).refused(400, "bad_request");
    }
}

fn a_body_over_the_limit_or_of_another_media_type_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let mut body = json!({ "url": URL }).to_string().into_bytes();
    let send = |media_type: &str, body: &[u8]| {
        app.admin().send("PUT", &integration(&hiring), &[("Content-Type", media_type)], body)
    };
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "json"] {
        send(media_type, &body).refused(415, "unsupported_media_type");
    }
    body.resize(128 * 1_024, b' ');
    send("application/json; charset=utf-8", &body).expect(200);
    body.push(b' ');
    send("application/json", &body).refused(413, "payload_too_large");
}

/// The requests to an integration: the method, the rest of the path, and the body.
const REQUESTS: [(&str, &str, &str); 4] =
    [("GET", "", ""), ("PUT", "", "{\"url\":\"https://hr.example.com\"}"), ("DELETE", "", ""), ("POST", "/test", "")];

fn unknown_organizations_and_absent_integrations_are_not_found() {
    let app = App::start();
    let hiring = app.hiring();
    for (method, more, body) in REQUESTS {
        for id in ["org_9", "ORG_1", "no%20id", "%00", "a%2Fb", &"x".repeat(65), "acme-1"] {
            let path = format!("/api/admin/organizations/{id}/hr-integration{more}");
            let answer = app.admin().send(method, &path, &[], body.as_bytes()).refused(404, "not_found");
            assert_eq!(answer.json()["detail"], "there is no such organization", "{method} {id}");
        }
        if method != "PUT" {
            let path = format!("{}{more}", integration(&hiring));
            let answer = app.admin().send(method, &path, &[], b"").refused(404, "not_found");
            assert_eq!(answer.json()["detail"], "the organization has no HR integration; save one with PUT");
        }
    }
    assert_eq!(app.sql("SELECT count(*) FROM hr_integrations"), ["0"]);
}

fn only_admins_read_change_and_test_integrations() {
    let app = App::with(Options { per_minute: Some(20), ..Options::default() });
    let hiring = app.hiring();
    save(&app, &hiring, &json!({ "url": URL }));
    let before = get(&app, &hiring);
    let clients =
        ["owner", "admin", "moderator", "hr_representative", "member"].map(|role| app.user(&hiring.staff(role)));
    let path = |more: &str| format!("{}{more}", integration(&hiring));
    for (method, more, body) in REQUESTS {
        let path = path(more);
        clients
            .iter()
            .for_each(|client| drop(client.send(method, &path, &[], body.as_bytes()).refused(403, "forbidden")));
        app.anonymous().send(method, &path, &[], body.as_bytes()).refused(401, "unauthorized");
        app.key("rpk_no").send(method, &path, &[], body.as_bytes()).refused(401, "unauthorized");
    }
    assert_eq!(get(&app, &hiring), before);
    while app.admin().get(&path("")).status == 200 {}
    for (method, more, body) in REQUESTS {
        app.admin().send(method, &path(more), &[], body.as_bytes()).refused(429, "rate_limited");
    }
    assert_eq!(app.sql("SELECT count(*) FROM hr_deliveries"), ["0"]);
}

fn a_change_that_omits_enabled_leaves_enabled_unchanged() {
    let app = App::start();
    let hiring = app.hiring();
    for (given, enabled) in [(None, true), (Some(false), false), (None, false), (Some(true), true), (None, true)] {
        for rotate in [false, true] {
            let body = json!({ "url": URL, "rotateSecret": rotate, "enabled": given });
            assert_eq!(save(&app, &hiring, &body)["enabled"], enabled, "{body}");
        }
    }
}

fn disabling_an_integration_holds_deliveries_and_enabling_it_sends_them() {
    let (app, hiring, receiver) = start("5m", &[Behaviour::status(500), Behaviour::status(204)]);
    let url = receiver.url("/hooks");
    let tried_delivery = hire(&app, &hiring, 0);
    after_attempts(&app, &tried_delivery, 1);
    save(&app, &hiring, &json!({ "url": url, "enabled": false }));
    let held = [tried_delivery, hire(&app, &hiring, 1)];
    app.pass(3_600);
    // A ping is sent even while the integration is disabled. Any other delivery that could be sent would come before
    // the second ping.
    after_attempts(&app, &ping(&app, &hiring), 1);
    after_attempts(&app, &ping(&app, &hiring), 1);
    let events = || receiver.seen().iter().map(Message::event).collect::<Vec<_>>();
    assert_eq!(events(), ["candidate.hired", "ping", "ping"]);
    assert_eq!(
        save(&app, &hiring, &json!({ "url": url }))["enabled"],
        false,
        "saving a URL does not enable the integration"
    );
    assert_eq!(save(&app, &hiring, &json!({ "url": url, "enabled": true }))["enabled"], true);
    let messages = receiver.wait_for(5);
    assert_eq!([messages[3].id(), messages[4].id()], [&held[0], &held[1]]);
    held.iter().for_each(|id| drop(wait_until(&app, id, |delivery| delivery["state"] == "delivered")));
    assert_eq!(receiver.seen().len(), 5);
}

fn deleting_an_integration_holds_deliveries_and_a_new_integration_sends_them() {
    let (app, hiring, receiver) = start("24h", &[Behaviour::status(500)]);
    let (first, second) = (hire(&app, &hiring, 0), hire(&app, &hiring, 1));
    [&first, &second].iter().for_each(|id| drop(after_attempts(&app, id, 1)));
    app.admin().delete(&integration(&hiring)).expect(200);
    app.admin().delete(&integration(&hiring)).refused(404, "not_found");
    app.pass(200_000);
    let new_secret = shown_secret(&save(&app, &hiring, &json!({ "url": receiver.url("/new"), "enabled": false })));
    (0..2).for_each(|_| drop(after_attempts(&app, &ping(&app, &hiring), 1)));
    assert_eq!(receiver.seen().len(), 4, "the HR system has received the two earlier attempts and the two pings");
    receiver.will([Behaviour::status(204)]);
    save(&app, &hiring, &json!({ "url": receiver.url("/new"), "enabled": true }));
    for id in [&first, &second] {
        assert_eq!(after_attempts(&app, id, 2)["state"], "delivered");
    }
    let messages = receiver.seen();
    assert!(
        messages[4..]
            .iter()
            .all(|message| message.request_line == "POST /new HTTP/1.1" && message.is_signed_with(&new_secret))
    );
    assert_eq!((messages[4].id(), messages[5].id()), (first.as_str(), second.as_str()));
}

fn a_hire_without_an_integration_queues_no_delivery() {
    let (app, hiring, _receiver) = start("5s", &[Behaviour::status(204)]);
    app.admin().delete(&integration(&hiring)).expect(200);
    app.admin().post_empty(&hiring.hire(0)).expect(200);
    let listed = app.admin().get("/api/admin/hr-deliveries").expect(200).json();
    assert_eq!(listed["data"], json!([]));
}

fn the_reversal_of_a_delivered_hire_is_queued_without_an_integration() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let hired = hire(&app, &hiring, 0);
    receiver.wait_for(1);
    app.admin().delete(&integration(&hiring)).expect(200);
    app.admin().post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    let listed = app.admin().get("/api/admin/hr-deliveries").expect(200).json();
    assert_eq!(listed["data"][0]["held"], json!({ "reason": "no_integration" }), "{listed}");
    save(&app, &hiring, &json!({ "url": receiver.url("/new") }));
    let messages = receiver.wait_for(2);
    assert_eq!((messages[0].id(), messages[1].event().as_str()), (hired.as_str(), "candidate.hire_reversed"));
}

fn saving_an_integration_sends_waiting_deliveries_at_once() {
    let script = [Behaviour::status(500), Behaviour::status(500), Behaviour::status(204)];
    let (app, hiring, receiver) = start("20h", &script);
    let id = hire(&app, &hiring, 0);
    assert_eq!(after_attempts(&app, &id, 1)["state"], "pending");
    save(&app, &hiring, &json!({ "url": receiver.url("/repaired") }));
    assert_eq!(after_attempts(&app, &id, 2)["state"], "pending", "the schedule of the delivery starts over");
    app.pass(24 * 3_600);
    assert_eq!(after_attempts(&app, &id, 3)["state"], "delivered");
    assert_eq!(receiver.seen()[1].request_line, "POST /repaired HTTP/1.1");
}

fn an_answer_of_410_disables_the_integration_and_stores_the_reason() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(410), Behaviour::status(204)]);
    app.pass(1);
    let (gone, next) = (hire(&app, &hiring, 0), hire(&app, &hiring, 1));
    let delivery = after_attempts(&app, &gone, 1);
    assert_eq!(
        (&delivery["state"], &delivery["held"]),
        (&json!("pending"), &json!({ "reason": "integration_disabled" }))
    );
    assert_eq!(delivery["lastAttempt"]["error"], "the HR system asked the service to stop sending deliveries");
    let disabled = get(&app, &hiring);
    let reason = "the HR system answered 410 Gone; save the integration again to enable it";
    assert_eq!((&disabled["enabled"], &disabled["disabledReason"]), (&json!(false), &json!(reason)));
    assert_eq!(disabled["updatedAt"], "2026-11-21T09:00:01.000000Z");
    assert_eq!((&read(&app, &next)["attempts"], receiver.seen().len()), (&json!(0), 1));
    let saved = save(&app, &hiring, &json!({ "url": receiver.url("/hooks") }));
    assert_eq!((&saved["enabled"], &saved["disabledReason"]), (&json!(true), &json!(null)));
    [&gone, &next].iter().for_each(|id| drop(wait_until(&app, id, |delivery| delivery["state"] == "delivered")));
}

fn a_410_to_a_ping_disables_the_integration() {
    let (app, hiring, _receiver) = start("5s", &[Behaviour::status(410)]);
    let failed = after_attempts(&app, &ping(&app, &hiring), 1);
    assert_eq!((&failed["state"], &failed["held"]), (&json!("failed"), &json!(null)));
    assert!(get(&app, &hiring)["disabledReason"].as_str().unwrap().contains("410"));
    // If an admin saves an integration as disabled, `disabledReason` is null, because the service did not disable it.
    let saved = save(&app, &hiring, &json!({ "url": URL, "enabled": false }));
    assert_eq!((&saved["enabled"], &saved["disabledReason"]), (&json!(false), &json!(null)));
}
