//! Counts requests of one kind by client network. A restart clears the counts of a service with a file. Servers that
//! share a database share the counts.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::bounded_map::make_room;
use super::limit_counts::{CountKind, LimitCounts};
use crate::domain::network::{self, Network};
use crate::domain::rate::HourlyAllowance;
use crate::store::{Error, Store};
use crate::world::World;

/// An hourly limit on the requests from each client network.
pub(in crate::http) struct NetworkLimit {
    per_hour: Option<u32>,
    kind: CountKind,
    hours: LimitCounts<Hours>,
}

type Hours = HashMap<Network, HourlyAllowance>;

impl NetworkLimit {
    /// Creates a limit. `per_hour` applies to one IPv4 address or one IPv6 /64; wider networks have a higher limit.
    /// `None` allows any number of requests.
    pub(super) fn new(store: &Arc<Store>, world: &Arc<dyn World>, kind: CountKind, per_hour: Option<u32>) -> Self {
        Self { per_hour, kind, hours: LimitCounts::new(store, world) }
    }

    /// Counts a request from this address. Returns the number of whole seconds to wait before the next request if the
    /// limit is reached. A refused request is not counted.
    ///
    /// # Errors
    /// The errors of [`LimitCounts::act`].
    pub(in crate::http) fn take(&self, address: IpAddr) -> Result<Result<(), u64>, Error> {
        let Some(per_hour) = self.per_hour else { return Ok(Ok(())) };
        self.hours.act(&(self.kind, address), |hours, now| take(hours, per_hour, address, now))
    }
}

fn take(hours: &mut Hours, per_hour: u32, address: IpAddr, now: Duration) -> Result<(), u64> {
    let limits = network::containing(address).map(|(network, factor)| (network, per_hour.saturating_mul(factor)));
    let wait = limits.clone().filter_map(|(network, limit)| hours.get(&network)?.wait(limit, now)).max();
    if let Some(wait) = wait {
        return Err(wait);
    }
    for (network, limit) in limits {
        make_room(hours, &network, |hour| hour.is_over(now), |hour| hour.began_at);
        hours.entry(network).or_insert_with(|| HourlyAllowance::beginning(now)).take(limit, now)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::server::ctx::{Ctx, Settings};

    #[test]
    fn each_ipv4_address_or_ipv6_64_has_its_own_limit() {
        let mut hours = Hours::new();
        let mut take = |text: &str| take(&mut hours, 1, text.parse().unwrap(), Duration::from_secs(1));
        assert_eq!(take("2001:db8::1"), Ok(()));
        assert_eq!(take("2001:db8::2"), Err(3_600));
        assert_eq!((take("2001:db8:0:1::1"), take("192.0.2.1"), take("192.0.2.2")), (Ok(()), Ok(()), Ok(())));
        assert_eq!(take("192.0.2.1"), Err(3_600));
    }

    #[test]
    fn without_a_limit_any_number_of_requests_is_allowed() {
        let directory = tempfile::tempdir().unwrap();
        let ctx = Ctx::for_tests(directory.path(), Settings::for_tests());
        let none = NetworkLimit::new(&ctx.store, &ctx.world, CountKind::Signups, None);
        assert!((0..1_000).all(|_| none.take("192.0.2.1".parse().unwrap()).unwrap().is_ok()));
    }

    #[test]
    fn an_ipv6_56_has_twice_and_an_ipv6_48_four_times_the_limit() {
        let mut hours = Hours::new();
        let mut take = |text: &str| take(&mut hours, 10, text.parse().unwrap(), Duration::from_secs(1)).is_ok();
        let subscriber = (0..256).filter(|n| take(&format!("2001:db8:0:{n:x}::1"))).count();
        assert_eq!(subscriber, 20);
        assert_eq!((1..256).filter(|n| take(&format!("2001:db8:0:{n:x}00::1"))).count(), 20);
        assert!(take("2001:db8:1::1"));
    }

    #[test]
    fn a_refused_request_is_not_counted_for_wider_networks() {
        let mut hours = Hours::new();
        let mut take = |text: &str| take(&mut hours, 1, text.parse().unwrap(), Duration::from_secs(1)).is_ok();
        assert!(take("2001:db8::1"));
        assert!((0..10).all(|_| !take("2001:db8::1")));
        assert!(take("2001:db8:0:1::1"));
    }
}
