//! How many applications come from each client address, in memory: a restart forgets them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::super::throttle::network;
use crate::domain::rate::Hour;

/// Addresses that are remembered: more than send something in an hour, and a few megabytes at the most.
const REMEMBERED_MAX: usize = 50_000;

/// How many of those whose hour began first are forgotten at once when there are too many.
const FORGOTTEN_AT_ONCE: usize = 5_000;

/// The applications of each address.
pub(in crate::http) struct Limit {
    per_hour: Option<u32>,
    hours: Mutex<HashMap<IpAddr, Hour>>,
}

impl Limit {
    pub(in crate::http) fn new(per_hour: Option<u32>) -> Self {
        Self { per_hour, hours: Mutex::default() }
    }

    /// Counts one more from this address.
    ///
    /// # Errors
    /// The whole seconds after which one is let through; nothing is counted.
    pub(super) fn take(&self, address: IpAddr, now: Duration) -> Result<(), u64> {
        let Some(per_hour) = self.per_hour else { return Ok(()) };
        let address = network(address);
        let mut hours = self.hours.lock().unwrap_or_else(PoisonError::into_inner);
        if hours.len() >= REMEMBERED_MAX && !hours.contains_key(&address) {
            make_room(&mut hours, now);
        }
        hours.entry(address).or_insert_with(|| Hour::beginning(now)).take(per_hour, now)
    }
}

fn make_room(hours: &mut HashMap<IpAddr, Hour>, now: Duration) {
    hours.retain(|_, hour| !hour.is_over(now));
    if hours.len() >= REMEMBERED_MAX {
        let mut times: Vec<Duration> = hours.values().map(|hour| hour.began_at).collect();
        let (_, until, _) = times.select_nth_unstable(FORGOTTEN_AT_ONCE - 1);
        hours.retain(|_, hour| hour.began_at > *until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_and_a_neighbour_in_the_same_64_the_same() {
        let limit = Limit::new(Some(1));
        let take = |text: &str| limit.take(text.parse().unwrap(), Duration::from_secs(1));
        assert_eq!(take("2001:db8::1"), Ok(()));
        assert_eq!(take("2001:db8::2"), Err(3_600));
        assert_eq!((take("2001:db8:0:1::1"), take("192.0.2.1"), take("192.0.2.2")), (Ok(()), Ok(()), Ok(())));
        assert_eq!(take("192.0.2.1"), Err(3_600));
        let none = Limit::new(None);
        assert!((0..1_000).all(|_| none.take("192.0.2.1".parse().unwrap(), Duration::ZERO).is_ok()));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let limit = Limit::new(Some(1));
        let address = |number: usize| IpAddr::from((number as u32).to_be_bytes());
        for number in 0..REMEMBERED_MAX + 10 {
            limit.take(address(number), Duration::from_millis(number as u64)).unwrap();
        }
        let hours = limit.hours.lock().unwrap();
        assert_eq!(hours.len(), REMEMBERED_MAX + 10 - FORGOTTEN_AT_ONCE);
        assert!(
            !hours.contains_key(&address(FORGOTTEN_AT_ONCE - 1)) && hours.contains_key(&address(FORGOTTEN_AT_ONCE))
        );
    }
}
