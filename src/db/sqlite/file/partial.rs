//! A file that gets its final name when it is complete. Until then, it is locked and has another name in the same
//! directory. A file that a killed process left under that other name is replaced.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::super::path::{beside, sync_name};

/// How to handle a partial file that another process is writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Wait until the other process has finished.
    Wait,
    /// Return an error.
    Refuse,
}

/// How to handle an existing file under the final name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Refuse to overwrite it.
    Refuse,
    /// Replace it with the new file.
    Replace,
}

/// A file of mode 0600 that is being written. The file is removed if this value is dropped before the file has its
/// final name.
pub(crate) struct Partial {
    path: PathBuf,
    target: PathBuf,
    /// The locked file. Syncing uses this handle too, because closing another handle would drop SQLite's locks.
    file: File,
    is_finished: bool,
}

impl Partial {
    /// Creates an empty file under the target's name with this suffix. The target must be an absolute path.
    pub(crate) fn begin(target: &Path, suffix: &str, busy: Busy) -> Result<Self> {
        let path = beside(target, suffix);
        loop {
            let created = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            let (file, is_new) = match created {
                Ok(file) => (file, true),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => match open_stale(&path)? {
                    Some(file) => (file, false),
                    None => continue,
                },
                Err(error) => return Err(error),
            };
            lock(&file, busy)?;
            // Before this process took the lock, another process may have removed the file as stale, or may have given
            // it its final name.
            if !is_same(&file, &path)? {
                continue;
            }
            if is_new {
                return Ok(Self { path, target: target.to_owned(), file, is_finished: false });
            }
            std::fs::remove_file(&path)?;
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its final name. The content and the name then survive a power cut.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if the name is taken and its file must not be replaced; another error if the file
    /// cannot be synced or renamed.
    pub(crate) fn finish(mut self, existing: Existing) -> Result<()> {
        self.rename(existing)?;
        sync_name(&self.target)
    }

    /// Gives the file its final name. The content then survives a power cut. The caller syncs the name.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if the name is taken and its file must not be replaced; another error if the file
    /// cannot be synced or renamed.
    pub(crate) fn rename(&mut self, existing: Existing) -> Result<()> {
        self.file.sync_all()?;
        if existing == Existing::Refuse && name_exists(&self.target)? {
            return Err(Error::new(ErrorKind::AlreadyExists, "it already exists"));
        }
        std::fs::rename(&self.path, &self.target)?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns whether the name exists, even as a dangling link.
pub(crate) fn name_exists(path: &Path) -> Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens the file that a killed process left, or that another process is writing. Returns `None` if the file no longer
/// exists.
fn open_stale(path: &Path) -> Result<Option<File>> {
    let found = std::fs::symlink_metadata(path).and_then(|metadata| {
        if metadata.is_file() {
            OpenOptions::new().read(true).write(true).open(path)
        } else {
            Err(Error::new(ErrorKind::AlreadyExists, format!("{} is not a regular file", path.display())))
        }
    });
    match found {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn lock(file: &File, busy: Busy) -> Result<()> {
    match (file.try_lock(), busy) {
        (Ok(()), _) => Ok(()),
        (Err(TryLockError::WouldBlock), Busy::Wait) => file.lock(),
        (Err(TryLockError::WouldBlock), Busy::Refuse) => {
            Err(Error::new(ErrorKind::ResourceBusy, "another process is writing it"))
        }
        (Err(TryLockError::Error(error)), _) => Err(error),
    }
}

/// Returns whether the path still names this file.
fn is_same(file: &File, path: &Path) -> Result<bool> {
    let ours = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
