//! Token buckets by client network, for requests that strangers may send often. After a restart of a service with a
//! file, all buckets are full. Servers that share a database share the buckets.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::bounded_map::make_room;
use super::limit_counts::{CountKind, LimitCounts};
use crate::domain::network::{self, Network};
use crate::domain::rate::{RatePolicy, TokenBucket};
use crate::store::{Error, Store};
use crate::world::World;

/// A rate limit on the requests from each client network.
pub(in crate::http) struct NetworkBuckets {
    policy: RatePolicy,
    kind: CountKind,
    buckets: LimitCounts<Buckets>,
}

type Buckets = HashMap<Network, TokenBucket>;

impl NetworkBuckets {
    /// Creates a limit. `policy` applies to one IPv4 address or one IPv6 /64; wider networks have a higher limit.
    pub(super) fn new(store: &Arc<Store>, world: &Arc<dyn World>, kind: CountKind, policy: RatePolicy) -> Self {
        Self { policy, kind, buckets: LimitCounts::new(store, world) }
    }

    /// Takes a token from the bucket of each network of this address. Returns the number of whole seconds to wait
    /// before the next request if a bucket is empty. A refused request takes no token.
    ///
    /// # Errors
    /// The errors of [`LimitCounts::act`].
    pub(in crate::http) fn take(&self, address: IpAddr) -> Result<Result<(), u64>, Error> {
        self.buckets.act(&(self.kind, address), |buckets, now| take(buckets, self.policy, address, now))
    }
}

fn take(buckets: &mut Buckets, policy: RatePolicy, address: IpAddr, now: Duration) -> Result<(), u64> {
    let taken: Vec<(Network, Result<TokenBucket, u64>)> = network::containing(address)
        .map(|(network, factor)| {
            let mut bucket = buckets.get(&network).copied().unwrap_or(TokenBucket::full(now));
            (network, bucket.take(policy.times(factor), now).map(|_| bucket))
        })
        .collect();
    if let Some(wait) = taken.iter().filter_map(|(_, bucket)| bucket.as_ref().err().copied()).max() {
        return Err(wait);
    }
    for (network, bucket) in taken {
        make_room(buckets, &network, |own| own.full_at() <= now, TokenBucket::full_at);
        buckets.extend(bucket.ok().map(|bucket| (network, bucket)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);

    fn take(buckets: &mut Buckets, address: &str, now: Duration) -> Result<(), u64> {
        super::take(buckets, RatePolicy { per_minute: 10 }, address.parse().unwrap(), now)
    }

    #[test]
    fn each_ipv4_address_has_its_own_bucket_that_refills_evenly() {
        let mut buckets = Buckets::new();
        assert_eq!((0..20).filter(|_| take(&mut buckets, "192.0.2.1", NOW).is_ok()).count(), 10);
        assert_eq!((take(&mut buckets, "192.0.2.1", NOW), take(&mut buckets, "192.0.2.2", NOW)), (Err(6), Ok(())));
        let later = NOW + Duration::from_secs(6);
        assert_eq!(take(&mut buckets, "192.0.2.1", later - Duration::from_nanos(1)), Err(1));
        assert_eq!((take(&mut buckets, "192.0.2.1", later), take(&mut buckets, "192.0.2.1", later)), (Ok(()), Err(6)));
    }

    #[test]
    fn an_ipv6_56_has_twice_and_an_ipv6_48_four_times_the_limit() {
        let mut buckets = Buckets::new();
        let mut taken = |addresses: &mut dyn Iterator<Item = String>| {
            addresses.filter(|address| take(&mut buckets, address, NOW).is_ok()).count()
        };
        assert_eq!(taken(&mut (0..20).map(|n| format!("2001:db8::{n:x}"))), 10);
        assert_eq!(taken(&mut (1..256).map(|n| format!("2001:db8:0:{n:x}::1"))), 10);
        assert_eq!(taken(&mut (1..256).map(|n| format!("2001:db8:0:{n:x}00::1"))), 20);
        assert_eq!(take(&mut buckets, "2001:db8:1::1", NOW), Ok(()));
    }

    #[test]
    fn a_refused_request_takes_no_token_from_wider_networks() {
        let mut buckets = Buckets::new();
        assert_eq!((0..99).filter(|_| take(&mut buckets, "2001:db8::1", NOW).is_ok()).count(), 10);
        assert_eq!(take(&mut buckets, "2001:db8:0:1::1", NOW), Ok(()));
    }
}
