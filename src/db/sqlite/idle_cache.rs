//! Frees the page caches of all connections when the service is idle.
//!
//! A busy hour can fill the caches of all connections. The operating system caches the same pages, so an idle service
//! loses little when it frees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use super::super::error::Error;
use super::super::scheduler::Step;

/// Counts reads, to notice when the service is idle.
#[derive(Default)]
pub(crate) struct IdleCache {
    reads: AtomicU64,
}

impl IdleCache {
    /// Counts one read by a request.
    pub(crate) fn note_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the step of a job that frees the caches if no request has read since the previous step. After that, the
    /// job does not free them again until another request reads.
    pub(crate) fn job_step(self: &Arc<Self>) -> Result<Step, Error> {
        // SQLite has one memory limit for the process, so an in-memory connection can free the pages of all others.
        let connection = Connection::open_in_memory()?;
        let cache = Arc::clone(self);
        let (mut reads_before, mut freed_at) = (0, 0);
        Ok(Box::new(move || {
            let reads = cache.reads.load(Ordering::Relaxed);
            if reads == reads_before && reads != freed_at && free_caches(&connection).is_ok() {
                freed_at = reads;
            }
            reads_before = reads;
            None
        }))
    }
}

/// Frees every page that is not in use. SQLite frees these pages when its memory limit is set below its memory use. The
/// value 0 removes the limit.
fn free_caches(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA soft_heap_limit = 1; PRAGMA soft_heap_limit = 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_pages_are_read_from_the_file_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('before')").unwrap();
        let word = || connection.query_row("SELECT word FROM words", [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(word(), "before");
        // SQLite does not notice this change. A query sees it only when the page is no longer in the cache.
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(6).position(|window| window == b"before").unwrap();
        bytes[at..at + 6].copy_from_slice(b"behind");
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(word(), "before", "the page is in the cache");
        free_caches(&Connection::open_in_memory().unwrap()).unwrap();
        assert_eq!(word(), "behind");
    }
}
