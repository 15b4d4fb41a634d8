//! A request for a status page: its link, its language, and the header fields that protect its responses.

use hyper::header::{self, HeaderName};

use crate::domain::id::AttachmentId;
use crate::domain::status_page;
use crate::http::pages::texts::{self, Texts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::status_page::view::{self, StatusPageView};
use crate::store::status_page::{self as pages, StatusPage};
use crate::store::{Error, Tx};

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

pub(super) struct StatusVisit {
    pub(super) token: String,
    /// The texts in the language that the query names, or else in the best match for the browser's languages.
    pub(super) texts: &'static Texts,
    /// Whether the query names a language. If it does not, the page is in the language of the application.
    pub(super) has_language: bool,
    /// Whether the candidate has just submitted the application. The redirect after a signup sets `new=1`.
    pub(super) is_new: bool,
}

/// # Errors
/// `validation_error` if a parameter is given twice.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<StatusVisit, Error> {
    Ok(StatusVisit {
        token: request.param("token").to_owned(),
        texts: texts::of(request)?,
        has_language: request.query("lang")?.is_some() || request.query("locale")?.is_some(),
        is_new: request.query("new")?.as_deref() == Some("1"),
    })
}

/// The status page of a link, and the texts in the language of the page.
pub(super) struct FoundStatusPage {
    pub(super) page: StatusPage,
    pub(super) view: StatusPageView,
    pub(super) texts: &'static Texts,
}

impl StatusVisit {
    /// Finds the page. Returns `None` if the link is unknown or spent.
    pub(super) fn find(&self, tx: &Tx<'_>) -> Result<Option<FoundStatusPage>, Error> {
        let Some(page) = pages::find(tx, &status_page::token_digest(&self.token))? else { return Ok(None) };
        let Some(view) = view::load(tx, &page)? else { return Ok(None) };
        let texts = if self.has_language { self.texts } else { texts::of_tag(&page.locale) };
        Ok(Some(FoundStatusPage { page, view, texts }))
    }

    /// Returns the path of the page, with the chosen language if there is one.
    pub(super) fn path(&self) -> String {
        format!("/status/{}{}", self.token, self.query())
    }

    /// Returns the path of an attachment's download.
    pub(super) fn attachment_path(&self, attachment: &AttachmentId) -> String {
        format!("/status/{}/documents/{}{}", self.token, attachment.as_str(), self.query())
    }

    /// Returns the query that preserves a chosen language, or an empty string if no language was chosen.
    pub(super) fn query(&self) -> String {
        if self.has_language { format!("?lang={}", self.texts.tag) } else { String::new() }
    }
}

/// Adds the header field that excludes a response behind a secret link from search engines.
pub(super) fn with_robots_disallowed(reply: Reply) -> Reply {
    reply.with(X_ROBOTS_TAG, "noindex, nofollow")
}

/// Marks a page behind a secret link: search engines must not list it, and caches must not store it.
pub(super) fn private_page(reply: Reply, texts: &Texts) -> Reply {
    let reply = with_robots_disallowed(reply);
    reply.with(header::CACHE_CONTROL, "no-store").with(header::CONTENT_LANGUAGE, texts.tag)
}
