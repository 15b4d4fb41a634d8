//! Pages for candidates: the frame that all of them have. What is in them is with their nouns; the templates of all are in
//! this folder, where everything that is put into one is escaped.

use super::texts::{self, Texts};

/// What every page has around what it is about.
pub(super) struct Frame<'a> {
    /// The language that it speaks.
    pub(super) texts: &'static Texts,
    /// Its title, in the browser's tab too.
    pub(super) title: String,
    /// Whose page it is: the colours, the name, the picture.
    pub(super) organization: Option<Shown<'a>>,
    /// The same page in every language.
    pub(super) choices: Vec<Choice>,
    /// Whether search engines may list it: the portal and its roles, never what is behind a link with a token.
    pub(super) is_indexed: bool,
}

/// An organization as its pages name it.
pub(super) struct Shown<'a> {
    pub(super) name: &'a str,
    pub(super) slug: &'a str,
    /// Whether it has a picture of its own here.
    pub(super) has_logo: bool,
}

/// A page in one language.
pub(super) struct Choice {
    pub(super) tag: &'static str,
    pub(super) own_name: &'static str,
    pub(super) url: String,
    pub(super) is_chosen: bool,
}

/// The same page in every language: `url` without the language, which is added as `lang`.
pub(super) fn choices(texts: &Texts, url: &str) -> Vec<Choice> {
    let join = if url.contains('?') { '&' } else { '?' };
    let choice = |of: &&'static Texts| Choice {
        tag: of.tag,
        own_name: of.own_name,
        url: format!("{url}{join}lang={}", of.tag),
        is_chosen: of.tag == texts.tag,
    };
    texts::ALL.iter().map(choice).collect()
}
