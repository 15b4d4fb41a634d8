//! The checkpoint job. It has its own thread and connection, so that checkpoints do not slow down commits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::connection::Connection;
use super::super::error::Error;
use super::super::halt::{Broken, Halt};
use super::super::health::{BackgroundJob, CHECKPOINT, Health, LOG_SIZE, LOG_TRUNCATED, READER};
use super::super::scheduler::Step;
use super::connection::{self, BUSY_TIMEOUT, Use};
use super::identity::Identity;
use super::wal::{Checkpoint, Mode, log_bytes};
use crate::world::World;

/// The number of uncopied pages in the log at which a checkpoint copies them into the file. At about this number,
/// copying pages takes the least time per commit.
const COPY_FROM_PAGES: u64 = 10_000;

/// The number of pages in the log at which a checkpoint also restarts the log. The checkpoint tries this once and never
/// waits for a reader, because the writer would have to wait too.
const RESTART_FROM_PAGES: u64 = 16_000;

/// A checkpoint restarts the log only if at most this number of pages is left to copy. The writer waits during the
/// restart.
const RESTART_COPIES_PAGES_MAX: u64 = 1_000;

/// The interval between checkpoints while the log has fewer than [`COPY_FROM_PAGES`] uncopied pages and fewer than
/// [`RESTART_FROM_PAGES`] pages in all. A reader that prevents checkpoints is noticed within this time.
const COPY_EVERY: Duration = Duration::from_secs(10);

/// The size above which health reports the log: twice the size to which SQLite truncates the log
/// (`journal_size_limit`).
const WAL_BYTES_MAX: u64 = 2 * 67_108_864;

/// Returns the step of the checkpoint job, which copies the log into the file, and restarts and truncates the log. The
/// step does nothing if the writer is broken. `truncate_if_due` receives a function that truncates the log. If pages
/// were wiped since the last truncation, `truncate_if_due` calls that function and returns its result.
pub(crate) fn job_step(
    path: &Path,
    world: Arc<dyn World>,
    broken: Broken,
    truncate_if_due: impl Fn(&mut dyn FnMut() -> bool) -> Option<bool> + Send + 'static,
    identity: Arc<Identity>,
    health: Arc<Health>,
) -> Result<Step, Error> {
    let connection = connection::open(path, Use::Write)?;
    connection.sqlite().busy_timeout(Duration::ZERO)?;
    let version = connection.sqlite().query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let path = path.to_owned();
    let mut job =
        CheckpointJob { connection, version, world, broken, identity, health, path, tried_at: None, stamped_at: None };
    Ok(Box::new(move || {
        if job.broken.get().is_none() && job.may_copy() {
            job.run(&truncate_if_due);
        }
        None
    }))
}

struct CheckpointJob {
    connection: Connection,
    /// The version of the file's schema.
    version: i64,
    world: Arc<dyn World>,
    broken: Broken,
    identity: Arc<Identity>,
    health: Arc<Health>,
    path: PathBuf,
    /// The time of the last checkpoint. `None` after a failure, so that the next step tries again.
    tried_at: Option<Duration>,
    stamped_at: Option<Duration>,
}

impl CheckpointJob {
    /// Checks the identity of the file, because another file may have replaced this one. Stops the writer if the file
    /// was replaced. Returns whether pages may be copied into the file.
    fn may_copy(&self) -> bool {
        let changed = self.identity.changed_beside(&self.connection);
        let changed = changed.or_else(|| self.identity.mark(&self.connection, self.world.as_ref()).ok().flatten());
        if let Some(why) = changed {
            let _ = self.broken.set(Halt::Lost(why));
        }
        self.is_intact()
    }

    /// Returns whether the writer is not broken, and the last check of the identity left no doubt.
    fn is_intact(&self) -> bool {
        self.broken.get().is_none() && !self.identity.is_doubtful()
    }

    /// Runs one step. If a checkpoint fails, for example because the disk is full or another process is running a
    /// checkpoint, the next step tries again.
    fn run(&mut self, truncate_if_due: &impl Fn(&mut dyn FnMut() -> bool) -> Option<bool>) {
        if let Some(copied) = self.copy_if_due().transpose() {
            if copied.is_err() {
                self.tried_at = None;
            }
            self.health.report(CHECKPOINT, &copied);
        }
        let truncated = truncate_if_due(&mut || truncate(&self.connection, || self.may_copy()));
        if let Some(is_truncated) = truncated.filter(|is_truncated| *is_truncated || self.is_intact()) {
            let held = "the write-ahead log could not be truncated, for example because something is reading the file, \
                        so erased data stays in the log";
            self.report_unless(is_truncated, LOG_TRUNCATED, held.to_owned());
        }
        let bytes = log_bytes(&self.path);
        let large = format!("the write-ahead log has {bytes} bytes, more than {WAL_BYTES_MAX}");
        self.report_unless(bytes <= WAL_BYTES_MAX, LOG_SIZE, large);
    }

