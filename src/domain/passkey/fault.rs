//! The reasons why a registration or an assertion is refused.

use crate::domain::words::words;

words! {
    /// The reason why a registration or an assertion is refused.
    PasskeyFault {
        /// The client data belongs to another ceremony, such as a registration instead of an assertion.
        WrongType = "wrong_type",
        /// The challenge was never issued, or has already been used.
        UnknownChallenge = "unknown_challenge",
        /// The challenge was issued for another purpose, browser or user.
        ForeignChallenge = "foreign_challenge",
        /// The challenge has expired.
        ExpiredChallenge = "expired_challenge",
        /// The client data names an origin other than the service's.
        WrongOrigin = "wrong_origin",
        /// The page was in a frame of a page with another origin.
        CrossOrigin = "cross_origin",
        /// The passkey is for another relying party.
        WrongRelyingParty = "wrong_relying_party",
        /// The user was not present.
        UserNotPresent = "user_not_present",
        /// The authenticator did not verify the user by a PIN or a biometric.
        UserNotVerified = "user_not_verified",
        /// The authenticator data is truncated, has excess bytes, or contradicts itself or the rest of the answer.
        Malformed = "malformed",
        /// The key has an algorithm or a form that the service does not accept, or is not the key in the authenticator
        /// data.
        WrongKey = "wrong_key",
        /// No enabled user has this passkey, or the passkey does not belong to the expected user.
        UnknownPasskey = "unknown_passkey",
        /// The answer names a user who is not the owner of the passkey.
        WrongUser = "wrong_user",
        /// The signature does not match.
        WrongSignature = "wrong_signature",
        /// The signature counter did not increase, so a copy of the authenticator might exist.
        Cloned = "cloned",
    }
}
