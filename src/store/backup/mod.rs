//! Scheduled backups: the service copies its file to a directory, checks each copy, and deletes surplus backups. The
//! rules are in `domain::backup`.

mod directory;
mod hook;
pub mod manifest;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use self::directory::{Directory, Found};
use super::erasure::list::complete_lines;
use super::{activity, check, file};
use crate::db::clock::Clock;
use crate::db::health::Health;
use crate::db::scheduler::Step;
use crate::db::service_log::ServiceLog;
use crate::db::sqlite::gentle::Interrupt;
use crate::db::sqlite::identity::Identity;
use crate::db::sqlite::wal;
use crate::db::{Error, read_alone};
use crate::domain::backup::{DueFacts, Keep, retry_delay};
use crate::domain::disk::UploadLimits;
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// The maximum pause between two scans of the directory while nothing fails. It is short enough that the service soon
/// notices a deleted backup, and long enough that the scans do not keep a network file system busy.
const SCAN_EVERY: Duration = Duration::from_secs(60);

/// The settings of scheduled backups.
#[derive(Debug, Clone)]
pub struct Settings {
    pub directory: PathBuf,
    /// The time between two backups.
    pub every: Duration,
    pub keep: Keep,
    /// The command that runs after each backup.
    pub hook: Option<PathBuf>,
    /// The free space that a backup must leave on its disk.
    pub room: UploadLimits,
}

/// The state of scheduled backups, which metrics, `/readyz` and the console show.
#[derive(Debug, Default)]
pub struct Backups {
    settings: OnceLock<Settings>,
    state: Mutex<State>,
    interrupt: Interrupt,
}

#[derive(Debug, Default)]
struct State {
    begun: Option<Duration>,
    /// The checked backups that the last scan found in the directory, and the backup that was made after the scan.
    /// Their times may be later than the clock.
    found: Vec<Found>,
    /// The newest backup that this process made, and the uptime at which the process began to make it.
    made: Option<(Found, Duration)>,
    failures: u64,
    hook_failures: u64,
    /// Whether the hook failed after the last backup.
    has_hook_failed: bool,
    /// The number of failed tries since the last backup.
    failures_in_a_row: u32,
}

/// The state of the backups, as metrics and pages show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The age of the newest checked backup; `None` if there is none.
    pub age: Option<Duration>,
    /// The size of the newest checked backup; 0 if there is none.
    pub bytes: u64,
    /// Whether the newest backup is older than twice the interval or, if there is none, whether the schedule has run
    /// longer than that.
    pub is_overdue: bool,
    /// The number of failed tries since the start.
    pub failures: u64,
    /// The number of failed runs of the hook since the start.
    pub hook_failures: u64,
    /// Whether the last try failed. The next one follows within an hour.
    pub has_failed: bool,
    /// Whether the hook failed after the last backup.
    pub has_hook_failed: bool,
}

/// Returns the times and sizes of a file's checked backups in a directory, oldest first. Changes nothing.
///
/// # Errors
/// The error of the operating system if the directory cannot be read.
pub fn list(directory: &Path, file: &Path) -> std::io::Result<Vec<(Timestamp, u64)>> {
    let found = Directory::new(directory, &file::resolve(file)).list()?;
    Ok(found.into_iter().map(|found| (found.at, found.bytes)).collect())
}

/// Returns the path of the newest copy that failed its check, if there is one.
pub fn unsound(directory: &Path, file: &Path) -> Option<PathBuf> {
    let path = Directory::new(directory, &file::resolve(file)).unsound();
    path.exists().then_some(path)
}

impl Backups {
    /// Starts the schedule. Only the first call has an effect.
    pub fn schedule(&self, settings: Settings) {
        let _ = self.settings.set(settings);
    }

    /// Returns the state of the backups, or `None` if none are scheduled.
    pub fn status(&self, world: &dyn World) -> Option<Status> {
        let settings = self.settings.get()?;
        let state = self.state();
        let facts = state.due_facts(world);
        Some(Status {
            age: facts.age(),
            bytes: state.newest(facts.now).map_or(0, |found| found.bytes),
            is_overdue: facts.is_overdue(settings.every),
            failures: state.failures,
            hook_failures: state.hook_failures,
            has_failed: state.failures_in_a_row > 0,
            has_hook_failed: state.has_hook_failed,
        })
    }

