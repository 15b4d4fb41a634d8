//! The secret of an integration: generated, given, retained or replaced, and never shown again.

use appliance::interchange::{self, Secrets};
use appliance::store;
use serde_json::{Value, json};

use super::super::hr_delivery::{after_attempts, hire, integration, ping, read, save, start};
use super::super::support::{App, Behaviour, Hiring};
use super::{SECRET, URL, get, put, shown_secret};

/// Another secret of 24 bytes.
const OTHER: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

/// Creates an organization whose interchange document has this integration.
fn import_with(app: &App, integration: &Value) -> Hiring {
    app.hiring_with(|document| document["organizations"][0]["hrIntegration"] = integration.clone())
}

pub(super) fn a_generated_secret_is_shown_once_and_signs_deliveries() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let other = app.hiring();
    let url = json!({ "url": receiver.url("/other") });
    let generated = shown_secret(&save(&app, &other, &url));
    assert!(
        generated.starts_with("whsec_") && generated.len() == 50 && generated.ends_with('='),
        "32 bytes: {generated}"
    );
    assert_eq!(save(&app, &other, &url).get("secret"), None);
    hire(&app, &other, 0);
    assert!(receiver.wait_for(1)[0].is_signed_with(&generated));
    hire(&app, &hiring, 0);
    assert!(!receiver.wait_for(2)[1].is_signed_with(&generated), "each organization has its own secret");
}

pub(super) fn a_given_secret_is_stored_and_never_shown() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    app.admin().delete(&integration(&hiring)).expect(200);
    let saved = save(&app, &hiring, &json!({ "url": receiver.url("/"), "secret": SECRET }));
    assert_eq!(
        (saved.get("secret"), &saved["hasSecret"], &saved["previousSecretUntil"]),
        (None, &json!(true), &json!(null))
    );
    hire(&app, &hiring, 0);
    let message = &receiver.wait_for(1)[0];
    assert!(message.is_signed_with(SECRET) && !message.header("webhook-signature").contains(' '));
}

pub(super) fn a_secret_is_retained_until_it_is_replaced() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let given = json!({ "url": receiver.url("/"), "secret": SECRET });
    app.admin().delete(&integration(&hiring)).expect(200);
    save(&app, &hiring, &given);
    for body in
        [json!({ "url": receiver.url("/a") }), json!({ "url": receiver.url("/b"), "rotateSecret": false }), given]
    {
        let saved = save(&app, &hiring, &body);
        assert_eq!((saved.get("secret"), &saved["previousSecretUntil"]), (None, &json!(null)), "{body}");
        let id = ping(&app, &hiring);
        after_attempts(&app, &id, 1);
        let message = receiver.seen().pop().unwrap();
        assert!(message.is_signed_with(SECRET) && !message.header("webhook-signature").contains(' '), "{body}");
    }
}

pub(super) fn a_replaced_secret_signs_alongside_the_new_one_for_24_hours() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(204)]);
    let url = receiver.url("/");
    let mut known = shown_secret(&save(&app, &hiring, &json!({ "url": url, "rotateSecret": true })));
    app.pass(86_400);
    for (day, body) in
        [(22, json!({ "url": url, "secret": SECRET })), (23, json!({ "url": url, "rotateSecret": true }))]
    {
        let saved = save(&app, &hiring, &body);
        let fresh = saved["secret"].as_str().unwrap_or(SECRET).to_owned();
        let until = json!(format!("2026-11-{}T09:00:00.000000Z", day + 1));
        assert_eq!(saved["previousSecretUntil"], until);
        for (pass, signatures) in [(0, 2), (86_399, 2), (1, 1)] {
            app.pass(pass);
            let until = if signatures == 2 { until.clone() } else { json!(null) };
            assert_eq!(get(&app, &hiring)["previousSecretUntil"], until);
            let id = ping(&app, &hiring);
            after_attempts(&app, &id, 1);
            let message = receiver.seen().pop().unwrap();
            assert_eq!(message.header("webhook-signature").split(' ').count(), signatures);
            assert_eq!((message.is_signed_with(&fresh), message.is_signed_with(&known)), (true, signatures == 2));
        }
        known = fresh;
    }
}

pub(super) fn only_a_new_secret_moves_the_expiry_of_a_replaced_secret() {
    let app = App::start();
    let hiring = app.hiring();
    save(&app, &hiring, &json!({ "url": URL, "secret": SECRET }));
    save(&app, &hiring, &json!({ "url": URL, "secret": OTHER }));
    app.pass(3_600);
    for body in [json!({ "url": URL, "secret": OTHER }), json!({ "url": URL, "enabled": false }), json!({ "url": URL })]
    {
        assert_eq!(save(&app, &hiring, &body)["previousSecretUntil"], "2026-11-22T09:00:00.000000Z", "{body}");
    }
    let rotated = save(&app, &hiring, &json!({ "url": URL, "rotateSecret": true }));
    assert_eq!(rotated["previousSecretUntil"], "2026-11-22T10:00:00.000000Z");
    app.admin().delete(&integration(&hiring)).expect(200);
    let saved = save(&app, &hiring, &json!({ "url": URL, "rotateSecret": true }));
    assert_eq!(saved["previousSecretUntil"], json!(null), "a deleted secret is not a previous secret");
}

