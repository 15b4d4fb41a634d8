//! The buckets of the rate limit, one for each API key or session user. They live in memory; after a restart, all are
//! full.

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
}
