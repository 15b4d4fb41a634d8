//! Pending sign-ins: the user has entered the password or used a sign-in link, and the service has not checked the
//! second factor yet.
//!
//! A pending sign-in is not a session. The service stores nothing about it: a signed proof in a cookie shows that the
//! first step succeeded. The proof is bound to the user and to their current password.

use super::form::{ID_RANDOM_BYTES, SignedForm};
use super::id::UserId;
use super::second_factor::PENDING_SIGN_IN_FOR;
use super::timestamp::Timestamp;

/// The reason why a pending sign-in cannot be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingFault {
    /// This service did not create the proof for this user, or the password has changed.
    Invalid,
    /// The time for the second step is over, or the clock was set back.
    TooLate,
}

/// Returns the proof of the first step. `password_hash` is empty for a user without a password.
pub fn begin(
    secret: &[u8; 32],
    random: &[u8; ID_RANDOM_BYTES],
    user: &UserId,
    password_hash: &str,
    now: Timestamp,
) -> String {
    SignedForm::new(random, now).signed(secret, &link(user, password_hash))
}

/// Succeeds if the proof shows that the user has completed the first step within the last five minutes, and that the
/// password has not changed since.
///
/// # Errors
/// Returns the reason why the sign-in cannot be completed.
pub fn verify(
    secret: &[u8; 32],
    proof: &str,
    user: &UserId,
    password_hash: &str,
    now: Timestamp,
) -> Result<(), PendingFault> {
    let form = SignedForm::verify(secret, &link(user, password_hash), proof).ok_or(PendingFault::Invalid)?;
    let is_in_time = form.created_at <= now && now.since(form.created_at) < PENDING_SIGN_IN_FOR;
    if is_in_time { Ok(()) } else { Err(PendingFault::TooLate) }
}

/// Returns the string to which the signature binds the proof. The signature of a signup form binds its field to the
/// token of the signup link instead. A token contains no space, so a field from a signup form is never valid here.
fn link(user: &UserId, password_hash: &str) -> String {
    format!("sign-in {user} {password_hash}")
}

#[cfg(test)]
mod tests {
    use super::super::id::Id;
    use super::*;

    const SECRET: [u8; 32] = [7; 32];

    #[test]
    fn a_pending_sign_in_is_bound_to_its_user_and_password_and_ends_after_five_minutes() {
        let user = |id| UserId::parse(id).unwrap();
        let at = |seconds: i64| Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000);
        let proof = begin(&SECRET, &[1; ID_RANDOM_BYTES], &user("ada"), "hash", at(0));
        let (invalid, too_late) = (Err(PendingFault::Invalid), Err(PendingFault::TooLate));
        for (secret, text, id, hash, now, expected) in [
            (SECRET, proof.as_str(), "ada", "hash", 0, Ok(())),
            (SECRET, &proof, "ada", "hash", 299, Ok(())),
            (SECRET, &proof, "ada", "hash", 300, too_late),
            (SECRET, &proof, "ada", "hash", -1, too_late),
            (SECRET, &proof, "bob", "hash", 0, invalid),
            (SECRET, &proof, "ada", "other", 0, invalid),
            ([8; 32], &proof, "ada", "hash", 0, invalid),
            (SECRET, "", "ada", "hash", 0, invalid),
            (SECRET, &proof[1..], "ada", "hash", 0, invalid),
        ] {
            assert_eq!(verify(&secret, text, &user(id), hash, at(now)), expected, "{text} {id} {hash} {now}");
        }
    }
}
