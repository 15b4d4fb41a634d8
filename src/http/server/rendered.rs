//! Answers that are given to more than one request, made ready once.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::gzip;
use super::reply::{self, Reply, X_REQUEST_ID};

/// A 200 that is given to more than one request, as hyper sends it.
pub(in crate::http) struct Rendered {
    fields: HeaderMap,
    body: Bytes,
}

impl Rendered {
    pub(in crate::http) fn new(reply: Reply) -> Self {
        let body = reply.body();
        let (mut parts, _) = reply.into_unnamed().into_parts();
        // Its place, so that each answer has room for it.
        parts.headers.insert(X_REQUEST_ID, HeaderValue::from_static(""));
        Self { fields: parts.headers, body }
    }

    /// With one more field.
    pub(in crate::http) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.fields.insert(name, value);
        self
    }

    /// Its body.
    pub(in crate::http) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Bytes of its body.
    pub(in crate::http) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// Whether it is worth compressing.
    pub(in crate::http) fn is_worth_compressing(&self) -> bool {
        gzip::is_worth(self.field(&header::CONTENT_TYPE).unwrap_or_default(), self.body.len())
    }

    /// The same, saying that it depends on what codings the reader takes, besides whatever else it depends on.
    pub(in crate::http) fn varying_by_coding(self) -> Self {
        let varies = match self.field(&header::VARY) {
            Some(others) => HeaderValue::try_from(format!("{others}, Accept-Encoding")).ok(),
            None => Some(HeaderValue::from_static("Accept-Encoding")),
        };
        match varies {
            Some(varies) => self.with(header::VARY, varies),
            None => self,
        }
    }

    /// The same compressed, with a tag of its own (RFC 9110 §8.8.3.3), where it is smaller then.
    pub(in crate::http) fn compressed(&self) -> Option<Self> {
        Some(self.compressed_to(gzip::compress(&self.body)?.into()))
    }

    /// The same with this as its body compressed.
    pub(in crate::http) fn compressed_to(&self, body: Bytes) -> Self {
        let mut fields = self.fields.clone();
        let tag = self.field(&header::ETAG).and_then(|tag| tag.strip_suffix('"'));
        let tag = tag.and_then(|tag| HeaderValue::try_from(format!("{tag}-gzip\"")).ok());
        if let Some(tag) = tag {
            fields.insert(header::ETAG, tag);
        }
        fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Self { fields, body }
    }

    /// The same without its body.
    pub(in crate::http) fn without_body(self) -> Self {
        Self { body: Bytes::new(), ..self }
    }

    /// Whether a request says that the caller has it already.
    pub(in crate::http) fn is_had_already(&self, asked: &HeaderMap) -> bool {
        reply::is_matching(&self.fields, asked)
    }

    /// The answer to one request, but for the request's id.
    pub(in crate::http) fn response(&self) -> Response<Full<Bytes>> {
        self.response_with(self.body.clone())
    }

    /// The same with another body.
    pub(in crate::http) fn response_with(&self, body: Bytes) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(body));
        response.headers_mut().clone_from(&self.fields);
        response
    }

    fn field(&self, name: &HeaderName) -> Option<&str> {
        self.fields.get(name)?.to_str().ok()
    }
}
