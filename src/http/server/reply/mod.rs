//! Answers: their bodies and header fields, and the one place that decides the status of each. Those that are pages are in
//! `html`, those that are files in `file`.

mod file;
pub(in crate::http) mod html;
mod warning;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::problem::{WireFieldError, WireProblem, words};
use crate::domain::attachment::DIGEST_BYTES;
use crate::domain::entity_tag;
use crate::domain::id::{self, AttachmentId, CandidateId, OrganizationId, RequestId};
use crate::domain::idempotency_key::{StoredBody, StoredResponse};
use crate::domain::refusal::{FieldError, Refusal};
use crate::store::Error;

/// Seconds after which an unavailable service is worth another try.
const UNAVAILABLE_RETRY_S: u64 = 1;

/// The same of a service whose disk is full: somebody has to free some space.
const FULL_RETRY_S: u64 = 60;

/// There where the answer is that of an earlier request with the same `Idempotency-Key`.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(in crate::http) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What protects every answer that a browser might show.
const SAFE: [(HeaderName, &str); 2] =
    [(header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (header::REFERRER_POLICY, "no-referrer")];

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    /// The file that is sent in place of a body. Few answers have one, and all are moved about: so it is elsewhere.
    file: Option<Box<StoredFile>>,
    /// The same compressed, where it is kept only so.
    packed: Option<Bytes>,
    /// The file that came with the request and is kept.
    kept_upload: Option<Box<AttachmentId>>,
    validity: Validity,
    /// What of it is kept for a repeat of its request.
    repeat: Repeat,
}

/// A file of the store that is sent in place of a body. Nothing of it is read before there is room for it.
#[derive(Debug, Clone)]
pub(in crate::http) struct StoredFile {
    /// Which document.
    pub(in crate::http) id: AttachmentId,
    /// How large it is.
    pub(in crate::http) bytes: u32,
    /// The SHA-256 of its content.
    pub(in crate::http) sha256: Option<[u8; DIGEST_BYTES]>,
}

/// How long an answer stays true, and so how long the response cache may give it to others.
#[derive(Debug, Clone)]
pub(in crate::http) enum Validity {
    /// It is for one request.
    Once,
    /// Until the portal of this organization changes; the number is that of the last change of any portal when it was read.
    UntilChange(OrganizationId, i64),
    /// While the service runs.
    Forever,
}

/// What of an answer is kept where its request is to be carried out once.
#[derive(Debug, Clone)]
enum Repeat {
    Whole,
    /// It tells of this candidate, and goes when they are erased.
    About(CandidateId),
    /// It holds a secret: nothing but the id of what was made, which goes with the candidate whom it is about.
    Secret(String, Option<CandidateId>),
}

/// A code that an error answer carries.
pub(in crate::http) type Code = &'static str;

impl Reply {
    /// 200 with a JSON body that nobody may keep.
    pub(in crate::http) fn json(value: &impl Serialize) -> Self {
        let body = encode(value);
        Self::ok("application/json", body).with(header::CACHE_CONTROL, "no-store")
    }

    /// 202 with a JSON body: it is queued, and what becomes of it is told elsewhere.
    pub(in crate::http) fn accepted(value: &impl Serialize) -> Self {
        Self { status: StatusCode::ACCEPTED, ..Self::json(value) }
    }

    /// 200 with a JSON body and a strong `ETag`.
    pub(in crate::http) fn tagged(value: &impl Serialize) -> Self {
        Self::ok("application/json", encode(value)).with_tag()
    }

    /// 200 with a page that is the same for everybody, a strong `ETag`, and the digest of the one style that it has.
    pub(in crate::http) fn reference(page: String, style_digest: &str) -> Self {
        let reply = Self::ok("text/html; charset=utf-8", page.into()).with_tag();
        reply.with(header::CONTENT_SECURITY_POLICY, &policy(&format!("sha256-{style_digest}")))
    }

    /// The same for others until this organization's portal changes. `read_at` is the number of the last change of any
    /// portal when it was read. It has a tag then.
    pub(in crate::http) fn valid_until_change(self, organization: OrganizationId, read_at: i64) -> Self {
        Self { validity: Validity::UntilChange(organization, read_at), ..self.tagged_once() }
    }

    /// The same for others while the service runs: it shows nothing of the file.
    pub(in crate::http) fn valid_forever(self) -> Self {
        Self { validity: Validity::Forever, ..self.tagged_once() }
    }

    /// The same, telling of a candidate: what is kept of it for a repeat is erased with them.
    pub(in crate::http) fn about(self, candidate: CandidateId) -> Self {
        let repeat = match self.repeat {
            Repeat::Secret(made_id, _) => Repeat::Secret(made_id, Some(candidate)),
            Repeat::Whole | Repeat::About(_) => Repeat::About(candidate),
        };
        Self { repeat, ..self }
    }

    /// The same, holding a secret of what was made: it is never kept, and a repeat is told this id.
    pub(in crate::http) fn with_secret_of(self, made_id: &str) -> Self {
        Self { repeat: Repeat::Secret(made_id.to_owned(), None), ..self }
    }

