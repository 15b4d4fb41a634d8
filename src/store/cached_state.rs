//! Cached state: the API keys of recent requests, and the change numbers of portals. The service invalidates this state
//! at once after its own durable commits. A job detects all other changes, such as those by commands.

use std::sync::Arc;

use super::api_key::cache::KeyCache;
use super::change_number::{self, Changes, PortalChanges};
use super::usage::elsewhere::RequestsElsewhere;
use super::usage::indexing::UnindexedRows;
use crate::db::job_reader::JobReader;
use crate::db::scheduler::Step;
use crate::db::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;

/// The cached state of a service.
#[derive(Default)]
pub(crate) struct CachedState {
    pub(crate) portals: PortalChanges,
    pub(crate) keys: KeyCache,
    /// The number of usage rows and jobs since the usage log was last indexed. This number is never invalidated.
    pub(crate) unindexed: Arc<UnindexedRows>,
    /// Informs the layer above about the requests that other servers have logged. Caches nothing.
    pub(crate) elsewhere: Arc<RequestsElsewhere>,
}

impl CachedState {
    /// Drops the cached state that these changes invalidate.
    pub(crate) fn invalidate(&self, changes: Changes) {
        self.keys.invalidate(changes.credentials);
        self.portals.invalidate(changes.portals);
    }
}

/// Prepares the job that invalidates cached state after changes in the database. The job skips changes from before its
/// start, because the cache is empty at the start.
pub(super) fn job_step(reader: JobReader, cached: Arc<CachedState>) -> Result<Step, Error> {
    cached.portals.begin(reader.snapshot(Timestamp::from_micros(0), change_number::portals)?);
    Ok(Box::new(move || {
        let after = cached.portals.newest();
        // The next step repeats a failed read. Requests that need the database report the failure.
        let read = |tx: &Tx<'_>| change_number::changes_after(tx, after);
        if let Ok(changes) = reader.snapshot(Timestamp::from_micros(0), read) {
            cached.invalidate(changes);
        }
        None
    }))
}
