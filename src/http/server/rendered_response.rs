//! Responses that are rendered once and answer several requests.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::gzip;
use super::reply::{self, Reply, X_REQUEST_ID};

/// A 200 response that answers several requests, in hyper's types.
pub(super) struct RenderedResponse {
    fields: HeaderMap,
    body: Bytes,
}

impl RenderedResponse {
    pub(super) fn new(reply: Reply) -> Self {
        let body = reply.body();
        let (mut parts, _) = reply.into_response_without_id().into_parts();
        // Reserve space for the request id, so that the map does not grow when the id is set.
        parts.headers.insert(X_REQUEST_ID, HeaderValue::from_static(""));
        Self { fields: parts.headers, body }
    }

    /// Sets a header field.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.fields.insert(name, value);
        self
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(super) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    pub(super) fn is_worth_compressing(&self) -> bool {
        gzip::is_worth_compressing(self.field(&header::CONTENT_TYPE).unwrap_or_default(), self.body.len())
    }

    /// Adds `Accept-Encoding` to `Vary`.
    pub(super) fn varying_by_encoding(self) -> Self {
        let varies = match self.field(&header::VARY) {
            Some(others) => HeaderValue::try_from(format!("{others}, Accept-Encoding")).ok(),
            None => Some(HeaderValue::from_static("Accept-Encoding")),
        };
        match varies {
            Some(varies) => self.with(header::VARY, varies),
            None => self,
        }
    }

    /// Returns the compressed response with a tag of its own (RFC 9110 §8.8.3.3), or `None` if it would not be smaller.
    pub(super) fn compressed(&self) -> Option<Self> {
        Some(self.with_compressed_body(gzip::compress(&self.body)?.into()))
    }

    /// Returns the response with this compressed body.
    pub(super) fn with_compressed_body(&self, body: Bytes) -> Self {
        let mut fields = self.fields.clone();
        let tag = self.field(&header::ETAG).and_then(|tag| tag.strip_suffix('"'));
        let tag = tag.and_then(|tag| HeaderValue::try_from(format!("{tag}-gzip\"")).ok());
        if let Some(tag) = tag {
            fields.insert(header::ETAG, tag);
        }
        fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Self { fields, body }
    }

    pub(super) fn without_body(self) -> Self {
        Self { body: Bytes::new(), ..self }
    }

    /// Returns whether the client already has the response.
    pub(super) fn is_not_modified(&self, request: &HeaderMap) -> bool {
        reply::is_matching(&self.fields, request)
    }

    /// Returns the response to one request, without the request's id.
    pub(super) fn response(&self) -> Response<Full<Bytes>> {
        self.response_with(self.body.clone())
    }

    /// Returns the response to one request, with this body and without the request's id.
    pub(super) fn response_with(&self, body: Bytes) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(body));
        response.headers_mut().clone_from(&self.fields);
        response
    }

    fn field(&self, name: &HeaderName) -> Option<&str> {
        self.fields.get(name)?.to_str().ok()
    }
}
