//! Compressed answers (RFC 9110 §12.5.3): which clients get them, for which resources, and with which entity tags.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::portal::add_role;
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_client_that_accepts_gzip_gets_the_same_body_compressed,
    a_client_that_does_not_accept_gzip_gets_the_plain_body,
    plain_and_compressed_bodies_have_different_etags,
    a_304_has_the_vary_field,
    a_head_request_returns_the_compressed_length,
    small_bodies_and_images_are_not_compressed,
    answers_that_require_a_token_or_an_api_key_are_never_compressed,
    a_compressed_answer_is_never_older_than_an_acknowledged_change,
    rendered_and_cached_answers_are_the_same,
    the_openapi_description_is_compressed,
    a_large_feed_is_the_same_whichever_encoding_is_read_first,
];

/// Creates an organization whose portal is large enough to be compressed.
fn organization_with_large_portal(app: &App) -> Hiring {
    app.hiring_with(|document| {
        for nth in 0..30 {
            add_role(document, &json!({ "name": format!("Engineer {nth}"), "department": "Engineering" }));
        }
    })
}

fn get(client: &Client, path: &str, accepted: &str) -> Answer {
    client.send("GET", path, &[("Accept-Encoding", accepted)], b"").expect(200)
}

/// Decompresses the body with `gzip`, a program that shares no code with the service.
fn decompressed(body: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip is installed");
    let (mut into, sent) = (gzip.stdin.take().unwrap(), body.to_owned());
    let writer = std::thread::spawn(move || into.write_all(&sent));
    let mut text = Vec::new();
    gzip.stdout.take().unwrap().read_to_end(&mut text).unwrap();
    writer.join().unwrap().unwrap();
    assert!(gzip.wait().unwrap().success());
    text
}

fn a_client_that_accepts_gzip_gets_the_same_body_compressed() {
    let app = App::start();
    let hiring = organization_with_large_portal(&app);
    let plain = app.anonymous().get(&hiring.portal()).expect(200);
    for _ in 0..2 {
        for accepted in ["gzip", "gzip, deflate, br, zstd", "*", "x-gzip;q=0.5"] {
            let compressed = get(&app.anonymous(), &hiring.portal(), accepted);
            assert_eq!(compressed.header("content-encoding"), Some("gzip"), "{accepted}");
            assert_eq!(compressed.header("vary"), Some("Accept-Encoding"));
            assert_eq!(compressed.header("content-type"), Some("application/json"));
            assert!(compressed.body.len() * 4 < plain.body.len(), "{} of {}", compressed.body.len(), plain.body.len());
            assert_eq!(decompressed(&compressed.body), plain.body);
        }
    }
}

fn a_client_that_does_not_accept_gzip_gets_the_plain_body() {
    let app = App::start();
    let hiring = organization_with_large_portal(&app);
    let plain = app.anonymous().get(&hiring.portal()).expect(200);
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, Some("Accept-Encoding")));
    for accepted in ["", "br", "gzip;q=0", "gzip;q=0, *", "*;q=0", "gzip;q=0.5, identity", "identity;q=0", "gzip;q=?"] {
        let answer = get(&app.anonymous(), &hiring.portal(), accepted);
        assert_eq!((answer.header("content-encoding"), &answer.body), (None, &plain.body), "{accepted}");
        assert_eq!((answer.header("etag"), answer.header("vary")), (plain.header("etag"), Some("Accept-Encoding")));
    }
    // Two `Accept-Encoding` fields are treated as one list.
    let twice = [("Accept-Encoding", "gzip"), ("Accept-Encoding", "gzip;q=0")];
    let answer = app.anonymous().send("GET", &hiring.portal(), &twice, b"").expect(200);
    assert_eq!(answer.header("content-encoding"), None);
}

