//! `GET /`: JSON for programs, and a page for people. `health` tests the JSON.

use serde_json::json;

use crate::support::{App, Client};

crate::tests![
    browsers_get_the_page_and_programs_get_the_json,
    the_page_is_in_the_language_of_the_reader,
    the_page_links_to_the_portal_only_if_there_is_exactly_one,
    the_page_has_security_headers_and_loads_nothing_from_elsewhere,
    hostile_names_on_the_page_are_shown_as_text,
    a_repeated_parameter_is_refused_only_for_people,
];

/// The `Accept` field that Chromium sends.
const BROWSER: &str =
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8";

const OWN_LINK: &str = "Use the link that the organization gave you";

fn person(app: &App) -> Client {
    app.anonymous().with_header("Accept", BROWSER)
}

fn browsers_get_the_page_and_programs_get_the_json() {
    let app = App::start();
    let expected = format!("{{\"name\":\"Recruiting appliance\",\"version\":\"{}\"}}", env!("CARGO_PKG_VERSION"));
    for accepted in ["*/*", "application/json", "application/json, text/plain, */*", "text/plain", ""] {
        let answer = app.anonymous().with_header("Accept", accepted).get("/").expect(200);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{accepted}");
        assert_eq!((answer.text().as_str(), answer.header("vary")), (expected.as_str(), Some("Accept")), "{accepted}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_eq!(app.anonymous().get("/").expect(200).text(), expected);
    let answer = person(&app).get("/").expect(200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(answer.header("vary"), Some("Accept, Accept-Language"));
    let text = answer.text();
    assert!(text.contains("<h1>Recruiting appliance</h1>") && text.contains("<a href=\"/docs\" hreflang=\"en\">"));
    let head = person(&app).send("HEAD", "/", &[], b"").expect(200);
    assert_eq!(head.header("content-length"), answer.header("content-length"));
}

fn the_page_is_in_the_language_of_the_reader() {
    let app = App::start();
    for (path, accepted, tag, words) in [
        ("/", "", "en", "organizations publish open roles"),
        ("/", "de-AT, en;q=0.5", "de", "veröffentlichen Unternehmen offene Stellen"),
        ("/", "fr", "fr", "publient des postes"),
        ("/", "es", "es", "publican puestos vacantes"),
        ("/?lang=de", "fr", "de", "veröffentlichen Unternehmen offene Stellen"),
        ("/", "it", "en", "organizations publish open roles"),
    ] {
        let answer = person(&app).with_header("Accept-Language", accepted).get(path).expect(200);
        assert_eq!(answer.header("content-language"), Some(tag), "{path} {accepted}");
        let text = answer.text();
        assert!(text.contains(&format!("<html lang=\"{tag}\">")) && text.contains(words), "{text}");
        assert!(!text.contains('{'), "a placeholder was not filled: {text}");
        for other in ["en", "de", "fr", "es"] {
            assert_eq!(text.contains(&format!("href=\"/?lang={other}\"")), other != tag, "{other} {text}");
        }
    }
}

fn the_page_links_to_the_portal_only_if_there_is_exactly_one() {
    let app = App::start();
    let page = || person(&app).get("/").expect(200).text();
    assert!(page().contains(OWN_LINK) && !page().contains("/careers/"));
    let (one, two) = (app.hiring(), app.hiring());
    let text = page();
    assert!(text.contains(OWN_LINK) && !text.contains("/careers/") && !text.contains("Acme"), "{text}");
    let link = "<a class=\"button\" href=\"/careers/acme-1?lang=en\">Careers at Acme 1</a>";
    for (column, off, on) in [("portal_enabled", 0, 1), ("enabled", 0, 1)] {
        let change =
            |value: i32| format!("UPDATE organizations SET {column} = {value} WHERE id = '{}'", two.organization_id);
        app.change(&change(off));
        let text = page();
        assert!(text.contains(link) && !text.contains(OWN_LINK) && !text.contains("Acme 2"), "{column}: {text}");
        app.anonymous().get("/careers/acme-1?lang=en").expect(200);
        app.change(&change(on));
        assert!(page().contains(OWN_LINK), "{column}");
    }
    assert_eq!(one.slug, "acme-1");
}

fn the_page_has_security_headers_and_loads_nothing_from_elsewhere() {
    let app = App::start();
    app.hiring();
    let answer = person(&app).get("/").expect(200);
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let text = answer.text();
    assert!(text.contains("name=\"color-scheme\" content=\"light dark\""), "{text}");
    for word in ["<script", "<style", " style=", " onclick", "http-equiv", "http://", "https://"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

fn hostile_names_on_the_page_are_shown_as_text() {
    let app = App::start();
    app.hiring();
    app.change("UPDATE organizations SET name = '<script>alert(1)</script>{organization}'");
    let text = person(&app).get("/").expect(200).text();
    assert!(text.contains("Careers at &#60;script&#62;alert(1)&#60;/script&#62;{organization}</a>"), "{text}");
}

fn a_repeated_parameter_is_refused_only_for_people() {
    let app = App::start();
    person(&app).get("/?lang=de&lang=fr").refused(400, "validation_error");
    let answer = app.anonymous().get("/?lang=de&lang=fr").expect(200);
    assert_eq!(answer.json()["name"], json!("Recruiting appliance"));
}
