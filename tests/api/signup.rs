//! `GET /signup/{token}`: the application form behind a signup link, the lifetime of the link, and the pages shown
//! instead of the form.

use std::time::Duration;

use serde_json::json;

use crate::support::app::Options;
use crate::support::signup::{Form, input_value, signup_path, signup_path_of, status_path};
use crate::support::{Answer, App};

crate::tests![
    a_link_opens_a_form_for_the_role,
    every_field_has_a_label_and_personal_fields_have_autocomplete,
    the_page_runs_no_scripts_and_is_not_cached,
    hostile_names_are_shown_as_text,
    the_page_is_in_the_language_of_the_link_or_the_browser,
    the_page_links_to_every_language,
    a_link_expires_after_exactly_thirty_days,
    the_page_of_an_expired_link_links_to_the_posting,
    a_link_stops_working_when_its_role_is_filled,
    a_link_stops_working_when_its_role_is_closed,
    a_link_to_a_role_without_steps_opens_no_form,
    a_link_works_again_when_its_role_and_portal_are_public_again,
    all_dead_links_lead_to_the_same_page,
    a_request_with_a_malformed_token_gets_a_404_page,
    a_request_with_a_repeated_parameter_gets_a_400_page,
    requests_with_an_unsupported_method_get_405_with_an_allow_field,
    a_head_request_returns_the_header_fields_of_a_get_and_no_body,
    opening_a_link_changes_nothing,
    a_browser_that_has_applied_sees_a_notice,
    a_browser_that_has_applied_can_apply_for_another_person,
    an_invalid_cookie_is_ignored,
    the_cookie_is_secure_behind_https,
];

/// Asserts that an answer is a page with this status, and returns its text.
#[track_caller]
fn page(answer: Answer, status: u16) -> String {
    let answer = answer.expect(status);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    let text = answer.text();
    assert!(text.starts_with("<!doctype html>"), "{text}");
    assert!(text.contains("<meta name=\"robots\" content=\"noindex\">"), "{text}");
    text
}

/// Asserts that an answer is the page of a dead link, and returns its text.
#[track_caller]
fn assert_dead_link(answer: Answer) -> String {
    let text = page(answer, 404);
    assert!(text.contains("<h1>This link does not work</h1>"), "{text}");
    text
}

fn a_link_opens_a_form_for_the_role() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let text = page(app.anonymous().get(&path), 200);
    assert!(text.contains("<html lang=\"en\">"), "{text}");
    assert!(text.contains("<title>Apply for Engineer at Acme 1</title>"), "{text}");
    assert!(text.contains("<h1>Apply: Engineer</h1>"), "{text}");
    assert!(
        text.contains(&format!("<form method=\"post\" action=\"{path}?lang=en\" enctype=\"multipart/form-data\">"))
    );
    assert!(text.contains("href=\"/careers/acme-1/theme.css\""), "{text}");
    assert!(text.contains("href=\"/careers/acme-1/privacy?lang=en\""), "{text}");
    assert!(!text.contains("id=\"errors\"") && !text.contains("aria-invalid") && !text.contains(" checked"), "{text}");
}

fn every_field_has_a_label_and_personal_fields_have_autocomplete() {
    let app = App::start();
    let hiring = app.hiring();
    let text = app.anonymous().get(&signup_path(&app, &hiring)).expect(200).text();
    for (id, attributes) in [
        ("name", "type=\"text\" autocomplete=\"name\" maxlength=\"255\" required"),
        ("email", "type=\"email\" autocomplete=\"email\" maxlength=\"254\" required"),
        ("phone", "type=\"tel\" autocomplete=\"tel\" maxlength=\"50\""),
        ("cv", "type=\"file\" accept=\".pdf,.docx,.odt,.txt\""),
        ("consent", "type=\"checkbox\" value=\"on\" required"),
    ] {
        assert!(text.contains(&format!("<label for=\"{id}\">")), "{id}: {text}");
        assert!(text.contains(&format!("<input id=\"{id}\" name=\"{id}\" {attributes}")), "{id}: {text}");
    }
    for id in ["links", "note"] {
        assert!(text.contains(&format!("<label for=\"{id}\">")), "{id}: {text}");
        assert!(text.contains(&format!("id=\"{id}\" name=\"{id}\" rows=")), "{id}: {text}");
        assert!(text.contains(&format!("aria-describedby=\"{id}-hint\"")), "{id}: {text}");
    }
    assert!(text.contains("at most 10 MB"), "{text}");
    // This field is hidden from people, but bots fill it in.
    assert!(text.contains("<div class=\"trap\" aria-hidden=\"true\">"), "{text}");
    assert!(text.contains("name=\"homepage\" type=\"text\" tabindex=\"-1\" autocomplete=\"off\""), "{text}");
}

