//! `--redirect-from`: redirects from plain HTTP to the base URL.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use crate::support::{Answer, PATIENCE, RunningService, WorkDir, connect, read_answer};
use crate::tls_client::{Authority, CERT, KEY, TLS};

const BASE_URL: &str = "https://jobs.example.com:8443";

/// Starts a service. Returns it and the address from which it redirects requests.
fn start(dir: &WorkDir) -> (RunningService, SocketAddr) {
    Authority::new().write(dir);
    let args = ["--db", "a.db", "--base-url", BASE_URL, "--redirect-from", "127.0.0.1:0"];
    let mut service = dir.serve(&[&args, &TLS[..]].concat());
    let line = service.wait_for(|line| line.starts_with("redirecting http://"));
    let rest = line.strip_prefix("redirecting http://").and_then(|rest| rest.strip_suffix(BASE_URL)).unwrap();
    let address = rest.strip_suffix(" to ").unwrap().parse().unwrap();
    (service, address)
}

fn answer(address: SocketAddr, request: &str) -> Answer {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    read_answer(&mut stream)
}

#[test]
fn every_request_is_redirected_to_the_same_path_of_the_base_url() {
    let dir = WorkDir::new();
    let (service, address) = start(&dir);
    for (target, host, expected) in [
        ("/", "jobs.example.com", "/"),
        ("/careers/acme?q=a%20b&page=2", "jobs.example.com", "/careers/acme?q=a%20b&page=2"),
        ("/readyz", "evil.example", "/readyz"),
        ("//evil.example/x", "evil.example", "//evil.example/x"),
        ("http://evil.example/x?y", "evil.example", "/x?y"),
        ("/%0d%0aSet-Cookie:%20a=b", "a\", <script>", "/%0d%0aSet-Cookie:%20a=b"),
        ("*", "evil.example", "/"),
    ] {
        for method in ["GET", "HEAD", "POST", "OPTIONS"] {
            let answer = answer(address, &format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")).expect(308);
            let location = format!("{BASE_URL}{expected}");
            assert_eq!(answer.header("location"), Some(location.as_str()), "{method} {target}");
            assert_eq!((answer.body.as_str(), answer.header("connection")), ("", Some("close")), "{answer:?}");
            // This field must not be sent without TLS (RFC 6797 §7.2).
            assert_eq!(answer.header("strict-transport-security"), None);
            // A path can contain a secret, so a cache must not store the answer.
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
    }
    // A request with HTTP/1.0 needs no Host.
    assert!(answer(address, "GET /x HTTP/1.0\r\n\r\n").expect(308).head.contains("/x\r\n"));
    service.stop("TERM").succeeded();
}

#[test]
fn unreadable_requests_are_refused() {
    let dir = WorkDir::new();
    let (_service, address) = start(&dir);
    for request in ["GET / b HTTP/1.1\r\n\r\n".to_owned(), "\u{16}\u{3}\u{1}\0\0\r\n\r\n".to_owned()] {
        assert_eq!(answer(address, &request).status, 400, "{request:?}");
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(100_000));
    let mut stream = connect(address);
    let _ = stream.write_all(long.as_bytes());
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    assert!(!text.starts_with(b"HTTP/1.1 3"), "{}", String::from_utf8_lossy(&text));
    answer(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect(308);
}

#[test]
fn redirects_need_tls_and_a_free_port() {
    let dir = WorkDir::new();
    let serve = ["serve", "--db", "a.db", "--listen", "127.0.0.1:0", "--redirect-from"];
    dir.run(&[&serve[..], &["127.0.0.1:0"]].concat()).misused("--tls-cert");
    Authority::new().write(&dir);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let sentence = format!("cannot listen on {address}");
    let run = dir.run(&[&serve[..], &[&address], &TLS].concat());
    assert!(run.stderr.contains("--redirect-from"), "{run:?}");
    run.failed(1, &sentence);
    assert_eq!(dir.names(), [CERT, KEY]);
}

/// The maximum number of connections from one address.
const MAX: usize = 256;

#[test]
fn silent_connections_from_one_address_are_limited_and_other_addresses_can_connect() {
    let dir = WorkDir::new();
    let (_service, address) = start(&dir);
    let silent: Vec<TcpStream> = (0..MAX).map(|_| connect(address)).collect();
    let mut excess = connect(address);
    assert_eq!(excess.read(&mut [0]).unwrap_or(0), 0);
    let other = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    other.bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), 0)).into()).unwrap();
    other.connect(&address.into()).unwrap();
    let mut other = TcpStream::from(other);
    other.set_read_timeout(Some(PATIENCE)).unwrap();
    other.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    read_answer(&mut other).expect(308);
    drop(silent);
}
