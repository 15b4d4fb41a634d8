//! A message of a delivery, as the receiver reads it.

use std::io::{BufRead, BufReader, Read};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use standardwebhooks::Webhook;

/// A complete message.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// The path and the query of the request.
    pub(crate) target: String,
    headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// Reads the next message of a connection. Returns `None` if the connection ends first or the message is malformed.
    pub(crate) fn read(source: impl Read) -> Option<Self> {
        let mut source = BufReader::new(source);
        let mut line = || {
            let mut line = String::new();
            source.read_line(&mut line).ok()?;
            line.strip_suffix("\r\n").map(str::to_owned)
        };
        let target = line()?.strip_prefix("POST ")?.strip_suffix(" HTTP/1.1")?.to_owned();
        let mut headers = HeaderMap::new();
        loop {
            let line = line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ")?;
            headers.append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?);
        }
        let length = headers.get("content-length")?.to_str().ok()?.parse().ok()?;
        let mut body = vec![0; length];
        source.read_exact(&mut body).ok()?;
        Some(Self { target, headers, body })
    }

    /// Returns the delivery's id, or an empty string if the message has none.
    pub(crate) fn id(&self) -> String {
        let value = self.headers.get("webhook-id").and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    }

    /// Verifies the signature and the time with the published library of Standard Webhooks and the system clock.
    pub(crate) fn verify(&self, secret: Option<&String>) -> Result<(), String> {
        let secret = secret.ok_or_else(|| format!("no organization has the URL {}", self.target))?;
        let verified = Webhook::new(secret).and_then(|webhook| webhook.verify(&self.body, &self.headers));
        verified.map_err(|error| error.to_string())
    }
}
