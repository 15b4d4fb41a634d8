//! Paths and absolute URLs of a portal's pages.
//!
//! The absolute URLs are for search engines, feeds and link previews. They have no `lang`: search engines should list a
//! page only once for all languages, and each posting is written in one language.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub(super) fn list_path(slug: &str) -> String {
    format!("/careers/{slug}")
}

/// Returns the path of a role's posting. Role ids need no escaping.
pub(super) fn role_path(slug: &str, role_id: &str) -> String {
    format!("/careers/{slug}/roles/{role_id}")
}

pub(super) fn list_url(base: &str, slug: &str) -> String {
    format!("{base}{}", list_path(slug))
}

pub(super) fn role_url(base: &str, slug: &str, role_id: &str) -> String {
    format!("{base}{}", role_path(slug, role_id))
}

/// Returns the URL of one of the portal's files, such as `feed.atom`.
pub(super) fn file_url(base: &str, slug: &str, name: &str) -> String {
    format!("{}/{name}", list_url(base, slug))
}

/// Escapes all but the unreserved characters (RFC 3986 §2.3).
pub(super) fn escape_query_value(value: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(value, ESCAPED).to_string()
}
