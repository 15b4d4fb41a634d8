//! The public key of a passkey: its algorithm, its two encodings and the verification of a signature.
//!
//! A browser passes the key as a SubjectPublicKeyInfo (RFC 5280 §4.1). The authenticator data of a registration
//! contains the same key as a COSE key (RFC 9052 §7, in the canonical form of CTAP2). The form of the key is fixed for
//! each of the three algorithms, so this module compares bytes instead of parsing CBOR.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};

use crate::domain::words::words;

words! {
    /// The signature algorithm of a passkey (RFC 9053, RFC 8812).
    PasskeyAlgorithm {
        /// ECDSA on P-256 with SHA-256, used by most phones, computers and security keys.
        Es256 = "ES256",
        /// Ed25519, used by some security keys and password managers.
        EdDsa = "EdDSA",
        /// RSASSA-PKCS1-v1_5 with SHA-256, used by Windows Hello on machines with an older security chip.
        Rs256 = "RS256",
    }
}

impl PasskeyAlgorithm {
    /// The algorithms with their numbers in the IANA COSE registry, in the order of preference.
    pub const OFFERED: [(Self, i64); 3] = [(Self::Es256, -7), (Self::EdDsa, -8), (Self::Rs256, -257)];

    /// Returns the algorithm with this number.
    pub fn of_cose(number: i64) -> Option<Self> {
        Self::OFFERED.into_iter().find(|(_, known)| *known == number).map(|(algorithm, _)| algorithm)
    }
}

/// The beginning of the SubjectPublicKeyInfo of an uncompressed point on P-256 (RFC 5480 §2).
const P256_INFO: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";

/// The beginning of the SubjectPublicKeyInfo of an Ed25519 key (RFC 8410 §4).
const ED25519_INFO: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// The algorithm identifier of an RSA key (RFC 3279 §2.3.1).
const RSA_INFO: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";

/// The allowed lengths of an RSA modulus, in bytes: 2048 to 4096 bits. Shorter keys are weak. Signatures by longer keys
/// are expensive to verify, and even a stranger can make the service verify signatures.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=512;

/// A public key: its algorithm and its SubjectPublicKeyInfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyKey {
    algorithm: PasskeyAlgorithm,
    spki: Vec<u8>,
}

impl PasskeyKey {
    /// Parses the SubjectPublicKeyInfo of a key for this algorithm. Returns `None` if it is not valid.
    pub fn parse(algorithm: PasskeyAlgorithm, spki: &[u8]) -> Option<Self> {
        let key = Self { algorithm, spki: spki.to_owned() };
        key.cose().is_some().then_some(key)
    }

    pub fn algorithm(&self) -> PasskeyAlgorithm {
        self.algorithm
    }

    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// Returns whether this key made the signature.
    pub(super) fn is_signature(&self, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn VerificationAlgorithm = match self.algorithm {
            PasskeyAlgorithm::Es256 => &ECDSA_P256_SHA256_ASN1,
            PasskeyAlgorithm::EdDsa => &ED25519,
            PasskeyAlgorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
        };
        let key = self.raw().map(|raw| UnparsedPublicKey::new(algorithm, raw));
        key.is_some_and(|key| key.verify(message, signature).is_ok())
    }

    /// Returns the key in the form that `ring` accepts: a point, the bytes of an Ed25519 key, or an RSAPublicKey (RFC
    /// 8017 §A.1.1).
    fn raw(&self) -> Option<&[u8]> {
        match self.algorithm {
            PasskeyAlgorithm::Es256 => self.spki.strip_prefix(P256_INFO).filter(|raw| raw.len() == 65 && raw[0] == 4),
            PasskeyAlgorithm::EdDsa => self.spki.strip_prefix(ED25519_INFO).filter(|raw| raw.len() == 32),
            PasskeyAlgorithm::Rs256 => only(0x03, only(0x30, &self.spki)?.strip_prefix(RSA_INFO)?)?.strip_prefix(b"\0"),
        }
    }

    /// Returns the key as a COSE key. Returns `None` if the SubjectPublicKeyInfo is not valid.
    pub(super) fn cose(&self) -> Option<Vec<u8>> {
        let raw = self.raw()?;
        Some(match self.algorithm {
            PasskeyAlgorithm::Es256 => {
                [b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20", &raw[1..33], b"\x22\x58\x20", &raw[33..]].concat()
            }
            PasskeyAlgorithm::EdDsa => [b"\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20", raw].concat(),
            PasskeyAlgorithm::Rs256 => {
                let (modulus, rest) = value(0x02, only(0x30, raw)?)?;
                let modulus = modulus.strip_prefix(b"\0").filter(|modulus| MODULUS_BYTES.contains(&modulus.len()))?;
                // Only the exponent 65537 is accepted, because all authenticators use it.
                let exponent = only(0x02, rest).filter(|exponent| *exponent == b"\x01\x00\x01")?;
                let length = u16::try_from(modulus.len()).ok()?.to_be_bytes();
                [b"\xa4\x01\x03\x03\x39\x01\x00\x20\x59", &length[..], modulus, b"\x21\x43", exponent].concat()
            }
        })
    }
}

/// Reads one DER value with this tag (X.690 §8.1), of at most 65,535 bytes. Returns its contents and the bytes after
/// it.
fn value(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match bytes.strip_prefix(&[tag])? {
        [length @ 0..=0x7f, rest @ ..] => (usize::from(*length), rest),
        [0x81, length @ 0x80..=0xff, rest @ ..] => (usize::from(*length), rest),
        [0x82, high @ 1..=0xff, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Reads one DER value with this tag. Returns `None` if anything follows it.
fn only(tag: u8, bytes: &[u8]) -> Option<&[u8]> {
    value(tag, bytes).filter(|(_, rest)| rest.is_empty()).map(|(contents, _)| contents)
}
