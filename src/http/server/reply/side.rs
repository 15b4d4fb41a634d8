//! Replies of the listener for redirects that are no redirects.

use hyper::StatusCode;
use hyper::header;

use super::Reply;

impl Reply {
    /// Creates an empty 404.
    pub(in crate::http::server) fn unknown() -> Self {
        Self::empty(StatusCode::NOT_FOUND)
    }

    /// Creates a 503 with plain text, after which the client should try again in so many seconds.
    pub(in crate::http::server) fn not_yet(text: &'static str, seconds: &str) -> Self {
        let reply = Self { status: StatusCode::SERVICE_UNAVAILABLE, ..Self::text(text) };
        reply.with(header::RETRY_AFTER, seconds)
    }
}
