//! Pages for candidates: the frame that all of them have. What is in them is with their nouns; the templates of all are in
//! this folder, where everything that is put into one is escaped.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::texts::{self, Texts};
use crate::domain::id;
use crate::http::server::reply::Reply;

/// The look of every page.
pub(in crate::http) const STYLE: &str = include_str!("templates/page.css");

/// Where it is.
pub(in crate::http) const STYLE_PATH: &str = "/assets/page.css";

/// As it is sent: without what is there for its authors.
static SENT: LazyLock<String> = LazyLock::new(|| sent(STYLE));

/// Where pages have it from: another style has another URL, so that browsers keep one for as long as they like.
static STYLE_URL: LazyLock<String> = LazyLock::new(|| url(STYLE_PATH, &SENT));

/// `GET /assets/page.css`
pub(in crate::http) fn style() -> Reply {
    Reply::asset("text/css; charset=utf-8", SENT.as_str()).valid_forever()
}

/// Where pages have their style from.
pub(in crate::http) fn style_url() -> &'static str {
    &STYLE_URL
}

/// What a browser shows beside the title of a page whose organization has no picture: without it every browser asks for
/// `/favicon.ico`, which is not there.
const ICON: &str = include_str!("templates/icon.svg");

/// Where it is.
pub(in crate::http) const ICON_PATH: &str = "/assets/icon.svg";

/// Where pages have it from.
static ICON_URL: LazyLock<String> = LazyLock::new(|| url(ICON_PATH, ICON));

/// `GET /assets/icon.svg`
pub(in crate::http) fn icon() -> Reply {
    Reply::asset("image/svg+xml", ICON).valid_forever()
}

/// Where pages have it from.
pub(in crate::http) fn icon_url() -> &'static str {
    &ICON_URL
}

/// A path, with what is there now named in its query.
fn url(path: &str, content: &str) -> String {
    format!("{path}?v={}", id::token(&Sha256::digest(content.as_bytes())[..6]))
}

/// A style without comments, and without the white space at the edges of its lines.
fn sent(style: &str) -> String {
    let mut sent = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        sent.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    sent.push_str(rest);
    let lines: Vec<&str> = sent.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// What every page has around what it is about.
pub(in crate::http) struct Frame<'a> {
    /// The language that it speaks.
    pub(in crate::http) texts: &'static Texts,
    /// Its title, in the browser's tab too.
    pub(in crate::http) title: String,
    /// Whose page it is: the colours, the name, the picture.
    pub(in crate::http) organization: Option<Shown<'a>>,
    /// The same page in every language.
    pub(in crate::http) choices: Vec<Choice>,
    /// Whether search engines may list it: the portal and its roles, never what is behind a link with a token.
    pub(in crate::http) is_indexed: bool,
}

/// An organization as its pages name it.
pub(in crate::http) struct Shown<'a> {
    pub(in crate::http) name: &'a str,
    pub(in crate::http) slug: &'a str,
    /// Whether it has a picture of its own here.
    pub(in crate::http) has_logo: bool,
}

/// A page in one language.
pub(in crate::http) struct Choice {
    pub(in crate::http) tag: &'static str,
    pub(in crate::http) own_name: &'static str,
    pub(in crate::http) url: String,
    pub(in crate::http) is_chosen: bool,
}

/// The same page in every language: `url` without the language, which is added as `lang`.
pub(in crate::http) fn choices(texts: &Texts, url: &str) -> Vec<Choice> {
    let join = if url.contains('?') { '&' } else { '?' };
    let choice = |of: &&'static Texts| Choice {
        tag: of.tag,
        own_name: of.own_name,
        url: format!("{url}{join}lang={}", of.tag),
        is_chosen: of.tag == texts.tag,
    };
    texts::ALL.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_sent_without_its_comments() {
        assert_eq!(sent("/* a */\n\n  b { }\n/* c\n*/ d { }\n"), "b { }\nd { }");
        assert!(SENT.len() < STYLE.len() && !SENT.contains("/*"));
    }

    #[test]
    fn a_style_loads_nothing() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
