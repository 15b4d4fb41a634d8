//! The places of forms with room for a file that arrive at once: so many, and of one client address a few of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::throttle::network;

/// All the places.
pub(super) struct Places {
    all_max: usize,
    each_max: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// Those of each address that has one.
    each: HashMap<IpAddr, usize>,
}

/// A place that is taken, for as long as this is there.
pub(super) struct Place<'a> {
    places: &'a Places,
    address: IpAddr,
}

impl Places {
    pub(super) fn new(all_max: usize, each_max: usize) -> Self {
        Self { all_max, each_max, taken: Mutex::default() }
    }

    /// A place for this address, where there is one.
    pub(super) fn take(&self, address: IpAddr) -> Option<Place<'_>> {
        let address = network(address);
        let mut taken = self.taken();
        let own = taken.each.get(&address).copied().unwrap_or_default();
        if taken.all >= self.all_max || own >= self.each_max {
            return None;
        }
        taken.all += 1;
        taken.each.insert(address, own + 1);
        Some(Place { places: self, address })
    }

    /// How many are free.
    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.all_max - self.taken().all
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        if let Some(own) = taken.each.get_mut(&self.address) {
            *own -= 1;
            if *own == 0 {
                taken.each.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_its_64_have_some_of_the_places() {
        let places = Places::new(5, 2);
        let take = |text: &str| places.take(text.parse().unwrap());
        let (first, second) = (take("2001:db8::1"), take("2001:db8::2"));
        assert!(first.is_some() && second.is_some());
        assert!(take("2001:db8::3").is_none());
        let others = [take("2001:db8:0:1::1"), take("192.0.2.1"), take("192.0.2.1")];
        assert!(others.iter().all(Option::is_some));
        // None is free any more, whoever asks.
        assert!(take("192.0.2.2").is_none());
        drop(first);
        assert!(take("2001:db8::3").is_some());
        drop((second, others));
        assert_eq!(places.free(), 5);
        assert!(places.taken().each.is_empty());
    }
}
