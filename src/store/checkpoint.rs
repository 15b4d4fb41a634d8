//! Checkpoints, on a thread and a connection of their own, so that no commit pays for one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::connection::{self, Use};
use super::engine::Broken;
use super::erasure::Erasures;
use super::file;
use super::thread::Periodic;
use super::tx::Error;

/// How often the log's size is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Pages that wait in the log before they are moved into the file: moving costs least per decision from about here.
const MOVE_FROM_PAGES: i64 = 10_000;

/// Pages from which the log also begins anew. Tried, never waited for: waiting behind a reader would hold the writer up.
const RESTART_FROM_PAGES: i64 = 16_000;

/// Pages that may be left to move then, because the writer waits for them.
const RESTART_MOVES_PAGES_MAX: i64 = 1_000;

/// The thread, and the log that it keeps short.
pub(super) struct Checkpoints {
    wal: PathBuf,
    thread: Periodic,
}

impl Checkpoints {
    /// Starts the thread. It does nothing any more once the writer says that it is broken.
    pub(super) fn start(path: &Path, broken: Broken, erasures: Arc<Erasures>) -> Result<Self, Error> {
        let connection = connection::open(path, Use::Write)?;
        connection.busy_timeout(Duration::ZERO)?;
        let look = move || {
            if broken.get().is_none() {
                // What fails now, because of a reader or a full disk, is tried again at the next look.
                let _ = relieve(&connection);
                erasures.cut(|| cut(&connection));
            }
        };
        Ok(Self { wal: file::beside(path, "-wal"), thread: Periodic::start("checkpoints", LOOK_EVERY, look)? })
    }

    pub(super) fn wal_bytes(&self) -> u64 {
        bytes(&self.wal)
    }

    pub(super) fn stop(&self) {
        self.thread.stop();
    }
}

/// Moves what waits in the log into the file, and has the log begin anew, where it is time to. It is not cut then: a commit
/// that writes over what the log has already is cheaper than one for which it grows.
fn relieve(connection: &Connection) -> rusqlite::Result<()> {
    let (mut pages, mut moved) = checkpoint(connection, "NOOP")?;
    if pages - moved >= MOVE_FROM_PAGES || (pages >= RESTART_FROM_PAGES && pages > moved) {
        (pages, moved) = checkpoint(connection, "PASSIVE")?;
    }
    // Where nothing is left, the next commit begins it anew by itself.
    if pages >= RESTART_FROM_PAGES && (1..=RESTART_MOVES_PAGES_MAX).contains(&(pages - moved)) {
        checkpoint(connection, "RESTART")?;
    }
    Ok(())
}

/// How often a cut is tried in a row, and how long after each: who reads is gone within a few milliseconds, and whoever comes
/// once all is in the file is not in the way.
const CUT_TRIES: u32 = 20;
const CUT_PAUSE: Duration = Duration::from_millis(2);

/// Moves everything into the file and cuts the log to nothing, so that it has no older version of any page. Tried, never
/// waited for, like a new beginning. Whether it is done.
fn cut(connection: &Connection) -> bool {
    let is_cut = || -> rusqlite::Result<bool> {
        let (pages, moved) = checkpoint(connection, "PASSIVE")?;
        if pages - moved > RESTART_MOVES_PAGES_MAX {
            return Ok(false);
        }
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0))
    };
    (0..CUT_TRIES).any(|_| {
        let is_done = is_cut().unwrap_or(false);
        if !is_done {
            std::thread::sleep(CUT_PAUSE);
        }
        is_done
    })
}

/// Runs one checkpoint; how many pages the log has, and how many of them are in the file.
fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<(i64, i64)> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| Ok((row.get(1)?, row.get(2)?)))
}

fn bytes(wal: &Path) -> u64 {
    std::fs::metadata(wal).map_or(0, |metadata| metadata.len())
}
