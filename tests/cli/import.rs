//! `import` beside a running service: others write meanwhile, and what was killed comes whole or not at all.

use std::process::{Child, Command};

use serde_json::json;

use crate::erasure::{found, gone};
use crate::support::{Place, Serving, eventually};

const ROWS: i64 = 1_500;

/// Of the document that the file is made from.
const THERE: i64 = 2;

const CANDIDATES: &str = "SELECT count(*) FROM candidates";

/// A service with a table of many candidates beside it, and an admin's key.
fn start(place: &Place) -> (Serving, String) {
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let rows = (0..ROWS).map(|row| format!("Person {row},person-{row}@example.org,role_1\n"));
    place.write("people.csv", format!("name,email,role\n{}", rows.collect::<String>()));
    (place.serve(&["--db", "a.db", "--rate-limit", "0"]), key)
}

const IMPORT: [&str; 8] = ["import", "--db", "a.db", "--format", "csv", "--organization", "acme", "people.csv"];

fn hold(serving: &Serving, key: &str, reason: &str) {
    let (key, body) = (format!("Bearer {key}"), json!({ "reason": reason }).to_string());
    serving.send("PUT", "/api/v1/candidates/cand_1/hold", &[("Authorization", &key)], &body).expect(200);
}

#[test]
fn others_write_while_a_large_import_comes() {
    let place = Place::new();
    let (serving, key) = start(&place);
    let mut amid = 0;
    std::thread::scope(|scope| {
        let import = scope.spawn(|| place.run(&IMPORT));
        let mut writes = 0;
        while !import.is_finished() {
            let before = place.number("a.db", CANDIDATES);
            hold(&serving, &key, &format!("reason {writes}"));
            writes += 1;
            let after = place.number("a.db", CANDIDATES);
            amid += i64::from(before > THERE && after < THERE + ROWS);
        }
        let ended = import.join().unwrap().succeeded();
        assert!(ended.stderr.contains(&format!("applications {ROWS}; the write lock was held for ")), "{ended:?}");
    });
    assert!(amid >= 3, "{amid} writes came between two transactions of the import");
    assert_eq!(place.number("a.db", CANDIDATES), THERE + ROWS);
    assert_eq!(place.number("a.db", "SELECT (SELECT count(*) FROM import_rows) + (SELECT count(*) FROM imports)"), 0);
    place.run(&["check", "--db", "a.db"]).succeeded();
}

/// Starts the import, and kills it once a query finds something.
fn kill_once(place: &Place, found: &str) {
    let mut import: Child = place.command(&IMPORT).spawn().unwrap();
    eventually(|| place.number("a.db", found) > 0);
    let pid = import.id().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    import.wait().unwrap();
}

#[test]
fn an_import_that_is_killed_comes_whole_or_not_at_all() {
    let place = Place::new();
    let (serving, _) = start(&place);
    kill_once(&place, "SELECT count(*) FROM import_rows");
    let decided = "SELECT count(*) FROM imports WHERE decided_at IS NOT NULL";
    let whole = |place: &Place| place.number("a.db", CANDIDATES) == THERE + ROWS;
    if place.number("a.db", decided) == 0 {
        assert_eq!(place.number("a.db", CANDIDATES), THERE);
        serving.stop("TERM").succeeded();
        let serving = place.serve(&["--db", "a.db"]);
        eventually(|| {
            place.number("a.db", "SELECT (SELECT count(*) FROM import_rows) + (SELECT count(*) FROM imports)") == 0
        });
        assert_eq!(place.number("a.db", CANDIDATES), THERE);
        // What was dropped is in nobody's way.
        kill_once(&place, &format!("SELECT count(*) > {THERE} FROM candidates"));
        eventually(|| whole(&place));
        serving.stop("TERM").succeeded();
    } else {
        eventually(|| whole(&place));
        serving.stop("TERM").succeeded();
    }
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn an_import_that_is_dropped_leaves_nothing_of_its_rows() {
    let place = Place::new();
    let (serving, _) = start(&place);
    let needles = ["person-", "Person "];
    let none = "SELECT (SELECT count(*) FROM import_rows) + (SELECT count(*) FROM imports)";
    let refused = |serving: &Serving| {
        assert_eq!(place.run(&IMPORT).code, Some(1));
        assert_eq!(place.number("a.db", CANDIDATES), THERE, "{}", serving.url());
    };
    place.change(
        "a.db",
        "CREATE TRIGGER stop BEFORE UPDATE OF decided_at ON imports BEGIN SELECT raise(ABORT, 'stop'); END",
    );
    // One that ends before it drops its rows, as a killed one does: the next start of the service drops them.
    place.change("a.db", "CREATE TRIGGER keep BEFORE DELETE ON import_rows BEGIN SELECT raise(ABORT, 'keep'); END");
    refused(&serving);
    assert_eq!(place.number("a.db", "SELECT count(*) FROM import_rows"), ROWS);
    assert!(!found(&place, &needles).is_empty(), "the test looks where there is something");
    place.change("a.db", "DROP TRIGGER keep");
    let mut ended = vec![serving.stop("TERM").succeeded()];
    let serving = place.serve(&["--db", "a.db"]);
    gone(&place, &needles);
    eventually(|| place.number("a.db", none) == 0);
    // One that is refused, and drops its rows itself.
    refused(&serving);
    eventually(|| place.number("a.db", none) == 0);
    assert_eq!(found(&place, &needles), Vec::<String>::new());
    ended.push(serving.stop("TERM").succeeded());
    assert_eq!(found(&place, &needles), Vec::<String>::new());
    for ended in ended {
        assert!(needles.iter().all(|needle| !ended.stderr.contains(needle)), "{ended:?}");
    }
    place.run(&["check", "--db", "a.db"]).succeeded();
}
