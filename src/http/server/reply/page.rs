//! Answers that are pages for people: what protects them, and their language.

use hyper::header::{self, HeaderName, HeaderValue};

use super::{Reply, verdict};
use crate::domain::refusal::Refusal;
use crate::http::pages::plain::Plain;
use crate::http::pages::texts::{Texts, fill};
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

impl Reply {
    /// 200 with a page for people, of a heading and paragraphs, which nobody keeps.
    pub(in crate::http) fn page(texts: &'static Texts, title: &str, paragraphs: &[String]) -> Result<Self, Error> {
        let reply = Self::rendered(&Plain::new(texts, title, paragraphs))?.in_language(texts.tag);
        Ok(reply.with(header::CACHE_CONTROL, "no-store"))
    }

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

    /// The same as a page, where a person asked for one.
    pub(in crate::http) fn problem_page(error: &Error, realm: &str, request_id: &str, texts: &'static Texts) -> Self {
        let (status, _, headers) = verdict(error, realm);
        let common = &texts.common;
        let (title, more) = match status.as_u16() {
            500 if matches!(error, Error::OutcomeUnknown(_)) => (common.failed, common.unknown_more),
            404 | 410 => (common.not_found, common.not_found_more),
            429 => (common.too_many, common.too_many_more),
            503 => (common.unavailable, common.unavailable_more),
            500.. => (common.failed, common.failed_more),
            _ => (common.refused, common.refused_more),
        };
        let paragraphs = [more.to_owned(), fill(common.ask, &[("number", request_id)])];
        match Self::page(texts, title, &paragraphs) {
            Ok(page) => {
                let mut reply = Self { status, ..page };
                reply.headers.extend(headers);
                reply
            }
            Err(_) => Self::problem(error, realm, request_id),
        }
    }
}
