//! The buckets of the rate limit, one a key or session user, in memory: a restart fills them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::domain::id::UserId;
use crate::domain::rate::{RatePolicy, RemainingTokens, TokenBucket};

/// Whose bucket it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::http) enum Caller {
    /// That of the key with this number.
    Key(i64),
    /// That of a user with a session.
    User(UserId),
}

/// The buckets. As many as there are keys and users that called since the start, which is few.
pub(in crate::http) struct Limiter {
    policy: Option<RatePolicy>,
    buckets: Mutex<HashMap<Caller, TokenBucket>>,
}

impl Limiter {
    pub(in crate::http) fn new(policy: Option<RatePolicy>) -> Self {
        Self { policy, buckets: Mutex::default() }
    }

    pub(in crate::http) fn policy(&self) -> Option<RatePolicy> {
        self.policy
    }

    /// Takes a token for the caller. What is left of the bucket, and the seconds to wait where it was empty; `None`
    /// where there is no limit.
    pub(in crate::http) fn take(&self, caller: Caller, now: Duration) -> Option<(RemainingTokens, Result<(), u64>)> {
        let policy = self.policy?;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(caller).or_insert_with(|| TokenBucket::full(now));
        Some(match bucket.take(policy, now) {
            Ok(left) => (left, Ok(())),
            Err(retry_after_s) => (bucket.left(policy, now), Err(retry_after_s)),
        })
    }
}
