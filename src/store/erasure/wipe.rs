//! Page wiping after an erasure. The job wipes every page of the file in slices. Checkpoints then truncate the
//! write-ahead log, which removes the last of the erased data. This module schedules the wiping, and `db::page_wiping`
//! wipes the pages. In a PostgreSQL database, `VACUUM` takes the place of page wiping.

use std::sync::Arc;

use super::progress::Erasures;
#[cfg(feature = "postgres")]
use crate::db::health::{Health, READER};
use crate::db::job_reader::JobReader;
#[cfg(feature = "postgres")]
use crate::db::postgres::SharedLease;
#[cfg(feature = "postgres")]
use crate::db::postgres::vacuum::{self, Progress, Vacuum};
use crate::db::scheduler::Step;
use crate::db::sqlite::page_wiping::{FIRST_PAGE, PageWiper};
#[cfg(feature = "postgres")]
use crate::db::tx::Error;
use crate::db::writer::Writer;
#[cfg(feature = "postgres")]
use crate::world::World;

/// Prepares the job that wipes pages, one slice in each step. A slice takes about 10 ms, followed by a rest of 50 ms.
/// Wiping a large file therefore takes a few seconds per gigabyte and uses at most a fifth of a core.
pub(in super::super) fn job_step(reader: JobReader, erasures: Arc<Erasures>, writer: Arc<Writer>) -> Step {
    let wiper = PageWiper::new(reader, writer);
    // The first page of the next slice, and the number of commits whose erased data this pass wipes.
    let mut pass = None;
    Box::new(move || {
        if pass.is_none() && erasures.needs_wiping() {
            pass = Some((FIRST_PAGE, erasures.committed_count()));
        }
        let (first, commits) = pass?;
        // If a slice fails, for example on a full disk, the next step repeats the slice.
        let next = match wiper.wipe_slice(first) {
            Ok(next) => next,
            Err(error) => return Some(Err(error)),
        };
        pass = next.map(|next| (next, commits));
        if next.is_none() {
            erasures.note_wiped(commits);
        }
        Some(Ok(()))
    })
}

/// The job that cleans up the tables of a PostgreSQL database after the erasures by all servers of the service.
/// `VACUUM` removes the erased rows, and `ANALYZE` replaces the samples of their values in the statistics. Only the
/// server with the lease runs these statements.
#[cfg(feature = "postgres")]
pub(in super::super) struct VacuumJob {
    pub(in super::super) reader: JobReader,
    pub(in super::super) world: Arc<dyn World>,
    pub(in super::super) erasures: Arc<Erasures>,
    pub(in super::super) lease: Arc<SharedLease>,
    pub(in super::super) health: Arc<Health>,
    pub(in super::super) vacuum: Vacuum,
}

#[cfg(feature = "postgres")]
impl VacuumJob {
    pub(in super::super) fn into_step(mut self) -> Step {
        Box::new(move || self.step().transpose())
    }

    /// Checks whether the database records an owed cleanup, and runs the cleanup if this server has the lease. Returns
    /// `None` while it is too early for another run, or while something else, such as another session or a replication
    /// slot, still needs the erased rows.
    fn step(&mut self) -> Result<Option<()>, Error> {
        // The count is read before the snapshot is taken, so that the snapshot contains every counted commit.
        let commits = self.erasures.committed_count();
        let is_owed = self.reader.snapshot(self.world.now(), vacuum::is_owed)?;
        self.erasures.note_owed(is_owed, commits);
        let leads = is_owed && self.lease.is_held()?;
        let progress = if leads { self.vacuum.step()? } else { Progress::Settled };
        match progress {
            Progress::Resting => Ok(None),
            Progress::Held(holder) => {
                let why = format!("erased rows stay in the tables until {holder} no longer needs them");
                self.health.report(READER, &Err::<(), _>(Error::Unavailable(why)));
                Ok(None)
            }
            Progress::Settled => {
                self.health.report(READER, &Ok(()));
                Ok(Some(()))
            }
        }
    }
}
