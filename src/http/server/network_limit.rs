//! Counts requests of one kind by client network. The counts live in memory; a restart clears them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::bounded_map::make_room;
use crate::domain::network::{self, Network};
use crate::domain::rate::HourlyAllowance;

/// An hourly limit on the requests from each client network.
pub(in crate::http) struct NetworkLimit {
    per_hour: Option<u32>,
    hours: Mutex<HashMap<Network, HourlyAllowance>>,
}

impl NetworkLimit {
    /// Creates a limit. `per_hour` applies to one IPv4 address or one IPv6 /64; wider networks have a higher limit.
    /// `None` allows any number of requests.
    pub(in crate::http) fn new(per_hour: Option<u32>) -> Self {
        Self { per_hour, hours: Mutex::default() }
    }

    /// Counts a request from this address.
    ///
    /// # Errors
    /// The number of whole seconds to wait before the next request. A refused request is not counted.
    pub(in crate::http) fn take(&self, address: IpAddr, now: Duration) -> Result<(), u64> {
        let Some(per_hour) = self.per_hour else { return Ok(()) };
        let mut hours = self.hours.lock().unwrap_or_else(PoisonError::into_inner);
        let limits = network::containing(address).map(|(network, factor)| (network, per_hour.saturating_mul(factor)));
        let wait = limits.clone().filter_map(|(network, limit)| hours.get(&network)?.wait(limit, now)).max();
        if let Some(wait) = wait {
            return Err(wait);
        }
        for (network, limit) in limits {
            make_room(&mut hours, &network, |hour| hour.is_over(now), |hour| hour.began_at);
            hours.entry(network).or_insert_with(|| HourlyAllowance::beginning(now)).take(limit, now)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ipv4_address_or_ipv6_64_has_its_own_limit() {
        let limit = NetworkLimit::new(Some(1));
        let take = |text: &str| limit.take(text.parse().unwrap(), Duration::from_secs(1));
        assert_eq!(take("2001:db8::1"), Ok(()));
        assert_eq!(take("2001:db8::2"), Err(3_600));
        assert_eq!((take("2001:db8:0:1::1"), take("192.0.2.1"), take("192.0.2.2")), (Ok(()), Ok(()), Ok(())));
        assert_eq!(take("192.0.2.1"), Err(3_600));
        let none = NetworkLimit::new(None);
        assert!((0..1_000).all(|_| none.take("192.0.2.1".parse().unwrap(), Duration::ZERO).is_ok()));
    }

    #[test]
    fn a_56_has_twice_and_a_48_four_times_the_limit() {
        let limit = NetworkLimit::new(Some(10));
        let take = |text: &str| limit.take(text.parse().unwrap(), Duration::from_secs(1)).is_ok();
        let subscriber = (0..256).filter(|n| take(&format!("2001:db8:0:{n:x}::1"))).count();
        assert_eq!(subscriber, 20);
        assert_eq!((1..256).filter(|n| take(&format!("2001:db8:0:{n:x}00::1"))).count(), 20);
        assert!(take("2001:db8:1::1"));
    }

    #[test]
    fn a_refused_request_is_not_counted_for_wider_networks() {
        let limit = NetworkLimit::new(Some(1));
        let take = |text: &str| limit.take(text.parse().unwrap(), Duration::from_secs(1)).is_ok();
        assert!(take("2001:db8::1"));
        assert!((0..10).all(|_| !take("2001:db8::1")));
        assert!(take("2001:db8:0:1::1"));
    }
}
