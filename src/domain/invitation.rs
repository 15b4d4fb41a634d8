//! Invitations: the lifetime, reuse, target and language of signup links.

use std::time::Duration;

use super::role::RoleStatus;
use super::timestamp::Timestamp;

/// The lifetime of a link.
pub const LIFETIME: Duration = Duration::from_secs(30 * 86_400);

/// The minimum remaining lifetime of a link that is reused.
pub const REUSE_REMAINING_MIN: Duration = Duration::from_secs(7 * 86_400);

/// The number of random bytes in a link's token (160 bits).
pub const TOKEN_RANDOM_BYTES: usize = 20;

/// The default language of a link.
pub const LOCALE_DEFAULT: &str = "en";

/// The maximum number of characters in a language tag, which is far more than any registered tag has.
pub const LOCALE_CHARACTERS_MAX: usize = 255;

/// Returns the expiry of a new link.
pub fn expires_at(now: Timestamp) -> Timestamp {
    now.plus(LIFETIME)
}

/// Returns the earliest expiry with which a link is still reused.
pub fn reused_from(now: Timestamp) -> Timestamp {
    now.plus(REUSE_REMAINING_MIN)
}

/// Returns whether a link is valid: neither ended nor expired.
pub fn is_alive(expires_at: Timestamp, ended_at: Option<Timestamp>, now: Timestamp) -> bool {
    ended_at.is_none() && now < expires_at
}

/// The page to which a link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkTarget {
    /// The application form.
    Open,
    /// A note that the link has expired or was ended, although the role is open.
    Expired,
    /// A note that the role accepts no applications: it is filled or closed, has no steps, or is past its closing date.
    Closed,
}

/// Returns the target of a link. Returns `None` if the role is a draft. `can_accept` is true if an open role can
/// accept signups: it has steps, and its closing date has not passed. `is_alive` is the result of [`is_alive`].
pub fn link_target(role: RoleStatus, can_accept: bool, is_alive: bool) -> Option<LinkTarget> {
    match role {
        RoleStatus::Draft => None,
        RoleStatus::Open if !can_accept => Some(LinkTarget::Closed),
        RoleStatus::Open if is_alive => Some(LinkTarget::Open),
        RoleStatus::Open => Some(LinkTarget::Expired),
        RoleStatus::Filled | RoleStatus::Closed => Some(LinkTarget::Closed),
    }
}

/// The error detail for a string that is not a language tag.
pub const LOCALE_MUST_BE: &str = "must be a language tag such as en, de-CH or zh-Hant";

/// Returns whether a string has the form of a common language tag (BCP 47): two or three letters, then parts of two to
/// eight letters or digits.
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
    fn language_tags_are_recognized() {
        for good in ["en", "de-CH", "gsw", "zh-Hant-TW", "DE", "es-419"] {
            assert!(is_locale(good), "{good}");
        }
        for bad in ["", "e", "engl", "en_US", "en-", "en-a", "en-123456789", "e1", "en ", "../x", "en-ü"] {
            assert!(!is_locale(bad), "{bad}");
        }
    }

    #[test]
    fn a_link_is_valid_until_it_expires_or_is_ended() {
        let created = Timestamp::from_micros(0);
        let end = expires_at(created);
        assert!(is_alive(end, None, Timestamp::from_micros(end.micros() - 1)));
        assert!(!is_alive(end, None, end));
        assert!(!is_alive(end, Some(created), created));
    }

    #[test]
    fn a_link_is_reused_while_at_least_seven_days_are_left() {
        let created = Timestamp::from_micros(0);
        let end = expires_at(created);
        let day_23 = created.plus(Duration::from_secs(23 * 86_400));
        assert!(end >= reused_from(day_23));
        assert!(end < reused_from(Timestamp::from_micros(day_23.micros() + 1)));
    }

    #[test]
    fn links_lead_to_the_form_while_their_role_accepts_applications() {
        for (role, can_accept, is_alive, expected) in [
            (RoleStatus::Open, true, true, Some(LinkTarget::Open)),
            (RoleStatus::Open, true, false, Some(LinkTarget::Expired)),
            (RoleStatus::Open, false, true, Some(LinkTarget::Closed)),
            (RoleStatus::Filled, true, true, Some(LinkTarget::Closed)),
            (RoleStatus::Closed, true, false, Some(LinkTarget::Closed)),
            (RoleStatus::Draft, true, true, None),
        ] {
            assert_eq!(link_target(role, can_accept, is_alive), expected, "{role:?}");
        }
    }
}
