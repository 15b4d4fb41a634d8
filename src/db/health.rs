//! Health: whether the database can be written and read back, and whether each background job works. Jobs report their
//! outcomes, and health names the jobs that have failed for too long.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::error::Error;
use super::row::Columns;
use super::tx::Tx;
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// A background job, or a state of the database that a job checks, with its name in health reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundJob {
    name: &'static str,
    /// The time for which the job may fail before health reports it.
    failing_max: Duration,
}

/// The job that copies the write-ahead log into the file.
pub(crate) const CHECKPOINT: BackgroundJob = BackgroundJob::new("checkpoint");
/// The check of the size of the write-ahead log.
pub(crate) const LOG_SIZE: BackgroundJob = BackgroundJob::new("log_size");
/// The check for a read transaction that keeps pages in the log.
pub(crate) const READER: BackgroundJob = BackgroundJob::waits_for_readers("reader");
/// The truncation of the log after page wiping.
pub(crate) const LOG_TRUNCATED: BackgroundJob = BackgroundJob::waits_for_readers("log_cut");

impl BackgroundJob {
    /// Returns a job that retries within seconds after a failure.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, failing_max: Duration::from_secs(10) }
    }

    /// Returns a job that waits for readers: a backup, an export or a check can read for minutes.
    const fn waits_for_readers(name: &'static str) -> Self {
        Self { name, failing_max: Duration::from_secs(300) }
    }

    /// Returns the name that log lines, metrics and responses use.
    pub fn name(self) -> &'static str {
        self.name
    }
}

/// The outcomes of all background jobs.
pub struct Health {
    world: Arc<dyn World>,
    /// The jobs that health reports, in this order.
    jobs: &'static [BackgroundJob],
    outcomes: Mutex<Outcomes>,
}

#[derive(Default)]
struct Outcomes {
    /// The current failures, by the index of the job.
    failing: BTreeMap<usize, Failure>,
    /// Jobs that were reported as failing and have succeeded since.
    recovered: Vec<BackgroundJob>,
    /// The time since which the service itself has held a read transaction open, for a backup.
    backup_reads_since: Option<Duration>,
}

/// A backup's read of the file, from the creation of this value until it is dropped.
pub(crate) struct BackupRead(Arc<Health>);

impl Drop for BackupRead {
    fn drop(&mut self) {
        let now = self.0.world.monotonic();
        let mut outcomes = self.0.outcomes();
        let Some(read_since) = outcomes.backup_reads_since.take() else { return };
        for failure in outcomes.failing.values_mut().filter(|failure| failure.pauses_for_backups()) {
            // The time of the read does not count.
            failure.since += now.saturating_sub(read_since.max(failure.since));
        }
    }
}

struct Failure {
    /// The beginning of the failure, moved forward by the time that does not count.
    since: Duration,
    why: Error,
    is_announced: bool,
    /// Whether a reader of the file causes the failure.
    is_held: bool,
}

impl Health {
    pub(crate) fn new(world: Arc<dyn World>, jobs: &'static [BackgroundJob]) -> Self {
        Self { world, jobs, outcomes: Mutex::default() }
    }

