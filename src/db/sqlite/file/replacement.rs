//! The replacement of the database file by a copy (`appliance restore`). If there is an old file, the name of the file
//! refers at every moment to the old or to the new file. The new file is complete. The old file is complete too, unless
//! it could not be read: its log is then set aside before the file is replaced.

use std::io::{Error as IoError, ErrorKind};
use std::path::{Path, PathBuf};

use super::super::super::tx::Error;
use super::super::connection::{self, Use};
use super::super::path::{beside, resolve, sync_name};
use super::super::wal::{self, Checkpoint, Mode};
use super::backup::copy;
use super::error::OpenError;
use super::partial::{Busy, Existing, Partial, name_exists};

/// The suffix of the new file's name until it replaces the old file.
const RESTORING: &str = ".restoring";

/// The suffixes of the logs that SQLite would apply to the database file next to them.
const LOGS: [&str; 2] = ["-wal", "-journal"];

/// A copy next to the file that it will replace. It is removed if this value is dropped before
/// [`Replacement::finish`].
pub(crate) struct Replacement {
    partial: Partial,
    target: PathBuf,
}

impl Replacement {
    /// Copies `source`, with the commits in its log, into a new file next to the target. The caller holds the lock of
    /// the target.
    ///
    /// # Errors
    /// [`OpenError::NotWritable`] if the new file cannot be created; [`OpenError::Failed`] if the copy fails.
    pub(crate) fn begin(source: &Path, target: &Path) -> Result<Self, OpenError> {
        let target = resolve(target);
        let partial =
            Partial::begin(&target, RESTORING, Busy::Refuse).map_err(|error| not_writable(&target, &error))?;
        copy(source, &partial, None).map_err(|error| OpenError::failed(source, &error))?;
        Ok(Self { partial, target })
    }

    /// Returns the path of the new file.
    pub(crate) fn path(&self) -> &Path {
        self.partial.path()
    }

    /// Gives the old file, if there is one, a second name with this suffix, and then replaces the file. Returns the
    /// second name.
    ///
    /// The old log must not stay next to the new file, because SQLite would apply the log to the new file. The log is
    /// empty after [`empty_log`]. The log of a file that cannot be read gets the suffix too.
    ///
    /// # Errors
    /// [`OpenError::NotWritable`] if the old file is still in its place; its log might already have the suffix.
    /// [`OpenError::NotSynced`] if the file was replaced, but its directory cannot be synced.
    pub(crate) fn finish(self, suffix: &str) -> Result<Option<PathBuf>, OpenError> {
        let Self { mut partial, target } = self;
        let aside = set_aside(&target, suffix).map_err(|error| not_writable(&target, &error))?;
        partial.rename(Existing::Replace).map_err(|error| not_writable(&target, &error))?;
        match sync_name(&target) {
            Ok(()) => Ok(aside),
            Err(error) => Err(OpenError::NotSynced { path: target, why: error.to_string() }),
        }
    }
}

