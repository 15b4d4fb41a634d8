//! The steps that open the store, from the path or URL of a database to a running service. The order of the steps
//! matters.

use std::path::Path;
use std::sync::Arc;

use super::cached_state::CachedState;
use super::hooks::StoreHooks;
use super::parts::{Parts, Place};
use super::refused_credential::RefusalLog;
use super::service::Store;
use super::{background_job, erasure, file, form_secret, server};
use crate::db::clock::Clock;
use crate::db::health::Health;
use crate::db::location::is_server;
use crate::db::readers::Readers;
use crate::db::sqlite::connection::{self, Use};
use crate::db::sqlite::engine::Engine;
use crate::db::sqlite::full_disk;
use crate::db::sqlite::identity::Identity;
use crate::db::writer::Writer;
use crate::db::writer_thread::WriterThread;
use crate::db::writing_engine::WritingEngine;
use crate::db::{OpenError, Reserve};
use crate::world::World;

/// The maximum number of reading connections: enough for all of the service's threads that read. A read takes
/// microseconds, so a few connections serve many requests.
pub const READERS_MAX: u32 = 17;

impl Store {
    /// Opens the database for a service: a file, or a PostgreSQL database if `path` is a URL. Creates a missing
    /// file, upgrades an older file, and locks the file so that no second service can open it.
    #[expect(clippy::needless_pass_by_value, reason = "the store holds the world for as long as it is open")]
    pub fn open(path: &Path, world: Arc<dyn World>) -> Result<Self, OpenError> {
        if is_server(path) {
            return server::open(path, &world, READERS_MAX);
        }
        let path = &file::resolve(path);
        let reserve = Arc::new(Reserve::of(path, Arc::clone(&world)));
        full_disk::retry(&reserve, || file::require_servable(path))?;
        let lock = Arc::new(file::Lock::take(path)?);
        let open = || Self::open_locked(path, &world, &reserve, Arc::clone(&lock));
        full_disk::retry(&reserve, open)
    }

    fn open_locked(
        path: &Path,
        world: &Arc<dyn World>,
        reserve: &Arc<Reserve>,
        lock: Arc<file::Lock>,
    ) -> Result<Self, OpenError> {
        file::prepare(path, file::Missing::Create, file::Older::Upgrade)?;
        let identity = Arc::new(Identity::before_opening(path)?);
        // Most steps of the start share this connection, because each connection parses the whole schema.
        let connection = connection::open(path, Use::Write)?;
        let erased_without_list = erasure::write_missing_list(path, &connection)?;
        let (erasures, erased_again) = erasure::restore(path, world.as_ref())?;
        let erasures = Arc::new(erasures);
        let cached = Arc::new(CachedState::default());
        let hooks = StoreHooks::new(Arc::clone(&cached), Arc::clone(&erasures));
        let clock = Arc::new(Clock::open(&connection, Arc::clone(world))?);
        let writer = Arc::new(Writer::default());
        let engine = Engine::open(
            path,
            Arc::clone(&clock),
            hooks,
            Arc::clone(writer.broken()),
            Arc::clone(&identity),
            Arc::clone(reserve),
        )?;
        let writer_thread = WriterThread::start(Arc::clone(&writer), WritingEngine::Sqlite(engine))?;
        let parts = Parts {
            place: Place::File(path.to_owned()),
            world: Arc::clone(world),
            refusals: RefusalLog::new(Arc::clone(&writer), Arc::clone(world)),
            writer,
            writer_thread: Arc::new(writer_thread),
            clock,
            health: Arc::new(Health::new(Arc::clone(world), background_job::REPORTED)),
            log: Arc::default(),
            cached,
            idle_cache: Arc::default(),
            reserve: Arc::clone(reserve),
            backups: Arc::default(),
            erasures,
            retention_runs: Arc::default(),
            usage_days: Arc::default(),
            identity: Some(Arc::clone(&identity)),
        };
        let readers = Readers::Sqlite(connection::open_readers(path, READERS_MAX)?);
        let scheduler = background_job::start(&parts)?;
        let form_secret = form_secret::load_or_create(&connection, world.as_ref())?;
        identity.opened()?;
        identity.mark_at_start(&connection, world.as_ref())?;
        Ok(Self { scheduler, readers, parts, erased_again, erased_without_list, form_secret, _lock: Some(lock) })
    }
}
