//! The failed sign-ins of each account and each client address, in memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::domain::throttle::{ACCOUNT_FAILURES_FREE, ADDRESS_FAILURES_FREE, Failures};

/// Accounts, and addresses, that are remembered: more than fail in an hour, and a few megabytes at the most.
const REMEMBERED_MAX: usize = 50_000;

/// How many of those that failed longest ago are forgotten at once when there are too many.
const FORGOTTEN_AT_ONCE: usize = 5_000;

/// An account as it is remembered: the SHA-256 of its address, because anybody chooses how long that is.
type Account = [u8; 32];

#[derive(Default)]
pub(super) struct Throttle {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    accounts: HashMap<Account, Failures>,
    addresses: HashMap<IpAddr, Failures>,
}

impl Throttle {
    /// Begins an attempt, which counts as failed until [`Throttle::succeeded`] takes it back, so that attempts at
    /// once are counted one by one.
    ///
    /// # Errors
    /// The whole seconds after which an attempt is let through; nothing is counted.
    pub(super) fn begin(&self, account: &str, address: IpAddr, now: Duration) -> Result<(), u64> {
        let (account, address) = (digest(account), network(address));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let account_wait = known.accounts.get(&account).and_then(|failures| failures.wait(ACCOUNT_FAILURES_FREE, now));
        let address_wait = known.addresses.get(&address).and_then(|failures| failures.wait(ADDRESS_FAILURES_FREE, now));
        if let Some(wait) = account_wait.max(address_wait) {
            return Err(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        }
        count(&mut known.accounts, account, now);
        count(&mut known.addresses, address, now);
        Ok(())
    }

    /// The attempt that was begun was neither good nor bad: it is taken back.
    pub(super) fn undone(&self, account: &str, address: IpAddr) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        take_back(&mut known.accounts, &digest(account));
        take_back(&mut known.addresses, &network(address));
    }

    /// The attempt that was begun was a good one: the account's failures are forgotten, the address's attempt is
    /// taken back (its other failures stay, or one good account would free an attacker).
    pub(super) fn succeeded(&self, account: &str, address: IpAddr) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.accounts.remove(&digest(account));
        take_back(&mut known.addresses, &network(address));
    }
}

fn digest(account: &str) -> Account {
    Sha256::digest(account.as_bytes()).into()
}

fn take_back<K: Hash + Eq>(known: &mut HashMap<K, Failures>, key: &K) {
    if let Some(failures) = known.get_mut(key) {
        *failures = failures.less_one();
    }
}

fn count<K: Hash + Eq>(known: &mut HashMap<K, Failures>, key: K, now: Duration) {
    if known.len() >= REMEMBERED_MAX && !known.contains_key(&key) {
        known.retain(|_, failures| !failures.is_forgotten(now));
        if known.len() >= REMEMBERED_MAX {
            let mut times: Vec<Duration> = known.values().map(Failures::last_at).collect();
            let (_, until, _) = times.select_nth_unstable(FORGOTTEN_AT_ONCE - 1);
            known.retain(|_, failures| failures.last_at() > *until);
        }
    }
    let failures = known.entry(key).or_insert(Failures::NONE);
    *failures = failures.plus_one(now);
}

/// Whoever has one IPv6 address has its whole /64.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_in_the_same_64_is_the_same_address() {
        let parse = |text: &str| network(text.parse().unwrap());
        assert_eq!(parse("2001:db8::1"), parse("2001:db8::ffff:1"));
        assert_ne!(parse("2001:db8::1"), parse("2001:db8:0:1::1"));
        assert_ne!(parse("192.0.2.1"), parse("192.0.2.2"));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let throttle = Throttle::default();
        let address = "192.0.2.1".parse().unwrap();
        for number in 0..REMEMBERED_MAX + 10 {
            let now = Duration::from_millis(number as u64 * 10);
            let mut known = throttle.known.lock().unwrap();
            count(&mut known.accounts, digest(&number.to_string()), now);
        }
        let remembered =
            |number: usize| throttle.known.lock().unwrap().accounts.contains_key(&digest(&number.to_string()));
        assert_eq!(throttle.known.lock().unwrap().accounts.len(), REMEMBERED_MAX + 10 - FORGOTTEN_AT_ONCE);
        assert!(!remembered(FORGOTTEN_AT_ONCE - 1) && remembered(FORGOTTEN_AT_ONCE) && remembered(REMEMBERED_MAX));
        throttle.begin("a", address, Duration::from_secs(1)).unwrap();
    }
}
