//! Rate limits: a token bucket that refills evenly over a minute, and an hourly allowance for rare requests.

use std::time::Duration;

use super::shared_count::{ShareCount, StoredCount, clock, timestamp};
use super::timestamp::Timestamp;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The rate limit of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePolicy {
    /// The number of tokens in a full bucket, which is also the number added per minute. It is at least 1.
    pub per_minute: u32,
}

impl RatePolicy {
    /// Returns the policy with the limit multiplied by `factor`.
    #[must_use]
    pub fn times(self, factor: u32) -> Self {
        Self { per_minute: self.per_minute.saturating_mul(factor) }
    }
}

/// The bucket of one caller. Its remaining tokens follow from the time at which it will be full again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    full_at: Duration,
    /// The time at which the bucket was last full. [`TokenBucket::take_late`] needs this time.
    in_use_since: Duration,
}

/// The state of a bucket, as the header fields of a response report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingTokens {
    /// The remaining whole tokens.
    pub remaining: u32,
    /// The whole seconds, rounded up, until the bucket is full.
    pub reset_s: u64,
}

impl TokenBucket {
    /// Creates a full bucket.
    pub fn full(now: Duration) -> Self {
        Self { full_at: now, in_use_since: now }
    }

    /// Takes one token. `now` is the time since any fixed point.
    ///
    /// # Errors
    /// Returns the whole seconds, at least 1, until a token is available. The bucket does not change.
    pub fn take(&mut self, policy: RatePolicy, now: Duration) -> Result<RemainingTokens, u64> {
        let token = MINUTE / policy.per_minute;
        let after = self.full_at.max(now) + token;
        // The division above rounds down. The capacity is computed from the rounded token, so a full bucket has exactly
        // `per_minute` tokens.
        let capacity = token * policy.per_minute;
        let missing = after - now;
        if missing > capacity {
            return Err(whole_seconds(missing - capacity).max(1));
        }
        if self.full_at <= now {
            self.in_use_since = now;
        }
        self.full_at = after;
        Ok(self.left(policy, now))
    }

    /// Takes a token for each of these requests, which other servers have accepted. `times` must be in order, and none
    /// may be after `now`. Afterwards, the bucket is as if the requests had been counted when they were accepted, even
    /// if later requests were counted first. The bucket can then be overdrawn: it can lack more tokens than a full
    /// bucket has. An overdrawn bucket makes up for the excess before it gives a token, but for at most a minute.
    pub fn take_late(&mut self, policy: RatePolicy, times: &[Duration], now: Duration) {
        let token = MINUTE / policy.per_minute;
        let (before, since) = times.split_at(times.partition_point(|time| *time < self.in_use_since));
        if let Some(first) = before.first() {
            let mut bucket = Self::full(*first);
            before.iter().for_each(|time| bucket.take_at(token, *time));
            // Because of these requests, the bucket was not yet full at the time `in_use_since`.
            if bucket.full_at > self.in_use_since {
                self.full_at += bucket.full_at - self.in_use_since;
                self.in_use_since = bucket.in_use_since;
            }
        }
        since.iter().for_each(|time| self.take_at(token, *time));
        self.full_at = self.full_at.min(now + MINUTE * 2);
    }

    fn take_at(&mut self, token: Duration, time: Duration) {
        if self.full_at <= time {
            *self = Self::full(time);
        }
        self.full_at += token;
    }

    /// Returns the time at which the bucket is full again.
    pub fn full_at(&self) -> Duration {
        self.full_at
    }

    /// Returns the state without taking a token.
    pub fn left(&self, policy: RatePolicy, now: Duration) -> RemainingTokens {
        let token = MINUTE / policy.per_minute;
        let capacity = token * policy.per_minute;
        let missing = self.full_at.saturating_sub(now).min(capacity);
        let remaining = ((capacity - missing).as_nanos() / token.as_nanos()) as u32;
        RemainingTokens { remaining, reset_s: whole_seconds(missing) }
    }
}

impl ShareCount for TokenBucket {
    fn stored(&self) -> StoredCount {
        let full_at = timestamp(self.full_at);
        StoredCount { uses: 0, at: full_at, before_at: timestamp(self.in_use_since), expires_at: full_at }
    }