fn the_page_runs_no_scripts_and_is_not_cached() {
    let app = App::start();
    let hiring = app.hiring();
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    for (path, status) in [(signup_path(&app, &hiring), 200), ("/signup/nothing".to_owned(), 404)] {
        let answer = app.anonymous().get(&path);
        assert_eq!(answer.header("content-security-policy"), Some(policy));
        let text = page(answer, status);
        for word in ["<script", "<style", " style=", "onload=", "http://", "//acme"] {
            assert!(!text.replace("https:// or http://", "").contains(word), "{word}: {text}");
        }
    }
}

fn hostile_names_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["name"] = json!("\"><img src=x onerror='alert(1)'> & {role}");
        document["organizations"][0]["roles"][0]["name"] = json!("<script>alert(1)</script> {organization}");
    });
    let path = signup_path(&app, &hiring);
    let form = Form::for_link(&app, &path);
    app.pass(30 * 86_400);
    let expired = page(app.anonymous().get(&path), 410);
    for text in [expired, page(app.anonymous().get(&signup_path_of(&app, &hiring, &hiring.role_id)), 200), {
        app.change("UPDATE roles SET status = 'closed'");
        page(form.send(&app), 410)
    }] {
        assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("onerror='"), "{text}");
        assert!(text.contains("&#60;script&#62;alert(1)&#60;/script&#62; {organization}"), "{text}");
        assert!(text.contains("&#34;&#62;&#60;img src=x onerror=&#39;alert(1)&#39;&#62; &#38; {role}"), "{text}");
    }
}

fn the_page_is_in_the_language_of_the_link_or_the_browser() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for (query, accepted, tag, words) in [
        ("", "", "en", "Send application"),
        ("?locale=de", "", "de", "Bewerbung absenden"),
        ("?locale=de-CH", "fr", "de", "Bewerbung absenden"),
        ("?locale=de&lang=es", "fr", "es", "Enviar candidatura"),
        ("?locale=gsw-CH", "fr-CA, en;q=0.5", "fr", "Envoyer ma candidature"),
        ("?locale=%00", "", "en", "Send application"),
        ("?locale=%3Cscript%3E", "", "en", "Send application"),
        ("?x=y&x=y", "es", "es", "Enviar candidatura"),
    ] {
        let answer = app.anonymous().send("GET", &format!("{path}{query}"), &[("Accept-Language", accepted)], b"");
        let text = page(answer, 200);
        assert!(text.contains(&format!("<html lang=\"{tag}\">")) && text.contains(words), "{query}: {text}");
        assert!(text.contains(&format!("action=\"{path}?lang={tag}\"")), "{query}: {text}");
        assert!(text.contains(&format!("href=\"/careers/{}/privacy?lang={tag}\"", hiring.slug)), "{query}: {text}");
        assert!(!text.contains("<script"), "{query}: {text}");
    }
}

fn the_page_links_to_every_language() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let text = page(app.anonymous().get(&format!("{path}?locale=fr")), 200);
    assert!(text.contains("<span aria-current=\"true\" lang=\"fr\">"), "{text}");
    for tag in ["en", "de", "es"] {
        let link = format!("{path}?lang={tag}");
        assert!(text.contains(&format!("<a href=\"{link}\" lang=\"{tag}\"")), "{tag}: {text}");
        assert!(page(app.anonymous().get(&link), 200).contains(&format!("<html lang=\"{tag}\">")));
    }
    let dead_link_page = page(app.anonymous().get("/signup/nothing?lang=de"), 404);
    assert!(dead_link_page.contains("<h1>Dieser Link funktioniert nicht</h1>"), "{dead_link_page}");
}

fn a_link_expires_after_exactly_thirty_days() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    app.world.pass(Duration::from_secs(30 * 86_400) - Duration::from_micros(1));
    page(app.anonymous().get(&path), 200);
    app.world.pass(Duration::from_micros(1));
    page(app.anonymous().get(&path), 410);
}

fn the_page_of_an_expired_link_links_to_the_posting() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    app.pass(30 * 86_400);
    let text = page(app.anonymous().get(&format!("{path}?locale=de")), 410);
    assert!(text.contains("<h1>Dieser Link ist abgelaufen</h1>"), "{text}");
    assert!(text.contains(&format!("href=\"/careers/{}/roles/{}?lang=de\"", hiring.slug, hiring.role_id)), "{text}");
    assert!(text.contains("Engineer") && !text.contains("<form"), "{text}");
    // The role has a new link.
    page(app.anonymous().get(&signup_path_of(&app, &hiring, &hiring.role_id)), 200);
}

