//! Passkeys in the console: adding and removing one, signing in with one, and confirming an act with one.

use crate::support::app::Options;
use crate::support::authenticator::{Authenticator, ORIGIN, PRESENT, VERIFIED, add_passkey};
use crate::support::console::{PASSWORD, SAME_ORIGIN};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_user_adds_a_passkey_and_signs_in_with_it,
    a_sign_in_leads_to_the_requested_page_or_form,
    a_changed_answer_does_not_sign_the_user_in,
    an_answer_is_accepted_only_once_only_from_its_browser_and_only_within_5_minutes,
    a_copy_of_an_authenticator_is_refused_and_recorded,
    a_disabled_user_cannot_sign_in_with_a_passkey,
    an_invalid_registration_is_refused,
    a_passkey_is_registered_only_once,
    an_account_has_at_most_20_passkeys,
    a_passkey_confirms_a_dangerous_act,
    a_passkey_of_somebody_else_does_not_confirm_an_act,
    adding_and_removing_a_passkey_require_a_recent_confirmation,
    the_only_second_factor_of_an_owner_cannot_be_removed,
    a_passkey_of_somebody_else_is_treated_like_an_unknown_one,
    the_password_alone_is_not_enough_to_sign_in_to_an_account_that_has_a_passkey,
    a_service_without_a_host_name_offers_no_passkeys,
    a_sign_in_from_another_origin_is_forbidden,
    a_body_of_another_type_or_encoding_or_over_the_limit_is_refused,
    the_name_of_a_passkey_is_shown_as_text,
];

/// Starts a service with a host name, so that browsers offer passkeys.
pub(crate) fn start(requires_second_factors: bool) -> (App, Hiring) {
    let base_url = Some(ORIGIN.to_owned());
    let app = App::with(Options { base_url, requires_second_factors, ..Options::default() });
    let hiring = app.hiring();
    (app, hiring)
}

/// Returns a browser that is not signed in, and the options for a sign-in.
pub(crate) fn stranger(app: &App) -> (Client, serde_json::Value) {
    let browser = app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    let answer = browser.submit("/sign-in/passkey-options", &[]).expect(200);
    (browser.with_header("Cookie", &cookie(&answer)), answer.json())
}

pub(crate) fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

fn sign_in(app: &App, key: &Authenticator) -> Answer {
    let (browser, options) = stranger(app);
    browser.submit("/sign-in/passkey", &key.get(&options).and(&[]))
}

fn platform_actions(app: &App, action: &str) -> Vec<String> {
    app.sql(&format!("SELECT detail FROM main.activities WHERE organization_id IS NULL AND action = '{action}'"))
}

/// Returns the id of the only passkey in the database.
fn only_passkey(app: &App) -> String {
    let mut ids = app.sql("SELECT id FROM passkeys");
    assert_eq!(ids.len(), 1);
    ids.remove(0)
}

