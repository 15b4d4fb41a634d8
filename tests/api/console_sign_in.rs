//! `/sign-in` and `/join/{token}`: how a person signs in to the staff console.

use appliance::domain::sign_in_link::LinkPurpose;

use crate::support::console::{PASSWORD, SAME_ORIGIN, form_body, sign_in_link};
use crate::support::race::{connected_clients, count, run_together, statuses};
use crate::support::{Answer, App, Client};

crate::tests![
    signing_in_leads_to_the_requested_page,
    a_link_to_another_site_is_not_followed,
    a_signed_in_person_is_redirected_to_the_requested_page,
    a_wrong_password_shows_the_form_with_the_address,
    a_sign_in_must_wait_after_too_many_failures,
    a_sign_in_from_another_origin_is_forbidden,
    a_sign_in_body_of_another_type_or_over_the_limit_is_refused,
    a_repeated_field_is_refused,
    a_form_is_carried_through_the_sign_in,
    a_link_signs_in_once_with_a_new_password,
    concurrent_uses_of_a_link_set_one_password,
    a_refused_password_shows_the_form_again_with_an_error,
    unknown_and_expired_links_and_those_of_disabled_users_are_gone,
    a_link_of_the_demo_asks_for_no_password,
    a_join_from_another_origin_is_forbidden,
    a_join_body_of_another_type_or_over_the_limit_is_refused,
    a_new_link_replaces_the_earlier_one,
    other_sessions_end_when_their_user_changes_the_password,
];

const OTHER: &str = "a quite different sentence";

fn browser(app: &App) -> Client {
    app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1)
}

