//! Properties that all pages of a portal share: languages, security headers, colours, the privacy notice, and the
//! escaping of text that people wrote.

use serde_json::{Value, json};

use crate::careers::{careers, has, lacks, page, without_data};
use crate::careers_role::role_path;
use crate::portal::{add_role, change_role, change_theme};
use crate::support::{App, Hiring};

crate::tests![
    the_lang_parameter_takes_precedence_over_the_browsers_language,
    every_language_formats_dates_and_salaries_in_its_own_way,
    pages_link_to_their_translations_and_pass_their_language_on,
    error_pages_are_in_the_readers_language,
    a_truncated_link_leads_to_an_error_page,
    every_page_has_security_headers,
    style_and_icon_have_content_based_urls_and_are_immutable,
    colours_derive_from_the_primary_colour,
    a_theme_without_a_valid_colour_has_an_empty_style,
    a_changed_primary_colour_is_shown_at_once,
    the_privacy_notice_falls_back_to_the_default_notice,
    a_page_shows_only_logos_stored_in_the_service,
    hostile_text_stays_text_on_every_page,
];

fn pages(hiring: &Hiring) -> Vec<(String, u16)> {
    let careers = careers(hiring);
    vec![
        (role_path(hiring), 200),
        (format!("{careers}/privacy"), 200),
        (format!("{careers}/roles/none"), 404),
        (careers, 200),
        ("/careers/nobody".to_owned(), 404),
    ]
}

fn the_lang_parameter_takes_precedence_over_the_browsers_language() {
    let app = App::start();
    let hiring = app.hiring();
    for (query, accepted, language) in [
        ("", "", "en"),
        ("", "de", "de"),
        ("", "it, fr-CA;q=0.8, en;q=0.5", "fr"),
        ("", "it", "en"),
        ("lang=es", "de", "es"),
        ("lang=DE-at", "fr", "de"),
        ("lang=it", "fr", "fr"),
        ("lang=", "fr", "fr"),
        ("lang=%3Cscript%3E", "de;q=x", "en"),
    ] {
        for (path, status) in pages(&hiring) {
            let client = app.anonymous().with_header("Accept-Language", accepted);
            let answer = client.get(&format!("{path}?{query}")).expect(status);
            has(&answer.text(), &[&format!("<html lang=\"{language}\">")]);
            assert_eq!(answer.header("content-language"), Some(language), "{path} {query} {accepted}");
            assert!(answer.header("vary").is_some_and(|vary| vary.contains("Accept-Language")), "{path}");
        }
    }
}

fn every_language_formats_dates_and_salaries_in_its_own_way() {
    let app = App::start();
    let hiring = app.hiring();
    for (language, day, salary, apply, list) in [
        ("en", "1 October 2026", "€60,000 – €75,000.50 a year", "Apply for this role", "1 open role<"),
        ("de", "1. Oktober 2026", "60.000 – 75.000,50\u{a0}€ im Jahr", "Auf diese Stelle bewerben", "1 offene Stelle<"),
        (
            "fr",
            "1er octobre 2026",
            "60\u{202f}000 – 75\u{202f}000,50\u{a0}€ par an",
            "Postuler à ce poste",
            "1 poste à pourvoir<",
        ),
        (
            "es",
            "1 de octubre de 2026",
            "60.000 – 75.000,50\u{a0}€ al año",
            "Presentar mi candidatura",
            "1 puesto vacante<",
        ),
    ] {
        has(&page(&app, &format!("{}?lang={language}", role_path(&hiring))), &[day, salary, apply]);
        has(&page(&app, &format!("{}?lang={language}", careers(&hiring))), &[salary, list]);
        let notice = page(&app, &format!("{}/privacy?lang={language}", careers(&hiring)));
        has(&notice, &["Acme 1", "<li><strong>"]);
    }
}

fn pages_link_to_their_translations_and_pass_their_language_on() {
    let app = App::start();
    let hiring = app.hiring();
    for (path, status) in pages(&hiring) {
        let text = app.anonymous().get(&format!("{path}?lang=fr")).expect(status).text();
        for other in ["en", "de", "es"] {
            has(&text, &[&format!("<a href=\"{path}?lang={other}\" lang=\"{other}\" hreflang=\"{other}\"")]);
        }
        has(&text, &["<span aria-current=\"true\" lang=\"fr\">Français</span>"]);
        // Every other internal link has the language of the page.
        let links = text.split("<a ").skip(1).map(|link| link.split('>').next().unwrap());
        for link in links.filter(|link| link.contains("href=\"/") && !link.contains("hreflang")) {
            assert!(link.contains("lang=fr\""), "{link}");
        }
    }
}