pub(super) fn a_secret_under_24_bytes_or_over_255_characters_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let with_length = |characters: usize| format!("whsec_{}", "A".repeat(characters - 6));
    let detail = "must be whsec_ followed by at least 24 bytes in base64, at most 255 characters; if secret is \
                  missing, the service keeps the current secret or generates one";
    // 32 characters of base64 encode 24 bytes, and 31 characters encode 23. No base64 text makes the secret exactly
    // 255 characters long.
    for good in [
        with_length(38),
        with_length(254),
        format!("{SECRET}AA"),
        format!("{SECRET}AA=="),
        "whsec_".to_owned() + &"+/".repeat(16),
    ] {
        assert_eq!(save(&app, &hiring, &json!({ "url": URL, "secret": good })).get("secret"), None, "{good}");
    }
    for bad in [
        with_length(37),
        with_length(256),
        with_length(6),
        String::new(),
        SECRET[6..].to_owned(),
        SECRET.to_uppercase(),
        format!(" {SECRET}"),
        format!("{SECRET}\n"),
        SECRET.replace('M', "-"),
        format!("{SECRET}A"),
        format!("{SECRET}="),
        format!("{SECRET}ä"),
    ] {
        let answer = put(&app, &hiring, &json!({ "url": URL, "secret": bad })).refused(400, "validation_error");
        assert_eq!(answer.json()["errors"], json!([{ "field": "secret", "detail": detail }]), "{bad:?}");
    }
}

pub(super) fn a_given_secret_and_a_rotation_cannot_be_combined() {
    let app = App::start();
    let hiring = app.hiring();
    let both = json!({ "url": URL, "secret": SECRET, "rotateSecret": true });
    let answer = put(&app, &hiring, &both).refused(400, "validation_error");
    let detail = "generates a new secret, so the request must not also contain a secret";
    let fault = json!([{ "field": "rotateSecret", "detail": detail }]);
    assert_eq!(answer.json()["errors"], fault);
    save(&app, &hiring, &json!({ "url": URL, "secret": SECRET, "rotateSecret": false }));
    shown_secret(&save(&app, &hiring, &json!({ "url": URL, "secret": null, "rotateSecret": true })));
}

pub(super) fn no_other_answer_and_no_export_shows_a_secret() {
    let (app, hiring, receiver) = start("5s", &[Behaviour::status(500)]);
    let generated = shown_secret(&save(&app, &hiring, &json!({ "url": receiver.url("/"), "rotateSecret": true })));
    save(&app, &hiring, &json!({ "url": receiver.url("/"), "secret": SECRET }));
    let id = hire(&app, &hiring, 0);
    after_attempts(&app, &id, 1);
    let (path, list) = (integration(&hiring), "/api/admin/hr-deliveries");
    let broken = format!("{{\"url\":\"x\",\"secret\":\"{SECRET}\"");
    let mut texts: Vec<String> = [
        app.admin().get(&path),
        app.admin().get(list),
        app.admin().get(&format!("{list}/{id}")),
        app.admin().post_empty(&format!("{list}/{id}/retry")),
        app.admin().post_empty(&format!("{path}/test")),
        put(&app, &hiring, &json!({ "url": URL, "secret": format!("{SECRET}=") })),
        put(&app, &hiring, &json!({ "url": SECRET, "secret": [SECRET], "enabled": generated })),
        app.admin().send("PUT", &path, &[], broken.as_bytes()),
        app.admin().delete(&path),
        app.admin().post_empty(&format!("{list}/{id}/retry")).expect(409),
    ]
    .iter()
    .map(|answer| format!("{} {:?}", answer.text(), answer.headers))
    .collect();
    save(&app, &hiring, &json!({ "url": URL, "secret": SECRET }));
    let mut exported = Vec::new();
    let export = |tx: &store::Tx<'_>| {
        interchange::export(tx, Secrets::LeftOut, &mut exported).unwrap();
        Ok(())
    };
    store::read_alone(&app.path, app.world.as_ref(), export).unwrap();
    texts.push(String::from_utf8(exported).unwrap());
    assert!(texts[10].contains(URL));
    for text in texts {
        assert!(!text.contains(&SECRET[6..30]) && !text.contains(&generated[6..30]), "{text}");
    }
}

pub(super) fn an_imported_integration_without_a_secret_cannot_be_tested_until_saved() {
    let (app, _, receiver) = start("5s", &[Behaviour::status(204)]);
    let hiring = import_with(&app, &json!({ "url": receiver.url("/imported"), "enabled": true }));
    let imported = get(&app, &hiring);
    assert_eq!(
        (&imported["hasSecret"], &imported["enabled"], &imported["disabledReason"]),
        (&json!(false), &json!(false), &json!(null))
    );
    let id = hire(&app, &hiring, 0);
    let answer = app.admin().post_empty(&format!("{}/test", integration(&hiring))).refused(409, "conflict");
    let detail = "the HR integration has no signing secret; save the integration again to generate one";
    assert_eq!((&answer.json()["detail"], &read(&app, &id)["attempts"]), (&json!(detail), &json!(0)));
    let saved = save(&app, &hiring, &json!({ "url": imported["url"] }));
    assert_eq!((&saved["hasSecret"], &saved["previousSecretUntil"]), (&json!(true), &json!(null)));
    assert_eq!(after_attempts(&app, &id, 1)["state"], "delivered");
    after_attempts(&app, &ping(&app, &hiring), 1);
    assert!(receiver.seen().iter().all(|message| message.is_signed_with(&shown_secret(&saved))));
}

pub(super) fn an_imported_short_secret_is_retained_and_signs_deliveries() {
    let (app, _, receiver) = start("5s", &[Behaviour::status(204)]);
    let given = json!({ "url": receiver.url("/"), "secret": "whsec_c2VjcmV0", "enabled": true });
    let hiring = import_with(&app, &given);
    assert_eq!(put(&app, &hiring, &given).refused(400, "validation_error").fields(), ["secret"]);
    assert_eq!(save(&app, &hiring, &json!({ "url": receiver.url("/"), "enabled": true })).get("secret"), None);
    hire(&app, &hiring, 0);
    assert!(receiver.wait_for(1)[0].is_signed_with("whsec_c2VjcmV0"));
}
