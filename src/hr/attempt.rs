//! One attempt: the message is signed and posted, the answer is read within its limits, and what came of it is told.

use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use super::budget::Budget;
use super::connection::{self, Fault, Route, Stream};
use crate::domain::hr_delivery::{self, DeliveryAttempt};
use crate::domain::hr_integration::{Integration, Target};
use crate::domain::signature;
use crate::domain::text;
use crate::domain::timestamp::Timestamp;
use crate::store::outbox::Delivery;

/// What is read of an answer's body. A longer one is no answer to a message.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

/// What is kept of it, for admins.
const ANSWER_BYTES_KEPT: usize = 1_024;

/// What is kept of the sentence that says what went wrong.
const SENTENCE_CHARACTERS_MAX: usize = 1_000;

/// What is read of an answer's head.
const HEAD_BYTES_MAX: usize = 64 * 1_024;

/// Header fields of an answer.
const HEAD_FIELDS_MAX: usize = 256;

/// Who sends, as receivers see it in their logs.
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("appliance/", env!("CARGO_PKG_VERSION")));

/// The part of an attempt's time that opening a connection may take, and that the answer's body may.
const PHASE_PART: u32 = 3;

/// What there is of an answer when an attempt ends.
#[derive(Default)]
struct Answer {
    status: Option<u16>,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

/// Posts a delivery to where the integration says. `now` is when it begins.
pub(super) async fn make(
    route: &Route,
    integration: &Integration,
    delivery: &Delivery,
    now: Timestamp,
) -> DeliveryAttempt {
    let started = Instant::now();
    let mut answer = Answer::default();
    let posting = post(route, integration, delivery, now, &mut answer);
    let limit = tokio::time::timeout(route.timeout, posting).await;
    let posted = limit.unwrap_or_else(|_| Err(out_of_time(route.timeout, "before the answer was whole")));
    let (error, timed_out) = match posted {
        Ok(()) => (remark(answer.status), false),
        Err(fault) => (Some(one_line(&fault.sentence)), fault.timed_out),
    };
    DeliveryAttempt {
        at: now,
        duration: started.elapsed(),
        status: answer.status,
        error,
        answer: answer.status.map(|_| beginning(&answer.body)),
        retry_after: answer.retry_after,
        timed_out,
    }
}

async fn post(
    route: &Route,
    integration: &Integration,
    delivery: &Delivery,
    now: Timestamp,
    answer: &mut Answer,
) -> Result<(), Fault> {
    let target = integration.url.target();
    let request = request(&target, integration, delivery, now)?;
    let phase = route.timeout / PHASE_PART;
    let opening = connection::open(route, &target, phase);
    let stream = within(phase, "while connecting", opening).await??;
    let (response, _connection) = send(stream, request).await?;
    answer.status = Some(response.status().as_u16());
    let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    answer.retry_after = retry_after.and_then(|text| hr_delivery::parse_retry_after(text, now));
    within(phase, "while the answer's body was read", read(response.into_body(), &mut answer.body)).await??;
    Ok(())
}

/// The request, in the form of Standard Webhooks.
fn request(
    target: &Target,
    integration: &Integration,
    delivery: &Delivery,
    now: Timestamp,
) -> Result<Request<Full<Bytes>>, Fault> {
    let impossible = || "the URL has a character that no request can carry".to_owned();
    let uri: Uri = target.path.parse().map_err(|_| impossible())?;
    let host = HeaderValue::from_str(&target.authority).map_err(|_| impossible())?;
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
        let value = HeaderValue::from_str(value).expect("ids, digits and base 64 are plain ASCII");
        fields.insert(HeaderName::from_static(name), value);
    }
    Ok(request)
}

/// Ends the connection when it is dropped.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends the request and waits for the answer's head. The body can be read for as long as the connection is kept.
async fn send(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, Connection), Fault> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(HEAD_BYTES_MAX).max_headers(HEAD_FIELDS_MAX);
    let broken = |error: hyper::Error| Fault::from(format!("no answer: {}", causes(&error)));
    let (mut sender, connection) = builder.handshake(TokioIo::new(Budget::new(stream))).await.map_err(broken)?;
    let connection = Connection(tokio::spawn(async move {
        // What goes wrong with it is told to whoever waits for the answer.
        let _ = connection.await;
    }));
    let response = sender.send_request(request).await.map_err(broken)?;
    Ok((response, connection))
}

async fn read(mut body: Incoming, kept: &mut Vec<u8>) -> Result<(), Fault> {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("the answer broke off: {}", causes(&error)))?;
        let Some(data) = frame.data_ref() else { continue };
        bytes += data.len();
        kept.extend_from_slice(&data[..data.len().min(ANSWER_BYTES_KEPT - kept.len())]);
        if bytes > ANSWER_BYTES_MAX {
            return Err(format!("the answer is longer than {} KiB", ANSWER_BYTES_MAX / 1_024).into());
        }
    }
    Ok(())
}

async fn within<T>(limit: Duration, when: &str, doing: impl Future<Output = T>) -> Result<T, Fault> {
    tokio::time::timeout(limit, doing).await.map_err(|_| out_of_time(limit, when))
}

fn out_of_time(limit: Duration, when: &str) -> Fault {
    Fault { sentence: format!("timed out after {limit:?} {when}"), timed_out: true }
}

/// A sentence as a line of at most 1,000 characters: a certificate, for one, may have any text in it, of any length.
fn one_line(sentence: &str) -> String {
    text::cut(sentence, SENTENCE_CHARACTERS_MAX).replace(|c: char| c.is_control(), " ")
}

/// What an admin should know of a status, where that is more than the number.
fn remark(status: Option<u16>) -> Option<String> {
    match status {
        Some(300..=399) => Some("redirects are not followed; save the URL that it leads to".to_owned()),
        Some(hr_delivery::STATUS_GONE) => Some("the HR system wants no more deliveries".to_owned()),
        _ => None,
    }
}

/// The beginning of an answer as text of as many bytes at most.
fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    // Bytes that are no UTF-8 grow when they are replaced.
    let end = (0..=ANSWER_BYTES_KEPT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or(0)].replace('\0', " ")
}

/// An error with everything that caused it, which hyper leaves out of its own words.
fn causes(error: &hyper::Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
