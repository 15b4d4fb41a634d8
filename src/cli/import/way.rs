//! How an import comes into the file: at once, or a few applications at a time beside a running service.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use super::failed;
use crate::cli::Failure;
use crate::interchange::Counts;
use crate::store::file::Lock;
use crate::store::staging::{Row, Staging};
use crate::store::{self, Error, OpenError, Tx};
use crate::world::World;

/// Applications that come in one transaction beside a running service: some 10 ms of the write lock.
const AT_ONCE_MAX: usize = 200;

/// How an import comes.
pub(super) enum Way {
    /// In one transaction. Where it is long, no service may start meanwhile.
    AtOnce(Option<Lock>),
    /// Staged, then a few at a time.
    Staged,
}

/// What has come.
pub(super) struct Came {
    pub(super) counts: Counts,
    /// How long others had to wait.
    pub(super) held: String,
    /// Applications that did not come because the file was changed after they were decided.
    skipped: usize,
}

impl Way {
    /// The way for so many applications. `lock` keeps services away already, where it is there.
    pub(super) fn of(path: &Path, applications: usize, lock: Option<Lock>) -> Result<Self, Failure> {
        if lock.is_some() || applications <= AT_ONCE_MAX {
            return Ok(Self::AtOnce(lock));
        }
        match Lock::take(path) {
            Ok(lock) => Ok(Self::AtOnce(Some(lock))),
            Err(OpenError::Held(_)) => Ok(Self::Staged),
            Err(error) => Err(error.into()),
        }
    }

    /// Brings it: `all` in one transaction, or `rows` a few at a time, and before them `frame`, which they refer to.
    pub(super) fn bring<R: Iterator<Item = Row>>(
        self,
        path: &Path,
        world: &dyn World,
        all: impl FnOnce(&Tx<'_>) -> Result<Counts, Error>,
        frame: impl FnOnce(&Tx<'_>) -> Result<Counts, Error>,
        rows: impl FnOnce() -> R,
    ) -> Result<Came, Failure> {
        match self {
            Self::AtOnce(_lock) => {
                let began = Cell::new(Duration::ZERO);
                let counts = store::act_alone(path, world, |tx| {
                    began.set(world.monotonic());
                    all(tx)
                });
                let held = world.monotonic().saturating_sub(began.get()).as_millis();
                let held = format!("the write lock was held for {held} ms");
                Ok(Came { counts: counts.map_err(failed)?, held, skipped: 0 })
            }
            Self::Staged => {
                let mut staging = Staging::begin(path, world).map_err(failed)?;
                staging.stage(rows()).map_err(failed)?;
                let counts = staging.decide(frame).map_err(failed)?;
                let skipped = staging.finish().map_err(|error| unfinished(&error))?;
                let held =
                    format!("the write lock was held for {} ms at most at a time", staging.longest().as_millis());
                Ok(Came { counts, held, skipped })
            }
        }
    }
}

impl Came {
    /// # Errors
    /// Where applications that were decided did not come.
    pub(super) fn require_all(&self) -> Result<(), Failure> {
        match self.skipped {
            0 => Ok(()),
            skipped => Err(Failure::new(format!(
                "{skipped} of the applications did not come: while the others did, their candidates applied by themselves, or \
                 the role or one of its steps was removed"
            ))),
        }
    }
}

/// What was decided comes all the same.
fn unfinished(error: &Error) -> Failure {
    Failure::new(format!(
        "the import is decided, but not all of it is in the file yet: {error}. `appliance serve` and the next import go on \
         with it; do not import it again"
    ))
}
