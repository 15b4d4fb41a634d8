//! Answers users who must set up a second factor before anything else.

use askama::Template;

use super::super::frame::PlainFrame;
use super::super::visit;
use super::path::{PATH, next_query};
use crate::domain::return_path;
use crate::http::pages::texts;
use crate::http::pages::texts::console::second_factor::{SECOND_FACTOR, SecondFactorTexts};
use crate::http::server::language::Language;
use crate::http::server::reply::Reply;
use crate::http::server::reply::page::StaffRequest;
use crate::store::Error;

#[derive(Template)]
#[template(path = "console/missing_factor.html", config = "src/http/pages/templates/askama.toml")]
struct MissingPage {
    frame: PlainFrame,
    words: &'static SecondFactorTexts,
    url: &'static str,
}

#[derive(Template)]
#[template(path = "console/missing_factor_part.html", config = "src/http/pages/templates/askama.toml")]
struct MissingPart {
    words: &'static SecondFactorTexts,
    url: &'static str,
}

/// Answers a request of a user who must set up a second factor first. A request for a page is redirected to the
/// second-factor page, and the requested page opens after the setup. A submitted form is not processed.
pub(in crate::http::pages) fn instead(request: &StaffRequest, language: Language) -> Result<Reply, Error> {
    if request.is_safe {
        let next = return_path::parse(&request.target).filter(|next| *next != "/app");
        return Ok(Reply::see_other(&format!("{PATH}{}", next_query(next))));
    }
    let texts = texts::of_language(language);
    let words = SECOND_FACTOR.of(texts);
    if request.wants_parts {
        return Reply::console(&MissingPart { words, url: PATH });
    }
    let (title, theme) = (words.title.to_owned(), visit::theme_of(&request.cookies));
    Reply::console(&MissingPage { frame: PlainFrame { texts, title, theme }, words, url: PATH })
}
