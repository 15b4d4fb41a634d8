//! The only rule that decides whether an API key is valid.
//!
//! The service applies the rule to a request up to three times: when it looks up the key, in the transaction of the
//! request, and in the transaction of the usage row. Each time, the facts come from the key cache or from the database.
//! A valid key can still lack the scope that a request needs: see `Principal::require_scope` and
//! `Grant::require_admin_scope`.

use crate::domain::timestamp::Timestamp;
use crate::domain::words::words;

words! {
    /// The reason why a known key is not valid.
    KeyRefusal {
        /// The key was revoked.
        Revoked = "revoked",
        /// The key has expired.
        Expired = "expired",
        /// The key's user is disabled.
        UserDisabled = "user_disabled",
    }
}

/// The facts that decide whether a key is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyState {
    /// False after the key has been revoked.
    pub is_enabled: bool,
    /// The expiry; `None` for a key that never expires.
    pub expires_at: Option<Timestamp>,
    /// Whether the database records that the key has expired. The key then stays expired, even if the clock steps back.
    pub is_expiry_recorded: bool,
    /// False while the key's user is disabled.
    pub is_user_enabled: bool,
}

impl KeyState {
    /// Checks that the key is valid now.
    ///
    /// # Errors
    /// Returns the first reason that applies. The platform activity records how often a key was refused for each
    /// reason. The caller gets the same 401 for every reason.
    pub fn require_valid(&self, now: Timestamp) -> Result<(), KeyRefusal> {
        if !self.is_enabled {
            Err(KeyRefusal::Revoked)
        } else if self.is_expiry_recorded || is_expired(self.expires_at, now) {
            Err(KeyRefusal::Expired)
        } else if !self.is_user_enabled {
            Err(KeyRefusal::UserDisabled)
        } else {
            Ok(())
        }
    }
}

/// Returns whether the expiry of a key is now or in the past.
pub fn is_expired(expires_at: Option<Timestamp>, now: Timestamp) -> bool {
    expires_at.is_some_and(|expiry| expiry <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_000);

    fn state(is_enabled: bool, expires_at: Option<i64>, is_expiry_recorded: bool, is_user_enabled: bool) -> KeyState {
        let expires_at = expires_at.map(Timestamp::from_micros);
        KeyState { is_enabled, expires_at, is_expiry_recorded, is_user_enabled }
    }

    #[test]
    fn a_key_is_refused_for_the_first_reason_that_applies() {
        use KeyRefusal::{Expired, Revoked, UserDisabled};
        for (state, expected) in [
            (state(true, None, false, true), Ok(())),
            (state(true, Some(1_001), false, true), Ok(())),
            (state(true, Some(1_000), false, true), Err(Expired)),
            (state(true, Some(999), false, true), Err(Expired)),
            (state(true, Some(1_001), true, true), Err(Expired)),
            (state(true, Some(1_001), false, false), Err(UserDisabled)),
            (state(true, None, false, false), Err(UserDisabled)),
            (state(false, Some(1_001), false, true), Err(Revoked)),
            (state(false, Some(1_000), false, true), Err(Revoked)),
            (state(false, Some(1_001), true, true), Err(Revoked)),
            (state(false, Some(1_000), true, false), Err(Revoked)),
            (state(true, Some(1_000), false, false), Err(Expired)),
            (state(true, Some(1_001), true, false), Err(Expired)),
        ] {
            assert_eq!(state.require_valid(NOW), expected, "{state:?}");
        }
    }
}
