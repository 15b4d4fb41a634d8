//! The form in which servers share the counts that limit requests. The clocks of two servers can differ, so a time that
//! is ahead of the reader's clock counts as the present. Such a count therefore delays nobody for longer than a count of
//! the reader's own server.

use std::time::Duration;

use super::timestamp::Timestamp;

/// A count in the form that every rule about counts can be stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredCount {
    pub uses: u32,
    /// The time on which the rule depends, for example of the last failure.
    pub at: Timestamp,
    /// An earlier time, if the rule needs one.
    pub before_at: Timestamp,
    /// The time from which the count limits nothing.
    pub expires_at: Timestamp,
}

/// A count that can be stored. Its times are on the clock of [`clock`].
pub trait ShareCount: Sized {
    fn stored(&self) -> StoredCount;

    /// Restores the count. A time after `now` becomes `now`.
    fn restored(stored: StoredCount, now: Duration) -> Self;
}

/// Returns the wall clock as rules about counts read it.
pub fn clock(now: Timestamp) -> Duration {
    Duration::from_micros(now.micros().try_into().unwrap_or(0))
}

/// Returns the time of a stored count.
pub(super) fn timestamp(at: Duration) -> Timestamp {
    Timestamp::from_micros(i64::try_from(at.as_micros()).unwrap_or(i64::MAX))
}
