//! Downloads of attachments, by staff and through the status page: streamed in chunks, complete or cut off.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use appliance::domain::attachment::{ATTACHMENT_BYTES_MAX, CHUNK_BYTES_MAX, MediaType};
use serde_json::json;

use crate::attachment::{apply_with, attach, sign_up, stage};
use crate::candidate_erase::{path, start};
use crate::support::stored_signup::{insert_signup, new_status_link};
use crate::support::{Answer, App, Hiring};

crate::tests![
    staff_and_candidates_download_every_byte_of_many_chunks,
    an_attachment_is_found_only_under_its_own_status_link,
    links_to_attachments_carry_the_chosen_language,
    erasing_a_candidate_cuts_off_downloads_of_their_attachment,
    downloading_an_incomplete_attachment_is_an_internal_error,
    a_download_of_damaged_content_is_cut_off_and_check_reports_it,
    many_slow_downloads_read_only_their_current_chunks,
];

/// Returns bytes in which no two chunks are equal.
fn content(bytes: usize) -> Vec<u8> {
    (0u32..).flat_map(u32::to_le_bytes).take(bytes).collect()
}

/// Applies as the first candidate, with an attachment. Returns the attachment's path for staff and its path under the
/// status link.
fn applied(app: &App, hiring: &Hiring, content: &[u8]) -> [String; 2] {
    let staff = apply_with(app, hiring, 0, "cv.pdf", MediaType::Pdf, content);
    let own = format!("{}/documents/{}", new_status_link(app, hiring, 0), staff.rsplit('/').next().unwrap());
    [staff, own]
}

