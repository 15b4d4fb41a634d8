//! Decides how long the next sign-in must wait after failed attempts.
//!
//! Failures are counted per network, so that the waits affect only the guesser's own network. Waits begin after 5
//! failures for one account, or 50 for all accounts together. Wider IPv6 networks have higher limits
//! ([`super::network`]). The first wait is 1 s. Each further failure doubles the wait, up to 15 minutes. An hour
//! without a failure resets the count.
//!
//! A device or network is familiar to an account if somebody has recently signed in to the account from it. Failures
//! from a familiar device are counted for that device. To limit a botnet, only 100 failures an hour are allowed for
//! each account from all unfamiliar sources together.
//!
//! An attempt is counted as a failure when it starts, so that parallel attempts are all counted. If the attempt does
//! not fail, its failure is removed again.

use std::time::Duration;

use super::shared_count::{ShareCount, StoredCount, clock, timestamp};
use super::timestamp::Timestamp;

/// The number of failures for one account from one source (a network or a device) at which waits begin.
pub const ACCOUNT_FAILURES_FREE: u32 = 5;

/// The number of failures from one network at which waits begin.
pub const NETWORK_FAILURES_FREE: u32 = 50;

/// The maximum number of failures for one account within an hour from all unfamiliar sources together. The waits limit
/// an IPv4 address or an IPv6 /64 to fewer than 20 failures an hour, and an IPv6 /48 to fewer than 40. No such network
/// can therefore use up this limit alone. A password of 12 characters that is not common withstands 2,400 guesses a
/// day.
pub const UNFAMILIAR_FAILURES_PER_HOUR: u32 = 100;

/// The time for which a network or device stays familiar to an account after a successful sign-in.
pub const FAMILIAR_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const WAIT_FIRST: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(15 * 60);
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60 * 60);

/// The failures from a network for all accounts, or from one source (a network or a device) for one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    count: u32,
    last_at: Duration,
    /// The time of the second-to-last failure, which is restored when the last failure is removed.
    before_at: Duration,
}

impl Failures {
    /// The initial state, without failures.
    pub const NONE: Self = Self { count: 0, last_at: Duration::ZERO, before_at: Duration::ZERO };

    /// Returns how long an attempt must wait now, or `None` if it may proceed. `free` is the number of failures at
    /// which waits begin.
    pub fn wait(&self, free: u32, now: Duration) -> Option<Duration> {
        let since = now.saturating_sub(self.last_at);
        if self.is_forgotten(now) || self.count < free {
            return None;
        }
        let doublings = (self.count - free).min(20);
        let wait = WAIT_FIRST.saturating_mul(1 << doublings).min(WAIT_MAX);
        wait.checked_sub(since).filter(|left| !left.is_zero())
    }

    /// Adds a failure.
    #[must_use]
    pub fn plus_one(self, now: Duration) -> Self {
        let count = if self.is_forgotten(now) { 0 } else { self.count };
        Self { count: count.saturating_add(1), last_at: now, before_at: self.last_at }
    }

    /// Removes the last failure, because its attempt did not fail.
    #[must_use]
    pub fn less_one(self) -> Self {
        Self { count: self.count.saturating_sub(1), last_at: self.before_at, before_at: self.before_at }
    }

    pub fn last_at(&self) -> Duration {
        self.last_at
    }

    /// Returns whether there was no failure within the last hour.
    pub fn is_forgotten(&self, now: Duration) -> bool {
        self.count == 0 || now.saturating_sub(self.last_at) >= FORGOTTEN_AFTER
    }
}

impl ShareCount for Failures {
    fn stored(&self) -> StoredCount {
        StoredCount {
            uses: self.count,
            at: timestamp(self.last_at),
            before_at: timestamp(self.before_at),
            expires_at: timestamp(self.last_at + FORGOTTEN_AFTER),
        }
    }

    fn restored(stored: StoredCount, now: Duration) -> Self {
        let (last_at, before_at) = (clock(stored.at).min(now), clock(stored.before_at).min(now));
        Self { count: stored.uses, last_at, before_at }
    }
}

/// The last sign-in to an account from a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastSignIn {
    pub at: Duration,
}

impl LastSignIn {
    /// Returns whether the source is still familiar to the account.
    pub fn is_recent(&self, now: Duration) -> bool {
        now.saturating_sub(self.at) < FAMILIAR_FOR
    }
}

impl ShareCount for LastSignIn {
    fn stored(&self) -> StoredCount {
        let (at, expires_at) = (timestamp(self.at), timestamp(self.at + FAMILIAR_FOR));
        StoredCount { uses: 1, at, before_at: Timestamp::from_micros(0), expires_at }
    }

    fn restored(stored: StoredCount, now: Duration) -> Self {
        Self { at: clock(stored.at).min(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn failed(times: u32, now: Duration) -> Failures {
        (0..times).fold(Failures::NONE, |failures, _| failures.plus_one(now))
    }

    #[test]
    fn the_fifth_failure_makes_the_next_attempt_wait_a_second() {
        assert_eq!(failed(4, at(10)).wait(5, at(10)), None);
        assert_eq!(failed(5, at(10)).wait(5, at(10)), Some(at(1)));
        assert_eq!(failed(5, at(10)).wait(5, at(11)), None);
    }

    #[test]
    fn each_further_failure_doubles_the_wait_up_to_15_minutes() {
        let waits: Vec<u64> =
            (5..18).filter_map(|times| failed(times, at(0)).wait(5, at(0))).map(|wait| wait.as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
        assert_eq!(failed(4_000, at(0)).wait(5, at(0)), Some(at(900)));
    }

    #[test]
    fn an_hour_resets_failures_and_a_success_removes_its_own_failure() {
        let failures = failed(12, at(0));
        assert!(!failures.is_forgotten(at(3_599)) && failures.is_forgotten(at(3_600)));
        assert_eq!(failures.plus_one(at(3_600)), failed(1, at(3_600)));
        assert_eq!(failed(5, at(0)).less_one().wait(5, at(0)), None);
        let after_success = failed(9, at(0)).plus_one(at(100)).less_one();
        assert_eq!(after_success.wait(5, at(100)), None, "a success restores the time of the previous failure");
    }

    #[test]
    fn shared_failures_from_a_clock_that_is_ahead_count_as_if_the_last_happened_now() {
        let failures = failed(9, at(50)).plus_one(at(3_000));
        assert_eq!(Failures::restored(failures.stored(), at(3_000)), failures);
        let restored = Failures::restored(failures.stored(), at(100));
        assert_eq!((restored.wait(5, at(100)), restored.wait(5, at(132))), (Some(at(32)), None));
        assert_eq!(restored.less_one().last_at(), at(50));
    }
}
