//! How the service stops under load: every request on an open connection is answered.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::{PATIENCE, Place, Serving, connect};

/// Stops; `APPLIANCE_TEST_STOPS` asks for more, such as 200.
const STOPS: u64 = 10;

/// Clients at once, and the connections that each keeps and uses in turn, so that most are idle at any time.
const CLIENTS: usize = 8;
const CONNECTIONS_OF_EACH: usize = 8;

/// Answers that the clients have got when the service is stopped.
const ANSWERS_BEFORE_STOP: u64 = 2_000;

const REQUEST: &[u8] = b"GET /api/public/portal/acme HTTP/1.1\r\nHost: a\r\n\r\n";

#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    last_answers: AtomicU64,
    unanswered: AtomicU64,
}

/// Sends a request and reads its answer; the connection, where it goes on.
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

/// The head of the answer, in lower case; `None` where there is no whole answer.
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

/// A connection, while there is anybody who takes one.
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

/// Keeps some connections busy, one after the other, until the service takes no more.
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

/// One service that is stopped under load.
fn stop_once(place: &Place, counts: &Arc<Counts>) {
    let serving: Serving = place.serve(&["--db", "a.db"]);
    let before = counts.answered.load(Ordering::Relaxed);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (address, counts) = (serving.address, Arc::clone(counts));
            std::thread::spawn(move || client(address, &counts))
        })
        .collect();
    while counts.answered.load(Ordering::Relaxed) < before + ANSWERS_BEFORE_STOP {
        std::thread::yield_now();
    }
    let ended = serving.stop("TERM").succeeded();
    assert!(ended.stderr.ends_with("\nstopped"), "{}", ended.stderr.lines().last().unwrap_or_default());
    for client in clients {
        client.join().unwrap();
    }
}

#[test]
fn every_request_is_answered_when_the_service_stops_under_load() {
    let stops = std::env::var("APPLIANCE_TEST_STOPS").map_or(STOPS, |stops| stops.parse().unwrap());
    let place = Place::new();
    place.imported("a.db");
    let counts = Arc::new(Counts::default());
    for _ in 0..stops {
        stop_once(&place, &counts);
    }
    let figure = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (answered, unanswered) = (figure(&counts.answered), figure(&counts.unanswered));
    let last = figure(&counts.last_answers);
    println!("{stops} stops: {answered} requests answered, {last} of them as the last, {unanswered} unanswered");
    assert_eq!(unanswered, 0, "of {answered} requests in {stops} stops");
    assert!(last > 0, "no answer says that it is the last");
}

#[test]
fn an_idle_connection_has_one_more_answer_once_the_service_stops() {
    let place = Place::new();
    place.imported("a.db");
    let mut serving = place.serve(&["--db", "a.db"]);
    let mut used = connect(serving.address);
    let mut unused = connect(serving.address);
    assert!(!exchange(&mut used).unwrap().contains("\r\nconnection: close\r\n"));
    serving.signal("TERM");
    serving.wait_for(|line| line.starts_with("stopping"));
    for stream in [&mut used, &mut unused] {
        // The line is written a moment before the stop takes effect.
        let last = loop {
            let head = exchange(stream).expect("an answer");
            assert!(head.starts_with("http/1.1 200 "), "{head}");
            if head.contains("\r\nconnection: close\r\n") {
                break stream;
            }
        };
        assert_eq!(last.read(&mut [0]).unwrap(), 0);
    }
    serving.ended().succeeded();
}
