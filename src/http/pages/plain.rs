//! Plain pages for people: a heading and what there is to say.

use askama::Template;

use super::frame::Frame;
use super::texts::Texts;

/// A page with a heading and paragraphs. All of it is text: nothing in it is read as markup.
#[derive(Template)]
#[template(path = "plain.html", config = "src/http/pages/templates/askama.toml")]
pub(in crate::http) struct Plain<'a> {
    frame: Frame<'a>,
    paragraphs: &'a [String],
}

impl<'a> Plain<'a> {
    /// Of nobody's portal, and not for search engines.
    pub(in crate::http) fn new(texts: &'static Texts, title: &str, paragraphs: &'a [String]) -> Self {
        let frame =
            Frame { texts, title: title.to_owned(), organization: None, choices: Vec::new(), is_indexed: false };
        Self { frame, paragraphs }
    }
}

/// A text as it stands in HTML, in an attribute too.
pub(in crate::http) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::pages::texts;

    #[test]
    fn text_stays_text() {
        let paragraphs = ["{{ title }} <script>'\"".to_owned()];
        let page = Plain::new(texts::of_tag("de"), "<b>&", &paragraphs).render().unwrap();
        assert!(page.contains("<h1>&#60;b&#62;&#38;</h1>") && page.contains("<html lang=\"de\">"), "{page}");
        assert!(page.contains("<p>{{ title }} &#60;script&#62;&#39;&#34;</p>"), "{page}");
    }
}
