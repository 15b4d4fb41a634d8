//! How an import writes to the file: in one transaction, or staged in small slices beside a running service.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use crate::cli::failure::Failure;
use crate::domain::refusal::{FieldError, Refusal};
use crate::interchange::Counts;
use crate::store::file::Lock;
use crate::store::staging::{StagedApplication, Staging};
use crate::store::{self, Error, OpenError, Tx};
use crate::world::World;

/// The maximum number of applications that one transaction imports beside a running service. The transaction holds the
/// write lock for some 10 ms.
const APPLICATIONS_AT_ONCE_MAX: usize = 200;

/// The maximum number of applications that are imported beside a server. More would delay the server's writes for
/// longer than callers wait.
const APPLICATIONS_BESIDE_SERVER_MAX: usize = 20_000;

pub(super) enum Strategy {
    /// One transaction. A long one holds the lock, so that no service starts during the import.
    AtOnce(Option<Lock>),
    /// Staged rows, which become visible in small slices after one deciding transaction.
    Staged,
}

pub(super) struct Imported {
    pub(super) counts: Counts,
    /// The message that reports how long the import held the write lock.
    pub(super) lock_report: String,
    /// Applications that became impossible because the file changed after the deciding transaction.
    skipped: usize,
}

impl Strategy {
    /// Chooses by the number of applications and by whether a service runs. `lock` is the file's lock, if the caller holds
    /// it already.
    pub(super) fn choose(path: &Path, applications: usize, lock: Option<Lock>) -> Result<Self, Failure> {
        if lock.is_some() || applications <= APPLICATIONS_AT_ONCE_MAX {
            return Ok(Self::AtOnce(lock));
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
    /// Fails if the file changed so that some applications could not be imported.
    pub(super) fn require_nothing_skipped(&self) -> Result<(), Failure> {
        match self.skipped {
            0 => Ok(()),
            skipped => Err(Failure::new(format!(
                "{skipped} applications were skipped: during the import their candidates applied themselves, or the role or \
                 one of its steps was removed"
            ))),
        }
    }
}

/// The deciding transaction is committed, so the service or the next import completes the rest.
fn unfinished(error: &Error) -> Failure {
    Failure::new(format!(
        "the import is committed but not complete yet: {error}. `appliance serve` or the next import completes it; do not \
         import it again"
    ))
}

/// Takes the file's lock if the import is too large to run beside a server. The lock keeps a server from starting.
///
/// # Errors
/// Fails if a server holds the file, or the lock cannot be taken.
pub(super) fn lock_for(path: &Path, applications: usize) -> Result<Option<Lock>, Failure> {
    if applications <= APPLICATIONS_BESIDE_SERVER_MAX {
        return Ok(None);
    }
    match Lock::take(path) {
        Ok(lock) => Ok(Some(lock)),
        Err(OpenError::Held(_)) => Err(Failure::new(format!(
            "nothing was imported: the input has {applications} applications, and `appliance serve` runs on {}; stop it \
             to import more than {APPLICATIONS_BESIDE_SERVER_MAX}",
            path.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Another process can change the file between the check and the inserts. In that case, the constraints refuse the
/// import.
fn insert_failed(error: Error) -> Failure {
    match error {
        Error::Refused(Refusal::Invalid(fields)) => {
            let line = |field: &FieldError| format!("\n{}: {}", field.field, field.detail);
            let lines: String = fields.iter().map(line).collect();
            Failure::new(format!("the file was changed during the import, nothing was imported{lines}"))
        }
        error => error.into(),
    }
}
