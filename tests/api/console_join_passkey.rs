//! `/join/{token}/passkey`: the user of a sign-in link adds a passkey instead of choosing a password.

use appliance::domain::sign_in_link::LinkPurpose;

use crate::console_passkey::{cookie, start, stranger};
use crate::support::authenticator::{Authenticator, add_passkey};
use crate::support::console::{PASSWORD, SAME_ORIGIN, sign_in_link};
use crate::support::{Answer, App, Client};

crate::tests![
    an_invited_user_adds_a_passkey_instead_of_a_password,
    a_reset_by_passkey_removes_the_old_password_and_sessions,
    a_refused_registration_does_not_use_up_the_link,
    a_link_offers_no_passkey_to_a_user_with_a_second_factor,
    a_link_that_resets_second_factors_replaces_them_with_a_passkey,
    a_link_of_a_service_without_a_host_name_offers_no_passkey,
    a_request_from_another_origin_or_of_another_type_or_over_the_limit_is_refused,
];

fn browser(app: &App, path: &str) -> (Client, serde_json::Value) {
    let browser = app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    let answer = browser.submit(&format!("{path}/passkey-options"), &[]).expect(200);
    (browser.with_header("Cookie", &cookie(&answer)), answer.json())
}

fn join(app: &App, path: &str, key: &Authenticator) -> Answer {
    let (browser, options) = browser(app, path);
    browser.submit(&format!("{path}/passkey"), &key.create(&options).and(&[]))
}

fn an_invited_user_adds_a_passkey_instead_of_a_password() {
    let (app, hiring) = start(true);
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Invitation);
    let page = app.anonymous().get(&path).expect(200).text();
    assert!(page.contains(&format!(r#"action="{path}/passkey""#)), "{page}");
    let key = Authenticator::new("key");
    let answer = join(&app, &path, &key).expect(200);
    assert!(answer.text().contains("Your recovery codes"), "{}", answer.text());
    let session = app.anonymous().with_header("Cookie", &cookie(&answer)).with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    session.get("/app").expect(200);
    // The passkey is the only way to sign in.
    let id = app.sql("SELECT id FROM passkeys").remove(0);
    session.submit(&format!("/app/me/passkeys/{id}/remove"), &[]).expect(409);
    assert!(!session.get("/app/me/second-factor").expect(200).text().contains("/remove"));
    app.anonymous().submit(&format!("{path}/passkey-options"), &[]).expect(410);
    let (stranger, options) = stranger(&app);
    stranger.submit("/sign-in/passkey", &key.get(&options).and(&[])).expect(303);
}

fn a_reset_by_passkey_removes_the_old_password_and_sessions() {
    let (app, hiring) = start(false);
    let old = app.browser(&hiring, "owner");
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset);
    join(&app, &path, &Authenticator::new("key")).expect(200);
    old.get("/app").expect(303);
    let body = serde_json::json!({ "email": hiring.email("owner"), "password": PASSWORD });
    app.anonymous().post("/api/auth/sign-in", &body).expect(401);
    assert!(app.check().is_empty());
}

fn a_refused_registration_does_not_use_up_the_link() {
    let (app, hiring) = start(false);
    let taken = Authenticator::new("taken");
    add_passkey(&app.browser(&hiring, "member"), &taken).expect(200);
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Invitation);
    let page = join(&app, &path, &taken).expect(409).text();
    assert!(page.contains("This passkey is already registered"), "{page}");
    let (browser, options) = browser(&app, &path);
    let fields = Authenticator::new("key").create(&options).with_changed("confirmation.public_key");
    let page = browser.submit(&format!("{path}/passkey"), &fields.and(&[])).expect(400).text();
    assert!(page.contains("This passkey was not accepted") && page.contains(r#"name="password""#), "{page}");
    browser.submit(&format!("{path}/passkey-options?lang=de&lang=en"), &[]).expect(400);
    join(&app, &path, &Authenticator::new("key")).expect(200);
}

fn a_link_offers_no_passkey_to_a_user_with_a_second_factor() {
    let (app, hiring) = start(false);
    let key = Authenticator::new("key");
    add_passkey(&app.browser(&hiring, "owner"), &key).expect(200);
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset);
    assert!(!app.anonymous().get(&path).expect(200).text().contains("data-passkey"));
    app.anonymous().submit(&format!("{path}/passkey-options"), &[]).expect(410);
    let (browser, options) = stranger(&app);
    let mut options = options;
    options["rp"] = serde_json::json!({ "id": "localhost" });
    let fields = Authenticator::new("second").create(&options);
    browser.submit(&format!("{path}/passkey"), &fields.and(&[])).expect(410);
    let demo = sign_in_link(&app, &hiring.staff("member"), LinkPurpose::Demo);
    app.anonymous().submit(&format!("{demo}/passkey-options"), &[]).expect(410);
    app.anonymous().submit("/join/unknown/passkey-options", &[]).expect(410);
}

fn a_link_that_resets_second_factors_replaces_them_with_a_passkey() {
    let (app, hiring) = start(false);
    let lost = Authenticator::new("lost");
    add_passkey(&app.browser(&hiring, "owner"), &lost).expect(200);
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::FactorReset);
    let key = Authenticator::new("key");
    join(&app, &path, &key).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM passkeys"), ["1"]);
    for (key, status) in [(&lost, 401), (&key, 303)] {
        let (stranger, options) = stranger(&app);
        stranger.submit("/sign-in/passkey", &key.get(&options).and(&[])).expect(status);
    }
}

fn a_link_of_a_service_without_a_host_name_offers_no_passkey() {
    let app = App::start();
    let hiring = app.hiring();
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Invitation);
    app.anonymous().submit(&format!("{path}/passkey-options"), &[]).expect(409);
}

fn a_request_from_another_origin_or_of_another_type_or_over_the_limit_is_refused() {
    let (app, hiring) = start(false);
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Invitation);
    let long = format!("note={}", "a".repeat(4 << 20));
    for path in [format!("{path}/passkey-options"), format!("{path}/passkey")] {
        app.anonymous().with_header("Origin", "http://evil.example").submit(&path, &[]).expect(403);
        let send = |kind, body: &[u8]| app.anonymous().send("POST", &path, &[("Content-Type", kind)], body);
        send("application/json", b"{}").expect(415);
        send("application/x-www-form-urlencoded", long.as_bytes()).expect(413);
    }
}
