//! The rate limit: a token bucket that refills evenly over a minute. And an allowance by the hour, for what is rare.

use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// How many requests a caller has a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePolicy {
    /// Tokens that a full bucket holds, and that come back each minute. At least 1.
    pub per_minute: u32,
}

/// One caller's bucket, as the time at which it is full again: one number, from which everything else follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    full_at: Duration,
}

/// What an answer says of the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingTokens {
    /// Whole tokens that are left.
    pub remaining: u32,
    /// Whole seconds, rounded up, until the bucket is full again.
    pub reset_s: u64,
}

impl TokenBucket {
    /// A full bucket.
    pub fn full(now: Duration) -> Self {
        Self { full_at: now }
    }

    /// Takes one token. `now` is time since any fixed point that never steps back.
    ///
    /// # Errors
    /// The whole seconds, at least 1, after which one token is there again; nothing is taken.
    pub fn take(&mut self, policy: RatePolicy, now: Duration) -> Result<RemainingTokens, u64> {
        let token = MINUTE / policy.per_minute;
        let after = self.full_at.max(now) + token;
        // The division above rounds down, so a full bucket holds exactly its tokens and a rest below one of them.
        let capacity = token * policy.per_minute;
        let missing = after - now;
        if missing > capacity {
            return Err(whole_seconds(missing - capacity).max(1));
        }
        self.full_at = after;
        Ok(self.left(policy, now))
    }

    /// What is left without taking anything, for an answer that takes nothing.
    pub fn left(&self, policy: RatePolicy, now: Duration) -> RemainingTokens {
        let token = MINUTE / policy.per_minute;
        let capacity = token * policy.per_minute;
        let missing = self.full_at.saturating_sub(now).min(capacity);
        let remaining = ((capacity - missing).as_nanos() / token.as_nanos()) as u32;
        RemainingTokens { remaining, reset_s: whole_seconds(missing) }
    }
}

/// What somebody has taken of an allowance within an hour, which begins with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourlyAllowance {
    /// When it began, by a time that never steps back.
    pub began_at: Duration,
    taken: u32,
}

impl HourlyAllowance {
    /// An hour that begins now.
    pub fn beginning(now: Duration) -> Self {
        Self { began_at: now, taken: 0 }
    }

    /// Whether it has passed.
    pub fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.began_at) >= HOUR
    }

    /// The whole seconds, at least 1, after which one may be taken again; `None` where one may be taken now.
    pub fn wait(&self, per_hour: u32, now: Duration) -> Option<u64> {
        let is_used_up = !self.is_over(now) && self.taken >= per_hour;
        is_used_up.then(|| whole_seconds((self.began_at + HOUR).saturating_sub(now)).max(1))
    }

    /// Takes one.
    ///
    /// # Errors
    /// As [`HourlyAllowance::wait`]; nothing is taken.
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

    /// Gives one back.
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
    fn a_bucket_holds_its_tokens_and_not_one_more() {
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
    fn the_request_after_the_told_seconds_passes() {
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
    fn the_first_request_of_the_default_leaves_1199_and_is_full_within_a_second() {
        let left = TokenBucket::full(SECOND).take(RatePolicy { per_minute: 1_200 }, SECOND).unwrap();
        assert_eq!(left, RemainingTokens { remaining: 1_199, reset_s: 1 });
    }

    #[test]
    fn tokens_come_back_evenly() {
        let policy = RatePolicy { per_minute: 60 };
        let mut bucket = TokenBucket::full(SECOND);
        while bucket.take(policy, SECOND).is_ok() {}
        let later = SECOND + Duration::from_secs(5);
        assert_eq!(bucket.left(policy, later).remaining, 5);
        assert_eq!((0..9).filter(|_| bucket.take(policy, later).is_ok()).count(), 5);
    }

    #[test]
    fn an_hour_begins_with_the_first_and_then_all_are_there_again() {
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
