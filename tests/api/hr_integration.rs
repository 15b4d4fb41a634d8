//! `…/hr-integration`: admins say where an organization's HR system listens, and try it.

mod secret;

use serde_json::{Value, json};

use self::secret::{
    a_change_in_between_leaves_the_replaced_secret_its_time, a_given_secret_is_taken_and_never_shown,
    a_made_secret_is_shown_once_and_signs, a_replaced_secret_signs_beside_the_new_one_for_24_hours,
    a_secret_and_a_new_one_cannot_both_be_wanted, a_secret_has_24_bytes_at_least_and_255_characters_at_most,
    a_secret_is_shown_nowhere, a_secret_stays_until_another_is_wanted, a_short_secret_of_a_document_signs_and_stays,
    an_integration_without_a_secret_cannot_be_tried_until_it_is_saved,
};
use super::hr_delivery::{NOW, hire, integration, once, ping, read, save, start, tried};
use super::support::app::Options;
use super::support::receiver::Message;
use super::support::{Answer, App, Behaviour, Hiring};

crate::tests![
    a_saved_integration_is_answered_whole,
    a_made_secret_is_shown_once_and_signs,
    a_given_secret_is_taken_and_never_shown,
    a_secret_stays_until_another_is_wanted,
    a_replaced_secret_signs_beside_the_new_one_for_24_hours,
    a_change_in_between_leaves_the_replaced_secret_its_time,
    a_secret_has_24_bytes_at_least_and_255_characters_at_most,
    a_url_has_at_most_2048_characters,
    a_url_is_http_or_https_with_a_host_and_no_user,
    every_fault_is_told_at_once,
    a_secret_and_a_new_one_cannot_both_be_wanted,
    null_counts_as_not_given_and_unknown_members_are_ignored,
    what_is_no_json_object_is_a_bad_request,
    a_body_that_is_too_long_or_of_another_type_is_refused,
    an_unknown_organization_and_one_without_an_integration_are_not_found,
    only_admins_see_change_and_try,
    a_secret_is_shown_nowhere,
    enabled_stays_as_it_is_where_it_is_left_out,
    disabling_holds_and_enabling_sends,
    deleting_holds_and_a_new_integration_sends,
    a_hire_after_the_integration_was_deleted_queues_nothing,
    a_hire_that_was_told_is_taken_back_even_when_the_integration_was_deleted_in_between,
    what_waits_for_its_next_attempt_is_sent_when_the_integration_is_saved,
    an_integration_without_a_secret_cannot_be_tried_until_it_is_saved,
    a_short_secret_of_a_document_signs_and_stays,
    an_answer_of_410_disables_and_says_why,
    a_ping_answered_410_disables_too,
];

/// 24 bytes.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

const URL: &str = "https://hr.example.com/hooks";

fn put(app: &App, hiring: &Hiring, body: &Value) -> Answer {
    app.admin().put(&integration(hiring), body)
}

fn get(app: &App, hiring: &Hiring) -> Value {
    app.admin().get(&integration(hiring)).expect(200).json()["data"].clone()
}

/// The secret that an answer shows.
fn shown(data: &Value) -> String {
    data["secret"].as_str().unwrap_or_else(|| panic!("no secret in {data}")).to_owned()
}

fn a_saved_integration_is_answered_whole() {
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
            "secret": shown(&answer.json()["data"]),
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
    assert_eq!(put(&app, &hiring, &body).expect(200).json(), expected, "as it was given");
    assert_eq!(get(&app, &hiring), expected["data"]);
    let deleted = app.admin().delete(&integration(&hiring)).expect(200);
    assert_eq!(deleted.json(), json!({ "success": true }));
}

fn a_url_has_at_most_2048_characters() {
    let app = App::start();
    let hiring = app.hiring();
    let of = |characters: usize| json!({ "url": format!("{URL}/{}", "a".repeat(characters - URL.len() - 1)) });
    assert_eq!(save(&app, &hiring, &of(2_048))["url"].as_str().unwrap().len(), 2_048);
    assert_eq!(put(&app, &hiring, &of(2_049)).refused(400, "validation_error").fields(), ["url"]);
}

