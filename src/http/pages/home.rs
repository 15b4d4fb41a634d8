//! `GET /`: the name and version of the service for programs, and a page for people.
//!
//! The page links to a portal only if exactly one organization has one. A list of portals would reveal the customers of
//! the service to each other. `robots.txt` follows the same rule.

use std::ops::ControlFlow;

use askama::Template;
use hyper::{Method, header};
use serde::Serialize;

use super::frame::{self, Frame};
use super::texts::home::Home;
use super::texts::{self, Texts, fill};
use crate::domain::accept;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::route::Route;
use crate::store::{self, Error, Tx};

const PATH: &str = "/";

/// The name of the service, in all languages.
const NAME: &str = "Recruiting appliance";

#[derive(Template)]
#[template(path = "home.html", config = "src/http/pages/templates/askama.toml")]
struct HomePage<'a> {
    frame: Frame<'a>,
    words: &'static Home,
    portal: Option<PortalButton>,
}

/// The link to the only portal.
struct PortalButton {
    slug: String,
    text: String,
}

pub(in crate::http) fn routes() -> Vec<Route> {
    let route = Route::reply_or_read(Audience::Api, Method::GET, PATH, decode, page);
    vec![route.answering(&[(200, ""), (400, "validation_error")])]
}

/// Creates the reply to a program. This reply needs no transaction. For a person, chooses the language of the page.
///
/// # Errors
/// `validation_error` if `lang` or `locale` is repeated in a person's request.
fn decode(_: &Ctx, request: &Request) -> Result<ControlFlow<Reply, &'static Texts>, Error> {
    let accepted = request.headers().get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if accept::prefers_html(&accepted.collect::<Vec<_>>().join(",")) {
        return Ok(ControlFlow::Continue(texts::of(request)?));
    }
    let reply = Reply::json(&WireName { name: NAME, version: env!("CARGO_PKG_VERSION") });
    Ok(ControlFlow::Break(reply.with(header::VARY, "Accept")))
}

/// `GET /` for people: describes the service, and links to the API reference. If there is exactly one portal, the page
/// also links to the portal.
fn page(_: &Ctx, tx: &Tx<'_>, texts: &&'static Texts) -> Result<Reply, Error> {
    let portal = store::portal::only(tx)?.map(|portal| PortalButton {
        text: fill(texts.careers.title, &[("organization", &portal.name)]),
        slug: portal.slug,
    });
    let languages = frame::language_links(texts, PATH);
    let frame = Frame { texts, title: NAME.to_owned(), organization: None, languages, is_indexed: false };
    let reply = Reply::rendered(&HomePage { frame, words: &texts.home, portal })?;
    Ok(reply
        .with(header::CONTENT_LANGUAGE, texts.tag)
        .with(header::VARY, "Accept, Accept-Language")
        .with(header::CACHE_CONTROL, "no-store"))
}

#[derive(Serialize)]
struct WireName {
    name: &'static str,
    version: &'static str,
}
