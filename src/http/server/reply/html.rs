//! Answers that are pages for people: what protects them, and their language.

use hyper::header::{self, HeaderName, HeaderValue};

use super::{Reply, verdict};
use crate::domain::refusal::Refusal;
use crate::http::server::language::Language;
use crate::store::Error;

/// What protects every page for candidates besides.
const PAGE_SAFE: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// What a page for candidates may do: show itself in this service's styles and pictures, and send its forms here.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                           frame-ancestors 'none'";

/// A failed request, as a page explains it.
pub(in crate::http) struct Problem<'a> {
    /// The cause.
    pub(in crate::http) error: &'a Error,
    /// The status of the response.
    pub(in crate::http) status: u16,
    /// The id of the request, by which the operator finds it in the log.
    pub(in crate::http) request_id: &'a str,
}

/// Renders the page for a failed request. The server has no page of its own.
pub(in crate::http) type ProblemPage = fn(&Problem<'_>, Language) -> Result<Reply, Error>;

impl Reply {
    /// 200 with a page made from a template. Nobody keeps it but by its own fields.
    pub(in crate::http) fn rendered(page: &impl askama::Template) -> Result<Self, Error> {
        let body = page.render().map_err(|error| Error::Defect(format!("a page cannot be written: {error}")))?;
        let mut reply = Self::ok("text/html; charset=utf-8", body.into());
        reply.headers.extend(PAGE_SAFE.map(|(name, value)| (name, HeaderValue::from_static(value))));
        Ok(reply)
    }

    /// The same with the status of a refusal: what the page says is why.
    pub(in crate::http) fn rendered_refusal(refusal: &Refusal, page: &impl askama::Template) -> Result<Self, Error> {
        let (status, _, headers) = verdict(&Error::Refused(refusal.clone()), "");
        let mut reply = Self { status, ..Self::rendered(page)? }.with(header::CACHE_CONTROL, "no-store");
        reply.headers.extend(headers);
        Ok(reply)
    }

    /// A page in this language, which another reader would get in another one.
    pub(in crate::http) fn in_language(self, tag: &str) -> Self {
        self.with(header::CONTENT_LANGUAGE, tag).with(header::VARY, "Accept-Language")
    }

    /// The answer to a failed request of a person: a page where `render` makes one, else a problem document.
    pub(in crate::http) fn problem_page(
        error: &Error,
        realm: &str,
        request_id: &str,
        language: Language,
        render: ProblemPage,
    ) -> Self {
        let (status, _, headers) = verdict(error, realm);
        match render(&Problem { error, status: status.as_u16(), request_id }, language) {
            Ok(page) => {
                let mut reply = Self { status, ..page };
                reply.headers.extend(headers);
                reply
            }
            Err(_) => Self::problem(error, realm, request_id),
        }
    }
}
