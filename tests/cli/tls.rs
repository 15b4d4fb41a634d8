//! TLS of the service: versions, cookies, clients that do not speak TLS, and clients that never finish a handshake.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::support::{PATIENCE, RunningService, WorkDir, connect, read_answer};
use crate::tls_client::{Authority, TLS, VERSIONS};

const PASSWORD: &str = "correct horse battery";

/// The alert `protocol_version` (RFC 5246 §7.2).
const PROTOCOL_VERSION: u8 = 70;

fn start() -> (WorkDir, Authority, RunningService) {
    let (dir, authority) = (WorkDir::new(), Authority::new());
    authority.write(&dir);
    dir.imported("a.db");
    let service = dir.serve(&[&["--db", "a.db"], &TLS[..]].concat());
    (dir, authority, service)
}

/// Returns the first message of a client whose newest version is TLS 1.0 (`minor` 1), 1.1 (2) or 1.2 (3).
fn client_hello(minor: u8) -> Vec<u8> {
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
fn links_and_cookies_are_for_https() {
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
fn large_answers_and_many_requests_pass_through_one_connection() {
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
    // The first byte is that of a handshake.
    let answer = answer_to(service.address, &[&[22, 3, 1, 0, 100], &[9; 100][..]].concat());
    assert!(answer.is_empty() || answer[0] == 21, "{answer:?}");
    authority.get(service.address, "/healthz").expect(200);
}

#[test]
fn a_client_that_never_finishes_its_handshake_delays_nobody_and_is_disconnected() {
    let (_dir, authority, service) = start();
    let hello = client_hello(3);
    let began = Instant::now();
    let silent: Vec<TcpStream> = [0, 1, 5, 20, hello.len() - 1]
        .into_iter()
        .flat_map(|bytes| std::iter::repeat_n(bytes, 20))
        .map(|bytes| {
            let mut stream = connect(service.address);
            stream.write_all(&hello[..bytes]).unwrap();
            stream
        })
        .collect();
    authority.get(service.address, "/healthz").expect(200);
    assert!(began.elapsed() < Duration::from_secs(9), "the request waited for the silent clients");
    for mut stream in silent {
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    }
    // Without TLS, a client can be silent for 30 seconds.
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_unfinished_handshake_does_not_delay_the_stop() {
    let (_dir, authority, service) = start();
    let _silent = connect(service.address);
    let mut begun = connect(service.address);
    begun.write_all(&client_hello(3)[..20]).unwrap();
    let mut idle = authority.connect(service.address).unwrap();
    let began = Instant::now();
    let output = service.stop("TERM").succeeded();
    assert!(output.stderr.ends_with("\nstopped"), "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(9), "the stop waited for the deadline of the handshake");
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0);
}

/// The maximum number of connections from one address.
const MAX: usize = 1_024;

fn connect_from(source: Ipv4Addr, address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((source, 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

#[test]
fn unfinished_handshakes_count_as_connections_of_their_address() {
    let (_dir, authority, service) = start();
    let began = Instant::now();
    let (one, other) = (Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2));
    let shake = |source| authority.connect_with(connect_from(source, service.address), &VERSIONS, b"http/1.1");
    let silent: Vec<TcpStream> = (0..MAX).map(|_| connect_from(one, service.address)).collect();
    let refused = shake(one);
    // On a slow machine, the deadline of the first handshakes may have passed.
    if began.elapsed() < Duration::from_secs(9) {
        assert!(refused.is_err(), "one address has more than {MAX} connections");
    }
    shake(other).unwrap();
    drop(silent);
    while shake(one).is_err() {}
}