fn a_user_adds_a_passkey_and_signs_in_with_it() {
    let (app, hiring) = start(true);
    let (owner, key) = (app.browser(&hiring, "owner"), Authenticator::new("key"));
    let page = owner.get("/app/me/passkeys/new").expect(200).text();
    assert!(page.contains(r#"data-passkey="create""#), "{page}");
    let codes = add_passkey(&owner, &key).expect(200).text();
    assert!(codes.contains("Your recovery codes"), "{codes}");
    let page = owner.get("/app/me/second-factor?done=passkey-added").expect(200).text();
    assert!(page.contains("Passkey “Test key”") && page.contains("not used yet"), "{page}");
    let second = add_passkey(&owner, &Authenticator::new("second")).expect(303);
    assert_eq!(second.header("location"), Some("/app/me/second-factor?done=passkey-added"));

    let answer = sign_in(&app, &key).expect(303);
    assert_eq!(answer.header("location"), Some("/app"));
    let browser = app.anonymous().with_header("Cookie", &cookie(&answer)).with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    let page = browser.get("/app/me/second-factor").expect(200).text();
    assert!(page.contains("last used just now"), "{page}");
    browser.submit("/app/me/recovery-codes", &[]).expect(200);
    assert_eq!(platform_actions(&app, "passkey.added").len(), 2);
}

fn a_sign_in_leads_to_the_requested_page_or_form() {
    let (app, hiring) = start(false);
    let key = Authenticator::new("key");
    add_passkey(&app.browser(&hiring, "owner"), &key).expect(200);
    for (next, expected) in [("/app/me", "/app/me"), ("https://evil.example", "/app")] {
        let (browser, options) = stranger(&app);
        let answer = browser.submit("/sign-in/passkey", &key.get(&options).and(&[("next", next)])).expect(303);
        assert_eq!(answer.header("location"), Some(expected));
    }
    let (browser, options) = stranger(&app);
    let sent = [("to", "/app/me/preferences"), ("sent.language", "de")];
    let page = browser.submit("/sign-in/passkey", &key.get(&options).and(&sent)).expect(200).text();
    assert!(
        page.contains(r#"action="/app/me/preferences""#) && page.contains(r#"name="language" value="de""#),
        "{page}"
    );
}

fn a_changed_answer_does_not_sign_the_user_in() {
    let (app, hiring) = start(false);
    let key = Authenticator::new("key");
    add_passkey(&app.browser(&hiring, "owner"), &key).expect(200);
    let refused = |expected: &str, change: &dyn Fn(&Authenticator), changed: &str| {
        let (browser, options) = stranger(&app);
        change(&key);
        let mut fields = key.get(&options);
        if !changed.is_empty() {
            fields = fields.with_changed(changed);
        }
        let page = browser.submit("/sign-in/passkey", &fields.and(&[])).expect(401).text();
        assert!(page.contains(expected), "{page}");
        key.origin.set(ORIGIN);
        key.flags.set(VERIFIED);
        browser.get("/app").expect(303);
    };
    let nothing = |_: &Authenticator| {};
    refused("This passkey was not accepted", &nothing, "confirmation.signature");
    refused("This passkey was not accepted", &nothing, "confirmation.authenticator_data");
    refused("This passkey belongs to no account here", &nothing, "confirmation.credential_id");
    refused("Passkeys work only over HTTPS", &|key| key.origin.set("http://localhost:8081"), "");
    refused("did not ask for your fingerprint", &|key| key.flags.set(PRESENT), "");
    sign_in(&app, &key).expect(303);
    app.stop();
    app.start_again();
    assert!(platform_actions(&app, "session.sign_in_failed")[0].contains("\"count\":"), "failures are recorded");
}

fn an_answer_is_accepted_only_once_only_from_its_browser_and_only_within_5_minutes() {
    let (app, hiring) = start(false);
    let key = Authenticator::new("key");
    let owner = app.browser(&hiring, "owner");
    add_passkey(&owner, &key).expect(200);
    let too_late = |browser: &Client, options: &serde_json::Value| {
        let page = browser.submit("/sign-in/passkey", &key.get(options).and(&[])).expect(401).text();
        assert!(page.contains("More than 5 minutes have passed"), "{page}");
    };
    let (browser, options) = stranger(&app);
    browser.submit("/sign-in/passkey", &key.get(&options).and(&[])).expect(303);
    too_late(&browser, &options);
    let ((first, options), (second, _)) = (stranger(&app), stranger(&app));
    too_late(&second, &options);
    too_late(&first, &options);
    too_late(&app.anonymous(), &stranger(&app).1);
    let (browser, options) = stranger(&app);
    app.pass(300);
    too_late(&browser, &options);
    let (browser, options) = stranger(&app);
    app.pass(299);
    browser.submit("/sign-in/passkey", &key.get(&options).and(&[])).expect(303);
    // An answer to the challenge of a confirmation is not accepted for a sign-in.
    let owner = app.browser_with_passkey(&key);
    let options = owner.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    too_late(&owner, &options);
}

fn a_copy_of_an_authenticator_is_refused_and_recorded() {
    let (app, hiring) = start(false);
    let key = Authenticator::new("key");
    add_passkey(&app.browser(&hiring, "owner"), &key).expect(200);
    key.counter.set(10);
    sign_in(&app, &key).expect(303);
    key.counter.set(10);
    let page = sign_in(&app, &key).expect(401).text();
    assert!(page.contains("a copy of it seems to exist"), "{page}");
    let recorded = platform_actions(&app, "passkey.clone_refused");
    assert_eq!(recorded.len(), 1);
    assert!(recorded[0].contains(&only_passkey(&app)) && recorded[0].contains(&hiring.staff("owner")), "{recorded:?}");
    sign_in(&app, &key).expect(303);
}

fn a_disabled_user_cannot_sign_in_with_a_passkey() {
    let (app, hiring) = start(false);
    let key = Authenticator::new("key");
    add_passkey(&app.browser(&hiring, "owner"), &key).expect(200);
    app.change(&format!("UPDATE users SET enabled = 0 WHERE id = '{}'", hiring.staff("owner")));
    sign_in(&app, &key).expect(401);
}

fn an_invalid_registration_is_refused() {
    let (app, hiring) = start(false);
    let (owner, member) = (app.browser(&hiring, "owner"), app.browser(&hiring, "member"));
    let key = Authenticator::new("key");
    let options = |browser: &Client| browser.submit("/app/me/passkeys/options", &[]).expect(200).json();
    let own = options(&owner);
    assert_eq!(own["rp"]["id"], "localhost");
    assert_eq!(own["authenticatorSelection"]["userVerification"], "required");
    for field in ["confirmation.authenticator_data", "confirmation.public_key", "confirmation.credential_id"] {
        let fields = key.create(&options(&owner)).with_changed(field);
        let page = owner.submit("/app/me/passkeys", &fields.and(&[("name", "Typed name")])).expect(400).text();
        assert!(page.contains("This passkey was not accepted") && page.contains(r#"value="Typed name""#), "{page}");
    }
    key.flags.set(PRESENT);
    owner.submit("/app/me/passkeys", &key.create(&options(&owner)).and(&[])).expect(400);
    key.flags.set(VERIFIED);
    key.origin.set("http://evil.example");
    owner.submit("/app/me/passkeys", &key.create(&options(&owner)).and(&[])).expect(400);
    key.origin.set(ORIGIN);
    // Answers to the challenges of another user and of an assertion are refused.
    owner.submit("/app/me/passkeys", &key.create(&options(&member)).and(&[])).expect(400);
    let mut assertion = owner.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    assertion["rp"] = own["rp"].clone();
    owner.submit("/app/me/passkeys", &key.create(&assertion).and(&[])).expect(400);
    for fields in [vec![], vec![("confirmation.client_data", "e30")], vec![("confirmation.client_data", "%")]] {
        owner.submit("/app/me/passkeys", &fields).expect(400);
    }
    assert_eq!(app.sql("SELECT count(*) FROM passkeys"), ["0"]);
}

fn a_passkey_is_registered_only_once() {
    let (app, hiring) = start(false);
    let (owner, member) = (app.browser(&hiring, "owner"), app.browser(&hiring, "member"));
    let key = Authenticator::new("key");
    add_passkey(&owner, &key).expect(200);
    for browser in [&owner, &member] {
        let page = add_passkey(browser, &key).expect(409).text();
        assert!(page.contains("This passkey is already registered"), "{page}");
    }
    let options = owner.submit("/app/me/passkeys/options", &[]).expect(200).json();
    assert_eq!(options["excludeCredentials"][0]["id"], "a2V5");
}

fn an_account_has_at_most_20_passkeys() {
    let (app, hiring) = start(false);
    let owner = app.browser(&hiring, "owner");
    for number in 0..20 {
        assert!(add_passkey(&owner, &Authenticator::new(&format!("key {number}"))).status < 400);
    }
    let page = add_passkey(&owner, &Authenticator::new("one more")).expect(409).text();
    assert!(page.contains("at most 20 passkeys"), "{page}");
}

fn a_passkey_confirms_a_dangerous_act() {
    let (app, hiring) = start(false);
    let (owner, key) = (app.browser(&hiring, "owner"), Authenticator::new("key"));
    add_passkey(&owner, &key).expect(200);
    app.pass(600);
    let page = owner.submit("/app/me/recovery-codes", &[("typed", "field")]).expect(403).text();
    assert!(page.contains(r#"data-options="/app/confirm/passkey-options""#), "{page}");
    let to = "/app/confirm?to=%2Fapp%2Fme%2Frecovery-codes";
    assert!(page.contains(&format!(r#"action="{to}""#)), "{page}");
    let options = owner.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    assert_eq!(options["allowCredentials"][0]["id"], "a2V5");
    let changed = key.get(&options).with_changed("confirmation.signature");
    let page = owner.submit(to, &changed.and(&[("typed", "field")])).expect(403).text();
    assert!(page.contains("This passkey was not accepted"), "{page}");
    assert_eq!(page.matches(r#"name="typed" value="field""#).count(), 2, "{page}");
    // The refused answer has spent the challenge.
    owner.submit(to, &key.get(&options).and(&[])).expect(403);
    let options = owner.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    let answer = owner.submit(to, &key.get(&options).and(&[])).expect(307);
    assert_eq!(answer.header("location"), Some("/app/me/recovery-codes"));
    owner.submit("/app/me/recovery-codes", &[]).expect(200);
}

fn a_passkey_of_somebody_else_does_not_confirm_an_act() {
    let (app, hiring) = start(false);
    let (owner, member) = (app.browser(&hiring, "owner"), app.browser(&hiring, "member"));
    let (own, foreign) = (Authenticator::new("own"), Authenticator::new("foreign"));
    add_passkey(&owner, &own).expect(200);
    add_passkey(&member, &foreign).expect(200);
    app.pass(600);
    let options = owner.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    let page = owner.submit("/app/confirm?next=%2Fapp", &foreign.get(&options).and(&[])).expect(403).text();
    assert!(page.contains("This passkey belongs to no account here"), "{page}");
    // The challenge of one user is not valid for another.
    let options = member.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    owner.submit("/app/confirm?next=%2Fapp", &own.get(&options).and(&[])).expect(403);
}

fn adding_and_removing_a_passkey_require_a_recent_confirmation() {
    let (app, hiring) = start(false);
    let (owner, key) = (app.browser(&hiring, "owner"), Authenticator::new("key"));
    add_passkey(&owner, &key).expect(200);
    app.pass(600);
    owner.get("/app/me/passkeys/new").expect(403);
    let page = add_passkey(&owner, &Authenticator::new("second")).expect(403).text();
    assert!(page.contains("/app/confirm?next=%2Fapp%2Fme%2Fpasskeys%2Fnew"), "{page}");
    let remove = format!("/app/me/passkeys/{}/remove", only_passkey(&app));
    owner.submit(&remove, &[]).expect(403);
    let options = owner.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    owner.submit("/app/confirm?next=%2Fapp%2Fme", &key.get(&options).and(&[])).expect(303);
    owner.get("/app/me/passkeys/new").expect(200);
    let answer = owner.submit(&remove, &[]).expect(303);
    assert_eq!(answer.header("location"), Some("/app/me/second-factor?done=passkey-removed"));
    owner.get("/app/me/second-factor?done=passkey-removed").expect(200);
    owner.submit(&remove, &[]).expect(404);
    assert_eq!(app.sql("SELECT (SELECT count(*) FROM passkeys) + (SELECT count(*) FROM recovery_codes)"), ["0"]);
    assert_eq!(platform_actions(&app, "passkey.removed").len(), 1);
    sign_in(&app, &key).expect(401);
}

fn the_only_second_factor_of_an_owner_cannot_be_removed() {
    let (app, hiring) = start(true);
    let (owner, first) = (app.browser(&hiring, "owner"), Authenticator::new("first"));
    add_passkey(&owner, &first).expect(200);
    let remove = format!("/app/me/passkeys/{}/remove", only_passkey(&app));
    owner.submit(&remove, &[]).expect(409);
    let page = owner.get("/app/me/second-factor").expect(200).text();
    assert!(page.contains("Add another one first.") && !page.contains("/remove"), "{page}");
    add_passkey(&owner, &Authenticator::new("second")).expect(303);
    owner.submit(&remove, &[]).expect(303);
    owner.submit(&format!("/app/me/passkeys/{}/remove", only_passkey(&app)), &[]).expect(409);
    // A plain member needs no second factor.
    let member = app.browser(&hiring, "member");
    add_passkey(&member, &Authenticator::new("third")).expect(200);
    let id = app.sql(&format!("SELECT id FROM passkeys WHERE user_id = '{}'", hiring.staff("member"))).remove(0);
    member.submit(&format!("/app/me/passkeys/{id}/remove"), &[]).expect(303);
}

fn a_passkey_of_somebody_else_is_treated_like_an_unknown_one() {
    let (app, hiring) = start(false);
    let (owner, member) = (app.browser(&hiring, "owner"), app.browser(&hiring, "member"));
    add_passkey(&member, &Authenticator::new("key")).expect(200);
    let body = |id: &str| {
        let answer = owner.submit(&format!("/app/me/passkeys/{id}/remove"), &[]).expect(404);
        answer.text().replace(answer.header("x-request-id").unwrap(), "")
    };
    assert_eq!(body(&only_passkey(&app)), body("pk_unknown"));
    assert_eq!(app.sql("SELECT count(*) FROM passkeys"), ["1"]);
}

fn the_password_alone_is_not_enough_to_sign_in_to_an_account_that_has_a_passkey() {
    let (app, hiring) = start(false);
    let key = Authenticator::new("key");
    add_passkey(&app.browser(&hiring, "owner"), &key).expect(200);
    let browser = app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    let answer = browser.submit("/sign-in", &[("email", &hiring.email("owner")), ("password", PASSWORD)]).expect(200);
    let page = answer.text();
    assert!(page.contains(r#"action="/sign-in/passkey""#), "{page}");
    browser.with_header("Cookie", &cookie(&answer)).get("/app").expect(303);
}

fn a_service_without_a_host_name_offers_no_passkeys() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let stranger = app.anonymous();
    stranger.submit("/sign-in/passkey-options", &[]).expect(409);
    owner.submit("/app/me/passkeys/options", &[]).expect(409);
    owner.submit("/app/confirm/passkey-options", &[]).expect(409);
    let answer = Authenticator::new("key").create(&serde_json::json!({ "challenge": "x", "rp": { "id": "x" } }));
    stranger.submit("/sign-in/passkey", &answer.and(&[])).expect(409);
    owner.submit("/app/me/passkeys", &answer.and(&[])).expect(409);
    let page = owner.get("/app/me/passkeys/new").expect(200).text();
    assert!(page.contains("Passkeys work only over HTTPS") && page.contains("/app/me/authenticator"), "{page}");
}

fn a_sign_in_from_another_origin_is_forbidden() {
    let (app, _) = start(false);
    for header in [("Sec-Fetch-Site", "cross-site"), ("Origin", "http://evil.example")] {
        let browser = app.anonymous().with_header(header.0, header.1);
        browser.submit("/sign-in/passkey-options", &[]).expect(403);
        browser.submit("/sign-in/passkey", &[]).expect(403);
    }
}

fn a_body_of_another_type_or_encoding_or_over_the_limit_is_refused() {
    let (app, _) = start(false);
    let long = format!("note={}", "a".repeat(4 << 20));
    for path in ["/sign-in/passkey-options", "/sign-in/passkey"] {
        let send = |kind, body: &[u8]| app.anonymous().send("POST", path, &[("Content-Type", kind)], body);
        send("application/json", b"{}").expect(415);
        send("application/x-www-form-urlencoded", long.as_bytes()).expect(413);
    }
    for fields in [
        &[][..],
        &[("confirmation.client_data", "e30=")],
        &[("confirmation.client_data", "e30"), ("confirmation.client_data", "e30")],
    ] {
        app.anonymous().submit("/sign-in/passkey", fields).expect(400);
    }
}

fn the_name_of_a_passkey_is_shown_as_text() {
    let (app, hiring) = start(false);
    let owner = app.browser(&hiring, "owner");
    let options = owner.submit("/app/me/passkeys/options", &[]).expect(200).json();
    let fields = Authenticator::new("key").create(&options);
    owner.submit("/app/me/passkeys", &fields.and(&[("name", " <script>alert(1)</script> ")])).expect(200);
    let page = owner.get("/app/me/second-factor").expect(200).text();
    assert!(page.contains("&#60;script&#62;alert(1)&#60;/script&#62;”") && !page.contains("<script>alert"), "{page}");
    let options = owner.submit("/app/me/passkeys/options", &[]).expect(200).json();
    let unnamed = Authenticator::new("second").create(&options);
    owner.submit("/app/me/passkeys", &unnamed.and(&[("name", " ")])).expect(303);
    assert!(owner.get("/app/me/second-factor").expect(200).text().contains("Passkey “Passkey”"));
}
