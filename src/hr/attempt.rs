//! Makes one attempt: signs and posts the delivery, reads the response within limits, and returns the result.

use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use super::budget::Budget;
use super::connection::{self, AttemptError, Connector, Stream};
use crate::domain::hr_delivery::{self, DeliveryAttempt};
use crate::domain::hr_integration::{Integration, Target};
use crate::domain::signature;
use crate::domain::text;
use crate::domain::timestamp::Timestamp;
use crate::store::outbox::Delivery;

/// The maximum size of a response body, in bytes. The attempt fails if the body is larger. Webhook receivers usually
/// send far smaller bodies.
const BODY_BYTES_MAX: usize = 64 * 1_024;

/// The maximum number of bytes of a response body that the service stores for admins.
const STORED_BODY_BYTES_MAX: usize = 1_024;

/// The maximum length of a stored error sentence, in characters.
const SENTENCE_CHARACTERS_MAX: usize = 1_000;

/// The maximum size of the head of a response, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1_024;

/// The maximum number of header fields in a response.
const HEAD_FIELDS_MAX: usize = 256;

/// The User-Agent by which the administrators of HR systems can recognize the service in their logs.
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("appliance/", env!("CARGO_PKG_VERSION")));

/// The divisor that turns the time limit of an attempt into the time limit of one phase. Opening the connection and
/// reading the body can each take at most a third of the attempt's time.
const PHASE_FRACTION: u32 = 3;

/// The part of the response that arrived before the attempt ended.
#[derive(Default)]
struct PartialResponse {
    status: Option<u16>,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

/// Posts a delivery to the integration's URL. `now` is the start of the attempt.
pub(super) async fn make(
    connector: &Connector,
    integration: &Integration,
    delivery: &Delivery,
    now: Timestamp,
) -> DeliveryAttempt {
    let started = Instant::now();
    let mut response = PartialResponse::default();
    let posting = post(connector, integration, delivery, now, &mut response);
    let limited = tokio::time::timeout(connector.timeout, posting).await;
    let posted = limited.unwrap_or_else(|_| Err(timed_out(connector.timeout, "before the response was complete")));
    let (error, timed_out) = match posted {
        Ok(()) => (advice(response.status), false),
        Err(error) => (Some(one_line(&error.sentence)), error.timed_out),
    };
    DeliveryAttempt {
        at: now,
        duration: started.elapsed(),
        status: response.status,
        error,
        answer: response.status.map(|_| stored_body(&response.body)),
        retry_after: response.retry_after,
        timed_out,
    }
}

async fn post(
    connector: &Connector,
    integration: &Integration,
    delivery: &Delivery,
    now: Timestamp,
    partial: &mut PartialResponse,
) -> Result<(), AttemptError> {
    let target = integration.url.target();
    let request = build_request(&target, integration, delivery, now)?;
    let phase = connector.timeout / PHASE_FRACTION;
    let opening = connection::open(connector, &target, phase);
    let stream = within(phase, "while connecting", opening).await??;
    let (response, _connection) = send(stream, request).await?;
    partial.status = Some(response.status().as_u16());
    let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    partial.retry_after = retry_after.and_then(|text| hr_delivery::parse_retry_after(text, now));
    within(phase, "while reading the body of the response", read_body(response.into_body(), &mut partial.body))
        .await??;
    Ok(())
}

/// Builds the request that the Standard Webhooks specification defines.
fn build_request(
    target: &Target,
    integration: &Integration,
    delivery: &Delivery,
    now: Timestamp,
) -> Result<Request<Full<Bytes>>, AttemptError> {
    let invalid = || "the URL contains a character that a request cannot contain".to_owned();
    let uri: Uri = target.path.parse().map_err(|_| invalid())?;
    let host = HeaderValue::from_str(&target.authority).map_err(|_| invalid())?;
    let body = Bytes::copy_from_slice(delivery.payload.as_bytes());
    let signatures = signature::signature_header(&integration.signing_secrets(now), &delivery.id, now, &body);
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_11;
    let fields = request.headers_mut();
    fields.insert(header::HOST, host);
    fields.insert(header::USER_AGENT, USER_AGENT);
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    fields.insert(header::CONNECTION, HeaderValue::from_static("close"));
    for (name, value) in [
        ("webhook-id", delivery.id.as_str()),
        ("webhook-timestamp", &signature::timestamp_header(now)),
        ("webhook-signature", &signatures),
    ] {
        let value = HeaderValue::from_str(value).expect("ids, digits and base64 are plain ASCII");
        fields.insert(HeaderName::from_static(name), value);
    }
    Ok(request)
}

/// The task that drives a connection. Dropping this value closes the connection.
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends the request and waits for the head of the response. The body can be read until the task is dropped.
async fn send(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, ConnectionTask), AttemptError> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES_MAX).max_headers(HEAD_FIELDS_MAX);
    let broken = |error: hyper::Error| AttemptError::from(format!("no response: {}", with_causes(&error)));
    let (mut sender, connection) = builder.handshake(TokioIo::new(Budget::new(stream))).await.map_err(broken)?;
    let connection = ConnectionTask(tokio::spawn(async move {
        // If the connection fails, the request also fails and reports the error.
        let _ = connection.await;
    }));
    let response = sender.send_request(request).await.map_err(broken)?;
    Ok((response, connection))
}

/// Reads the whole body, and appends its first [`STORED_BODY_BYTES_MAX`] bytes to `stored`.
async fn read_body(mut body: Incoming, stored: &mut Vec<u8>) -> Result<(), AttemptError> {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("the response ended early: {}", with_causes(&error)))?;
        let Some(data) = frame.data_ref() else { continue };
        bytes += data.len();
        stored.extend_from_slice(&data[..data.len().min(STORED_BODY_BYTES_MAX - stored.len())]);
        if bytes > BODY_BYTES_MAX {
            return Err(format!("the body of the response is longer than {} KiB", BODY_BYTES_MAX / 1_024).into());
        }
    }
    Ok(())
}

async fn within<T>(limit: Duration, phase: &str, future: impl Future<Output = T>) -> Result<T, AttemptError> {
    tokio::time::timeout(limit, future).await.map_err(|_| timed_out(limit, phase))
}

fn timed_out(limit: Duration, phase: &str) -> AttemptError {
    AttemptError { sentence: format!("timed out after {limit:?} {phase}"), timed_out: true }
}

/// Shortens a sentence to at most [`SENTENCE_CHARACTERS_MAX`] characters, and replaces control characters, such as line
/// breaks, with spaces. The sentence can contain text from outside, such as a name from a certificate.
fn one_line(sentence: &str) -> String {
    text::cut(sentence, SENTENCE_CHARACTERS_MAX).replace(|c: char| c.is_control(), " ")
}

/// Returns advice for an admin about a status that requires action.
fn advice(status: Option<u16>) -> Option<String> {
    match status {
        Some(300..=399) => Some("redirects are not followed; save the URL that the redirect leads to".to_owned()),
        Some(hr_delivery::STATUS_GONE) => Some("the HR system asked the service to stop sending deliveries".to_owned()),
        _ => None,
    }
}

/// Returns the body as a string of at most [`STORED_BODY_BYTES_MAX`] bytes.
fn stored_body(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    // The replacement for invalid UTF-8 can be longer than the replaced bytes.
    let end = (0..=STORED_BODY_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].replace('\0', " ")
}

/// Returns the error and its chain of causes, which hyper's own message omits.
fn with_causes(error: &hyper::Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
