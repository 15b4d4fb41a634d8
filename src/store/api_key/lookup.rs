//! The lookup of an API key by a request: first in the key cache, then in the file.

use std::sync::Arc;

use super::cache::{CachedKey, KeyLookup};
use crate::db::tx::Error;
use crate::store::{Refused, Store};

impl Store {
    /// Looks up a key by its digest; `None` if there is no such key, or it is not valid. The transaction that the request
    /// ends in checks again that the key is valid.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no connection is free.
    pub fn look_up_key(&self, digest: &[u8; 32]) -> Result<Option<Arc<CachedKey>>, Error> {
        let lookup = match self.cached_key(digest) {
            Some(key) => match key.require_valid(self.world.now()) {
                Ok(()) => KeyLookup::Valid(key),
                Err(why) => KeyLookup::Refused(key.id().clone(), why),
            },
            None => self.read(|tx| self.memory.keys.load(tx, digest))?,
        };
        Ok(match lookup {
            KeyLookup::Valid(key) => Some(key),
            KeyLookup::Refused(id, why) => {
                self.note_refused(Refused::ApiKey(id, why));
                None
            }
            KeyLookup::Unknown => None,
        })
    }

    /// The cached key with this digest. It may be stale.
    pub fn cached_key(&self, digest: &[u8; 32]) -> Option<Arc<CachedKey>> {
        self.memory.keys.get(digest)
    }
}
