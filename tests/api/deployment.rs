//! Answers that depend on the deployment: HSTS if the base URL is https, and `security.txt`.

use appliance::domain::timestamp::{Rounding, Timestamp};
use serde_json::json;

use crate::support::App;
use crate::support::app::Options;

crate::tests![
    every_answer_has_hsts_if_the_base_url_is_https,
    no_answer_has_hsts_if_the_base_url_is_http,
    security_txt_names_the_contacts_and_its_expiry,
    without_a_contact_there_is_no_security_txt,
];

const FIELD: &str = "strict-transport-security";

fn with_base_url(base_url: &str) -> App {
    App::with(Options { base_url: Some(base_url.to_owned()), ..Options::default() })
}

/// Returns the heads of all kinds of answers: cached and rendered answers, pages, refusals, and errors of the HTTP
/// parser.
fn heads(app: &App) -> Vec<String> {
    let hiring = app.hiring();
    let key = format!("Authorization: Bearer {}\r\n", app.admin_secret());
    let tag = app.anonymous().get(&hiring.portal()).expect(200).header("etag").unwrap().to_owned();
    let get = |path: &str, fields: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let requests = [
        get("/healthz", ""),
        get("/", ""),
        get("/docs", ""),
        get(&hiring.portal(), ""),
        get(&hiring.portal(), &format!("If-None-Match: {tag}\r\n")),
        get(&hiring.portal(), "Accept-Encoding: gzip\r\n"),
        get(&format!("/careers/{}", hiring.slug), ""),
        get("/api/v1/me", &key),
        get("/api/v1/me", ""),
        get("/api/admin/api-keys", &key),
        get("/nothing", ""),
        get("/careers/nobody", ""),
        get("/healthz", "Host: b\r\n"),
        format!("OPTIONS {} HTTP/1.1\r\nHost: a\r\n\r\n", hiring.portal()),
        format!("HEAD {} HTTP/1.1\r\nHost: a\r\n\r\n", hiring.portal()),
        "PUT /healthz HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "garbage\r\n\r\n".to_owned(),
        get(&format!("/{}", "a".repeat(70_000)), ""),
    ];
    let head = |request: &String| {
        let text = String::from_utf8_lossy(&app.anonymous().raw_to_end(request.as_bytes())).to_ascii_lowercase();
        text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request}: {text}")).0.to_owned()
    };
    requests.iter().map(head).collect()
}

fn every_answer_has_hsts_if_the_base_url_is_https() {
    let app = with_base_url("https://jobs.example.com");
    for head in heads(&app) {
        assert_eq!(head.matches(&format!("\r\n{FIELD}: max-age=31536000")).count(), 1, "{head}");
    }
}

fn no_answer_has_hsts_if_the_base_url_is_http() {
    let app = with_base_url("http://jobs.example.com");
    for head in heads(&app) {
        assert!(!head.contains(FIELD), "{head}");
    }
}

fn security_txt_names_the_contacts_and_its_expiry() {
    let path = "/.well-known/security.txt";
    let contacts = vec!["mailto:security@example.com", "https://example.com/security"];
    for (base_url, canonical) in [
        ("https://jobs.example.com", Some("https://jobs.example.com/.well-known/security.txt")),
        ("http://jobs.example.com", None),
    ] {
        let base_url = Some(base_url.to_owned());
        let app = App::with(Options { base_url, security_contacts: contacts.clone(), ..Options::default() });
        let answer = app.anonymous().get(path).expect(200);
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        let text = answer.text();
        let fields: Vec<(&str, &str)> = text.lines().map(|line| line.split_once(": ").unwrap()).collect();
        let values = |name: &str| -> Vec<&str> {
            fields.iter().filter(|(known, _)| *known == name).map(|(_, value)| *value).collect()
        };
        assert_eq!(values("Contact"), contacts);
        assert_eq!(values("Canonical"), canonical.into_iter().collect::<Vec<_>>());
        let [expires] = values("Expires")[..] else { panic!("{text}") };
        let expires = Timestamp::parse(expires, Rounding::Down).unwrap();
        let days = expires.since(appliance::world::World::now(app.world.as_ref())).as_secs() / 86_400;
        assert!((30..365).contains(&days), "{days}");
        assert!(text.ends_with('\n'), "{text}");
        // The expiry advances while the service runs.
        app.pass(400 * 86_400);
        assert_ne!(app.anonymous().get(path).expect(200).text(), text);
        app.anonymous().send("HEAD", path, &[], b"").expect(200);
    }
}

fn without_a_contact_there_is_no_security_txt() {
    let app = App::with(Options { security_contacts: Vec::new(), ..Options::default() });
    let answer = app.anonymous().get("/.well-known/security.txt").refused(404, "not_found");
    assert_ne!(answer.json()["detail"], json!("there is nothing at this path"));
}
