//! Links to the page where a candidate sees where they stand (`/status/{token}`): what their tokens are.
//!
//! Whoever has the token is shown the page, so it cannot be guessed, and the file has only its digest.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// Bytes of a token: 256 bits, 43 characters in base 64.
pub const STATUS_TOKEN_BYTES: usize = 32;

/// The token of the page that a form leads to. The same form always leads to the same, so one that is sent twice (a double
/// click, a lost answer) is one application with one link. `secret` signs the forms; what it makes of a form here is
/// nothing that a form carries.
pub fn token_of_form(secret: &[u8; 32], form_id: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    mac.update(b"status");
    mac.update(form_id.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
}

/// The token of a link that staff make, from random bytes.
pub fn random_token(random: &[u8; STATUS_TOKEN_BYTES]) -> String {
    URL_SAFE_NO_PAD.encode(random)
}

/// What the file has of a token: its SHA-256. A text that is no token has one as well, and nothing is found by it.
pub fn token_digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_leads_to_one_page_and_another_form_to_another() {
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
    fn a_digest_is_the_sha_256_of_the_text() {
        // FIPS 180-4's own example.
        let known = [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea];
        assert_eq!(token_digest("abc")[..8], known);
    }
}
