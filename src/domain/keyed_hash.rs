//! Keyed hashes: pseudonyms in a log that must not name people, and keys of counts that servers share. With the secret
//! of one database, the same string of the same kind always has the same hash. Without the secret, nobody can find the
//! string behind a hash.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The number of HMAC bytes that the log shows: enough to distinguish millions of people.
const SHOWN_BYTES: usize = 8;

/// Prefixes that separate these hashes from each other and from other uses of the same secret.
const LOG: &[u8] = b"appliance log\0";
const COUNT: &[u8] = b"appliance count\0";

/// Returns the keyed hash of a string in hexadecimal (HMAC-SHA-256, RFC 2104). Equal strings of different kinds have
/// different hashes.
pub fn keyed_hash(secret: &[u8; 32], kind: &str, text: &str) -> String {
    let mut shown = String::new();
    for byte in &digest(secret, [LOG, kind.as_bytes(), b"\0", text.as_bytes()])[..SHOWN_BYTES] {
        let _ = write!(shown, "{byte:02x}");
    }
    shown
}

/// Returns the key of a shared count, such as the count of a network's failures. `kind` states what is counted, and
/// `name` identifies the subject, such as the network.
pub fn count_key(secret: &[u8; 32], kind: u8, name: &[u8]) -> [u8; 32] {
    digest(secret, [COUNT, &[kind], b"\0", name])
}

fn digest(secret: &[u8; 32], parts: [&[u8]; 4]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC accepts a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_the_secret_the_kind_and_the_text() {
        let hash = keyed_hash(&[1; 32], "account", "ada@example.org");
        assert_eq!(hash.len(), 2 * SHOWN_BYTES);
        assert_eq!(hash, keyed_hash(&[1; 32], "account", "ada@example.org"));
        for other in [
            keyed_hash(&[2; 32], "account", "ada@example.org"),
            keyed_hash(&[1; 32], "address", "ada@example.org"),
            keyed_hash(&[1; 32], "account", "bob@example.org"),
        ] {
            assert_ne!(hash, other);
        }
    }

    #[test]
    fn the_key_of_a_count_depends_on_the_secret_the_kind_and_the_name() {
        let key = count_key(&[1; 32], 1, b"192.0.2.1/32");
        assert_eq!(key, count_key(&[1; 32], 1, b"192.0.2.1/32"));
        for (secret, kind, name) in
            [([2; 32], 1, "192.0.2.1/32"), ([1; 32], 2, "192.0.2.1/32"), ([1; 32], 1, "192.0.2.2/32")]
        {
            assert_ne!(key, count_key(&secret, kind, name.as_bytes()));
        }
    }
}
