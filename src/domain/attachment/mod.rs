//! Documents that are uploaded: how large they may be, what they are by their content, what they are called.
//!
//! What is uploaded is never opened: its type is told by the first bytes and the names that an archive lists, and nothing is
//! ever inflated.

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

/// The largest document.
pub const ATTACHMENT_BYTES_MAX: usize = 10 * 1_024 * 1_024;

/// What is written at a time: short enough that nobody who waits for the writer notices.
pub const CHUNK_BYTES_MAX: usize = 64 * 1_024;

/// How long a document is kept that nobody has applied with: long enough to put a form right.
pub const STAGED_MAX: Duration = Duration::from_secs(60 * 60);

/// Bytes of documents that are kept so at once, some 10 GiB, so that who only uploads cannot fill the disk. One that has not
/// arrived yet counts as the largest.
pub const STAGED_BYTES_MAX: i64 = 1_000 * ATTACHMENT_BYTES_MAX as i64;

/// Documents that are kept so at once. Tiny ones cost next to nothing, so these are many more than large ones fit.
pub const STAGED_ATTACHMENTS_MAX: i64 = 10_000;

/// The random bytes of a token.
pub const ATTACHMENT_TOKEN_BYTES: usize = 16;

const NO_ROOM_DETAIL: &str = "a file cannot be taken right now; send the application without one, or try again later";

/// The refusal of a file for which there is no room: the disk is nearly full, or attachments have reached their total.
/// Somebody has to make room, so it lasts for a while.
pub const NO_ROOM_FOR_FILE: Refusal = Refusal::Unavailable { retry_after_s: 300, detail: NO_ROOM_DETAIL };

/// What keeps a document from being taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentFault {
    /// It is larger than [`ATTACHMENT_BYTES_MAX`].
    TooLarge,
    /// It is none of the types that are taken.
    WrongType,
    /// There is nothing in it.
    Empty,
    /// It came with another one.
    MoreThanOne,
    /// The service has no room for it now.
    NoRoom,
}

impl AttachmentFault {
    /// What is wrong with it, behind the name of its field.
    pub fn detail(self) -> String {
        match self {
            Self::TooLarge => format!("must be at most {ATTACHMENT_BYTES_MAX} bytes"),
            Self::WrongType => "must be a PDF, DOCX, ODT or plain text file, by its content".to_owned(),
            Self::Empty => "must not be an empty file".to_owned(),
            Self::MoreThanOne => "must be one file".to_owned(),
            Self::NoRoom => NO_ROOM_DETAIL.to_owned(),
        }
    }
}

/// What whoever uploaded a document names it by until they apply with it. Only its digest is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct AttachmentToken(String);

impl AttachmentToken {
    /// A new one of random bytes.
    pub fn new(random: [u8; ATTACHMENT_TOKEN_BYTES]) -> Self {
        Self(id::token(&random))
    }

    /// The one that is spelled so; `None` for what none can be.
    pub fn parse(text: &str) -> Option<Self> {
        let is_one = text.len() == 26 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_one.then(|| Self(text.to_owned()))
    }

    /// As it is handed out.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub fn digest(&self) -> [u8; 32] {
        api_key::digest(&self.0)
    }
}

impl std::fmt::Debug for AttachmentToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_is_not_told_by_accident() {
        let token = AttachmentToken::new([7; ATTACHMENT_TOKEN_BYTES]);
        assert_eq!(AttachmentToken::parse(token.reveal()), Some(token.clone()));
        assert_eq!(format!("{token:?}"), "Token(…)");
        for bad in ["", "a", "a b", &"x".repeat(25), &"x".repeat(27), &"ä".repeat(13)] {
            assert_eq!(AttachmentToken::parse(bad), None, "{bad}");
        }
    }
}
