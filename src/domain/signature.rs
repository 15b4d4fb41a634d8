//! Signatures of deliveries, according to the Standard Webhooks specification. Version `v1` is symmetric: HMAC-SHA256
//! over `id.timestamp.body`. A secret is `whsec_` followed by base64.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::id::DeliveryId;
use super::timestamp::Timestamp;

/// The prefix of each secret.
pub const SECRET_PREFIX: &str = "whsec_";

/// The maximum length of a secret, in characters. It allows nearly three times the 64 bytes that the specification
/// recommends as a maximum.
pub const SECRET_CHARACTERS_MAX: usize = 255;

/// The minimum number of bytes in a secret that an admin supplies: the minimum that the specification recommends (192
/// bits).
pub const SECRET_BYTES_MIN: usize = 24;

/// The number of bytes in a secret that the service generates.
const SECRET_BYTES: usize = 32;

/// A base64 engine that decodes strings with or without padding, and ignores the unused bits of the last character.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A secret that signs deliveries and that the HR system also knows. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(String);

impl SigningSecret {
    /// Parses a secret: `whsec_` and at least one byte in base64, at most 255 characters in total.
    pub fn parse(text: &str) -> Option<Self> {
        let is_short_enough = text.len() <= SECRET_CHARACTERS_MAX;
        let secret = Self(text.to_owned());
        (is_short_enough && !secret.key()?.is_empty()).then_some(secret)
    }

    /// Generates a secret. `fill` must supply unpredictable random bytes.
    pub fn generate(fill: impl FnOnce(&mut [u8])) -> Self {
        let mut key = [0; SECRET_BYTES];
        fill(&mut key);
        Self(format!("{SECRET_PREFIX}{}", STANDARD.encode(key)))
    }

    /// Returns the secret as a string: for the database, for the one answer that shows the secret, and for an export
    /// with secrets.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether the secret is long enough for an admin to supply. An import may contain a shorter secret,
    /// because the HR system already uses that secret.
    pub fn is_strong(&self) -> bool {
        self.key().is_some_and(|key| key.len() >= SECRET_BYTES_MIN)
    }

    fn key(&self) -> Option<Vec<u8>> {
        LENIENT.decode(self.0.strip_prefix(SECRET_PREFIX)?).ok()
    }

    /// Returns `v1,` and the signature.
    fn sign(&self, content: &[&[u8]]) -> String {
        let key = self.key().expect("a secret is parsed or generated, so it can be decoded");
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC accepts a key of any length");
        content.iter().for_each(|part| mac.update(part));
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret")
    }
}

/// Returns the value of `webhook-timestamp`: whole seconds since 1970.
pub fn timestamp_header(at: Timestamp) -> String {
    at.micros().div_euclid(1_000_000).to_string()
}

/// Returns the value of `webhook-signature`: a signature for each secret. While a secret is being replaced, a receiver
/// that knows either secret can verify the delivery.
pub fn signature_header(secrets: &[SigningSecret], id: &DeliveryId, at: Timestamp, body: &[u8]) -> String {
    let at = timestamp_header(at);
    let content: [&[u8]; 5] = [id.as_str().as_bytes(), b".", at.as_bytes(), b".", body];
    let signatures: Vec<String> = secrets.iter().map(|secret| secret.sign(&content)).collect();
    signatures.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    #[test]
    fn the_signature_matches_the_example_in_the_specification() {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = DeliveryId::parse("msg_p5jXN8AQM9LWM0D4loKWxJek").unwrap();
        let at = Timestamp::from_micros(1_614_265_330_999_999);
        let header = signature_header(std::slice::from_ref(&secret), &id, at, br#"{"test": 2432232314}"#);
        assert_eq!(header, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let both = signature_header(&[secret.clone(), secret], &id, at, br#"{"test": 2432232314}"#);
        assert_eq!(both, format!("{header} {header}"));
    }

    #[test]
    fn a_secret_is_the_prefix_followed_by_base64() {
        let longest = format!("whsec_{}", "A".repeat(248));
        for good in ["whsec_c2VjcmV0", "whsec_YQ==", "whsec_YQ", "whsec_YR==", "whsec_+/+/", &longest] {
            assert_eq!(SigningSecret::parse(good).unwrap().reveal(), good);
        }
        let too_long = format!("whsec_{}", "A".repeat(252));
        for bad in
            ["", "whsec_", "c2VjcmV0", "WHSEC_c2VjcmV0", "whsec_ä", "whsec_-_-_", "whsec_a", "whsec_YQ===", &too_long]
        {
            assert!(SigningSecret::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_generated_secret_has_32_bytes_and_is_not_printed() {
        let secret = SigningSecret::generate(|bytes| bytes.fill(0xff));
        assert_eq!(secret.reveal(), "whsec_//////////////////////////////////////////8=");
        assert!(secret.is_strong() && SigningSecret::parse(secret.reveal()) == Some(secret.clone()));
        assert_eq!(format!("{secret:?}"), "SigningSecret");
    }

    #[test]
    fn an_admins_secret_must_have_at_least_24_bytes() {
        let of_bytes = |count: usize| SigningSecret(format!("whsec_{}", STANDARD.encode(vec![7; count])));
        assert!(of_bytes(24).is_strong() && !of_bytes(23).is_strong());
    }
}
