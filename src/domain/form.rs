//! Signed forms: the signature proves when the service created a form, and for which link. The service signs forms with
//! the database's secret. Therefore, it stores nothing about a form until the form is submitted, and forms remain valid
//! after a restart.

use std::fmt::Write as _;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::id;
use super::timestamp::Timestamp;

/// The number of random bytes in a form's id. The id has 128 bits, because the token of the status page is derived from
/// it.
pub const ID_RANDOM_BYTES: usize = 16;

/// The minimum age of an accepted form. People need more time to read and fill in a form, but programs do not.
pub const FORM_AGE_MIN: Duration = Duration::from_secs(3);

/// The maximum age of an accepted form. A day gives applicants time to collect their documents.
pub const FORM_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum number of characters in a signed form. Longer strings are refused without parsing.
const SIGNED_CHARACTERS_MAX: usize = 128;

/// The identity of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedForm {
    /// A random, unique id.
    pub id: String,
    /// The time at which the service created the form.
    pub created_at: Timestamp,
}

/// The assessment of a form's age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormAge {
    /// The form was submitted faster than a person can fill it in.
    TooYoung,
    /// The age is within the limits.
    Good,
    /// The form is older than a day, or its time is in the future because the clock was set back.
    TooOld,
}

impl SignedForm {
    /// Creates a form from unpredictable random bytes.
    pub fn new(random: &[u8; ID_RANDOM_BYTES], now: Timestamp) -> Self {
        Self { id: id::token(random), created_at: now }
    }

    /// Parses a form and verifies that it was signed with this secret for this link.
    pub fn verify(secret: &[u8; 32], link: &str, text: &str) -> Option<Self> {
        if text.len() > SIGNED_CHARACTERS_MAX {
            return None;
        }
        let mut parts = text.split('.');
        let (id, created_at, signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let form = Self { id: id.to_owned(), created_at: Timestamp::from_micros(created_at.parse().ok()?) };
        // The comparison takes constant time. The line after it refuses any other spelling of the same form.
        form.mac(secret, link).verify_slice(&bytes(signature)?).ok()?;
        (form.signed(secret, link) == text).then_some(form)
    }

    /// Returns the string for the page: the id, the time, and the signature of both for this link.
    pub fn signed(&self, secret: &[u8; 32], link: &str) -> String {
        let mut text = format!("{}.{}.", self.id, self.created_at.micros());
        for byte in self.mac(secret, link).finalize().into_bytes() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Assesses the form's age.
    pub fn age(&self, now: Timestamp) -> FormAge {
        let age = now.since(self.created_at);
        match age {
            _ if now < self.created_at => FormAge::TooOld,
            age if age < FORM_AGE_MIN => FormAge::TooYoung,
            age if age <= FORM_AGE_MAX => FormAge::Good,
            _ => FormAge::TooOld,
        }
    }

    fn mac(&self, secret: &[u8; 32], link: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC accepts a key of any length");
        // No part of a form that the service creates contains a zero byte, so two such forms never produce the same
        // input to the MAC.
        for part in ["form", &self.id, &self.created_at.micros().to_string(), link] {
            mac.update(part.as_bytes());
            mac.update(&[0]);
        }
        mac
    }
}

/// Decodes a hexadecimal string.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [u8; 32] = [7; 32];

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn only_unchanged_forms_are_verified() {
        let form = SignedForm::new(&[3; ID_RANDOM_BYTES], at(1_700_000_000_000_000));
        let text = form.signed(&SECRET, "link");
        assert_eq!(SignedForm::verify(&SECRET, "link", &text), Some(form.clone()));
        assert!(text.len() <= SIGNED_CHARACTERS_MAX, "{text}");
        assert_eq!(SignedForm::verify(&[8; 32], "link", &text), None, "another database's secret");
        assert_eq!(SignedForm::verify(&SECRET, "other", &text), None, "another link");
        let later = SignedForm { created_at: at(1_700_000_000_000_001), ..form.clone() };
        let (id, rest) = text.split_once('.').unwrap();
        let (time, signature) = rest.split_once('.').unwrap();
        for forged in [
            String::new(),
            "..".to_owned(),
            id.to_owned(),
            format!("{id}.{time}"),
            format!("{id}.{time}."),
            format!("{id}.{}.{signature}", later.created_at.micros()),
            format!("{id}.+{time}.{signature}"),
            format!("{id}.{time}.{}", signature.to_uppercase()),
            format!("{id}x.{time}.{signature}"),
            format!("{text}.x"),
            format!("{text}0"),
            format!("{}{text}", "0".repeat(200)),
            format!("{id}.{time}.é{}", &signature[2..]),
        ] {
            assert_eq!(SignedForm::verify(&SECRET, "link", &forged), None, "{forged}");
        }
    }

    #[test]
    fn a_form_has_a_good_age_from_three_seconds_to_a_day() {
        let form = SignedForm { id: "f".to_owned(), created_at: at(0) };
        let (least, most) = (FORM_AGE_MIN.as_micros() as i64, FORM_AGE_MAX.as_micros() as i64);
        for (now, age) in [
            (-1, FormAge::TooOld),
            (0, FormAge::TooYoung),
            (least - 1, FormAge::TooYoung),
            (least, FormAge::Good),
            (most, FormAge::Good),
            (most + 1, FormAge::TooOld),
        ] {
            assert_eq!(form.age(at(now)), age, "{now}");
        }
    }
}
