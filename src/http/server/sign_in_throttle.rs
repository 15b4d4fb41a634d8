//! Counts of failed sign-ins by account and by client network. A wrong password or code at a confirmation counts as a
//! failed sign-in. A restart clears the counts of a service with a file. Servers that share a database share the
//! counts.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::bounded_map::make_room;
use super::limit_counts::{CountKind, Counts, LimitCounts, Subject, Visitor};
use crate::domain::network::{self, Network};
use crate::domain::rate::HourlyAllowance;
use crate::domain::throttle::{
    ACCOUNT_FAILURES_FREE, Failures, LastSignIn, NETWORK_FAILURES_FREE, UNFAMILIAR_FAILURES_PER_HOUR,
};
use crate::store::{Error, Store};
use crate::world::World;

/// The SHA-256 digest of an account's email address. A digest uses less memory than a long address, which a stranger
/// could send.
type Account = [u8; 32];

/// The source of a sign-in attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Network(Network),
    /// A browser, identified by the digest of the session cookie that it received at an earlier sign-in.
    Device([u8; 32]),
}

/// A sign-in attempt in progress: the check of one password or one code.
#[derive(Debug)]
pub(in crate::http) struct SignInAttempt {
    account: Account,
    address: IpAddr,
    familiarity: Familiarity,
}

/// Whether somebody has recently signed in to the account from the source of a sign-in attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Familiarity {
    /// Nobody has recently signed in to the account from the source. Failures from all networks that contain the
    /// client are counted, and so are the account's failures from all unfamiliar sources.
    Unfamiliar,
    /// Somebody has signed in to the account from this network. Only failures from this network count.
    FamiliarNetwork,
    /// Somebody has signed in to the account with this browser. Only failures from this browser count.
    FamiliarDevice([u8; 32]),
}

pub(in crate::http) struct SignInThrottle {
    counts: LimitCounts<FailureCounts>,
}

#[derive(Default)]
struct FailureCounts {
    accounts: HashMap<(Account, Source), Failures>,
    networks: HashMap<Network, Failures>,
    /// The failed sign-ins to each account from unfamiliar sources in the current hour.
    unfamiliar: HashMap<Account, HourlyAllowance>,
    /// The last sign-in to an account from a source.
    familiar: HashMap<(Account, Source), LastSignIn>,
}

/// The counts that a step of an attempt needs: those of the account, of the client's networks, and of these browsers.
struct AttemptScope {
    account: Account,
    address: IpAddr,
    devices: Vec<[u8; 32]>,
}

impl SignInThrottle {
    pub(super) fn new(store: &Arc<Store>, world: &Arc<dyn World>) -> Self {
        Self { counts: LimitCounts::new(store, world) }
    }

    /// Begins a sign-in attempt. It counts as failed until [`SignInThrottle::succeed`] or [`SignInThrottle::cancel`] is
    /// called. `device` is the digest of the request's session cookie. Returns the number of whole seconds to wait
    /// before the next attempt if this one is refused. A refused attempt is not counted.
    ///
    /// # Errors
    /// The errors of [`LimitCounts::act`].
    pub(in crate::http) fn begin(
        &self,
        account: &str,
        address: IpAddr,
        device: Option<[u8; 32]>,
    ) -> Result<Result<SignInAttempt, u64>, Error> {
        let account = Sha256::digest(account.as_bytes()).into();
        let scope = AttemptScope { account, address, devices: device.into_iter().collect() };
        self.counts.act(&scope, |counts, now| counts.begin(account, address, device, now))
    }

    /// Removes from the counts an attempt that neither failed nor succeeded.
    ///
    /// # Errors
    /// The errors of [`LimitCounts::act`]. After an error, the attempt still counts as failed.
    pub(in crate::http) fn cancel(&self, attempt: &SignInAttempt) -> Result<(), Error> {
        self.counts.act(&attempt.scope(None), |counts, _| counts.remove(attempt))
    }

