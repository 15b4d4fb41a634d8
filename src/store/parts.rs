//! The parts of an open store. Background jobs and the methods of `Store` share them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::backup::Backups;
use super::cached_state::CachedState;
use super::erasure::{Erasures, retention};
use super::hooks::StoreHooks;
use super::refused_credential::RefusalLog;
use crate::db::Reserve;
use crate::db::clock::Clock;
use crate::db::health::Health;
use crate::db::service_log::ServiceLog;
use crate::db::sqlite::identity::Identity;
use crate::db::sqlite::idle_cache::IdleCache;
use crate::db::writer::Writer;
use crate::db::writer_thread::WriterThread;
use crate::world::World;

pub(super) struct Parts {
    pub(super) path: PathBuf,
    pub(super) world: Arc<dyn World>,
    pub(super) writer: Arc<Writer>,
    pub(super) writer_thread: Arc<WriterThread<StoreHooks>>,
    pub(super) clock: Arc<Clock>,
    pub(super) health: Arc<Health>,
    pub(super) log: Arc<ServiceLog>,
    pub(super) cached: Arc<CachedState>,
    pub(super) idle_cache: Arc<IdleCache>,
    pub(super) reserve: Arc<Reserve>,
    pub(super) backups: Arc<Backups>,
    pub(super) refusals: Arc<RefusalLog>,
    pub(super) erasures: Arc<Erasures>,
    pub(super) retention_runs: Arc<retention::Runs>,
    /// The number of days for which usage rows are retained; unset if there is no limit.
    pub(super) usage_days: Arc<OnceLock<u32>>,
    // Must be dropped after every connection. `Identity` has the file open, and closing the file drops SQLite's locks.
    pub(super) identity: Arc<Identity>,
}
