//! The HTTP client for the directory of an authority. It uses only https, follows no redirects, and limits the size of
//! each answer and the wait for it, because the answer may come from a broken or hostile server.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::exchange::RetryAfter;
use crate::domain::acme::RETRY_AFTER_MAX;
use crate::domain::hr_delivery::parse_retry_after_up_to;
use crate::world::World;

/// The maximum size of an answer. A chain of four certificates is about 8 KiB long.
const BODY_BYTES_MAX: usize = 256 * 1_024;

/// The maximum size of the head of an answer.
const HEAD_BYTES_MAX: usize = 64 * 1_024;

/// The maximum time of one request. Let's Encrypt answers within a second, and within a few seconds under load.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The `User-Agent` by which an authority can recognize the service in its logs (RFC 8555 §6.1).
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("appliance/", env!("CARGO_PKG_VERSION")));

const HTTPS_PORT: u16 = 443;

type BoxedError = Box<dyn StdError + Send + Sync>;

pub(super) struct DirectoryClient {
    pub(super) trust: Arc<ClientConfig>,
    pub(super) world: Arc<dyn World>,
    pub(super) retry_after: RetryAfter,
}

impl HttpClient for DirectoryClient {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let (trust, world, retry_after) =
            (Arc::clone(&self.trust), Arc::clone(&self.world), Arc::clone(&self.retry_after));
        let url = request.uri().clone();
        Box::pin(async move {
            let answered = tokio::time::timeout(REQUEST_TIMEOUT, exchange(trust, request)).await;
            let late = || format!("no complete answer within {} seconds", REQUEST_TIMEOUT.as_secs()).into();
            let response = answered.unwrap_or_else(|_| Err(late()));
            let response = response.map_err(|error| Error::Other(format!("{url}: {error}").into()))?;
            let asked = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
            let is_refusal = response.status().is_client_error() || response.status().is_server_error();
            let parse = |text: &str| parse_retry_after_up_to(text, world.now(), RETRY_AFTER_MAX);
            if let Some(wait) = asked.filter(|_| is_refusal).and_then(parse) {
                *retry_after.lock().unwrap_or_else(PoisonError::into_inner) = Some(wait);
            }
            require_readable(&response).map_err(|why| Error::Other(format!("{url}: {why}").into()))?;
            let (parts, body) = response.into_parts();
            Ok(BytesResponse { parts, body: Box::new(body) })
        })
    }
}

/// Sends a request over a connection of its own. An order takes about ten requests.
async fn exchange(
    trust: Arc<ClientConfig>,
    request: Request<BodyWrapper<Bytes>>,
) -> Result<Response<Bytes>, BoxedError> {
    let (host, port) = target(request.uri())?;
    let stream = TcpStream::connect((host.as_str(), port)).await.map_err(|error| format!("no connection: {error}"))?;
    let name = ServerName::try_from(host.clone()).map_err(|_| "no certificate can name this host")?;
    let stream = TlsConnector::from(trust).connect(name, stream).await;
    let stream = stream.map_err(|error| {
        format!("TLS failed: {error}; if the certificate is expired or not valid yet, check the clock of this machine")
    })?;
    let (mut parts, body) = request.into_parts();
    parts.headers.insert(header::HOST, HeaderValue::try_from(parts.uri.authority().map_or("", |host| host.as_str()))?);
    parts.headers.insert(header::USER_AGENT, USER_AGENT);
    parts.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse()?;
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES_MAX);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(Request::from_parts(parts, body)).await?;
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    connection.abort();
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => format!("the answer is larger than {} KiB", BODY_BYTES_MAX / 1_024),
        false => format!("the answer ended early: {error}"),
    })?;
    Ok(Response::from_parts(parts, body.to_bytes()))
}

/// Returns the host and port of an https URL.
fn target(url: &Uri) -> Result<(String, u16), BoxedError> {
    if url.scheme_str() != Some("https") {
        return Err("the directory names a URL that is not https".into());
    }
    let host = url.host().ok_or("the URL has no host")?;
    Ok((host.trim_start_matches('[').trim_end_matches(']').to_owned(), url.port_u16().unwrap_or(HTTPS_PORT)))
}

/// Refuses answers that the library would misread: redirects (which it treats as successes), refusals without a problem
/// document, and a directory whose `newNonce` is not a URL.
fn require_readable(response: &Response<Bytes>) -> Result<(), String> {
    let status = response.status();
    if status.is_redirection() {
        return Err(format!(
            "the answer is a redirect ({status}), and redirects are not followed; check --acme-directory"
        ));
    }
    let body: Option<serde_json::Value> = serde_json::from_slice(response.body()).ok();
    if !status.is_success() && !body.as_ref().is_some_and(serde_json::Value::is_object) {
        return Err(format!("the answer has the status {status} and no explanation"));
    }
    let nonce = body.as_ref().and_then(|body| body.get("newNonce")).and_then(serde_json::Value::as_str);
    match nonce.map(str::parse::<Uri>) {
        Some(Err(_)) => Err("the directory has an address that is not a URL".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_urls_are_requested() {
        for (url, expected) in [
            ("https://acme.example/directory", Some(("acme.example", 443))),
            ("https://acme.example:14000/dir", Some(("acme.example", 14_000))),
            ("https://[::1]:1/", Some(("::1", 1))),
            ("http://acme.example/directory", None),
            ("/directory", None),
            ("acme.example:443", None),
        ] {
            let found = target(&url.parse().unwrap()).ok();
            assert_eq!(found.as_ref().map(|(host, port)| (host.as_str(), *port)), expected, "{url}");
        }
    }

    #[test]
    fn answers_that_the_library_would_misread_are_refused() {
        for (status, body, part) in [
            (200, "", None),
            (201, "-----BEGIN CERTIFICATE-----", None),
            (200, r#"{"newNonce": "https://a.example/nonce"}"#, None),
            (400, r#"{"type": "urn:ietf:params:acme:error:badNonce"}"#, None),
            (200, r#"{"newNonce": "no url\n"}"#, Some("not a URL")),
            (301, "", Some("redirects are not followed")),
            (303, "", Some("redirects are not followed")),
            (502, "<html>", Some("502 Bad Gateway and no explanation")),
            (404, "[]", Some("no explanation")),
        ] {
            let response = Response::builder().status(status).body(Bytes::from_static(body.as_bytes())).unwrap();
            let refused = require_readable(&response).err();
            assert_eq!(refused.is_some(), part.is_some(), "{status} {body}");
            assert!(refused.unwrap_or_default().contains(part.unwrap_or_default()), "{status} {body}");
        }
    }
}
