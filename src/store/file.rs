//! The database file with this program's schema. The work is done by the engine (`db/file`).

use std::path::Path;

use super::schema::CURRENT;
use crate::db::file;
pub use crate::db::file::{Lock, Missing, Older, OpenError, beside, require_absent, resolve, write_manifest};

/// Makes sure that the file is there and of this program's version. A foreign or newer file is left untouched.
///
/// # Errors
/// Everything that [`OpenError`] names.
pub fn prepare(path: &Path, missing: Missing, older: Older) -> Result<(), OpenError> {
    file::prepare(path, &CURRENT, missing, older)
}

/// Passes for a file that a service may begin to work with, and where there is none.
///
/// # Errors
/// [`OpenError::Empty`] where it has nothing in it. Otherwise as [`prepare`].
pub(super) fn look_before_serving(path: &Path) -> Result<(), OpenError> {
    file::look_before_serving(path, &CURRENT)
}

/// Passes for a file of this program's version that can be read, also where nothing can be written beside it or to it.
///
/// # Errors
/// Everything that [`OpenError`] names.
pub fn prepare_to_read(path: &Path) -> Result<(), OpenError> {
    file::prepare_to_read(path, &CURRENT)
}

/// Copies the file, with everything that is committed, into a new one of mode 0600, and `FILE.erased` to `TARGET.erased`.
///
/// # Errors
/// [`OpenError::NotWritable`] where the target cannot be made or is there already, [`OpenError::Failed`] where the copy
/// fails; then no target is left.
pub fn backup(path: &Path, target: &Path) -> Result<(), OpenError> {
    file::backup(path, target, CURRENT.companions)
}
