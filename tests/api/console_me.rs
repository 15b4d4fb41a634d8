//! `/app/me`: the user's password, second factors, sessions and preferences.

use crate::console_passkey;
use crate::support::authenticator::{Authenticator, add_passkey};
use crate::support::console::{PASSWORD, Phone, follow};
use crate::support::{App, Client, Hiring};

crate::tests![
    the_page_lists_the_users_sessions,
    a_user_can_end_one_of_their_other_sessions,
    a_session_of_another_user_is_treated_like_an_unknown_one,
    a_user_can_end_all_their_other_sessions,
    a_wrong_current_password_changes_nothing,
    a_refused_new_password_changes_nothing,
    wrong_current_passwords_are_throttled,
    the_page_names_the_users_second_factors,
    a_user_with_only_passkeys_sets_a_password,
    a_first_password_requires_a_recent_confirmation_by_passkey,
    a_password_that_was_set_in_the_meantime_is_not_replaced,
    preferences_change_the_language_and_turn_single_key_shortcuts_on_and_off,
    the_theme_is_stored_in_a_cookie,
    signing_out_ends_the_session,
    the_last_use_of_a_session_is_recorded_at_most_once_a_minute,
];

const OTHER: &str = "a quite different sentence";

fn the_page_lists_the_users_sessions() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let hostile = app.anonymous().with_header("User-Agent", "<script>alert(1)</script>");
    hostile.submit("/sign-in", &[("email", &hiring.email("owner")), ("password", PASSWORD)]).expect(303);
    let page = owner.get("/app/me").expect(200).text();
    assert_eq!(page.matches(r#"<span class="quiet">127.0.0.1</span>"#).count(), 2, "{page}");
    assert!(page.contains("<b>Unknown browser</b>"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");
    assert_eq!(page.matches("/end\"").count(), 1, "the list has no button that ends the current session: {page}");
}

fn a_user_can_end_one_of_their_other_sessions() {
    let app = App::start();
    let hiring = app.hiring();
    let here = app.browser(&hiring, "owner");
    let elsewhere = app.sign_in(&hiring.email("owner"), PASSWORD);
    let page = here.get("/app/me").expect(200).text();
    let path = page.split("action=\"").map(|rest| rest.split('"').next().unwrap()).find(|path| path.ends_with("/end"));
    let path = path.unwrap().to_owned();
    let answer = here.submit(&path, &[]).expect(303);
    assert_eq!(answer.header("location"), Some("/app/me?done=session"));
    here.get("/app/me?done=session").expect(200);
    elsewhere.get("/app").expect(303);
    here.submit(&path, &[]).expect(404);
}

fn a_session_of_another_user_is_treated_like_an_unknown_one() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, member) = (app.browser(&hiring, "owner"), app.browser(&hiring, "member"));
    let sql = format!("SELECT id FROM sessions WHERE user_id = '{}'", hiring.staff("member"));
    let foreign = app.sql(&sql).remove(0);
    let body = |id: &str| {
        let answer = owner.submit(&format!("/app/me/sessions/{id}/end"), &[]).expect(404);
        answer.text().replace(answer.header("x-request-id").unwrap(), "")
    };
    assert_eq!(body(&foreign), body("sess_unknown"));
    assert_eq!(body(&foreign), body("%22%3E"));
    member.get("/app").expect(200);
}

fn a_user_can_end_all_their_other_sessions() {
    let app = App::start();
    let hiring = app.hiring();
    let here = app.browser(&hiring, "owner");
    let elsewhere = [(); 3].map(|()| app.sign_in(&hiring.email("owner"), PASSWORD));
    let colleague = app.browser(&hiring, "member");
    here.submit("/app/me/sessions/end-others", &[]).expect(303);
    for session in elsewhere {
        session.get("/app").expect(303);
    }
    here.get("/app").expect(200);
    colleague.get("/app").expect(200);
}

fn a_wrong_current_password_changes_nothing() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let page = owner.submit("/app/me/password", &[("current", "wrong"), ("new", OTHER)]).expect(400).text();
    assert!(page.contains("aria-invalid"), "{page}");
    app.sign_in(&hiring.email("owner"), PASSWORD);
}

