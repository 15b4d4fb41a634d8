//! Permits for something of which only so much may happen at once, such as uploads. They are shared among client networks.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::network::{self, Network};

/// All the permits.
pub(in crate::http) struct Permits {
    all_max: usize,
    each_max: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// Those of each network that has one.
    each: HashMap<Network, usize>,
}

/// A permit, held until this is dropped.
pub(in crate::http) struct Permit<'a> {
    permits: &'a Permits,
    address: IpAddr,
}

/// Why there is no permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum NoPermit {
    /// The client's network holds as many as it may.
    OfNetwork,
    /// None is free.
    OfAll,
}

impl Permits {
    /// `each_max` is for one address, or one IPv6 /64; wider networks have a higher limit.
    pub(in crate::http) fn new(all_max: usize, each_max: usize) -> Self {
        Self { all_max, each_max, taken: Mutex::default() }
    }

    /// A permit for this address.
    pub(in crate::http) fn take(&self, address: IpAddr) -> Result<Permit<'_>, NoPermit> {
        let mut taken = self.taken();
        let free = self.all_max - taken.all;
        if free == 0 {
            return Err(NoPermit::OfAll);
        }
        for (network, factor) in network::containing(address) {
            let own = taken.each.get(&network).copied().unwrap_or_default();
            if !network::may_take(own, self.each_max * factor as usize, free) {
                return Err(NoPermit::OfNetwork);
            }
        }
        taken.all += 1;
        for (network, _) in network::containing(address) {
            *taken.each.entry(network).or_default() += 1;
        }
        Ok(Permit { permits: self, address })
    }

    /// How many are free.
    #[cfg(test)]
    pub(in crate::http) fn free(&self) -> usize {
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
        for (network, _) in network::containing(self.address) {
            if let Some(own) = taken.each.get_mut(&network) {
                *own -= 1;
                if *own == 0 {
                    taken.each.remove(&network);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take<'a>(permits: &'a Permits, text: &str) -> Result<Permit<'a>, NoPermit> {
        permits.take(text.parse().unwrap())
    }

    #[test]
    fn an_address_or_its_64_holds_some_of_the_permits() {
        let permits = Permits::new(7, 2);
        let (first, second) = (take(&permits, "2001:db8::1"), take(&permits, "2001:db8::2"));
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(take(&permits, "2001:db8::3").err(), Some(NoPermit::OfNetwork));
        let others = [take(&permits, "2001:db8:0:1::1"), take(&permits, "192.0.2.1"), take(&permits, "192.0.2.1")];
        assert!(others.iter().all(Result::is_ok));
        drop(first);
        assert!(take(&permits, "2001:db8::3").is_ok());
        drop((second, others));
        assert_eq!(permits.free(), 7);
        assert!(permits.taken().each.is_empty());
    }

    #[test]
    fn one_line_with_many_64s_leaves_permits_for_others() {
        let permits = Permits::new(128, 16);
        let line: Vec<_> = (0..=255).map_while(|n| take(&permits, &format!("2001:db8:0:ff{n:02x}::1")).ok()).collect();
        assert_eq!(line.len(), 32, "a /56 holds twice as many as a /64");
        let business: Vec<_> =
            (0..=255).map_while(|n| take(&permits, &format!("2001:db8:1:{n:02x}00::1")).ok()).collect();
        assert_eq!(business.len(), 48, "a /48 holds no more than are free");
        assert!(take(&permits, "2001:db8:2::1").is_ok() && take(&permits, "192.0.2.1").is_ok());
    }

    #[test]
    fn eleven_networks_that_hold_all_they_can_leave_a_permit_for_a_newcomer() {
        let permits = Permits::new(128, 16);
        let mut held = Vec::new();
        for number in 0..11 {
            held.extend(std::iter::from_fn(|| take(&permits, &format!("192.0.2.{number}")).ok()));
        }
        assert!(take(&permits, "198.51.100.1").is_ok(), "{} are free", permits.free());
    }
}
