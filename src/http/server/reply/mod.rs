//! Replies: their bodies and header fields, and the one function that chooses the status of each refusal. Replies that
//! are pages are in `page`, and replies that are files in `file`.

mod file;
pub(in crate::http) mod page;
mod warning;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::problem::WireProblem;
use crate::domain::attachment::DIGEST_BYTES;
use crate::domain::entity_tag;
use crate::domain::id::{self, AttachmentId, CandidateId, OrganizationId, RequestId};
use crate::domain::idempotency_key::{StoredBody, StoredResponse};
use crate::domain::refusal::Refusal;
use crate::store::Error;

/// The value of `Retry-After` if the service is unavailable, in seconds.
const UNAVAILABLE_RETRY_S: u64 = 1;

/// The value of `Retry-After` if the disk is full, in seconds. An operator must free space first.
const FULL_RETRY_S: u64 = 60;

/// The header field that marks the stored response of an earlier request with the same `Idempotency-Key`.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Header fields that protect every response in a browser.
const PROTECTIVE_FIELDS: [(HeaderName, &str); 2] =
    [(header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (header::REFERRER_POLICY, "no-referrer")];

/// The outcome of a handler, before it becomes a response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    /// The file that is sent in place of a body. It is boxed because few replies have one, and all replies are moved
    /// often.
    file: Option<Box<StoredFile>>,
    /// The compressed body, if the response cache is to hold only the compressed form.
    compressed_body: Option<Bytes>,
    /// The attachment uploaded with the request, if it is to remain in the store.
    retained_upload: Option<Box<AttachmentId>>,
    validity: Validity,
    /// The part of the reply that is stored for a repeat of the request.
    stored_part: StoredPart,
}

/// A stored file that is sent in place of a body. Each chunk of the file is read when the connection has room for it.
#[derive(Debug, Clone)]
pub(super) struct StoredFile {
    pub(in crate::http) id: AttachmentId,
    pub(in crate::http) bytes: u32,
    pub(in crate::http) sha256: Option<[u8; DIGEST_BYTES]>,
}

/// The time for which a reply stays current. The response cache may serve the reply for that time.
#[derive(Debug, Clone)]
pub(super) enum Validity {
    /// For this request only.
    Once,
    /// Until the portal of this organization changes. The integer is the number of the newest portal change of any
    /// organization when the reply's data was read.
    UntilChange(OrganizationId, i64),
    /// For as long as the service runs.
    Forever,
}

/// The part of a reply that is stored for an idempotency key.
#[derive(Debug, Clone)]
enum StoredPart {
    Whole,
    /// The whole reply. It names this candidate and is erased with them.
    About(CandidateId),
    /// Only the id of the created resource, because the reply contains a secret. The id is erased with the candidate,
    /// if the reply names one.
    Secret(String, Option<CandidateId>),
}

/// The code in the body of an error.
pub(in crate::http) type Code = &'static str;

impl Reply {
    /// Creates a 200 with a JSON body that no cache may store.
    pub(in crate::http) fn json(value: &impl Serialize) -> Self {
        let body = encode(value);
        Self::ok("application/json", body).with(header::CACHE_CONTROL, "no-store")
    }

    /// Creates a 202 with a JSON body, for work that is queued and whose result is reported elsewhere.
    pub(in crate::http) fn accepted(value: &impl Serialize) -> Self {
        Self { status: StatusCode::ACCEPTED, ..Self::json(value) }
    }

    pub(in crate::http) fn tagged(value: &impl Serialize) -> Self {
        Self::ok("application/json", encode(value)).with_tag()
    }

    /// Creates a 200 with a page that is the same for everybody, and with a strong `ETag`. The content security policy
    /// allows only the style with this digest.
    pub(in crate::http) fn reference(page: String, style_digest: &str) -> Self {
        let reply = Self::ok("text/html; charset=utf-8", page.into()).with_tag();
        reply.with(header::CONTENT_SECURITY_POLICY, &policy(&format!("sha256-{style_digest}")))
    }

    /// Allows the response cache to serve the reply until this organization's portal changes, and adds an `ETag`.
    /// `read_at` is the number of the newest portal change of any organization when the reply's data was read.
    pub(in crate::http) fn valid_until_change(self, organization: OrganizationId, read_at: i64) -> Self {
        Self { validity: Validity::UntilChange(organization, read_at), ..self.ensure_tag() }
    }

