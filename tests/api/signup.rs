//! `GET /signup/{token}`: the page that a signup link leads to, for as long as it leads somewhere.

use std::time::Duration;

use serde_json::json;

use crate::portal_apply::signup_path;
use crate::support::{Answer, App};

crate::tests![
    a_link_leads_to_a_page_that_names_the_role_and_the_organization,
    the_page_may_run_nothing_and_is_kept_nowhere,
    hostile_names_are_text,
    a_page_in_a_language_it_does_not_speak_is_in_english,
    a_link_lives_for_thirty_days_to_the_microsecond,
    the_page_counts_the_days_that_are_left,
    a_link_ends_when_its_role_is_filled,
    a_link_waits_while_its_role_is_not_public_or_its_portal_is_off,
    a_link_ends_when_its_role_is_closed,
    every_link_that_leads_nowhere_is_the_same_page,
    a_token_of_strange_bytes_is_a_404_page,
    another_method_is_a_405,
    head_has_the_same_header_fields_and_no_body,
    following_a_link_changes_nothing,
];

/// This answer, where it is the page of a link that leads nowhere; without what is different each time.
#[track_caller]
fn nowhere(answer: Answer) -> String {
    let answer = answer.expect(404);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let text = answer.text();
    assert!(text.starts_with("<!doctype html>") && text.contains("<h1>This page is not here</h1>"), "{text}");
    text.replace(answer.header("x-request-id").unwrap(), "")
}

fn a_link_leads_to_a_page_that_names_the_role_and_the_organization() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = app.anonymous().get(&signup_path(&app, &hiring)).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let text = answer.text();
    assert!(text.starts_with("<!doctype html>\n<html lang=\"en\">"), "{text}");
    assert!(text.contains("<title>Engineer at Acme 1</title>"), "{text}");
    assert!(text.contains("<h1>Engineer at Acme 1</h1>"), "{text}");
    assert!(text.contains("<meta name=\"robots\" content=\"noindex\">"), "{text}");
}

fn the_page_may_run_nothing_and_is_kept_nowhere() {
    let app = App::start();
    let hiring = app.hiring();
    for (path, status) in [(signup_path(&app, &hiring), 200), ("/signup/nothing".to_owned(), 404)] {
        let answer = app.anonymous().get(&path).expect(status);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self';") && !policy.contains("unsafe"), "{policy}");
    }
}

fn hostile_names_are_text() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["name"] = json!("\"><img src=x onerror='alert(1)'> & {{nonce}}");
        document["organizations"][0]["roles"][0]["name"] = json!("<script>alert(1)</script> {{paragraphs}}");
    });
    let text = app.anonymous().get(&signup_path(&app, &hiring)).expect(200).text();
    assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("onerror='"), "{text}");
    let role = "&#60;script&#62;alert(1)&#60;/script&#62; {{paragraphs}}";
    let organization = "&#34;&#62;&#60;img src=x onerror=&#39;alert(1)&#39;&#62; &#38; {{nonce}}";
    assert!(text.contains(&format!("<title>{role} at {organization}</title>")), "{text}");
    assert!(text.contains(&format!("<h1>{role} at {organization}</h1>")), "{text}");
    assert!(text.contains(&format!("apply for this role at {organization}.")), "{text}");
}

fn a_page_in_a_language_it_does_not_speak_is_in_english() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for query in ["", "?locale=en", "?locale=gsw-CH", "?locale=%00", "?locale=%3Cscript%3E", "?x=y&x=y"] {
        let text = app.anonymous().get(&format!("{path}{query}")).expect(200).text();
        assert!(text.contains("<html lang=\"en\">") && text.contains("You are invited to apply"), "{query}: {text}");
        assert!(!text.contains("<script"), "{query}: {text}");
    }
}

fn a_link_lives_for_thirty_days_to_the_microsecond() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    app.world.pass(Duration::from_secs(30 * 86_400) - Duration::from_micros(1));
    app.anonymous().get(&path).expect(200);
    app.world.pass(Duration::from_micros(1));
    nowhere(app.anonymous().get(&path));
}

fn the_page_counts_the_days_that_are_left() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let says = |days: &str| {
        let text = app.anonymous().get(&path).expect(200).text();
        assert!(text.contains(&format!("yours to use for {days}, ")), "{days}: {text}");
    };
    says("30 more days");
    app.pass(1);
    says("30 more days");
    app.pass(28 * 86_400 - 1);
    says("2 more days");
    app.pass(86_400);
    says("1 more day");
    app.pass(86_399);
    says("1 more day");
}

