//! Tests of the job's steps on a real file, with a scripted clock.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::db::sqlite::connection::{self, Use};
use crate::domain::disk::DiskSpace;
use crate::domain::timestamp::Rounding;
use crate::store::act_alone;
use crate::store::file::{Missing, Older};
use crate::world::Scripted;

const DAY: Duration = Duration::from_secs(86_400);
const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);
const YEAR: Duration = Duration::from_secs(365 * 86_400);

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text, Rounding::Down).unwrap()
}

struct Fixture {
    dir: tempfile::TempDir,
    world: Arc<Scripted>,
    settings: Settings,
    clock: Arc<Clock>,
    job: Job,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Fixture {
    /// Creates a file and a daily schedule that retains three backups.
    fn new() -> Self {
        Self::with(|settings| settings)
    }

    fn with(change: impl FnOnce(Settings) -> Settings) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("jobs.db");
        let world = Arc::new(Scripted::at(at("2026-11-23T02:00:00Z")));
        file::prepare(&path, Missing::Create, Older::Refuse).unwrap();
        // A service has a lock file, whose identity is checked before each backup.
        file::Lock::take(&path).unwrap();
        let settings = change(Settings {
            directory: dir.path().join("backups"),
            every: DAY,
            keep: Keep::Newest(3),
            hook: None,
            room: UploadLimits::default(),
        });
        let clock = Arc::new(
            Clock::open(&connection::open(&path, Use::Write).unwrap(), Arc::clone(&world) as Arc<dyn World>).unwrap(),
        );
        let lines = Arc::default();
        let job = start(&dir, &world, &settings, &clock, &lines);
        Self { dir, world, settings, clock, job, lines }
    }

    /// Restarts the service. The believed clock continues, as it would from its heartbeat.
    fn restart(&mut self) {
        self.job = start(&self.dir, &self.world, &self.settings, &self.clock, &self.lines);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a step after this time. The believed clock follows.
    fn step_after(&mut self, time: Duration) {
        self.world.pass(time);
        self.clock.read();
        self.job.step();
    }

    /// Returns the names of the files in the backup directory, except manifests.
    fn backups(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.settings.directory).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.ends_with(".manifest")).collect();
        names.sort();
        names
    }

    fn status(&self) -> Status {
        self.job.parts.backups.status(self.world.as_ref()).unwrap()
    }

    fn last_line(&self) -> String {
        self.lines.lock().unwrap().last().cloned().unwrap_or_default()
    }

    fn change(&self, sql: &str) {
        act_alone(&self.path("jobs.db"), self.world.as_ref(), |tx| tx.run(sql, [])).unwrap();
    }
}

