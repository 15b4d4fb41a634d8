//! The path of the page with the second factors.

pub(super) const PATH: &str = "/app/me/second-factor";

/// Returns the query that names the page that opens after the user has set up a factor.
pub(super) fn next_query(next: Option<&str>) -> String {
    next.map(|next| format!("?next={}", form_urlencoded::byte_serialize(next.as_bytes()).collect::<String>()))
        .unwrap_or_default()
}
