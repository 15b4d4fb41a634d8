//! The steps that open the store on a PostgreSQL server. Without the feature `postgres`, each of them is refused.

#[cfg(not(feature = "postgres"))]
pub(super) use self::refused::{open, prepare};
#[cfg(feature = "postgres")]
pub(super) use self::supported::{open, prepare};

#[cfg(not(feature = "postgres"))]
mod refused {
    use std::path::Path;
    use std::sync::Arc;

    use crate::db::OpenError;
    use crate::db::sqlite::file::Missing;
    use crate::store::Store;
    use crate::world::World;

    pub(in crate::store) fn open(_: &Path, _: &Arc<dyn World>) -> Result<Store, OpenError> {
        Err(without_postgres())
    }

    pub(in crate::store) fn prepare(_: &Path, _: Missing) -> Result<(), OpenError> {
        Err(without_postgres())
    }

    fn without_postgres() -> OpenError {
        let why = "this program was built without PostgreSQL; choose a file with --db".to_owned();
        OpenError::Server { why, may_pass: false }
    }
}

#[cfg(feature = "postgres")]
mod supported {
    use std::path::Path;
    use std::sync::Arc;

    use crate::db::clock::Clock;
    use crate::db::health::Health;
    use crate::db::postgres::engine::Engine;
    use crate::db::postgres::{self, ID_BYTES, Patience, SharedLease, Target};
    use crate::db::readers::Readers;
    use crate::db::sqlite::file::Missing;
    use crate::db::sqlite::schema::APPLICATION_ID;
    use crate::db::upgrade;
    use crate::db::writer::Writer;
    use crate::db::writer_thread::WriterThread;
    use crate::db::writing_engine::WritingEngine;
    use crate::db::{OpenError, Reserve};
    use crate::store::cached_state::CachedState;
    use crate::store::erasure::Erasures;
    use crate::store::hooks::StoreHooks;
    use crate::store::open::READERS_MAX;
    use crate::store::parts::{Parts, Place, ServerPlace};
    use crate::store::refused_credential::RefusalLog;
    use crate::store::schema::CURRENT;
    use crate::store::{Store, background_job, form_secret};
    use crate::world::World;

    /// Opens the database for a service. Creates the tables in an empty schema.
    pub(in crate::store) fn open(url: &Path, world: &Arc<dyn World>) -> Result<Store, OpenError> {
        let target = Arc::new(target(url)?);
        prepare_target(&target, postgres::Missing::Create)?;
        let connection = postgres::open_to_write(&target).map_err(refused)?;
        let cached = Arc::new(CachedState::default());
        let erasures = Arc::new(Erasures::without_list());
        let clock = Arc::new(Clock::open(&connection, Arc::clone(world))?);
        let writer = Arc::new(Writer::default());
        let hooks = StoreHooks::new(Arc::clone(&cached), Arc::clone(&erasures));
        let mut id = [0; ID_BYTES];
        world.fill(&mut id);
        let server_writer = postgres::Writer::open(Arc::clone(&target), id, Patience::default())?;
        let engine = Engine::new(server_writer, Arc::clone(&clock), hooks, Arc::clone(writer.broken()));
        let writer_thread = WriterThread::start(Arc::clone(&writer), WritingEngine::Postgres(engine))?;
        let readers = postgres::Readers::open(Arc::clone(&target), READERS_MAX as usize).map_err(refused)?;
        let readers = Arc::new(readers);
        let lease = Arc::new(SharedLease::new(Arc::clone(&target)));
        let parts = Parts {
            place: Place::Server(ServerPlace { target, readers: Arc::clone(&readers), lease }),
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

    /// Ensures that the schema exists and has this program's version.
    pub(in crate::store) fn prepare(url: &Path, missing: Missing) -> Result<(), OpenError> {
        let missing = match missing {
            Missing::Create => postgres::Missing::Create,
            Missing::Refuse => postgres::Missing::Refuse,
        };
        prepare_target(&target(url)?, missing)
    }

    fn prepare_target(target: &Target, missing: postgres::Missing) -> Result<(), OpenError> {
        let sql = CURRENT.sql.of(upgrade::Engine::Postgres);
        let schema = postgres::Schema { application_id: APPLICATION_ID, version: CURRENT.version, sql };
        postgres::prepare(target, &schema, missing).map_err(refused)
    }

    fn target(url: &Path) -> Result<Target, OpenError> {
        Target::of(url).map_err(refused)
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers pass this function to `map_err`")]
    fn refused(error: postgres::OpenError) -> OpenError {
        OpenError::Server { why: error.to_string(), may_pass: error.may_pass() }
    }
}
