//! `check`, `export` and `backup` on a read-only file in a read-only directory.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Output, WorkDir};

/// The user that runs the commands if the tests run as root, because file modes do not restrict root.
const NOBODY: u32 = 65_534;

/// A read-only directory with a file, and a writable directory for output.
struct ReadOnly {
    source: WorkDir,
    out: WorkDir,
    is_root: bool,
}

impl ReadOnly {
    /// Fills the directory with `fill` and makes it read-only.
    fn holding(fill: impl FnOnce(&Path)) -> Self {
        let (source, out) = (WorkDir::new(), WorkDir::new());
        fill(&source.path(""));
        let is_root = std::fs::metadata(out.path("")).unwrap().uid() == 0;
        // `cp` copies the program, because Linux refuses to run a program that is open for writing. If this process
        // made the copy, a child that another test forks at the same time would inherit the open file.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_appliance")).arg(out.path("appliance")).status();
        assert!(copied.unwrap().success());
        let names = source.names().into_iter().map(|name| source.path(&name));
        for path in names.chain([source.path(""), out.path("")]) {
            if is_root {
                chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            if path.is_file() {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
            }
        }
        std::fs::set_permissions(source.path(""), std::fs::Permissions::from_mode(0o500)).unwrap();
        Self { source, out, is_root }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(self.out.path("appliance"));
        command.args(args).args(["--db", self.source.path("a.db").to_str().unwrap()]);
        command.current_dir(self.out.path("")).env_clear();
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(self.source.path(""), std::fs::Permissions::from_mode(0o700));
    }
}

fn copy_into(directory: &Path, dir: &WorkDir, names: &[&str]) {
    for name in names {
        std::fs::copy(dir.path(name), directory.join(name.replace("copy", "a"))).unwrap();
    }
}

#[test]
fn a_read_only_file_can_be_checked_exported_and_backed_up() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    let expected = dir.run(&["export", "--db", "a.db"]).succeeded().stdout;
    // `a.db` is in write-ahead-log mode, like every file of a service. A backup is not.
    for name in ["a.db", "copy.db"] {
        let read_only = ReadOnly::holding(|directory| copy_into(directory, &dir, &[name]));
        assert!(read_only.run(&["check"]).succeeded().stderr.ends_with("is sound\n"));
        assert_eq!(read_only.run(&["export"]).succeeded().stdout, expected, "{name}");
        read_only.run(&["backup", "new.db"]).succeeded();
        let output = read_only.out.run(&["export", "--db", "new.db"]).succeeded();
        assert_eq!(output.stdout, expected, "{name}");
        assert_eq!(read_only.source.names(), ["a.db"]);
    }
}

#[test]
fn a_write_ahead_log_of_a_read_only_file_is_read_or_refused_but_never_ignored() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let writing = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    writing.execute_batch("UPDATE roles SET location = 'Only In The Log'").unwrap();
    let incomplete = ReadOnly::holding(|directory| copy_into(directory, &dir, &["a.db", "a.db-wal"]));
    for command in [&["check"][..], &["export"], &["backup", "new.db"]] {
        incomplete.run(command).failed(1, "a.db-wal may hold changes that are not in the file");
        assert!(!incomplete.out.path("new.db").exists());
    }
    // If the shared-memory file of the service is present too, SQLite reads the log.
    let complete = ReadOnly::holding(|directory| copy_into(directory, &dir, &["a.db", "a.db-wal", "a.db-shm"]));
    assert!(complete.run(&["export"]).succeeded().stdout.contains("Only In The Log"));
    complete.run(&["check"]).succeeded();
    complete.run(&["backup", "new.db"]).succeeded();
    assert!(complete.out.run(&["export", "--db", "new.db"]).succeeded().stdout.contains("Only In The Log"));
    drop(writing);
}
