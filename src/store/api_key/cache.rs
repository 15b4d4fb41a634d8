//! The key cache: API keys in memory, so that a request needs no query for its key.
//!
//! The cache can be behind the database. Triggers increment a change number when the facts that the cache contains
//! about a key or a user change. Each cached key records the change number at which it was read. The transaction of a
//! request compares the recorded number with the current one.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{StoredKey, find_by_digest};
use crate::db::tx::{Error, Tx};
use crate::domain::api_key::{KeyRefusal, KeyState};
use crate::domain::id::ApiKeyId;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::store::change_number;

/// The maximum number of cached keys. Most services have far fewer keys. A key takes about 300 bytes, so a full cache
/// takes about 5 MB. When the cache is full, the next new key empties it first.
const KEYS_MAX: usize = 16_384;

/// A key that was valid when it was read from the database.
#[derive(Debug)]
pub struct CachedKey {
    /// The principal of a request with this key.
    pub principal: Principal,
    id: ApiKeyId,
    digest: [u8; 32],
    state: KeyState,
    /// The change number of keys and users at which this key was read.
    read_at: i64,
    attached: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl CachedKey {
    pub fn id(&self) -> &ApiKeyId {
        &self.id
    }

    /// Returns the SHA-256 digest of the key.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns a value that the layer above derives from the principal alone, such as a response body. The first call
    /// creates the value, which lives as long as the cached key. All calls must use the same type.
    pub fn attached<T: Send + Sync + 'static>(&self, create: impl FnOnce() -> T) -> &T {
        let attached = self.attached.get_or_init(|| Box::new(create()));
        attached
            .downcast_ref()
            .expect("only one caller attaches a value to a key, so the value always has the same type")
    }

    /// Returns the principal as this transaction sees it, or `None` if the key is no longer valid.
    pub fn verify(&self, tx: &Tx<'_>) -> Result<Option<Principal>, Error> {
        if let Some(state) = self.state_at(change_number::credentials(tx)?) {
            return Ok(state.require_valid(tx.now).is_ok().then(|| self.principal.clone()));
        }
        let stored = find_by_digest(tx, &self.digest)?;
        Ok(stored.filter(|key| key.state.require_valid(tx.now).is_ok()).map(|key| key.principal))
    }

    /// Checks that the key is valid now, according to the cached facts.
    ///
    /// # Errors
    /// The reason why the key is not valid.
    pub(in crate::store) fn require_valid(&self, now: Timestamp) -> Result<(), KeyRefusal> {
        self.state.require_valid(now)
    }

    /// Returns the facts that determine whether the key is valid, or `None` if the key was read at another change
    /// number and may be stale.
    pub(in crate::store) fn state_at(&self, changed_at: i64) -> Option<&KeyState> {
        (self.read_at == changed_at).then_some(&self.state)
    }
}

/// The result of a lookup in the database.
pub(in crate::store) enum KeyLookup {
    /// A valid key. It is now cached, unless a later change has already made it stale.
    Valid(Arc<CachedKey>),
    Refused(ApiKeyId, KeyRefusal),
    Unknown,
}

/// The cached keys, all read at the same change number.
#[derive(Default)]
pub(crate) struct KeyCache(Mutex<Keys>);

#[derive(Default)]
struct Keys {
    read_at: i64,
    by_digest: HashMap<[u8; 32], Arc<CachedKey>>,
}

impl KeyCache {
    pub(in crate::store) fn get(&self, digest: &[u8; 32]) -> Option<Arc<CachedKey>> {
        self.lock().by_digest.get(digest).cloned()
    }

    /// Reads a key from the database, and caches it if it is valid.
    pub(in crate::store) fn load(&self, tx: &Tx<'_>, digest: &[u8; 32]) -> Result<KeyLookup, Error> {
        let read_at = change_number::credentials(tx)?;
        let Some(stored) = find_by_digest(tx, digest)? else { return Ok(KeyLookup::Unknown) };
        if let Err(why) = stored.state.require_valid(tx.now) {
            return Ok(KeyLookup::Refused(stored.id, why));
        }
        let StoredKey { id, principal, state } = stored;
        let key = Arc::new(CachedKey { principal, id, digest: *digest, state, read_at, attached: OnceLock::new() });
        self.invalidate(read_at);
        let mut keys = self.lock();
        // If a later change has been committed since the read, this key is already stale, and only this request uses
        // it.
        if keys.read_at == read_at {
            if keys.by_digest.len() >= KEYS_MAX {
                keys.by_digest.clear();
            }
            keys.by_digest.insert(*digest, Arc::clone(&key));
        }
        Ok(KeyLookup::Valid(key))
    }

    /// Drops the keys that were read before this change.
    pub(crate) fn invalidate(&self, changed_at: i64) {
        let mut keys = self.lock();
        if keys.read_at < changed_at {
            keys.read_at = changed_at;
            keys.by_digest.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Keys> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
