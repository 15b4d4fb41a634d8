//! `/app/confirm`: dangerous acts require a confirmation within the last ten minutes.

use serde_json::json;

use crate::support::console::{PASSWORD, Phone, browser_with_app, codes_of, form_body, sign_in_link};
use crate::support::{App, Client, Hiring};
use appliance::domain::sign_in_link::LinkPurpose;

crate::tests![
    an_act_needs_no_confirmation_for_ten_minutes_after_a_sign_in,
    the_confirmation_carries_the_form_and_sends_it_again,
    a_recovery_code_confirms_once,
    a_user_without_a_second_factor_confirms_with_the_password,
    a_wrong_confirmation_shows_the_page_again,
    confirmations_are_throttled_like_sign_ins,
    a_partial_request_gets_a_dialog,
    a_page_is_opened_after_the_confirmation,
    changing_the_password_requires_a_confirmation_with_the_second_factor,
    cancel_leads_to_the_same_page_after_a_wrong_code,
    the_page_is_in_the_users_language,
    a_confirmation_applies_only_to_its_session,
    a_confirmation_leads_only_to_pages_of_the_console,
    codes_and_passwords_are_not_carried_to_other_forms,
];

const REMOVE: &str = "/app/me/authenticator/remove";
const CODES: &str = "/app/me/recovery-codes";
const SET_UP: &str = "/app/me/authenticator";

fn confirm(target: &str) -> String {
    format!("/app/confirm?{}", form_body(&[("to", target)]))
}

/// Starts a service in which the owner has an authenticator app.
fn start() -> (App, Hiring, Client, Phone) {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, phone) = browser_with_app(&app, &hiring, "owner");
    (app, hiring, owner, phone)
}

fn an_act_needs_no_confirmation_for_ten_minutes_after_a_sign_in() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let phone = Phone::scan(&owner.get(SET_UP).expect(200).text());
    owner.submit(SET_UP, &[("form", &phone.form), ("code", &phone.shown(&app))]).expect(200);
    app.pass(599);
    owner.submit(CODES, &[]).expect(200);
    app.pass(1);
    for path in [CODES, REMOVE] {
        let page = owner.submit(path, &[]).expect(403).text();
        assert!(page.contains("Please confirm that it is you") && page.contains("confirmation.code"), "{page}");
    }
    owner.get(SET_UP).expect(403);
    assert_eq!(app.sql("SELECT count(*) FROM totp_secrets").concat(), "1");
}