fn a_link_stops_working_when_its_role_is_filled() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user(&hiring.staff("owner"));
    let path = signup_path(&app, &hiring);
    owner.post_empty(&hiring.hire(0)).expect(200);
    page(app.anonymous().get(&path), 200);
    owner.post_empty(&hiring.hire(1)).expect(200);
    let text = page(app.anonymous().get(&path), 410);
    assert!(text.contains("<h1>Engineer no longer accepts applications</h1>"), "{text}");
    assert!(text.contains(&format!("href=\"/careers/{}?lang=en\"", hiring.slug)) && !text.contains("<form"), "{text}");
    assert!(!text.contains("Your application was not sent"), "{text}");
    // When the role opens again, it needs a new link. The old link still opens no form.
    owner.post_empty(&hiring.reject(0)).expect(200);
    let text = page(app.anonymous().get(&path), 410);
    assert!(text.contains("<h1>This link has expired</h1>"), "{text}");
}

fn a_link_stops_working_when_its_role_is_closed() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    app.change("UPDATE roles SET status = 'closed'");
    page(app.anonymous().get(&path), 410);
    app.change("UPDATE roles SET status = 'draft'");
    assert_dead_link(app.anonymous().get(&path));
}

fn a_link_to_a_role_without_steps_opens_no_form() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let more = json!({ "id": "role_bare", "name": "Bare", "status": "open", "public": true });
        document["organizations"][0]["roles"].as_array_mut().unwrap().push(more);
    });
    // An import adds a step to an open role without steps, so the test removes this step from the database.
    app.change("DELETE FROM role_steps WHERE role_id = 'role_bare'");
    let text = page(app.anonymous().get(&signup_path_of(&app, &hiring, "role_bare")), 410);
    assert!(text.contains("<h1>Bare no longer accepts applications</h1>"), "{text}");
}

fn a_link_works_again_when_its_role_and_portal_are_public_again() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for (away, back) in [
        ("UPDATE roles SET public = 0", "UPDATE roles SET public = 1"),
        ("UPDATE organizations SET portal_enabled = 0", "UPDATE organizations SET portal_enabled = 1"),
        ("UPDATE organizations SET enabled = 0", "UPDATE organizations SET enabled = 1"),
    ] {
        let form = Form::for_link(&app, &path);
        app.change(away);
        assert_dead_link(app.anonymous().get(&path));
        let text = assert_dead_link(form.send(&app));
        assert!(!text.contains("Acme"), "{text}");
        app.change(back);
        page(app.anonymous().get(&path), 200);
    }
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
}

fn all_dead_links_lead_to_the_same_page() {
    let app = App::start();
    let (hidden, off) = (app.hiring(), app.hiring());
    let paths = [&hidden, &off].map(|hiring| signup_path(&app, hiring));
    app.change(&format!("UPDATE roles SET public = 0 WHERE id = '{}'", hidden.role_id));
    app.change(&format!("UPDATE organizations SET portal_enabled = 0 WHERE id = '{}'", off.organization_id));
    let dead_link_page = |path: &str| assert_dead_link(app.anonymous().get(path)).replace(path, "");
    let unknown = dead_link_page("/signup/0123456789abcdefghjkmnpqrstvwxyz0");
    for path in paths {
        assert_eq!(dead_link_page(&path), unknown);
    }
}

fn a_request_with_a_malformed_token_gets_a_404_page() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    let long = "a".repeat(4_000);
    for token in ["%00", "%C3%A4", "%20", "'%20OR%201=1--", "%3Cscript%3E", "%2e%2e%2fetc", &long] {
        let text = assert_dead_link(app.anonymous().get(&format!("/signup/{token}")));
        assert!(!text.contains("<script"), "{token}: {text}");
    }
    for token in ["%ff", "%zz", "%"] {
        app.anonymous().get(&format!("/signup/{token}")).expect(404);
    }
    assert_dead_link(app.anonymous().get(&path.to_uppercase().replace("/SIGNUP/", "/signup/")));
    assert_dead_link(app.anonymous().get(&format!("{path}%20")));
    app.anonymous().get("/signup/").expect(404);
    app.anonymous().get("/signup").expect(404);
}

fn a_request_with_a_repeated_parameter_gets_a_400_page() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for query in ["lang=de&lang=en", "locale=de&locale=de", "again=1&again=1"] {
        let answer = app.anonymous().get(&format!("{path}?{query}")).expect(400);
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    }
}

fn requests_with_an_unsupported_method_get_405_with_an_allow_field() {
    let app = App::start();
    let hiring = app.hiring();
    let path = signup_path(&app, &hiring);
    for method in ["PUT", "PATCH", "DELETE", "OPTIONS"] {
        let answer = app.anonymous().send(method, &path, &[], b"").expect(405);
        assert_eq!(answer.header("allow"), Some("GET, HEAD, POST"), "{method}");
    }
}

