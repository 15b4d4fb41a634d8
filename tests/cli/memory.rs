//! The memory of the real process, as the operating system measures it.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::{RunningService, WorkDir, connect};

/// The number of parallel connections, and the number of body bytes that each sends one by one.
const CONNECTIONS: usize = 100;
const BYTES: usize = 2_000;

/// The maximum growth of the peak memory while the bodies are sent.
const MORE_KIB_MAX: u64 = 20 * 1_024;

/// Returns a value of `/proc/PID/status`, in KiB.
fn kib(service: &RunningService, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// Resets the peak memory that the kernel reports.
fn reset_peak(service: &RunningService) {
    std::fs::write(format!("/proc/{}/clear_refs", service.id()), "5").unwrap();
}

/// Sends the head on each connection, and then the bodies byte by byte, one byte on each connection in turn, so that
/// the service reads each byte separately. Checks that each answer begins with `expected`.
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
fn the_memory_for_bodies_sent_byte_by_byte_is_limited() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let service = dir.serve(&["--db", "a.db", "--signup-limit", "0"]);
    let body = format!("{{\"roleId\":\"role_1\"{}}}", " ".repeat(BYTES - 19));
    assert_eq!(body.len(), BYTES);
    let request = "POST /api/public/portal/acme/apply HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    let head = format!("{request}Content-Length: {BYTES}\r\n\r\n");
    let open = |count: usize| -> Vec<TcpStream> { (0..count).map(|_| connect(service.address)).collect() };
    // The first requests allocate memory that the service retains in any case.
    drip(&mut open(2), &head, &vec![body.clone().into_bytes(); 2], "HTTP/1.1 200 OK\r\n");
    reset_peak(&service);
    let before = kib(&service, "VmRSS");
    drip(&mut open(CONNECTIONS), &head, &vec![body.into_bytes(); CONNECTIONS], "HTTP/1.1 200 OK\r\n");
    let (peak, after) = (kib(&service, "VmHWM"), kib(&service, "VmRSS"));
    println!("{CONNECTIONS} connections of {BYTES} single bytes: RSS {before} KiB before, peak {peak}, {after} after");
    assert!(peak < before + MORE_KIB_MAX, "{before} KiB before, peak {peak} KiB");
    service.stop("TERM").succeeded();
}

#[test]
fn the_memory_for_attachments_sent_byte_by_byte_is_limited() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let service = dir.serve(&["--db", "a.db", "--signup-limit", "0"]);
    let apply = service.send("POST", "/api/public/portal/acme/apply", &[], r#"{"roleId":"role_1"}"#).expect(200).json();
    let url = apply["inviteUrl"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&service.url()).unwrap().split('?').next().unwrap();
    let part = |name: &str, more: &str, content: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n\r\n{content}\r\n")
    };
    let file = part("cv", "; filename=\"cv.txt\"", &"x".repeat(BYTES));
    let form = |nth: usize| {
        let email = part("email", "", &format!("a{nth:02}@example.org"));
        [part("name", "", "Ada"), email, part("consent", "", "on"), file.clone(), "--b--\r\n".to_owned()].concat()
    };
    // The service stores the files of at most 16 parallel forms from one address.
    let bodies: Vec<Vec<u8>> = (0..16).map(|nth| form(nth).into_bytes()).collect();
    let head = format!(
        "POST /api/public{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: multipart/form-data; \
         boundary=b\r\nContent-Length: {}\r\n\r\n",
        bodies[0].len()
    );
    let open = |count: usize| -> Vec<TcpStream> { (0..count).map(|_| connect(service.address)).collect() };
    drip(&mut open(1), &head, &[form(99).into_bytes()], "HTTP/1.1 200 OK\r\n");
    reset_peak(&service);
    let before = kib(&service, "VmRSS");
    drip(&mut open(16), &head, &bodies, "HTTP/1.1 200 OK\r\n");
    let peak = kib(&service, "VmHWM");
    assert!(peak < before + MORE_KIB_MAX, "{before} KiB before, peak {peak} KiB");
    service.stop("TERM").succeeded();
}