    /// Allows the response cache to serve the reply for as long as the service runs, because the reply contains no data
    /// from the database.
    pub(in crate::http) fn valid_forever(self) -> Self {
        Self { validity: Validity::Forever, ..self.ensure_tag() }
    }

    /// Records that the reply names this candidate. The stored response is erased with the candidate.
    pub(in crate::http) fn about(self, candidate: CandidateId) -> Self {
        let stored_part = match self.stored_part {
            StoredPart::Secret(created_id, _) => StoredPart::Secret(created_id, Some(candidate)),
            StoredPart::Whole | StoredPart::About(_) => StoredPart::About(candidate),
        };
        Self { stored_part, ..self }
    }

    /// Marks the reply as secret. Only the id of the created resource is stored, and a repeat gets a `conflict` with
    /// that id.
    pub(in crate::http) fn with_secret_of(self, created_id: &str) -> Self {
        Self { stored_part: StoredPart::Secret(created_id.to_owned(), None), ..self }
    }

    /// Returns the response to store for an idempotency key.
    pub(super) fn to_stored_response(&self, fingerprint: [u8; 32]) -> StoredResponse {
        let whole = || StoredBody::Whole(String::from_utf8_lossy(&self.body).into_owned());
        let (answer, candidate_id) = match &self.stored_part {
            StoredPart::Whole => (whole(), None),
            StoredPart::About(candidate) => (whole(), Some(candidate.clone())),
            StoredPart::Secret(created_id, candidate) => (StoredBody::Secret(created_id.clone()), candidate.clone()),
        };
        StoredResponse { fingerprint, status: self.status.as_u16(), answer, candidate_id }
    }

    /// Creates the reply to a repeated request from a stored response.
    ///
    /// # Errors
    /// [`Error::Defect`] if the stored response is unreadable.
    pub(super) fn from_stored_response(status: u16, answer: &str, request_id: &str) -> Result<Self, Error> {
        let defect = || Error::Defect("a stored response cannot be read".to_owned());
        let status = StatusCode::from_u16(status).map_err(|_| defect())?;
        let reply = if status.is_success() {
            let body = Bytes::copy_from_slice(answer.as_bytes());
            let reply = if body.is_empty() { Self::empty(status) } else { Self::ok("application/json", body) };
            Self { status, ..reply.with(header::CACHE_CONTROL, "no-store") }
        } else {
            let problem: WireProblem<'_> = serde_json::from_str(answer).map_err(|_| defect())?;
            Self::of_problem(status, Vec::new(), &WireProblem { request_id: request_id.into(), ..problem })
        };
        Ok(reply.with(IDEMPOTENCY_REPLAYED, "true"))
    }

    pub(in crate::http) fn no_content() -> Self {
        Self::empty(StatusCode::NO_CONTENT)
    }

