//! The page for a person whose request failed: a heading, an explanation and the request id.

use askama::Template;
use hyper::header;

use super::console::{confirm, second_factor, sign_in};
use super::frame::Frame;
use super::texts::{self, Texts, fill};
use crate::domain::refusal::Refusal;
use crate::http::server::language::Language;
use crate::http::server::reply::Reply;
use crate::http::server::reply::page::FailedRequest;
use crate::store::Error;

/// The template escapes the title and the paragraphs.
#[derive(Template)]
#[template(path = "problem.html", config = "src/http/pages/templates/askama.toml")]
struct ProblemPage<'a> {
    frame: Frame<'a>,
    paragraphs: &'a [String],
}

impl<'a> ProblemPage<'a> {
    /// Creates a page of the service itself, which does not name an organization. Search engines must not list the page.
    fn new(texts: &'static Texts, title: &str, paragraphs: &'a [String]) -> Self {
        let frame =
            Frame { texts, title: title.to_owned(), organization: None, languages: Vec::new(), is_indexed: false };
        Self { frame, paragraphs }
    }
}

/// Renders the page for a failed request.
///
/// # Errors
/// [`Error::Defect`] if the template cannot be rendered.
pub(in crate::http) fn page(problem: &FailedRequest<'_>, language: Language) -> Result<Reply, Error> {
    if let (Some(staff), Error::Refused(refusal)) = (problem.staff, problem.error) {
        match refusal {
            Refusal::Unauthorized { .. } => return sign_in::instead(staff, language),
            Refusal::SecondFactorMissing => return second_factor::instead(staff, language),
            Refusal::ConfirmationRequired(confirmation) => return confirm::instead(staff, confirmation, language),
            _ => {}
        }
    }
    let texts = texts::of_language(language);
    let common = &texts.common;
    if let Error::Refused(Refusal::OtherOrigin { page, own }) = problem.error {
        let more = fill(common.other_origin, &[("page", page), ("own", own)]);
        let page = Reply::rendered(&ProblemPage::new(texts, common.refused, &[more]))?;
        return Ok(page.in_language(texts.tag).with(header::CACHE_CONTROL, "no-store"));
    }
    let (title, more) = match problem.status {
        500 if matches!(problem.error, Error::OutcomeUnknown(_)) => (common.failed, common.unknown_more),
        404 | 410 => (common.not_found, common.not_found_more),
        429 => (common.too_many, common.too_many_more),
        503 => (common.unavailable, common.unavailable_more),
        500.. => (common.failed, common.failed_more),
        _ => (common.refused, common.refused_more),
    };
    let paragraphs = [more.to_owned(), fill(common.ask, &[("number", problem.request_id)])];
    let page = Reply::rendered(&ProblemPage::new(texts, title, &paragraphs))?;
    Ok(page.in_language(texts.tag).with(header::CACHE_CONTROL, "no-store"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_paragraphs_are_escaped() {
        let paragraphs = ["{{ title }} <script>'\"".to_owned()];
        let page = ProblemPage::new(texts::of_tag("de"), "<b>&", &paragraphs).render().unwrap();
        assert!(page.contains("<h1>&#60;b&#62;&#38;</h1>") && page.contains("<html lang=\"de\">"), "{page}");
        assert!(page.contains("<p>{{ title }} &#60;script&#62;&#39;&#34;</p>"), "{page}");
    }
}