fn a_url_is_http_or_https_with_a_host_and_no_user() {
    let app = App::start();
    let hiring = app.hiring();
    // Where it leads is asked when it is connected to.
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

fn every_fault_is_told_at_once() {
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
        "before it is looked for"
    );
    app.admin().get(&integration(&hiring)).refused(404, "not_found");
}

fn null_counts_as_not_given_and_unknown_members_are_ignored() {
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
    assert_eq!((&saved["organizationId"], shown(&saved).len()), (&json!(hiring.organization_id), 50));
}

fn what_is_no_json_object_is_a_bad_request() {
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

fn a_body_that_is_too_long_or_of_another_type_is_refused() {
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

/// Every request to an integration: its method, what follows its path, its body.
const REQUESTS: [(&str, &str, &str); 4] =
    [("GET", "", ""), ("PUT", "", "{\"url\":\"https://hr.example.com\"}"), ("DELETE", "", ""), ("POST", "/test", "")];

fn an_unknown_organization_and_one_without_an_integration_are_not_found() {
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

fn only_admins_see_change_and_try() {
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

fn enabled_stays_as_it_is_where_it_is_left_out() {
    let app = App::start();
    let hiring = app.hiring();
    for (given, enabled) in [(None, true), (Some(false), false), (None, false), (Some(true), true), (None, true)] {
        for rotate in [false, true] {
            let body = json!({ "url": URL, "rotateSecret": rotate, "enabled": given });
            assert_eq!(save(&app, &hiring, &body)["enabled"], enabled, "{body}");
        }
    }
}

fn disabling_holds_and_enabling_sends() {
    let (app, hiring, receiver) = start("5m", &[Behaviour::status(500), Behaviour::status(204)]);
    let url = receiver.url("/hooks");
    let tried_before = hire(&app, &hiring, 0);
    tried(&app, &tried_before, 1);
    save(&app, &hiring, &json!({ "url": url, "enabled": false }));
    let held = [tried_before, hire(&app, &hiring, 1)];
    app.pass(3_600);
    // A ping goes all the same, and first. What could be sent beside it would go before the second.
    tried(&app, &ping(&app, &hiring), 1);
    tried(&app, &ping(&app, &hiring), 1);
    let events = || receiver.seen().iter().map(Message::event).collect::<Vec<_>>();
    assert_eq!(events(), ["candidate.hired", "ping", "ping"]);
    assert_eq!(save(&app, &hiring, &json!({ "url": url }))["enabled"], false, "as it was");
    assert_eq!(save(&app, &hiring, &json!({ "url": url, "enabled": true }))["enabled"], true);
    let messages = receiver.wait_for(5);
    assert_eq!([messages[3].id(), messages[4].id()], [&held[0], &held[1]]);
    held.iter().for_each(|id| drop(once(&app, id, |delivery| delivery["state"] == "delivered")));
    assert_eq!(receiver.seen().len(), 5);
}

fn deleting_holds_and_a_new_integration_sends() {
    let (app, hiring, receiver) = start("24h", &[Behaviour::status(500)]);
    let (first, second) = (hire(&app, &hiring, 0), hire(&app, &hiring, 1));
    [&first, &second].iter().for_each(|id| drop(tried(&app, id, 1)));
    app.admin().delete(&integration(&hiring)).expect(200);
    app.admin().delete(&integration(&hiring)).refused(404, "not_found");
    app.pass(200_000);
    let made = shown(&save(&app, &hiring, &json!({ "url": receiver.url("/new"), "enabled": false })));
    (0..2).for_each(|_| drop(tried(&app, &ping(&app, &hiring), 1)));
    assert_eq!(receiver.seen().len(), 4, "two attempts before, and the pings");
    receiver.will([Behaviour::status(204)]);
    save(&app, &hiring, &json!({ "url": receiver.url("/new"), "enabled": true }));
    for id in [&first, &second] {
        assert_eq!(tried(&app, id, 2)["state"], "delivered");
    }
    let messages = receiver.seen();
    assert!(
        messages[4..]
            .iter()
            .all(|message| message.request_line == "POST /new HTTP/1.1" && message.is_signed_with(&made))
    );
    assert_eq!((messages[4].id(), messages[5].id()), (first.as_str(), second.as_str()));
}

fn a_hire_after_the_integration_was_deleted_queues_nothing() {
    let (app, hiring, _receiver) = start("5s", &[Behaviour::status(204)]);
    app.admin().delete(&integration(&hiring)).expect(200);
    app.admin().post_empty(&hiring.hire(0)).expect(200);
    let listed = app.admin().get("/api/admin/hr-deliveries").expect(200).json();
    assert_eq!(listed["data"], json!([]));
}

fn a_hire_that_was_told_is_taken_back_even_when_the_integration_was_deleted_in_between() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let told = hire(&app, &hiring, 0);
    receiver.wait_for(1);
    app.admin().delete(&integration(&hiring)).expect(200);
    app.admin().post_empty(&hiring.decision(0, 3, "reject")).expect(200);
    let listed = app.admin().get("/api/admin/hr-deliveries").expect(200).json();
    assert_eq!(listed["data"][0]["held"], json!({ "reason": "no_integration" }), "{listed}");
    save(&app, &hiring, &json!({ "url": receiver.url("/new") }));
    let messages = receiver.wait_for(2);
    assert_eq!((messages[0].id(), messages[1].event().as_str()), (told.as_str(), "candidate.hire_reversed"));
}

fn what_waits_for_its_next_attempt_is_sent_when_the_integration_is_saved() {
    let script = [Behaviour::status(500), Behaviour::status(500), Behaviour::status(204)];
    let (app, hiring, receiver) = start("20h", &script);
    let id = hire(&app, &hiring, 0);
    assert_eq!(tried(&app, &id, 1)["state"], "pending");
    save(&app, &hiring, &json!({ "url": receiver.url("/repaired") }));
    assert_eq!(tried(&app, &id, 2)["state"], "pending", "its schedule begins anew");
    app.pass(24 * 3_600);
    assert_eq!(tried(&app, &id, 3)["state"], "delivered");
    assert_eq!(receiver.seen()[1].request_line, "POST /repaired HTTP/1.1");
}

fn an_answer_of_410_disables_and_says_why() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(410), Behaviour::status(204)]);
    app.pass(1);
    let (gone, next) = (hire(&app, &hiring, 0), hire(&app, &hiring, 1));
    let delivery = tried(&app, &gone, 1);
    assert_eq!(
        (&delivery["state"], &delivery["held"]),
        (&json!("pending"), &json!({ "reason": "integration_disabled" }))
    );
    assert_eq!(delivery["lastAttempt"]["error"], "the HR system wants no more deliveries");
    let disabled = get(&app, &hiring);
    let reason = "the HR system answered 410 Gone; save the integration again to enable it";
    assert_eq!((&disabled["enabled"], &disabled["disabledReason"]), (&json!(false), &json!(reason)));
    assert_eq!(disabled["updatedAt"], "2026-11-21T09:00:01.000000Z");
    assert_eq!((&read(&app, &next)["attempts"], receiver.seen().len()), (&json!(0), 1));
    let saved = save(&app, &hiring, &json!({ "url": receiver.url("/hooks") }));
    assert_eq!((&saved["enabled"], &saved["disabledReason"]), (&json!(true), &json!(null)));
    [&gone, &next].iter().for_each(|id| drop(once(&app, id, |delivery| delivery["state"] == "delivered")));
}

fn a_ping_answered_410_disables_too() {
    let (app, hiring, _receiver) = start("5s", &[Behaviour::status(410)]);
    let failed = tried(&app, &ping(&app, &hiring), 1);
    assert_eq!((&failed["state"], &failed["held"]), (&json!("failed"), &json!(null)));
    assert!(get(&app, &hiring)["disabledReason"].as_str().unwrap().contains("410"));
    // Saved as disabled it is no longer the service that has disabled it.
    let saved = save(&app, &hiring, &json!({ "url": URL, "enabled": false }));
    assert_eq!((&saved["enabled"], &saved["disabledReason"]), (&json!(false), &json!(null)));
}
