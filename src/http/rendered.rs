//! Answers that are given to more than one request, made ready once.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::reply::{Reply, X_REQUEST_ID};

/// A 200 that is given to more than one request, as hyper sends it.
pub(super) struct Rendered {
    fields: HeaderMap,
    body: Bytes,
}

impl Rendered {
    pub(super) fn new(reply: Reply) -> Self {
        let body = reply.body();
        let (mut parts, _) = reply.into_unnamed().into_parts();
        // Its place, so that each answer has room for it.
        parts.headers.insert(X_REQUEST_ID, HeaderValue::from_static(""));
        Self { fields: parts.headers, body }
    }

    /// With one more field.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.fields.insert(name, value);
        self
    }

    /// Bytes of its body.
    pub(super) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// The answer to one request, but for the request's id.
    pub(super) fn response(&self) -> Response<Full<Bytes>> {
        self.response_with(self.body.clone())
    }

    /// The same with another body.
    pub(super) fn response_with(&self, body: Bytes) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(body));
        response.headers_mut().clone_from(&self.fields);
        response
    }
}
