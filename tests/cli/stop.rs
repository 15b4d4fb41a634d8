//! A service that stops under load answers every request on an open connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::rounds::rounds;
use crate::support::{PATIENCE, RunningService, WorkDir, connect};

/// The number of times that a service is stopped under load.
const STOPS: usize = rounds(3, 10);

/// The number of parallel clients, and the number of connections that each of them uses in turn. At any time, most
/// connections are idle.
const CLIENTS: usize = 8;
const CONNECTIONS_OF_EACH: usize = 8;

/// The number of answers that the clients receive before each stop.
const ANSWERS_BEFORE_STOP: u64 = 2_000;

const REQUEST: &[u8] = b"GET /api/public/portal/acme HTTP/1.1\r\nHost: a\r\n\r\n";

#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    last_answers: AtomicU64,
    unanswered: AtomicU64,
}

/// Sends a request and reads its answer. Returns the connection if it stays open.
fn ask(mut stream: TcpStream, counts: &Counts) -> Option<TcpStream> {
    let Some(head) = exchange(&mut stream) else {
        counts.unanswered.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    assert!(head.starts_with("http/1.1 200 ") || head.starts_with("http/1.1 503 "), "{head}");
    counts.answered.fetch_add(1, Ordering::Relaxed);
    if head.contains("\r\nconnection: close\r\n") {
        counts.last_answers.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    Some(stream)
}

/// Returns the head of the answer in lower case, or `None` if there is no complete answer.
fn exchange(stream: &mut TcpStream) -> Option<String> {
    stream.write_all(REQUEST).ok()?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1_024];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end + 2]).to_ascii_lowercase();
            let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
            if bytes.len() >= end + 4 + length {
                return Some(head);
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}

/// Opens a connection, or returns `None` if the service no longer listens.
fn open(address: SocketAddr) -> Option<TcpStream> {
    match TcpStream::connect(address) {
        Ok(stream) => {
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Some(stream)
        }
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset), "{error}");
            None
        }
    }
}

/// Uses several connections in turn. Returns when the service accepts no new connection and all of these connections
/// have ended.
fn client(address: SocketAddr, counts: &Counts) {
    let mut streams: Vec<TcpStream> = Vec::new();
    let mut is_open = true;
    while is_open || !streams.is_empty() {
        while is_open && streams.len() < CONNECTIONS_OF_EACH {
            match open(address) {
                Some(stream) => streams.push(stream),
                None => is_open = false,
            }
        }
        streams = streams.into_iter().filter_map(|stream| ask(stream, counts)).collect();
    }
}

/// Starts a service and stops it under load.
fn stop_once(dir: &WorkDir, counts: &Arc<Counts>) {
    let service: RunningService = dir.serve(&["--db", "a.db"]);
    let before = counts.answered.load(Ordering::Relaxed);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (address, counts) = (service.address, Arc::clone(counts));
            std::thread::spawn(move || client(address, &counts))
        })
        .collect();
    while counts.answered.load(Ordering::Relaxed) < before + ANSWERS_BEFORE_STOP {
        std::thread::yield_now();
    }
    let output = service.stop("TERM").succeeded();
    assert!(output.stderr.ends_with("\nstopped"), "{}", output.stderr.lines().last().unwrap_or_default());
    for client in clients {
        client.join().unwrap();
    }
}

#[test]
fn every_request_is_answered_when_the_service_stops_under_load() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let counts = Arc::new(Counts::default());
    for _ in 0..STOPS {
        stop_once(&dir, &counts);
    }
    let figure = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (answered, unanswered) = (figure(&counts.answered), figure(&counts.unanswered));
    let last = figure(&counts.last_answers);
    println!(
        "{STOPS} stops: {answered} requests answered ({last} as the last on their connection), {unanswered} unanswered"
    );
    assert_eq!(unanswered, 0, "{answered} other requests were answered in {STOPS} stops");
    assert!(last > 0, "no answer closes its connection");
}

#[test]
fn a_stopping_service_answers_one_more_request_on_idle_connections() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let mut service = dir.serve(&["--db", "a.db"]);
    let mut used = connect(service.address);
    let mut unused = connect(service.address);
    assert!(!exchange(&mut used).unwrap().contains("\r\nconnection: close\r\n"));
    service.signal("TERM");
    service.wait_for(|line| line.starts_with("stopping"));
    for stream in [&mut used, &mut unused] {
        // The log line appears a moment before the stop takes effect.
        let last = loop {
            let head = exchange(stream).expect("the service answers");
            assert!(head.starts_with("http/1.1 200 "), "{head}");
            if head.contains("\r\nconnection: close\r\n") {
                break stream;
            }
        };
        assert_eq!(last.read(&mut [0]).unwrap(), 0);
    }
    service.wait().succeeded();
}