fn a_refused_new_password_changes_nothing() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for refused in ["short", "The owner The owner", &*hiring.email("owner")] {
        let page = owner.submit("/app/me/password", &[("current", PASSWORD), ("new", refused)]).expect(400).text();
        assert!(page.contains("aria-invalid"), "{refused}: {page}");
    }
    owner.submit("/app/me/password", &[("current", PASSWORD), ("current", "x"), ("new", OTHER)]).expect(400);
    app.sign_in(&hiring.email("owner"), PASSWORD);
}

fn wrong_current_passwords_are_throttled() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for _ in 0..5 {
        owner.submit("/app/me/password", &[("current", "wrong"), ("new", OTHER)]).expect(400);
    }
    owner.submit("/app/me/password", &[("current", PASSWORD), ("new", OTHER)]).expect(429);
    owner.get("/app/me").expect(200);
}

/// Starts a service in which the owner has a passkey and no password.
fn with_passkey_only() -> (App, Hiring, Client, Authenticator) {
    let (app, hiring) = console_passkey::start(false);
    let key = Authenticator::new("key");
    add_passkey(&app.browser(&hiring, "owner"), &key).expect(200);
    app.change(&format!("UPDATE users SET password_hash = NULL WHERE id = '{}'", hiring.staff("owner")));
    let owner = app.browser_with_passkey(&key);
    (app, hiring, owner, key)
}

fn the_page_names_the_users_second_factors() {
    let (app, _, owner, _) = with_passkey_only();
    let section = || {
        let page = owner.get("/app/me").expect(200).text();
        page.split("id=\"second-factor\"").nth(1).unwrap().split("</section>").next().unwrap().to_owned()
    };
    assert!(section().contains("<p>1 passkey</p>") && section().contains("Change the second factor"), "{}", section());
    add_passkey(&owner, &Authenticator::new("second")).expect(303);
    let phone = Phone::scan(&owner.get("/app/me/authenticator").expect(200).text());
    let fields = [("form", phone.form.as_str()), ("code", &phone.shown(&app))];
    owner.submit("/app/me/authenticator", &fields).expect(303);
    assert!(section().contains("<p>Authenticator app, 2 passkeys</p>"), "{}", section());
}

