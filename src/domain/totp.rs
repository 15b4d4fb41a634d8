//! Time-based one-time passwords (TOTP, RFC 6238): the codes of authenticator apps.
//!
//! The parameters are the only ones that all apps support: HMAC-SHA-1, six digits, steps of 30 seconds. SHA-1 is safe
//! here, because its collisions do not help to forge an HMAC.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::hmac;

use super::timestamp::Timestamp;

/// The number of bytes in a secret: 160 bits, as RFC 4226 §4 recommends.
pub const SECRET_BYTES: usize = 20;

/// The number of digits in a code.
pub const DIGITS: usize = 6;

/// The duration of a step, in seconds.
pub const STEP_S: i64 = 30;

/// The number of steps by which a phone's clock may be ahead or behind.
const DRIFT_STEPS: i64 = 1;

/// The maximum length of an entered code in bytes, which allows for spaces between the digits.
const ENTERED_BYTES_MAX: usize = 32;

/// The alphabet of base 32 (RFC 4648 §6).
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The characters to percent-encode in a URI: all except the unreserved ones (RFC 3986 §2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The secret that an authenticator app and the service share.
#[derive(Clone, PartialEq, Eq)]
pub struct TotpSecret([u8; SECRET_BYTES]);

/// A log must never contain the secret.
impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpSecret(..)")
    }
}

/// The code that a user entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TotpCode(u32);

/// The number of a step, counted from 1970. A code is accepted once. After that, the codes of earlier steps are
/// refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TotpStep(pub i64);

impl TotpSecret {
    /// Creates a secret from unpredictable random bytes, or from the bytes in the database.
    pub fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// Derives a new secret for a user who sets up an app. Until the user confirms the secret, it cannot be computed
    /// from the database, because the database does not contain `cookie`, the value of the session's cookie. `form_id`
    /// is the random id of the page's form, so the page shows the same secret again after a wrong code.
    pub fn for_setup(form_secret: &[u8; 32], form_id: &str, cookie: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, form_secret);
        let mut context = hmac::Context::with_key(&key);
        for part in ["totp secret", form_id, cookie] {
            context.update(part.as_bytes());
            context.update(&[0]);
        }
        let mut bytes = [0; SECRET_BYTES];
        bytes.copy_from_slice(&context.sign().as_ref()[..SECRET_BYTES]);
        Self(bytes)
    }

    /// Returns the bytes for the database.
    pub fn bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// Returns the secret in base 32, for people who type it into their app. Apps ignore the spaces.
    pub fn text(&self) -> String {
        let digits = self.base32();
        let groups: Vec<&str> = (0..digits.len()).step_by(4).map(|at| &digits[at..at + 4]).collect();
        groups.join(" ")
    }

    /// Returns the URI that a QR code contains (`otpauth`, the key URI format of authenticator apps). Apps show the
    /// issuer and the account next to the codes.
    pub fn uri(&self, issuer: &str, account: &str) -> String {
        let encoded = |text| utf8_percent_encode(text, ESCAPED);
        format!(
            "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={STEP_S}",
            issuer = encoded(issuer),
            account = encoded(account),
            secret = self.base32()
        )
    }

    /// Returns the code that an app shows at this time.
    pub fn shown_at(&self, now: Timestamp) -> String {
        let TotpCode(code) = self.code(TotpStep(step_at(now)));
        format!("{code:0DIGITS$}")
    }

    /// Returns the step of an accepted code, or `None` if the code is refused. A code is valid in its step and for one
    /// step before and after it. The codes of `last_accepted` and of earlier steps are refused, so that a person who
    /// saw a code being entered cannot use it.
    pub fn accept(&self, code: TotpCode, last_accepted: Option<TotpStep>, now: Timestamp) -> Option<TotpStep> {
        let current = step_at(now);
        // Two steps can have the same code. The newest step counts, so that the code is not accepted again.
        let steps = (current - DRIFT_STEPS..=current + DRIFT_STEPS).rev().map(TotpStep);
        let valid: Vec<TotpStep> = steps.filter(|step| self.code(*step) == code).collect();
        valid.first().copied().filter(|step| last_accepted.is_none_or(|last| *step > last))
    }

    /// Returns the code of a step (RFC 4226 §5.3).
    fn code(&self, step: TotpStep) -> TotpCode {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let tag = hmac::sign(&key, &step.0.to_be_bytes());
        let bytes = tag.as_ref();
        let offset = usize::from(bytes[bytes.len() - 1] & 0xf);
        let truncated = bytes[offset..offset + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        TotpCode((truncated & 0x7fff_ffff) % 10_u32.pow(DIGITS as u32))
    }

    fn base32(&self) -> String {
        // 20 bytes are exactly 32 digits, so no padding is necessary.
        let bits = |chunk: &[u8]| chunk.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let digits = |number: u64| (0..8).rev().map(move |at| BASE32[(number >> (at * 5) & 31) as usize]);
        self.0.chunks(5).flat_map(|chunk| digits(bits(chunk))).map(char::from).collect()
    }
}

