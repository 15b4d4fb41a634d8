//! The page for a person whose request failed: a heading, an explanation and, for most failures, the request id.

use askama::Template;
use hyper::header;

use super::console::{confirm, second_factor, sign_in};
use super::frame::Frame;
use super::texts::console::frame::FRAME;
use super::texts::{self, Texts, fill};
use crate::domain::refusal::Refusal;
use crate::http::server::language::Language;
use crate::http::server::reply::Reply;
use crate::http::server::reply::page::FailedRequest;
use crate::store::Error;

/// The page for a failed request. The template escapes the title and the paragraphs.
#[derive(Template)]
#[template(path = "problem.html", config = "src/http/pages/templates/askama.toml")]
struct ProblemPage<'a> {
    frame: Frame<'a>,
    paragraphs: &'a [String],
}

impl<'a> ProblemPage<'a> {
    /// Creates a page of the service itself. The page names no organization, and search engines must not list it.
    fn new(texts: &'static Texts, title: &str, paragraphs: &'a [String]) -> Self {
        let frame =
            Frame { texts, title: title.to_owned(), organization: None, languages: Vec::new(), is_indexed: false };
        Self { frame, paragraphs }
    }
}

/// The content of [`ProblemPage`] as a dialog, for a request whose answer replaces parts of a page of the console. The
/// dialog opens over that page.
#[derive(Template)]
#[template(path = "console/problem_part.html", config = "src/http/pages/templates/askama.toml")]
struct ProblemPart<'a> {
    title: &'a str,
    paragraphs: &'a [String],
    close: &'a str,
}

/// Renders the page for a failed request. For a request to the console that only lacks a sign-in, a second factor or a
/// confirmation, returns the answer that asks for it.
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
    let (title, paragraphs) = explanation(problem, texts);
    let reply = if problem.staff.is_some_and(|staff| staff.wants_parts) {
        let close = FRAME.of(texts).close;
        Reply::rendered(&ProblemPart { title, paragraphs: &paragraphs, close })?
    } else {
        Reply::rendered(&ProblemPage::new(texts, title, &paragraphs))?
    };
    Ok(reply.in_language(texts.tag).with(header::CACHE_CONTROL, "no-store"))
}

/// Returns the title and the paragraphs of the page.
fn explanation(problem: &FailedRequest<'_>, texts: &'static Texts) -> (&'static str, Vec<String>) {
    let common = &texts.common;
    if let Error::Refused(refusal @ Refusal::OtherOrigin { .. }) = problem.error {
        return (common.refused, vec![common.refusal(refusal)]);
    }
    let (title, more) = match problem.status {
        500 if matches!(problem.error, Error::OutcomeUnknown(_)) => (common.failed, common.unknown_more),
        404 | 410 => (common.not_found, common.not_found_more),
        429 => (common.too_many, common.too_many_more),
        503 => (common.unavailable, common.unavailable_more),
        500.. => (common.failed, common.failed_more),
        _ => (common.refused, common.refused_more),
    };
    (title, vec![more.to_owned(), fill(common.ask, &[("number", problem.request_id)])])
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