    fn restored(stored: StoredCount, now: Duration) -> Self {
        // An empty bucket is full after a minute.
        Self { full_at: clock(stored.at).min(now + MINUTE), in_use_since: clock(stored.before_at).min(now) }
    }
}

/// The used part of an hourly allowance. The hour begins with the first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourlyAllowance {
    /// The beginning of the hour.
    pub began_at: Duration,
    taken: u32,
}

impl HourlyAllowance {
    /// Creates an unused allowance for the hour that begins now.
    pub fn beginning(now: Duration) -> Self {
        Self { began_at: now, taken: 0 }
    }

    /// Returns whether the hour has passed.
    pub fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.began_at) >= HOUR
    }

    /// Returns the whole seconds, at least 1, until the allowance can be used, or `None` if it can be used now.
    pub fn wait(&self, per_hour: u32, now: Duration) -> Option<u64> {
        let is_used_up = !self.is_over(now) && self.taken >= per_hour;
        is_used_up.then(|| whole_seconds((self.began_at + HOUR).saturating_sub(now)).max(1))
    }

    /// Uses the allowance once.
    ///
    /// # Errors
    /// Returns the result of [`HourlyAllowance::wait`] if the allowance is used up. The allowance does not change.
    pub fn take(&mut self, per_hour: u32, now: Duration) -> Result<(), u64> {
        if let Some(wait) = self.wait(per_hour, now) {
            return Err(wait);
        }
        if self.is_over(now) {
            *self = Self::beginning(now);
        }
        self.taken += 1;
        Ok(())
    }

    /// Reverses one use.
    pub fn give_back(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }
}

impl ShareCount for HourlyAllowance {
    fn stored(&self) -> StoredCount {
        let (at, expires_at) = (timestamp(self.began_at), timestamp(self.began_at + HOUR));
        StoredCount { uses: self.taken, at, before_at: Timestamp::from_micros(0), expires_at }
    }

    fn restored(stored: StoredCount, now: Duration) -> Self {
        Self { began_at: clock(stored.at).min(now), taken: stored.uses }
    }
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_full_bucket_has_exactly_as_many_tokens_as_its_policy_allows() {
        for per_minute in [1, 2, 7, 60, 1_200, 1_000_000, 60_000_000] {
            let policy = RatePolicy { per_minute };
            let mut bucket = TokenBucket::full(SECOND);
            for taken in 1..=per_minute.min(5_000) {
                let left = bucket.take(policy, SECOND).unwrap();
                assert_eq!(left.remaining, per_minute - taken);
            }
            if per_minute <= 5_000 {
                assert!(bucket.take(policy, SECOND).is_err(), "{per_minute}");
            }
        }
    }

    #[test]
    fn a_request_succeeds_after_the_announced_wait() {
        for per_minute in [1, 7, 60, 1_200] {
            let policy = RatePolicy { per_minute };
            let mut bucket = TokenBucket::full(SECOND);
            while bucket.take(policy, SECOND).is_ok() {}
            let wait = bucket.take(policy, SECOND).unwrap_err();
            assert!(wait >= 1);
            assert!(bucket.take(policy, SECOND + Duration::from_secs(wait)).is_ok(), "{per_minute}");
        }
    }

    #[test]
    fn the_first_request_leaves_1199_of_1200_tokens_and_the_bucket_is_full_within_a_second() {
        let left = TokenBucket::full(SECOND).take(RatePolicy { per_minute: 1_200 }, SECOND).unwrap();
        assert_eq!(left, RemainingTokens { remaining: 1_199, reset_s: 1 });
    }

    #[test]
    fn tokens_refill_evenly() {
        let policy = RatePolicy { per_minute: 60 };
        let mut bucket = TokenBucket::full(SECOND);
        while bucket.take(policy, SECOND).is_ok() {}
        let later = SECOND + Duration::from_secs(5);
        assert_eq!(bucket.left(policy, later).remaining, 5);
        assert_eq!((0..9).filter(|_| bucket.take(policy, later).is_ok()).count(), 5);
    }

