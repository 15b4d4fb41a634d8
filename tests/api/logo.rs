//! `/api/admin/organizations/{id}/logo` and `/careers/{orgSlug}/logo`: the logo on an organization's pages.

use serde_json::{Value, json};

use crate::support::{Answer, App, Hiring};

crate::tests![
    a_logo_of_each_image_type_is_returned_unchanged,
    a_body_that_is_not_an_image_is_refused,
    a_logo_over_256_kib_is_refused,
    an_empty_body_is_refused,
    a_new_logo_is_shown_with_the_next_request,
    a_deleted_logo_is_gone,
    requests_for_absent_logos_and_organizations_get_404,
    a_disabled_portal_shows_no_logo,
    a_conditional_request_for_an_unchanged_logo_gets_304,
    activity_records_each_change_without_the_image,
    a_logo_does_not_change_the_json_portal,
];

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and the rest";
const GIF: &[u8] = b"GIF89a and the rest";
const BYTES_MAX: usize = 262_144;

fn admin_path(hiring: &Hiring) -> String {
    format!("/api/admin/organizations/{}/logo", hiring.organization_id)
}

fn public_path(hiring: &Hiring) -> String {
    format!("/careers/{}/logo", hiring.slug)
}

fn put(app: &App, hiring: &Hiring, content: &[u8]) -> Answer {
    app.admin().send("PUT", &admin_path(hiring), &[("Content-Type", "text/html")], content)
}

fn a_logo_of_each_image_type_is_returned_unchanged() {
    let app = App::start();
    let hiring = app.hiring();
    for (content, media_type) in [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 and the rest", "image/jpeg"),
        (b"RIFF\x10\0\0\0WEBPVP8 and the rest", "image/webp"),
        (GIF, "image/gif"),
        (b"GIF87a", "image/gif"),
    ] {
        let shown = put(&app, &hiring, content).expect(200).json();
        let url = shown["data"]["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with("http://") && url.ends_with(&public_path(&hiring)), "{url}");
        let data = json!({ "mediaType": media_type, "bytes": content.len(), "url": url,
            "updatedAt": "2026-11-21T09:00:00.000000Z" });
        assert_eq!(shown, json!({ "success": true, "data": data }));
        let picture = app.anonymous().get(&public_path(&hiring)).expect(200);
        assert_eq!((picture.header("content-type"), &picture.body[..]), (Some(media_type), content));
        assert_eq!(picture.header("content-security-policy"), Some("default-src 'none'; sandbox"));
        assert_eq!(picture.header("cache-control"), Some("no-cache"));
        assert_eq!(picture.header("content-encoding"), None);
        let head = app.anonymous().send("HEAD", &public_path(&hiring), &[], b"").expect(200);
        assert_eq!(head.header("content-length"), Some(content.len().to_string().as_str()));
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_body_that_is_not_an_image_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    put(&app, &hiring, PNG).expect(200);
    for content in [
        &b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>"[..],
        b"<html>",
        b"%PDF-1.7",
        b"{}",
        b" GIF89a",
        b"RIFF\x10\0\0\0WAVEfmt ",
        b"\x89PNG",
    ] {
        let headers = [("Content-Type", "image/png")];
        let answer = app.admin().send("PUT", &admin_path(&hiring), &headers, content);
        let detail = answer.refused(415, "unsupported_media_type").json()["detail"].clone();
        assert_eq!(detail, "the body must be an image: PNG, JPEG, WebP or GIF");
    }
    assert_eq!(app.anonymous().get(&public_path(&hiring)).expect(200).body, PNG);
}

fn a_logo_over_256_kib_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let image_of = |bytes: usize| [GIF, &vec![0; bytes - GIF.len()]].concat();
    put(&app, &hiring, &image_of(BYTES_MAX)).expect(200);
    assert_eq!(app.anonymous().get(&public_path(&hiring)).expect(200).body, image_of(BYTES_MAX));
    let detail =
        put(&app, &hiring, &image_of(BYTES_MAX + 1)).refused(413, "payload_too_large").json()["detail"].clone();
    assert_eq!(detail, "the body must be at most 262144 bytes");
    // The limit also applies to a body without an announced length.
    let body = image_of(BYTES_MAX + 1);
    let chunked = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    let headers = [("Transfer-Encoding", "chunked")];
    app.admin().send("PUT", &admin_path(&hiring), &headers, &chunked).refused(413, "payload_too_large");
    assert_eq!(app.sql("SELECT length(content) FROM organization_logos"), ["262144"]);
}

fn an_empty_body_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = app.admin().send("PUT", &admin_path(&hiring), &[], b"").refused(400, "bad_request");
    assert_eq!(answer.json()["detail"], "the body must be an image: PNG, JPEG, WebP or GIF");
    app.anonymous().get(&public_path(&hiring)).expect(404);
}