/// Sets the old file and its log aside. The file keeps its name too, so that the name always refers to a file.
fn set_aside(target: &Path, suffix: &str) -> Result<Option<PathBuf>, IoError> {
    let aside = free_name(target, suffix)?;
    let has_file = name_exists(target)?;
    if has_file {
        std::fs::hard_link(target, &aside)?;
    }
    for log in LOGS {
        if std::fs::metadata(beside(target, log)).is_ok_and(|metadata| metadata.len() > 0) {
            std::fs::rename(beside(target, log), beside(&aside, log))?;
        }
    }
    for rest in ["-wal", "-journal", "-shm"] {
        match std::fs::remove_file(beside(target, rest)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    sync_name(target)?;
    Ok(has_file.then_some(aside))
}

/// Returns the name with this suffix or, if a file or a log has that name, with a number after it.
fn free_name(target: &Path, suffix: &str) -> Result<PathBuf, IoError> {
    let mut name = beside(target, suffix);
    let mut number = 1;
    while name_exists(&name)? || LOGS.iter().any(|log| beside(&name, log).exists()) {
        number += 1;
        name = beside(target, &format!("{suffix}.{number}"));
    }
    Ok(name)
}

/// Moves the write-ahead log of a file into the file.
///
/// # Errors
/// [`Error::Unavailable`] if another process is using the file; another error if the pages cannot be written.
pub(crate) fn empty_log(path: &Path) -> Result<(), Error> {
    let connection = connection::open(path, Use::Write)?;
    let checkpoint = Checkpoint::run(&connection, Mode::Truncate)?;
    drop(connection);
    // A file that was itself restored, and that no service has opened since, has no log. SQLite then reports no pages.
    let is_complete = !checkpoint.is_busy && checkpoint.pages_left().unwrap_or_default() == 0;
    if is_complete && wal::log_bytes(path) == 0 {
        return Ok(());
    }
    Err(Error::Unavailable("another process is using the file".to_owned()))
}

fn not_writable(path: &Path, error: &IoError) -> OpenError {
    OpenError::NotWritable { path: path.to_owned(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUFFIX: &str = ".before-restore-1";

    fn file(path: &Path, value: i64) {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch(&format!("CREATE TABLE t (a); INSERT INTO t VALUES ({value})")).unwrap();
    }

    fn value(path: &Path) -> i64 {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.query_row("SELECT a FROM t", [], |row| row.get(0)).unwrap()
    }

    /// Creates a file with the value 1, a copy with the value 2, and, if `logs`, a log of the file with the value 3.
    fn files(logs: bool) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let (target, source) = (dir.path().join("a.db"), dir.path().join("copy.db"));
        file(&target, 1);
        file(&source, 2);
        if logs {
            let killed = rusqlite::Connection::open(&target).unwrap();
            killed.execute_batch("PRAGMA journal_mode = WAL; UPDATE t SET a = 3").unwrap();
            let held = beside(&target, ".held");
            std::fs::copy(beside(&target, "-wal"), &held).unwrap();
            let content = std::fs::read(&target).unwrap();
            drop(killed);
            std::fs::write(&target, content).unwrap();
            std::fs::rename(held, beside(&target, "-wal")).unwrap();
        }
        (dir, target, source)
    }

    #[test]
    fn the_old_file_and_its_log_are_set_aside_together() {
        for (logs, old) in [(false, 1), (true, 3)] {
            let (_dir, target, source) = files(logs);
            let aside = Replacement::begin(&source, &target).unwrap().finish(SUFFIX).unwrap();
            assert_eq!(aside, Some(beside(&target, SUFFIX)));
            assert!(!beside(&target, "-wal").exists());
            assert_eq!((value(&target), value(&beside(&target, SUFFIX)), value(&source)), (2, old, 2), "{logs}");
        }
    }

    #[test]
    fn a_killed_replacement_leaves_the_old_file_and_can_be_repeated() {
        let (_dir, target, source) = files(false);
        // The state after a kill between the two steps of `finish`.
        let killed = Replacement::begin(&source, &target).unwrap();
        set_aside(&target, SUFFIX).unwrap();
        assert_eq!(value(&target), 1);
        drop(killed);
        std::fs::write(beside(&target, RESTORING), "the remains of an earlier kill").unwrap();
        Replacement::begin(&source, &target).unwrap().finish(".before-restore-2").unwrap();
        assert_eq!((value(&target), value(&beside(&target, ".before-restore-2"))), (2, 1));
        assert!(!beside(&target, RESTORING).exists());
    }

    #[test]
    fn a_file_that_is_set_aside_is_never_overwritten() {
        let (_dir, target, source) = files(false);
        std::fs::write(beside(&target, SUFFIX), "earlier").unwrap();
        std::fs::write(beside(&target, ".before-restore-1.2-wal"), "earlier").unwrap();
        let aside = Replacement::begin(&source, &target).unwrap().finish(SUFFIX).unwrap();
        assert_eq!(aside, Some(beside(&target, ".before-restore-1.3")));
        assert_eq!((value(&target), value(&aside.unwrap())), (2, 1));
        assert_eq!(std::fs::read(beside(&target, SUFFIX)).unwrap(), b"earlier");
    }

    #[test]
    fn the_log_of_a_file_in_use_is_not_emptied() {
        let (_dir, target, _) = files(true);
        let reader = rusqlite::Connection::open(&target).unwrap();
        reader.execute_batch("BEGIN; SELECT a FROM t").unwrap();
        assert!(matches!(empty_log(&target), Err(Error::Unavailable(_))));
        drop(reader);
        empty_log(&target).unwrap();
        assert_eq!((wal::log_bytes(&target), value(&target)), (0, 3));
    }
}