fn cookie(answer: &Answer) -> String {
    answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

fn signing_in_leads_to_the_requested_page() {
    let app = App::start();
    let hiring = app.hiring();
    let email = hiring.email("owner");
    app.set_password(&email, PASSWORD);
    let page = browser(&app).get("/sign-in?next=%2Fapp%2Fme").expect(200).text();
    assert!(page.contains(r#"name="next" value="/app/me""#), "{page}");
    let fields = [("email", &*email), ("password", PASSWORD), ("next", "/app/me")];
    let answer = browser(&app).submit("/sign-in", &fields).expect(303);
    assert_eq!(answer.header("location"), Some("/app/me"));
    let session = browser(&app).with_header("Cookie", &cookie(&answer));
    assert!(session.get("/app/me").expect(200).text().contains(&email));
    session.get("/api/v1/me").expect(200);
}

fn a_link_to_another_site_is_not_followed() {
    let app = App::start();
    let hiring = app.hiring();
    let email = hiring.email("owner");
    app.set_password(&email, PASSWORD);
    for elsewhere in
        ["https://evil.example/", "//evil.example/app", "/app//evil.example", "/docs", "javascript:alert(1)"]
    {
        let answer =
            browser(&app).submit("/sign-in", &[("email", &email), ("password", PASSWORD), ("next", elsewhere)]);
        assert_eq!(answer.expect(303).header("location"), Some("/app"), "{elsewhere}");
        let query: String = form_body(&[("next", elsewhere)]);
        let page = browser(&app).get(&format!("/sign-in?{query}")).expect(200).text();
        assert!(!page.contains("evil") && !page.contains("alert(1)"), "{page}");
    }
}

fn a_signed_in_person_is_redirected_to_the_requested_page() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    assert_eq!(owner.get("/sign-in?next=/app/me").expect(303).header("location"), Some("/app/me"));
    assert_eq!(owner.get("/sign-in").expect(303).header("location"), Some("/app"));
}

fn a_wrong_password_shows_the_form_with_the_address() {
    let app = App::start();
    let hiring = app.hiring();
    let email = hiring.email("owner");
    app.set_password(&email, PASSWORD);
    let answer = browser(&app).submit("/sign-in", &[("email", &email), ("password", "wrong"), ("next", "/app/me")]);
    let known = answer.expect(401).text();
    assert!(known.contains(&format!(r#"value="{email}""#)) && !known.contains("wrong\""), "{known}");
    assert!(known.contains(r#"name="next" value="/app/me""#), "{known}");
    // The page does not reveal whether the address belongs to a user.
    let unknown = browser(&app).submit("/sign-in", &[("email", "nobody@example.org"), ("password", "wrong")]);
    let alert = |page: &str| page.split("role=\"alert\">").nth(1).unwrap().split('<').next().unwrap().to_owned();
    assert_eq!(alert(&unknown.expect(401).text()), alert(&known));
    let hostile = [("email", "\"><script>alert(1)</script>"), ("password", "x")];
    assert!(!browser(&app).submit("/sign-in", &hostile).text().contains("<script>alert"));
}

fn a_sign_in_must_wait_after_too_many_failures() {
    let app = App::start();
    let hiring = app.hiring();
    let email = hiring.email("owner");
    app.set_password(&email, PASSWORD);
    for _ in 0..5 {
        browser(&app).submit("/sign-in", &[("email", &email), ("password", "wrong")]).expect(401);
    }
    let answer = browser(&app).submit("/sign-in", &[("email", &email), ("password", PASSWORD)]).expect(429);
    assert!(answer.header("retry-after").is_some() && answer.header("set-cookie").is_none());
}

fn a_sign_in_from_another_origin_is_forbidden() {
    let app = App::start();
    let hiring = app.hiring();
    let email = hiring.email("owner");
    app.set_password(&email, PASSWORD);
    for (name, value, language, reason) in [
        ("Sec-Fetch-Site", "cross-site", "en", "We could not process the request"),
        ("Sec-Fetch-Site", "cross-site", "de", "Wir konnten die Anfrage so nicht verarbeiten"),
        ("Origin", "http://evil.example", "en", "You opened this service at http://evil.example"),
        ("Origin", "http://evil.example", "es", "Ha abierto este servicio en http://evil.example"),
    ] {
        let client = app.anonymous().with_header(name, value).with_header("Accept-Language", language);
        let answer = client.submit("/sign-in", &[("email", &email), ("password", PASSWORD)]).expect(403);
        assert_eq!(answer.header("set-cookie"), None);
        assert!(answer.text().contains(reason), "{}", answer.text());
    }
}

fn a_sign_in_body_of_another_type_or_over_the_limit_is_refused() {
    let app = App::start();
    assert_refuses_other_bodies(&app, "/sign-in");
}

fn assert_refuses_other_bodies(app: &App, path: &str) {
    browser(app).send("POST", path, &[("Content-Type", "application/json")], b"{}").expect(415);
    let long = form_body(&[("password", &"a".repeat(4 << 20))]);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    browser(app).send("POST", path, &form, long.as_bytes()).expect(413);
}

fn a_repeated_field_is_refused() {
    let app = App::start();
    browser(&app).submit("/sign-in", &[("email", "a@example.org"), ("email", "b@example.org")]).expect(400);
    browser(&app).get("/sign-in?next=/app&next=/app/me").expect(400);
    browser(&app).get("/join/none?lang=de&lang=en").expect(400);
}

fn a_form_is_carried_through_the_sign_in() {
    let app = App::start();
    let hiring = app.hiring();
    let email = hiring.email("owner");
    app.set_password(&email, PASSWORD);
    let page = browser(&app).submit("/app/me/preferences", &[("language", "de")]).expect(401).text();
    assert!(page.contains(r#"name="sent.language" value="de""#), "{page}");
    let fields = [("email", &*email), ("password", PASSWORD), ("to", "/app/me/preferences"), ("sent.language", "de")];
    let answer = browser(&app).submit("/sign-in", &fields).expect(200);
    let page = answer.text();
    assert!(page.contains(r#"<form method="post" action="/app/me/preferences""#), "{page}");
    assert!(page.contains(r#"<input type="hidden" name="language" value="de">"#), "{page}");
    // A target on another site is dropped.
    let fields = [("email", &*email), ("password", PASSWORD), ("to", "https://evil.example/"), ("sent.language", "de")];
    assert_eq!(browser(&app).submit("/sign-in", &fields).expect(303).header("location"), Some("/app"));
    // The form survives a wrong password.
    let fields = [("email", &*email), ("password", "wrong"), ("to", "/app/me/preferences"), ("sent.language", "de")];
    let page = browser(&app).submit("/sign-in", &fields).expect(401).text();
    assert!(page.contains(r#"name="sent.language" value="de""#), "{page}");
}

fn a_link_signs_in_once_with_a_new_password() {
    let app = App::start();
    let hiring = app.hiring();
    let email = hiring.email("owner");
    let before = app.browser(&hiring, "owner");
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset);
    // Opening the page does not use up the link.
    for _ in 0..2 {
        let page = browser(&app).get(&path).expect(200).text();
        assert!(page.contains(&email) && page.contains("Acme 1"), "{page}");
    }
    let answer = browser(&app).submit(&path, &[("password", OTHER)]).expect(303);
    assert_eq!(answer.header("location"), Some("/app"));
    browser(&app).with_header("Cookie", &cookie(&answer)).get("/app").expect(200);
    before.get("/app").expect(303);
    browser(&app).submit("/sign-in", &[("email", &email), ("password", PASSWORD)]).expect(401);
    browser(&app).submit("/sign-in", &[("email", &email), ("password", OTHER)]).expect(303);
    browser(&app).get(&path).expect(410);
    browser(&app).submit(&path, &[("password", "another attempt, later")]).expect(410);
}

fn concurrent_uses_of_a_link_set_one_password() {
    const ROUNDS: usize = 3;
    let app = App::start();
    let hiring = app.hiring();
    let email = hiring.email("owner");
    for _ in 0..ROUNDS {
        let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset);
        let password = |number: usize| format!("{OTHER} {number}");
        let mut clients = connected_clients(&app, 4);
        let answers = run_together(&mut clients, |number, client| {
            client.with_header(SAME_ORIGIN.0, SAME_ORIGIN.1).submit(&path, &[("password", &password(number))])
        });
        assert_eq!((count(&answers, 303), count(&answers, 410)), (1, 3), "{:?}", statuses(&answers));
        let winner = answers.iter().position(|answer| answer.status == 303).unwrap();
        let fields = [("email", &*email), ("password", &password(winner))];
        browser(&app).submit("/sign-in", &fields).expect(303);
        // Only the winner's browser is signed in.
        let sessions = "SELECT count(*) FROM sessions";
        assert_eq!(app.sql(sessions), ["2"], "the session of the link, and that of the sign-in");
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_refused_password_shows_the_form_again_with_an_error() {
    let app = App::start();
    let hiring = app.hiring();
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Invitation);
    let too_long = "a1".repeat(1_000);
    for refused in ["", "short", "12 characte", "aaaaaaaaaaaaaaaa", &*hiring.email("owner"), &too_long] {
        let page = browser(&app).submit(&path, &[("password", refused)]).expect(400).text();
        assert!(page.contains(r#"id="password-error""#), "{refused}: {page}");
        assert!(refused.is_empty() || !page.contains(&format!("value=\"{refused}\"><")), "{page}");
    }
    browser(&app).submit(&path, &[("password", "12 character")]).expect(303);
}

fn unknown_and_expired_links_and_those_of_disabled_users_are_gone() {
    let app = App::start();
    let hiring = app.hiring();
    let unknown = format!("/join/{}", "A".repeat(43));
    let gone = browser(&app).get(&unknown).expect(410).text();
    for (purpose, seconds) in [(LinkPurpose::Reset, 60 * 60), (LinkPurpose::Invitation, 7 * 24 * 60 * 60)] {
        let path = sign_in_link(&app, &hiring.staff("owner"), purpose);
        app.pass(seconds - 1);
        browser(&app).get(&path).expect(200);
        app.pass(1);
        assert_eq!(browser(&app).get(&path).expect(410).text(), gone);
        browser(&app).submit(&path, &[("password", OTHER)]).expect(410);
    }
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset);
    app.change(&format!("UPDATE users SET enabled = 0 WHERE id = '{}'", hiring.staff("owner")));
    assert_eq!(browser(&app).get(&path).expect(410).text(), gone);
}

fn a_link_of_the_demo_asks_for_no_password() {
    let app = App::start();
    let hiring = app.hiring();
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Demo);
    assert!(!browser(&app).get(&path).expect(200).text().contains(r#"name="password""#));
    let answer = browser(&app).submit(&path, &[]).expect(303);
    browser(&app).with_header("Cookie", &cookie(&answer)).get("/app").expect(200);
    browser(&app).submit(&path, &[]).expect(410);
}

fn a_join_from_another_origin_is_forbidden() {
    let app = App::start();
    let hiring = app.hiring();
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Demo);
    app.anonymous().with_header("Sec-Fetch-Site", "cross-site").submit(&path, &[]).expect(403);
    app.anonymous().with_header("Origin", "http://evil.example").submit(&path, &[]).expect(403);
    browser(&app).submit(&path, &[]).expect(303);
}

fn a_join_body_of_another_type_or_over_the_limit_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    assert_refuses_other_bodies(&app, &sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset));
}

fn a_new_link_replaces_the_earlier_one() {
    let app = App::start();
    let hiring = app.hiring();
    let earlier = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset);
    let path = sign_in_link(&app, &hiring.staff("owner"), LinkPurpose::Reset);
    browser(&app).get(&earlier).expect(410);
    browser(&app).get(&path).expect(200);
}

fn other_sessions_end_when_their_user_changes_the_password() {
    let app = App::start();
    let hiring = app.hiring();
    let (here, elsewhere) = (app.browser(&hiring, "owner"), app.sign_in(&hiring.email("owner"), PASSWORD));
    here.submit("/app/me/password", &[("current", PASSWORD), ("new", OTHER)]).expect(303);
    // If a person changes the password in a browser, that browser's session continues, and the person's other sessions
    // end.
    elsewhere.get("/app").expect(303);
    here.get("/app").expect(200);
}
