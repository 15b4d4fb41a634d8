//! Operations on the database file with the schema of this program. `db::sqlite` implements them. For the URL of a
//! PostgreSQL server, some of them act on the server's database instead (`server_schema`).

use std::path::Path;

use super::schema::CURRENT;
use super::server_schema;
use crate::db::Error;
use crate::db::location::is_server;
use crate::db::sqlite::file;
pub use crate::db::sqlite::file::{
    Lock, Missing, Older, OpenError, beside, is_locked, parent, require_absent, resolve, write_manifest,
};
use crate::db::sqlite::gentle::Interrupt;
use crate::db::sqlite::upgrade_plan::plan;
pub use crate::db::sqlite::upgrade_plan::{Effect, SchemaChange, UpgradePlan};

/// Ensures that the file exists and has this program's schema version. Creates or refuses a missing file, and upgrades
/// or refuses an older one. Does not change a foreign or newer file.
pub fn prepare(path: &Path, missing: Missing, older: Older) -> Result<(), OpenError> {
    if is_server(path) {
        return server_schema::prepare(path, missing);
    }
    file::prepare(path, &CURRENT, missing, older)
}

/// Checks that the file is missing, or that a service may open it. If the path is the URL of a PostgreSQL server,
/// connects to the server, and checks that a service could use its database.
///
/// # Errors
/// [`OpenError::Empty`] for an empty file. The other errors are also errors of [`prepare`].
pub fn require_servable(path: &Path) -> Result<(), OpenError> {
    if is_server(path) {
        return server_schema::check(path);
    }
    file::require_servable(path, &CURRENT)
}

/// Checks that the file is readable and has this program's schema version. The file and its directory need not be
/// writable.
pub fn prepare_to_read(path: &Path) -> Result<(), OpenError> {
    if is_server(path) {
        return server_schema::prepare(path, Missing::Refuse);
    }
    file::prepare_to_read(path, &CURRENT)
}

/// Returns the plan of an upgrade of the file, or `None` if the file has this program's schema version. Changes
/// nothing.
///
/// # Errors
/// [`OpenError::Newer`] if the file has a newer version; [`OpenError::NotUpgraded`] if the rehearsal fails. The
/// other errors are also errors of [`prepare_to_read`].
pub fn plan_upgrade(path: &Path) -> Result<Option<UpgradePlan>, OpenError> {
    plan(path, &CURRENT)
}

/// Copies the file, including all commits in its write-ahead log, into a new file with mode 0600. Copies `FILE.erased`
/// to `TARGET.erased`.
///
/// # Errors
/// [`OpenError::NotWritable`] if the target cannot be created or already exists, or if `TARGET.erased` cannot be
/// written; [`OpenError::Companion`] if `FILE.erased` cannot be read; [`OpenError::Failed`] if the copy fails. A failed
/// backup leaves no new target, unless only the sync of the directory failed.
pub fn backup(path: &Path, target: &Path) -> Result<(), OpenError> {
    file::backup(path, target, CURRENT.companions)
}

/// Creates a backup as [`backup`] does, if the copy passes a check before it gets its final name. The interrupt ends
/// the copy early.
pub(super) fn backup_if(
    path: &Path,
    target: &Path,
    interrupt: &Interrupt,
    check: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), OpenError> {
    file::backup_if(path, target, CURRENT.companions, interrupt, check)
}
