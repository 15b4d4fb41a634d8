//! A file that gets its name only once it is whole: until then it has another name beside it, under a lock. What a killed
//! process left under that name is replaced.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::super::path::{beside, keep_name};

/// What to do while another process writes the same partial file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Wait until it has ended.
    Wait,
    /// Refuse.
    Refuse,
}

/// What to do where a file already has the final name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Refuse: nothing is written over.
    Keep,
    /// Put the new file in its place.
    Replace,
}

/// A file of mode 0600 that is being written. It is removed when it is dropped before [`Partial::finish`].
pub(crate) struct Partial {
    path: PathBuf,
    target: PathBuf,
    /// Locked, which the system undoes when the process ends. Also what is synced: closing another handle would take SQLite's
    /// locks away.
    file: File,
    is_finished: bool,
}

impl Partial {
    /// Makes an empty file under the target's name with `suffix` behind it. The target is an absolute path.
    ///
    /// # Errors
    /// When it cannot be made, or another process writes it and is not waited for.
    pub(crate) fn begin(target: &Path, suffix: &str, busy: Busy) -> Result<Self> {
        let path = beside(target, suffix);
        loop {
            let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            let (file, is_new) = match made {
                Ok(file) => (file, true),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => match open_stale(&path)? {
                    Some(file) => (file, false),
                    None => continue,
                },
                Err(error) => return Err(error),
            };
            lock(&file, busy)?;
            // Between the two, another process may have taken it for stale, or have finished it.
            if !is_same(&file, &path)? {
                continue;
            }
            if is_new {
                return Ok(Self { path, target: target.to_owned(), file, is_finished: false });
            }
            std::fs::remove_file(&path)?;
        }
    }

    /// Where it is written.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name. Then both survive a power cut.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] where the name is taken and that file is to be kept. When the system refuses.
    pub(crate) fn finish(mut self, existing: Existing) -> Result<()> {
        self.file.sync_all()?;
        if existing == Existing::Keep && is_there(&self.target)? {
            return Err(Error::new(ErrorKind::AlreadyExists, "it is there already"));
        }
        std::fs::rename(&self.path, &self.target)?;
        self.is_finished = true;
        keep_name(&self.target)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether anything has this name, also a link that leads nowhere.
pub(crate) fn is_there(path: &Path) -> Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// What a killed process left, or another one writes now; `None` where it is gone meanwhile.
fn open_stale(path: &Path) -> Result<Option<File>> {
    let found = std::fs::symlink_metadata(path).and_then(|metadata| {
        if metadata.is_file() {
            OpenOptions::new().read(true).write(true).open(path)
        } else {
            Err(Error::new(ErrorKind::AlreadyExists, format!("{} is in the way", path.display())))
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

/// Whether the path still leads to this file.
fn is_same(file: &File, path: &Path) -> Result<bool> {
    let ours = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
