//! Writes the settings file: first under a temporary name in the same directory, and at the end under its final name.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use crate::cli::failure::Failure;
use crate::store::file::{beside, parent};

/// The owner may change the file, and the group of the service may read it.
const MODE: u32 = 0o640;

/// Everybody may look up names in the directory of the settings file.
const DIRECTORY_MODE: u32 = 0o755;

/// Checks that this user can write the settings file, or create its directory.
///
/// # Errors
/// Fails if this user can do neither.
pub(super) fn require_writable(path: &Path) -> Result<(), Failure> {
    let directory = parent(path);
    let existing = if directory.exists() { directory } else { parent(directory) };
    access(existing, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        Failure::new(format!(
            "the settings file {} cannot be written: {error}; run the command as root, or choose another file with \
             --settings",
            path.display()
        ))
    })
}

/// A settings file that is complete and on disk, but does not have its final name yet. Dropping the value removes the
/// staged file, except after [`Self::keep`].
pub(super) struct StagedSettings {
    path: PathBuf,
    staged: PathBuf,
}

impl StagedSettings {
    /// Writes the text. Creates the directory, but not its parent. As root, gives the file to the group of the
    /// directory of `db`, which is the group of the service.
    pub(super) fn write(path: &Path, text: &str, db: &Path) -> Result<Self, Failure> {
        let staged = Self { path: path.to_owned(), staged: beside(path, ".partial") };
        staged.try_write(text, db).map_err(|error| staged.failure(&error))?;
        Ok(staged)
    }

    fn try_write(&self, text: &str, db: &Path) -> std::io::Result<()> {
        let directory = parent(&self.path);
        if !directory.exists() {
            fs::create_dir(directory)?;
            // The umask of root can be strict, but the user of the service must reach the file.
            fs::set_permissions(directory, fs::Permissions::from_mode(DIRECTORY_MODE))?;
        }
        let _ = fs::remove_file(&self.staged);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.staged)?;
        file.write_all(text.as_bytes())?;
        if geteuid().is_root() {
            fchown(&file, None, Some(fs::metadata(parent(db))?.gid()))?;
        }
        file.set_permissions(fs::Permissions::from_mode(MODE))?;
        file.sync_all()
    }

    /// Gives the file its final name. Replaces an older file.
    ///
    /// # Errors
    /// Fails if the file cannot be renamed, or its directory cannot be synced. The command can then be run again.
    pub(super) fn keep(self) -> Result<(), Failure> {
        let renamed = fs::rename(&self.staged, &self.path);
        renamed.and_then(|()| File::open(parent(&self.path))?.sync_all()).map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &std::io::Error) -> Failure {
        Failure::new(format!("the settings file {} cannot be written: {error}", self.path.display()))
    }
}

impl Drop for StagedSettings {
    fn drop(&mut self) {
        // After `keep`, there is nothing to remove.
        let _ = fs::remove_file(&self.staged);
    }
}
