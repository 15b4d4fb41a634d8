//! `import` while a service runs: other writes continue, and a killed import is complete or absent.

use std::process::{Child, Command};

use serde_json::json;

use crate::erasure::{await_wiped, found};
use crate::support::{RunningService, WorkDir, eventually};

/// The number of rows in an import: enough for several staging transactions.
const ROWS: i64 = 1_500;

/// The number of candidates in the file before the import.
const BEFORE: i64 = 2;

const CANDIDATES: &str = "SELECT count(*) FROM candidates";

/// Starts a service and writes a table of many candidates. Also returns an admin's key.
fn start(dir: &WorkDir) -> (RunningService, String) {
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let rows = (0..ROWS).map(|row| format!("Person {row},person-{row}@example.org,role_1\n"));
    dir.write("people.csv", format!("name,email,role\n{}", rows.collect::<String>()));
    (dir.serve(&["--db", "a.db", "--rate-limit", "0"]), key)
}

const IMPORT: [&str; 8] = ["import", "--db", "a.db", "--format", "csv", "--organization", "acme", "people.csv"];

fn hold(service: &RunningService, key: &str, reason: &str) {
    let (key, body) = (format!("Bearer {key}"), json!({ "reason": reason }).to_string());
    service.send("PUT", "/api/v1/candidates/cand_1/hold", &[("Authorization", &key)], &body).expect(200);
}

#[test]
fn other_writes_continue_during_a_large_import() {
    let dir = WorkDir::new();
    let (service, key) = start(&dir);
    let mut interleaved = 0;
    std::thread::scope(|scope| {
        let import = scope.spawn(|| dir.run(&IMPORT));
        let mut writes = 0;
        while !import.is_finished() {
            let before = dir.number("a.db", CANDIDATES);
            hold(&service, &key, &format!("reason {writes}"));
            writes += 1;
            let after = dir.number("a.db", CANDIDATES);
            interleaved += i64::from(before > BEFORE && after < BEFORE + ROWS);
        }
        let output = import.join().unwrap().succeeded();
        assert!(output.stderr.contains(&format!("applications {ROWS}; the write lock was held for ")), "{output:?}");
    });
    assert!(interleaved >= 3, "only {interleaved} writes were committed between transactions of the import");
    assert_eq!(dir.number("a.db", CANDIDATES), BEFORE + ROWS);
    assert_eq!(dir.number("a.db", "SELECT (SELECT count(*) FROM import_rows) + (SELECT count(*) FROM imports)"), 0);
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

/// Starts the import, and kills it when a query returns a number above 0.
fn kill_when(dir: &WorkDir, sql: &str) {
    let mut import: Child = dir.command(&IMPORT).spawn().unwrap();
    eventually(|| dir.number("a.db", sql) > 0);
    let pid = import.id().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    import.wait().unwrap();
}

#[test]
fn a_killed_import_is_complete_or_absent() {
    let dir = WorkDir::new();
    let (service, _) = start(&dir);
    kill_when(&dir, "SELECT count(*) FROM import_rows");
    let decided = "SELECT count(*) FROM imports WHERE decided_at IS NOT NULL";
    let is_complete = |dir: &WorkDir| dir.number("a.db", CANDIDATES) == BEFORE + ROWS;
    if dir.number("a.db", decided) == 0 {
        assert_eq!(dir.number("a.db", CANDIDATES), BEFORE);
        service.stop("TERM").succeeded();
        let service = dir.serve(&["--db", "a.db"]);
        eventually(|| {
            dir.number("a.db", "SELECT (SELECT count(*) FROM import_rows) + (SELECT count(*) FROM imports)") == 0
        });
        assert_eq!(dir.number("a.db", CANDIDATES), BEFORE);
        // The dropped import does not prevent another one.
        kill_when(&dir, &format!("SELECT count(*) > {BEFORE} FROM candidates"));
        eventually(|| is_complete(&dir));
        service.stop("TERM").succeeded();
    } else {
        eventually(|| is_complete(&dir));
        service.stop("TERM").succeeded();
    }
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_dropped_import_leaves_no_byte_of_its_rows() {
    let dir = WorkDir::new();
    let (service, _) = start(&dir);
    let needles = ["person-", "Person "];
    let none = "SELECT (SELECT count(*) FROM import_rows) + (SELECT count(*) FROM imports)";
    let refused = |service: &RunningService| {
        assert_eq!(dir.run(&IMPORT).code, Some(1));
        assert_eq!(dir.number("a.db", CANDIDATES), BEFORE, "{}", service.url());
    };
    dir.change(
        "a.db",
        "CREATE TRIGGER stop BEFORE UPDATE OF decided_at ON imports BEGIN SELECT raise(ABORT, 'stop'); END",
    );
    // This import ends before it drops its rows, like a killed import. The next start of the service drops them.
    dir.change("a.db", "CREATE TRIGGER keep BEFORE DELETE ON import_rows BEGIN SELECT raise(ABORT, 'keep'); END");
    refused(&service);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM import_rows"), ROWS);
    assert!(!found(&dir, &needles).is_empty(), "the search finds the staged rows");
    dir.change("a.db", "DROP TRIGGER keep");
    let mut ended = vec![service.stop("TERM").succeeded()];
    let service = dir.serve(&["--db", "a.db"]);
    await_wiped(&dir, &needles);
    eventually(|| dir.number("a.db", none) == 0);
    // This import is refused and drops its rows itself.
    refused(&service);
    eventually(|| dir.number("a.db", none) == 0);
    assert_eq!(found(&dir, &needles), Vec::<String>::new());
    ended.push(service.stop("TERM").succeeded());
    assert_eq!(found(&dir, &needles), Vec::<String>::new());
    for ended in ended {
        assert!(needles.iter().all(|needle| !ended.stderr.contains(needle)), "{ended:?}");
    }
    dir.run(&["check", "--db", "a.db"]).succeeded();
}
