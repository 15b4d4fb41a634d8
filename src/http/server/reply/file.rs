//! Answers that are files: what others keep of them, and what nobody is to show in place.

use hyper::body::Bytes;
use hyper::header;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Reply, StoredFile};
use crate::http::server::gzip;
use crate::store::attachment::{Attachment, StagedAttachment};

/// A larger file is kept only compressed: a sixth or so.
const UNPACKED_BYTES_MAX: usize = 1_024 * 1_024;

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

    /// The same, to be kept only compressed where it is large. That takes as long as a page or a hundred, so it is done where
    /// the answer is made.
    pub(in crate::http) fn packed(mut self) -> Self {
        if self.body.len() > UNPACKED_BYTES_MAX {
            self.packed = gzip::compress(&self.body).map(Bytes::from);
        }
        self
    }

    /// The same, kept by browsers for some seconds before they ask again.
    pub(in crate::http) fn with_max_age(mut self, seconds: u32) -> Self {
        self.headers.retain(|(name, _)| name != header::CACHE_CONTROL);
        self.with(header::CACHE_CONTROL, &format!("public, max-age={seconds}"))
    }

    /// 200 with an attachment to be saved under its name: nobody stores it, and no browser shows it in place (RFC 6266, RFC 8187).
    pub(in crate::http) fn download(attachment: &Attachment) -> Self {
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
        let disposition = format!("attachment; filename*=UTF-8''{}", utf8_percent_encode(&attachment.file_name, NAME));
        let (id, bytes, sha256) = (attachment.id.clone(), attachment.bytes, attachment.sha256);
        let file = Some(Box::new(StoredFile { id, bytes, sha256 }));
        Self { file, ..Self::ok(attachment.media_type.as_str(), Bytes::new()) }
            .with(header::CACHE_CONTROL, "no-store")
            .with(header::CONTENT_DISPOSITION, &disposition)
            .with(header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'")
    }

    /// The file that is sent in place of its body.
    pub(in crate::http) fn file(&self) -> Option<StoredFile> {
        self.file.as_deref().cloned()
    }

    /// The same, keeping a file that came with the request: it was applied with, or can be from the page that this is. A file
    /// that no answer keeps is dropped.
    pub(in crate::http) fn keeping(self, staged: Option<&StagedAttachment>) -> Self {
        Self { kept_upload: staged.map(|staged| Box::new(staged.id.clone())), ..self }
    }

    /// Whether it keeps a file that came with the request.
    pub(in crate::http) fn keeps(&self, staged: &StagedAttachment) -> bool {
        self.kept_upload.as_deref() == Some(&staged.id)
    }
}
