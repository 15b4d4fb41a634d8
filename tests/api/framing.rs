//! Request framing: which values of `Host`, `Transfer-Encoding`, `Content-Encoding` and `Content-Length` are refused
//! before the body is read.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::signup::Form;
use crate::support::{App, Client};

crate::tests![
    an_invalid_host_is_a_bad_request,
    any_transfer_encoding_other_than_a_single_chunked_is_refused,
    an_encoded_body_is_unsupported,
    a_content_encoding_without_a_body_is_ignored,
    an_announced_body_over_the_limit_is_refused_before_it_arrives,
    a_connection_stays_usable_after_a_refused_body,
];

/// A timeout that is shorter than the server's shortest wait for a body, and far longer than an answer takes.
const AT_ONCE: Duration = Duration::from_secs(4);

fn open(app: &App) -> TcpStream {
    let stream = TcpStream::connect(app.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Reads the next answer on a connection. Returns the answer's head, in lower case, and its body.
fn answer(stream: &mut TcpStream) -> (String, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the connection ended after {}", head.escape_ascii());
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn code(body: &str) -> String {
    serde_json::from_str::<Value>(body).unwrap()["code"].as_str().unwrap().to_owned()
}

fn an_invalid_host_is_a_bad_request() {
    let app = App::start();
    let portal = app.hiring().portal();
    // The first path has a fixed answer, the second a cached response, and the third an answer that depends on the
    // caller.
    app.anonymous().get(&portal).expect(200);
    let key = format!("Authorization: Bearer {}\r\n", app.admin_secret());
    let paths = [("/healthz", ""), (portal.as_str(), ""), ("/api/v1/me", key.as_str())];
    for host in [
        &b""[..],
        b"a b",
        b"a, b",
        b"a,b",
        b"a/b",
        b"a\\b",
        b"a?b",
        b"a#b",
        b"a@b",
        b"user:secret@b",
        b"http://a",
        b"a:b",
        b"a:-1",
        b"a:99999",
        b"a:80:80",
        b"::1",
        b":80",
        b"[::1",
        b"[::g]",
        b"[::1]80",
        b"a%zz",
        b"<a>",
        b"a\"b",
        b"{a}",
        b"a|b",
        b"a^b",
        b"a\tb",
        "bücher.example".as_bytes(),
        b"a\xff",
    ] {
        for (path, fields) in paths.iter().chain(&[("/nothing", "")]) {
            let request = [format!("GET {path} HTTP/1.1\r\n{fields}Host: ").as_bytes(), host, b"\r\n\r\n"].concat();
            let answer = app.anonymous().raw(&request);
            let status_and_code = (answer.status, answer.json()["code"].as_str().map(str::to_owned));
            assert_eq!(status_and_code, (400, Some("bad_request".to_owned())), "{path} {}", host.escape_ascii());
        }
        let old = [&b"GET /healthz HTTP/1.0\r\nHost: "[..], host, b"\r\n\r\n"].concat();
        assert_eq!(app.anonymous().raw(&old).status, 400, "HTTP/1.0 {}", host.escape_ascii());
    }
    for host in ["a", "JOBS.example.com.", "a_b.example:8080", "127.0.0.1", "[::1]", "[2001:db8::1]:443", "a:", " a "] {
        for (path, fields) in &paths {
            let request = format!("GET {path} HTTP/1.1\r\n{fields}Host: {host}\r\n\r\n");
            app.anonymous().raw(request.as_bytes()).expect(200);
        }
    }
}

fn any_transfer_encoding_other_than_a_single_chunked_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let path = format!("{}/apply", hiring.portal());
    let send = |fields: &str, body: &str| {
        let mut stream = open(&app);
        // A parser that reads these fields differently could mistake the second request for part of the body, or part
        // of the body for a request (request smuggling).
        let request =
            format!("POST {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let (head, body) = answer(&mut stream);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(rest, b"", "{fields}");
        assert!(head.contains("\r\nconnection: close\r\n"), "{fields}: {head}");
        (head.split(' ').nth(1).unwrap().to_owned(), code(&body))
    };
    let body = json!({ "roleId": hiring.role_id }).to_string();
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for value in [
        "gzip, chunked",
        "gzip,chunked",
        "identity, chunked",
        "chunked, chunked",
        "chunked,chunked",
        ", chunked",
        "x, chunked",
        "deflate,gzip, chunked",
        "chunked, gzip",
        "gzip",
        "identity",
        "chunked;q=1",
        "xchunked",
        "\"chunked\"",
        "chunked,",
    ] {
        let refused = ("400".to_owned(), "bad_request".to_owned());
        assert_eq!(send(&format!("Transfer-Encoding: {value}\r\n"), &chunks), refused, "{value}");
    }
    for fields in [
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
    ] {
        assert_eq!(send(fields, &chunks), ("400".to_owned(), "bad_request".to_owned()), "{fields}");
    }
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["0"]);
    for value in ["chunked", "Chunked", " CHUNKED "] {
        let mut stream = open(&app);
        let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {value}\r\n\r\n");
        stream.write_all(format!("{head}{chunks}").as_bytes()).unwrap();
        assert!(answer(&mut stream).0.starts_with("http/1.1 200 "), "{value}");
    }
}

fn an_encoded_body_is_unsupported() {
    let app = App::start();
    let hiring = app.hiring();
    let form = Form::for_role(&app, &hiring);
    let apply = format!("{}/apply", hiring.portal());
    let logo = format!("/api/admin/organizations/{}/logo", hiring.organization_id);
    let upload = form.path.split('?').next().unwrap().to_owned();
    let body = json!({ "roleId": hiring.role_id }).to_string();
    for coding in ["gzip", "identity", "br, gzip", "", "aes128gcm"] {
        for (client, method, path, content_type) in [
            (app.anonymous(), "POST", apply.as_str(), "application/json"),
            (app.admin(), "POST", "/api/admin/api-keys", "application/json"),
            (app.admin(), "PUT", &logo, "image/gif"),
            (app.anonymous(), "POST", &upload, "multipart/form-data; boundary=b"),
            (app.anonymous(), "POST", &upload, "application/x-www-form-urlencoded"),
            (app.anonymous(), "POST", &format!("/api/public{upload}"), "application/json"),
        ] {
            let fields = [("Content-Type", content_type), ("Content-Encoding", coding)];
            let answer = client.send(method, path, &fields, body.as_bytes()).expect(415);
            assert_eq!(answer.header("accept-encoding"), Some("identity"), "{path} {coding}");
            if !answer.header("content-type").unwrap().starts_with("text/html") {
                answer.refused(415, "unsupported_media_type");
            }
        }
    }
    // The refusal does not wait for the body.
    let mut stream = open(&app);
    stream.set_read_timeout(Some(AT_ONCE)).unwrap();
    let head = format!("POST {apply} HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n");
    stream.write_all(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    assert!(answer(&mut stream).0.starts_with("http/1.1 415 "));
    // The service checks the credential first, then the size, and then the encoding.
    let encoded_fields = [("Content-Encoding", "gzip")];
    app.anonymous().send("POST", "/api/admin/api-keys", &encoded_fields, b"{}").refused(401, "unauthorized");
    let large = vec![b' '; 128 * 1_024 + 1];
    app.anonymous().send("POST", &apply, &encoded_fields, &large).refused(413, "payload_too_large");
    assert_eq!(app.sql("SELECT count(*) FROM signups"), ["0"]);
}

fn a_content_encoding_without_a_body_is_ignored() {
    let app = App::start();
    let hiring = app.hiring();
    let encoded_fields = [("Content-Encoding", "gzip")];
    app.anonymous().send("GET", &hiring.portal(), &encoded_fields, b"").expect(200);
    app.user(&hiring.staff("owner")).send("POST", &hiring.reject(0), &encoded_fields, b"").expect(200);
}

/// Returns requests that announce too large a body: the start of the head, the limit, and whether the answer is a
/// page.
fn too_large(app: &App) -> Vec<(String, u64, bool)> {
    let hiring = app.hiring();
    let upload = Form::for_role(app, &hiring).path.split('?').next().unwrap().to_owned();
    let key = format!("Authorization: Bearer {}", app.admin_secret());
    let logo = format!("/api/admin/organizations/{}/logo", hiring.organization_id);
    let multipart = "Content-Type: multipart/form-data; boundary=b";
    let urlencoded = "Content-Type: application/x-www-form-urlencoded";
    let upload_max = 10 * 1_024 * 1_024 + 256 * 1_024;
    [
        (format!("POST {}/apply HTTP/1.1\r\nHost: a", hiring.portal()), 131_072, false),
        (format!("POST /api/admin/api-keys HTTP/1.1\r\nHost: a\r\n{key}"), 131_072, false),
        (format!("PUT {logo} HTTP/1.1\r\nHost: a\r\n{key}\r\nContent-Type: image/gif"), 262_144, false),
        (format!("POST {upload} HTTP/1.1\r\nHost: a\r\n{urlencoded}"), 131_072, true),
        (format!("POST {upload} HTTP/1.1\r\nHost: a\r\n{multipart}"), upload_max, true),
        (format!("POST /api/public{upload} HTTP/1.1\r\nHost: a\r\n{multipart}"), upload_max, false),
    ]
    .into()
}

fn an_announced_body_over_the_limit_is_refused_before_it_arrives() {
    let app = App::start();
    for (head, bytes_max, is_page) in too_large(&app) {
        for expect in ["", "\r\nExpect: 100-continue"] {
            for length in [bytes_max + 1, 1 << 40] {
                let mut stream = open(&app);
                stream.set_read_timeout(Some(AT_ONCE)).unwrap();
                write!(stream, "{head}{expect}\r\nContent-Length: {length}\r\n\r\n").unwrap();
                let (answered, body) = answer(&mut stream);
                assert!(answered.starts_with("http/1.1 413 "), "{head}: {answered}");
                if is_page {
                    assert!(!body.contains("open for too long"), "{head}: {body}");
                } else {
                    assert_eq!(code(&body), "payload_too_large", "{head}");
                }
            }
        }
    }
}

fn a_connection_stays_usable_after_a_refused_body() {
    let app = App::start();
    for (head, bytes_max, _) in too_large(&app) {
        let mut stream = open(&app);
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n", bytes_max + 1).unwrap();
        assert!(answer(&mut stream).0.starts_with("http/1.1 413 "), "{head}");
        // The answer has already arrived, and the server discards the body that follows.
        stream.write_all(&vec![b' '; usize::try_from(bytes_max).unwrap() + 1]).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!(answer(&mut stream).1, "ok\n", "{head}");
    }
    let after: Client = app.anonymous();
    after.get("/healthz").expect(200);
}
