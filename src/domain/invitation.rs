//! Signup links: how long they live, when one is given again, what language they ask for.

use std::time::Duration;

use super::timestamp::Timestamp;

const DAY: Duration = Duration::from_secs(86_400);

/// A link lives this long.
pub const LIFETIME: Duration = Duration::from_secs(30 * 86_400);

/// A link is given again while it has at least this long to live.
pub const REUSED_WITH_LEFT: Duration = Duration::from_secs(7 * 86_400);

/// Random bytes of a link's token: 160 bits.
pub const TOKEN_RANDOM_BYTES: usize = 20;

/// The language of a link when the caller says nothing.
pub const LOCALE_DEFAULT: &str = "en";

/// The longest language tag: no registered one comes near it.
pub const LOCALE_CHARACTERS_MAX: usize = 255;

/// When a link made now ends.
pub fn expires_at(now: Timestamp) -> Timestamp {
    now.plus(LIFETIME)
}

/// A link that ends at this time or later is given again.
pub fn reused_from(now: Timestamp) -> Timestamp {
    now.plus(REUSED_WITH_LEFT)
}

/// Whether a link still leads somewhere: it was not ended, and its time has not run out.
pub fn is_alive(expires_at: Timestamp, ended_at: Option<Timestamp>, now: Timestamp) -> bool {
    ended_at.is_none() && now < expires_at
}

/// Whole days until a link ends, rounded up, for the people who follow it.
pub fn days_left(expires_at: Timestamp, now: Timestamp) -> u64 {
    expires_at.since(now).as_secs().div_ceil(DAY.as_secs())
}

/// Whether a text is a language tag (BCP 47): two or three letters, then parts of two to eight letters or digits.
pub fn is_locale(text: &str) -> bool {
    let mut parts = text.split('-');
    let language = parts.next().unwrap_or_default();
    text.len() <= LOCALE_CHARACTERS_MAX
        && (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| (2..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_tags_are_told_from_other_text() {
        for good in ["en", "de-CH", "gsw", "zh-Hant-TW", "DE", "es-419"] {
            assert!(is_locale(good), "{good}");
        }
        for bad in ["", "e", "engl", "en_US", "en-", "en-a", "en-123456789", "e1", "en ", "../x", "en-ü"] {
            assert!(!is_locale(bad), "{bad}");
        }
    }

    #[test]
    fn a_link_leads_somewhere_until_its_end_or_until_it_is_ended() {
        let made = Timestamp::from_micros(0);
        let end = expires_at(made);
        assert!(is_alive(end, None, Timestamp::from_micros(end.micros() - 1)));
        assert!(!is_alive(end, None, end));
        assert!(!is_alive(end, Some(made), made));
    }

    #[test]
    fn a_link_is_reused_until_less_than_seven_days_are_left() {
        let made = Timestamp::from_micros(0);
        let end = expires_at(made);
        let day_23 = made.plus(Duration::from_secs(23 * 86_400));
        assert!(end >= reused_from(day_23));
        assert!(end < reused_from(Timestamp::from_micros(day_23.micros() + 1)));
        assert_eq!(days_left(end, day_23), 7);
    }
}
