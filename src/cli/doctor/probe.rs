//! A single GET request over HTTP or HTTPS, like that of a browser on another machine, without an async runtime.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConnection, StreamOwned};

use crate::cli::tls_args::{is_https, port};
use crate::hr::trusting_config;
use crate::http;

/// The time limits of the connection and of each read and write.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of bytes that are read from an answer.
const ANSWER_BYTES_MAX: u64 = 65_536;

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// The reason why there is no answer. It is displayed as the predicate of a sentence about the URL.
pub(super) enum Unreached {
    NoAddress(String),
    NoConnection(String),
    /// The certificate is not accepted, or the server does not speak TLS.
    Untrusted(String),
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress(why) => write!(f, "has no address: {why}"),
            Self::NoConnection(why) => write!(f, "does not answer: {why}"),
            Self::Untrusted(why) => write!(f, "is refused by browsers: {why}"),
        }
    }
}

/// Sends a request to a path of the base URL. Does not follow redirects.
pub(super) fn get(base_url: &str, path: &str) -> Result<Answer, Unreached> {
    let origin = http::origin(base_url).unwrap_or_default();
    let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
    let host = http::host(base_url).unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = connect(bare, port(base_url))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    if is_https(base_url) { exchange(secure(bare, stream)?, &request) } else { exchange(stream, &request) }
}

/// Connects to the first address of the host that accepts the connection.
fn connect(host: &str, port: u16) -> Result<TcpStream, Unreached> {
    let addresses = (host, port).to_socket_addrs().map_err(|error| Unreached::NoAddress(error.to_string()))?;
    let mut outcome = Err(Unreached::NoAddress("the name has no address".to_owned()));
    for address in addresses {
        let connected = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).and_then(|stream| {
            stream.set_read_timeout(Some(IO_TIMEOUT))?;
            stream.set_write_timeout(Some(IO_TIMEOUT))?;
            Ok(stream)
        });
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) => outcome = Err(Unreached::NoConnection(format!("{address}: {error}"))),
        }
    }
    outcome
}

/// Completes a TLS handshake. Trusts the certificate authorities of the system.
fn secure(host: &str, stream: TcpStream) -> Result<StreamOwned<ClientConnection, TcpStream>, Unreached> {
    let untrusted = |why: String| Unreached::Untrusted(why);
    let failed = |error: std::io::Error| match error.kind() {
        // rustls reports a refused certificate and an answer that is not TLS as this kind.
        ErrorKind::InvalidData => Unreached::Untrusted(error.to_string()),
        _ => Unreached::NoConnection(error.to_string()),
    };
    let config = trusting_config().map_err(Unreached::NoConnection)?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| untrusted(error.to_string()))?;
    let connection = ClientConnection::new(config, name).map_err(|error| untrusted(error.to_string()))?;
    let mut stream = StreamOwned::new(connection, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(failed)?;
    }
    Ok(stream)
}

fn exchange(mut stream: impl Read + Write, request: &str) -> Result<Answer, Unreached> {
    let failed = |error: std::io::Error| Unreached::NoConnection(error.to_string());
    stream.write_all(request.as_bytes()).and_then(|()| stream.flush()).map_err(failed)?;
    let mut bytes = Vec::new();
    // Some servers end a TLS connection without `close_notify`. The read then fails, but the answer is still used.
    let read = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok());
    let Some(status) = status else {
        return Err(Unreached::NoConnection(read.err().map_or("the answer is not HTTP".to_owned(), |e| e.to_string())));
    };
    let body = text.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned());
    Ok(Answer { status, body })
}
