//! Opening the store: the steps that take a file from its path to a running service. The order of the steps matters.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::hooks::StoreHooks;
use super::memory::{self, Memory};
use super::service::Store;
use super::{attachment, erasure, expiry, file, form_secret, refused, staging, usage};
use crate::db::checkpoint::Checkpoints;
use crate::db::clock::Clock;
use crate::db::health::Health;
use crate::db::identity::Identity;
use crate::db::idle::Idle;
use crate::db::notice::Notices;
use crate::db::writer::Writer;
use crate::db::writer_thread::WriterThread;
use crate::db::{OpenError, Reserve, connection, full_disk};
use crate::world::World;

/// The maximum number of reading connections: one for each thread of the service that reads. A read takes microseconds, so
/// a few serve many requests.
pub const READERS_MAX: u32 = 17;

impl Store {
    /// Opens the file for a service: creates it where there is none, upgrades an older one, and holds it so that no
    /// second service can.
    ///
    /// # Errors
    /// Everything that [`OpenError`] names.
    #[expect(clippy::needless_pass_by_value, reason = "the store keeps the world for as long as it is open")]
    pub fn open(path: &Path, world: Arc<dyn World>) -> Result<Self, OpenError> {
        let path = &file::resolve(path);
        let reserve = Arc::new(Reserve::of(path, Arc::clone(&world)));
        full_disk::retry(&reserve, || file::look_before_serving(path))?;
        let lock = Arc::new(file::Lock::take(path)?);
        let open = || Self::open_held(path, Arc::clone(&world), Arc::clone(&reserve), Arc::clone(&lock));
        full_disk::retry(&reserve, open)
    }

    fn open_held(
        path: &Path,
        world: Arc<dyn World>,
        reserve: Arc<Reserve>,
        lock: Arc<file::Lock>,
    ) -> Result<Self, OpenError> {
        file::prepare(path, file::Missing::Create, file::Older::Upgrade)?;
        let identity = Arc::new(Identity::before_opening(path)?);
        let erased_without_list = erasure::write_missing_list(path)?;
        let (erasures, erased_again) = erasure::restore(path, world.as_ref())?;
        let erasures = Arc::new(erasures);
        let memory = Arc::new(Memory::default());
        let hooks = StoreHooks::new(Arc::clone(&memory), Arc::clone(&erasures));
        let clock = Arc::new(Clock::open(path, Arc::clone(&world))?);
        let notices = Arc::new(Notices::default());
        let (ours_too, room) = (Arc::clone(&identity), Arc::clone(&reserve));
        let writer = Arc::new(Writer::default());
        let (jobs, time) = (Arc::clone(&writer), Arc::clone(&clock));
        let writer_thread = Arc::new(WriterThread::start(path, jobs, time, hooks, ours_too, room)?);
        let readers = connection::open_readers(path, READERS_MAX)?;
        let refusals = refused::Refusals::new(Arc::clone(&writer), Arc::clone(&world));
        let refusing = refusals.start()?;
        let health = Arc::new(Health::new(Arc::clone(&world)));
        let (ours, theirs) = (Arc::clone(writer.broken()), Arc::clone(&erasures));
        let (same, jobs) = (Arc::clone(&identity), Arc::clone(&health));
        let cut_if_due = move |cut: &mut dyn FnMut() -> bool| theirs.truncate_log(cut);
        let checkpoints = Checkpoints::start(path, Arc::clone(&world), ours, cut_if_due, same, jobs)?;
        let changes = memory::follow(path, Arc::clone(&memory))?;
        let usage_indexing = {
            let parts = (Arc::clone(&clock), Arc::clone(&notices));
            usage::indexing::start(path, Arc::clone(&memory.unindexed), Arc::clone(&writer), parts, &health)?
        };
        let (ours, theirs) = (Arc::clone(&erasures), Arc::clone(&writer));
        let imports = staging::thread::start(path, Arc::clone(&world), ours, theirs, &health)?;
        let wiping = erasure::start_wiping(path, Arc::clone(&erasures), Arc::clone(&writer), &health)?;
        let runs = Arc::new(erasure::retention::Runs::default());
        let parts = erasure::retention::Parts {
            world: Arc::clone(&world),
            clock: Arc::clone(&clock),
            erasures: Arc::clone(&erasures),
            writer: Arc::clone(&writer),
            notices: Arc::clone(&notices),
            runs: Arc::clone(&runs),
            health: Arc::clone(&health),
        };
        let retention = erasure::retention::start(path, parts)?;
        let (ours, theirs) = (Arc::clone(&clock), Arc::clone(&writer));
        let clock_thread = expiry::start(path, ours, theirs, Arc::clone(&notices), &health)?;
        let parts = erasure::deferred_job::Parts {
            world: Arc::clone(&world),
            clock: Arc::clone(&clock),
            erasures: Arc::clone(&erasures),
            writer: Arc::clone(&writer),
        };
        let asked_erasures = erasure::deferred_job::start(path, parts, &health)?;
        let (ours, theirs) = (Arc::clone(&erasures), Arc::clone(&writer));
        let sweeping = attachment::sweep::start(path, Arc::clone(&world), ours, theirs, &health)?;
        let form_secret = form_secret::of(path, world.as_ref())?;
        let restoring = full_disk::start(Arc::clone(&reserve), Arc::clone(&writer_thread))?;
        identity.opened()?;
        Ok(Self {
            writer,
            writer_thread,
            memory,
            readers,
            checkpoints,
            changes,
            usage_indexing,
            pruning: OnceLock::new(),
            path: path.to_owned(),
            erasures,
            erased_again,
            erased_without_list,
            imports,
            wiping,
            refusals,
            refusing,
            retention,
            asked_erasures,
            runs,
            clock,
            clock_thread,
            notices,
            sweeping,
            reserve,
            restoring,
            idle: Idle::start()?,
            form_secret,
            world,
            health,
            identity,
            _lock: lock,
        })
    }
}