    /// What is kept of it where its request is to be carried out once.
    pub(in crate::http) fn to_repeat(&self, fingerprint: [u8; 32]) -> StoredResponse {
        let whole = || StoredBody::Whole(String::from_utf8_lossy(&self.body).into_owned());
        let (answer, candidate_id) = match &self.repeat {
            Repeat::Whole => (whole(), None),
            Repeat::About(candidate) => (whole(), Some(candidate.clone())),
            Repeat::Secret(made_id, candidate) => (StoredBody::Secret(made_id.clone()), candidate.clone()),
        };
        StoredResponse { fingerprint, status: self.status.as_u16(), answer, candidate_id }
    }

    /// An answer that was kept, given once more.
    ///
    /// # Errors
    /// [`Error::Defect`] where it is none of ours.
    pub(in crate::http) fn repeated(status: u16, answer: &str, request_id: &str) -> Result<Self, Error> {
        let defect = || Error::Defect("an answer that was kept cannot be read".to_owned());
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

    /// 204.
    pub(in crate::http) fn no_content() -> Self {
        Self::empty(StatusCode::NO_CONTENT)
    }

    /// 204 for a CORS preflight (WHATWG Fetch §3.3), with the methods of the path.
    pub(in crate::http) fn preflight(methods: &str) -> Self {
        Self::no_content()
            .with(header::ALLOW, methods)
            .with(header::ACCESS_CONTROL_ALLOW_METHODS, methods)
            .with(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, If-None-Match")
            .with(header::ACCESS_CONTROL_MAX_AGE, "86400")
    }

    /// 200 with plain text.
    pub(in crate::http) fn text(body: impl Into<Bytes>) -> Self {
        Self::ok("text/plain; charset=utf-8", body.into()).with(header::CACHE_CONTROL, "no-store")
    }

    /// 200 with counters as Prometheus text, or 404 where there are none.
    pub(in crate::http) fn metrics(text: String) -> Self {
        if text.is_empty() {
            return Self::empty(StatusCode::NOT_FOUND);
        }
        Self::ok("text/plain; version=0.0.4; charset=utf-8", text.into())
    }

    /// 303: what was asked for is done, and this page shows it. The path is of this service.
    pub(in crate::http) fn see_other(path: &str) -> Self {
        Self::empty(StatusCode::SEE_OTHER).with(header::LOCATION, path).with(header::CACHE_CONTROL, "no-store")
    }

    /// With one more header field. A value that no field can hold is left out.
    pub(in crate::http) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// The answer to whatever kept a request from being carried out: a problem document (RFC 9457).
    pub(in crate::http) fn problem(error: &Error, realm: &str, request_id: &str) -> Self {
        let (status, code, headers) = verdict(error, realm);
        let (detail, errors) = words(error);
        let errors = errors
            .iter()
            .map(|FieldError { field, detail }| WireFieldError { field: field.into(), detail: detail.into() });
        let problem = WireProblem {
            kind: "about:blank".into(),
            title: title(status).into(),
            status: status.as_u16(),
            detail: detail.into(),
            success: false,
            code: code.into(),
            request_id: request_id.into(),
            errors: errors.collect(),
        };
        Self::of_problem(status, headers, &problem)
    }

    fn of_problem(status: StatusCode, headers: Vec<(HeaderName, HeaderValue)>, problem: &WireProblem<'_>) -> Self {
        let reply = Self { headers, body: encode(problem), ..Self::empty(status) };
        reply.with(header::CONTENT_TYPE, "application/problem+json").with(header::CACHE_CONTROL, "no-store")
    }

    /// As hyper sends it, but for the request's id, and for a file that is sent in place of its body.
    pub(in crate::http) fn into_unnamed(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.reserve(self.headers.len() + SAFE.len() + 1);
        for (name, value) in SAFE {
            headers.insert(name, HeaderValue::from_static(value));
        }
        for (name, value) in self.headers {
            headers.append(name, value);
        }
        response
    }

    /// Its body.
    pub(in crate::http) fn body(&self) -> Bytes {
        self.body.clone()
    }

    /// How long it stays true for others.
    pub(in crate::http) fn validity(&self) -> &Validity {
        &self.validity
    }

    /// Its body compressed, where only that is to be cached.
    pub(in crate::http) fn packed_body(&self) -> Option<Bytes> {
        self.packed.clone()
    }

    fn ok(content_type: &'static str, body: Bytes) -> Self {
        let headers = vec![(header::CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Self { headers, body, ..Self::empty(StatusCode::OK) }
    }

    fn empty(status: StatusCode) -> Self {
        let (headers, body, validity, repeat) = (Vec::new(), Bytes::new(), Validity::Once, Repeat::Whole);
        Self { status, headers, body, file: None, packed: None, kept_upload: None, validity, repeat }
    }

    fn tagged_once(self) -> Self {
        if self.headers.iter().any(|(name, _)| *name == header::ETAG) { self } else { self.with_tag() }
    }

    /// With a strong `ETag`: whoever keeps it asks first whether it is still the same.
    pub(in crate::http) fn with_tag(self) -> Self {
        let tag = format!("\"{}\"", id::token(&Sha256::digest(&self.body)[..16]));
        self.with(header::CACHE_CONTROL, "no-cache").with(header::ETAG, &tag)
    }
}

/// With the id of the request that it answers.
pub(in crate::http) fn with_request_id<B>(mut response: Response<B>, request_id: RequestId) -> Response<B> {
    if let Ok(value) = HeaderValue::try_from(String::from(request_id)) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    response
}

/// Adds the field that keeps browsers on https for a year (RFC 6797). The base URL's other names and subdomains are not
/// ours, so it does not speak for them.
pub(in crate::http) fn require_https(fields: &mut HeaderMap) {
    fields.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
}

/// 304 where the answer is tagged and the caller has it already (RFC 9110 §13.1.2).
pub(in crate::http) fn unless_matching(
    mut response: Response<Full<Bytes>>,
    fields: &HeaderMap,
) -> Response<Full<Bytes>> {
    if is_matching(response.headers(), fields) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Full::default();
        // What tells of the body alone (RFC 9110 §15.4.5).
        for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING] {
            response.headers_mut().remove(name);
        }
    }
    response
}

/// Whether the answer with these fields is tagged and the caller has it already.
pub(in crate::http) fn is_matching(answered: &HeaderMap, asked: &HeaderMap) -> bool {
    if !asked.contains_key(header::IF_NONE_MATCH) {
        return false;
    }
    let Some(tag) = answered.get(header::ETAG).and_then(|tag| tag.to_str().ok()) else { return false };
    let mut lists = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists.any(|list| entity_tag::lists_tag(list, tag))
}

/// What a page may do: show itself in this style, and nothing else.
fn policy(style: &str) -> String {
    format!("default-src 'none'; style-src '{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
}

/// The one match from what went wrong to the answer's status, code and header fields.
fn verdict(error: &Error, realm: &str) -> (StatusCode, Code, Vec<(HeaderName, HeaderValue)>) {
    let field = |name, value: &str| HeaderValue::from_str(value).map(|value| vec![(name, value)]).unwrap_or_default();
    let refusal = match error {
        Error::Full(_) => {
            let retry = field(header::RETRY_AFTER, &FULL_RETRY_S.to_string());
            return (StatusCode::SERVICE_UNAVAILABLE, "unavailable", retry);
        }
        Error::Unavailable(_) | Error::Refused(Refusal::NotReady(_)) => {
            let retry = field(header::RETRY_AFTER, &UNAVAILABLE_RETRY_S.to_string());
            return (StatusCode::SERVICE_UNAVAILABLE, "unavailable", retry);
        }
        Error::Defect(_) | Error::OutcomeUnknown(_) => {
            return (StatusCode::INTERNAL_SERVER_ERROR, "internal_error", Vec::new());
        }
        Error::Refused(refusal) => refusal,
    };
    match refusal {
        Refusal::NotReady(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", Vec::new()),
        Refusal::BadRequest(..) => (StatusCode::BAD_REQUEST, "bad_request", Vec::new()),
        Refusal::Invalid(_) => (StatusCode::BAD_REQUEST, "validation_error", Vec::new()),
        Refusal::Unauthorized { sent } => {
            let why = if *sent { ", error=\"invalid_token\"" } else { "" };
            let challenge = format!("Bearer realm=\"{realm}\"{why}");
            (StatusCode::UNAUTHORIZED, "unauthorized", field(header::WWW_AUTHENTICATE, &challenge))
        }
        Refusal::InsufficientScope(scope) => {
            let scope = scope.as_str();
            let challenge = format!("Bearer realm=\"{realm}\", error=\"insufficient_scope\", scope=\"{scope}\"");
            (StatusCode::FORBIDDEN, "insufficient_scope", field(header::WWW_AUTHENTICATE, &challenge))
        }
        Refusal::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden", Vec::new()),
        Refusal::NotFound(_) => (StatusCode::NOT_FOUND, "not_found", Vec::new()),
        Refusal::MethodNotAllowed(allow) => {
            (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", field(header::ALLOW, allow))
        }
        Refusal::Conflict(_) | Refusal::ConflictWith(_) | Refusal::MadeBefore(_) => {
            (StatusCode::CONFLICT, "conflict", Vec::new())
        }
        Refusal::Gone(_) => (StatusCode::GONE, "gone", Vec::new()),
        Refusal::IdempotencyKeyReused => (StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", Vec::new()),
        Refusal::PayloadTooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", Vec::new()),
        Refusal::UriTooLong(_) => (StatusCode::URI_TOO_LONG, "uri_too_long", Vec::new()),
        Refusal::UnsupportedMediaType | Refusal::UnsupportedFormType { .. } | Refusal::UnsupportedContent(_) => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", Vec::new())
        }
        Refusal::ContentEncoding => {
            // Names what would be accepted (RFC 9110 §15.5.16).
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
    serde_json::to_vec(value).expect("wire structs have text for names and no number that JSON lacks").into()
}

fn title(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("Error").to_owned()
}
