//! One checkpoint: copies pages of the write-ahead log into the file, and reports the number of copied pages. The
//! caller decides when a checkpoint is due.

use std::path::Path;

use super::super::connection::Connection;
use super::super::error::Error;
use super::path;

/// The mode of a checkpoint (`PRAGMA wal_checkpoint`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Copies nothing and reports the counts.
    Noop,
    /// Copies as many pages as possible without waiting for readers or writers.
    Passive,
    /// Copies all pages, so that the next commit writes from the beginning of the log.
    Restart,
    /// Copies all pages and truncates the log to zero bytes.
    Truncate,
}

/// SQLite's report on one checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Whether a reader, a writer or another checkpoint prevented a complete checkpoint. In [`Mode::Passive`], only
    /// another checkpoint sets this flag.
    pub(crate) is_busy: bool,
    /// The number of pages in the log, and the number of these pages that are in the file. `None` while another
    /// connection runs a checkpoint, or if the file has no write-ahead log: SQLite then returns -1 for both.
    counts: Option<(u64, u64)>,
}

impl Checkpoint {
    /// Runs a checkpoint.
    ///
    /// # Errors
    /// [`Error::Full`] and other SQLite errors if pages cannot be written. A checkpoint that runs at the same time is
    /// not an error.
    pub(crate) fn run(connection: &Connection, mode: Mode) -> Result<Self, Error> {
        let sql = match mode {
            Mode::Noop => "PRAGMA wal_checkpoint(NOOP)",
            Mode::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
            Mode::Restart => "PRAGMA wal_checkpoint(RESTART)",
            Mode::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
        };
        let checkpoint = connection.sqlite().query_row(sql, [], |row| {
            let (pages, copied): (i64, i64) = (row.get("log")?, row.get("checkpointed")?);
            let counts = u64::try_from(pages).ok().zip(u64::try_from(copied).ok());
            Ok(Self { is_busy: row.get::<_, i64>("busy")? != 0, counts })
        })?;
        Ok(checkpoint)
    }

    /// Returns whether all pages of the log are in the file.
    pub(crate) fn is_complete(self) -> bool {
        !self.is_busy && self.pages_left() == Some(0)
    }

    /// Returns the number of pages in the log; 0 if SQLite did not report it.
    pub(crate) fn pages(self) -> u64 {
        self.counts.map_or(0, |(pages, _)| pages)
    }

    /// Returns the number of pages of the log that are in the file; 0 if SQLite did not report it.
    pub(crate) fn copied(self) -> u64 {
        self.counts.map_or(0, |(_, copied)| copied)
    }

    /// Returns the number of pages of the log that are not in the file; `None` if SQLite did not report it.
    pub(crate) fn pages_left(self) -> Option<u64> {
        self.counts.map(|(pages, copied)| pages.saturating_sub(copied))
    }
}

/// Returns the size of the write-ahead log of this file.
pub(crate) fn log_bytes(path: &Path) -> u64 {
    std::fs::metadata(path::beside(path, "-wal")).map_or(0, |metadata| metadata.len())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::db::sqlite::tests;

    fn open(path: &Path) -> Connection {
        let connection = tests::file(path);
        connection.sqlite().execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
        connection
    }

    #[test]
    fn a_checkpoint_during_another_checkpoint_is_not_complete() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let (writer, reader, other) = (open(&path), open(&path), open(&path));
        writer.sqlite().execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
        reader.sqlite().execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        writer.sqlite().execute_batch("INSERT INTO t VALUES (2)").unwrap();
        std::thread::scope(|scope| {
            // This connection holds the checkpoint lock while it waits for the reader. SQLite does not wait for the
            // checkpoint lock itself, so the loop tries again.
            let waiting = scope.spawn(move || {
                other.sqlite().busy_timeout(Duration::from_secs(60)).unwrap();
                loop {
                    let checkpoint = Checkpoint::run(&other, Mode::Truncate).unwrap();
                    if checkpoint.counts.is_some() {
                        break checkpoint;
                    }
                }
            });
            let mut checkpoints = (0..10_000).map(|_| {
                std::thread::sleep(Duration::from_millis(1));
                Checkpoint::run(&writer, Mode::Passive).unwrap()
            });
            let concurrent = checkpoints.find(|checkpoint| checkpoint.counts.is_none()).unwrap();
            assert!(concurrent.is_busy && !concurrent.is_complete());
            assert_eq!(Checkpoint::run(&writer, Mode::Truncate).unwrap(), concurrent);
            reader.sqlite().execute_batch("COMMIT").unwrap();
            assert!(waiting.join().unwrap().is_complete());
        });
        let after = Checkpoint::run(&writer, Mode::Truncate).unwrap();
        assert_eq!((after.is_complete(), after.pages(), after.copied()), (true, 0, 0));
    }

    #[test]
    fn pages_newer_than_the_snapshot_of_a_reader_stay_in_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let (writer, reader) = (open(&path), open(&path));
        writer.sqlite().execute_batch("CREATE TABLE t (a)").unwrap();
        reader.sqlite().execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        writer.sqlite().execute_batch("INSERT INTO t VALUES (1)").unwrap();
        let left = Checkpoint::run(&writer, Mode::Passive).unwrap();
        assert!(!left.is_complete() && left.pages_left() == Some(left.pages() - left.copied()), "{left:?}");
        assert_ne!(left.pages_left(), Some(0));
        reader.sqlite().execute_batch("COMMIT").unwrap();
        assert!(Checkpoint::run(&writer, Mode::Passive).unwrap().is_complete());
    }
}
