//! API keys: generation and parsing, scopes, lifetime. `validity` decides whether a key is valid.
//!
//! A key consists of `rpk_`, 32 base-62 characters (190 bits) and a checksum of 6 characters. Because of the checksum,
//! the service can refuse a mistyped key without a lookup, and secret scanners can recognize keys. Of a key, the
//! service stores only the SHA-256 and, for lists, the first 8 characters.

pub mod scope;
mod validity;

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::refusal::Refusal;
use super::timestamp::Timestamp;
pub use scope::Scope;
pub use validity::{KeyRefusal, KeyState, is_expired};

/// The prefix of each key.
pub const KEY_PREFIX: &str = "rpk_";

/// The number of leading characters of a key that lists show.
pub const KEY_START_CHARACTERS: usize = 8;

/// The default lifetime of a key in days.
pub const EXPIRES_IN_DAYS_DEFAULT: i64 = 90;

/// The allowed lifetimes of a key in days.
pub const EXPIRES_IN_DAYS: std::ops::RangeInclusive<i64> = 1..=365;

const SECRET_CHARACTERS: usize = 32;
const CHECKSUM_CHARACTERS: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The scopes of a key, and whether its creator named them. A key without explicit scopes may use `/api/admin` if its
/// user has the platform role `admin`. A key with explicit scopes also needs `admin:read` or `admin:write`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The explicit scopes, or the default scopes.
    pub scopes: Vec<Scope>,
    /// Whether the key's creator named the scopes.
    pub is_explicit: bool,
}

impl Grant {
    /// Returns the grant of a new key, with the named scopes or the default scopes.
    pub fn of(named: Option<Vec<Scope>>) -> Self {
        let is_explicit = named.is_some();
        Self { scopes: named.unwrap_or_else(|| Scope::DEFAULT.to_vec()), is_explicit }
    }

    /// Checks that the key may use `/api/admin` with this scope, `admin:read` or `admin:write`.
    ///
    /// # Errors
    /// `insufficient_scope` if the key has explicit scopes that do not include this scope.
    pub fn require_admin_scope(&self, scope: Scope) -> Result<(), Refusal> {
        let is_allowed = !self.is_explicit || self.scopes.contains(&scope);
        if is_allowed { Ok(()) } else { Err(Refusal::InsufficientScope(scope)) }
    }

    /// Checks that the new key has no more rights than the key that creates it. Without this check, a key with only
    /// `admin:write` could create a key with all rights of its user.
    ///
    /// # Errors
    /// `forbidden` if this key has explicit scopes, and the new key has no explicit scopes or a scope that this key
    /// lacks.
    pub fn require_not_broader(&self, new: &Self) -> Result<(), Refusal> {
        if !self.is_explicit {
            return Ok(());
        }
        if !new.is_explicit {
            return Err(Refusal::Forbidden(
                "this key has explicit scopes, so a key that it creates must also have explicit scopes",
            ));
        }
        if new.scopes.iter().all(|scope| self.scopes.contains(scope)) {
            return Ok(());
        }
        Err(Refusal::Forbidden("this key has explicit scopes, so a key that it creates can have only these scopes"))
    }
}

/// An API key as a string. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySecret(String);

impl KeySecret {
    /// Generates a key from a source of random bytes. Byte values of 248 and above are dropped, so that each of the 62
    /// characters is equally likely.
    pub fn generate(mut random: impl FnMut(&mut [u8])) -> Self {
        let mut text = String::from(KEY_PREFIX);
        while text.len() < KEY_PREFIX.len() + SECRET_CHARACTERS {
            let mut bytes = [0; SECRET_CHARACTERS];
            random(&mut bytes);
            let missing = KEY_PREFIX.len() + SECRET_CHARACTERS - text.len();
            text.extend(bytes.iter().filter(|byte| **byte < 248).take(missing).map(|byte| base62_digit(byte % 62)));
        }
        text.push_str(&checksum(&text));
        Self(text)
    }

    /// Parses a key. Returns `None` if the format or the checksum is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let body = text.strip_prefix(KEY_PREFIX)?;
        if body.len() != SECRET_CHARACTERS + CHECKSUM_CHARACTERS || !body.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let (checked, sum) = text.split_at(KEY_PREFIX.len() + SECRET_CHARACTERS);
        (checksum(checked) == sum).then(|| Self(text.to_owned()))
    }

    /// Returns the key, for the only response or command output that shows it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the first characters of the key, for lists of keys.
    pub fn start(&self) -> &str {
        &self.0[..KEY_START_CHARACTERS]
    }

    /// Returns the SHA-256 of the key. The database stores this digest, not the key.
    pub fn digest(&self) -> [u8; 32] {
        digest(&self.0)
    }
}

