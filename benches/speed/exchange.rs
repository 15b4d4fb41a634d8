//! Requests as bytes, and single exchanges that prepare a round or check its results.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// A complete answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Returns a GET request.
pub(crate) fn get(path: &str, key: Option<&str>) -> Vec<u8> {
    format!("{}\r\n", head("GET", path, key)).into_bytes()
}

/// Returns a GET request as a browser sends it, with these content codings.
pub(crate) fn visit(path: &str, codings: &str) -> Vec<u8> {
    let head = head("GET", path, None);
    let languages = "de-CH,de;q=0.9,en;q=0.8";
    format!("{head}Accept: text/html\r\nAccept-Language: {languages}\r\nAccept-Encoding: {codings}\r\n\r\n")
        .into_bytes()
}

/// Returns a POST request with JSON.
pub(crate) fn post(path: &str, key: &str, body: &str) -> Vec<u8> {
    let head = head("POST", path, Some(key));
    let length = body.len();
    format!("{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// Returns a DELETE request.
pub(crate) fn delete(path: &str, key: &str) -> Vec<u8> {
    format!("{}\r\n", head("DELETE", path, Some(key))).into_bytes()
}

/// The user agent in the usage log.
pub(crate) const USER_AGENT: &str = "speed/1.0";

fn head(method: &str, path: &str, key: Option<&str>) -> String {
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nHost: appliance.example\r\nUser-Agent: {USER_AGENT}\r\n{key}")
}

/// Sends a request on a new connection. Panics if the connection is closed before the first line of the answer.
///
/// # Errors
/// Returns an error if the connection cannot be opened, or if it breaks.
pub(crate) fn ask(address: SocketAddr, request: &[u8]) -> std::io::Result<Answer> {
    ask_on(&TcpStream::connect(address)?, request)
}

/// Sends a request on an open connection on which no other request is in progress. Panics if the connection is closed
/// before the first line of the answer.
///
/// # Errors
/// Returns an error if the connection breaks.
pub(crate) fn ask_on(mut stream: &TcpStream, request: &[u8]) -> std::io::Result<Answer> {
    stream.write_all(request)?;
    let mut stream = BufReader::new(stream);
    let mut line = || -> std::io::Result<String> {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    };
    let status = line()?;
    let status =
        status.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("an answer begins with a status line");
    let mut fields = Vec::new();
    while let Some((name, value)) = line()?.split_once(": ") {
        fields.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length =
        fields.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Answer { status, fields, body })
}

impl Answer {
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}
