//! The form in which servers share the counts that limit requests. The clocks of two servers can differ, so a
//! server moves back a stored time that is too late by its own clock. The count then delays nobody for longer than a
//! count that was stored just now.

use std::time::Duration;

use super::timestamp::Timestamp;

/// The stored form of a count, which is the same for all rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCount {
    pub uses: u32,
    /// The time on which the rule depends, for example the time of the last failure.
    pub at: Timestamp,
    /// An earlier time, if the rule needs one.
    pub before_at: Timestamp,
    /// The time from which the count limits nothing.
    pub expires_at: Timestamp,
}

/// A count that can be stored. Its times come from [`clock`].
pub trait ShareCount: Sized {
    fn stored(&self) -> StoredCount;

    /// Restores the count. Moves back a time that is later than the rule could have stored at `now`.
    fn restored(stored: StoredCount, now: Duration) -> Self;
}

/// Returns the time of the wall clock in the form that the rules about counts use.
pub fn clock(now: Timestamp) -> Duration {
    Duration::from_micros(now.micros().try_into().unwrap_or(0))
}

/// Converts a time of the form that [`clock`] returns to the form in which a count is stored.
pub(super) fn timestamp(at: Duration) -> Timestamp {
    Timestamp::from_micros(i64::try_from(at.as_micros()).unwrap_or(i64::MAX))
}