/// Returns the SHA-256 of a key or of another secret.
pub fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

impl std::fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeySecret(…)")
    }
}

/// Returns the expiry of a new key. A day has 24 hours.
pub fn expires_at(created_at: Timestamp, days: i64) -> Timestamp {
    created_at.plus(Duration::from_secs(86_400 * days.unsigned_abs()))
}

/// Returns the CRC-32 of a string in base 62, most significant digit first, padded with `0`.
fn checksum(text: &str) -> String {
    let mut rest = crc32(text.as_bytes());
    let mut digits = ['0'; CHECKSUM_CHARACTERS];
    for digit in digits.iter_mut().rev() {
        *digit = base62_digit((rest % 62) as u8);
        rest /= 62;
    }
    digits.iter().collect()
}

fn base62_digit(value: u8) -> char {
    char::from(BASE62[usize::from(value)])
}

/// Returns the CRC-32 of IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| crc >> 8 ^ CRC_OF_BYTE[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

/// The CRC table, computed at compile time. Without the table, the checksum would take a twentieth of a request's CPU
/// time.
const CRC_OF_BYTE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn scripted() -> impl FnMut(&mut [u8]) {
        let mut next = 0u8;
        move |bytes| {
            for byte in bytes {
                *byte = next;
                next = next.wrapping_add(7);
            }
        }
    }

    #[test]
    fn the_checksum_is_the_crc32_of_ieee_802_3() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_new_key_has_42_characters_and_can_be_parsed() {
        let key = KeySecret::generate(scripted());
        assert_eq!(key.reveal().len(), 4 + 32 + 6);
        assert_eq!(KeySecret::parse(key.reveal()), Some(key.clone()));
        assert_eq!(key.start(), &key.reveal()[..8]);
        assert_eq!(format!("{key:?}"), "KeySecret(…)");
    }

    #[test]
    fn a_single_mistyped_character_is_detected() {
        let key = KeySecret::generate(scripted());
        for index in 0..key.reveal().len() {
            for wrong in "0aZ_ ".chars() {
                let mut text: Vec<char> = key.reveal().chars().collect();
                if text[index] != wrong {
                    text[index] = wrong;
                    assert_eq!(KeySecret::parse(&text.iter().collect::<String>()), None);
                }
            }
        }
        assert_eq!(KeySecret::parse(&key.reveal()[..41]), None);
        assert_eq!(KeySecret::parse(&format!("{}0", key.reveal())), None);
    }

    #[test]
    fn only_keys_without_explicit_scopes_can_create_broader_keys() {
        let explicit = |scopes: &[Scope]| Grant::of(Some(scopes.to_vec()));
        let (none, narrow) = (Grant::of(None), explicit(&[Scope::AdminWrite, Scope::RolesRead]));
        let every = explicit(&Scope::ALL);
        for (creator, new, is_allowed) in [
            (&none, &none, true),
            (&none, &every, true),
            (&narrow, &none, false),
            (&every, &none, false),
            (&narrow, &every, false),
            (&narrow, &explicit(&[Scope::RolesRead]), true),
            (&narrow, &explicit(&[]), true),
            (&narrow, &narrow, true),
            (&narrow, &explicit(&[Scope::AdminRead]), false),
            (&every, &every, true),
        ] {
            assert_eq!(creator.require_not_broader(new).is_ok(), is_allowed, "{creator:?} creates {new:?}");
        }
    }

    #[test]
    fn a_key_with_explicit_scopes_needs_an_admin_scope_for_the_admin_api() {
        let explicit = |scopes: &[Scope]| Grant::of(Some(scopes.to_vec()));
        for (grant, reads, writes) in [
            (Grant::of(None), true, true),
            (explicit(&[]), false, false),
            (explicit(&[Scope::AdminRead]), true, false),
            (explicit(&[Scope::AdminWrite]), false, true),
        ] {
            assert_eq!(grant.require_admin_scope(Scope::AdminRead).is_ok(), reads, "{grant:?}");
            assert_eq!(grant.require_admin_scope(Scope::AdminWrite).is_ok(), writes, "{grant:?}");
        }
    }

    #[test]
    fn a_key_expires_after_days_of_24_hours() {
        assert_eq!(expires_at(Timestamp::from_micros(5), 1).micros(), 86_400_000_005);
    }
}
