//! `check`, `export` and `backup` where nothing can be written: a directory and a file that only let themselves be read.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Ended, Place};

/// Who the commands run as where the tests run as root, whom no mode stops.
const NOBODY: u32 = 65_534;

/// A directory that can be read only, and one for what is made.
struct ReadOnly {
    shelf: Place,
    out: Place,
    is_root: bool,
}

impl ReadOnly {
    /// Takes what `fill` puts into the directory, and lets nothing be written there.
    fn holding(fill: impl FnOnce(&Path)) -> Self {
        let (shelf, out) = (Place::new(), Place::new());
        fill(&shelf.path(""));
        let is_root = std::fs::metadata(out.path("")).unwrap().uid() == 0;
        // Another process copies it. A child that another test forks meanwhile would inherit this process's open copy, and
        // a program that is open for writing cannot be run.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_appliance")).arg(out.path("appliance")).status();
        assert!(copied.unwrap().success());
        let names = shelf.names().into_iter().map(|name| shelf.path(&name));
        for path in names.chain([shelf.path(""), out.path("")]) {
            if is_root {
                chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            if path.is_file() {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
            }
        }
        std::fs::set_permissions(shelf.path(""), std::fs::Permissions::from_mode(0o500)).unwrap();
        Self { shelf, out, is_root }
    }

    fn run(&self, args: &[&str]) -> Ended {
        let mut command = Command::new(self.out.path("appliance"));
        command.args(args).args(["--db", self.shelf.path("a.db").to_str().unwrap()]);
        command.current_dir(self.out.path("")).env_clear();
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(self.shelf.path(""), std::fs::Permissions::from_mode(0o700));
    }
}

fn copy_into(directory: &Path, place: &Place, names: &[&str]) {
    for name in names {
        std::fs::copy(place.path(name), directory.join(name.replace("copy", "a"))).unwrap();
    }
}

#[test]
fn a_whole_file_is_checked_exported_and_copied() {
    let place = Place::new();
    place.imported("a.db");
    place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
    let expected = place.run(&["export", "--db", "a.db"]).succeeded().stdout;
    // One that a service has left is under a write-ahead log, a backup is not.
    for name in ["a.db", "copy.db"] {
        let read_only = ReadOnly::holding(|directory| copy_into(directory, &place, &[name]));
        assert!(read_only.run(&["check"]).succeeded().stderr.ends_with("is sound\n"));
        assert_eq!(read_only.run(&["export"]).succeeded().stdout, expected, "{name}");
        read_only.run(&["backup", "new.db"]).succeeded();
        let ended = read_only.out.run(&["export", "--db", "new.db"]).succeeded();
        assert_eq!(ended.stdout, expected, "{name}");
        assert_eq!(read_only.shelf.names(), ["a.db"]);
    }
}

#[test]
fn a_write_ahead_log_beside_it_is_read_or_named_and_never_passed_over() {
    let place = Place::new();
    place.imported("a.db");
    let writing = rusqlite::Connection::open(place.path("a.db")).unwrap();
    writing.execute_batch("UPDATE roles SET location = 'Only In The Log'").unwrap();
    let alone = ReadOnly::holding(|directory| copy_into(directory, &place, &["a.db", "a.db-wal"]));
    for command in [&["check"][..], &["export"], &["backup", "new.db"]] {
        alone.run(command).failed(1, "a.db-wal has what is not in the file yet");
        assert!(!alone.out.path("new.db").exists());
    }
    // With the memory that its service shared, SQLite reads the log.
    let whole = ReadOnly::holding(|directory| copy_into(directory, &place, &["a.db", "a.db-wal", "a.db-shm"]));
    assert!(whole.run(&["export"]).succeeded().stdout.contains("Only In The Log"));
    whole.run(&["check"]).succeeded();
    whole.run(&["backup", "new.db"]).succeeded();
    assert!(whole.out.run(&["export", "--db", "new.db"]).succeeded().stdout.contains("Only In The Log"));
    drop(writing);
}
