//! A service whose files are removed, moved, replaced or overwritten under it: it stops, says so, and leaves what lies there
//! alone.

use crate::support::{Place, Serving, eventually};

/// A service on `a.db`, with a row in its log, once the file by itself has the mark of this run.
fn serving(place: &Place) -> Serving {
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    serving.get("/api/v1/me", &key).expect(200);
    eventually(|| {
        std::thread::yield_now();
        let connection = rusqlite::Connection::open(place.path("a.db")).unwrap();
        let mark = connection.query_row("SELECT mark FROM service_marks", [], |row| row.get::<_, Vec<u8>>(0));
        mark.is_ok_and(|mark| place.read("a.db").windows(mark.len()).any(|window| window == mark))
    });
    serving
}

#[track_caller]
fn stops(serving: Serving, sentence: &str) {
    let ended = serving.ended();
    assert_eq!(ended.code, Some(78), "{sentence}: {ended:?}");
    // The log has a line about it too; the thread that writes the log may be ahead of the command or behind it.
    let own: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("appliance: ")).collect();
    assert!(
        own.len() == 1 && own[0].starts_with("appliance: the service cannot go on: ") && own[0].contains(sentence),
        "{sentence}: {ended:?}"
    );
}

#[test]
fn a_file_that_is_removed_moved_or_replaced_stops_the_service() {
    for name in ["a.db", "a.db.lock", "a.db-wal", "a.db-shm"] {
        let place = Place::new();
        let service = serving(&place);
        std::fs::remove_file(place.path(name)).unwrap();
        stops(service, &format!("{name} was removed or moved while the service ran"));
        let place = Place::new();
        let service = serving(&place);
        std::fs::copy(place.path(name), place.path("other")).unwrap();
        std::fs::rename(place.path("other"), place.path(name)).unwrap();
        let before = place.read("a.db");
        stops(service, &format!("{name} was replaced by another file while the service ran"));
        assert_eq!(place.read("a.db"), before, "{name}");
    }
}

#[test]
fn a_file_that_is_moved_keeps_what_was_answered() {
    let place = Place::new();
    let service = serving(&place);
    std::fs::rename(place.path("a.db"), place.path("b.db")).unwrap();
    std::os::unix::fs::symlink("b.db", place.path("a.db")).unwrap();
    stops(service, "a.db was replaced by another file");
    std::fs::rename(place.path("a.db-wal"), place.path("b.db-wal")).unwrap();
    place.serve(&["--db", "b.db"]).stop("TERM").succeeded();
    assert_eq!(place.number("b.db", "SELECT count(*) FROM api_key_usage"), 1);
    place.run(&["check", "--db", "b.db"]).succeeded();
}

/// Writes these bytes into the file that has the name, as `cp` does. Waits before for a checkpoint that is under way: the
/// service cannot take back the pages that it is writing. The next one is due 10 seconds later.
fn write_over(place: &Place, name: &str, bytes: &[u8]) {
    use std::io::Write;
    let path = place.path(name);
    let connection = rusqlite::Connection::open(&path).unwrap();
    eventually(|| {
        let counts =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
        let (busy, pages, moved) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], counts).unwrap();
        busy == 0 && pages >= 0 && moved == pages
    });
    drop(connection);
    let mut file = std::fs::OpenOptions::new().write(true).truncate(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

/// Makes the bytes that are written over the file.
type Make = fn(&Place) -> Vec<u8>;

#[test]
fn a_file_that_is_written_over_in_its_place_stops_the_service_and_stays_as_it_is() {
    let copies: [(&str, Make); 6] = [
        ("was emptied", |_| Vec::new()),
        ("was written over with something else", |_| b"hello\n".repeat(10_000)),
        ("was written over with", |place| place.read("before.db")),
        ("was written over with", |place| {
            place.run(&["backup", "--db", "a.db", "copy.db"]).succeeded();
            place.read("copy.db")
        }),
        // One that was made in the same way, step by step.
        ("was written over with", |_| {
            let other = Place::new();
            let service = serving(&other);
            service.stop("TERM").succeeded();
            other.read("a.db")
        }),
        ("was written over with", |place| {
            place.imported("b.db");
            place.admin_key("b.db");
            place.read("b.db")
        }),
    ];
    for (sentence, make) in copies {
        let place = Place::new();
        place.imported("before.db");
        let service = serving(&place);
        let bytes = make(&place);
        write_over(&place, "a.db", &bytes);
        stops(service, sentence);
        assert!(place.read("a.db") == bytes, "{sentence}: it was written to");
    }
}

#[test]
fn a_service_that_is_told_to_stop_leaves_another_ones_file_alone() {
    let place = Place::new();
    let service = serving(&place);
    place.imported("b.db");
    let bytes = place.read("b.db");
    std::fs::rename(place.path("b.db"), place.path("a.db")).unwrap();
    let ended = service.stop("TERM");
    assert_eq!(ended.code, Some(78), "{ended:?}");
    assert!(place.read("a.db") == bytes, "it was written to");
}