    /// Ends a successful attempt. Clears the account's failures from this source, and removes the attempt from all
    /// other counts. Earlier failures of the network remain, because otherwise an attacker with one valid account could
    /// clear them. `device` is the digest of the session cookie that the browser has or receives.
    ///
    /// # Errors
    /// The errors of [`LimitCounts::act`]. After an error, the attempt still counts as failed.
    pub(in crate::http) fn succeed(&self, attempt: &SignInAttempt, device: [u8; 32]) -> Result<(), Error> {
        self.counts.act(&attempt.scope(Some(device)), |counts, now| counts.succeed(attempt, device, now))
    }
}

impl Subject for Account {
    fn name(&self) -> Vec<u8> {
        self.to_vec()
    }
}

impl Subject for (Account, Source) {
    fn name(&self) -> Vec<u8> {
        let source = match &self.1 {
            Source::Network(network) => network.to_string().into_bytes(),
            Source::Device(device) => device.to_vec(),
        };
        [&self.0[..], &source].concat()
    }
}

impl Counts for FailureCounts {
    type Scope = AttemptScope;

    fn visit(&mut self, scope: &AttemptScope, visitor: &mut Visitor<'_>) {
        let account = scope.account;
        for (network, _) in network::containing(scope.address) {
            visitor.visit(CountKind::AccountFailures, &mut self.accounts, (account, Source::Network(network)));
            visitor.visit(CountKind::NetworkFailures, &mut self.networks, network);
        }
        visitor.visit(CountKind::UnfamiliarFailures, &mut self.unfamiliar, account);
        let narrowest = Source::Network(network::narrowest(scope.address));
        visitor.visit(CountKind::LastSignIns, &mut self.familiar, (account, narrowest));
        for device in scope.devices.iter().copied().map(Source::Device) {
            visitor.visit(CountKind::AccountFailures, &mut self.accounts, (account, device));
            visitor.visit(CountKind::LastSignIns, &mut self.familiar, (account, device));
        }
    }
}

impl FailureCounts {
    fn begin(
        &mut self,
        account: Account,
        address: IpAddr,
        device: Option<[u8; 32]>,
        now: Duration,
    ) -> Result<SignInAttempt, u64> {
        let familiarity = self.familiarity(account, address, device, now);
        let attempt = SignInAttempt { account, address, familiarity };
        match self.wait(&attempt, now) {
            Some(wait_s) => Err(wait_s),
            None => {
                self.add(&attempt, now);
                Ok(attempt)
            }
        }
    }

    fn succeed(&mut self, attempt: &SignInAttempt, device: [u8; 32], now: Duration) {
        self.remove(attempt);
        let network = Source::Network(network::narrowest(attempt.address));
        if let Familiarity::FamiliarDevice(before) = attempt.familiarity {
            self.accounts.remove(&(attempt.account, Source::Device(before)));
            // A sign-in replaces the browser's cookie, so the old source is removed. A confirmation does not replace
            // the cookie, and the loop below inserts the same source again.
            self.familiar.remove(&(attempt.account, Source::Device(before)));
        } else {
            self.accounts.remove(&(attempt.account, network));
        }
        for source in [network, Source::Device(device)] {
            make_room(&mut self.familiar, &(attempt.account, source), |last| !last.is_recent(now), |last| last.at);
            self.familiar.insert((attempt.account, source), LastSignIn { at: now });
        }
    }

    fn familiarity(&self, account: Account, address: IpAddr, device: Option<[u8; 32]>, now: Duration) -> Familiarity {
        let is_familiar = |source| self.familiar.get(&(account, source)).is_some_and(|last| last.is_recent(now));
        match device {
            Some(device) if is_familiar(Source::Device(device)) => Familiarity::FamiliarDevice(device),
            _ if is_familiar(Source::Network(network::narrowest(address))) => Familiarity::FamiliarNetwork,
            _ => Familiarity::Unfamiliar,
        }
    }

