//! Gives back the pages that connections keep of the file, once the service has had nothing to do for a while.
//!
//! Each connection keeps pages that it has read, and a busy hour fills the caches of all of them. The system has the same
//! pages in its own cache, so a service that is idle loses little with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use super::thread::Periodic;
use super::tx::Error;

/// How long nothing is read before pages are given back: between one and two of these.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Watches how much is read, and gives pages back once nothing is.
pub(crate) struct Idle {
    reads: Arc<AtomicU64>,
    // Stopped when it is dropped.
    _thread: Periodic,
}

impl Idle {
    /// Starts the thread that looks.
    pub(crate) fn start() -> Result<Self, Error> {
        // The limit of SQLite's memory is one for the process, and setting it frees pages of all its connections.
        let connection = Connection::open_in_memory()?;
        let reads = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&reads);
        let (mut before, mut released_at) = (0, 0);
        let look = move || {
            let now = theirs.load(Ordering::Relaxed);
            if now == before && now != released_at && release(&connection).is_ok() {
                released_at = now;
            }
            before = now;
        };
        Ok(Self { reads, _thread: Periodic::start("idle", LOOK_EVERY, look)? })
    }

    /// Something was read for a request.
    pub(crate) fn note_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }
}

/// Frees every page that is not in use. SQLite does so when its limit is set below what it has; 0 is no limit.
fn release(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA soft_heap_limit = 1; PRAGMA soft_heap_limit = 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_released_are_read_from_the_file_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('before')").unwrap();
        let word = || connection.query_row("SELECT word FROM words", [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(word(), "before");
        // SQLite does not see this change, so only a page that is not in its cache shows it.
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(6).position(|window| window == b"before").unwrap();
        bytes[at..at + 6].copy_from_slice(b"behind");
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(word(), "before", "the page is in the cache");
        release(&Connection::open_in_memory().unwrap()).unwrap();
        assert_eq!(word(), "behind");
    }
}
