//! Keys as memory knows them, so that a request need not look its key up in the file. That what memory knows is still so
//! is asked in the transaction that the request ends in: one number for all keys, which triggers move.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::api_key::{self, Found};
use super::change;
use super::refused::Refused;
use crate::db::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// Keys that are remembered: more than a small organization has, each some 300 bytes. Past it all are forgotten.
const KEYS_MAX: usize = 16_384;

/// A key that counted when it was looked up.
#[derive(Debug)]
pub struct KnownKey {
    /// Who calls with it.
    pub principal: Principal,
    digest: [u8; 32],
    expires_at: Option<Timestamp>,
    /// The number of the last change of keys and users before it was looked up.
    known_at: i64,
    kept: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl KnownKey {
    /// SHA-256 of its text.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// What the floor above keeps with the key, such as an answer that shows nothing but the caller: made at first, and
    /// gone with what is known of the key. Of one type.
    pub fn kept<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> &T {
        let kept = self.kept.get_or_init(|| Box::new(make()));
        kept.downcast_ref().expect("one thing is kept with a key, so it has one type")
    }

    /// Who calls, as this very transaction sees it; `None` where the key does not count any more.
    ///
    /// # Errors
    /// When SQLite fails.
    pub fn prove(&self, tx: &Tx<'_>) -> Result<Option<Principal>, Error> {
        if self.is_known_at(change::credentials(tx)?) {
            return Ok((!self.is_expired(tx.now)).then(|| self.principal.clone()));
        }
        Ok(match api_key::look_up(tx, &self.digest)? {
            Found::Counts(principal, _) => Some(principal),
            Found::Refused(..) | Found::Unknown => None,
        })
    }

    /// Whether it was looked up since this change, which is the last one: but for the time, all is as it was then.
    pub(super) fn is_known_at(&self, changed_at: i64) -> bool {
        self.known_at == changed_at
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// The keys that are remembered, all looked up since the same change.
#[derive(Default)]
pub(crate) struct KnownKeys(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    known_at: i64,
    keys: HashMap<[u8; 32], Arc<KnownKey>>,
}

impl KnownKeys {
    pub(super) fn get(&self, digest: &[u8; 32]) -> Option<Arc<KnownKey>> {
        self.lock().keys.get(digest).cloned()
    }

    /// Looks a key up; `Err` with who is refused where there is one that does not count.
    pub(super) fn look_up(
        &self,
        tx: &Tx<'_>,
        digest: &[u8; 32],
    ) -> Result<Result<Option<Arc<KnownKey>>, Refused>, Error> {
        let known_at = change::credentials(tx)?;
        let (principal, expires_at) = match api_key::look_up(tx, digest)? {
            Found::Counts(principal, expires_at) => (principal, expires_at),
            Found::Refused(id, why) => return Ok(Err(Refused::ApiKey(id, why))),
            Found::Unknown => return Ok(Ok(None)),
        };
        let key = Arc::new(KnownKey { principal, digest: *digest, expires_at, known_at, kept: OnceLock::new() });
        self.learn(known_at);
        let mut memory = self.lock();
        if memory.known_at == known_at {
            if memory.keys.len() >= KEYS_MAX {
                memory.keys.clear();
            }
            memory.keys.insert(*digest, Arc::clone(&key));
        }
        Ok(Ok(Some(key)))
    }

    /// Forgets what was looked up before this change.
    pub(crate) fn learn(&self, changed_at: i64) {
        let mut memory = self.lock();
        if memory.known_at < changed_at {
            memory.known_at = changed_at;
            memory.keys.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
