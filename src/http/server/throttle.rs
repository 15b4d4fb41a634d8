//! The failed sign-ins of each account and each client network, in memory: a restart forgets them.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::domain::network::{self, Network};
use crate::domain::rate::HourlyAllowance;
use crate::domain::throttle::{
    ACCOUNT_FAILURES_FREE, FAMILIAR_FOR, Failures, NETWORK_FAILURES_FREE, UNFAMILIAR_FAILURES_PER_HOUR,
};

/// Entries of each table: more than fail in an hour, and a few megabytes at the most.
const REMEMBERED_MAX: usize = 50_000;

/// How many of the oldest entries are forgotten at once when there are too many.
const FORGOTTEN_AT_ONCE: usize = 5_000;

/// An account as it is remembered: the SHA-256 of its address, because anybody chooses how long that is.
type Account = [u8; 32];

/// Where an attempt comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Network(Network),
    /// A browser, by the digest of the session's cookie that it was given at an earlier sign-in.
    Device([u8; 32]),
}

/// An attempt that was begun.
#[derive(Debug)]
pub(in crate::http) struct Attempt {
    account: Account,
    address: IpAddr,
    familiarity: Familiarity,
}

/// What an account knows of where an attempt comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Familiarity {
    /// Nothing: everything counts.
    Stranger,
    /// It has succeeded from this network: what happens in wider networks or elsewhere does not count.
    FamiliarNetwork,
    /// It has succeeded in this browser: only what this browser does counts.
    FamiliarDevice([u8; 32]),
}

#[derive(Default)]
pub(in crate::http) struct Throttle {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    accounts: HashMap<(Account, Source), Failures>,
    networks: HashMap<Network, Failures>,
    /// The failures of each account from everywhere that it does not know.
    strangers: HashMap<Account, HourlyAllowance>,
    /// When an account last succeeded from somewhere.
    familiar: HashMap<(Account, Source), Duration>,
}

impl Throttle {
    /// Begins an attempt, which counts as failed until [`Throttle::succeeded`] or [`Throttle::undone`] takes it back.
    /// `device` is the digest of the session cookie that came along.
    ///
    /// # Errors
    /// The whole seconds after which an attempt is let through; nothing is counted.
    pub(in crate::http) fn begin(
        &self,
        account: &str,
        address: IpAddr,
        device: Option<[u8; 32]>,
        now: Duration,
    ) -> Result<Attempt, u64> {
        let account = Sha256::digest(account.as_bytes()).into();
        let mut known = self.known();
        let familiarity = known.familiarity(account, address, device, now);
        let attempt = Attempt { account, address, familiarity };
        match known.wait(&attempt, now) {
            Some(wait_s) => Err(wait_s),
            None => {
                known.count(&attempt, now);
                Ok(attempt)
            }
        }
    }

    /// The attempt was neither good nor bad: it is taken back.
    pub(in crate::http) fn undone(&self, attempt: &Attempt) {
        self.known().take_back(attempt);
    }