/// Requests a path on a connection with a small receive buffer.
fn ask_slowly(app: &App, path: &str, secret: &str) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(&app.address.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Reads the head and at least this many bytes of the body.
fn read_some(stream: &mut TcpStream, bytes: usize) -> (String, Vec<u8>) {
    let mut all = Vec::new();
    let mut buffer = vec![0; 4_096];
    loop {
        if let Some(at) = all.windows(4).position(|four| four == b"\r\n\r\n")
            && all.len() >= at + 4 + bytes
        {
            let body = all.split_off(at + 4);
            return (String::from_utf8(all).unwrap(), body);
        }
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the answer ended early");
        all.extend_from_slice(&buffer[..count]);
    }
}

/// Reads the rest of an answer. Returns the announced length of the body and the bytes of the body that arrived.
fn read_to_end(mut stream: TcpStream, (head, mut body): (String, Vec<u8>)) -> (usize, Vec<u8>) {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let _ = stream.read_to_end(&mut body);
    (length, body)
}

fn staff_and_candidates_download_every_byte_of_many_chunks() {
    let (app, hiring) = start();
    let member = app.user_with_all(&hiring.staff("member"));
    let content = content(3 * CHUNK_BYTES_MAX + 5);
    let [staff, own] = applied(&app, &hiring, &content);
    for (client, path) in [(member, staff), (app.anonymous(), own.clone())] {
        for method in ["GET", "HEAD"] {
            let answer = client.send(method, &path, &[("Accept-Encoding", "gzip")], b"").expect(200);
            let fields = [
                ("content-type", "application/pdf"),
                ("content-length", &content.len().to_string()),
                ("content-disposition", "attachment; filename*=UTF-8''cv.pdf"),
                ("content-security-policy", "sandbox; default-src 'none'"),
                ("cache-control", "no-store"),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
            ];
            for (name, value) in fields {
                assert_eq!(answer.header(name), Some(value), "{method} {path}: {name}");
            }
            let is_own = path == own;
            assert_eq!(answer.header("x-robots-tag"), is_own.then_some("noindex, nofollow"));
            assert!(answer.body == if method == "GET" { &content[..] } else { b"" }, "{method} {path}");
        }
    }
}

#[track_caller]
fn assert_dead_link(answer: Answer) {
    let answer = answer.expect(404);
    assert!(answer.text().contains("<h1>This link does not work</h1>"), "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.header("x-robots-tag").unwrap().starts_with("noindex"));
}

fn an_attachment_is_found_only_under_its_own_status_link() {
    let (app, hiring) = start();
    let [_, own] = applied(&app, &hiring, b"%PDF-1.7 first");
    let (page, id) = own.split_once("/documents/").unwrap();
    let other = apply_with(&app, &hiring, 1, "other.pdf", MediaType::Pdf, b"%PDF-1.7 other");
    // The later signup under the same address has its own status page.
    let email = "zoe.quixworth+0@mail.example";
    let later = insert_signup(&app, &hiring, None, email, "later-link");
    let (staged, token) = stage(&app, "cv.pdf", MediaType::Pdf, b"%PDF-1.7 staged");
    let get = |path: &str| app.anonymous().get(path);
    assert_eq!(get(&own).expect(200).body, b"%PDF-1.7 first");
    assert_eq!(get(&format!("{later}/documents/doc_later-link")).expect(200).body, b"%PDF-1.7 Quixworth");
    let other = other.rsplit('/').next().unwrap();
    for foreign in [other, "doc_later-link", staged.as_str(), "none", "%00", "a%2Fb"] {
        assert_dead_link(get(&format!("{page}/documents/{foreign}")));
    }
    assert_dead_link(get(&format!("{later}/documents/{id}")));
    assert_dead_link(get(&format!("/status/{}/documents/{id}", "A".repeat(43))));
    // An application's status link does not open an attachment of a later signup, and a replaced link opens nothing.
    sign_up(&app, &hiring, "sign_more", None, email);
    assert!(attach(&app, &token, "sign_more"));
    assert_dead_link(get(&format!("{page}/documents/{}", staged.as_str())));
    new_status_link(&app, &hiring, 0);
    assert_dead_link(get(&own));
    let twice = get(&format!("{own}?lang=de&lang=fr")).expect(400);
    assert_eq!(twice.header("content-type"), Some("text/html; charset=utf-8"));
}

fn links_to_attachments_carry_the_chosen_language() {
    let (app, hiring) = start();
    let [_, own] = applied(&app, &hiring, b"%PDF-1.7");
    let (page, id) = own.split_once("/documents/").unwrap();
    for (query, suffix) in [("", ""), ("?lang=fr", "?lang=fr")] {
        let text = app.anonymous().get(&format!("{page}{query}")).expect(200).text();
        assert!(text.contains(&format!("<a href=\"{own}{suffix}\" download>cv.pdf")), "{text}");
        let data = app.anonymous().get(&format!("{page}/data{query}")).expect(200).json();
        let document = &data["sent"]["documents"][0];
        assert_eq!((&document["id"], &document["path"]), (&json!(id), &json!(format!("{own}{suffix}"))), "{document}");
        app.anonymous().get(document["path"].as_str().unwrap()).expect(200);
    }
}

fn erasing_a_candidate_cuts_off_downloads_of_their_attachment() {
    let (app, hiring) = start();
    let content = content(ATTACHMENT_BYTES_MAX);
    let paths = applied(&app, &hiring, &content);
    let (_, secret) = app.make_key_with_all(&hiring.staff("owner"));
    let started = paths.map(|path| {
        let mut stream = ask_slowly(&app, &path, &secret);
        let some = read_some(&mut stream, CHUNK_BYTES_MAX);
        assert!(some.0.starts_with("HTTP/1.1 200 OK\r\n"), "{}", some.0);
        (stream, some)
    });
    app.key(&secret).delete(&path(&hiring, 0)).expect(200);
    // The attachment of another candidate can get the row number of the erased attachment.
    let (_, token) = stage(&app, "other.pdf", MediaType::Pdf, &vec![b'x'; ATTACHMENT_BYTES_MAX]);
    sign_up(&app, &hiring, "sign_other", Some(&hiring.candidates[1].application_id), "other@mail.example");
    assert!(attach(&app, &token, "sign_other"));
    for (stream, some) in started {
        let (length, body) = read_to_end(stream, some);
        assert_eq!(length, content.len());
        assert!(body.len() < length && body == content[..body.len()], "{} bytes", body.len());
    }
}

fn downloading_an_incomplete_attachment_is_an_internal_error() {
    let (app, hiring) = start();
    let [staff, own] = applied(&app, &hiring, &content(3 * CHUNK_BYTES_MAX));
    let member = app.user_with_all(&hiring.staff("member"));
    for damage in [
        "UPDATE document_pieces SET content = zeroblob(65535) WHERE number = 3",
        "DELETE FROM document_pieces WHERE number = 2",
        "DELETE FROM document_pieces",
    ] {
        app.change(damage);
        member.get(&staff).refused(500, "internal_error");
        app.anonymous().get(&own).expect(500);
    }
}

fn a_download_of_damaged_content_is_cut_off_and_check_reports_it() {
    let (app, hiring) = start();
    let content = content(3 * CHUNK_BYTES_MAX);
    let paths = applied(&app, &hiring, &content);
    let (_, secret) = app.make_key_with_all(&hiring.staff("owner"));
    let id = paths[0].rsplit('/').next().unwrap().to_owned();
    assert_eq!(app.check(), Vec::<String>::new());
    // One byte inside the first chunk changes. The length stays the same.
    app.change(
        "UPDATE document_pieces SET content = CAST(substr(content, 1, 99) || x'ff' || substr(content, 101) AS BLOB)
         WHERE number = 1",
    );
    assert_eq!(app.sql("SELECT sum(length(content)) FROM document_pieces"), [content.len().to_string()]);
    for path in &paths {
        let mut stream = ask_slowly(&app, path, &secret);
        let some = read_some(&mut stream, 1);
        let (length, body) = read_to_end(stream, some);
        assert_eq!(length, content.len());
        assert!(body.len() <= 2 * CHUNK_BYTES_MAX, "{} bytes of a damaged file", body.len());
    }
    let finding = format!("the content of attachment {id} does not match its SHA-256");
    assert_eq!(app.check(), [finding]);
    // A missing digest is a finding as well.
    app.change("UPDATE documents SET sha256 = NULL");
    assert_eq!(app.check(), [format!("attachment {id} has no SHA-256")]);
}

/// During the downloads, the test deletes all chunks after the hundredth. If a deleted chunk still arrives, the
/// service read it too early.
fn many_slow_downloads_read_only_their_current_chunks() {
    let (app, hiring) = start();
    let content = content(ATTACHMENT_BYTES_MAX);
    let [_, own] = applied(&app, &hiring, &content);
    let started: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = ask_slowly(&app, &own, "");
            let some = read_some(&mut stream, 1);
            (stream, some)
        })
        .collect();
    // The downloads block neither threads nor connections to the file.
    app.anonymous().get(own.split_once("/documents/").unwrap().0).expect(200);
    app.change("DELETE FROM document_pieces WHERE number > 100");
    // The service closes a connection on which the client reads nothing for a while, so all clients read at the same
    // time.
    std::thread::scope(|scope| {
        for (stream, some) in started {
            scope.spawn(|| {
                let (length, body) = read_to_end(stream, some);
                assert_eq!(length, ATTACHMENT_BYTES_MAX);
                // Part of the last chunk can be lost with the connection.
                let lengths = 99 * CHUNK_BYTES_MAX..=100 * CHUNK_BYTES_MAX;
                assert!(lengths.contains(&body.len()), "{} bytes", body.len());
                assert!(body == content[..body.len()]);
            });
        }
    });
}
