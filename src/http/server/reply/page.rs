//! Replies that are pages for people: their protective header fields and their language.

use hyper::header::{self, HeaderName, HeaderValue};

use super::{Reply, status_code_and_fields};
use crate::domain::refusal::Refusal;
use crate::http::server::language::Language;
use crate::store::Error;

/// Header fields that protect rendered pages, in addition to those of every response.
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

/// The content security policy of the console's pages, which also run this service's own modules. The modules set HTML
/// only through one Trusted Types policy (W3C Trusted Types §3.3).
const CONSOLE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                              connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; \
                              frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types console";

/// The content security policy of a page that the staff console shows in a frame. The page cannot send forms.
const FRAMED_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; \
                             base-uri 'none'; frame-ancestors 'self'";

/// The facts about a request to the staff console that the problem page needs, for example to repeat the request after
/// a sign-in.
#[derive(Debug, Clone)]
pub(in crate::http) struct StaffRequest {
    /// Whether the request only reads, so that a browser may repeat it.
    pub(in crate::http) is_safe: bool,
    /// The path and the query.
    pub(in crate::http) target: String,
    /// Whether one of the console's modules sent the request and replaces parts of its page with the answer.
    pub(in crate::http) wants_parts: bool,
    /// The cookies of the browser, one of which may contain the theme.
    pub(in crate::http) cookies: Vec<(String, String)>,
    /// The fields of the form that the person submitted, if they may be carried through a sign-in.
    pub(in crate::http) fields: Vec<(String, String)>,
}

/// A failed request that a page explains.
pub(in crate::http) struct FailedRequest<'a> {
    pub(in crate::http) error: &'a Error,
    pub(in crate::http) status: u16,
    /// The request, if it was sent to the staff console.
    pub(in crate::http) staff: Option<&'a StaffRequest>,
    /// The request's id, which links the page to the operator's log.
    pub(in crate::http) request_id: &'a str,
}

/// A function that renders the page for a failed request. The server module has no pages of its own.
pub(in crate::http::server) type ProblemPage = fn(&FailedRequest<'_>, Language) -> Result<Reply, Error>;

impl Reply {
    /// Creates a 200 reply with a page from a template. Add `Cache-Control` to the reply.
    pub(in crate::http) fn rendered(page: &impl askama::Template) -> Result<Self, Error> {
        let body = page.render().map_err(|error| Error::Defect(format!("a page cannot be rendered: {error}")))?;
        let mut reply = Self::ok("text/html; charset=utf-8", body.into());
        reply.headers.extend(PAGE_PROTECTIVE_FIELDS.map(|(name, value)| (name, HeaderValue::from_static(value))));
        Ok(reply)
    }

    /// Creates a 200 reply with a page of the console, or with parts of such a page. With the
    /// `Referrer-Policy` `same-origin`, browsers send the page's origin with the console's forms. With `no-referrer`,
    /// they would send `Origin: null`.
    pub(in crate::http) fn console(page: &impl askama::Template) -> Result<Self, Error> {
        let mut reply = Self::rendered(page)?;
        reply.headers.retain(|(name, _)| *name != header::CONTENT_SECURITY_POLICY);
        Ok(reply
            .with(header::CONTENT_SECURITY_POLICY, CONSOLE_POLICY)
            .with(header::REFERRER_POLICY, "same-origin")
            .with(header::CACHE_CONTROL, "no-store")
            .with(header::VARY, "X-Part, Accept-Language, Cookie"))
    }

    /// Creates a 200 reply with a page that the console shows in a frame.
    pub(in crate::http) fn framed(page: &impl askama::Template) -> Result<Self, Error> {
        let mut reply = Self::rendered(page)?;
        reply.headers.retain(|(name, _)| *name != header::CONTENT_SECURITY_POLICY);
        Ok(reply
            .with(header::CONTENT_SECURITY_POLICY, FRAMED_POLICY)
            .with(header::CACHE_CONTROL, "no-store")
            .with(header::VARY, "Accept-Language, Cookie"))
    }

    /// Creates a page of the console with the status of a refusal. The page explains the refusal.
    pub(in crate::http) fn console_refusal(refusal: &Refusal, page: &impl askama::Template) -> Result<Self, Error> {
        let (status, _, headers) = status_code_and_fields(&Error::Refused(refusal.clone()), "");
        let mut reply = Self { status, ..Self::console(page)? };
        reply.headers.extend(headers);
        Ok(reply)
    }

    /// Gives the reply the status and the header fields of a refusal, which the reply's body explains.
    pub(in crate::http) fn refusing(self, refusal: &Refusal) -> Self {
        let (status, _, headers) = status_code_and_fields(&Error::Refused(refusal.clone()), "");
        let mut reply = Self { status, ..self };
        reply.headers.extend(headers);
        reply
    }

    /// Creates a page with the status of a refusal. The page explains the refusal.
    pub(in crate::http) fn rendered_refusal(refusal: &Refusal, page: &impl askama::Template) -> Result<Self, Error> {
        let (status, _, headers) = status_code_and_fields(&Error::Refused(refusal.clone()), "");
        let mut reply = Self { status, ..Self::rendered(page)? }.with(header::CACHE_CONTROL, "no-store");
        reply.headers.extend(headers);
        Ok(reply)
    }

    /// Names the language of the page. Other people can get the page in another language, so the response varies by
    /// `Accept-Language`.
    pub(in crate::http) fn in_language(self, tag: &str) -> Self {
        self.with(header::CONTENT_LANGUAGE, tag).with(header::VARY, "Accept-Language")
    }

    /// Creates the reply to a person's failed request: the page or the redirect from `render`, or a problem document if
    /// `render` fails.
    pub(in crate::http::server) fn problem_page(
        error: &Error,
        realm: &str,
        request_id: &str,
        language: Language,
        staff: Option<&StaffRequest>,
        render: ProblemPage,
    ) -> Self {
        let (status, _, headers) = status_code_and_fields(error, realm);
        match render(&FailedRequest { error, status: status.as_u16(), staff, request_id }, language) {
            Ok(redirect) if redirect.status.is_redirection() => redirect,
            Ok(page) => {
                let mut reply = Self { status, ..page };
                reply.headers.extend(headers);
                reply
            }
            Err(_) => Self::problem(error, realm, request_id),
        }
    }
}
