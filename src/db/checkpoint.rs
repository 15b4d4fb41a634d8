//! Checkpoints, on a thread and a connection of their own, so that no commit pays for one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::connection::{self, Use};
use super::halt::{Broken, Halt};
use super::health::{Health, Job};
use super::identity::Identity;
use super::path;
use super::thread::Periodic;
use super::tx::Error;
use super::wal::{Checkpoint, Mode};
use crate::world::World;

/// How often the log's size is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Pages that wait in the log before they are moved into the file: moving costs least per decision from about here.
const MOVE_FROM_PAGES: u64 = 10_000;

/// Pages from which the log also begins anew. Tried, never waited for: waiting behind a reader would hold the writer up.
const RESTART_FROM_PAGES: u64 = 16_000;

/// Pages that may be left to move then, because the writer waits for them.
const RESTART_MOVES_PAGES_MAX: u64 = 1_000;

/// How long fewer pages wait. Also how soon a reader who stands still is noticed.
const MOVE_EVERY: Duration = Duration::from_secs(10);

/// Bytes of the log from which something is wrong: twice what it is kept at (`journal_size_limit`).
const WAL_BYTES_MAX: u64 = 2 * 67_108_864;

/// The thread, and the log that it keeps short.
pub(crate) struct Checkpoints {
    wal: PathBuf,
    thread: Periodic,
}

impl Checkpoints {
    /// Starts the thread. It does nothing any more once the writer says that it is broken. `cut_if_due` runs the cut of the log
    /// that it is handed, where one is due, and returns its outcome; otherwise `None`.
    pub(crate) fn start(
        path: &Path,
        world: Arc<dyn World>,
        broken: Broken,
        cut_if_due: impl Fn(&mut dyn FnMut() -> bool) -> Option<bool> + Send + 'static,
        identity: Arc<Identity>,
        health: Arc<Health>,
    ) -> Result<Self, Error> {
        let connection = connection::open(path, Use::Write)?;
        connection.busy_timeout(Duration::ZERO)?;
        let wal = path::beside(path, "-wal");
        let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let mut turn = Turn {
            connection,
            version,
            world: Arc::clone(&world),
            health,
            wal: wal.clone(),
            tried_at: None,
            stamped_at: None,
        };
        let look = move || {
            if broken.get().is_some() {
                return;
            }
            // Before anything is moved into it: it may be another one's by now.
            let changed = identity.changed_beside(&turn.connection);
            let changed = changed.or_else(|| identity.mark(&turn.connection, world.as_ref()).ok().flatten());
            if let Some(why) = changed {
                let _ = broken.set(Halt::Lost(why));
            } else {
                turn.look(&cut_if_due);
            }
        };
        Ok(Self { wal, thread: Periodic::start("checkpoints", LOOK_EVERY, look)? })
    }

    pub(crate) fn wal_bytes(&self) -> u64 {
        bytes(&self.wal)
    }

    pub(crate) fn stop(&self) {
        self.thread.stop();
    }
}

/// What the thread works with.
struct Turn {
    connection: Connection,
    /// The version of the file's schema.
    version: i64,
    world: Arc<dyn World>,
    health: Arc<Health>,
    wal: PathBuf,
    /// When something was last moved, or tried to be.
    tried_at: Option<Duration>,
    stamped_at: Option<Duration>,
}

impl Turn {
    /// What fails now, because of a reader or a full disk, is tried again at the next look.
    fn look(&mut self, cut_if_due: &impl Fn(&mut dyn FnMut() -> bool) -> Option<bool>) {
        if let Some(relieved) = self.relieve().transpose() {
            if relieved.is_err() {
                self.tried_at = None;
            }
            self.health.report(Job::Checkpoint, &relieved);
        }
        if let Some(is_cut) = cut_if_due(&mut || cut(&self.connection)) {
            let held = || Error::Unavailable("another process reads, and holds what was erased in the log".to_owned());
            self.health.report(Job::LogCut, &is_cut.then_some(()).ok_or_else(held));
        }
        let bytes = bytes(&self.wal);
        let is_small = bytes <= WAL_BYTES_MAX;
        let large = || Error::Unavailable(format!("the write-ahead log has {bytes} bytes, more than {WAL_BYTES_MAX}"));
        self.health.report(Job::LogSize, &is_small.then_some(()).ok_or_else(large));
    }

