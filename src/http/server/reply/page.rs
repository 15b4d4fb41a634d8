//! Replies that are pages for people: their protective header fields and their language.

use hyper::header::{self, HeaderName, HeaderValue};

use super::{Reply, status_code_and_fields};
use crate::domain::refusal::Refusal;
use crate::http::server::language::Language;
use crate::store::Error;

/// Header fields that protect every page for people, in addition to those of every response.
const PAGE_PROTECTIVE_FIELDS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The content security policy of pages, which load styles and images only from this service, and send forms only to
/// this service.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                           frame-ancestors 'none'";

/// A failed request that a page explains.
pub(in crate::http) struct FailedRequest<'a> {
    pub(in crate::http) error: &'a Error,
    pub(in crate::http) status: u16,
    /// The request's id, which links the page to the operator's log.
    pub(in crate::http) request_id: &'a str,
}

/// A function that renders the page for a failed request. The server module has no pages of its own.
pub(in crate::http::server) type ProblemPage = fn(&FailedRequest<'_>, Language) -> Result<Reply, Error>;

impl Reply {
    /// Creates a 200 reply with a page from a template. Add `Cache-Control` to the result.
    pub(in crate::http) fn rendered(page: &impl askama::Template) -> Result<Self, Error> {
        let body = page.render().map_err(|error| Error::Defect(format!("a page cannot be rendered: {error}")))?;
        let mut reply = Self::ok("text/html; charset=utf-8", body.into());
        reply.headers.extend(PAGE_PROTECTIVE_FIELDS.map(|(name, value)| (name, HeaderValue::from_static(value))));
        Ok(reply)
    }

    /// Creates a page with the status of a refusal. The page explains the refusal.
    pub(in crate::http) fn rendered_refusal(refusal: &Refusal, page: &impl askama::Template) -> Result<Self, Error> {
        let (status, _, headers) = status_code_and_fields(&Error::Refused(refusal.clone()), "");
        let mut reply = Self { status, ..Self::rendered(page)? }.with(header::CACHE_CONTROL, "no-store");
        reply.headers.extend(headers);
        Ok(reply)
    }

    /// Marks the page as written in this language. Other readers may get another language, so the response varies by
    /// `Accept-Language`.
    pub(in crate::http) fn in_language(self, tag: &str) -> Self {
        self.with(header::CONTENT_LANGUAGE, tag).with(header::VARY, "Accept-Language")
    }

    /// Creates the reply to a person's failed request: the page from `render`, or a problem document if `render` fails.
    pub(in crate::http::server) fn problem_page(
        error: &Error,
        realm: &str,
        request_id: &str,
        language: Language,
        render: ProblemPage,
    ) -> Self {
        let (status, _, headers) = status_code_and_fields(error, realm);
        match render(&FailedRequest { error, status: status.as_u16(), request_id }, language) {
            Ok(page) => {
                let mut reply = Self { status, ..page };
                reply.headers.extend(headers);
                reply
            }
            Err(_) => Self::problem(error, realm, request_id),
        }
    }
}