fn plain_and_compressed_bodies_have_different_etags() {
    let app = App::start();
    let (hiring, client) = (organization_with_large_portal(&app), app.anonymous());
    let tag = |answer: Answer| answer.header("etag").unwrap().to_owned();
    let (plain, compressed) = (tag(client.get(&hiring.portal())), tag(get(&client, &hiring.portal(), "gzip")));
    assert_ne!(plain, compressed);
    assert!(compressed.starts_with('"') && compressed.ends_with('"'), "{compressed}");
    for (accepted, tag, status) in
        [("gzip", &compressed, 304), ("", &plain, 304), ("gzip", &plain, 200), ("", &compressed, 200)]
    {
        let headers = [("Accept-Encoding", accepted), ("If-None-Match", tag.as_str())];
        let answer = client.send("GET", &hiring.portal(), &headers, b"").expect(status);
        assert_eq!(answer.body.is_empty(), status == 304);
    }
}

fn a_304_has_the_vary_field() {
    let app = App::start();
    let (hiring, client) = (organization_with_large_portal(&app), app.anonymous());
    let tag = get(&client, &hiring.portal(), "gzip").header("etag").unwrap().to_owned();
    let headers = [("Accept-Encoding", "gzip"), ("If-None-Match", tag.as_str())];
    let answer = client.send("GET", &hiring.portal(), &headers, b"").expect(304);
    assert_eq!((answer.header("etag"), answer.header("vary")), (Some(tag.as_str()), Some("Accept-Encoding")));
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    assert_eq!((answer.header("content-type"), answer.header("content-encoding")), (None, None));
}

fn a_head_request_returns_the_compressed_length() {
    let app = App::start();
    let (hiring, client) = (organization_with_large_portal(&app), app.anonymous());
    for accepted in ["gzip", ""] {
        let whole = get(&client, &hiring.portal(), accepted);
        let head = client.send("HEAD", &hiring.portal(), &[("Accept-Encoding", accepted)], b"").expect(200);
        assert_eq!(head.header("content-length"), Some(whole.body.len().to_string().as_str()));
        for name in ["etag", "vary", "content-encoding", "content-type"] {
            assert_eq!(head.header(name), whole.header(name), "{name}");
        }
    }
}

fn small_bodies_and_images_are_not_compressed() {
    let app = App::start();
    let hiring = app.hiring();
    let small = get(&app.anonymous(), &hiring.portal(), "gzip");
    assert!(small.body.len() <= 1_024, "{}", small.body.len());
    assert_eq!((small.header("content-encoding"), small.header("vary")), (None, None));
    let picture = [&b"GIF89a"[..], &[0; 5_000]].concat();
    let path = format!("/api/admin/organizations/{}/logo", hiring.organization_id);
    app.admin().send("PUT", &path, &[], &picture).expect(200);
    for _ in 0..2 {
        let shown = get(&app.anonymous(), &format!("/careers/{}/logo", hiring.slug), "gzip");
        assert_eq!((shown.header("content-encoding"), shown.header("vary")), (None, None));
        assert_eq!(shown.body, picture);
    }
}

/// If a secret is compressed together with text that an attacker chose, the compressed length can reveal the secret
/// (BREACH).
fn answers_that_require_a_token_or_an_api_key_are_never_compressed() {
    let app = App::start();
    let hiring = organization_with_large_portal(&app);
    let apply = app.anonymous().post(&format!("{}/apply", hiring.portal()), &json!({ "roleId": hiring.role_id }));
    let link = apply.expect(200).json()["inviteUrl"].as_str().unwrap().to_owned();
    let link = link[link.find("/signup/").unwrap()..].to_owned();
    for _ in 0..2 {
        let page = get(&app.anonymous(), &link, "gzip");
        assert_eq!((page.header("content-encoding"), page.header("cache-control")), (None, Some("no-store")));
        for path in [format!("/api/v1/organizations/{}/roles", hiring.organization_id), "/api/v1/me".to_owned()] {
            assert_eq!(get(&app.admin(), &path, "gzip").header("content-encoding"), None, "{path}");
        }
    }
}