    /// The attempt was a good one. The account's failures from there are forgotten, and everything else that was counted
    /// is taken back: earlier failures of the network stay, or one good account would free an attacker. `device` is the
    /// digest of the session cookie that the browser gets.
    pub(in crate::http) fn succeeded(&self, attempt: &Attempt, device: [u8; 32], now: Duration) {
        let mut known = self.known();
        known.take_back(attempt);
        let network = Source::Network(network::narrowest(attempt.address));
        if let Familiarity::FamiliarDevice(before) = attempt.familiarity {
            known.accounts.remove(&(attempt.account, Source::Device(before)));
            // The browser has another cookie from now on.
            known.familiar.remove(&(attempt.account, Source::Device(before)));
        } else {
            known.accounts.remove(&(attempt.account, network));
        }
        for source in [network, Source::Device(device)] {
            let is_over = |at: &Duration| now.saturating_sub(*at) >= FAMILIAR_FOR;
            make_room(&mut known.familiar, &(attempt.account, source), is_over, |at| *at);
            known.familiar.insert((attempt.account, source), now);
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn familiarity(&self, account: Account, address: IpAddr, device: Option<[u8; 32]>, now: Duration) -> Familiarity {
        let is_familiar =
            |source| self.familiar.get(&(account, source)).is_some_and(|at| now.saturating_sub(*at) < FAMILIAR_FOR);
        match device {
            Some(device) if is_familiar(Source::Device(device)) => Familiarity::FamiliarDevice(device),
            _ if is_familiar(Source::Network(network::narrowest(address))) => Familiarity::FamiliarNetwork,
            _ => Familiarity::Stranger,
        }
    }

    /// The whole seconds that an attempt has to wait, if any.
    fn wait(&self, attempt: &Attempt, now: Duration) -> Option<u64> {
        let of_account = attempt.sources().filter_map(|(source, factor)| {
            let failures = self.accounts.get(&(attempt.account, source))?;
            failures.wait(ACCOUNT_FAILURES_FREE * factor, now)
        });
        let of_networks = attempt
            .networks()
            .filter_map(|(network, factor)| self.networks.get(&network)?.wait(NETWORK_FAILURES_FREE * factor, now));
        let wait = of_account.chain(of_networks).max();
        let wait_s = wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        let strangers = self.strangers.get(&attempt.account).filter(|_| attempt.familiarity == Familiarity::Stranger);
        wait_s.max(strangers.and_then(|hour| hour.wait(UNFAMILIAR_FAILURES_PER_HOUR, now)))
    }

    fn count(&mut self, attempt: &Attempt, now: Duration) {
        for (source, _) in attempt.sources() {
            count(&mut self.accounts, (attempt.account, source), now);
        }
        for (network, _) in attempt.networks() {
            count(&mut self.networks, network, now);
        }
        if attempt.familiarity == Familiarity::Stranger {
            make_room(&mut self.strangers, &attempt.account, |hour| hour.is_over(now), |hour| hour.began_at);
            let hour = self.strangers.entry(attempt.account).or_insert_with(|| HourlyAllowance::beginning(now));
            // There was no wait, so there is one to take.
            let _ = hour.take(UNFAMILIAR_FAILURES_PER_HOUR, now);
        }
    }

    fn take_back(&mut self, attempt: &Attempt) {
        for (source, _) in attempt.sources() {
            take_back(&mut self.accounts, &(attempt.account, source));
        }
        for (network, _) in attempt.networks() {
            take_back(&mut self.networks, &network);
        }
        if attempt.familiarity == Familiarity::Stranger
            && let Some(hour) = self.strangers.get_mut(&attempt.account)
        {
            hour.give_back();
        }
    }
}

impl Attempt {
    /// Under which sources its failure counts for the account.
    fn sources(&self) -> impl Iterator<Item = (Source, u32)> {
        let device = match self.familiarity {
            Familiarity::FamiliarDevice(device) => Some((Source::Device(device), 1)),
            _ => None,
        };
        self.networks().map(|(network, factor)| (Source::Network(network), factor)).chain(device)
    }

    /// For which networks its failure counts.
    fn networks(&self) -> impl Iterator<Item = (Network, u32)> {
        let levels = match self.familiarity {
            Familiarity::Stranger => usize::MAX,
            Familiarity::FamiliarNetwork => 1,
            Familiarity::FamiliarDevice(_) => 0,
        };
        network::containing(self.address).take(levels)
    }
}

fn take_back<K: Hash + Eq>(known: &mut HashMap<K, Failures>, key: &K) {
    if let Some(failures) = known.get_mut(key) {
        *failures = failures.less_one();
    }
}

fn count<K: Hash + Eq>(known: &mut HashMap<K, Failures>, key: K, now: Duration) {
    make_room(known, &key, |failures| failures.is_forgotten(now), Failures::last_at);
    let failures = known.entry(key).or_insert(Failures::NONE);
    *failures = failures.plus_one(now);
}

/// Makes room for one more entry: first those that are over go, then the oldest.
pub(in crate::http) fn make_room<K: Hash + Eq, V>(
    known: &mut HashMap<K, V>,
    key: &K,
    is_over: impl Fn(&V) -> bool,
    time: impl Fn(&V) -> Duration,
) {
    if known.len() < REMEMBERED_MAX || known.contains_key(key) {
        return;
    }
    known.retain(|_, value| !is_over(value));
    if known.len() >= REMEMBERED_MAX {
        let mut times: Vec<Duration> = known.values().map(&time).collect();
        let (_, until, _) = times.select_nth_unstable(FORGOTTEN_AT_ONCE - 1);
        let until = *until;
        known.retain(|_, value| time(value) > until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);

    fn fail(throttle: &Throttle, address: &str, times: u32) -> u32 {
        let address = address.parse().unwrap();
        (0..times).filter(|_| throttle.begin("ada", address, None, NOW).is_ok()).count() as u32
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let throttle = Throttle::default();
        let account = |number: usize| (Account::from(Sha256::digest(number.to_string())), Source::Device([0; 32]));
        for number in 0..REMEMBERED_MAX + 10 {
            count(&mut throttle.known().accounts, account(number), Duration::from_millis(number as u64 * 10));
        }
        let remembered = |number: usize| throttle.known().accounts.contains_key(&account(number));
        assert_eq!(throttle.known().accounts.len(), REMEMBERED_MAX + 10 - FORGOTTEN_AT_ONCE);
        assert!(!remembered(FORGOTTEN_AT_ONCE - 1) && remembered(FORGOTTEN_AT_ONCE) && remembered(REMEMBERED_MAX));
        assert_eq!(fail(&throttle, "192.0.2.1", 1), 1);
    }

    #[test]
    fn an_account_waits_for_a_64_after_5_for_a_56_after_10_and_for_a_48_after_20() {
        let throttle = Throttle::default();
        assert_eq!(fail(&throttle, "2001:db8::1", 9), 5);
        assert_eq!(fail(&throttle, "2001:db8::2", 1), 0);
        assert_eq!((0..40).map(|n| fail(&throttle, &format!("2001:db8:0:{n:x}::1"), 9)).sum::<u32>(), 5);
        let others = (1..80).map(|n| fail(&throttle, &format!("2001:db8:0:{n:x}00::1"), 9)).sum::<u32>();
        assert_eq!(others, 10);
        assert_eq!(fail(&throttle, "2001:db8:1::1", 9), 5);
    }

    #[test]
    fn an_account_takes_a_hundred_failures_an_hour_from_everywhere_and_a_familiar_network_is_let_in() {
        let throttle = Throttle::default();
        let home = "192.0.2.1".parse().unwrap();
        let attempt = throttle.begin("ada", home, None, NOW).unwrap();
        throttle.succeeded(&attempt, [7; 32], NOW);
        let failed: u32 = (0..100).map(|n| fail(&throttle, &format!("198.51.100.{n}"), 2)).sum();
        assert_eq!(failed, UNFAMILIAR_FAILURES_PER_HOUR);
        assert_eq!(throttle.begin("ada", "203.0.113.1".parse().unwrap(), None, NOW).unwrap_err(), 3_600);
        assert!(throttle.begin("ada", home, None, NOW).is_ok());
        assert!(throttle.begin("ada", "203.0.113.1".parse().unwrap(), Some([7; 32]), NOW).is_ok());
        assert!(throttle.begin("ada", "203.0.113.1".parse().unwrap(), Some([8; 32]), NOW).is_err());
        assert!(throttle.begin("bob", "203.0.113.1".parse().unwrap(), Some([7; 32]), NOW).is_ok());
    }

    #[test]
    fn a_familiar_device_waits_for_its_own_failures_only() {
        let throttle = Throttle::default();
        let office = "192.0.2.1".parse().unwrap();
        let attempt = throttle.begin("ada", office, None, NOW).unwrap();
        throttle.succeeded(&attempt, [7; 32], NOW);
        assert_eq!(fail(&throttle, "192.0.2.1", 9), 5, "somebody else in the office");
        let tries = (0..9).filter(|_| throttle.begin("ada", office, Some([7; 32]), NOW).is_ok()).count();
        assert_eq!(tries, 5);
        let later = NOW + FAMILIAR_FOR;
        assert_eq!(throttle.known().familiarity(attempt.account, office, Some([7; 32]), later), Familiarity::Stranger);
    }
}
