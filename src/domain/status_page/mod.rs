//! Status pages: the tokens in their links (`/status/{token}`). The module `deletion` contains the rule behind their
//! "delete" button.
//!
//! A token is sufficient to open its page. Therefore, the token is too long to guess, and the database contains only
//! its digest.

pub mod deletion;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// The number of bytes in a token: 256 bits, or 43 characters in base64.
pub const STATUS_TOKEN_BYTES: usize = 32;

/// Returns the token of the status page for a form. A form always has the same token, so a form that is submitted twice
/// (after a double click or a lost answer) leads to one application with one link. The token is derived from the secret
/// that signs forms, with a separate label, so nobody can compute it from the form.
pub fn token_of_form(secret: &[u8; 32], form_id: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC accepts a key of any length");
    mac.update(b"status");
    mac.update(form_id.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

/// Returns the token for a link that staff issue, from random bytes.
pub fn random_token(random: &[u8; STATUS_TOKEN_BYTES]) -> String {
    URL_SAFE_NO_PAD.encode(random)
}

/// Returns the SHA-256 digest of a token. The database stores this digest. A string that is not a token also has a
/// digest, but that digest matches no page.
pub fn token_digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_its_own_token() {
        let link = token_of_form(&[7; 32], "form_1");
        assert_eq!(link, token_of_form(&[7; 32], "form_1"));
        assert_ne!(link, token_of_form(&[7; 32], "form_2"));
        assert_ne!(link, token_of_form(&[8; 32], "form_1"));
        for token in [link, random_token(&[0xff; STATUS_TOKEN_BYTES])] {
            let is_url_safe = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
            assert!(token.len() == 43 && is_url_safe, "{token}");
        }
    }

    #[test]
    fn the_digest_of_a_token_is_its_sha_256() {
        // FIPS 180-2, appendix B.1.
        let known = [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea];
        assert_eq!(token_digest("abc")[..8], known);
    }
}