    /// Creates a 204 for a CORS preflight (WHATWG Fetch §3.3), with the methods of the path.
    pub(super) fn preflight(methods: &str) -> Self {
        Self::no_content()
            .with(header::ALLOW, methods)
            .with(header::ACCESS_CONTROL_ALLOW_METHODS, methods)
            .with(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, If-None-Match")
            .with(header::ACCESS_CONTROL_MAX_AGE, "86400")
    }

    /// Creates a 200 with plain text.
    pub(in crate::http) fn text(body: impl Into<Bytes>) -> Self {
        Self::ok("text/plain; charset=utf-8", body.into()).with(header::CACHE_CONTROL, "no-store")
    }

    /// Creates a 200 with metrics as Prometheus text, or an empty 404 if there are none.
    pub(in crate::http) fn metrics(text: String) -> Self {
        if text.is_empty() {
            return Self::empty(StatusCode::NOT_FOUND);
        }
        Self::ok("text/plain; version=0.0.4; charset=utf-8", text.into())
    }

    /// Creates a 303 to the page that shows the result of the request. `path` is a path of this service.
    pub(in crate::http) fn see_other(path: &str) -> Self {
        Self::empty(StatusCode::SEE_OTHER).with(header::LOCATION, path).with(header::CACHE_CONTROL, "no-store")
    }

    /// Creates a 307, after which the browser sends the same request, with its body, to `path` (RFC 9110 §15.4.8).
    pub(in crate::http) fn repeat_at(path: &str) -> Self {
        Self { status: StatusCode::TEMPORARY_REDIRECT, ..Self::see_other(path) }
    }

    /// Creates a 308, after which the client sends the same request to `url` (RFC 9110 §15.4.9). No cache stores the
    /// reply, because paths can be secrets.
    pub(in crate::http) fn moved(url: &str) -> Self {
        Self { status: StatusCode::PERMANENT_REDIRECT, ..Self::see_other(url) }
    }

    /// Adds a header field. A field with an invalid value is left out.
    pub(in crate::http) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Returns the problem document for a failed or refused request (RFC 9457).
    pub(in crate::http) fn problem(error: &Error, realm: &str, request_id: &str) -> Self {
        let (status, code, headers) = status_code_and_fields(error, realm);
        let title = status.canonical_reason().unwrap_or("Error");
        Self::of_problem(status, headers, &WireProblem::of(error, status.as_u16(), title, code, request_id))
    }

    fn of_problem(status: StatusCode, headers: Vec<(HeaderName, HeaderValue)>, problem: &WireProblem<'_>) -> Self {
        let reply = Self { headers, body: encode(problem), ..Self::empty(status) };
        reply.with(header::CONTENT_TYPE, "application/problem+json").with(header::CACHE_CONTROL, "no-store")
    }

    /// Returns the response for hyper, without the request's id, and without the file that replaces the body.
    pub(super) fn into_response_without_id(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.reserve(self.headers.len() + PROTECTIVE_FIELDS.len() + 1);
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        for (name, value) in PROTECTIVE_FIELDS {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        response
    }

    pub(in crate::http) fn body(&self) -> Bytes {
        self.body.clone()
    }

    pub(super) fn validity(&self) -> &Validity {
        &self.validity
    }

    /// Returns the compressed body, if the response cache is to hold only the compressed form.
    pub(super) fn compressed_body(&self) -> Option<Bytes> {
        self.compressed_body.clone()
    }

    fn ok(content_type: &'static str, body: Bytes) -> Self {
        let headers = vec![(header::CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Self { headers, body, ..Self::empty(StatusCode::OK) }
    }

    fn empty(status: StatusCode) -> Self {
        let (headers, body, validity, stored_part) = (Vec::new(), Bytes::new(), Validity::Once, StoredPart::Whole);
        Self { status, headers, body, file: None, compressed_body: None, retained_upload: None, validity, stored_part }
    }

    fn ensure_tag(self) -> Self {
        if self.headers.iter().any(|(name, _)| *name == header::ETAG) { self } else { self.with_tag() }
    }

    /// Adds a strong `ETag`. Caches must revalidate the response before each use.
    pub(in crate::http) fn with_tag(self) -> Self {
        let tag = format!("\"{}\"", id::token(&Sha256::digest(&self.body)[..16]));
        self.with(header::CACHE_CONTROL, "no-cache").with(header::ETAG, &tag)
    }
}

pub(super) fn with_request_id<B>(mut response: Response<B>, request_id: RequestId) -> Response<B> {
    if let Ok(value) = HeaderValue::try_from(String::from(request_id)) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    response
}

/// Makes browsers use https for a year (RFC 6797). Subdomains of the base URL's host can belong to others, so the field
/// does not apply to them.
pub(super) fn require_https(fields: &mut HeaderMap) {
    fields.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
}

/// Turns the response into a 304 if the client already has the response (RFC 9110 §13.1.2).
pub(super) fn not_modified_if_matching(
    mut response: Response<Full<Bytes>>,
    fields: &HeaderMap,
) -> Response<Full<Bytes>> {
    if is_matching(response.headers(), fields) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Full::default();
        // These fields describe the missing body (RFC 9110 §15.4.5).
        for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING] {
            response.headers_mut().remove(name);
        }
    }
    response
}

/// Returns whether the client already has the response with these fields. Always returns `false` for a response with
/// `no-store`, because clients must not store it. The `ETag` of such a response, if any, is for `If-Match` and does not
/// describe the whole response.
pub(super) fn is_matching(response: &HeaderMap, request: &HeaderMap) -> bool {
    let is_storable = response.get(header::CACHE_CONTROL).is_none_or(|control| control != "no-store");
    if !request.contains_key(header::IF_NONE_MATCH) || !is_storable {
        return false;
    }
    let Some(tag) = response.get(header::ETAG).and_then(|tag| tag.to_str().ok()) else { return false };
    let mut lists = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists.any(|list| entity_tag::lists_tag(list, tag))
}

/// Returns the content security policy of a page that applies this style and loads nothing else.
fn policy(style: &str) -> String {
    format!("default-src 'none'; style-src '{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
}

/// Returns the code of a refusal, for an answer that reports the outcomes of several acts.
pub(in crate::http) fn code_of(refusal: &Refusal) -> Code {
    status_code_and_fields(&Error::Refused(refusal.clone()), "").1
}

/// Maps an error to its status, code and header fields. No other function chooses the status of an error.
fn status_code_and_fields(error: &Error, realm: &str) -> (StatusCode, Code, Vec<(HeaderName, HeaderValue)>) {
    let field = |name, value: &str| HeaderValue::from_str(value).map(|value| vec![(name, value)]).unwrap_or_default();
    let unavailable = |retry_s: u64| {
        (StatusCode::SERVICE_UNAVAILABLE, "unavailable", field(header::RETRY_AFTER, &retry_s.to_string()))
    };
    let refusal = match error {
        Error::Full(_) => return unavailable(FULL_RETRY_S),
        Error::Unavailable(_) => return unavailable(UNAVAILABLE_RETRY_S),
        Error::Defect(_) | Error::OutcomeUnknown(_) => {
            return (StatusCode::INTERNAL_SERVER_ERROR, "internal_error", Vec::new());
        }
        Error::Refused(refusal) => refusal,
    };
    match refusal {
        Refusal::NotReady(_) => unavailable(UNAVAILABLE_RETRY_S),
        Refusal::BadRequest(..) => (StatusCode::BAD_REQUEST, "bad_request", Vec::new()),
        Refusal::Invalid(_) => (StatusCode::BAD_REQUEST, "validation_error", Vec::new()),
        Refusal::Unauthorized { .. } | Refusal::KeyRequired => {
            let is_sent = !matches!(refusal, Refusal::Unauthorized { sent: false });
            let why = if is_sent { ", error=\"invalid_token\"" } else { "" };
            let challenge = format!("Bearer realm=\"{realm}\"{why}");
            (StatusCode::UNAUTHORIZED, "unauthorized", field(header::WWW_AUTHENTICATE, &challenge))
        }
        Refusal::InsufficientScope(scope) => {
            let scope = scope.as_str();
            let challenge = format!("Bearer realm=\"{realm}\", error=\"insufficient_scope\", scope=\"{scope}\"");
            (StatusCode::FORBIDDEN, "insufficient_scope", field(header::WWW_AUTHENTICATE, &challenge))
        }
        Refusal::Forbidden(_)
        | Refusal::OtherOrigin { .. }
        | Refusal::SecondFactorMissing
        | Refusal::ConfirmationRequired(_) => (StatusCode::FORBIDDEN, "forbidden", Vec::new()),
        Refusal::NotFound(_) => (StatusCode::NOT_FOUND, "not_found", Vec::new()),
        Refusal::MethodNotAllowed(allow) => {
            (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", field(header::ALLOW, allow))
        }
        Refusal::Conflict(_) | Refusal::ConflictWith(_) | Refusal::CreatedBefore(_) => {
            (StatusCode::CONFLICT, "conflict", Vec::new())
        }
        Refusal::PreconditionFailed(_) | Refusal::UnknownVersion(_) => {
            (StatusCode::PRECONDITION_FAILED, "precondition_failed", Vec::new())
        }
        Refusal::Gone(_) => (StatusCode::GONE, "gone", Vec::new()),
        Refusal::IdempotencyKeyReused => (StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", Vec::new()),
        Refusal::PayloadTooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", Vec::new()),
        Refusal::UriTooLong(_) => (StatusCode::URI_TOO_LONG, "uri_too_long", Vec::new()),
        Refusal::UnsupportedMediaType | Refusal::UnsupportedFormType { .. } | Refusal::UnsupportedContent(_) => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", Vec::new())
        }
        Refusal::ContentEncoding => {
            // The field names the accepted coding (RFC 9110 §15.5.16).
            let accepted = field(header::ACCEPT_ENCODING, "identity");
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", accepted)
        }
        Refusal::HeadersTooLarge => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", Vec::new()),
        Refusal::Unavailable { retry_after_s, .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable", field(header::RETRY_AFTER, &retry_after_s.to_string()))
        }
        Refusal::RateLimited { retry_after_s } => {
            (StatusCode::TOO_MANY_REQUESTS, "rate_limited", field(header::RETRY_AFTER, &retry_after_s.to_string()))
        }
    }
}

fn encode(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("wire structs have string keys and no number that JSON cannot express").into()
}
