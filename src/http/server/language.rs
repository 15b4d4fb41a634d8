//! The languages that pages and their cached responses speak, and which one a request gets. The texts are the pages' own.

use std::borrow::Cow;

use hyper::header::{ACCEPT_LANGUAGE, HeaderMap};

use crate::domain::language;

/// The languages, by their tags (BCP 47). The first is the default.
pub(in crate::http) const TAGS: &[&str] = &["en", "de", "fr", "es"];

/// One of the languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) struct Language(usize);

impl Language {
    /// The language that a request gets: the one that it names, else the best of `Accept-Language`, else the first.
    pub(in crate::http) fn negotiate(named: Option<&str>, fields: &HeaderMap) -> Self {
        let mut values = fields.get_all(ACCEPT_LANGUAGE).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let accepted =
            values.next().map(|first| values.fold(first, |list, value| Cow::Owned(format!("{list}, {value}"))));
        Self(language::choose_language(TAGS, named, accepted.as_deref()))
    }

    /// The language of a tag, or the first.
    pub(in crate::http) fn of_tag(tag: &str) -> Self {
        Self(language::choose_language(TAGS, Some(tag), None))
    }

    /// Its position among the languages.
    pub(in crate::http) fn index(self) -> usize {
        self.0
    }

    /// Its tag.
    pub(in crate::http) fn tag(self) -> &'static str {
        TAGS[self.0]
    }
}
