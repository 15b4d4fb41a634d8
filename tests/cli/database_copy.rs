//! `copy`: a whole database goes from a file to a PostgreSQL server and back.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use rusqlite::types::Value;
use sha2::{Digest as _, Sha256};

use crate::postgres_server::{TestServer, USER, shared};
use crate::support::{Output, WorkDir};

/// Returns a directory and the key of the demo's admin. The directory contains the file `a.db` with the demo's records
/// and an attachment of two chunks.
pub(crate) fn with_demo() -> (WorkDir, String) {
    let dir = WorkDir::new();
    let service = dir.serve(&["--demo", "--db", "a.db"]);
    let output = service.stop("TERM").succeeded();
    let digest: String = Sha256::digest(vec![0; 100_000]).iter().map(|byte| format!("{byte:02x}")).collect();
    let sql = "INSERT INTO documents (id, candidate_role_id, file_name, media_type, bytes, created_at, sha256)
               SELECT 'doc_of_test', id, 'cv.pdf', 'application/pdf', 100000, 1, x'DIGEST' FROM candidate_roles LIMIT 1;
               INSERT INTO document_pieces (document_number, number, content)
               SELECT number, 1, zeroblob(65536) FROM documents WHERE id = 'doc_of_test';
               INSERT INTO document_pieces (document_number, number, content)
               SELECT number, 2, zeroblob(34464) FROM documents WHERE id = 'doc_of_test';";
    dir.change("a.db", &sql.replace("DIGEST", &digest));
    let key = output.stdout.lines().find_map(|line| line.strip_prefix("key: ")).unwrap().to_owned();
    (dir, key)
}

pub(crate) fn empty_database(server: &TestServer) -> (String, String) {
    let database = server.database();
    let url = server.url(USER, &database, "sslmode=disable");
    (database, url)
}

pub(crate) fn copy(dir: &WorkDir, from: &str, to: &str) -> Output {
    dir.run(&["copy", "--from", from, "--to", to])
}

type Contents = BTreeMap<String, Vec<Vec<Value>>>;

/// Returns all rows of all tables, in an order that does not depend on the row ids, and the texts of the schema.
fn contents(path: &Path) -> (Contents, Vec<String>) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    let rows = |table: &String| {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        let mut rows: Vec<Vec<Value>> = statement.query_map([], read).unwrap().map(Result::unwrap).collect();
        rows.sort_by_key(|row| format!("{row:?}"));
        (table.clone(), rows)
    };
    let schema =
        texts("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name");
    (tables.iter().map(rows).collect(), schema)
}

#[test]
fn a_copy_to_a_postgresql_server_and_back_has_each_row_and_a_service_can_run_on_each_copy() {
    let Some(server) = shared() else { return };
    let (dir, key) = with_demo();
    let (database, url) = empty_database(server);
    let copied = copy(&dir, "a.db", &url).succeeded();
    assert!(copied.stderr.contains("all tables are equal") && copied.stderr.contains("chain head: "), "{copied:?}");
    assert!(copied.stderr.contains("copying candidates: "), "{copied:?}");
    copy(&dir, &url, "back.db").succeeded();
    dir.run(&["check", "--db", "back.db"]).succeeded();
    let (mut source, source_schema) = contents(&dir.path("a.db"));
    let (mut back, back_schema) = contents(&dir.path("back.db"));
    // Each copy first adds an activity row to its source. The source of `back.db` was the database on the server, so
    // `back.db` has one row more than `a.db`.
    let (activity, recorded) = (source.remove("activities").unwrap(), back.remove("activities").unwrap());
    assert_eq!(activity.len() + 1, recorded.len());
    assert!(activity.iter().all(|row| recorded.contains(row)));
    let rows = source.values().flatten().count();
    assert!(rows > 500, "{rows}");
    for (table, rows) in &source {
        assert_eq!(rows, &back[table], "the rows of {table} differ");
    }
    assert_eq!(source_schema, back_schema);
    let indexes = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'public'";
    let triggers = "SELECT count(*) FROM pg_trigger WHERE tgenabled = 'O' AND NOT tgisinternal";
    let foreign = "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND convalidated";
    let facts = |database: &str| [indexes, triggers, foreign].map(|sql| server.psql(database, sql));
    let (fresh, fresh_url) = empty_database(server);
    dir.serve(&["--db", &fresh_url]).stop("TERM").succeeded();
    assert_eq!(facts(&database), facts(&fresh), "the schema of a copy is that of a new database");
    for db in [&url, "back.db"] {
        let service = dir.serve(&["--db", db]);
        assert_eq!(service.get("/api/v1/me", &key).expect(200).json()["user"]["role"], "admin");
        service.stop("TERM").succeeded();
        // The number of a new key follows those of the copied keys.
        dir.run(&["bootstrap-admin", "--db", db, "--email", "later@example.org"]).succeeded();
    }
    dir.run(&["check", "--db", "back.db"]).succeeded();
}

/// Runs a copy until it has written this many lines, and kills it. Returns whether it ended first.
pub(crate) fn run_and_kill(dir: &WorkDir, from: &str, to: &str, lines: usize) -> bool {
    let mut left = lines;
    run_and_kill_at(dir, from, to, |_| {
        left -= 1;
        left == 0
    })
}

