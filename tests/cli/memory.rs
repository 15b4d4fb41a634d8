//! What the memory of the real process costs, measured by the system.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::{Place, Serving, connect};

/// Connections at once, and bytes of the body that each sends one at a time.
const CONNECTIONS: usize = 100;
const BYTES: usize = 2_000;

/// How much more memory the process may ever have held for that.
const MORE_KIB_MAX: u64 = 20 * 1_024;

/// A line of `/proc/PID/status`, in KiB.
fn kib(serving: &Serving, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// Forgets the most memory that the process has held so far.
fn forget_peak(serving: &Serving) {
    std::fs::write(format!("/proc/{}/clear_refs", serving.id()), "5").unwrap();
}

/// Sends one byte on each connection in turn, so that the service reads each by itself. Every request is answered.
fn drip(streams: &mut [TcpStream], head: &str, bodies: &[Vec<u8>], expected: &str) {
    for stream in &mut *streams {
        stream.set_nodelay(true).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
    }
    for portion in 0..bodies[0].len() {
        for (stream, body) in streams.iter_mut().zip(bodies) {
            stream.write_all(&body[portion..=portion]).unwrap();
        }
    }
    for stream in streams {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(expected), "{answer}");
    }
}

#[test]
fn bodies_of_single_bytes_cost_no_more_memory_than_their_length() {
    let place = Place::new();
    place.imported("a.db");
    let serving = place.serve(&["--db", "a.db", "--signup-limit", "0"]);
    let body = format!("{{\"roleId\":\"role_1\"{}}}", " ".repeat(BYTES - 19));
    assert_eq!(body.len(), BYTES);
    let request = "POST /api/public/portal/acme/apply HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    let head = format!("{request}Content-Length: {BYTES}\r\n\r\n");
    let open = |count: usize| -> Vec<TcpStream> { (0..count).map(|_| connect(serving.address)).collect() };
    // The first ones take what the service keeps in any case.
    drip(&mut open(2), &head, &vec![body.clone().into_bytes(); 2], "HTTP/1.1 200 OK\r\n");
    forget_peak(&serving);
    let before = kib(&serving, "VmRSS");
    drip(&mut open(CONNECTIONS), &head, &vec![body.into_bytes(); CONNECTIONS], "HTTP/1.1 200 OK\r\n");
    let (peak, after) = (kib(&serving, "VmHWM"), kib(&serving, "VmRSS"));
    println!(
        "{CONNECTIONS} connections of {BYTES} single bytes: RSS {before} KiB before, {peak} at most, {after} after"
    );
    assert!(peak < before + MORE_KIB_MAX, "{before} KiB before, {peak} KiB at most");
    serving.stop("TERM").succeeded();
}

#[test]
fn files_of_single_bytes_cost_no_more_memory_than_their_length() {
    let place = Place::new();
    place.imported("a.db");
    let serving = place.serve(&["--db", "a.db", "--signup-limit", "0"]);
    let apply = serving.send("POST", "/api/public/portal/acme/apply", &[], r#"{"roleId":"role_1"}"#).expect(200).json();
    let url = apply["inviteUrl"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&serving.url()).unwrap().split('?').next().unwrap();
    let part = |name: &str, more: &str, content: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n\r\n{content}\r\n")
    };
    let file = part("cv", "; filename=\"cv.txt\"", &"x".repeat(BYTES));
    let form = |nth: usize| {
        let email = part("email", "", &format!("a{nth:02}@example.org"));
        [part("name", "", "Ada"), email, part("consent", "", "on"), file.clone(), "--b--\r\n".to_owned()].concat()
    };
    // As many as may come from one address at once.
    let bodies: Vec<Vec<u8>> = (0..16).map(|nth| form(nth).into_bytes()).collect();
    let head = format!(
        "POST /api/public{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: multipart/form-data; \
         boundary=b\r\nContent-Length: {}\r\n\r\n",
        bodies[0].len()
    );
    let open = |count: usize| -> Vec<TcpStream> { (0..count).map(|_| connect(serving.address)).collect() };
    drip(&mut open(1), &head, &[form(99).into_bytes()], "HTTP/1.1 200 OK\r\n");
    forget_peak(&serving);
    let before = kib(&serving, "VmRSS");
    drip(&mut open(16), &head, &bodies, "HTTP/1.1 200 OK\r\n");
    let peak = kib(&serving, "VmHWM");
    assert!(peak < before + MORE_KIB_MAX, "{before} KiB before, {peak} KiB at most");
    serving.stop("TERM").succeeded();
}
