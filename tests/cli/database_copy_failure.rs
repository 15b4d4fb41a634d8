//! `copy` when a connection fails or a disk is full: the last line names the cause, and the same command continues the
//! copy. A run that finds a change to the source since an earlier run ends with an error.

use std::process::{Child, Command};

use crate::database_copy::{copy, empty_database, run_and_kill, run_and_kill_at, with_demo};
use crate::postgres_server::{Session, TestServer, shared};
use crate::support::{Output, WorkDir, eventually};

fn start(dir: &WorkDir, from: &str, to: &str) -> Child {
    dir.command(&["copy", "--from", from, "--to", to]).spawn().unwrap()
}

fn end(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Checks the exit status, and that the last line contains this sentence. The lines before it are about the parts of
/// the copy.
#[track_caller]
fn assert_stopped(output: &Output, code: i32, sentence: &str) {
    assert_eq!(output.code, Some(code), "{output:?}");
    assert!(output.stderr.lines().next_back().unwrap().contains(sentence), "{sentence}: {output:?}");
}

/// Returns a session that holds a lock on the table of candidates.
fn lock_candidates(server: &TestServer, database: &str, mode: &str) -> Session {
    let mut locker = server.session(database);
    locker.run(&format!("BEGIN; LOCK TABLE candidates IN {mode} MODE"));
    locker
}

/// Waits until a session of the database waits for a lock, and ends the session as an administrator would.
fn end_waiting_session(server: &TestServer, database: &str) {
    let sql = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock'"
    );
    eventually(|| server.psql("postgres", &sql) == "t");
}

#[test]
fn a_copy_that_loses_its_connection_says_so_and_the_next_run_continues_it() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (database, url) = empty_database(server);
    // The copy to the server waits while it adds rows, and the copy from the server while it reads them.
    for (from, to, mode) in [("a.db", url.as_str(), "SHARE"), (url.as_str(), "back.db", "ACCESS EXCLUSIVE")] {
        assert!(!run_and_kill(&dir, from, to, 3));
        let locker = lock_candidates(server, &database, mode);
        let copying = start(&dir, from, to);
        end_waiting_session(server, &database);
        let output = end(copying);
        assert_stopped(&output, 1, "the copy stopped, because postgres://127.0.0.1:");
        assert_stopped(&output, 1, "terminating connection due to administrator command; run the same command again");
        drop(locker);
        let copied = copy(&dir, from, to).succeeded();
        assert!(copied.stderr.contains("continuing an interrupted copy"), "{copied:?}");
        assert!(copied.stderr.contains("all tables are equal"), "{copied:?}");
    }
    dir.run(&["check", "--db", "back.db"]).succeeded();
}

#[test]
fn a_database_that_another_copy_uses_is_refused() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (database, url) = empty_database(server);
    let (_, other) = empty_database(server);
    copy(&dir, "a.db", &url).succeeded();
    let locker = lock_candidates(server, &database, "ACCESS EXCLUSIVE");
    let copying = start(&dir, &url, "back.db");
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    eventually(|| server.psql(&database, waits) == "1");
    copy(&dir, &other, "back.db").failed(1, "another copy is using back.db; stop that process and try again");
    drop(locker);
    assert_stopped(&end(copying), 0, "chain head: ");
}

#[test]
fn a_copy_between_two_postgresql_databases_has_each_row() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (_, first) = empty_database(server);
    let (_, second) = empty_database(server);
    copy(&dir, "a.db", &first).succeeded();
    assert!(!run_and_kill(&dir, &first, &second, 5));
    let copied = copy(&dir, &first, &second).succeeded();
    assert!(copied.stderr.contains("all tables are equal"), "{copied:?}");
    dir.run(&["check", "--db", &second]).succeeded();
    dir.serve(&["--db", &second]).stop("TERM").succeeded();
    // This URL names the same database in another spelling.
    let same = first.replace("127.0.0.1", "localhost");
    copy(&dir, &first, &same).failed(78, "exists and has data, and was not changed");
}

#[test]
fn a_change_to_the_source_between_two_runs_of_a_copy_is_noticed() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (database, url) = empty_database(server);
    let is_end_of_rows = |line: &str| line.contains("completing the schema");
    let first = "UPDATE candidates SET name = 'Changed' WHERE number = (SELECT min(number) FROM candidates)";
    // The comparison of all rows finds a change to one row that had already been copied.
    assert!(!run_and_kill_at(&dir, "a.db", &url, is_end_of_rows));
    dir.change("a.db", first);
    let differs = ") differs from its source (";
    assert_stopped(&copy(&dir, "a.db", &url), 78, differs);
    // The destination remains an incomplete copy, which no service can use.
    dir.run(&["serve", "--listen", "127.0.0.1:0", "--db", &url]).failed(78, "is an incomplete copy");
    server.psql(&database, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    copy(&dir, "a.db", &url).succeeded();
    assert!(!run_and_kill_at(&dir, &url, "back.db", is_end_of_rows));
    server.psql(&database, &first.replace("Changed", "Changed again"));
    assert_stopped(&copy(&dir, &url, "back.db"), 78, differs);
    // The command adds an activity row, so the copy notices the change at once.
    dir.run(&["bootstrap-admin", "--db", &url, "--email", "later@example.org"]).succeeded();
    let changed = "or its source has changed since; remove back.db";
    copy(&dir, &url, "back.db").failed(78, changed);
}

/// Runs a script with a small disk in the directory `disk`, which only the script sees. Returns `None` if the system
/// does not allow this.
fn with_disk(dir: &WorkDir, script: &str) -> Option<Output> {
    std::fs::create_dir(dir.path("disk")).unwrap();
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let script = format!("mount -t tmpfs -o size=64m,mode=0700 tmpfs disk || exit 99\n{script}");
    command.args(["--mount", "sh", "-c", &script]).current_dir(dir.path("."));
    let output = command.env("APPLIANCE", env!("CARGO_BIN_EXE_appliance")).output().ok()?;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let output = Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
    let is_allowed = output.code != Some(99) && !output.stderr.starts_with("unshare: ");
    is_allowed.then_some(output)
}

#[test]
fn a_copy_to_a_full_disk_says_so_and_a_run_with_enough_space_continues_it() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (_, url) = empty_database(server);
    copy(&dir, "a.db", &url).succeeded();
    let script = format!(
        "$APPLIANCE copy --from '{url}' --to disk/back.db 2>messages &
         until grep -q 'copying users' messages; do :; done
         kill -9 $!
         dd if=/dev/zero of=disk/rest bs=4k 2>/dev/null
         $APPLIANCE copy --from '{url}' --to disk/back.db
         echo \"exit status $?\" >&2
         rm disk/rest
         $APPLIANCE copy --from '{url}' --to disk/back.db && cp disk/back.db back.db"
    );
    let Some(output) = with_disk(&dir, &script) else { return eprintln!("skipped: no disk can be mounted") };
    let sentence = "the copy stopped, because the disk of disk/back.db is full";
    assert!(output.stderr.contains(sentence) && output.stderr.contains("exit status 1"), "{output:?}");
    assert!(output.stderr.contains("continuing an interrupted copy"), "{output:?}");
    assert_stopped(&output, 0, "chain head: ");
    dir.run(&["check", "--db", "back.db"]).succeeded();
}
