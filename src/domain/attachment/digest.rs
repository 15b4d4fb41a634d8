//! The SHA-256 of an attachment, computed chunk by chunk.

use sha2::{Digest as _, Sha256};

/// The number of bytes in a digest.
pub const DIGEST_BYTES: usize = 32;

/// The digest of all chunks so far.
#[derive(Debug, Clone, Default)]
pub struct AttachmentDigest(Sha256);

impl AttachmentDigest {
    /// Adds the next chunk.
    pub fn add(&mut self, chunk: &[u8]) {
        self.0.update(chunk);
    }

    /// Returns the digest of all chunks that were added.
    pub fn value(&self) -> [u8; DIGEST_BYTES] {
        self.0.clone().finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_chunks_equals_the_digest_of_the_whole() {
        let mut digest = AttachmentDigest::default();
        digest.add(b"ab");
        digest.add(b"c");
        // FIPS 180-2, appendix B.1.
        assert_eq!(digest.value()[..4], [0xba, 0x78, 0x16, 0xbf]);
        digest.add(b"d");
        assert_ne!(digest.value()[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
