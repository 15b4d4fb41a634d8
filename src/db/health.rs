//! Whether the file can be worked with: one row that is written and read back. And whether the work that the service does by
//! itself succeeds: each job reports how it went, and those that have failed for a while are named.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::tx::{self, Error, Tx};
use crate::world::World;

/// Work that the service does by itself, or a state that it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Job {
    /// Moving the write-ahead log into the file.
    Checkpoint,
    /// The size of the write-ahead log.
    LogSize,
    /// Somebody's read transaction that holds the log.
    Reader,
    /// Wiping pages behind an erasure.
    Wiping,
    /// Cutting the log behind an erasure.
    LogCut,
    /// Erasing candidates whose time is over.
    Retention,
    /// Indexing the usage log.
    UsageIndex,
    /// Making messages to HR systems of decisions.
    HrIntake,
    /// Reading what is due for HR systems.
    HrDelivery,
    /// Recording attempts to deliver.
    HrRecord,
    /// Deleting attachments that belong to no application.
    Sweeping,
    /// Deleting old rows of the usage log.
    UsagePruning,
    /// Dropping and finishing imports.
    Imports,
    /// Writing the believed time, and the ends of keys and sessions.
    Clock,
    /// Erasing candidates who asked while a hire was hidden from them.
    AskedErasures,
}

impl Job {
    /// Every job, in the order in which they are shown.
    pub const ALL: [Self; 15] = [
        Self::Checkpoint,
        Self::LogSize,
        Self::Reader,
        Self::Wiping,
        Self::LogCut,
        Self::Retention,
        Self::UsageIndex,
        Self::HrIntake,
        Self::HrDelivery,
        Self::HrRecord,
        Self::Sweeping,
        Self::UsagePruning,
        Self::Imports,
        Self::Clock,
        Self::AskedErasures,
    ];

    /// Its name in log lines, metrics and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::LogSize => "log_size",
            Self::Reader => "reader",
            Self::Wiping => "wiping",
            Self::LogCut => "log_cut",
            Self::Retention => "retention",
            Self::UsageIndex => "usage_index",
            Self::HrIntake => "hr_intake",
            Self::HrDelivery => "hr_delivery",
            Self::HrRecord => "hr_record",
            Self::Sweeping => "sweeping",
            Self::UsagePruning => "usage_pruning",
            Self::Imports => "imports",
            Self::Clock => "clock",
            Self::AskedErasures => "asked_erasures",
        }
    }

    /// How long it may fail before that is said. A backup, an export or a check reads for minutes, and that is no fault.
    fn patience(self) -> Duration {
        match self {
            Self::Reader | Self::LogCut => Duration::from_secs(300),
            _ => Duration::from_secs(10),
        }
    }
}

/// How the jobs go.
pub struct Health {
    world: Arc<dyn World>,
    jobs: Mutex<Jobs>,
}

#[derive(Default)]
struct Jobs {
    failing: BTreeMap<Job, Failure>,
    /// Those that were said to fail, and succeeded since.
    recovered: Vec<Job>,
}

struct Failure {
    since: Duration,
    why: String,
    is_announced: bool,
}

impl Health {
    pub(crate) fn new(world: Arc<dyn World>) -> Self {
        Self { world, jobs: Mutex::default() }
    }

    /// A job reports how its last attempt went. One that fails has to try again within seconds: it counts as failing until it
    /// succeeds.
    pub fn report<T>(&self, job: Job, outcome: &Result<T, Error>) {
        let mut jobs = self.jobs();
        match outcome {
            Ok(_) => {
                if jobs.failing.remove(&job).is_some_and(|failure| failure.is_announced) {
                    jobs.recovered.push(job);
                }
            }
            Err(error) => {
                let now = self.world.monotonic();
                let why = error.to_string();
                let failure =
                    jobs.failing.entry(job).or_insert(Failure { since: now, why: String::new(), is_announced: false });
                failure.why = why;
            }
        }
    }

    /// The jobs that have failed for as long as they may, and more.
    pub fn failing(&self) -> Vec<Job> {
        let now = self.world.monotonic();
        let jobs = self.jobs();
        jobs.failing.iter().filter(|(job, failure)| failure.is_overdue(**job, now)).map(|(job, _)| *job).collect()
    }

    /// A sentence for each job that has begun to fail, or succeeds again, since this was last asked.
    pub fn news(&self) -> Vec<String> {
        let now = self.world.monotonic();
        let mut jobs = self.jobs();
        let recovered = std::mem::take(&mut jobs.recovered).into_iter();
        let mut news: Vec<String> = recovered.map(|job| format!("job {} works again", job.name())).collect();
        for (job, failure) in &mut jobs.failing {
            if !failure.is_announced && failure.is_overdue(*job, now) {
                failure.is_announced = true;
                let seconds = now.saturating_sub(failure.since).as_secs();
                news.push(format!("job {} has failed for {seconds} s: {}", job.name(), failure.why));
            }
        }
        news
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failure {
    fn is_overdue(&self, job: Job, now: Duration) -> bool {
        now.saturating_sub(self.since) >= job.patience()
    }
}

/// Writes one row and reads it back (`GET /readyz`).
///
/// # Errors
/// When the file cannot be written or read.
pub fn touch(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "INSERT INTO readiness (id, at)
               VALUES (1, $1)
               ON CONFLICT (id) DO UPDATE
               SET at = excluded.at";
    tx.run(sql, [tx.now.micros()])?;
    let sql = "SELECT at
               FROM readiness
               WHERE id = 1";
    let read = tx.one(sql, [], |row| tx::time(row, 0))?;
    if read == Some(tx.now) { Ok(()) } else { Err(Error::Defect("the file does not keep what is written".to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::world::Scripted;

    #[test]
    fn a_job_is_named_once_it_has_failed_for_ten_seconds_and_once_it_works_again() {
        let world = Arc::new(Scripted::at(Timestamp::from_micros(0)));
        let health = Health::new(Arc::clone(&world) as Arc<dyn World>);
        let failed = |why: &str| Err::<(), _>(Error::Unavailable(why.to_owned()));
        health.report(Job::Wiping, &failed("first"));
        world.pass(Duration::from_millis(9_999));
        health.report(Job::Wiping, &failed("disk full"));
        health.report(Job::Retention, &failed("locked"));
        assert_eq!((health.failing(), health.news()), (vec![], vec![]));
        world.pass(Duration::from_millis(1));
        let line = "job wiping has failed for 10 s: disk full".to_owned();
        assert_eq!((health.failing(), health.news(), health.news()), (vec![Job::Wiping], vec![line], vec![]));
        health.report(Job::Retention, &Ok(()));
        health.report(Job::Wiping, &Ok(()));
        assert_eq!((health.failing(), health.news()), (vec![], vec!["job wiping works again".to_owned()]));
        // What failed for a moment is no news.
        health.report(Job::Wiping, &failed("again"));
        health.report(Job::Wiping, &Ok(()));
        world.pass(Duration::from_secs(60));
        assert_eq!((health.failing(), health.news()), (vec![], vec![]));
    }

    #[test]
    fn a_reader_may_take_minutes() {
        let world = Arc::new(Scripted::at(Timestamp::from_micros(0)));
        let health = Health::new(Arc::clone(&world) as Arc<dyn World>);
        health.report(Job::Reader, &Err::<(), _>(Error::Unavailable("it stands".to_owned())));
        world.pass(Duration::from_secs(299));
        assert_eq!(health.failing(), []);
        world.pass(Duration::from_secs(1));
        assert_eq!(health.failing(), [Job::Reader]);
    }
}
