//! TLS of the service: versions, cookies, and clients that do not speak TLS.

use std::io::{Read, Write};
use std::net::SocketAddr;

use crate::support::{RunningService, WorkDir, connect, read_answer};
use crate::tls_client::{Authority, TLS, VERSIONS};

const PASSWORD: &str = "correct horse battery";

/// The alert `protocol_version` (RFC 5246 §7.2).
const PROTOCOL_VERSION: u8 = 70;

pub(crate) fn start() -> (WorkDir, Authority, RunningService) {
    let (dir, authority) = (WorkDir::new(), Authority::new());
    authority.write(&dir);
    dir.imported("a.db");
    let service = dir.serve(&[&["--db", "a.db"], &TLS[..]].concat());
    (dir, authority, service)
}

/// Returns the first message of a client whose newest version is TLS 1.0 (`minor` 1), 1.1 (2) or 1.2 (3).
pub(crate) fn client_hello(minor: u8) -> Vec<u8> {
    let mut hello = vec![3, minor];
    hello.extend([7; 32]); // random
    hello.push(0); // no session
    hello.extend([0, 4, 0xc0, 0x2b, 0xc0, 0x13]); // cipher suites
    hello.extend([1, 0]); // no compression
    hello.extend([0, 16]); // extensions
    hello.extend([0, 10, 0, 4, 0, 2, 0, 23]); // supported groups: P-256
    hello.extend([0, 13, 0, 4, 0, 2, 4, 3]); // signature algorithms: ECDSA with P-256
    let length = hello.len() as u8;
    [&[22, 3, 1, 0, length + 4, 1, 0, 0, length], &hello[..]].concat()
}

/// Sends bytes, and returns everything that the service sends before it closes the connection.
fn answer_to(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn the_service_speaks_tls_1_2_and_1_3_and_http_1_1() {
    let (_dir, authority, service) = start();
    for version in VERSIONS {
        let mut stream = authority.connect_with(connect(service.address), &[version], b"http/1.1").unwrap();
        assert_eq!(stream.conn.protocol_version(), Some(version.version));
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let answer = read_answer(&mut stream).expect(200);
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
    }
    let url = format!("listening on https://{}", service.address);
    let log = service.stop("TERM").succeeded().stderr;
    assert_eq!(log.lines().next(), Some(url.as_str()), "{log}");
}

#[test]
fn other_versions_and_protocols_are_refused_with_an_alert() {
    let (_dir, authority, service) = start();
    for minor in [1, 2] {
        let answer = answer_to(service.address, &client_hello(minor));
        assert_eq!(answer, [21, 3, 3, 0, 2, 2, PROTOCOL_VERSION], "TLS 1.{}", minor - 1);
    }
    // The same message for TLS 1.2 is answered with the next message of the handshake.
    let mut stream = connect(service.address);
    stream.write_all(&client_hello(3)).unwrap();
    let mut first = [0];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(first, [22]);
    let refused = authority.connect_with(connect(service.address), &VERSIONS, b"h2").unwrap_err().to_string();
    assert!(refused.contains("NoApplicationProtocol"), "{refused}");
    authority.get(service.address, "/healthz").expect(200);
}

#[test]
fn links_begin_with_https_and_cookies_are_secure() {
    let (dir, authority, service) = start();
    let set = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    dir.run_with(&set, &[], PASSWORD.as_bytes()).succeeded();
    let post = |path: &str, body: &str| {
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        authority.send(service.address, &(head + body)).expect(200)
    };
    let body = format!(r#"{{"email":"owner@acme.example","password":"{PASSWORD}"}}"#);
    let answer = post("/api/auth/sign-in", &body);
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-") && cookie.contains("; Secure"), "{cookie}");
    let session = cookie.split(';').next().unwrap();
    let me = format!("GET /api/v1/me HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: {session}\r\n\r\n");
    authority.send(service.address, &me).expect(200);
    let invite = post("/api/public/portal/acme/apply", r#"{"roleId":"role_1"}"#).json()["inviteUrl"].clone();
    let begin = format!("https://{}/signup/", service.address);
    assert!(invite.as_str().unwrap().starts_with(&begin), "{invite}");
}

#[test]
fn several_requests_with_large_answers_can_use_one_connection() {
    let (_dir, authority, service) = start();
    let mut stream = authority.connect(service.address).unwrap();
    for last in [false, false, true] {
        let close = if last { "Connection: close\r\n" } else { "" };
        write!(stream, "GET /api/openapi.json HTTP/1.1\r\nHost: a\r\n{close}\r\n").unwrap();
    }
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 3);
    assert!(text.len() > 600_000 && text.trim_end().ends_with('}'), "{}", text.len());
}

#[test]
fn plain_http_on_a_port_with_tls_gets_400_with_advice_to_use_https() {
    let (_dir, _, service) = start();
    let body = "x".repeat(20_000);
    for request in
        ["GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), format!("POST /x HTTP/1.1\r\n\r\n{body}")]
    {
        let answer = String::from_utf8(answer_to(service.address, request.as_bytes())).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(answer.contains("use a URL that begins with https://"), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n") && !answer.contains("strict-transport"), "{answer}");
        assert!(!answer.contains("evil"), "{answer}");
    }
}

#[test]
fn bytes_that_are_neither_tls_nor_http_close_the_connection() {
    let (_dir, authority, service) = start();
    assert!(answer_to(service.address, &[0; 100]).is_empty());
    // The first byte announces a TLS handshake, but the message is not one.
    let answer = answer_to(service.address, &[&[22, 3, 1, 0, 100], &[9; 100][..]].concat());
    assert!(answer.is_empty() || answer[0] == 21, "{answer:?}");
    authority.get(service.address, "/healthz").expect(200);
}