    #[test]
    fn requests_that_are_counted_late_leave_the_bucket_as_if_they_had_been_counted_in_time() {
        let policy = RatePolicy { per_minute: 60 };
        let at = |seconds: u64| SECOND * (1_000 + u32::try_from(seconds).unwrap());
        // The seconds at which requests are accepted: those counted in time, and those counted only at second 40.
        for (in_time, late) in [
            (vec![], vec![0, 1, 2, 30, 39]),
            (vec![40, 40], vec![38, 38, 38, 38]),
            (vec![10, 40], vec![9, 10, 11, 39, 39, 40]),
            (vec![20, 21, 40], vec![0, 0, 0, 0, 0]),
            (vec![5, 5, 5], vec![1, 1, 1, 1, 1, 1, 20]),
            (vec![40], vec![0; 50]),
            (vec![5, 5, 5], [vec![1; 30], vec![20]].concat()),
        ] {
            let mut all: Vec<u64> = in_time.iter().chain(&late).copied().collect();
            all.sort_unstable();
            let (mut bucket, mut expected) = (TokenBucket::full(at(0)), TokenBucket::full(at(0)));
            assert!(all.iter().all(|second| expected.take(policy, at(*second)).is_ok()));
            assert!(in_time.iter().all(|second| bucket.take(policy, at(*second)).is_ok()));
            let late_times: Vec<Duration> = late.iter().map(|second| at(*second)).collect();
            bucket.take_late(policy, &late_times, at(40));
            assert_eq!(bucket.left(policy, at(40)), expected.left(policy, at(40)), "{in_time:?} {late:?}");
        }
    }

    #[test]
    fn a_bucket_that_several_servers_have_overdrawn_refills_for_at_most_a_minute_before_it_gives_a_token() {
        let policy = RatePolicy { per_minute: 60 };
        for (late, wait_s) in [(59, None), (60, Some(1)), (90, Some(31)), (9_000, Some(61))] {
            let mut bucket = TokenBucket::full(SECOND);
            bucket.take_late(policy, &vec![SECOND; late], SECOND);
            assert_eq!(bucket.take(policy, SECOND).err(), wait_s, "{late}");
        }
    }

    #[test]
    fn an_allowance_is_restored_an_hour_after_its_first_use() {
        let mut hour = HourlyAllowance::beginning(SECOND);
        assert_eq!((hour.take(2, SECOND), hour.take(2, SECOND * 11)), (Ok(()), Ok(())));
        assert_eq!(hour.take(2, SECOND * 61), Err(3_540));
        assert_eq!(hour.take(2, SECOND + HOUR - Duration::from_nanos(1)), Err(1));
        assert_eq!((hour.take(2, SECOND + HOUR), hour.take(2, SECOND + HOUR)), (Ok(()), Ok(())));
        assert_eq!(hour.take(2, SECOND + HOUR), Err(3_600));
        assert_eq!((hour.wait(2, SECOND + HOUR), hour.wait(3, SECOND + HOUR)), (Some(3_600), None));
        hour.give_back();
        assert_eq!((hour.wait(2, SECOND + HOUR), hour.take(2, SECOND + HOUR)), (None, Ok(())));
    }

    #[test]
    fn a_shared_count_from_a_clock_that_is_ahead_counts_from_now() {
        let (ahead, now) = (SECOND * 1_000_000, SECOND * 100);
        let mut hour = HourlyAllowance::beginning(ahead);
        assert_eq!(hour.take(1, ahead), Ok(()));
        assert_eq!(HourlyAllowance::restored(hour.stored(), ahead), hour);
        assert_eq!(HourlyAllowance::restored(hour.stored(), now).wait(1, now), Some(3_600));
        let policy = RatePolicy { per_minute: 60 };
        let mut bucket = TokenBucket::full(ahead);
        while bucket.take(policy, ahead).is_ok() {}
        assert_eq!(TokenBucket::restored(bucket.stored(), ahead), bucket);
        let mut restored = TokenBucket::restored(bucket.stored(), now);
        assert_eq!((restored.take(policy, now), restored.take(policy, now + SECOND).is_ok()), (Err(1), true));
    }
}