fn the_confirmation_carries_the_form_and_sends_it_again() {
    let (app, _, owner, phone) = start();
    app.pass(600);
    let page = owner.submit(REMOVE, &[("note", "<b>"), ("note", "2")]).expect(403).text();
    assert!(page.contains(&format!(r#"action="{}""#, confirm(REMOVE))), "{page}");
    for field in [r#"name="note" value="&#60;b&#62;""#, r#"name="note" value="2""#] {
        assert!(page.contains(field), "{page}");
    }
    let fields = [("note", "<b>"), ("confirmation.code", &phone.shown(&app))];
    let answer = owner.submit(&confirm(REMOVE), &fields).expect(307);
    assert_eq!(answer.header("location"), Some(REMOVE));
    // The browser now sends the same form to the path of the act.
    owner.submit(REMOVE, &fields).expect(303);
    assert_eq!(app.sql("SELECT count(*) FROM totp_secrets").concat(), "0");
}

fn a_recovery_code_confirms_once() {
    let (app, _, owner, _) = start();
    let codes = codes_of(&owner.submit(CODES, &[]).expect(200).text());
    app.pass(600);
    owner.submit(&confirm(CODES), &[("confirmation.code", &codes[0])]).expect(307);
    owner.submit(CODES, &[]).expect(200);
    app.pass(600);
    owner.submit(&confirm(CODES), &[("confirmation.code", &codes[0])]).expect(403);
    owner.submit(&confirm(CODES), &[("confirmation.code", &codes[1])]).expect(403);
}

fn a_user_without_a_second_factor_confirms_with_the_password() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    app.pass(600);
    let page = owner.get(SET_UP).expect(403).text();
    assert!(page.contains("confirmation.password") && !page.contains("confirmation.code"), "{page}");
    let next = format!("/app/confirm?{}", form_body(&[("next", SET_UP)]));
    assert!(page.contains(&format!(r#"action="{next}""#)), "{page}");
    let wrong = owner.submit(&next, &[("confirmation.password", "a wrong password")]).expect(403).text();
    assert!(wrong.contains("The password is wrong."), "{wrong}");
    owner.submit(&next, &[("confirmation.code", "123456")]).expect(403);
    let answer = owner.submit(&next, &[("confirmation.password", PASSWORD)]).expect(303);
    assert_eq!(answer.header("location"), Some(SET_UP));
    owner.get(SET_UP).expect(200);
}

fn a_wrong_confirmation_shows_the_page_again() {
    let (app, _, owner, phone) = start();
    app.pass(600);
    for wrong in ["", "000000", PASSWORD] {
        let page = owner.submit(&confirm(REMOVE), &[("note", "x"), ("confirmation.code", wrong)]).expect(403).text();
        assert!(page.contains("This code is wrong") && page.contains(r#"name="note" value="x""#), "{page}");
        assert!(!page.contains(&format!("value=\"{wrong}\"")) || wrong.is_empty(), "{page}");
    }
    // The password does not replace the second factor.
    owner.submit(&confirm(REMOVE), &[("confirmation.password", PASSWORD)]).expect(403);
    owner.submit(REMOVE, &[]).expect(403);
    let code = phone.shown(&app);
    owner.submit(&confirm(REMOVE), &[("confirmation.code", &code)]).expect(307);
    owner.submit(&confirm(REMOVE), &[("confirmation.code", &code)]).expect(403);
    owner.submit(&confirm(REMOVE), &[("confirmation.code", "1"), ("confirmation.code", "2")]).expect(400);
}

fn confirmations_are_throttled_like_sign_ins() {
    let (app, hiring, owner, phone) = start();
    app.pass(600);
    for _ in 0..5 {
        owner.submit(&confirm(REMOVE), &[("confirmation.code", "000000")]).expect(403);
    }
    let page = owner.submit(&confirm(REMOVE), &[("confirmation.code", &phone.shown(&app))]).expect(429).text();
    assert!(page.contains("Please wait 1 s,"), "{page}");
    app.pass(1);
    owner.submit(&confirm(REMOVE), &[("confirmation.code", &phone.shown(&app))]).expect(307);
    assert!(app.try_sign_in(&hiring.email("owner"), None).status == 400);
}

fn a_partial_request_gets_a_dialog() {
    let (app, _, owner, phone) = start();
    app.pass(600);
    let part = owner.submit_for_parts(REMOVE, &[("note", "x")]).expect(403).text();
    assert!(part.starts_with("<template data-dialog>") && part.contains("data-swap"), "{part}");
    let wrong = owner.submit_for_parts(&confirm(REMOVE), &[("note", "x"), ("confirmation.code", "1")]).expect(403);
    assert!(wrong.text().starts_with("<template data-dialog>"), "{}", wrong.text());
    owner.submit_for_parts(&confirm(REMOVE), &[("confirmation.code", &phone.shown(&app))]).expect(307);
}

fn a_page_is_opened_after_the_confirmation() {
    let (app, _, owner, phone) = start();
    app.pass(600);
    let page = owner.get(&format!("{SET_UP}?next=/app")).expect(403).text();
    assert!(page.contains("/app/confirm?next=%2Fapp%2Fme%2Fauthenticator%3Fnext%3D%2Fapp"), "{page}");
    let next = "/app/confirm?next=%2Fapp%2Fme%2Fauthenticator";
    owner.submit(next, &[("confirmation.code", &phone.shown(&app))]).expect(303);
    owner.get(SET_UP).expect(200);
}

fn changing_the_password_requires_a_confirmation_with_the_second_factor() {
    let (app, _, owner, phone) = start();
    app.pass(600);
    let fields = [("current", PASSWORD), ("new", "nine lanterns at dusk")];
    let page = owner.submit("/app/me/password", &fields).expect(403).text();
    // Passwords are not carried, so the person returns to the form.
    assert!(page.contains("/app/confirm?next=%2Fapp%2Fme") && !page.contains("lanterns"), "{page}");
    let next = "/app/confirm?next=%2Fapp%2Fme%23password";
    let answer = owner.submit(next, &[("confirmation.code", &phone.shown(&app))]).expect(303);
    assert_eq!(answer.header("location"), Some("/app/me#password"));
    owner.submit("/app/me/password", &fields).expect(303);
}

/// Returns two URLs from a confirmation page: the target of its form, and the target of its cancel link.
fn action_and_cancel(page: &str) -> (String, String) {
    let attribute = |before: &str| page.split_once(before).unwrap().1.split('"').next().unwrap().replace("&#38;", "&");
    (attribute("<form method=\"post\" action=\""), attribute("<a class=\"button\" href=\""))
}

fn cancel_leads_to_the_same_page_after_a_wrong_code() {
    let (app, _, owner, _) = start();
    app.pass(600);
    let fields = [("current", PASSWORD), ("new", "nine lanterns at dusk")];
    for (asked, back) in [
        (owner.submit("/app/me/password", &fields), "/app/me#password"),
        (owner.submit(REMOVE, &[]), "/app"),
        // This page itself requires a confirmation, so a person who cancels cannot return to it.
        (owner.get(SET_UP), "/app"),
    ] {
        let (action, cancel) = action_and_cancel(&asked.expect(403).text());
        assert_eq!(cancel, back);
        let page = owner.submit(&action, &[("confirmation.code", "000000")]).expect(403).text();
        assert_eq!(action_and_cancel(&page), (action, back.to_owned()));
    }
    for elsewhere in ["https://evil.example", "javascript:alert(1)"] {
        let action = format!("/app/confirm?{}", form_body(&[("next", "/app/me"), ("cancel", elsewhere)]));
        let page = owner.submit(&action, &[("confirmation.code", "")]).expect(403).text();
        assert_eq!(action_and_cancel(&page).1, "/app", "{elsewhere}");
    }
}

fn the_page_is_in_the_users_language() {
    let (app, _, owner, _) = start();
    owner.submit("/app/me/preferences", &[("language", "de"), ("theme", "dark")]).expect(303);
    app.pass(600);
    let dark = owner.with_header("Cookie", "theme=dark");
    for page in [owner.submit(REMOVE, &[]), owner.submit(&confirm(REMOVE), &[("confirmation.code", "1")])] {
        let page = page.expect(403).text();
        assert!(page.contains("<html lang=\"de\"") && page.contains("Bitte bestätigen Sie"), "{page}");
    }
    let unreadable = owner.submit(&confirm(REMOVE), &[("confirmation.client_data", "!")]).expect(403).text();
    assert!(unreadable.contains("Wir konnten die Anfrage so nicht verarbeiten."), "{unreadable}");
    assert!(dark.submit(REMOVE, &[]).expect(403).text().contains("data-theme=\"dark\""));
}

fn a_confirmation_applies_only_to_its_session() {
    let (app, hiring, owner, phone) = start();
    app.pass(60);
    let answer = app.try_sign_in(&hiring.email("owner"), Some(&phone.shown(&app))).expect(200);
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let other = app.anonymous().with_header("Cookie", &cookie).with_header("Sec-Fetch-Site", "same-origin");
    app.pass(600);
    owner.submit(&confirm(CODES), &[("confirmation.code", &phone.shown(&app))]).expect(307);
    other.submit(CODES, &[]).expect(403);
    owner.submit(CODES, &[]).expect(200);
    // A sign-in link requires no confirmation.
    let link = sign_in_link(&app, &hiring.staff("member"), LinkPurpose::Invitation);
    app.anonymous().submit(&link, &[("password", "nine lanterns at dusk")]).expect(303);
}

fn a_confirmation_leads_only_to_pages_of_the_console() {
    let (app, _, owner, phone) = start();
    for target in ["https://evil.example", "//evil.example/app", "/api/v1/me", ""] {
        app.pass(30);
        let answer = owner.submit(&confirm(target), &[("confirmation.code", &phone.shown(&app))]).expect(303);
        assert_eq!(answer.header("location"), Some("/app"), "{target}");
    }
}

fn codes_and_passwords_are_not_carried_to_other_forms() {
    let (app, hiring, owner, _) = start();
    app.pass(600);
    let page = owner.submit(REMOVE, &[("confirmation.code", "654321"), ("note", "x")]).expect(403).text();
    assert!(!page.contains("654321"), "{page}");
    let page = app.anonymous().submit(REMOVE, &[("confirmation.password", "secret words"), ("note", "x")]).expect(401);
    assert!(!page.text().contains("secret words") && page.text().contains("sent.note"), "{}", page.text());
    let body = json!({ "email": hiring.email("owner"), "password": PASSWORD });
    app.anonymous().post("/api/auth/sign-in", &body).refused(400, "validation_error");
}