    fn wait(&self, attempt: &SignInAttempt, now: Duration) -> Option<u64> {
        let account_waits = attempt.sources().filter_map(|(source, factor)| {
            let failures = self.accounts.get(&(attempt.account, source))?;
            failures.wait(ACCOUNT_FAILURES_FREE * factor, now)
        });
        let network_waits = attempt
            .networks()
            .filter_map(|(network, factor)| self.networks.get(&network)?.wait(NETWORK_FAILURES_FREE * factor, now));
        let wait = account_waits.chain(network_waits).max();
        let wait_s = wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
        let unfamiliar =
            self.unfamiliar.get(&attempt.account).filter(|_| attempt.familiarity == Familiarity::Unfamiliar);
        wait_s.max(unfamiliar.and_then(|hour| hour.wait(UNFAMILIAR_FAILURES_PER_HOUR, now)))
    }

    fn add(&mut self, attempt: &SignInAttempt, now: Duration) {
        for (source, _) in attempt.sources() {
            add_failure(&mut self.accounts, (attempt.account, source), now);
        }
        for (network, _) in attempt.networks() {
            add_failure(&mut self.networks, network, now);
        }
        if attempt.familiarity == Familiarity::Unfamiliar {
            make_room(&mut self.unfamiliar, &attempt.account, |hour| hour.is_over(now), |hour| hour.began_at);
            let hour = self.unfamiliar.entry(attempt.account).or_insert_with(|| HourlyAllowance::beginning(now));
            // `wait` returned `None`, so the allowance is not used up.
            let _ = hour.take(UNFAMILIAR_FAILURES_PER_HOUR, now);
        }
    }

    fn remove(&mut self, attempt: &SignInAttempt) {
        for (source, _) in attempt.sources() {
            remove_failure(&mut self.accounts, &(attempt.account, source));
        }
        for (network, _) in attempt.networks() {
            remove_failure(&mut self.networks, &network);
        }
        if attempt.familiarity == Familiarity::Unfamiliar
            && let Some(hour) = self.unfamiliar.get_mut(&attempt.account)
        {
            hour.give_back();
        }
    }
}

impl SignInAttempt {
    /// Returns the counts that a step at the end of the attempt needs. `device` is the browser that becomes familiar.
    fn scope(&self, device: Option<[u8; 32]>) -> AttemptScope {
        let before = match self.familiarity {
            Familiarity::FamiliarDevice(before) => Some(before),
            Familiarity::FamiliarNetwork | Familiarity::Unfamiliar => None,
        };
        AttemptScope {
            account: self.account,
            address: self.address,
            devices: before.into_iter().chain(device).collect(),
        }
    }

    /// Returns the sources for which the account's failures are counted, each with the factor by which its limit is
    /// multiplied.
    fn sources(&self) -> impl Iterator<Item = (Source, u32)> {
        let device = match self.familiarity {
            Familiarity::FamiliarDevice(device) => Some((Source::Device(device), 1)),
            _ => None,
        };
        self.networks().map(|(network, factor)| (Source::Network(network), factor)).chain(device)
    }

    /// Returns the networks for which a failure is counted, each with the factor by which its limit is multiplied.
    fn networks(&self) -> impl Iterator<Item = (Network, u32)> {
        let levels = match self.familiarity {
            Familiarity::Unfamiliar => usize::MAX,
            Familiarity::FamiliarNetwork => 1,
            Familiarity::FamiliarDevice(_) => 0,
        };
        network::containing(self.address).take(levels)
    }
}

fn remove_failure<K: Subject>(failures: &mut HashMap<K, Failures>, key: &K) {
    if let Some(own) = failures.get_mut(key) {
        *own = own.less_one();
    }
}