fn a_user_with_only_passkeys_sets_a_password() {
    let (app, hiring, owner, key) = with_passkey_only();
    let elsewhere = app.browser_with_passkey(&key);
    let page = owner.get("/app/me").expect(200).text();
    assert!(page.contains("You have no password.") && !page.contains(r#"name="current""#), "{page}");
    for (refused, reason) in [("short", "12 characters"), ("The owner the owner", "name")] {
        let page = owner.submit("/app/me/password", &[("new", refused)]).expect(400).text();
        assert!(page.contains(r#"id="new-error""#) && page.contains(reason), "{page}");
    }
    let page = follow(&owner, owner.submit("/app/me/password", &[("new", OTHER)])).text();
    assert!(page.contains("Your password was set.") && page.contains(r#"name="current""#), "{page}");
    elsewhere.get("/app").expect(303);
    let fields = [("email", &*hiring.email("owner")), ("password", OTHER)];
    let page = app.anonymous().submit("/sign-in", &fields).expect(200).text();
    assert!(page.contains(r#"action="/sign-in/passkey""#), "the passkey is still required: {page}");
    // From now on, the current password is required.
    owner.submit("/app/me/password", &[("new", PASSWORD)]).expect(400);
    owner.submit("/app/me/password", &[("current", OTHER), ("new", PASSWORD)]).expect(303);
}

fn a_first_password_requires_a_recent_confirmation_by_passkey() {
    let (app, _, owner, key) = with_passkey_only();
    app.pass(599);
    owner.submit("/app/me/password", &[("new", "short")]).expect(400);
    app.pass(1);
    let page = owner.submit("/app/me/password", &[("new", OTHER)]).expect(403).text();
    assert!(page.contains("/app/confirm?next=%2Fapp%2Fme") && !page.contains(OTHER), "{page}");
    assert_eq!(app.sql("SELECT count(*) FROM users WHERE password_hash IS NULL AND email LIKE '%owner%'"), ["1"]);
    let options = owner.submit("/app/confirm/passkey-options", &[]).expect(200).json();
    let answer = owner.submit("/app/confirm?next=%2Fapp%2Fme%23password", &key.get(&options).and(&[])).expect(303);
    assert_eq!(answer.header("location"), Some("/app/me#password"));
    owner.submit("/app/me/password", &[("new", OTHER)]).expect(303);
}

fn a_password_that_was_set_in_the_meantime_is_not_replaced() {
    let (app, hiring, owner, _) = with_passkey_only();
    app.change(&format!("UPDATE users SET password_hash = 'x' WHERE id = '{}'", hiring.staff("owner")));
    let page = owner.submit("/app/me/password", &[("new", OTHER)]).expect(400).text();
    assert!(page.contains("This is not your current password."), "{page}");
    assert_eq!(app.sql("SELECT count(*) FROM users WHERE password_hash = 'x'"), ["1"]);
}

fn preferences_change_the_language_and_turn_single_key_shortcuts_on_and_off() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner").with_header("Accept-Language", "fr");
    assert!(owner.get("/app/me").expect(200).text().contains("<html lang=\"fr\""));
    owner.submit("/app/me/preferences", &[("language", "de")]).expect(303);
    let page = owner.get("/app/me?done=preferences").expect(200).text();
    assert!(page.contains("<html lang=\"de\"") && page.contains("data-keys=\"off\""), "{page}");
    owner.submit("/app/me/preferences", &[("language", ""), ("single_keys", "on")]).expect(303);
    let page = owner.get("/app/me").expect(200).text();
    assert!(page.contains("<html lang=\"fr\"") && !page.contains("data-keys=\"off\""), "{page}");
    owner.submit("/app/me/preferences", &[("language", "xx")]).expect(400);
    owner.submit("/app/me/preferences", &[("language", "de"), ("language", "en")]).expect(400);
}

fn the_theme_is_stored_in_a_cookie() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let cookie = |theme: &str| {
        let answer = owner.submit("/app/me/preferences", &[("theme", theme)]).expect(303);
        answer.header("set-cookie").unwrap().to_owned()
    };
    assert!(cookie("dark").starts_with("theme=dark; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax"));
    assert!(cookie("").starts_with("theme=; Path=/; Max-Age=0;"));
    assert!(cookie("\"><script>").starts_with("theme=; Path=/; Max-Age=0;"));
    let page = app.anonymous().with_header("Cookie", "theme=dark").get("/sign-in").expect(200).text();
    assert!(page.contains("data-theme=\"dark\""), "{page}");
    let page = app.anonymous().with_header("Cookie", "theme=pink").get("/sign-in").expect(200).text();
    assert!(!page.contains("data-theme") && !page.contains("pink"), "{page}");
}

fn signing_out_ends_the_session() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let answer = owner.submit("/app/sign-out", &[]).expect(303);
    assert_eq!(answer.header("location"), Some("/sign-in"));
    assert!(answer.header("set-cookie").unwrap().contains("Max-Age=0"));
    owner.get("/app").expect(303);
}

fn the_last_use_of_a_session_is_recorded_at_most_once_a_minute() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let seen = || app.sql("SELECT last_seen_at FROM sessions").remove(0);
    let at_start = seen();
    app.pass(59);
    owner.get("/app").expect(200);
    assert_eq!(seen(), at_start);
    app.pass(1);
    owner.get("/app").expect(200);
    assert_ne!(seen(), at_start);
}
