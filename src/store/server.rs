//! Opens the store on a PostgreSQL server. Without the feature `postgres`, [`open`] refuses every server.

#[cfg(not(feature = "postgres"))]
pub(super) use self::refused::open;
#[cfg(feature = "postgres")]
pub(super) use self::supported::open;

#[cfg(not(feature = "postgres"))]
mod refused {
    use std::path::Path;
    use std::sync::Arc;

    use crate::db::OpenError;
    use crate::store::server_schema::without_postgres;
    use crate::store::service::Store;
    use crate::world::World;

    pub(in crate::store) fn open(_: &Path, _: &Arc<dyn World>, _: u32) -> Result<Store, OpenError> {
        Err(without_postgres())
    }
}

#[cfg(feature = "postgres")]
mod supported {
    use std::path::Path;
    use std::sync::Arc;

    use crate::db::clock::Clock;
    use crate::db::health::Health;
    use crate::db::job_reader::JobReader;
    use crate::db::postgres::engine::Engine;
    use crate::db::postgres::vacuum::Interrupt;
    use crate::db::postgres::{self, ID_BYTES, Patience, SharedLease};
    use crate::db::readers::Readers;
    use crate::db::writer::Writer;
    use crate::db::writer_thread::WriterThread;
    use crate::db::writing_engine::WritingEngine;
    use crate::db::{OpenError, Reserve};
    use crate::store::cached_state::CachedState;
    use crate::store::erasure::Erasures;
    use crate::store::hooks::StoreHooks;
    use crate::store::parts::{Parts, Place, ServerPlace};
    use crate::store::portal_comparison::PortalComparison;
    use crate::store::refused_credential::RefusalLog;
    use crate::store::schema::CURRENT;
    use crate::store::server_schema::{prepare_target, refused, target};
    use crate::store::service::Store;
    use crate::store::usage::indexing::UnindexedRows;
    use crate::store::{background_job, form_secret};
    use crate::world::World;

    /// Opens the database for a service. Creates the tables in an empty schema, and upgrades those of an older version.
    pub(in crate::store) fn open(url: &Path, world: &Arc<dyn World>, readers_max: u32) -> Result<Store, OpenError> {
        let target = Arc::new(target(url)?);
        prepare_target(&target, postgres::Purpose::Serve)?;
        let connection = postgres::open_to_write(&target).map_err(refused)?;
        let unindexed = Arc::new(UnindexedRows::of_several_servers());
        let cached = Arc::new(CachedState { unindexed, ..CachedState::default() });
        let erasures = Arc::new(Erasures::without_list());
        let clock = Arc::new(Clock::open(&connection, Arc::clone(world))?);
        let writer = Arc::new(Writer::default());
        let hooks = StoreHooks::new(Arc::clone(&cached), Arc::clone(&erasures));
        let mut id = [0; ID_BYTES];
        world.fill(&mut id);
        let server_writer = postgres::Writer::open(Arc::clone(&target), CURRENT.version, id, Patience::default())?;
        let engine = Engine::new(server_writer, Arc::clone(&clock), hooks, Arc::clone(writer.broken()));
        let writer_thread = WriterThread::start(Arc::clone(&writer), WritingEngine::Postgres(engine))?;
        let readers = postgres::Readers::open(Arc::clone(&target), readers_max as usize).map_err(refused)?;
        let readers = Arc::new(readers);
        let lease = Arc::new(SharedLease::new(Arc::clone(&target)));
        let portals = PortalComparison::start(JobReader::of_pool(Arc::clone(&readers)), Arc::clone(&cached))?;
        let parts = Parts {
            place: Place::Server(ServerPlace {
                target,
                readers: Arc::clone(&readers),
                lease,
                portals,
                interrupt: Interrupt::default(),
            }),
            world: Arc::clone(world),
            refusals: RefusalLog::new(Arc::clone(&writer), Arc::clone(world)),
            writer,
            writer_thread: Arc::new(writer_thread),
            clock,
            health: Arc::new(Health::new(Arc::clone(world), background_job::REPORTED)),
            log: Arc::default(),
            cached,
            idle_cache: Arc::default(),
            reserve: Arc::new(Reserve::without_file(Arc::clone(world))),
            backups: Arc::default(),
            erasures,
            retention_runs: Arc::default(),
            usage_days: Arc::default(),
            identity: None,
        };
        let scheduler = background_job::start(&parts)?;
        let form_secret = form_secret::load_or_create(&connection, world.as_ref())?;
        let (readers, erased_again) = (Readers::Postgres(readers), Default::default());
        Ok(Store { scheduler, readers, parts, erased_again, erased_without_list: 0, form_secret, _lock: None })
    }
}
