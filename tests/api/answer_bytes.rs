//! Response bodies reach the client byte for byte, even when a file contains bytes that look like an error response of
//! the HTTP parser. Requests that the parser refuses get a problem document, even right after such a file.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use appliance::domain::attachment::{CHUNK_BYTES_MAX, MediaType};
use serde_json::Value;

use crate::attachment::{apply_with, attach, stage};
use crate::candidate_erase::start;
use crate::support::{App, Hiring};

crate::tests![
    a_download_with_status_lines_at_chunk_boundaries_is_unaltered,
    a_slow_download_of_status_lines_is_unaltered,
    garbage_after_an_answer_gets_a_problem_document,
];

const LINES: [&[u8]; 4] = [
    b"HTTP/1.1 404 Not Found\r\n",
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.0 400 Bad Request\r\nconnection: close\r\n\r\n",
    b"HTTP/1.1 4",
];

const CHUNKS: usize = 4;

/// Returns a file of several chunks and 100 more bytes, with a copy of `line` at the offset that `offset` returns for
/// each chunk.
fn with_line(line: &[u8], offset: impl Fn(usize) -> isize) -> Vec<u8> {
    let mut content: Vec<u8> = (0u32..).flat_map(u32::to_le_bytes).take(CHUNKS * CHUNK_BYTES_MAX + 100).collect();
    for chunk in 0..=CHUNKS {
        let at = offset(chunk);
        let Ok(at) = usize::try_from(at) else { continue };
        let end = (at + line.len()).min(content.len());
        content[at.min(end)..end].copy_from_slice(&line[..end - at.min(end)]);
    }
    content
}

/// Requests a path on a persistent connection and returns the head and the body of the answer.
fn get(stream: &mut TcpStream, path: &str, secret: &str, portion_bytes_max: usize) -> (String, Vec<u8>) {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n\r\n").unwrap();
    read_answer(stream, portion_bytes_max)
}

/// Reads the head of an answer, and then its body in portions of at most `portion_bytes_max` bytes.
fn read_answer(stream: &mut TcpStream, portion_bytes_max: usize) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the connection ended after {}", head.escape_ascii());
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    for portion in body.chunks_mut(portion_bytes_max) {
        stream.read_exact(portion).unwrap();
    }
    (head, body)
}

fn open(app: &App) -> TcpStream {
    let stream = TcpStream::connect(app.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Attachments of the first candidate.
struct Attachments<'a> {
    app: &'a App,
    hiring: &'a Hiring,
    first: String,
}

impl<'a> Attachments<'a> {
    fn new(app: &'a App, hiring: &'a Hiring) -> Self {
        Self { app, hiring, first: apply_with(app, hiring, 0, "first.txt", MediaType::Text, b"first") }
    }

    /// Adds an attachment and returns its path.
    fn add(&self, content: &[u8]) -> String {
        let (id, token) = stage(self.app, "cv.txt", MediaType::Text, content);
        assert!(attach(self.app, &token, &format!("sign_{}", self.hiring.candidates[0].application_id)));
        let (folder, _) = self.first.rsplit_once('/').unwrap();
        format!("{folder}/{id}")
    }
}

fn a_download_with_status_lines_at_chunk_boundaries_is_unaltered() {
    let (app, hiring) = start();
    let secret = app.make_key_with_all(&hiring.staff("member")).1;
    let files = Attachments::new(&app, &hiring);
    let begin = |chunk: usize| (chunk * CHUNK_BYTES_MAX) as isize;
    for line in LINES {
        let length = line.len() as isize;
        for offset in [
            &begin as &dyn Fn(usize) -> isize,
            &|chunk| begin(chunk) + 1,
            &|chunk| begin(chunk) - 1,
            &|chunk| begin(chunk) - length,
            &|chunk| begin(chunk) - length - 1,
            &|chunk| begin(chunk) - length + 1,
        ] {
            let content = with_line(line, offset);
            let path = &files.add(&content);
            let mut stream = open(&app);
            for _ in 0..2 {
                let (head, body) = get(&mut stream, path, &secret, usize::MAX);
                assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
                assert!(body == content, "{} at {}: the file is altered", line.escape_ascii(), offset(1));
                // The connection stays usable: the next request gets its own answer.
                let (head, body) = get(&mut stream, "/healthz", &secret, usize::MAX);
                assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && body == b"ok\n", "{head}");
            }
        }
    }
}

fn a_slow_download_of_status_lines_is_unaltered() {
    let (app, hiring) = start();
    let secret = app.make_key_with_all(&hiring.staff("member")).1;
    // The file contains only status lines. No matter how the server splits the file into writes, some writes begin with
    // a status line.
    let content = b"HTTP/1.1 4HTTP/1.1 404 \r\n\r\n".repeat(40_000);
    let path = &Attachments::new(&app, &hiring).add(&content);
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(&app.address.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for portion_bytes_max in [1_000, 2_999] {
        let (_, body) = get(&mut stream, path, &secret, portion_bytes_max);
        assert!(body == content, "the file is altered");
    }
    assert_eq!(get(&mut stream, "/healthz", &secret, usize::MAX).1, b"ok\n");
}

fn garbage_after_an_answer_gets_a_problem_document() {
    let (app, hiring) = start();
    let secret = app.make_key_with_all(&hiring.staff("member")).1;
    let content = b"HTTP/1.1 404 \r\n".repeat(10_000);
    let file = Attachments::new(&app, &hiring).add(&content);
    let request = |method: &str, path: &str| {
        format!("{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n\r\n")
    };
    for (first, length) in [
        (request("GET", "/healthz"), 3),
        (request("GET", "/api/v1/me"), 0),
        (request("HEAD", "/healthz"), 0),
        (request("HEAD", &file), 0),
        (request("GET", &file), content.len()),
        (request("GET", "/nothing"), 0),
    ] {
        for is_pipelined in [true, false] {
            let mut stream = open(&app);
            if is_pipelined {
                stream.write_all(format!("{first}{first}garbage\r\n\r\n").as_bytes()).unwrap();
            }
            for _ in 0..2 {
                if !is_pipelined {
                    stream.write_all(first.as_bytes()).unwrap();
                }
                if first.starts_with("HEAD") {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let mut byte = [0];
                        stream.read_exact(&mut byte).unwrap();
                        head.push(byte[0]);
                    }
                } else {
                    let (_, body) = read_answer(&mut stream, usize::MAX);
                    assert!(length == 0 || body.len() == length, "{first}");
                }
            }
            if !is_pipelined {
                stream.write_all(b"garbage\r\n\r\n").unwrap();
            }
            let (head, body) = read_answer(&mut stream, usize::MAX);
            assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{first}: {head}");
            let problem: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(problem["code"], "bad_request", "{first}");
            assert_eq!(stream.read(&mut [0]).unwrap(), 0, "{first}");
        }
    }
}
