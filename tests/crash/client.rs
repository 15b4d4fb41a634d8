//! A client on one connection. The results of its functions show whether a request was sent completely, and whether an
//! answer was received completely.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use super::service::PATIENCE;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    head: String,
    body: String,
}

/// A complete answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Whether the answer is a stored response (`Idempotency-Replayed`).
    pub(crate) is_replayed: bool,
    cookie: Option<String>,
    body: Vec<u8>,
}

pub(crate) struct Client {
    connection: BufReader<TcpStream>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { head: format!("{method} {path} HTTP/1.1\r\nHost: appliance.example\r\n"), body: String::new() }
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn with_key(self, key: &str) -> Self {
        self.with_header("Authorization", &format!("Bearer {key}"))
    }

    pub(crate) fn with_body(self, body: &Value) -> Self {
        self.with_text(&body.to_string())
    }

    /// Adds a body with the content type for JSON.
    pub(crate) fn with_text(self, body: &str) -> Self {
        let request = self.with_header("Content-Type", "application/json");
        Self { body: body.to_owned(), ..request.with_header("Content-Length", &body.len().to_string()) }
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns the cookie that the answer sets, as `name=value`.
    #[track_caller]
    pub(crate) fn cookie(&self) -> String {
        self.cookie.clone().expect("the answer sets a cookie")
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { connection: BufReader::new(stream) })
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// Returns an error if the answer is malformed, or if the connection ends or is silent for [`PATIENCE`] before the
    /// answer is complete.
    pub(crate) fn ask(&mut self, request: &Request) -> io::Result<Answer> {
        self.send(request)?;
        self.receive()
    }

    /// Sends a request completely.
    ///
    /// # Errors
    /// Returns an error if the connection has ended. The request may have been sent partially.
    pub(crate) fn send(&mut self, request: &Request) -> io::Result<()> {
        let Request { head, body } = request;
        self.connection.get_mut().write_all(format!("{head}\r\n{body}").as_bytes())
    }

    /// Receives an answer completely.
    ///
    /// # Errors
    /// Returns an error if the answer is malformed, or if the connection ends or is silent for [`PATIENCE`] before the
    /// answer is complete.
    pub(crate) fn receive(&mut self) -> io::Result<Answer> {
        let broken = || io::Error::from(ErrorKind::InvalidData);
        let status = self.line()?.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let (mut length, mut cookie, mut is_replayed) = (0, None, false);
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").ok_or_else(broken)?;
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().map_err(|_| broken())?,
                "idempotency-replayed" => is_replayed = true,
                "set-cookie" => cookie = value.split(';').next().map(str::to_owned),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body)?;
        Ok(Answer { status, is_replayed, cookie, body })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.connection.read_line(&mut line)?;
        let whole = line.strip_suffix("\r\n").map(str::to_owned);
        whole.ok_or_else(|| io::Error::from(ErrorKind::UnexpectedEof))
    }
}
