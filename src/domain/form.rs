//! Forms that prove when they were made, and for which link: signed with the file's secret, so that nothing is kept of one
//! until it is sent, also behind a restart.

use std::fmt::Write as _;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::id;
use super::timestamp::Timestamp;

/// Random bytes of a form's id: 128 bits, because the link to what it was sent for is made of it.
pub const ID_RANDOM_BYTES: usize = 16;

/// Nobody reads and fills a form in less than this; programs do.
pub const FORM_AGE_MIN: Duration = Duration::from_secs(3);

/// A form is good for this long: a day is enough to look for one's papers.
pub const FORM_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Characters of a signed form: whatever is longer is none.
const SIGNED_CHARACTERS_MAX: usize = 128;

/// A form as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedForm {
    /// What tells it from every other one.
    pub id: String,
    /// When it was made.
    pub made_at: Timestamp,
}

/// How a form's age is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormAge {
    /// It was sent sooner than anybody fills one.
    TooYoung,
    /// It was made within the last day.
    Good,
    /// It is older, or from a time that has not come: the clock was set back.
    TooOld,
}

impl SignedForm {
    /// A new one, of random bytes that nobody can guess.
    pub fn new(random: &[u8; ID_RANDOM_BYTES], now: Timestamp) -> Self {
        Self { id: id::token(random), made_at: now }
    }

    /// The form that a text says it is, where this secret has signed it for this link.
    pub fn read(secret: &[u8; 32], link: &str, text: &str) -> Option<Self> {
        if text.len() > SIGNED_CHARACTERS_MAX {
            return None;
        }
        let mut parts = text.split('.');
        let (id, made_at, signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let form = Self { id: id.to_owned(), made_at: Timestamp::from_micros(made_at.parse().ok()?) };
        // In constant time; what does not read back as it was written is no form of ours.
        form.mac(secret, link).verify_slice(&bytes(signature)?).ok()?;
        (form.signed(secret, link) == text).then_some(form)
    }

    /// As text: the id, the time, and what signs both for this link.
    pub fn signed(&self, secret: &[u8; 32], link: &str) -> String {
        let mut text = format!("{}.{}.", self.id, self.made_at.micros());
        for byte in self.mac(secret, link).finalize().into_bytes() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// How its age is.
    pub fn age(&self, now: Timestamp) -> FormAge {
        let age = now.since(self.made_at);
        match age {
            _ if now < self.made_at => FormAge::TooOld,
            age if age < FORM_AGE_MIN => FormAge::TooYoung,
            age if age <= FORM_AGE_MAX => FormAge::Good,
            _ => FormAge::TooOld,
        }
    }

    fn mac(&self, secret: &[u8; 32], link: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
        // No part has a zero byte, so no two forms read the same.
        for part in ["form", &self.id, &self.made_at.micros().to_string(), link] {
            mac.update(part.as_bytes());
            mac.update(&[0]);
        }
        mac
    }
}

/// The bytes of a text in base 16.
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
    fn a_form_is_read_back_and_nothing_like_it_is() {
        let form = SignedForm::new(&[3; ID_RANDOM_BYTES], at(1_700_000_000_000_000));
        let text = form.signed(&SECRET, "link");
        assert_eq!(SignedForm::read(&SECRET, "link", &text), Some(form.clone()));
        assert!(text.len() <= SIGNED_CHARACTERS_MAX, "{text}");
        assert_eq!(SignedForm::read(&[8; 32], "link", &text), None, "another file's secret");
        assert_eq!(SignedForm::read(&SECRET, "other", &text), None, "another link");
        let later = SignedForm { made_at: at(1_700_000_000_000_001), ..form.clone() };
        let (id, rest) = text.split_once('.').unwrap();
        let (time, signature) = rest.split_once('.').unwrap();
        for forged in [
            String::new(),
            "..".to_owned(),
            id.to_owned(),
            format!("{id}.{time}"),
            format!("{id}.{time}."),
            format!("{id}.{}.{signature}", later.made_at.micros()),
            format!("{id}.+{time}.{signature}"),
            format!("{id}.{time}.{}", signature.to_uppercase()),
            format!("{id}x.{time}.{signature}"),
            format!("{text}.x"),
            format!("{text}0"),
            format!("{}{text}", "0".repeat(200)),
            format!("{id}.{time}.é{}", &signature[2..]),
        ] {
            assert_eq!(SignedForm::read(&SECRET, "link", &forged), None, "{forged}");
        }
    }

    #[test]
    fn a_form_is_good_from_three_seconds_to_a_day() {
        let form = SignedForm { id: "f".to_owned(), made_at: at(0) };
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
