//! `/status/{token}`: where a candidate sees where they stand, takes the application back, downloads what they sent, and has
//! it deleted. Whoever has the link may: there is nothing to sign in to.
//!
//! What the page shows is in `view`, the downloads in `data`, and what changes something in `acts`.

mod acts;
mod data;
mod view;

use hyper::Method;
use hyper::header::{self, HeaderName};

use super::texts::{self, Texts};
use crate::domain::id::AttachmentId;
use crate::domain::status_page;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::status_page::shown::{self, Shown};
use crate::store::status_page::{self as pages, StatusPage};
use crate::store::{Error, Grade, Tx};

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/status/{token}";
    vec![
        Route::open(Method::GET, path, decode, view::show).for_people().answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::open(Method::GET, "/status/{token}/data", decode, data::download).for_people().answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
        ]),
        Route::open(
            Method::GET,
            "/status/{token}/documents/{documentId}",
            data::decode_document,
            data::download_document,
        )
        .for_people()
        .answering(&[(200, ""), (400, "validation_error"), (404, "not_found")]),
        Route::open(Method::POST, "/status/{token}/withdraw", decode, acts::withdraw)
            .for_people()
            .evenly()
            .writes(Grade::Durable)
            .answering(&[(303, ""), (400, "validation_error"), (404, "not_found")]),
        Route::open(Method::POST, "/status/{token}/delete", decode, acts::delete)
            .for_people()
            .evenly()
            .writes(Grade::Vital)
            .answering(&[(200, ""), (303, ""), (400, "validation_error"), (404, "not_found")]),
    ]
}

/// Who reads, behind which link.
struct Visit {
    token: String,
    /// What the request asks for, or its browser.
    texts: &'static Texts,
    /// Whether the request itself says so.
    is_chosen: bool,
    /// Whether the application was just sent.
    is_new: bool,
}

/// What every page here is asked for by.
///
/// # Errors
/// `validation_error` where a parameter is there twice.
fn decode(_: &Ctx, request: &Request) -> Result<Visit, Error> {
    Ok(Visit {
        token: request.param("token").to_owned(),
        texts: texts::of(request)?,
        is_chosen: request.query("lang")?.is_some() || request.query("locale")?.is_some(),
        is_new: request.query("new")?.as_deref() == Some("1"),
    })
}

/// A page that a link leads to, and the language that it speaks to this reader.
struct Found {
    page: StatusPage,
    shown: Shown,
    texts: &'static Texts,
}

impl Visit {
    /// Where the link leads; `None` where it leads nowhere, or does not any more.
    fn find(&self, tx: &Tx<'_>) -> Result<Option<Found>, Error> {
        let Some(page) = pages::find(tx, &status_page::token_digest(&self.token))? else { return Ok(None) };
        let Some(shown) = shown::of(tx, &page)? else { return Ok(None) };
        let texts = if self.is_chosen { self.texts } else { texts::of_tag(&page.locale) };
        Ok(Some(Found { page, shown, texts }))
    }

    /// The page itself. Who chose a language keeps it.
    fn path(&self) -> String {
        format!("/status/{}{}", self.token, self.query())
    }

    /// Where a document is downloaded.
    fn path_of(&self, document: &AttachmentId) -> String {
        format!("/status/{}/documents/{}{}", self.token, document.as_str(), self.query())
    }

    /// The query that keeps a language that was chosen.
    fn query(&self) -> String {
        if self.is_chosen { format!("?lang={}", self.texts.tag) } else { String::new() }
    }
}

/// An answer behind a link that is nobody else's business: kept nowhere and found by nobody.
fn private(reply: Reply) -> Reply {
    reply.with(X_ROBOTS_TAG, "noindex, nofollow")
}

/// The same of a page, which nobody keeps, in this language.
fn private_page(reply: Reply, texts: &Texts) -> Reply {
    private(reply).with(header::CACHE_CONTROL, "no-store").with(header::CONTENT_LANGUAGE, texts.tag)
}