fn a_link_ends_when_its_role_is_filled() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user(&hiring.staff("owner"));
    let path = signup_path(&app, &hiring);
    owner.post_empty(&hiring.hire(0)).expect(200);
    app.anonymous().get(&path).expect(200);
    owner.post_empty(&hiring.hire(1)).expect(200);
    nowhere(app.anonymous().get(&path));
    // Opened again it gets a new link, and this one stays dead.
    owner.post_empty(&hiring.reject(0)).expect(200);
    nowhere(app.anonymous().get(&path));
}

fn a_link_waits_while_its_role_is_not_public_or_its_portal_is_off() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for (away, back) in [
        ("UPDATE roles SET public = 0", "UPDATE roles SET public = 1"),
        ("UPDATE organizations SET portal_enabled = 0", "UPDATE organizations SET portal_enabled = 1"),
    ] {
        app.change(away);
        nowhere(app.anonymous().get(&path));
        app.change(back);
        app.anonymous().get(&path).expect(200);
    }
}

fn a_link_ends_when_its_role_is_closed() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for status in ["closed", "draft"] {
        app.change(&format!("UPDATE roles SET status = '{status}'"));
        nowhere(app.anonymous().get(&path));
    }
}

fn every_link_that_leads_nowhere_is_the_same_page() {
    let app = App::start();
    let (hidden, filled, off) = (app.hiring(), app.hiring(), app.hiring());
    let paths = [&hidden, &filled, &off].map(|hiring| signup_path(&app, hiring));
    let owner = app.user(&filled.staff("owner"));
    owner.post_empty(&filled.hire(0)).expect(200);
    owner.post_empty(&filled.hire(1)).expect(200);
    app.change(&format!("UPDATE roles SET public = 0 WHERE id = '{}'", hidden.role_id));
    app.change(&format!("UPDATE organizations SET portal_enabled = 0 WHERE id = '{}'", off.organization_id));
    let expired = app.hiring();
    let expired_path = signup_path(&app, &expired);
    let unknown = nowhere(app.anonymous().get("/signup/0123456789abcdefghjkmnpqrstvwxyz0"));
    for path in paths {
        assert_eq!(nowhere(app.anonymous().get(&path)), unknown);
    }
    app.pass(30 * 86_400);
    assert_eq!(nowhere(app.anonymous().get(&expired_path)), unknown);
}

fn a_token_of_strange_bytes_is_a_404_page() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let long = "a".repeat(4_000);
    for token in ["%00", "%C3%A4", "%20", "'%20OR%201=1--", "%3Cscript%3E", "%2e%2e%2fetc", "%", "%zz", "%ff", &long] {
        let text = nowhere(app.anonymous().get(&format!("/signup/{token}")));
        assert!(!text.contains("<script"), "{token}: {text}");
    }
    nowhere(app.anonymous().get(&path.to_uppercase().replace("/SIGNUP/", "/signup/")));
    nowhere(app.anonymous().get(&format!("{path}%20")));
    nowhere(app.anonymous().get("/signup/"));
    nowhere(app.anonymous().get("/signup"));
}

fn another_method_is_a_405() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = app.anonymous().send(method, &path, &[], b"").expect(405);
        assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method}");
    }
}

fn head_has_the_same_header_fields_and_no_body() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous();
    for (path, status) in [(signup_path(&app, &hiring), 200), ("/signup/nothing".to_owned(), 404)] {
        let get = client.get(&path).expect(status);
        let head = client.send("HEAD", &path, &[], b"").expect(status);
        for name in ["content-type", "content-length", "cache-control", "referrer-policy"] {
            assert!(get.header(name).is_some(), "{name}");
            assert_eq!(head.header(name), get.header(name), "{name}");
        }
        assert!(head.header("content-security-policy").is_some());
        assert!(head.body.is_empty());
    }
}

fn following_a_link_changes_nothing() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let before = app.sql("SELECT * FROM invitations");
    for _ in 0..3 {
        app.anonymous().get(&path).expect(200);
    }
    assert_eq!(app.sql("SELECT * FROM invitations"), before);
    assert_eq!(signup_path(&app, &hiring), path);
}
