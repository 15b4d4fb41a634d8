//! Tests of the identity: when a mark that is missing or cannot be read means that the file was overwritten.

use super::*;
use crate::db::sqlite::tests;

const MARK: [u8; MARK_BYTES] = [7; MARK_BYTES];

/// Creates a file with the table for marks and about 20 further pages. Returns a connection and the page of the table.
fn marked_file(path: &Path) -> (Connection, u32) {
    let connection = tests::file(path);
    connection
        .sqlite()
        .execute_batch(
            "CREATE TABLE other (x BLOB);
             INSERT INTO other VALUES (zeroblob(80000));
             CREATE TABLE service_marks (id INTEGER PRIMARY KEY, mark BLOB)",
        )
        .unwrap();
    connection.sqlite().execute("INSERT INTO service_marks VALUES (1, ?1)", [&MARK]).unwrap();
    let page = root_page(&connection).unwrap();
    (connection, page)
}

/// Returns the identity of a service that has found its mark on this page, and that now reads from `handle`.
fn identity(path: &Path, handle: File, page: u32) -> Identity {
    let named = || NamedFile::now(path).unwrap();
    let mark = Mark { bytes: Some(MARK), page: Some(page), doubts: 0 };
    let (database, lock, mark) = (named(), named(), Mutex::new(mark));
    Identity { database, lock, beside: OnceLock::new(), seen: Mutex::default(), mark, handle }
}

#[test]
fn a_file_that_cannot_be_read_is_not_reported_as_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let (connection, page) = marked_file(&path);
    let readable = identity(&path, File::open(&path).unwrap(), page);
    assert_eq!((readable.unmarked(&connection), readable.is_doubtful()), (None, false));
    // Each read from a directory fails.
    let unreadable = identity(&path, File::open(dir.path()).unwrap(), page);
    for _ in 0..3 * DOUBTS_MAX {
        assert_eq!((unreadable.unmarked(&connection), unreadable.is_doubtful()), (None, true));
    }
}

#[test]
fn a_file_that_ends_before_the_page_of_the_mark_is_reported_as_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let (connection, page) = marked_file(&path);
    let copy = dir.path().join("copy.db");
    let content = std::fs::read(&path).unwrap();
    for bytes in [0, HEADER_BYTES, content.len() / 2] {
        std::fs::write(&copy, &content[..bytes]).unwrap();
        let identity = identity(&path, File::open(&copy).unwrap(), page);
        let finding = identity.unmarked(&connection).unwrap();
        assert!(finding.ends_with("a.db was overwritten with another copy"), "{bytes}: {finding}");
    }
}

#[test]
fn a_counter_is_behind_later_counters_even_after_an_overflow() {
    for (counter, other, expected) in
        [(1, 2, true), (2, 1, false), (2, 2, false), (u32::MAX, 0, true), (0, u32::MAX, false), (7, 4_000, true)]
    {
        assert_eq!(is_behind(counter, other), expected, "{counter} {other}");
    }
}

#[test]
fn a_file_that_a_vacuum_made_smaller_is_not_reported_as_truncated() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let (connection, page) = marked_file(&path);
    let pragmas = format!(
        "PRAGMA application_id = {}; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0",
        schema::APPLICATION_ID
    );
    connection.sqlite().execute_batch(&pragmas).unwrap();
    let checkpoint = |mode: Mode| assert!(Checkpoint::run(&connection, mode).unwrap().is_complete());
    connection.sqlite().execute_batch("INSERT INTO other VALUES (zeroblob(400000))").unwrap();
    checkpoint(Mode::Truncate);
    let identity = identity(&path, File::open(&path).unwrap(), page);
    let changed = || identity.overwritten(|| view(&connection).ok());
    assert_eq!(changed(), None);
    let operator = rusqlite::Connection::open(&path).unwrap();
    operator.execute_batch("DELETE FROM other; VACUUM").unwrap();
    checkpoint(Mode::Truncate);
    // The file is now smaller. Before the next check, a commit makes the database larger, but only in the log.
    connection.sqlite().execute_batch("INSERT INTO other VALUES (zeroblob(80000))").unwrap();
    assert_eq!(changed(), None);
    checkpoint(Mode::Truncate);
    assert_eq!(changed(), None);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(8_192).unwrap();
    assert!(changed().unwrap().ends_with("a.db was truncated"));
}