fn error_pages_are_in_the_readers_language() {
    let app = App::start();
    let path = careers(&app.hiring());
    let client = app.anonymous().with_header("Accept-Language", "de");
    has(
        &client.get("/signup/nothing").expect(404).text(),
        &["<html lang=\"de\">", "<h1>Dieser Link funktioniert nicht</h1>"],
    );
    let answer = client.get(&format!("{path}?q=a&q=b")).expect(400);
    let number = answer.header("x-request-id").unwrap();
    has(&answer.text(), &["<h1>Das hat nicht geklappt</h1>", number, "noindex"]);
    lacks(&answer.text(), &["must be", "validation"]);
    has(&app.anonymous().get("/signup/nothing?locale=es").expect(404).text(), &["<html lang=\"es\">"]);
}

fn a_truncated_link_leads_to_an_error_page() {
    let app = App::start();
    let path = careers(&app.hiring());
    let client = app.anonymous().with_header("Accept-Language", "fr");
    for path in [
        "/careers",
        "/careers/",
        &format!("{path}/"),
        &format!("{path}/roles"),
        &format!("{path}/roles/"),
        "/signup",
        "/status/",
    ] {
        let answer = client.get(path).expect(404);
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        has(&answer.text(), &["<html lang=\"fr\">", "<h1>Cette page n’existe pas</h1>"]);
    }
    has(&client.send("POST", &path, &[], b"").expect(405).text(), &["<h1>Cela n’a pas fonctionné</h1>"]);
    for path in ["/careersx", "/api/careers", "/signups/x"] {
        client.get(path).refused(404, "not_found");
    }
}

