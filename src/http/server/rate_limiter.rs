//! The buckets of the rate limit, one for each API key or session user. They live in memory; after a restart, all are
//! full. If several servers share a database, the bucket of a key also counts the requests on the other servers, as
//! soon as the usage log writer reads their rows.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::domain::id::UserId;
use crate::domain::rate::{RatePolicy, RemainingTokens, TokenBucket};

/// The owner of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum BucketOwner {
    /// The API key with this number.
    Key(i64),
    /// A user with a session.
    User(UserId),
}

/// The buckets: one for each API key and each session user with a request since the service started.
pub(super) struct RateLimiter {
    policy: Option<RatePolicy>,
    buckets: Mutex<HashMap<BucketOwner, TokenBucket>>,
}

impl RateLimiter {
    pub(super) fn new(policy: Option<RatePolicy>) -> Self {
        Self { policy, buckets: Mutex::default() }
    }

    pub(super) fn policy(&self) -> Option<RatePolicy> {
        self.policy
    }

    /// Takes a token. Returns the remaining tokens, and the seconds to wait if the bucket was empty. Returns `None` if
    /// there is no limit.
    pub(super) fn take(&self, owner: BucketOwner, now: Duration) -> Option<(RemainingTokens, Result<(), u64>)> {
        let policy = self.policy?;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(owner).or_insert_with(|| TokenBucket::full(now));
        Some(match bucket.take(policy, now) {
            Ok(left) => (left, Ok(())),
            Err(retry_after_s) => (bucket.left(policy, now), Err(retry_after_s)),
        })
    }

    /// Counts requests that other servers have accepted. Each item is the number of the API key and the time since the
    /// request; the oldest request comes first.
    pub(super) fn note_elsewhere(&self, requests: &[(i64, Duration)], now: Duration) {
        let Some(policy) = self.policy else { return };
        let mut times_of_key: HashMap<i64, Vec<Duration>> = HashMap::new();
        for (key_number, age) in requests {
            times_of_key.entry(*key_number).or_default().push(now.saturating_sub(*age));
        }
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        for (key_number, times) in times_of_key {
            let bucket = buckets.entry(BucketOwner::Key(key_number)).or_insert_with(|| TokenBucket::full(times[0]));
            bucket.take_late(policy, &times, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_on_other_servers_take_tokens_only_from_the_bucket_of_their_key() {
        let limiter = RateLimiter::new(Some(RatePolicy { per_minute: 60 }));
        let now = Duration::from_secs(1_000);
        let left = |key: i64| limiter.take(BucketOwner::Key(key), now).unwrap().0.remaining;
        assert_eq!(left(1), 59);
        let ages = [(1, 30), (2, 30), (1, 20), (1, 1), (1, 0), (2, 0)];
        limiter.note_elsewhere(&ages.map(|(key, age_s)| (key, Duration::from_secs(age_s))), now);
        assert_eq!((left(1), left(2), left(3)), (57, 58, 59));
    }
}
