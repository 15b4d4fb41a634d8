//! `GET /app`: the first page of the console.

use askama::Template;
use hyper::Method;

use super::frame::{ConsoleFrame, NavItem};
use super::visit::Visit;
use crate::domain::user::Principal;
use crate::http::pages::texts::console::frame::FRAME;
use crate::http::pages::texts::console::home::{HOME, HomeTexts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::{Error, Tx};

#[derive(Template)]
#[template(path = "console/home.html", config = "src/http/pages/templates/askama.toml")]
struct HomePage {
    frame: ConsoleFrame,
    words: &'static HomeTexts,
}

pub(super) fn routes() -> Vec<Route> {
    vec![Route::staff(Method::GET, "/app", decode, show).answering(&[(200, "")])]
}

fn decode(_: &Ctx, request: &Request) -> Result<Visit, Error> {
    Ok(Visit::decode(request)?)
}

/// `GET /app`: shows the user's organizations.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, visit: &Visit) -> Result<Reply, Error> {
    let texts = visit.texts_for(tx, who)?;
    let frame = visit.frame(tx, who, None, NavItem::Inbox, FRAME.of(texts).inbox.to_owned())?;
    Reply::console(&HomePage { frame, words: HOME.of(texts) })
}
