//! Rate limits: a token bucket that refills evenly over a minute, and an hourly allowance for rare requests.

use std::time::Duration;

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

/// The bucket of one caller. It stores only the time at which it will be full again. Its other properties follow from
/// that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    full_at: Duration,
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
        Self { full_at: now }
    }

    /// Takes one token. `now` is the time since any fixed point, on a clock that never goes backwards.
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
        self.full_at = after;
        Ok(self.left(policy, now))
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

/// The used part of an hourly allowance. The hour begins with the first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourlyAllowance {
    /// The beginning of the hour, on a clock that never goes backwards.
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
}