    /// Returns every job that health reports, in the order of the reports.
    pub fn jobs(&self) -> &'static [BackgroundJob] {
        self.jobs
    }

    /// Records the outcome of a job. A failed job must retry within seconds, because health treats it as failing until
    /// it succeeds.
    pub fn report<T>(&self, job: BackgroundJob, outcome: &Result<T, Error>) {
        let Some(index) = self.jobs.iter().position(|known| *known == job) else { return };
        let mut outcomes = self.outcomes();
        match outcome {
            Ok(_) => {
                if outcomes.failing.remove(&index).is_some_and(|failure| failure.is_announced) {
                    outcomes.recovered.push(job);
                }
            }
            Err(error) => self.record_failure(&mut outcomes, index, error.clone(), false),
        }
    }

    /// Records that a scheduled backup begins to read the file. Its read transaction leaves pages in the log, so the
    /// time of the read does not count for a failure that a reader causes, unless the failure was announced before.
    pub(crate) fn begin_backup_read(self: &Arc<Self>) -> BackupRead {
        self.outcomes().backup_reads_since = Some(self.world.monotonic());
        BackupRead(Arc::clone(self))
    }

    /// Returns how long a scheduled backup has been reading the file; `None` if no scheduled backup is reading it.
    pub fn backup_read(&self) -> Option<Duration> {
        let since = self.outcomes().backup_reads_since?;
        Some(self.world.monotonic().saturating_sub(since))
    }

    /// Records a failure that a reader of the file causes. While a scheduled backup reads the file, the failure shows
    /// nothing about other readers, so the time of the backup's read does not count. The failure is not removed.
    /// Otherwise, with frequent backups, it would begin again after each backup and would never be overdue.
    pub(crate) fn report_held(&self, job: BackgroundJob, error: Error) {
        let Some(index) = self.jobs.iter().position(|known| *known == job) else { return };
        self.record_failure(&mut self.outcomes(), index, error, true);
    }

    /// Begins the failure of a job, or continues it with its newest error.
    fn record_failure(&self, outcomes: &mut Outcomes, index: usize, why: Error, is_held: bool) {
        let (since, is_announced) = match outcomes.failing.get(&index) {
            Some(failure) => (failure.since, failure.is_announced),
            None => (self.world.monotonic(), false),
        };
        outcomes.failing.insert(index, Failure { since, why, is_announced, is_held });
    }

    /// Returns the jobs that have failed for too long.
    pub fn failing(&self) -> Vec<BackgroundJob> {
        let now = self.world.monotonic();
        let outcomes = self.outcomes();
        let is_read = outcomes.backup_reads_since.is_some();
        let failing = outcomes.failing.iter().map(|(index, failure)| (self.jobs[*index], failure));
        let failing = failing.filter(|(_, failure)| !(is_read && failure.pauses_for_backups()));
        failing.filter(|(job, failure)| failure.is_overdue(*job, now)).map(|(job, _)| job).collect()
    }

    /// Returns a sentence for each job that has become overdue or has recovered since the last call.
    pub fn news(&self) -> Vec<String> {
        let now = self.world.monotonic();
        let mut outcomes = self.outcomes();
        let recovered = std::mem::take(&mut outcomes.recovered).into_iter();
        let mut news: Vec<String> = recovered.map(|job| format!("job {} works again", job.name)).collect();
        let is_read = outcomes.backup_reads_since.is_some();
        let failing = outcomes.failing.iter_mut();
        for (index, failure) in failing.filter(|(_, failure)| !(is_read && failure.pauses_for_backups())) {
            let job = self.jobs[*index];
            if !failure.is_announced && failure.is_overdue(job, now) {
                failure.is_announced = true;
                let seconds = now.saturating_sub(failure.since).as_secs();
                news.push(format!("job {} has been failing for {seconds} s: {}", job.name, failure.why));
            }
        }
        news
    }

    fn outcomes(&self) -> MutexGuard<'_, Outcomes> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failure {
    /// Returns whether the time of a backup's read is excluded from the duration of the failure. An announced failure
    /// continues, because it began without the backup.
    fn pauses_for_backups(&self) -> bool {
        self.is_held && !self.is_announced
    }

    fn is_overdue(&self, job: BackgroundJob, now: Duration) -> bool {
        now.saturating_sub(self.since) >= job.failing_max
    }
}

/// Writes one row and reads it back (`GET /readyz`).
pub fn touch(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "INSERT INTO readiness (id, at)
               VALUES (1, $1)
               ON CONFLICT (id) DO UPDATE
               SET at = excluded.at";
    tx.run(sql, [tx.now.micros()])?;
    if touched_at(tx)? == Some(tx.now) {
        Ok(())
    } else {
        Err(Error::Defect("the database does not return the row that was written".to_owned()))
    }
}