fn every_page_has_security_headers() {
    let app = App::start();
    let hiring = app.hiring();
    let mut all = pages(&hiring);
    all.extend([(format!("{}?q=a&q=b", careers(&hiring)), 400), ("/signup/nothing".to_owned(), 404)]);
    for (path, status) in all {
        let answer = app.anonymous().get(&path).expect(status);
        for (name, value) in [
            (
                "content-security-policy",
                "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                 frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        assert!(answer.header("permissions-policy").is_some_and(|value| value.contains("camera=()")), "{path}");
        assert_eq!(answer.header("set-cookie"), None);
        assert_eq!(answer.header("cache-control"), Some(if status == 200 { "no-cache" } else { "no-store" }), "{path}");
        lacks(&without_data(&answer.text()), &["<style", "<script", " style=", " onclick", "javascript:"]);
    }
}

fn style_and_icon_have_content_based_urls_and_are_immutable() {
    let app = App::start();
    let text = page(&app, &careers(&app.hiring()));
    let [answer, _] = [("stylesheet", "page.css", "text/css; charset=utf-8"), ("icon", "icon.svg", "image/svg+xml")]
        .map(|(link, name, kind)| {
            let link = text.split(&format!("<link rel=\"{link}\" href=\"")).nth(1).unwrap().split('"').next().unwrap();
            assert!(link.starts_with(&format!("/assets/{name}?v=")), "{link}");
            let answer = app.anonymous().get(link).expect(200);
            assert_eq!(answer.header("content-type"), Some(kind));
            assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
            answer
        });
    has(&answer.text(), &[":focus-visible", "prefers-color-scheme: dark", ".skip"]);
    lacks(&answer.text(), &["url(", "@import", "/*"]);
}

fn theme(app: &App, hiring: &Hiring) -> String {
    let answer = app.anonymous().get(&format!("{}/theme.css", careers(hiring))).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/css; charset=utf-8"));
    answer.text()
}

fn colours_derive_from_the_primary_colour() {
    let app = App::start();
    for (colour, light) in [
        ("#0f766e", ":root { --brand: #0f766e; --on-brand: #ffffff; --brand-text: #0f766e; }"),
        ("#000", ":root { --brand: #000000; --on-brand: #ffffff; --brand-text: #000000; }"),
        ("#fffffF00", ":root { --brand: #ffffff; --on-brand: #000000; --brand-text: #"),
    ] {
        let hiring = app.hiring_with(|document| change_theme(document, json!({ "primaryColor": colour })));
        let text = theme(&app, &hiring);
        has(&text, &[light, "@media (prefers-color-scheme: dark) { :root { --brand-text: #"]);
        lacks(&text, &["--brand-text: #ffffff; }\n@media"]);
    }
}

fn a_theme_without_a_valid_colour_has_an_empty_style() {
    let app = App::start();
    let hiring = app.hiring_with(|document| change_theme(document, json!({ "showSalary": true })));
    assert_eq!(theme(&app, &hiring), "");
    // Invalid values in the database are never copied into the stylesheet.
    for colour in ["\"red;} body{display:none\"", "7", "null", "\"#12345\"", "[\"#fff\"]"] {
        app.change(&format!("UPDATE organizations SET portal_theme = '{{\"primaryColor\":{colour}}}'"));
        let path = format!("{}/theme.css", careers(&hiring));
        let answer = app.anonymous().get_until(&path, |answer| answer.body.is_empty());
        assert_eq!(answer.text(), "", "{colour}");
    }
    app.anonymous().get("/careers/nobody/theme.css").refused(404, "not_found");
}

fn a_changed_primary_colour_is_shown_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    has(&theme(&app, &hiring), &["--brand: #0f766e"]);
    let path = format!("/api/admin/organizations/{}", hiring.organization_id);
    app.admin().patch(&path, &json!({ "portal": { "theme": { "primaryColor": "#ffe600" } } })).expect(200);
    has(&theme(&app, &hiring), &["--brand: #ffe600; --on-brand: #000000"]);
}

fn the_privacy_notice_falls_back_to_the_default_notice() {
    let app = App::start();
    let hiring = app.hiring();
    let path = format!("{}/privacy", careers(&hiring));
    let text = page(&app, &path);
    has(&text, &["<h1>What happens to your data</h1>", "Acme 1 uses what you send", "<strong>Who sees it:</strong>"]);
    app.change("UPDATE organizations SET privacy_notice = '  \n '");
    has(&page(&app, &path), &["Acme 1 uses what you send"]);
    app.change("UPDATE organizations SET privacy_notice = 'We keep it **safe**. <script>alert(1)</script>'");
    let answer = app.anonymous().get_until(&path, |answer| answer.text().contains("<strong>safe</strong>"));
    lacks(&answer.text(), &["uses what you send", "<script"]);
    // The organization's name stays plain text in the default notice.
    app.change("UPDATE organizations SET privacy_notice = '', name = '*A* [b](https://c.example) {organization}'");
    let answer = app.anonymous().get_until(&path, |answer| answer.text().contains("uses what"));
    has(&answer.text(), &["*A* [b](https://c.example) {organization} uses what"]);
}

fn a_page_shows_only_logos_stored_in_the_service() {
    let app = App::start();
    let hiring = app.hiring();
    let without = page(&app, &careers(&hiring));
    lacks(&without, &["<img", "logo.svg", "/logo"]);
    has(&without, &["<link rel=\"icon\" href=\"/assets/icon.svg?v="]);
    app.change(&format!(
        "INSERT INTO organization_logos (organization_id, media_type, content, digest, updated_at)
         VALUES ('{}', 'image/png', x'89504e47', zeroblob(32), 1)",
        hiring.organization_id
    ));
    let is_there = |answer: &crate::support::Answer| answer.text().contains("<img");
    let text = app.anonymous().get_until(&careers(&hiring), is_there).expect(200).text();
    has(&text, &["<img src=\"/careers/acme-1/logo\" alt=\"\">", "<link rel=\"icon\" href=\"/careers/acme-1/logo\">"]);
    let image = format!("<meta property=\"og:image\" content=\"http://{}/careers/acme-1/logo\">", app.address);
    has(&page(&app, &role_path(&hiring)), &[&image]);
}

/// Strings that would become a script, a tag, an attribute or a template placeholder if a page did not escape them.
const CANARIES: [&str; 5] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "{{ frame.title }} {% raw %} {organization} {role}",
    "</title></h1>--><svg onload=alert(1)>&lt;b&gt;",
];