fn start(
    dir: &tempfile::TempDir,
    world: &Arc<Scripted>,
    settings: &Settings,
    clock: &Arc<Clock>,
    lines: &Arc<Mutex<Vec<String>>>,
) -> Job {
    let path = dir.path().join("jobs.db");
    let (log, lines) = (Arc::new(ServiceLog::default()), Arc::clone(lines));
    log.connect(move |line| lines.lock().unwrap().push(line.to_owned()));
    let backups = Arc::new(Backups::default());
    backups.schedule(settings.clone());
    let identity = Arc::new(Identity::before_opening(&path).unwrap());
    let (world, clock) = (Arc::clone(world) as Arc<dyn World>, Arc::clone(clock));
    let health = Arc::new(Health::new(Arc::clone(&world), &[]));
    Job { parts: Parts { path, world, clock, identity, log, health, backups }, next: Duration::ZERO, is_created: false }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_backup_is_made_at_once_and_then_at_each_interval() {
    let mut fixture = Fixture::new();
    fixture.job.step();
    assert_eq!(fixture.backups(), ["jobs-2026-11-23T020000Z.db"]);
    let path = fixture.settings.directory.join("jobs-2026-11-23T020000Z.db");
    assert_eq!((mode(&fixture.settings.directory), mode(&path)), (0o700, 0o600));
    assert_eq!(check::check(&path, |_| ()).unwrap(), Vec::<String>::new());
    let bytes = path.metadata().unwrap().len();
    assert!(fixture.last_line().ends_with(&format!("jobs-2026-11-23T020000Z.db was made and checked ({bytes} bytes)")));
    fixture.step_after(DAY - Duration::from_secs(1));
    assert_eq!(fixture.backups().len(), 1);
    fixture.step_after(Duration::from_secs(60));
    assert_eq!(fixture.backups(), ["jobs-2026-11-23T020000Z.db", "jobs-2026-11-24T020059Z.db"]);
    let status = fixture.status();
    assert_eq!((status.age, status.bytes, status.failures), (Some(Duration::ZERO), bytes, 0));
}

#[test]
fn surplus_backups_are_deleted_with_their_companions_and_other_files_remain() {
    let mut fixture = Fixture::new();
    let others = [
        "jobs-2020-01-01T000000Z.db",
        "jobs-2020-01-02T000000Z.db",
        "jobs-2020-01-02T000000Z.db.manifest",
        "jobs-monday.db",
        "notes.txt",
    ];
    std::fs::create_dir(&fixture.settings.directory).unwrap();
    for name in others {
        std::fs::write(fixture.settings.directory.join(name), "{}").unwrap();
    }
    std::fs::write(fixture.path("jobs.db.erased"), "cand_1 own\n").unwrap();
    for _ in 0..5 {
        fixture.step_after(DAY);
    }
    let entries = std::fs::read_dir(&fixture.settings.directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let made = ["jobs-2026-11-26T020000Z.db", "jobs-2026-11-27T020000Z.db", "jobs-2026-11-28T020000Z.db"];
    let companions = ["", ".erased", ".manifest"];
    let made = made.iter().flat_map(|name| companions.map(|suffix| format!("{name}{suffix}")));
    let mut expected: Vec<String> = made.chain(others.map(str::to_owned)).collect();
    expected.sort();
    assert_eq!(names, expected);
}

#[test]
fn a_restart_does_not_change_when_the_next_backup_is_due() {
    let mut fixture = Fixture::new();
    fixture.job.step();
    fixture.world.pass(DAY - HOUR);
    fixture.restart();
    fixture.job.step();
    assert_eq!((fixture.backups().len(), fixture.status().age), (1, Some(DAY - HOUR)));
    fixture.step_after(HOUR);
    assert_eq!(fixture.backups(), ["jobs-2026-11-23T020000Z.db", "jobs-2026-11-24T020000Z.db"]);
    fixture.restart();
    fixture.job.step();
    assert_eq!(fixture.backups().len(), 2);
}

#[test]
fn a_damaged_or_deleted_backup_does_not_count() {
    let mut fixture = Fixture::new();
    fixture.job.step();
    let path = fixture.settings.directory.join("jobs-2026-11-23T020000Z.db");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(4_096).unwrap();
    fixture.restart();
    fixture.step_after(HOUR);
    assert_eq!(fixture.backups(), ["jobs-2026-11-23T020000Z.db", "jobs-2026-11-23T030000Z.db"]);
    std::fs::remove_file(fixture.settings.directory.join("jobs-2026-11-23T030000Z.db")).unwrap();
    fixture.step_after(HOUR);
    assert_eq!(fixture.backups(), ["jobs-2026-11-23T020000Z.db", "jobs-2026-11-23T040000Z.db"]);
}

#[test]
fn a_jump_of_the_clock_deletes_no_backup() {
    for (jump, is_ahead) in [(YEAR, true), (YEAR, false)] {
        let mut fixture = Fixture::new();
        for _ in 0..3 {
            fixture.step_after(DAY);
        }
        let good = fixture.backups();
        let right = fixture.world.now();
        fixture.world.set(if is_ahead { right.plus(jump) } else { right.minus(jump) });
        // The jump makes no backup due, and the five restarts together make one due.
        fixture.step_after(HOUR);
        assert_eq!(fixture.backups(), good);
        for _ in 0..5 {
            fixture.restart();
            fixture.step_after(HOUR);
        }
        assert_eq!(fixture.backups().len(), 4, "{:?}", fixture.backups());
        for _ in 0..5 {
            fixture.step_after(DAY);
        }
        assert_eq!(fixture.backups().len(), 9);
        assert!(good.iter().all(|name| fixture.backups().contains(name)));
        assert!(fixture.last_line().contains("while the clock is not believed"));
        // The clock is right again.
        fixture.world.set(right.plus(HOUR * 6 + DAY * 5));
        fixture.step_after(DAY);
        let backups = fixture.backups();
        assert!(backups.contains(&"jobs-2026-12-02T080000Z.db".to_owned()), "{backups:?}");
        assert!(good[2..].iter().all(|name| backups.contains(name)), "{backups:?}");
    }
}

#[test]
fn a_clock_that_stands_still_does_not_stop_backups() {
    let mut fixture = Fixture::new();
    for _ in 0..3 {
        let now = fixture.world.now();
        fixture.world.pass(DAY);
        fixture.world.set(now);
        fixture.restart();
        fixture.job.step();
        fixture.world.pass(DAY);
        fixture.world.set(now);
        fixture.job.step();
    }
    // The first step and the three steps after a whole interval each made a backup, and the first of these four was
    // surplus.
    let expected = ["001", "002", "003"].map(|second| format!("jobs-2026-11-23T020{second}Z.db"));
    assert_eq!(fixture.backups(), expected);
}

#[test]
fn failed_backups_are_retried_after_growing_delays_and_leave_no_file() {
    let mut fixture = Fixture::new();
    fixture.settings.directory = fixture.path("missing/backups");
    fixture.restart();
    for delay in [60, 120, 240] {
        fixture.job.step();
        let line = fixture.last_line();
        assert!(line.starts_with("no backup could be made in /") && line.ends_with(&format!("in {delay} s")), "{line}");
        fixture.step_after(Duration::from_secs(delay - 1));
        fixture.world.pass(Duration::from_secs(1));
    }
    assert_eq!((fixture.status().failures, fixture.status().age, fixture.status().is_overdue), (3, None, false));
    std::fs::create_dir(fixture.path("missing")).unwrap();
    fixture.job.step();
    assert_eq!(fixture.backups().len(), 1);
    // The directory is not created again, because its disk might not be mounted.
    std::fs::remove_dir_all(fixture.path("missing/backups")).unwrap();
    fixture.step_after(DAY * 2 + MINUTE);
    assert!(!fixture.path("missing/backups").exists());
    let status = fixture.status();
    assert_eq!((status.failures, status.is_overdue), (4, true));
}

#[test]
fn a_backup_that_would_fill_the_disk_is_not_made() {
    let mut fixture = Fixture::with(|settings| Settings {
        room: UploadLimits { min_free_bytes: Some(1_000), attachments_bytes_max: None },
        ..settings
    });
    let path = fixture.path("jobs.db");
    let needed = path.metadata().unwrap().len() + wal::log_bytes(&path) + 1_000;
    let disk = |free_bytes| Some(DiskSpace { free_bytes, total_bytes: 1 << 40 });
    fixture.world.set_disk(disk(needed - 1));
    fixture.job.step();
    assert!(fixture.last_line().contains("--min-free"), "{}", fixture.last_line());
    assert_eq!(fixture.backups(), Vec::<String>::new());
    fixture.world.set_disk(disk(needed));
    fixture.step_after(MINUTE);
    assert_eq!(fixture.backups().len(), 1);
}

/// An organization without a row in the status cache, which `appliance check` reports.
const UNSOUND: &str = "INSERT INTO organizations (id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
                         require_external_position_id, enabled, time_zone, pay_transparency, privacy_notice,
                         require_second_factor, created_at, updated_at)
                       VALUES ('org', 'org', 'org', 'Org', '', '', 0, '{}', 0, 1, 'UTC', 0, '', 0, 1, 1)";

#[test]
fn an_unsound_file_is_copied_but_the_copy_does_not_count() {
    let mut fixture = Fixture::new();
    fixture.job.step();
    fixture.change(UNSOUND);
    for _ in 0..2 {
        fixture.step_after(DAY);
        let line = fixture.last_line();
        assert!(
            line.contains("reports 1 finding;") && line.contains("status cache: organization org has no row"),
            "{line}"
        );
        assert_eq!(fixture.backups(), ["jobs-2026-11-23T020000Z.db", "jobs-unsound.db"]);
    }
    let status = fixture.status();
    assert_eq!((status.age, status.is_overdue, status.failures), (Some(DAY * 2), false, 2));
    fixture.change("DELETE FROM organizations");
    fixture.step_after(HOUR);
    assert_eq!(fixture.backups().len(), 3);
}

/// A directory named `jobs-unsound.db` makes the renaming of the copy fail. Even then, the copy must not have the name
/// of a backup.
#[test]
fn an_unsound_copy_never_has_the_name_of_a_backup() {
    let mut fixture = Fixture::new();
    fixture.change(UNSOUND);
    std::fs::create_dir_all(fixture.settings.directory.join("jobs-unsound.db/in_the_way")).unwrap();
    fixture.job.step();
    assert!(fixture.last_line().contains("the copy could not be saved"), "{}", fixture.last_line());
    assert_eq!(fixture.backups(), ["jobs-unsound.db"]);
    assert!(fixture.job.parts.health.backup_read().is_none());
}

#[test]
fn the_remains_of_a_killed_backup_are_removed() {
    let mut fixture = Fixture::new();
    fixture.job.step();
    let (directory, name) = (fixture.settings.directory.clone(), "jobs-2026-11-23T020000Z.db");
    let killed = "jobs-2026-11-22T020000Z.db";
    std::fs::copy(directory.join(format!("{name}.manifest")), directory.join(format!("{killed}.manifest"))).unwrap();
    for remains in [".erased", ".partial", ".partial-journal", ".erased.partial", ".manifest.partial"] {
        std::fs::write(directory.join(format!("{killed}{remains}")), "").unwrap();
    }
    std::fs::write(directory.join("other.db.partial"), "").unwrap();
    fixture.step_after(DAY);
    assert_eq!(fixture.backups(), [name, "jobs-2026-11-24T020000Z.db", "other.db.partial"]);
    assert!(!directory.join(format!("{killed}.manifest")).exists());
}

#[test]
fn a_stopping_service_makes_no_backup_and_reports_no_failure() {
    let mut fixture = Fixture::new();
    let directory = Directory::new(&fixture.settings.directory, &fixture.path("jobs.db"));
    directory.create().unwrap();
    fixture.job.parts.backups.interrupt();
    assert!(fixture.job.make(&fixture.settings, &directory, fixture.world.now()).is_err());
    assert_eq!(fixture.backups(), Vec::<String>::new());
    fixture.job.step();
    assert_eq!((fixture.backups(), fixture.status().failures), (Vec::new(), 0));
}

#[test]
fn the_hook_runs_after_each_backup_and_its_failures_are_counted() {
    let mut fixture = Fixture::new();
    let hook = fixture.path("hook");
    let script = "#!/bin/sh\ntest -f \"$1\" && echo \"$1\" >> \"${0%/*}/seen\"; test -e \"${0%/*}/works\"\n";
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o700)).unwrap();
    fixture.settings.hook = Some(hook);
    fixture.restart();
    fixture.job.step();
    assert!(fixture.last_line().ends_with("it exited with 1"), "{}", fixture.last_line());
    assert_eq!((fixture.status().hook_failures, fixture.status().failures), (1, 0));
    std::fs::write(fixture.path("works"), "").unwrap();
    fixture.step_after(DAY);
    assert_eq!(fixture.status().hook_failures, 1);
    let seen = std::fs::read_to_string(fixture.path("seen")).unwrap();
    let expected = ["jobs-2026-11-23T020000Z.db", "jobs-2026-11-24T020000Z.db"];
    let expected = expected.map(|name| fixture.settings.directory.join(name).display().to_string());
    assert_eq!(seen.lines().collect::<Vec<_>>(), expected);
}