    /// Reports the outcome of a check. The usual reason for a failure is that something is reading the file.
    fn report_unless(&self, works: bool, job: BackgroundJob, why: String) {
        if works {
            self.health.report(job, &Ok(()));
        } else {
            self.health.report_held(job, Error::Unavailable(why));
        }
    }

    /// If a checkpoint is due, copies the log into the file and, if the log is long, restarts it. Returns `None` if no
    /// checkpoint is due, or if no page may be copied. Does not truncate the log, because a commit that overwrites the
    /// log is cheaper than a commit that makes the log grow.
    fn copy_if_due(&mut self) -> Result<Option<()>, Error> {
        let before = Checkpoint::run(&self.connection, Mode::Noop)?;
        let (pages, copied) = (before.pages(), before.copied());
        if before.is_complete() {
            self.health.report(READER, &Ok(()));
        }
        let now = self.world.monotonic();
        let is_due = self.tried_at.is_none_or(|at| now.saturating_sub(at) >= COPY_EVERY);
        let left = pages.saturating_sub(copied);
        let is_full = left >= COPY_FROM_PAGES || (pages >= RESTART_FROM_PAGES && left > 0);
        if before.is_complete() || !(is_full || is_due) {
            return Ok(None);
        }
        self.stamp(now);
        // The stamp waits for the disk, and somebody may have overwritten the file in the meantime.
        if !self.may_copy() {
            return Ok(None);
        }
        self.tried_at = Some(now);
        let after = Checkpoint::run(&self.connection, Mode::Passive)?;
        let (false, Some(left)) = (after.is_busy, after.pages_left()) else {
            return Err(Error::Unavailable("another process holds the lock for checkpoints".to_owned()));
        };
        self.report_reader(copied, after.copied(), left);
        // If no page is left, the next commit restarts the log.
        if after.pages() >= RESTART_FROM_PAGES && (1..=RESTART_COPIES_PAGES_MAX).contains(&left) && self.may_copy() {
            Checkpoint::run(&self.connection, Mode::Restart)?;
        }
        Ok(Some(()))
    }

    /// Reports whether a reader holds an old snapshot of the file, so that pages stay in the log. A checkpoint that
    /// copies pages ends the earlier failure, so a failure lasts for as long as the reader prevents all copying.
    fn report_reader(&self, copied_before: u64, copied: u64, left: u64) {
        if copied > copied_before || left == 0 {
            self.health.report(READER, &Ok(()));
        }
        if left > 0 {
            let pages = if left == 1 { "1 page stays".to_owned() } else { format!("{left} pages stay") };
            let holds = format!("another program holds a read transaction open, so {pages} in the write-ahead log");
            self.health.report_held(READER, Error::Unavailable(holds));
        }
    }

    /// Increments the change counter in the file's header, by which [`Identity`] recognizes that an older copy has
    /// overwritten the file. The writer's commits alone do not increment the counter. Stamps are rare, because the
    /// writer's cached pages become invalid after each stamp.
    fn stamp(&mut self, now: Duration) {
        if self.stamped_at.is_none_or(|at| now.saturating_sub(at) >= COPY_EVERY) {
            let stamped = self.connection.sqlite().execute_batch(&format!("PRAGMA user_version = {}", self.version));
            // If the writer is in a transaction now, the next checkpoint stamps the file.
            self.stamped_at = stamped.is_ok().then_some(now).or(self.stamped_at);
        }
    }
}

/// The maximum number of consecutive tries to truncate the log, and the pause between two tries. Most readers end
/// within a few milliseconds, and a reader that begins when all pages are in the file does not block the truncation.
const TRUNCATE_TRIES_MAX: u32 = 20;
const TRUNCATE_PAUSE: Duration = Duration::from_millis(2);

/// Copies all pages into the file and truncates the log to zero bytes, so that the log contains no older version of any
/// page. If a reader or the writer prevents this, tries again after a short pause, up to [`TRUNCATE_TRIES_MAX`] tries
/// in total, and only while `may_copy` allows it. Returns whether the log was truncated.
fn truncate(connection: &Connection, may_copy: impl Fn() -> bool) -> bool {
    let try_once = || -> Result<bool, Error> {
        let few = Checkpoint::run(connection, Mode::Passive)?
            .pages_left()
            .is_some_and(|left| left <= RESTART_COPIES_PAGES_MAX);
        Ok(few && Checkpoint::run(connection, Mode::Truncate)?.is_complete())
    };
    (0..TRUNCATE_TRIES_MAX).any(|tries| {
        if tries > 0 {
            std::thread::sleep(TRUNCATE_PAUSE);
        }
        may_copy() && try_once().unwrap_or(false)
    })
}

/// The pause between two tries to empty the log when the service stops.
const EMPTY_PAUSE: Duration = Duration::from_millis(50);

