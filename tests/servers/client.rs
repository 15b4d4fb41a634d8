//! An HTTP client with a persistent connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A client with its own header fields and its own persistent connection.
pub(crate) struct Client {
    address: SocketAddr,
    fields: Vec<(String, String)>,
    connection: BufReader<TcpStream>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, fields: Vec::new(), connection: connect(address) }
    }

    /// Returns the client with one more header field on every request.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn with_key(self, secret: &str) -> Self {
        self.with("Authorization", &format!("Bearer {secret}"))
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, None)
    }

    /// Sends a request with a JSON body.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        self.send(method, path, Some(&body.to_string()))
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: Option<&str>) -> Answer {
        self.send_as("application/json", method, path, body)
    }

    /// Sends a form without fields.
    pub(crate) fn submit(&mut self, path: &str) -> Answer {
        self.send_as("application/x-www-form-urlencoded", "POST", path, Some(""))
    }

    /// Sends a request whose body has this media type.
    pub(crate) fn send_as(&mut self, media_type: &str, method: &str, path: &str, body: Option<&str>) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for (name, value) in &self.fields {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            request.push_str(&format!("Content-Type: {media_type}\r\nContent-Length: {}\r\n", body.len()));
        }
        request.push_str(&format!("\r\n{}", body.unwrap_or_default()));
        self.connection.get_mut().write_all(request.as_bytes()).unwrap();
        let answer = self.read();
        if answer.field("connection") == Some("close") {
            self.connection = connect(self.address);
        }
        answer
    }

    fn read(&mut self) -> Answer {
        let mut line = String::new();
        self.connection.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap();
        let mut answer = Answer { status, fields: Vec::new(), text: String::new() };
        loop {
            let mut line = String::new();
            self.connection.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            answer.fields.push((name.to_owned(), value.trim().to_owned()));
        }
        let length = answer.field("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body).unwrap();
        answer.text = String::from_utf8(body).unwrap();
        answer
    }
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Asserts that the request succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text);
        self
    }

    /// Asserts that the request succeeded, and returns the field `data` of the answer.
    #[track_caller]
    pub(crate) fn data(self) -> Value {
        let answer = self.succeeded();
        serde_json::from_str::<Value>(&answer.text).unwrap()["data"].clone()
    }
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    BufReader::new(stream)
}