    /// Moves what waits in the log into the file, and has the log begin anew, where it is time to. It is not cut then: a commit
    /// that writes over what the log has already is cheaper than one for which it grows. `None` where nothing was to be done.
    fn relieve(&mut self) -> Result<Option<()>, Error> {
        let before = Checkpoint::run(&self.connection, Mode::Noop)?;
        let (pages, moved) = (before.pages(), before.moved());
        if before.is_complete() {
            self.health.report(Job::Reader, &Ok(()));
        }
        let now = self.world.monotonic();
        let is_due = self.tried_at.is_none_or(|at| now.saturating_sub(at) >= MOVE_EVERY);
        let left = pages.saturating_sub(moved);
        let is_full = left >= MOVE_FROM_PAGES || (pages >= RESTART_FROM_PAGES && left > 0);
        if before.is_complete() || !(is_full || is_due) {
            return Ok(None);
        }
        self.tried_at = Some(now);
        self.stamp(now);
        let after = Checkpoint::run(&self.connection, Mode::Passive)?;
        let (false, Some(left)) = (after.is_busy, after.pages_left()) else {
            return Err(Error::Unavailable("another process holds the lock for checkpoints".to_owned()));
        };
        self.see_reader(moved, after.moved(), left);
        // Where nothing is left, the next commit begins it anew by itself.
        if after.pages() >= RESTART_FROM_PAGES && (1..=RESTART_MOVES_PAGES_MAX).contains(&left) {
            Checkpoint::run(&self.connection, Mode::Restart)?;
        }
        Ok(Some(()))
    }

    /// Where pages are left and none could be moved, somebody reads an old state of the file and stands still.
    fn see_reader(&self, moved_before: u64, moved: u64, left: u64) {
        if moved > moved_before || left == 0 {
            self.health.report(Job::Reader, &Ok(()));
        }
        if left > 0 {
            let stands = format!("a read transaction stands still and holds {left} pages in the write-ahead log");
            self.health.report(Job::Reader, &Err::<(), _>(Error::Unavailable(stands)));
        }
    }

    /// Moves the counter of changes in the file's header, which no commit but one of another connection does. By it an older
    /// copy of the file that is written over it is known. Now and then only: each time the writer's pages are read anew.
    fn stamp(&mut self, now: Duration) {
        if self.stamped_at.is_none_or(|at| now.saturating_sub(at) >= MOVE_EVERY) {
            let stamped = self.connection.execute_batch(&format!("PRAGMA user_version = {}", self.version));
            // Where the writer is at work just now, it is done the next time.
            self.stamped_at = stamped.is_ok().then_some(now).or(self.stamped_at);
        }
    }
}

/// How often a cut is tried in a row, and how long after each: who reads is gone within a few milliseconds, and whoever comes
/// once all is in the file is not in the way.
const CUT_TRIES: u32 = 20;
const CUT_PAUSE: Duration = Duration::from_millis(2);

/// Moves everything into the file and cuts the log to nothing, so that it has no older version of any page. Tried, never
/// waited for, like a new beginning. Whether it is done.
fn cut(connection: &Connection) -> bool {
    let is_cut = || -> Result<bool, Error> {
        let few = Checkpoint::run(connection, Mode::Passive)?
            .pages_left()
            .is_some_and(|left| left <= RESTART_MOVES_PAGES_MAX);
        Ok(few && Checkpoint::run(connection, Mode::Truncate)?.is_complete())
    };
    (0..CUT_TRIES).any(|_| {
        let is_done = is_cut().unwrap_or(false);
        if !is_done {
            std::thread::sleep(CUT_PAUSE);
        }
        is_done
    })
}

fn bytes(wal: &Path) -> u64 {
    std::fs::metadata(wal).map_or(0, |metadata| metadata.len())
}
