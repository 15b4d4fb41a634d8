//! A service stops with an error if its files are removed, moved, replaced or overwritten. It does not change the files
//! that it finds instead.

use crate::support::{RunningService, WorkDir, eventually};

/// Starts a service on `a.db` and sends one request. Returns when the service has copied the usage row of the request
/// into the file. The file then also contains the mark of this run, by which the service recognizes its file, and the
/// next checkpoint is due 10 seconds later. This function does not run a checkpoint itself, because the first
/// checkpoint of the service would then still follow.
fn serve_until_marked(dir: &WorkDir) -> RunningService {
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    service.get("/api/v1/me", &key).expect(200);
    let connection = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    eventually(|| {
        let counts = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        let (pages, copied) = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], counts).unwrap();
        pages > 0 && pages == copied
    });
    service
}

#[track_caller]
fn require_stop(service: RunningService, sentence: &str) {
    let output = service.wait();
    assert_eq!(output.code, Some(78), "{sentence}: {output:?}");
    // The log also gives the reason on another line, without the prefix `appliance: `. Either line can come first.
    let own: Vec<&str> = output.stderr.lines().filter(|line| line.starts_with("appliance: ")).collect();
    assert!(
        own.len() == 1 && own[0].starts_with("appliance: the service cannot continue: ") && own[0].contains(sentence),
        "{sentence}: {output:?}"
    );
}

#[test]
fn the_service_stops_if_a_file_is_removed_moved_or_replaced() {
    for name in ["a.db", "a.db.lock", "a.db-wal", "a.db-shm"] {
        let dir = WorkDir::new();
        let service = serve_until_marked(&dir);
        std::fs::remove_file(dir.path(name)).unwrap();
        require_stop(service, &format!("{name} was removed or moved while the service was using it"));
        let dir = WorkDir::new();
        let service = serve_until_marked(&dir);
        std::fs::copy(dir.path(name), dir.path("other")).unwrap();
        std::fs::rename(dir.path("other"), dir.path(name)).unwrap();
        let before = dir.read("a.db");
        require_stop(service, &format!("{name} was replaced by another file while the service was using it"));
        assert_eq!(dir.read("a.db"), before, "{name}");
    }
}

#[test]
fn a_moved_file_contains_the_usage_rows_of_all_answered_requests() {
    let dir = WorkDir::new();
    let service = serve_until_marked(&dir);
    std::fs::rename(dir.path("a.db"), dir.path("b.db")).unwrap();
    std::os::unix::fs::symlink("b.db", dir.path("a.db")).unwrap();
    require_stop(service, "a.db was replaced by another file");
    std::fs::rename(dir.path("a.db-wal"), dir.path("b.db-wal")).unwrap();
    dir.serve(&["--db", "b.db"]).stop("TERM").succeeded();
    assert_eq!(dir.number("b.db", "SELECT count(*) FROM api_key_usage"), 1);
    dir.run(&["check", "--db", "b.db"]).succeeded();
}

/// Overwrites a file in place. Writes before it truncates, so that the service never finds the file empty, unless
/// `bytes` is empty. First waits for a running checkpoint, because that checkpoint could otherwise write pages after
/// the overwrite.
fn overwrite(dir: &WorkDir, name: &str, bytes: &[u8]) {
    let path = dir.path(name);
    // While this transaction is open, no commit adds pages that a checkpoint would copy.
    let lock = rusqlite::Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    eventually(|| {
        let counts =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        let (busy, pages, moved) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], counts).unwrap();
        busy == 0 && pages >= 0 && moved == pages
    });
    drop(connection);
    write_over(dir, name, bytes);
    drop(lock);
}

fn write_over(dir: &WorkDir, name: &str, bytes: &[u8]) {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().write(true).open(dir.path(name)).unwrap();
    file.write_all(bytes).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

/// A function that creates the bytes that overwrite the file.
type Make = fn(&WorkDir) -> Vec<u8>;

#[test]
fn the_service_stops_without_changing_its_file_if_the_file_is_overwritten() {
    let copies: [(&str, Make); 6] = [
        ("was emptied", |_| Vec::new()),
        ("was overwritten with something else", |_| b"hello\n".repeat(10_000)),
        ("was overwritten with", |dir| dir.read("before.db")),
        ("was overwritten with", |dir| {
            dir.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
            dir.read("copy.db")
        }),
        // This file comes from another service with the same history.
        ("was overwritten with", |_| {
            let other = WorkDir::new();
            let service = serve_until_marked(&other);
            service.stop("TERM").succeeded();
            other.read("a.db")
        }),
        ("was overwritten with", |dir| {
            dir.imported("b.db");
            dir.admin_key("b.db");
            dir.read("b.db")
        }),
    ];
    for (sentence, make) in copies {
        let dir = WorkDir::new();
        dir.imported("before.db");
        let service = serve_until_marked(&dir);
        let bytes = make(&dir);
        overwrite(&dir, "a.db", &bytes);
        require_stop(service, sentence);
        assert!(dir.read("a.db") == bytes, "{sentence}: the service wrote to the file");
    }
}

#[test]
fn a_file_that_is_overwritten_right_after_the_start_is_noticed() {
    for round in 0..3 {
        let dir = WorkDir::new();
        dir.imported("a.db");
        dir.imported("b.db");
        dir.admin_key("b.db");
        let bytes = dir.read("b.db");
        let service = dir.serve(&["--db", "a.db"]);
        write_over(&dir, "a.db", &bytes);
        require_stop(service, "was overwritten with");
        assert!(dir.read("a.db") == bytes, "round {round}: the service wrote to the file");
    }
}

#[test]
fn a_vacuum_by_another_program_does_not_stop_the_service() {
    let dir = WorkDir::new();
    let service = serve_until_marked(&dir);
    for _ in 0..3 {
        dir.change("a.db", "VACUUM; PRAGMA wal_checkpoint(PASSIVE);");
        // On each request, the service checks that its files are still the same. Four times a second, a job checks the
        // mark of this run.
        for _ in 0..20 {
            service.send("GET", "/readyz", &[], "").expect(200);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
    service.stop("TERM").succeeded();
}

#[test]
fn a_stopping_service_does_not_change_a_file_that_replaced_its_own() {
    let dir = WorkDir::new();
    let service = serve_until_marked(&dir);
    dir.imported("b.db");
    let bytes = dir.read("b.db");
    std::fs::rename(dir.path("b.db"), dir.path("a.db")).unwrap();
    let output = service.stop("TERM");
    assert_eq!(output.code, Some(78), "{output:?}");
    assert!(dir.read("a.db") == bytes, "the service wrote to the file");
}

#[test]
fn a_stopping_service_does_not_change_a_file_that_was_overwritten_just_before() {
    let other = WorkDir::new();
    serve_until_marked(&other).stop("TERM").succeeded();
    let bytes = other.read("a.db");
    for round in 0..3 {
        let dir = WorkDir::new();
        let service = serve_until_marked(&dir);
        overwrite(&dir, "a.db", &bytes);
        let output = service.stop("TERM");
        assert_eq!(output.code, Some(78), "round {round}: {output:?}");
        assert!(dir.read("a.db") == bytes, "round {round}: the service wrote to the file");
    }
}
