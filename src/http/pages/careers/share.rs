//! The addresses that others know a portal's pages by, and what a role's says in a line.
//!
//! A portal's page is one page in every language, and what is on it is written in one: so its address has no `lang`.

use crate::http::pages::markdown;

/// The longest summary, in characters: more is cut by those who show it.
const SUMMARY_CHARACTERS_MAX: usize = 200;

/// What a description says in a line.
pub(in crate::http) fn summary(markdown: &str) -> String {
    markdown::excerpt(&markdown::to_text(markdown), SUMMARY_CHARACTERS_MAX)
}

/// The address of an organization's list, by its slug as it was given.
pub(in crate::http) fn list_url(base: &str, slug: &str) -> String {
    format!("{base}/careers/{slug}")
}

/// The address of a role's page.
pub(in crate::http) fn role_url(base: &str, slug: &str, role_id: &str) -> String {
    format!("{}/roles/{role_id}", list_url(base, slug))
}

/// The address of one of the organization's files.
pub(in crate::http) fn file_url(base: &str, slug: &str, name: &str) -> String {
    format!("{}/{name}", list_url(base, slug))
}
