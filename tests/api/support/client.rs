//! A client on one connection. It checks every answer to `send` for the properties that all answers must have.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::{description, recorder};

/// The methods whose requests are sent again if the server closes a reused connection without an answer. A request with
/// another method is never sent twice, because the server may have acted on it.
const REPEATABLE: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

/// A client with its own header fields and its own persistent connection.
pub(crate) struct Client {
    address: SocketAddr,
    headers: Vec<(String, String)>,
    connection: RefCell<Option<BufReader<TcpStream>>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, headers: Vec::new(), connection: RefCell::new(None) }
    }

    /// Returns a copy of the client with its own connection, and with one more header field on every request.
    pub(crate) fn with_header(&self, name: &str, value: &str) -> Self {
        let mut headers = self.headers.clone();
        headers.push((name.to_owned(), value.to_owned()));
        Self { address: self.address, headers, connection: RefCell::new(None) }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// Polls a path until its answer is as expected. Changes by another process become visible only after a moment.
    pub(crate) fn get_until(&self, path: &str, is_expected: impl Fn(&Answer) -> bool) -> Answer {
        let began = std::time::Instant::now();
        loop {
            let answer = self.get(path);
            if is_expected(&answer) {
                return answer;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "{path} is still {}", answer.text());
        }
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    /// Posts an empty body.
    pub(crate) fn post_empty(&self, path: &str) -> Answer {
        self.send("POST", path, &[], b"")
    }

    /// Sends a request. If the server has closed the persistent connection, the client opens a new one first.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let has_length = headers.iter().any(|(name, _)| {
            name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding")
        });
        if !body.is_empty() && !has_length {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        let answer = self.exchange(method, &bytes);
        self.inspect(method, path, &answer);
        description::check(method, path, body, &answer);
        answer
    }

    /// Sends these bytes and reads one answer, without checking the answer.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let method = bytes.split(|byte| *byte == b' ').next().unwrap_or_default();
        self.exchange(&String::from_utf8_lossy(method), bytes)
    }

    /// Sends these bytes on a new connection, closes the sending side, and reads to the end.
    pub(crate) fn raw_to_end(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        all
    }

    /// Opens the connection in advance, so that the requests race, not the connections.
    pub(crate) fn connect(&self) {
        let mut persistent = self.connection.borrow_mut();
        if persistent.is_none() {
            *persistent = Some(connect(self.address));
        }
    }

    #[track_caller]
    fn exchange(&self, method: &str, bytes: &[u8]) -> Answer {
        let mut persistent = self.connection.borrow_mut();
        let open = persistent.take().filter(is_open);
        let is_reused = open.is_some();
        let mut connection = open.unwrap_or_else(|| connect(self.address));
        let mut answer = exchange_on(&mut connection, bytes, method == "HEAD");
        if answer.is_none() && is_reused && REPEATABLE.contains(&method) {
            connection = connect(self.address);
            answer = exchange_on(&mut connection, bytes, method == "HEAD");
        }
        let answer = answer.unwrap_or_else(|| panic!("no answer to {method}"));
        *persistent = Some(connection).filter(|_| answer.header("connection") != Some("close"));
        answer
    }

    /// Asserts the properties that every answer must have.
    fn inspect(&self, method: &str, path: &str, answer: &Answer) {
        let request_id = answer.header("x-request-id").expect("every answer has a request id");
        assert!(request_id.starts_with("req_"), "{request_id}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let is_page = answer.header("content-type").is_some_and(|media_type| media_type.starts_with("text/html"));
        let mut code = String::new();
        if answer.status >= 400 && !is_page && method != "HEAD" {
            let problem = answer.json();
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
            assert_eq!(problem["type"], "about:blank");
            assert_eq!(problem["status"], answer.status);
            assert_eq!(problem["success"], false);
            assert_eq!(problem["requestId"], request_id);
            assert!(!problem["title"].as_str().unwrap().is_empty());
            assert!(!problem["detail"].as_str().unwrap().is_empty());
            code = problem["code"].as_str().unwrap().to_owned();
            let text = answer.text();
            for leak in ["rpk_", "SQLITE", "sqlite", "SELECT", "/tmp/", "src/"] {
                assert!(!text.contains(leak), "an error reveals {leak}: {text}");
            }
        }
        if answer.status == 429 || answer.status == 503 {
            assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
        }
        if answer.status == 401 {
            assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer realm=\""));
        }
        if path.starts_with("/api/public/") {
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        } else {
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
        // A HEAD answer has no body with a code, and pages show no code.
        if method != "HEAD" || answer.status < 400 {
            recorder::record(method, path, answer.status, if is_page { None } else { Some(code) });
        }
    }
}

impl Answer {
    /// Asserts that the answer has this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// Asserts that the answer is a problem document with this status and code.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.json()["code"].as_str()), (status, Some(code)), "{}", self.text());
        self
    }

    /// Returns the fields that a problem document names, in order.
    pub(crate) fn fields(&self) -> Vec<String> {
        let errors = self.json()["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| error["field"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("invalid JSON ({error}): {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the first value of a header field.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    BufReader::new(stream)
}

/// Returns whether the server has neither closed the idle connection nor sent anything on it.
fn is_open(connection: &BufReader<TcpStream>) -> bool {
    let stream = connection.get_ref();
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    connection.buffer().is_empty() && peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn exchange_on(connection: &mut BufReader<TcpStream>, bytes: &[u8], head_only: bool) -> Option<Answer> {
    // The server can refuse the request and close the connection while the client is still sending a large body. The
    // write then fails, but the answer may have arrived.
    let _ = connection.get_mut().write_all(bytes);
    read(connection, head_only)
}

fn read(connection: &mut BufReader<TcpStream>, head_only: bool) -> Option<Answer> {
    let mut line = String::new();
    if connection.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let status: u16 = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    if status == 100 {
        return read(connection, head_only);
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    let bodiless = head_only || status == 204 || status == 304;
    let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if !bodiless {
        answer.body = vec![0; length];
        connection.read_exact(&mut answer.body).ok()?;
    }
    Some(answer)
}
