//! Paths of the database file and of the files next to it.

use std::fs::File;
use std::path::{Path, PathBuf};

/// Returns the path of the file itself: absolute and, if the file exists, with links resolved, so that a link and its
/// target have the same path.
pub fn resolve(path: &Path) -> PathBuf {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| absolute())
}

/// Returns the path with a suffix after its file name.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the directory of a path.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Calls fsync on the directory that contains a new name, so that the name survives a power cut.
pub(crate) fn sync_name(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}
