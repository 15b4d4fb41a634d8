//! The languages of pages and their cached responses, and the choice of a request's language. The translated texts are
//! in the modules of the pages.

use std::borrow::Cow;

use hyper::header::{ACCEPT_LANGUAGE, HeaderMap};

use crate::domain::language;

/// The tags of the languages (BCP 47). The first is the default.
pub(in crate::http) const TAGS: &[&str] = &["en", "de", "fr", "es"];

/// A supported language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) struct Language(usize);

impl Language {
    /// Chooses the named language, or else the best match for `Accept-Language`, or else the default.
    pub(super) fn negotiate(named: Option<&str>, fields: &HeaderMap) -> Self {
        let mut values = fields.get_all(ACCEPT_LANGUAGE).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let accepted =
            values.next().map(|first| values.fold(first, |list, value| Cow::Owned(format!("{list}, {value}"))));
        Self(language::choose_language(TAGS, named, accepted.as_deref()))
    }

    /// Returns the language of a tag, or the default.
    pub(in crate::http) fn of_tag(tag: &str) -> Self {
        Self(language::choose_language(TAGS, Some(tag), None))
    }

    /// Returns the position in [`TAGS`].
    pub(in crate::http) fn index(self) -> usize {
        self.0
    }

    pub(in crate::http) fn tag(self) -> &'static str {
        TAGS[self.0]
    }
}