    /// Ends the current backup or hook early, because the service is stopping.
    pub(super) fn interrupt(&self) {
        self.interrupt.set();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the newest backup that this process made or, if it made none that still exists, the newest backup in the
    /// directory. Ignores backups there that are more than a minute later than the clock. The minute is allowed because
    /// the time in a name may be a few seconds later than the backup.
    fn newest(&self, now: Timestamp) -> Option<Found> {
        let made = self.made.map(|(found, _)| found);
        let latest = now.plus(SCAN_EVERY);
        made.or_else(|| self.found.iter().rev().find(|found| found.at <= latest).copied())
    }

    fn due_facts(&self, world: &dyn World) -> DueFacts {
        let (now, uptime) = (world.now(), world.monotonic());
        DueFacts {
            uptime: uptime.saturating_sub(self.begun.unwrap_or(uptime)),
            since_made: self.made.map(|(_, at)| uptime.saturating_sub(at)),
            newest: self.newest(now).map(|found| found.at),
            now,
        }
    }
}

/// The parts of the store that the job uses.
pub(super) struct Parts {
    pub(super) path: PathBuf,
    pub(super) world: Arc<dyn World>,
    pub(super) clock: Arc<Clock>,
    pub(super) identity: Arc<Identity>,
    pub(super) log: Arc<ServiceLog>,
    pub(super) health: Arc<Health>,
    pub(super) backups: Arc<Backups>,
}

/// Returns the step of the job that makes backups. A step makes one backup if one is due. Failures do not make the
/// service unready, so the step reports no outcome to health.
pub(super) fn job_step(parts: Parts) -> Step {
    let mut job = Job { parts, next: Duration::ZERO, is_created: false };
    Box::new(move || {
        job.step();
        None
    })
}

struct Job {
    parts: Parts,
    /// The monotonic time of the next scan of the directory.
    next: Duration,
    /// Whether this process has found or created the directory. If the directory is missing later, its file system
    /// might not be mounted, and a new directory would then be on the wrong disk.
    is_created: bool,
}

impl Job {
    fn step(&mut self) {
        let backups = Arc::clone(&self.parts.backups);
        let Some(settings) = backups.settings.get() else { return };
        let uptime = self.parts.world.monotonic();
        if uptime < self.next || backups.interrupt.is_set() {
            return;
        }
        backups.state().begun.get_or_insert(uptime);
        let outcome = self.scan_and_make(settings);
        self.next = self.parts.world.monotonic() + SCAN_EVERY.min(settings.every / 2);
        match outcome {
            Err(_) if backups.interrupt.is_set() => {}
            Err(why) => {
                let delay = backups.state().note_failure();
                self.next = self.parts.world.monotonic() + delay;
                let (directory, seconds) = (settings.directory.display(), delay.as_secs());
                self.log(format!("no backup could be made in {directory}: {why}; the next try is in {seconds} s"));
            }
            Ok(()) => {}
        }
    }

    /// Scans the directory. If a backup is due, makes it, deletes surplus backups and runs the hook.
    fn scan_and_make(&mut self, settings: &Settings) -> Result<(), String> {
        let directory = Directory::new(&settings.directory, &self.parts.path);
        if !self.is_created {
            directory.create().map_err(|error| error.to_string())?;
            self.is_created = true;
        }
        let found = directory.list().map_err(|error| error.to_string())?;
        let facts = {
            let mut state = self.parts.backups.state();
            // A backup that was deleted or damaged does not count.
            state.made = state.made.filter(|(made, _)| found.contains(made));
            state.found = found;
            state.due_facts(self.parts.world.as_ref())
        };
        if !facts.is_due(settings.every) {
            return Ok(());
        }
        let begun = self.parts.world.monotonic();
        let made = self.make(settings, &directory, facts.now)?;
        {
            let mut state = self.parts.backups.state();
            state.made = Some((made, begun));
            state.found.push(made);
            state.failures_in_a_row = 0;
        }
        let path = directory.path_of(made.at);
        self.log(format!("backup {} was made and checked ({} bytes)", path.display(), made.bytes));
        self.delete_surplus(settings, &directory, made);
        self.run_hook(settings, &path);
        Ok(())
    }

