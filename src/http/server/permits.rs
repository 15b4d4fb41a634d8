//! Permits that limit concurrent work, such as uploads. All client networks share them.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::network_counts::NetworkCounts;
use crate::domain::network;

/// A set of permits.
pub(super) struct Permits {
    all_max: usize,
    client_max: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_network: NetworkCounts,
}

/// A taken permit, which becomes free when this value is dropped.
pub(super) struct Permit<'a> {
    permits: &'a Permits,
    address: IpAddr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPermit {
    /// One of the client's networks is at its limit, or holds at least as many permits as are free
    /// ([`network::may_take`]).
    NetworkAtLimit,
    /// No permit is free.
    AllTaken,
}

impl Permits {
    /// Creates the permits. `client_max` applies to one IPv4 address or one IPv6 /64; wider networks have a higher
    /// limit.
    pub(super) fn new(all_max: usize, client_max: usize) -> Self {
        Self { all_max, client_max, taken: Mutex::default() }
    }

    /// Takes a permit for this address.
    ///
    /// # Errors
    /// [`NoPermit`] with the reason.
    pub(super) fn take(&self, address: IpAddr) -> Result<Permit<'_>, NoPermit> {
        let mut taken = self.taken();
        let free = self.all_max - taken.all;
        if free == 0 {
            return Err(NoPermit::AllTaken);
        }
        for (network, factor) in network::containing(address) {
            let own = taken.by_network.get(&network);
            if !network::may_take(own, self.client_max * factor as usize, free) {
                return Err(NoPermit::NetworkAtLimit);
            }
        }
        taken.all += 1;
        taken.by_network.add(address);
        Ok(Permit { permits: self, address })
    }

    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.all_max - self.taken().all
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut taken = self.permits.taken();
        taken.all -= 1;
        taken.by_network.remove(self.address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take<'a>(permits: &'a Permits, text: &str) -> Result<Permit<'a>, NoPermit> {
        permits.take(text.parse().unwrap())
    }

    #[test]
    fn an_ipv4_address_or_an_ipv6_64_holds_at_most_its_share() {
        let permits = Permits::new(7, 2);
        let (first, second) = (take(&permits, "2001:db8::1"), take(&permits, "2001:db8::2"));
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(take(&permits, "2001:db8::3").err(), Some(NoPermit::NetworkAtLimit));
        let others = [take(&permits, "2001:db8:0:1::1"), take(&permits, "192.0.2.1"), take(&permits, "192.0.2.1")];
        assert!(others.iter().all(Result::is_ok));
        drop(first);
        assert!(take(&permits, "2001:db8::3").is_ok());
        drop((second, others));
        assert_eq!(permits.free(), 7);
        assert!(permits.taken().by_network.is_empty());
    }

    #[test]
    fn one_subscriber_with_many_ipv6_networks_leaves_permits_for_others() {
        let permits = Permits::new(128, 16);
        let subscriber: Vec<_> =
            (0..=255).map_while(|n| take(&permits, &format!("2001:db8:0:ff{n:02x}::1")).ok()).collect();
        assert_eq!(subscriber.len(), 32, "a /56 holds twice as many as a /64");
        let business: Vec<_> =
            (0..=255).map_while(|n| take(&permits, &format!("2001:db8:1:{n:02x}00::1")).ok()).collect();
        assert_eq!(business.len(), 48, "a /48 holds at most as many permits as remain free");
        assert!(take(&permits, "2001:db8:2::1").is_ok() && take(&permits, "192.0.2.1").is_ok());
    }

    #[test]
    fn eleven_networks_at_their_limits_leave_a_permit_for_a_newcomer() {
        let permits = Permits::new(128, 16);
        let mut held = Vec::new();
        for number in 0..11 {
            held.extend(std::iter::from_fn(|| take(&permits, &format!("192.0.2.{number}")).ok()));
        }
        assert!(take(&permits, "198.51.100.1").is_ok(), "{} are free", permits.free());
    }
}
