//! Answers that are files: what others keep of them, and what nobody is to show in place.

use hyper::body::Bytes;
use hyper::header;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Reply;

impl Reply {
    /// 200 of any other type, with a strong `ETag`.
    pub(in crate::http) fn tagged_file(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::ok(content_type, body.into()).with_tag()
    }

    /// 200 of any other type that stays what it is at its URL.
    pub(in crate::http) fn asset(content_type: &'static str, body: &'static str) -> Self {
        let mut reply = Self::tagged_file(content_type, body);
        reply.headers.retain(|(name, _)| name != header::CACHE_CONTROL);
        reply.with(header::CACHE_CONTROL, "public, max-age=31536000, immutable")
    }

    /// The same, kept by browsers for some seconds before they ask again.
    pub(in crate::http) fn kept_for(mut self, seconds: u32) -> Self {
        self.headers.retain(|(name, _)| name != header::CACHE_CONTROL);
        self.with(header::CACHE_CONTROL, &format!("public, max-age={seconds}"))
    }

    /// 200 with a file to be saved under this name: nobody keeps it, and no browser shows it in place (RFC 6266, RFC 8187).
    pub(in crate::http) fn download(content_type: &'static str, file_name: &str, body: impl Into<Bytes>) -> Self {
        // What an extended value may have as it is.
        const NAME: &AsciiSet = &NON_ALPHANUMERIC
            .remove(b'!')
            .remove(b'#')
            .remove(b'$')
            .remove(b'&')
            .remove(b'+')
            .remove(b'-')
            .remove(b'.')
            .remove(b'^')
            .remove(b'_')
            .remove(b'`')
            .remove(b'|')
            .remove(b'~');
        let disposition = format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(file_name, NAME));
        Self::ok(content_type, body.into())
            .with(header::CACHE_CONTROL, "no-store")
            .with(header::CONTENT_DISPOSITION, &disposition)
            .with(header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'")
    }
}