fn a_new_logo_is_shown_with_the_next_request() {
    let app = App::start();
    let hiring = app.hiring();
    let anonymous = app.anonymous();
    for round in 0..30 {
        let content = [PNG, format!("{round}").as_bytes()].concat();
        put(&app, &hiring, &content).expect(200);
        for _ in 0..2 {
            assert_eq!(anonymous.get(&public_path(&hiring)).expect(200).body, content);
        }
    }
}

fn a_deleted_logo_is_gone() {
    let app = App::start();
    let hiring = app.hiring();
    put(&app, &hiring, PNG).expect(200);
    app.anonymous().get(&public_path(&hiring)).expect(200);
    assert_eq!(app.admin().delete(&admin_path(&hiring)).expect(200).json(), json!({ "success": true }));
    let page = app.anonymous().get(&public_path(&hiring)).expect(404);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    app.admin().delete(&admin_path(&hiring)).refused(404, "not_found");
}

fn requests_for_absent_logos_and_organizations_get_404() {
    let app = App::start();
    app.hiring();
    for id in ["none", "org_2", "a%20b"] {
        let path = format!("/api/admin/organizations/{id}/logo");
        app.admin().send("PUT", &path, &[], PNG).refused(404, "not_found");
        app.admin().delete(&path).refused(404, "not_found");
    }
    for slug in ["acme-1", "none", "a%20b"] {
        app.anonymous().get(&format!("/careers/{slug}/logo")).expect(404);
    }
}

fn a_disabled_portal_shows_no_logo() {
    let app = App::start();
    let hiring = app.hiring();
    put(&app, &hiring, PNG).expect(200);
    let path = format!("/api/admin/organizations/{}", hiring.organization_id);
    for (off, on) in [
        (json!({ "portal": { "enabled": false } }), json!({ "portal": { "enabled": true } })),
        (json!({ "enabled": false }), json!({ "enabled": true })),
    ] {
        app.anonymous().get(&public_path(&hiring)).expect(200);
        app.admin().patch(&path, &off).expect(200);
        app.anonymous().get(&public_path(&hiring)).expect(404);
        app.admin().patch(&path, &on).expect(200);
    }
    app.anonymous().get(&public_path(&hiring)).expect(200);
}

fn a_conditional_request_for_an_unchanged_logo_gets_304() {
    let app = App::start();
    let hiring = app.hiring();
    put(&app, &hiring, PNG).expect(200);
    let tag = app.anonymous().get(&public_path(&hiring)).expect(200).header("etag").unwrap().to_owned();
    let again = || app.anonymous().send("GET", &public_path(&hiring), &[("If-None-Match", &tag)], b"");
    assert_eq!(again().expect(304).body.len(), 0);
    put(&app, &hiring, GIF).expect(200);
    assert_eq!(again().expect(200).body, GIF);
}

fn activity_records_each_change_without_the_image() {
    let app = App::start();
    let hiring = app.hiring();
    put(&app, &hiring, PNG).expect(200);
    put(&app, &hiring, PNG).expect(200);
    put(&app, &hiring, GIF).expect(200);
    app.admin().delete(&admin_path(&hiring)).expect(200);
    let sql =
        "SELECT action || ' ' || user_id || ' ' || detail FROM activities WHERE action LIKE 'logo.%' ORDER BY number";
    let rows = app.sql(sql);
    let row = |row: &str, action: &str| -> Value {
        serde_json::from_str(row.strip_prefix(&format!("{action} user_admin ")).unwrap()).unwrap()
    };
    assert_eq!(rows.len(), 3, "the same image again is not a change: {rows:?}");
    let (first, second, third) = (row(&rows[0], "logo.put"), row(&rows[1], "logo.put"), row(&rows[2], "logo.removed"));
    assert_eq!((&first["before"], &first["after"]["bytes"]), (&Value::Null, &json!(PNG.len())));
    assert_eq!((&second["before"], &second["after"]["mediaType"]), (&first["after"], &json!("image/gif")));
    assert_eq!((&third["before"], &third["after"]), (&second["after"], &Value::Null));
    assert_eq!(first["after"]["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_logo_does_not_change_the_json_portal() {
    let app = App::start();
    let hiring = app.hiring();
    let before = app.anonymous().get(&hiring.portal()).expect(200).json();
    put(&app, &hiring, PNG).expect(200);
    assert_eq!(app.anonymous().get(&hiring.portal()).expect(200).json(), before);
}
