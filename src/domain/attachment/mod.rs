//! Attachments: size limits, detection of the media type, and safe file names.
//!
//! The service detects the type of an attachment from the bytes as they arrive, for example from the entry names of an
//! archive. It never decompresses anything.

mod digest;
mod media_type;
mod name;

use std::time::Duration;

use super::api_key;
use super::id;
use super::refusal::Refusal;

pub use self::digest::{AttachmentDigest, DIGEST_BYTES};
pub use self::media_type::{MediaType, MediaTypeScan};
pub use self::name::{NAMELESS_FILE, file_name};

/// The maximum number of bytes in an attachment.
pub const ATTACHMENT_BYTES_MAX: usize = 10 * 1_024 * 1_024;

/// The maximum number of bytes in a chunk. The writer stores each chunk in a job of its own, which is short enough that
/// other jobs hardly wait.
pub const CHUNK_BYTES_MAX: usize = 64 * 1_024;

/// The time for which an attachment stays staged if no signup claims it. An hour is long enough for the applicant to
/// correct the form.
pub const STAGED_MAX: Duration = Duration::from_secs(60 * 60);

/// The maximum total size of all staged attachments in bytes, about 10 GiB, so that uploads without signups cannot fill
/// the disk. The size of an unfinished upload is assumed to be the maximum size of an attachment.
pub const STAGED_BYTES_MAX: i64 = 1_000 * ATTACHMENT_BYTES_MAX as i64;

/// The maximum number of staged attachments. Small attachments take little space, so this number is ten times the
/// number of maximum-size attachments that [`STAGED_BYTES_MAX`] allows.
pub const STAGED_ATTACHMENTS_MAX: i64 = 10_000;

/// The number of random bytes in an attachment token (128 bits).
pub const ATTACHMENT_TOKEN_BYTES: usize = 16;

const NO_ROOM_DETAIL: &str =
    "the service cannot store files at the moment; send the application without a file, or try again later";

/// The refusal of an attachment that the service cannot store now, usually because the disk is nearly full or all
/// attachments together have reached their limit. A person must then free space, so the retry delay is long.
pub const NO_ROOM_FOR_FILE: Refusal = Refusal::Unavailable { retry_after_s: 300, detail: NO_ROOM_DETAIL };

/// The reason why an attachment is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentFault {
    /// The attachment is larger than [`ATTACHMENT_BYTES_MAX`].
    TooLarge,
    /// The attachment has none of the accepted types.
    WrongType,
    /// The attachment is empty.
    Empty,
    /// The form has more than one attachment.
    MoreThanOne,
    /// The service cannot store attachments at the moment.
    NoRoom,
}

impl AttachmentFault {
    /// Returns the fault as a sentence without its subject, which is the field. For [`Self::NoRoom`], returns a
    /// complete sentence about the service.
    pub fn detail(self) -> String {
        match self {
            Self::TooLarge => format!("must be at most {ATTACHMENT_BYTES_MAX} bytes"),
            Self::WrongType => "must have the content of a PDF, DOCX, ODT or plain text file".to_owned(),
            Self::Empty => "must not be an empty file".to_owned(),
            Self::MoreThanOne => "must be one file".to_owned(),
            Self::NoRoom => NO_ROOM_DETAIL.to_owned(),
        }
    }
}

/// The secret by which an applicant's form refers to a staged attachment. Only its digest is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct AttachmentToken(String);

impl AttachmentToken {
    /// Creates a token from random bytes.
    pub fn new(random: [u8; ATTACHMENT_TOKEN_BYTES]) -> Self {
        Self(id::token(&random))
    }

    /// Parses a token. Returns `None` for a string in another format.
    pub fn parse(text: &str) -> Option<Self> {
        let is_well_formed = text.len() == 26 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_well_formed.then(|| Self(text.to_owned()))
    }

    /// Returns the token, for the form.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the digest, which the database stores.
    pub fn digest(&self) -> [u8; 32] {
        api_key::digest(&self.0)
    }
}

impl std::fmt::Debug for AttachmentToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AttachmentToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_parsed_and_not_printed_by_debug() {
        let token = AttachmentToken::new([7; ATTACHMENT_TOKEN_BYTES]);
        assert_eq!(AttachmentToken::parse(token.reveal()), Some(token.clone()));
        assert_eq!(format!("{token:?}"), "AttachmentToken(…)");
        for bad in ["", "a", "a b", &"x".repeat(25), &"x".repeat(27), &"ä".repeat(13)] {
            assert_eq!(AttachmentToken::parse(bad), None, "{bad}");
        }
    }
}
