//! The SHA-256 of an attachment, computed piece by piece.

use sha2::{Digest as _, Sha256};

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 32;

/// The digest of all pieces that were added so far.
#[derive(Debug, Clone, Default)]
pub struct AttachmentDigest(Sha256);

impl AttachmentDigest {
    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest of everything that was added.
    pub fn value(&self) -> [u8; DIGEST_BYTES] {
        self.0.clone().finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        let mut pieces = AttachmentDigest::default();
        pieces.add(b"ab");
        pieces.add(b"c");
        // FIPS 180-2, appendix B.1.
        assert_eq!(pieces.value()[..4], [0xba, 0x78, 0x16, 0xbf]);
        pieces.add(b"d");
        assert_ne!(pieces.value()[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