fn hostile(document: &mut Value, canary: &str) {
    document["organizations"][0]["name"] = json!(format!("Acme {canary}"));
    document["organizations"][0]["domain"] = json!("acme.example");
    let body = format!(
        "{canary}\n\n<script>alert(2)</script>\n\n[a](javascript:alert(3)) [b](data:text/html,x) [c](vbscript:x) \
         <javascript:alert(4)> ![d](https://evil.example/x.png) [e](https://e.example/\"onclick=\"x) \
         [f]( jAvAsCrIpT&#58;alert(5) ) [g](//evil.example) <iframe src=\"https://evil.example\"></iframe>\n\n```{canary}\n{canary}\n```\n"
    );
    let role = json!({
        "name": format!("Role {canary}"), "department": canary, "location": format!("At {canary}"),
        "description": { "format": "markdown", "body": body },
    });
    change_role(document, &role);
    let mut closed = role.clone();
    closed["id"] = json!(format!("{}_closed", document["organizations"][0]["roles"][0]["id"].as_str().unwrap()));
    closed["status"] = json!("closed");
    add_role(document, &closed);
    add_role(document, &json!({ "name": "Plain", "department": "Plain", "location": "Plain" }));
}

fn hostile_text_stays_text_on_every_page() {
    let app = App::start();
    for canary in CANARIES {
        let hiring = app.hiring_with(|document| hostile(document, canary));
        let notice = format!("{canary} <script>alert(1)</script> [x](javascript:alert(1))").replace('\'', "''");
        app.change(&format!("UPDATE organizations SET privacy_notice = '{notice}'"));
        let encoded: String = form_urlencoded(canary);
        let careers = careers(&hiring);
        for (path, status) in [
            (careers.clone(), 200),
            (
                format!(
                    "{careers}?q={encoded}&department={encoded}&location={encoded}&workType={encoded}&page={encoded}&lang={encoded}"
                ),
                200,
            ),
            (format!("{careers}?department={encoded}"), 200),
            (role_path(&hiring), 200),
            (format!("{}_closed", role_path(&hiring)), 410),
            (format!("{careers}/roles/{encoded}"), 404),
            (format!("{careers}/privacy"), 200),
            (format!("/careers/{encoded}"), 404),
        ] {
            let text = app.anonymous().get(&path).expect(status).text();
            assert_inert(&text, &path);
        }
        let text = page(&app, &role_path(&hiring));
        has(&text, &[&format!("<h1>Role {}</h1>", html_escaped(canary))]);
    }
}

/// Escapes a string as the pages escape it.
fn html_escaped(text: &str) -> String {
    text.replace('&', "&#38;").replace('<', "&#60;").replace('>', "&#62;").replace('"', "&#34;").replace('\'', "&#39;")
}

fn form_urlencoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Asserts that a page has only the elements, attributes and links that the service writes.
#[track_caller]
fn assert_inert(text: &str, path: &str) {
    const ELEMENTS: [&str; 48] = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "link",
        "body",
        "a",
        "header",
        "nav",
        "ul",
        "li",
        "span",
        "main",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "form",
        "div",
        "label",
        "input",
        "button",
        "details",
        "summary",
        "section",
        "article",
        "dl",
        "dt",
        "dd",
        "time",
        "strong",
        "em",
        "del",
        "code",
        "pre",
        "blockquote",
        "ol",
        "hr",
        "br",
        "img",
        "b",
        "script",
        "sup",
    ];
    for part in text.split('<').skip(1) {
        let tag = part.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        assert!(ELEMENTS.contains(&name) && !["img", "b"].contains(&name), "{path}: <{tag}> in {text}");
        // Browsers do not run a JSON-LD block; they would run any other script.
        assert!(
            name != "script" || tag == "/script" || tag == "script type=\"application/ld+json\"",
            "{path}: <{tag}>"
        );
        // Text inside quotes is always an attribute value.
        let outside: String = tag.split('"').step_by(2).collect();
        assert!(!outside.contains(" on") && !outside.contains('\'') && !outside.contains("style="), "{path}: <{tag}>");
        for attribute in ["href=\"", "src=\"", "action=\""] {
            let Some(url) = tag.split(attribute).nth(1).map(|rest| rest.split('"').next().unwrap()) else { continue };
            let is_ours = url.starts_with('/') && !url.starts_with("//") || url.starts_with('#');
            let is_safe = url.starts_with("http://127.0.0.1:") || url.starts_with("https://e.example/");
            assert!(is_ours || is_safe, "{path}: <{tag}>");
        }
    }
}