impl TotpCode {
    /// Parses a code of six digits. Spaces are ignored, because apps show the digits in groups.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > ENTERED_BYTES_MAX {
            return None;
        }
        let digits: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let is_code = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_code.then(|| digits.parse().ok()).flatten().map(Self)
    }
}

fn step_at(now: Timestamp) -> i64 {
    now.micros().div_euclid(STEP_S * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of the examples in RFC 6238.
    fn secret() -> TotpSecret {
        TotpSecret::new(*b"12345678901234567890")
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn codes_match_the_examples_of_rfc_6238() {
        // The RFC shows codes of eight digits. A code of six digits consists of the last six.
        for (seconds, expected) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            assert_eq!(secret().shown_at(at(seconds)), expected[2..], "{seconds}");
        }
    }

    #[test]
    fn codes_match_the_examples_of_rfc_4226() {
        let expected = [755_224, 287_082, 359_152, 969_429, 338_314, 254_676, 287_922, 162_583, 399_871, 520_489];
        for (step, expected) in (0..).zip(expected) {
            assert_eq!(secret().code(TotpStep(step)), TotpCode(expected), "{step}");
        }
    }

    #[test]
    fn a_code_is_valid_for_one_step_of_drift_in_each_direction() {
        let step = TotpStep(37_037_037);
        let begin = step.0 * STEP_S;
        let code = secret().code(step);
        for (seconds, is_valid) in [(-31, false), (-30, true), (0, true), (29, true), (59, true), (60, false)] {
            let accepted = secret().accept(code, None, at(begin + seconds));
            assert_eq!(accepted, is_valid.then_some(step), "{seconds}");
        }
    }

    #[test]
    fn an_accepted_code_and_codes_of_earlier_steps_are_refused() {
        let step = TotpStep(37_037_037);
        let now = at(step.0 * STEP_S);
        for (of, last, is_accepted) in
            [(0, None, true), (0, Some(-1), true), (0, Some(0), false), (-1, Some(0), false), (1, Some(0), true)]
        {
            let (of, last) = (TotpStep(step.0 + of), last.map(|last| TotpStep(step.0 + last)));
            let accepted = secret().accept(secret().code(of), last, now);
            assert_eq!(accepted, is_accepted.then_some(of), "{of:?} after {last:?}");
        }
    }

    #[test]
    fn each_form_and_each_session_has_its_own_new_secret() {
        let secret = TotpSecret::for_setup(&[1; 32], "form", "cookie");
        assert_eq!(secret, TotpSecret::for_setup(&[1; 32], "form", "cookie"));
        for (form_secret, form_id, cookie) in [
            ([2; 32], "form", "cookie"),
            ([1; 32], "other", "cookie"),
            ([1; 32], "form", "other"),
            ([1; 32], "", "formcookie"),
        ] {
            assert_ne!(secret, TotpSecret::for_setup(&form_secret, form_id, cookie));
        }
    }

    #[test]
    fn only_strings_of_six_digits_are_codes() {
        for (text, code) in [("287082", 287_082), ("081804", 81_804), (" 287 082\n", 287_082), ("28 70 82", 287_082)] {
            assert_eq!(TotpCode::parse(text), Some(TotpCode(code)), "{text}");
        }
        let long = " ".repeat(40) + "287082";
        for text in ["", "28708", "2870822", "-28708", "+28708", "28708a", "٢٨٧٠٨٢", "287-082", "0x1234", &long] {
            assert_eq!(TotpCode::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_uri_has_the_secret_in_base_32_and_encoded_names() {
        assert_eq!(secret().text(), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ");
        assert_eq!(
            secret().uri("Müller & Co: Jobs", "ada@example.org"),
            "otpauth://totp/M%C3%BCller%20%26%20Co%3A%20Jobs:ada%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\
             &issuer=M%C3%BCller%20%26%20Co%3A%20Jobs&algorithm=SHA1&digits=6&period=30"
        );
        assert_eq!(TotpSecret::new([0xff; 20]).text(), ["7777"; 8].join(" "));
        assert!(!format!("{:?}", secret()).contains("123"));
    }
}
