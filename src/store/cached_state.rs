//! Cached state: keys that have called, and the change numbers of portals. The service invalidates it at once after its own
//! commits. A job finds out what other processes, such as commands, have changed.

use std::path::Path;
use std::sync::Arc;

use super::api_key::cache::KeyCache;
use super::change::{self, Changed, Portals};
use super::usage::indexing::UnindexedRows;
use crate::db::connection::{self, Use};
use crate::db::scheduler::Step;
use crate::db::tx::{self, Error};
use crate::domain::timestamp::Timestamp;

/// The cached state of a service.
#[derive(Default)]
pub(crate) struct CachedState {
    pub(crate) portals: Portals,
    pub(crate) keys: KeyCache,
    pub(crate) unindexed: Arc<UnindexedRows>,
}

impl CachedState {
    /// Drops what these changes make invalid.
    pub(crate) fn invalidate(&self, changed: Changed) {
        self.keys.invalidate(changed.credentials);
        self.portals.learn(changed.portals);
    }
}

/// The job that invalidates cached state after changes of other processes. Earlier changes are no news to an empty cache.
pub(super) fn job_step(path: &Path, cached: Arc<CachedState>) -> Result<Step, Error> {
    let connection = connection::open(path, Use::Read)?;
    cached.portals.begin(tx::snapshot(&connection, Timestamp::from_micros(0), change::portals)?);
    Ok(Box::new(move || {
        let after = cached.portals.newest();
        // A read that fails is tried again in the next step. Requests that need the file report the failure.
        if let Ok(changed) = tx::snapshot(&connection, Timestamp::from_micros(0), |tx| change::read(tx, after)) {
            cached.invalidate(changed);
        }
        None
    }))
}
