//! The two ways in which an import writes to the database: in one transaction, or staged in small slices.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use crate::cli::failure::Failure;
use crate::cli::progress::Progress;
use crate::domain::refusal::{FieldError, Refusal};
use crate::interchange::Counts;
use crate::store::file::Lock;
use crate::store::staging::{StagedApplication, Staging};
use crate::store::{self, Error, OpenError, Tx};
use crate::world::World;

/// The maximum number of applications that one transaction imports while the service runs. The transaction holds the
/// write lock for about 10 ms.
const APPLICATIONS_PER_TRANSACTION_MAX: usize = 200;

/// The maximum number of applications in an import into a file that a service uses, or into a PostgreSQL database. A
/// larger import would delay the service's writes for longer than callers wait.
const APPLICATIONS_WITH_SERVICE_MAX: usize = 20_000;

pub(super) enum Strategy {
    /// One transaction. The lock prevents a service from starting during a long transaction.
    AtOnce(Option<Lock>),
    /// Staged rows, which become visible in small slices after one transaction commits the import.
    Staged,
}

/// An estimate of the number of bytes that an import reads and writes for each application. The number is about 8,000
/// in an import of 5,000 applications, and about 12,000 in an import of 30,000.
const BYTES_PER_APPLICATION: u64 = 10_000;

/// Begins to show the progress of an import of this many applications.
pub(super) fn show_progress(applications: usize) -> Progress {
    Progress::of_transfer("importing", (applications as u64).saturating_mul(BYTES_PER_APPLICATION))
}

pub(super) struct Imported {
    pub(super) counts: Counts,
    /// The message that reports how long the import held the write lock.
    pub(super) lock_report: String,
    /// The number of applications that were skipped because the database changed after the import was committed.
    skipped: usize,
}

impl Strategy {
    /// Chooses a strategy based on the number of applications and on whether a service is running. If the database is
    /// on a PostgreSQL server, assumes that a service is running. `lock` is the file's lock, if it has already been
    /// taken.
    pub(super) fn choose(path: &Path, applications: usize, lock: Option<Lock>) -> Result<Self, Failure> {
        if lock.is_some() || applications <= APPLICATIONS_PER_TRANSACTION_MAX {
            return Ok(Self::AtOnce(lock));
        }
        // Other machines may run services on this database, so a large import leaves these services time to write.
        if store::is_server(path) {
            return Ok(Self::Staged);
        }
        match Lock::take(path) {
            Ok(lock) => Ok(Self::AtOnce(Some(lock))),
            Err(OpenError::Held(_)) => Ok(Self::Staged),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs the import. `all` writes everything in one transaction. A staged import uses the other two functions:
    /// `rows` yields the applications, and `base` writes everything to which they refer.
    pub(super) fn import<R: Iterator<Item = StagedApplication>>(
        self,
        path: &Path,
        world: &dyn World,
        all: impl FnOnce(&Tx<'_>) -> Result<Counts, Error>,
        base: impl FnOnce(&Tx<'_>) -> Result<Counts, Error>,
        rows: impl FnOnce() -> R,
    ) -> Result<Imported, Failure> {
        match self {
            Self::AtOnce(_lock) => {
                let began = Cell::new(Duration::ZERO);
                let counts = store::act_alone(path, world, |tx| {
                    began.set(world.monotonic());
                    all(tx)
                });
                let held = world.monotonic().saturating_sub(began.get()).as_millis();
                let lock_report = format!("the write lock was held for {held} ms");
                Ok(Imported { counts: counts.map_err(insert_failed)?, lock_report, skipped: 0 })
            }
            Self::Staged => {
                let mut staging = Staging::begin(path, world).map_err(insert_failed)?;
                staging.stage(rows()).map_err(insert_failed)?;
                let counts = staging.decide(base).map_err(insert_failed)?;
                let skipped = staging.finish().map_err(|error| unfinished(&error))?;
                let lock_report =
                    format!("the write lock was held for at most {} ms at a time", staging.longest().as_millis());
                Ok(Imported { counts, lock_report, skipped })
            }
        }
    }
}

impl Imported {
    /// # Errors
    /// Fails if applications were skipped because the database changed.
    pub(super) fn require_nothing_skipped(&self) -> Result<(), Failure> {
        match self.skipped {
            0 => Ok(()),
            skipped => Err(Failure::new(format!(
                "applications skipped: {skipped}. In each case, the candidate applied to the same role or was erased \
                 during the import, or the role or one of its steps was removed"
            ))),
        }
    }
}

/// Returns the failure of an import that was committed but not completed. The service or the next import completes the
/// import.
fn unfinished(error: &Error) -> Failure {
    Failure::new(format!(
        "the import is committed but not complete yet: {error}. `appliance serve` or the next import completes it; do \
         not import the same input again"
    ))
}

/// Takes the file's lock if the import is too large to run while the service runs. The lock prevents a service from
/// starting.
///
/// # Errors
/// For an import of that size, fails if the database is on a PostgreSQL server, if another process, usually a service,
/// holds the lock, or if the lock cannot be taken for another reason.
pub(super) fn lock_for(path: &Path, applications: usize) -> Result<Option<Lock>, Failure> {
    if applications <= APPLICATIONS_WITH_SERVICE_MAX {
        return Ok(None);
    }
    if store::is_server(path) {
        return Err(Failure::new(format!(
            "nothing was imported: the input has {applications} applications, and an import into a PostgreSQL database \
             is limited to {APPLICATIONS_WITH_SERVICE_MAX}; divide the input, or import it into a new file and use \
             `appliance copy`"
        )));
    }
    match Lock::take(path) {
        Ok(lock) => Ok(Some(lock)),
        Err(OpenError::Held(_)) => Err(Failure::new(format!(
            "nothing was imported: the input has {applications} applications, and another process, such as \
             `appliance serve`, is using {}; stop that process to import more than {APPLICATIONS_WITH_SERVICE_MAX}",
            path.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Returns the failure of an import that was not committed. A refusal with field errors shows that another process
/// changed the database between the check and the inserts, and that the schema's constraints then refused the import.
fn insert_failed(error: Error) -> Failure {
    match error {
        Error::Refused(Refusal::Invalid(fields)) => {
            let line = |field: &FieldError| format!("\n{}: {}", field.field, field.detail);
            let lines: String = fields.iter().map(line).collect();
            Failure::new(format!("the database was changed during the import; nothing was imported{lines}"))
        }
        error => error.into(),
    }
}
