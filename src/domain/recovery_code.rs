//! Recovery codes: they replace a lost second factor. A user gets ten of them, and each can be used once.
//!
//! The service shows the codes once, and the database contains only their digests. A code has 80 random bits, so even
//! a fast hash without a salt protects it.

use sha2::{Digest as _, Sha256};

use super::id;

/// The number of codes that a user receives at a time.
pub const CODES: usize = 10;

/// The number of random bytes in a code: 80 bits, or 16 characters.
pub const RANDOM_BYTES: usize = 10;

/// The number of characters in a code without its hyphens.
const CHARACTERS: usize = 16;

/// The number of characters between two hyphens.
const GROUP_CHARACTERS: usize = 4;

/// The maximum number of characters in an entered code, which allows for spaces and hyphens.
const ENTERED_CHARACTERS_MAX: usize = 64;

/// A recovery code, as 16 digits in Crockford base 32.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryCode(String);

/// A log must never contain the code.
impl std::fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecoveryCode(..)")
    }
}

impl RecoveryCode {
    /// Creates a code from unpredictable random bytes.
    pub fn new(random: &[u8; RANDOM_BYTES]) -> Self {
        Self(id::token(random))
    }

    /// Parses an entered code. Ignores case, spaces and hyphens. Reads the letters `o`, `i` and `l`, which no code has,
    /// as the digits that they look like.
    pub fn parse(text: &str) -> Option<Self> {
        if text.chars().count() > ENTERED_CHARACTERS_MAX {
            return None;
        }
        let written = text.chars().filter(|c| !c.is_whitespace() && !is_hyphen(*c));
        let code: String = written.map(|c| unmistaken(c.to_ascii_lowercase())).collect();
        let is_code = code.len() == CHARACTERS && code.bytes().all(id::is_token_byte);
        is_code.then_some(Self(code))
    }

    /// Returns the code in groups, as people read it.
    pub fn text(&self) -> String {
        let groups: Vec<&str> =
            (0..self.0.len()).step_by(GROUP_CHARACTERS).map(|at| &self.0[at..at + GROUP_CHARACTERS]).collect();
        groups.join("-")
    }

    /// Returns the SHA-256 digest of the code. The database stores this digest.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }
}

/// Returns whether a character is a hyphen, or a dash that programs put in its place.
fn is_hyphen(character: char) -> bool {
    matches!(character, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

fn unmistaken(character: char) -> char {
    match character {
        'o' => '0',
        'i' | 'l' => '1',
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: [u8; RANDOM_BYTES] = [0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6, 0x35, 0xcf];

    #[test]
    fn a_code_is_parsed_despite_case_spaces_hyphens_and_similar_letters() {
        let code = RecoveryCode::new(&RANDOM);
        assert_eq!(code.text(), "0123-4567-89ab-cdef");
        for text in [
            "0123-4567-89ab-cdef",
            "0123456789abcdef",
            " 0123 4567 89AB CDEF\n",
            "O1Z3-4567-89ab-cdef".replace('Z', "2").as_str(),
            "oi23-4567-89ab-cdef",
            "ol23–4567–89ab–cdef",
        ] {
            assert_eq!(RecoveryCode::parse(text), Some(code.clone()), "{text}");
        }
        let long = "0123-4567-89ab-cdef".to_owned() + &"-".repeat(60);
        for text in ["", "0123", "0123-4567-89ab-cdeu", "0123-4567-89ab-cdef-0", "0123-4567-89ab-cdé", "287082", &long]
        {
            assert_eq!(RecoveryCode::parse(text), None, "{text}");
        }
    }

    #[test]
    fn different_codes_have_different_digests() {
        let (code, other) = (RecoveryCode::new(&RANDOM), RecoveryCode::new(&[7; RANDOM_BYTES]));
        assert_ne!(code.digest(), other.digest());
        assert_eq!(code.digest(), RecoveryCode::parse(&code.text().to_uppercase()).unwrap().digest());
        assert_eq!(format!("{code:?}"), "RecoveryCode(..)");
    }
}
