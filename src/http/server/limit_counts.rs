//! The counts of a limit on requests. With a file, the counts are in memory, and a restart clears them. With a database
//! server, all servers share the counts: an act loads the few counts that it needs, and stores those that it has
//! changed. The rules on counts are the same in both cases.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::keyed_hash::count_key;
use crate::domain::network::{self, Network};
use crate::domain::shared_count::{self, ShareCount};
use crate::store::{CountKey, Error, Store, StoredCounts};
use crate::world::World;

/// The kinds of counts that servers share. The database stores the numbers of the kinds, so they must not change.
#[derive(Debug, Clone, Copy)]
pub(super) enum CountKind {
    AccountFailures = 1,
    NetworkFailures = 2,
    UnfamiliarFailures = 3,
    LastSignIns = 4,
    Signups = 5,
    RedisplayedForms = 6,
    StrangerChallenges = 7,
}

/// The counts of one limit.
pub(super) trait Counts: Default {
    /// The counts that an act needs.
    type Scope;

    /// Calls [`Visitor::visit`] for each count in the scope.
    fn visit(&mut self, scope: &Self::Scope, visitor: &mut Visitor<'_>);
}

/// The subject of a count.
pub(super) trait Subject: Hash + Eq {
    /// Returns bytes that no other subject of the same kind has.
    fn name(&self) -> Vec<u8>;
}

impl Subject for Network {
    fn name(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }
}

/// The counts of all networks that contain an address.
impl<V: ShareCount> Counts for HashMap<Network, V> {
    type Scope = (CountKind, IpAddr);

    fn visit(&mut self, (kind, address): &Self::Scope, visitor: &mut Visitor<'_>) {
        for (network, _) in network::containing(*address) {
            visitor.visit(*kind, self, network);
        }
    }
}

/// The counts of one limit, in memory or shared.
pub(super) struct LimitCounts<C> {
    store: Arc<Store>,
    world: Arc<dyn World>,
    in_memory: Mutex<C>,
}

impl<C: Counts> LimitCounts<C> {
    pub(super) fn new(store: &Arc<Store>, world: &Arc<dyn World>) -> Self {
        Self { store: Arc::clone(store), world: Arc::clone(world), in_memory: Mutex::default() }
    }

    /// Runs a rule on the counts. No other act on counts in the scope runs at the same time. The rule receives the time
    /// by the clock that the counts use. With a database server, the call blocks the thread.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the shared counts cannot be used. Counts in memory cause no errors.
    pub(super) fn act<T>(&self, scope: &C::Scope, rule: impl FnOnce(&mut C, Duration) -> T) -> Result<T, Error> {
        if !self.store.is_on_server() {
            return Ok(rule(&mut self.lock(), self.world.monotonic()));
        }
        let (secret, now) = (self.store.form_secret(), shared_count::clock(self.world.now()));
        let mut keys = BTreeSet::new();
        C::default().visit(scope, &mut Visitor { secret, step: Step::Name(&mut keys) });
        self.store.change_counts(&keys, |stored| {
            let mut counts = C::default();
            counts.visit(scope, &mut Visitor { secret, step: Step::Load(stored, now) });
            let outcome = rule(&mut counts, now);
            counts.visit(scope, &mut Visitor { secret, step: Step::Save(stored) });
            outcome
        })
    }

    fn lock(&self) -> MutexGuard<'_, C> {
        self.in_memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names, loads or saves counts.
pub(super) struct Visitor<'a> {
    secret: &'a [u8; 32],
    step: Step<'a>,
}

enum Step<'a> {
    Name(&'a mut BTreeSet<CountKey>),
    Load(&'a StoredCounts, Duration),
    Save(&'a mut StoredCounts),
}

impl Visitor<'_> {
    pub(super) fn visit<K: Subject, V: ShareCount>(&mut self, kind: CountKind, counts: &mut HashMap<K, V>, subject: K) {
        let kind = kind as u8;
        let key = CountKey { kind, digest: count_key(self.secret, kind, &subject.name()) };
        match &mut self.step {
            Step::Name(keys) => {
                keys.insert(key);
            }
            Step::Load(stored, now) => {
                counts.extend(stored.get(&key).map(|stored| (subject, V::restored(*stored, *now))));
            }
            Step::Save(stored) => match counts.get(&subject) {
                Some(count) => drop(stored.insert(key, count.stored())),
                None => drop(stored.remove(&key)),
            },
        }
    }
}
