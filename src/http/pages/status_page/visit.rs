//! A reader of a status page: the link, the language, and what protects the answers behind it.

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

/// Who reads, behind which link.
pub(super) struct Visit {
    pub(super) token: String,
    /// What the request asks for, or its browser.
    pub(super) texts: &'static Texts,
    /// Whether the request itself says so.
    pub(super) is_chosen: bool,
    /// Whether the application was just sent.
    pub(super) is_new: bool,
}

/// What every page here is asked for by.
///
/// # Errors
/// `validation_error` where a parameter is there twice.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<Visit, Error> {
    Ok(Visit {
        token: request.param("token").to_owned(),
        texts: texts::of(request)?,
        is_chosen: request.query("lang")?.is_some() || request.query("locale")?.is_some(),
        is_new: request.query("new")?.as_deref() == Some("1"),
    })
}

/// A page that a link leads to, and the language that it speaks to this reader.
pub(super) struct FoundPage {
    pub(super) page: StatusPage,
    pub(super) shown: StatusPageView,
    pub(super) texts: &'static Texts,
}

impl Visit {
    /// Where the link leads; `None` where it leads nowhere, or does not any more.
    pub(super) fn find(&self, tx: &Tx<'_>) -> Result<Option<FoundPage>, Error> {
        let Some(page) = pages::find(tx, &status_page::token_digest(&self.token))? else { return Ok(None) };
        let Some(shown) = view::load(tx, &page)? else { return Ok(None) };
        let texts = if self.is_chosen { self.texts } else { texts::of_tag(&page.locale) };
        Ok(Some(FoundPage { page, shown, texts }))
    }

    /// The page itself. Who chose a language keeps it.
    pub(super) fn path(&self) -> String {
        format!("/status/{}{}", self.token, self.query())
    }

    /// The path from which an attachment is downloaded.
    pub(super) fn path_of(&self, attachment: &AttachmentId) -> String {
        format!("/status/{}/documents/{}{}", self.token, attachment.as_str(), self.query())
    }

    /// The query that keeps a language that was chosen.
    pub(super) fn query(&self) -> String {
        if self.is_chosen { format!("?lang={}", self.texts.tag) } else { String::new() }
    }
}

/// An answer behind a link that is nobody else's business: kept nowhere and found by nobody.
pub(super) fn private(reply: Reply) -> Reply {
    reply.with(X_ROBOTS_TAG, "noindex, nofollow")
}

/// The same of a page, which nobody keeps, in this language.
pub(super) fn private_page(reply: Reply, texts: &Texts) -> Reply {
    private(reply).with(header::CACHE_CONTROL, "no-store").with(header::CONTENT_LANGUAGE, texts.tag)
}
