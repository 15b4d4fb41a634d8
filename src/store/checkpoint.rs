//! Checkpoints, on a thread and a connection of their own, so that no commit pays for one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::connection::{self, Use};
use super::file;
use super::tx::Error;
use super::writer::Broken;

/// How often the log's size is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Pages that wait in the log before they are moved into the file: moving costs least per decision from about here.
const MOVE_FROM_PAGES: i64 = 10_000;

/// Pages from which the log is also cut. Tried, never waited for: waiting behind a reader would hold the writer up.
const CUT_FROM_PAGES: i64 = 16_000;

/// Pages that a cut may have left to move, because the writer waits for them.
const CUT_MOVES_PAGES_MAX: i64 = 1_000;

/// The thread, and how to stop it.
pub(super) struct Checkpoints {
    wal: PathBuf,
    stopping: Arc<(Mutex<bool>, Condvar)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Checkpoints {
    /// Starts the thread. It ends by itself once the writer says that it is broken.
    pub(super) fn start(path: &Path, broken: Broken) -> Result<Self, Error> {
        let connection = connection::open(path, Use::Write)?;
        connection.busy_timeout(Duration::ZERO)?;
        let wal = file::beside(path, "-wal");
        let stopping = Arc::new((Mutex::new(false), Condvar::new()));
        let thread = {
            let stopping = Arc::clone(&stopping);
            let run = move || run(&connection, &stopping, &broken);
            let named = std::thread::Builder::new().name("checkpoints".to_owned());
            named.spawn(run).map_err(|error| Error::Unavailable(error.to_string()))?
        };
        Ok(Self { wal, stopping, thread: Mutex::new(Some(thread)) })
    }

    pub(super) fn wal_bytes(&self) -> u64 {
        bytes(&self.wal)
    }

    pub(super) fn stop(&self) {
        *self.stopping.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stopping.1.notify_all();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(connection: &Connection, stopping: &(Mutex<bool>, Condvar), broken: &Broken) {
    let mut stop = stopping.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !*stop {
        stop = stopping.1.wait_timeout(stop, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        if *stop || broken.get().is_some() {
            return;
        }
        // What fails now, because of a reader or a full disk, is tried again at the next look.
        let _ = relieve(connection);
    }
}

/// Moves what waits in the log into the file, and cuts the log, where it is time to.
fn relieve(connection: &Connection) -> rusqlite::Result<()> {
    let (mut pages, mut moved) = checkpoint(connection, "NOOP")?;
    if pages - moved >= MOVE_FROM_PAGES || pages >= CUT_FROM_PAGES {
        (pages, moved) = checkpoint(connection, "PASSIVE")?;
    }
    if pages >= CUT_FROM_PAGES && pages - moved <= CUT_MOVES_PAGES_MAX {
        checkpoint(connection, "TRUNCATE")?;
    }
    Ok(())
}

/// Runs one checkpoint; how many pages the log has, and how many of them are in the file.
fn checkpoint(connection: &Connection, how: &str) -> rusqlite::Result<(i64, i64)> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| Ok((row.get(1)?, row.get(2)?)))
}

fn bytes(wal: &Path) -> u64 {
    std::fs::metadata(wal).map_or(0, |metadata| metadata.len())
}