fn a_compressed_answer_is_never_older_than_an_acknowledged_change() {
    let app = App::start();
    let (hiring, client) = (organization_with_large_portal(&app), app.anonymous());
    for round in 0..20 {
        let name = format!("Acme {round}");
        let path = format!("/api/admin/organizations/{}", hiring.organization_id);
        app.admin().patch(&path, &json!({ "name": name })).expect(200);
        let text = String::from_utf8(decompressed(&get(&client, &hiring.portal(), "gzip").body)).unwrap();
        assert!(text.contains(&name), "{name} is not shown");
    }
}

fn rendered_and_cached_answers_are_the_same() {
    let app = App::start();
    let (hiring, client) = (organization_with_large_portal(&app), app.anonymous());
    let comparable = |answer: Answer| {
        let headers = answer.headers.into_iter();
        let headers: Vec<_> =
            headers.filter(|(name, _)| !["x-request-id", "date"].contains(&name.to_lowercase().as_str())).collect();
        (answer.status, headers, answer.body)
    };
    for accepted in ["gzip", ""] {
        // The change invalidates the cached responses.
        let path = format!("/api/admin/organizations/{}", hiring.organization_id);
        app.admin().patch(&path, &json!({ "domain": format!("{}.example", accepted.len()) })).expect(200);
        let first = comparable(get(&client, &hiring.portal(), accepted));
        let second = comparable(get(&client, &hiring.portal(), accepted));
        assert_eq!(first, second);
    }
}

fn the_openapi_description_is_compressed() {
    let app = App::start();
    for path in ["/api/openapi.json", "/docs"] {
        let plain = app.anonymous().get(path).expect(200);
        let compressed = get(&app.anonymous(), path, "gzip");
        assert_eq!(compressed.header("content-encoding"), Some("gzip"));
        assert_eq!(decompressed(&compressed.body), plain.body);
    }
}

/// Only the compressed form of a large feed is cached.
fn a_large_feed_is_the_same_whichever_encoding_is_read_first() {
    let app = App::start();
    let client = app.anonymous();
    let text = "An engineer who likes to write. ".repeat(40_000);
    for first in ["", "gzip"] {
        let hiring = app.hiring_with(|document| {
            add_role(document, &json!({ "description": { "format": "markdown", "body": text } }));
        });
        let path = format!("/careers/{}/jobs.xml", hiring.slug);
        get(&client, &path, first);
        let (plain, compressed) = (get(&client, &path, ""), get(&client, &path, "gzip"));
        assert!(plain.text().contains(text.trim()) && plain.text().ends_with("</source>\n"));
        assert_eq!((plain.header("content-encoding"), compressed.header("content-encoding")), (None, Some("gzip")));
        assert_eq!(decompressed(&compressed.body), plain.body);
        let (plain_tag, gzip_tag) = (plain.header("etag").unwrap(), compressed.header("etag").unwrap());
        assert_eq!(gzip_tag, plain_tag.replace("\"", "").replacen("", "\"", 1) + "-gzip\"");
        for (accepted, tag, status) in
            [("", plain_tag, 304), ("gzip", gzip_tag, 304), ("", gzip_tag, 200), ("gzip", plain_tag, 200)]
        {
            let fields = [("Accept-Encoding", accepted), ("If-None-Match", tag)];
            let answer = client.send("GET", &path, &fields, b"").expect(status);
            assert_eq!((answer.body.is_empty(), answer.header("vary")), (status == 304, Some("Accept-Encoding")));
        }
        for (accepted, whole_of) in [("", &plain), ("gzip", &compressed)] {
            let head = client.send("HEAD", &path, &[("Accept-Encoding", accepted)], b"").expect(200);
            assert_eq!((head.body.len(), head.header("content-length")), (0, whole_of.header("content-length")));
        }
    }
}