fn add_failure<K: Subject>(failures: &mut HashMap<K, Failures>, key: K, now: Duration) {
    make_room(failures, &key, |own| own.is_forgotten(now), Failures::last_at);
    let own = failures.entry(key).or_insert(Failures::NONE);
    *own = own.plus_one(now);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::throttle::FAMILIAR_FOR;
    use crate::http::server::bounded_map::{ENTRIES_MAX, EVICTED_AT_ONCE};

    const NOW: Duration = Duration::from_secs(1_000);

    fn account(name: &str) -> Account {
        Sha256::digest(name).into()
    }

    fn fail(counts: &mut FailureCounts, address: &str, times: u32) -> u32 {
        let address = address.parse().unwrap();
        (0..times).filter(|_| counts.begin(account("ada"), address, None, NOW).is_ok()).count() as u32
    }

    #[test]
    fn the_oldest_failures_are_evicted_from_a_full_table() {
        let mut counts = FailureCounts::default();
        let numbered = |number: usize| (Account::from(Sha256::digest(number.to_string())), Source::Device([0; 32]));
        for number in 0..ENTRIES_MAX + 10 {
            add_failure(&mut counts.accounts, numbered(number), Duration::from_millis(number as u64 * 10));
        }
        let is_counted = |number: usize| counts.accounts.contains_key(&numbered(number));
        assert_eq!(counts.accounts.len(), ENTRIES_MAX + 10 - EVICTED_AT_ONCE);
        assert!(!is_counted(EVICTED_AT_ONCE - 1) && is_counted(EVICTED_AT_ONCE) && is_counted(ENTRIES_MAX));
        assert_eq!(fail(&mut counts, "192.0.2.1", 1), 1);
    }

    #[test]
    fn an_account_is_throttled_for_a_slash_64_after_5_failures_a_slash_56_after_10_and_a_slash_48_after_20() {
        let mut counts = FailureCounts::default();
        assert_eq!(fail(&mut counts, "2001:db8::1", 9), 5);
        assert_eq!(fail(&mut counts, "2001:db8::2", 1), 0);
        assert_eq!((0..40).map(|n| fail(&mut counts, &format!("2001:db8:0:{n:x}::1"), 9)).sum::<u32>(), 5);
        let others = (1..80).map(|n| fail(&mut counts, &format!("2001:db8:0:{n:x}00::1"), 9)).sum::<u32>();
        assert_eq!(others, 10);
        assert_eq!(fail(&mut counts, "2001:db8:1::1", 9), 5);
    }

    #[test]
    fn unfamiliar_sources_share_a_hundred_failures_an_hour_and_familiar_sources_are_exempt() {
        let mut counts = FailureCounts::default();
        let home = "192.0.2.1".parse().unwrap();
        let attempt = counts.begin(account("ada"), home, None, NOW).unwrap();
        counts.succeed(&attempt, [7; 32], NOW);
        let failed: u32 = (0..100).map(|n| fail(&mut counts, &format!("198.51.100.{n}"), 2)).sum();
        assert_eq!(failed, UNFAMILIAR_FAILURES_PER_HOUR);
        assert_eq!(counts.begin(account("ada"), "203.0.113.1".parse().unwrap(), None, NOW).unwrap_err(), 3_600);
        assert!(counts.begin(account("ada"), home, None, NOW).is_ok());
        assert!(counts.begin(account("ada"), "203.0.113.1".parse().unwrap(), Some([7; 32]), NOW).is_ok());
        assert!(counts.begin(account("ada"), "203.0.113.1".parse().unwrap(), Some([8; 32]), NOW).is_err());
        assert!(counts.begin(account("bob"), "203.0.113.1".parse().unwrap(), Some([7; 32]), NOW).is_ok());
    }

    #[test]
    fn a_familiar_device_is_throttled_only_by_its_own_failures() {
        let mut counts = FailureCounts::default();
        let office = "192.0.2.1".parse().unwrap();
        let attempt = counts.begin(account("ada"), office, None, NOW).unwrap();
        counts.succeed(&attempt, [7; 32], NOW);
        assert_eq!(fail(&mut counts, "192.0.2.1", 9), 5, "the office network allows five failures");
        let tries = (0..9).filter(|_| counts.begin(account("ada"), office, Some([7; 32]), NOW).is_ok()).count();
        assert_eq!(tries, 5);
        let later = NOW + FAMILIAR_FOR;
        assert_eq!(counts.familiarity(attempt.account, office, Some([7; 32]), later), Familiarity::Unfamiliar);
    }
}
