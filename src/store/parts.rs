//! The parts of an open store. Background jobs and the methods of `Store` share them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::backup::Backups;
use super::cached_state::CachedState;
use super::erasure::{Erasures, retention};
use super::hooks::StoreHooks;
#[cfg(feature = "postgres")]
use super::portal_comparison::PortalComparison;
use super::refused_credential::RefusalLog;
use crate::db::Error;
use crate::db::Reserve;
use crate::db::clock::Clock;
use crate::db::count::{CountKey, StoredCounts};
use crate::db::health::Health;
use crate::db::job_reader::JobReader;
#[cfg(feature = "postgres")]
use crate::db::postgres::counts;
#[cfg(feature = "postgres")]
use crate::db::postgres::vacuum::Interrupt;
#[cfg(feature = "postgres")]
use crate::db::postgres::{Readers, SharedLease, Target};
use crate::db::service_log::ServiceLog;
use crate::db::sqlite::connection;
use crate::db::sqlite::identity::Identity;
use crate::db::sqlite::idle_cache::IdleCache;
use crate::db::writer::Writer;
use crate::db::writer_thread::WriterThread;
use crate::world::World;

pub(super) struct Parts {
    pub(super) place: Place,
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
    // This field must be dropped after every connection. `Identity` has the file open, and closing the file drops
    // SQLite's locks.
    pub(super) identity: Option<Arc<Identity>>,
}

/// Where the data is.
pub(super) enum Place {
    /// In a file on this machine, at this path.
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Server(ServerPlace),
}

/// The parts that a service has only if the data is on a PostgreSQL server.
#[cfg(feature = "postgres")]
pub(super) struct ServerPlace {
    pub(super) target: Arc<Target>,
    pub(super) readers: Arc<Readers>,
    pub(super) lease: Arc<SharedLease>,
    pub(super) portals: PortalComparison,
    /// Ends `VACUUM` early when the service stops.
    pub(super) interrupt: Interrupt,
}

impl Parts {
    /// Returns the path of the file and its identity, if the data is in a file.
    pub(super) fn file(&self) -> Option<(&PathBuf, &Arc<Identity>)> {
        match &self.place {
            Place::File(path) => self.identity.as_ref().map(|identity| (path, identity)),
            #[cfg(feature = "postgres")]
            Place::Server(_) => None,
        }
    }

    /// Ends the running steps of slow jobs early, because the service is stopping.
    pub(super) fn interrupt(&self) {
        self.backups.interrupt();
        #[cfg(feature = "postgres")]
        if let Place::Server(server) = &self.place {
            server.interrupt.set();
        }
    }

    /// Returns whether this process does the work that only one of several servers may do.
    pub(super) fn leads(&self) -> Result<bool, Error> {
        match &self.place {
            Place::File(_) => Ok(true),
            #[cfg(feature = "postgres")]
            Place::Server(server) => server.lease.is_held(),
        }
    }

    /// Returns whether other servers can change portals.
    pub(super) fn shares_portals(&self) -> bool {
        match &self.place {
            Place::File(_) => false,
            #[cfg(feature = "postgres")]
            Place::Server(_) => true,
        }
    }

    /// If other servers can change portals, compares the change numbers of portals in memory with those in the
    /// database. `done` receives the outcome.
    pub(super) fn compare_portals(&self, done: impl FnOnce(Result<(), Error>) + Send + 'static) {
        match &self.place {
            Place::File(_) => done(Ok(())),
            #[cfg(feature = "postgres")]
            Place::Server(server) => server.portals.request(Box::new(done)),
        }
    }

    /// Runs a rule on counts that several servers share.
    ///
    /// # Errors
    /// [`Error::Defect`] if the data is in a file, because the counts are then in memory; [`Error::Unavailable`] if the
    /// counts cannot be read or changed.
    pub(super) fn change_counts<T>(
        &self,
        keys: &BTreeSet<CountKey>,
        rule: impl FnOnce(&mut StoredCounts) -> T,
    ) -> Result<T, Error> {
        match &self.place {
            Place::File(_) => {
                let _ = (keys, rule);
                Err(Error::Defect("the counts of a service with a file are in memory".to_owned()))
            }
            #[cfg(feature = "postgres")]
            Place::Server(server) => counts::change(&server.readers, keys, rule),
        }
    }

    /// Opens a reading connection for background jobs. If the data is on a PostgreSQL server, the jobs and the
    /// requests share the same connections.
    pub(super) fn open_job_reader(&self) -> Result<JobReader, Error> {
        match &self.place {
            Place::File(path) => connection::open_job_reader(path),
            #[cfg(feature = "postgres")]
            Place::Server(server) => Ok(JobReader::of_pool(Arc::clone(&server.readers))),
        }
    }
}
