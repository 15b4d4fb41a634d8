//! Challenges: random bytes that an authenticator signs, so that a recorded answer is useless. A challenge is valid for
//! one purpose, in one browser, for five minutes. The store deletes a challenge when it is used.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::fault::PasskeyFault;
use crate::domain::id::UserId;
use crate::domain::rate::RatePolicy;
use crate::domain::timestamp::Timestamp;
use crate::domain::words::words;

/// The time for which a challenge is valid: long enough to find a security key.
pub const LIFETIME: Duration = Duration::from_secs(5 * 60);

/// The maximum rate at which an IPv4 address or IPv6 /64 gets challenges before a sign-in: enough for the sign-in pages
/// of a large office in the morning. Each address or /64 has at most 360 valid challenges: the 60 of a full bucket, and
/// the 300 that refill it within 5 minutes.
pub const STRANGERS_RATE: RatePolicy = RatePolicy { per_minute: 60 };

words! {
    /// The purpose of a challenge.
    ChallengeUse {
        /// Adds a passkey to the user's account.
        Register = "register",
        /// Signs a user in. The challenge is issued before the user is known.
        SignIn = "sign_in",
        /// Confirms a dangerous act of a signed-in user.
        Confirm = "confirm",
    }
}

/// A new challenge.
#[derive(Debug, Clone)]
pub struct Challenge(String);

impl Challenge {
    /// Creates a challenge from 32 unpredictable random bytes. WebAuthn §13.4.3 recommends at least 16.
    pub fn new(random: &[u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(random))
    }

    /// Returns the challenge in base64url, as client data contains it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the SHA-256 digest of a challenge that is encoded in base64url. The database stores only the digest.
    pub fn digest(text: &str) -> [u8; 32] {
        Sha256::digest(text).into()
    }
}

/// The facts of an issued challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChallenge {
    pub purpose: ChallengeUse,
    /// The digest of the browser's cookie.
    pub browser: [u8; 32],
    /// The user for whom the challenge was issued: the signed-in user, or the user of a sign-in link. `None` for a
    /// sign-in with a passkey.
    pub user_id: Option<UserId>,
    pub issued_at: Timestamp,
}

impl StoredChallenge {
    /// Checks that the challenge was issued for this purpose, browser and user, less than five minutes ago.
    ///
    /// # Errors
    /// [`PasskeyFault::ForeignChallenge`] if the purpose, the browser or the user differs;
    /// [`PasskeyFault::ExpiredChallenge`] if the challenge is at least five minutes old.
    pub fn check(
        &self,
        purpose: ChallengeUse,
        browser: &[u8; 32],
        user_id: Option<&UserId>,
        now: Timestamp,
    ) -> Result<(), PasskeyFault> {
        if (self.purpose, &self.browser, self.user_id.as_ref()) != (purpose, browser, user_id) {
            return Err(PasskeyFault::ForeignChallenge);
        }
        if now.since(self.issued_at) < LIFETIME { Ok(()) } else { Err(PasskeyFault::ExpiredChallenge) }
    }
}