/// Runs a copy until it has written a line for which `is_last` is true, and kills it. Returns whether it ended first.
pub(crate) fn run_and_kill_at(dir: &WorkDir, from: &str, to: &str, mut is_last: impl FnMut(&str) -> bool) -> bool {
    let mut child = dir.command(&["copy", "--from", from, "--to", to]).spawn().unwrap();
    let output = BufReader::new(child.stderr.take().unwrap());
    let is_killed = output.lines().any(|line| is_last(&line.unwrap()));
    if is_killed {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    assert!(is_killed || status.success(), "{status}");
    !is_killed
}

#[test]
fn a_copy_that_is_killed_repeatedly_continues_and_ends_equal_to_its_source() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (_, url) = empty_database(server);
    for (from, to) in [("a.db", url.as_str()), (url.as_str(), "back.db")] {
        let mut kills = 0;
        while !run_and_kill(&dir, from, to, 2 + kills * 2) {
            kills += 1;
            assert!(kills < 60, "the copy makes no progress");
        }
        assert!(kills >= 4, "{kills}");
    }
    let (mut source, schema) = contents(&dir.path("a.db"));
    let (mut back, back_schema) = contents(&dir.path("back.db"));
    source.remove("activities");
    back.remove("activities");
    assert!(source == back && schema == back_schema, "the copies differ");
    dir.run(&["check", "--db", "back.db"]).succeeded();
}

#[test]
fn an_incomplete_copy_is_refused_by_all_commands_except_the_copy_that_created_it() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (_, url) = empty_database(server);
    dir.run(&["copy", "--from", "a.db", "--to", &url]).succeeded();
    let (_, second) = empty_database(server);
    for (from, to) in [("a.db", second.as_str()), (url.as_str(), "back.db")] {
        assert!(!run_and_kill(&dir, from, to, 6));
        dir.run(&["serve", "--listen", "127.0.0.1:0", "--db", to]).failed(78, "is an incomplete copy");
        dir.run(&["key", "list", "--db", to]).failed(1, "is an incomplete copy");
    }
    // The source has changed since the copy began.
    dir.run(&["bootstrap-admin", "--db", "a.db", "--email", "later@example.org"]).succeeded();
    copy(&dir, "a.db", &second).failed(78, "is an incomplete copy of another source, or its source has changed");
    // The source is another database.
    let (other, _) = with_demo();
    copy(&other, "a.db", &second).failed(78, "is an incomplete copy of another source");
}

#[test]
fn a_copy_refuses_databases_that_it_cannot_use() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (database, url) = empty_database(server);
    dir.write("text.txt", "no database");
    copy(&dir, "missing.db", &url).failed(78, "missing.db does not exist");
    copy(&dir, "text.txt", &url).failed(78, "is not an appliance database file");
    copy(&dir, "a.db", "b.db").failed(78, "both databases are files; use `appliance backup`");
    copy(&dir, &url, &url).failed(78, "is both the source and the destination");
    copy(&dir, &url, "b.db").failed(78, "is empty");
    let wrong = server.url(USER, "missing", "sslmode=disable");
    copy(&dir, "a.db", &wrong).failed(78, "does not exist");
    copy(&dir, "a.db", "postgres://user:secret@127.0.0.1:1/jobs").failed(1, "cannot be reached");
    server.psql(&database, "CREATE TABLE theirs (a int)");
    copy(&dir, "a.db", &url).failed(78, "has tables of another program");
    server.psql(&database, "DROP TABLE theirs");
    // A service uses the source.
    let service = dir.serve(&["--db", "a.db"]);
    copy(&dir, "a.db", &url).failed(1, "a service or another copy is using a.db");
    service.stop("TERM").succeeded();
    copy(&dir, "a.db", &url).succeeded();
    copy(&dir, "a.db", &url).failed(78, "exists and has data, and was not changed");
    copy(&dir, &url, "a.db").failed(78, "exists and has data, and was not changed");
    let service = dir.serve(&["--db", &url]);
    copy(&dir, &url, "b.db").failed(1, "a service or another copy is using postgres://");
    service.stop("TERM").succeeded();
    server.psql(&database, "UPDATE engine_schema SET version = 99");
    copy(&dir, &url, "b.db").failed(78, "has version 99");
}

#[test]
fn a_text_that_postgresql_cannot_store_is_named_before_the_copy_begins() {
    let Some(server) = shared() else { return };
    let (dir, _) = with_demo();
    let (database, url) = empty_database(server);
    let id = "SELECT number FROM candidates ORDER BY number LIMIT 1";
    let number = dir.number("a.db", id);
    for (name, why) in [("'a' || char(0) || 'b'", "contains a NUL character"), ("CAST(x'61ff' AS TEXT)", "not UTF-8")] {
        dir.change("a.db", &format!("UPDATE candidates SET name = {name} WHERE number = {number}"));
        let output = copy(&dir, "a.db", &url);
        assert_eq!(output.code, Some(78), "{output:?}");
        let row = format!("column name of the row {number} of the table candidates");
        assert!(output.stderr.contains(why) && output.stderr.contains(&row), "{output:?}");
        assert_eq!(server.psql(&database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
    }
}