/// Copies all pages into the file and truncates the log. If another process prevents this, tries again for about
/// [`BUSY_TIMEOUT`]. `require_copyable` runs directly before each try, because the file may be overwritten between two
/// tries. For the same reason, SQLite itself does not wait for locks.
///
/// # Errors
/// The error of `require_copyable`; [`Error::Unavailable`] if another process is still using the file; [`Error::Full`]
/// and other errors if pages cannot be written.
pub(crate) fn empty_log(
    connection: &Connection,
    mut require_copyable: impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    connection.sqlite().busy_timeout(Duration::ZERO)?;
    let begun = Instant::now();
    loop {
        require_copyable()?;
        let why = match Checkpoint::run(connection, Mode::Truncate) {
            Ok(checkpoint) if checkpoint.is_complete() => return Ok(()),
            Ok(checkpoint) => reason_not_empty(checkpoint),
            Err(Error::Unavailable(why)) => why,
            Err(error) => return Err(error),
        };
        if begun.elapsed() >= BUSY_TIMEOUT {
            return Err(Error::Unavailable(why));
        }
        std::thread::sleep(EMPTY_PAUSE);
    }
}

fn reason_not_empty(checkpoint: Checkpoint) -> String {
    match checkpoint.pages_left() {
        Some(0) => "the write-ahead log was not truncated: another process is using the file".to_owned(),
        Some(1) => "1 page of the write-ahead log is not in the file: another process is using the file".to_owned(),
        Some(left) => {
            format!("{left} pages of the write-ahead log are not in the file: another process is using the file")
        }
        None => "the write-ahead log was not copied: another process is running a checkpoint".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;
    use crate::db::sqlite::schema;
    use crate::domain::timestamp::Timestamp;
    use crate::world::Scripted;

    /// Creates a database file with the table for marks and an empty log, and a lock file next to it.
    fn create(path: &Path) {
        let connection = rusqlite::Connection::open(path).unwrap();
        let pragmas = format!("PRAGMA journal_mode = WAL; PRAGMA application_id = {}", schema::APPLICATION_ID);
        connection.execute_batch(&pragmas).unwrap();
        let tables = "CREATE TABLE service_marks (id INTEGER PRIMARY KEY, mark BLOB); CREATE TABLE rows (x)";
        connection.execute_batch(tables).unwrap();
        fs::write(path.with_extension("db.lock"), "").unwrap();
    }

    #[test]
    fn the_file_is_checked_before_each_try_to_empty_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        create(&path);
        let connection = connection::open(&path, Use::Write).unwrap();
        let other = rusqlite::Connection::open(&path).unwrap();
        let begin = "PRAGMA wal_autocheckpoint = 0; INSERT INTO rows VALUES (0); BEGIN; SELECT count(*) FROM rows";
        other.execute_batch(begin).unwrap();
        connection.sqlite().execute_batch("INSERT INTO rows VALUES (1)").unwrap();
        // The reader ends between the tries, but from then on the file must not be changed.
        let mut checks = 0;
        let emptied = empty_log(&connection, || {
            checks += 1;
            if checks < 3 {
                return Ok(());
            }
            other.execute_batch("COMMIT").unwrap();
            Err(Error::Unavailable("overwritten".to_owned()))
        });
        assert!(matches!(emptied, Err(Error::Unavailable(why)) if why == "overwritten"));
        assert!(log_bytes(&path) > 0);
        empty_log(&connection, || Ok(())).unwrap();
        assert_eq!(log_bytes(&path), 0);
    }

    #[test]
    fn no_page_is_copied_into_a_file_that_was_overwritten_during_the_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        create(&path);
        let other = fs::read(&path).unwrap();
        let identity = Arc::new(Identity::before_opening(&path).unwrap());
        let connection = connection::open(&path, Use::Write).unwrap();
        connection.sqlite().execute_batch("PRAGMA wal_autocheckpoint = 0; INSERT INTO rows VALUES (0)").unwrap();
        identity.opened().unwrap();
        let world: Arc<dyn World> = Arc::new(Scripted::at(Timestamp::from_micros(0)));
        identity.mark_at_start(&connection, world.as_ref()).unwrap();
        let health = Health::new(Arc::clone(&world), &[CHECKPOINT, LOG_SIZE, LOG_TRUNCATED, READER]);
        let mut job = CheckpointJob {
            connection,
            version: 0,
            world,
            broken: Broken::default(),
            identity,
            health: Arc::new(health),
            path: path.clone(),
            tried_at: None,
            stamped_at: None,
        };
        // A copy is due. The stamp of the job commits, and during that commit the file is overwritten in place.
        let writer = rusqlite::Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA wal_autocheckpoint = 0; INSERT INTO rows VALUES (1)").unwrap();
        let (target, bytes) = (path.clone(), other.clone());
        let overwrite = move || {
            let mut file = fs::OpenOptions::new().write(true).open(&target).unwrap();
            file.write_all(&bytes).unwrap();
            file.set_len(bytes.len() as u64).unwrap();
            false
        };
        job.connection.sqlite().commit_hook(Some(overwrite)).unwrap();
        assert!(job.may_copy());
        job.run(&|_| None);
        assert!(matches!(job.broken.get(), Some(Halt::Lost(_))), "{:?}", job.broken);
        assert!(fs::read(&path).unwrap() == other, "the job does not write to the file");
    }
}
