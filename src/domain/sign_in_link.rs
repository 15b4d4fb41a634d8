//! Links by which a user signs in once without a password: invitations, resets, and the link of the demo.
//!
//! The token of a link is sufficient to sign in, unless the user has a second factor that the link neither removes nor
//! skips. Therefore, a token is too long to guess, works once, and expires after an hour or a week. The database
//! contains only its digest.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::words::words;

/// The number of bytes in a token: 256 bits, or 43 characters in base64.
pub const SIGN_IN_TOKEN_BYTES: usize = 32;

words! {
    /// The purpose of a sign-in link.
    LinkPurpose {
        /// A user, usually a new one, chooses a password or adds a passkey.
        Invitation = "invitation",
        /// A user who cannot sign in chooses another password or, if they have no second factor, adds a passkey.
        Reset = "reset",
        /// A user who lost their password or their second factor chooses another password or adds a passkey. The
        /// earlier factors are removed.
        FactorReset = "factor_reset",
        /// Somebody tries the sample company, without a password.
        Demo = "demo",
    }
}

impl LinkPurpose {
    /// Returns the time for which a link works. An invitation or the link of the demo works for a week, because people
    /// may not read their mail for days. A reset works for an hour, because its receiver is waiting for it.
    pub fn lifetime(self) -> Duration {
        match self {
            Self::Invitation | Self::Demo => Duration::from_secs(7 * 24 * 60 * 60),
            Self::Reset | Self::FactorReset => Duration::from_secs(60 * 60),
        }
    }

    /// Returns whether the link removes the user's second factors and recovery codes.
    pub fn resets_factors(self) -> bool {
        self == Self::FactorReset
    }

    /// Returns whether the link signs the user in even if they have a second factor. The demo requires no factor.
    pub fn skips_second_factor(self) -> bool {
        self == Self::Demo
    }

    /// Returns whether the user must choose a password, or add a passkey, before the link signs them in.
    pub fn asks_for_password(self) -> bool {
        self != Self::Demo
    }
}

/// Returns the token with these random bytes.
pub fn token(random: &[u8; SIGN_IN_TOKEN_BYTES]) -> String {
    URL_SAFE_NO_PAD.encode(random)
}

/// Returns the SHA-256 digest of a token. The database stores this digest. A string that is not a token also has a
/// digest, but that digest matches no link.
pub fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_safe_in_a_url() {
        let token = token(&[0xff; SIGN_IN_TOKEN_BYTES]);
        assert!(token.len() == 43 && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    }

    #[test]
    fn only_the_link_of_the_demo_signs_in_without_a_new_password_or_passkey() {
        for (purpose, hours, asks, resets) in [
            (LinkPurpose::Invitation, 168, true, false),
            (LinkPurpose::Reset, 1, true, false),
            (LinkPurpose::FactorReset, 1, true, true),
            (LinkPurpose::Demo, 168, false, false),
        ] {
            assert_eq!(purpose.lifetime().as_secs(), hours * 3_600, "{purpose:?}");
            assert_eq!(purpose.asks_for_password(), asks, "{purpose:?}");
            assert_eq!(purpose.skips_second_factor(), !asks, "{purpose:?}");
            assert_eq!(purpose.resets_factors(), resets, "{purpose:?}");
        }
    }
}
