//! Replies that are files: their caching, and whether browsers save or display them.

use hyper::body::Bytes;
use hyper::header::{self, HeaderName};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Reply, StoredFile};
use crate::http::server::gzip;
use crate::store::attachment::{Attachment, StagedAttachment};

/// The maximum size of a body that [`Reply::compressed_if_large`] leaves uncompressed. Of a larger body, the response
/// cache holds only the compressed form, which has about a sixth of the size.
const UNCOMPRESSED_BYTES_MAX: usize = 1_024 * 1_024;

/// The characters to percent-encode in an extended value: all except `attr-char` (RFC 8187 §3.2.1).
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

impl Reply {
    /// Creates a 200 with a body of this type and a strong `ETag`.
    pub(in crate::http) fn tagged_file(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::ok(content_type, body.into()).with_tag()
    }

    /// Creates a 200 with an asset that never changes at its URL.
    pub(in crate::http) fn asset(content_type: &'static str, body: &'static str) -> Self {
        let mut reply = Self::tagged_file(content_type, body);
        reply.headers.retain(|(name, _)| name != header::CACHE_CONTROL);
        reply.with(header::CACHE_CONTROL, "public, max-age=31536000, immutable")
    }

    /// Compresses a large body, so that the response cache holds only the compressed body. Compression can take as long
    /// as rendering a hundred pages, so it happens once, when the reply is created.
    pub(in crate::http) fn compressed_if_large(mut self) -> Self {
        if self.body.len() > UNCOMPRESSED_BYTES_MAX {
            self.compressed_body = gzip::compress(&self.body).map(Bytes::from);
        }
        self
    }

    /// Allows browsers to cache the reply for this many seconds without revalidation.
    pub(in crate::http) fn with_max_age(mut self, seconds: u32) -> Self {
        self.headers.retain(|(name, _)| name != header::CACHE_CONTROL);
        self.with(header::CACHE_CONTROL, &format!("public, max-age={seconds}"))
    }

    /// Creates a 200 with an attachment, which browsers save under its file name. No cache stores it, and no browser
    /// displays it (RFC 6266, RFC 8187).
    pub(in crate::http) fn download(attachment: &Attachment) -> Self {
        Self::stored_file(attachment, "attachment").with(header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'")
    }

    /// Creates a 200 with an attachment that a browser displays in a frame of this service or in a tab of its own. The
    /// policy is on the file, because browsers do not show a PDF in a frame with the attribute `sandbox`. No page of
    /// another origin can frame or read the file.
    pub(in crate::http) fn framed_file(attachment: &Attachment) -> Self {
        Self::stored_file(attachment, "inline")
            .with(header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'; frame-ancestors 'self'")
            .with(HeaderName::from_static("cross-origin-resource-policy"), "same-origin")
    }

    fn stored_file(attachment: &Attachment, disposition: &str) -> Self {
        let name = utf8_percent_encode(&attachment.file_name, NAME);
        let (id, bytes, sha256) = (attachment.id.clone(), attachment.bytes, attachment.sha256);
        let file = Some(Box::new(StoredFile { id, bytes, sha256 }));
        Self { file, ..Self::ok(attachment.media_type.as_str(), Bytes::new()) }
            .with(header::CACHE_CONTROL, "no-store")
            .with(header::CONTENT_DISPOSITION, &format!("{disposition}; filename*=UTF-8''{name}"))
    }

    pub(in crate::http::server) fn file(&self) -> Option<StoredFile> {
        self.file.as_deref().cloned()
    }

    /// Retains the file that was uploaded with the request, because a signup has claimed the file, or because the page
    /// offers it for the next submission. The gate removes a file that the reply does not retain.
    pub(in crate::http) fn retaining_upload(self, staged: Option<&StagedAttachment>) -> Self {
        Self { retained_upload: staged.map(|staged| Box::new(staged.id.clone())), ..self }
    }

    /// Returns whether the reply retains this file, which was uploaded with the request.
    pub(in crate::http::server) fn retains_upload(&self, staged: &StagedAttachment) -> bool {
        self.retained_upload.as_deref() == Some(&staged.id)
    }
}