    /// Makes and checks a backup.
    fn make(&self, settings: &Settings, directory: &Directory, now: Timestamp) -> Result<Found, String> {
        if let Some(why) = self.parts.identity.changed() {
            return Err(why);
        }
        self.require_room(settings)?;
        directory.remove_remains().map_err(|error| error.to_string())?;
        let path = directory.free_path(now).map_err(|error| error.to_string())?;
        let world = self.parts.world.as_ref();
        let earlier = read_alone(&self.parts.path, world, activity::head).map_err(|error| error.to_string())?;
        let mut read = Some(self.parts.health.begin_backup_read());
        let mut unsound = None;
        let made = file::backup_if(&self.parts.path, &path, &self.parts.backups.interrupt, |partial| {
            // The check reads only the copy.
            drop(read.take());
            file::prepare_to_read(partial).map_err(|error| Error::Defect(error.to_string()))?;
            let findings = check::check_copy(partial, &earlier, &self.parts.backups.interrupt)?;
            if let Some(finding) = findings.first() {
                unsound = Some(self.set_aside(directory, partial, finding, findings.len()));
                return Err(Error::Defect("the copy has findings".to_owned()));
            }
            let bytes = partial.metadata().map_err(|error| Error::of_io("its size cannot be read", &error))?.len();
            let head = read_alone(partial, world, activity::head)?;
            let manifest = directory.new_manifest(bytes).text(&path, &head, now);
            file::write_manifest(&path, manifest.as_bytes()).map_err(|error| Error::Unavailable(error.to_string()))
        });
        if let Err(error) = made {
            let _ = directory.delete_companions(&path);
            return Err(unsound.unwrap_or_else(|| error.to_string()));
        }
        let found = directory.list().map_err(|error| error.to_string())?;
        let found = found.into_iter().find(|found| directory.path_of(found.at) == path);
        found.ok_or_else(|| format!("{} is missing after it was written", path.display()))
    }

    /// Saves a copy with findings under another name, and returns the reason why the backup failed. The database file
    /// probably has the same findings, so another copy would have them too, and a copy with findings is better than
    /// none. The copy never has the name of a backup, so it does not count and makes no sound backup surplus.
    fn set_aside(&self, directory: &Directory, partial: &Path, finding: &str, count: usize) -> String {
        let saved = complete_lines(&self.parts.path).and_then(|list| directory.set_aside(partial, list.as_deref()));
        let result = match saved {
            Ok(aside) => format!("the copy is {} and does not count", aside.display()),
            Err(error) => format!("the copy could not be saved: {error}"),
        };
        let noun = if count == 1 { "finding" } else { "findings" };
        format!("`appliance check` reports {count} {noun}; the first is: {finding}; {result}")
    }

    /// Checks that a backup leaves the required free space on its disk.
    fn require_room(&self, settings: &Settings) -> Result<(), String> {
        let path = &self.parts.path;
        let bytes = path.metadata().map_or(0, |metadata| metadata.len()) + wal::log_bytes(path);
        let disk = self.parts.world.disk(&settings.directory);
        if settings.room.has_free_space(disk, bytes) {
            return Ok(());
        }
        let free = disk.map_or(0, |disk| disk.free_bytes);
        Err(format!(
            "the backup needs {bytes} bytes; the disk has {free} bytes free, some of which must stay free (--min-free)"
        ))
    }

    /// Deletes surplus backups, unless the clock is in doubt: the order of the names could then be wrong.
    fn delete_surplus(&self, settings: &Settings, directory: &Directory, made: Found) {
        if !self.parts.clock.read().agrees() {
            return self.log("older backups are not deleted while the clock is not believed".to_owned());
        }
        let times: Vec<Timestamp> = self.parts.backups.state().found.iter().map(|found| found.at).collect();
        for at in settings.keep.surplus(&times, made.at) {
            let path = directory.path_of(at);
            match directory.delete(at) {
                Ok(()) => self.parts.backups.state().found.retain(|found| found.at != at),
                Err(error) => self.log(format!("backup {} could not be deleted: {error}", path.display())),
            }
        }
    }

    fn run_hook(&self, settings: &Settings, path: &Path) {
        let Some(hook) = &settings.hook else { return };
        let backups = &self.parts.backups;
        let outcome = hook::run(hook, path, self.parts.world.as_ref(), &backups.interrupt);
        backups.state().has_hook_failed = outcome.is_err();
        match outcome {
            Ok(()) => self.log(format!("{} succeeded for {}", hook.display(), path.display())),
            Err(why) => {
                backups.state().hook_failures += 1;
                self.log(format!("{} failed for {}: {why}", hook.display(), path.display()));
            }
        }
    }

    fn log(&self, line: String) {
        self.parts.log.write(line);
    }
}

impl State {
    /// Counts a failure and returns the time until the next try.
    fn note_failure(&mut self) -> Duration {
        self.failures += 1;
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        retry_delay(self.failures_in_a_row)
    }
}