/// Returns the time of the last [`touch`].
pub fn touched_at(tx: &Tx<'_>) -> Result<Option<Timestamp>, Error> {
    let sql = "SELECT at
               FROM readiness
               WHERE id = 1";
    tx.one(sql, [], |row| Columns::of(row).time())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Scripted;

    const RETENTION: BackgroundJob = BackgroundJob::new("retention");
    const WIPING: BackgroundJob = BackgroundJob::new("wiping");

    fn health() -> (Arc<Scripted>, Health) {
        let world = Arc::new(Scripted::at(Timestamp::from_micros(0)));
        (Arc::clone(&world), Health::new(world, &[READER, WIPING, RETENTION]))
    }

    #[test]
    fn a_job_is_reported_when_it_has_failed_for_ten_seconds_and_when_it_works_again() {
        let (world, health) = health();
        let failed = |why: &str| Err::<(), _>(Error::Unavailable(why.to_owned()));
        health.report(WIPING, &failed("first"));
        world.pass(Duration::from_millis(9_999));
        health.report(WIPING, &failed("disk full"));
        health.report(RETENTION, &failed("locked"));
        assert_eq!((health.failing(), health.news()), (vec![], vec![]));
        world.pass(Duration::from_millis(1));
        let line = "job wiping has been failing for 10 s: disk full".to_owned();
        assert_eq!((health.failing(), health.news(), health.news()), (vec![WIPING], vec![line], vec![]));
        health.report(RETENTION, &Ok(()));
        health.report(WIPING, &Ok(()));
        assert_eq!((health.failing(), health.news()), (vec![], vec!["job wiping works again".to_owned()]));
        // A short failure is not reported.
        health.report(WIPING, &failed("again"));
        health.report(WIPING, &Ok(()));
        world.pass(Duration::from_secs(60));
        assert_eq!((health.failing(), health.news()), (vec![], vec![]));
    }

    #[test]
    fn a_reader_is_reported_when_it_has_held_the_log_for_five_minutes() {
        let (world, health) = health();
        health.report(READER, &Err::<(), _>(Error::Unavailable("it holds the log".to_owned())));
        world.pass(Duration::from_secs(299));
        assert_eq!(health.failing(), []);
        world.pass(Duration::from_secs(1));
        assert_eq!(health.failing(), [READER]);
    }

    #[test]
    fn a_reader_is_not_reported_while_a_backup_reads_the_file() {
        let (world, health) = health();
        let health = Arc::new(health);
        let held = || health.report_held(READER, Error::Unavailable("it holds the log".to_owned()));
        held();
        world.pass(Duration::from_secs(200));
        let read = health.begin_backup_read();
        for _ in 0..6 {
            held();
            world.pass(Duration::from_secs(100));
            assert_eq!((health.failing(), health.news()), (vec![], vec![]));
        }
        assert_eq!(health.backup_read(), Some(Duration::from_secs(600)));
        drop(read);
        // Another reader still holds the log after the backup. The 200 s before the backup count, so 100 s of the
        // limit are left.
        held();
        world.pass(Duration::from_secs(99));
        assert_eq!((health.failing(), health.backup_read()), (vec![], None));
        world.pass(Duration::from_secs(1));
        let line = "job reader has been failing for 300 s: it holds the log".to_owned();
        assert_eq!((health.failing(), health.news()), (vec![READER], vec![line]));
        // A backup does not excuse a failure that was announced before the backup began.
        let read = health.begin_backup_read();
        held();
        assert_eq!(health.failing(), [READER]);
        drop(read);
    }

    #[test]
    fn a_reader_is_reported_even_if_the_interval_between_backups_is_shorter_than_the_limit_for_readers() {
        let (world, health) = health();
        let health = Arc::new(health);
        let held = || health.report_held(READER, Error::Unavailable("it holds the log".to_owned()));
        for expected in [vec![], vec![], vec![READER]] {
            let read = health.begin_backup_read();
            world.pass(Duration::from_secs(10));
            held();
            world.pass(Duration::from_secs(10));
            drop(read);
            world.pass(Duration::from_secs(99));
            assert_eq!(health.failing(), []);
            world.pass(Duration::from_secs(1));
            assert_eq!(health.failing(), expected);
        }
    }

    #[test]
    fn a_job_outside_the_list_is_not_reported() {
        let (world, health) = health();
        let other = BackgroundJob::new("other");
        health.report(other, &Err::<(), _>(Error::Unavailable("why".to_owned())));
        world.pass(Duration::from_secs(60));
        assert_eq!((health.failing(), health.news()), (vec![], vec![]));
    }
}
