//! Paths of the database file and of the files beside it.

use std::fs::File;
use std::path::{Path, PathBuf};

/// The path of the file itself: absolute, with links followed, so that a link and its file have the same path.
pub fn resolve(path: &Path) -> PathBuf {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| absolute())
}

/// A path with a suffix after its last part.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes a new name survive a power cut, by an fsync of its directory.
pub(crate) fn sync_name(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}