fn a_head_request_returns_the_header_fields_of_a_get_and_no_body() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous();
    for (path, status) in [(signup_path(&app, &hiring), 200), ("/signup/nothing".to_owned(), 404)] {
        let get = client.get(&path).expect(status);
        let head = client.send("HEAD", &path, &[], b"").expect(status);
        for name in ["content-type", "content-length", "cache-control", "referrer-policy", "content-security-policy"] {
            assert!(get.header(name).is_some(), "{name}");
            assert_eq!(head.header(name), get.header(name), "{name}");
        }
        assert!(head.body.is_empty());
    }
}

fn opening_a_link_changes_nothing() {
    let app = App::start();
    let hiring = app.hiring();
    let first = signup_path(&app, &hiring);
    let before = app.sql("SELECT * FROM invitations");
    let forms: Vec<String> =
        (0..3).map(|_| input_value(&app.anonymous().get(&first).expect(200).text(), "form").unwrap()).collect();
    assert!(forms[0] != forms[1] && forms[1] != forms[2] && forms[0] != forms[2], "{forms:?}");
    assert_eq!(app.sql("SELECT * FROM invitations"), before);
    assert_eq!(signup_path(&app, &hiring), first);
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
}

fn a_browser_that_has_applied_sees_a_notice() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let sent = form.send(&app);
    let status = status_path(&sent);
    let cookie = sent.header("set-cookie").unwrap();
    let token = status.strip_prefix("/status/").unwrap();
    let name = format!("applied_{}", hiring.role_id);
    assert_eq!(cookie, format!("{name}={token}; Path=/signup; HttpOnly; SameSite=Lax"));
    let browser = app.anonymous().with_header("Cookie", &format!("a=b; {name}={token}"));
    let text = page(browser.get(&format!("{}?locale=de", form.path)), 200);
    assert!(text.contains("<h1>Engineer: Sie haben sich schon beworben</h1>") && !text.contains("<form"), "{text}");
    assert!(text.contains(&format!("href=\"{status}?lang=de\"")), "{text}");
    assert!(text.contains(&format!("href=\"{}?lang=de&#38;again=1\"", form.path)), "{text}");
    // Another form from this browser gets the same notice. The form that was already sent leads to the status page.
    let other = Form::for_role(&app, &hiring).with("email", "other@example.org");
    page(other.send_by(&browser), 409);
    assert_eq!(status_path(&form.send_by(&browser)), status);
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["1"]);
    // The notice appears neither for other roles nor in other browsers.
    let elsewhere = app.hiring();
    assert!(page(browser.get(&signup_path(&app, &elsewhere)), 200).contains("<form"));
    assert!(page(app.anonymous().get(&form.path), 200).contains("<form"));
}

fn a_browser_that_has_applied_can_apply_for_another_person() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let sent = form.send(&app);
    let cookie = sent.header("set-cookie").unwrap().split(';').next().unwrap();
    let browser = app.anonymous().with_header("Cookie", cookie);
    let text = page(browser.get(&format!("{}?again=1&lang=de", form.path)), 200);
    let action = format!("{}?lang=de&#38;again=1", form.path);
    assert!(text.contains(&format!("action=\"{action}\"")), "{text}");
    assert!(text.contains(&format!("href=\"{}?again=1&#38;lang=fr\"", form.path)), "{text}");
    let other = Form::from_page(&text, &action.replace("&#38;", "&")).with("email", "grace@example.org");
    app.pass(3);
    assert_ne!(status_path(&other.send_by(&browser)), status_path(&sent));
    assert_eq!(app.sql("SELECT email FROM signups"), ["ada@example.org", "grace@example.org"]);
}

fn an_invalid_cookie_is_ignored() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let form = Form::for_role(&app, &hiring);
    let status = status_path(&form.send(&app));
    let token = status.strip_prefix("/status/").unwrap();
    for cookie in [
        format!("applied_{}={token}", other.role_id),
        format!("applied_{}=nothing", other.role_id),
        format!("applied_{}=", other.role_id),
        format!("applied_={token}"),
        token.to_owned(),
        "=; ;;=".to_owned(),
    ] {
        let browser = app.anonymous().with_header("Cookie", &cookie);
        assert!(page(browser.get(&signup_path(&app, &other)), 200).contains("<form"), "{cookie}");
    }
    // An invalid cookie does not hide a valid one.
    let cookie = format!("applied_{0}=x; applied_{0}={token}", hiring.role_id);
    assert!(!page(app.anonymous().with_header("Cookie", &cookie).get(&form.path), 200).contains("<form"));
}

fn the_cookie_is_secure_behind_https() {
    let options = Options { base_url: Some("https://jobs.example.com".to_owned()), ..Options::default() };
    let app = App::with(options);
    let hiring = app.hiring();
    let sent = Form::for_role(&app, &hiring).send(&app);
    assert!(status_path(&sent).starts_with("/status/"));
    assert!(sent.header("set-cookie").unwrap().ends_with("; SameSite=Lax; Secure"), "{:?}", sent.header("set-cookie"));
}
