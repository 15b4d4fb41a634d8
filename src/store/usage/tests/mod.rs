//! Tests of the usage log: its index, pruning and restarts.

#[cfg(feature = "postgres")]
mod two_servers;

use std::path::Path;
use std::sync::{Arc, mpsc};

use super::indexing::add_missing;
use super::{LogEntry, UsageRow, index, log, page, pruning};
use crate::db::sqlite::connection::{self, Use, open_job_reader};
use crate::db::sqlite::tests::run_all;
use crate::db::tx::Tx;
use crate::domain::api_key::{self, Grant, KeySecret};
use crate::domain::id::{Id, UserId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::PlatformRole;
use crate::store::{Grade, Store, check, user};
use crate::world::{Scripted, World};

/// The number of rows for each of the two keys.
const ROWS_PER_KEY: usize = 204;

/// The number of index entries for these rows of each key.
const ENTRIES_PER_KEY: usize = 3;

fn store(path: &Path) -> Store {
    let store = Store::open(path, Arc::new(Scripted::at(Timestamp::from_micros(1_000_000)))).unwrap();
    make_keys(path, &Scripted::at(Timestamp::from_micros(1_000_000)));
    store
}

/// Creates a user with two keys.
fn make_keys(path: &Path, world: &dyn World) {
    crate::store::act_alone(path, world, |tx| {
        let user_id = UserId::parse("user_1").unwrap();
        user::insert(tx, &user_id, &Email::parse("ada@example.org").unwrap(), "Ada", PlatformRole::User)?;
        for name in ["one", "two"] {
            let key = crate::store::api_key::NewApiKey {
                id: world.id(),
                secret: KeySecret::generate(|bytes| world.fill(bytes)),
                user_id: user_id.clone(),
                name: name.to_owned(),
                grant: Grant::of(None),
                expires_at: api_key::expires_at(tx.now, 1),
            };
            crate::store::api_key::insert(tx, &key)?;
        }
        Ok(())
    })
    .unwrap();
}

fn append(store: &Store, count: usize) {
    let (done, ended) = mpsc::channel();
    let job = move |tx: &Tx<'_>| {
        for nth in 0..2 * count {
            let entry = LogEntry {
                key_number: 1 + (nth % 2) as i64,
                method: "GET".into(),
                path: format!("/{nth}").into(),
                ip: "192.0.2.1".parse().unwrap(),
                user_agent: String::new(),
                auth_endpoint: "/",
            };
            log::append(tx, &entry)?;
        }
        Ok(())
    };
    store.write(Grade::Logged, job, move |outcome| drop(done.send(outcome)));
    ended.recv().unwrap().unwrap();
}

/// Reads all rows of a key in pages of a hundred, newest first.
fn pages(store: &Store, key_number: i64) -> Vec<(i64, String)> {
    let mut rows: Vec<UsageRow> = Vec::new();
    loop {
        let before = rows.last().map(|row| row.at);
        let page = store.read(|tx| page(tx, key_number, before, 100)).unwrap();
        if page.is_empty() {
            return rows.into_iter().map(|row| (row.at.micros(), row.path)).collect();
        }
        rows.extend(page);
    }
}

fn statistics(store: &Store) -> Vec<(Option<Timestamp>, i64)> {
    let keys = store.read(crate::store::api_key::list).unwrap();
    keys.iter().map(|key| (key.last_request, key.request_count)).collect()
}

/// Asserts that the page before each row's time, and the page before the next microsecond, have the expected rows.
fn assert_pages_begin_anywhere(store: &Store, rows: &[(i64, String)]) {
    for before in rows.iter().flat_map(|(at, _)| [*at, at + 1]) {
        let page = store.read(|tx| page(tx, 1, Some(Timestamp::from_micros(before)), 2)).unwrap();
        let expected: Vec<i64> = rows.iter().map(|(at, _)| *at).filter(|at| *at < before).take(2).collect();
        assert_eq!(page.iter().map(|row| row.at.micros()).collect::<Vec<_>>(), expected, "before {before}");
    }
}

#[test]
fn pages_and_statistics_are_equal_before_during_and_after_indexing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = store(&path);
    let reader = open_job_reader(&path).unwrap();
    let all = |store: &Store| (pages(store, 1), pages(store, 2), statistics(store));
    append(&store, ROWS_PER_KEY);
    let unindexed = all(&store);
    assert_eq!((unindexed.0.len(), unindexed.2[0].1), (ROWS_PER_KEY, ROWS_PER_KEY as i64));
    assert_pages_begin_anywhere(&store, &unindexed.0);
    // The next statements create the state that a process leaves in the file if it is killed between two slices.
    let missing = reader.snapshot(Timestamp::from_micros(0), index::missing_index).unwrap();
    assert_eq!((missing.entries.len(), missing.newest.len(), missing.to), (2 * ENTRIES_PER_KEY, 2, unindexed.1[0].0));
    store.parts.writer.run(move |tx| index::add_entries(tx, &missing.entries[..ENTRIES_PER_KEY + 1])).unwrap();
    assert_eq!(all(&store), unindexed);
    store.parts.writer.run(move |tx| index::set_newest(tx, &missing.newest[..1])).unwrap();
    assert_eq!(all(&store), unindexed);
    assert_pages_begin_anywhere(&store, &unindexed.0);
    add_missing(&reader, &store.parts.writer).unwrap();
    assert_eq!(all(&store), unindexed);
    assert_pages_begin_anywhere(&store, &unindexed.0);
    append(&store, 3);
    let more = all(&store);
    assert_eq!((more.0.len(), more.2[1].1), (ROWS_PER_KEY + 3, ROWS_PER_KEY as i64 + 3));
    assert!(more.0.ends_with(&unindexed.0) && more.1.ends_with(&unindexed.1));
    assert_pages_begin_anywhere(&store, &more.0);
    add_missing(&reader, &store.parts.writer).unwrap();
    assert_eq!(all(&store), more);
    assert_pages_begin_anywhere(&store, &more.0);
    let missing = reader.snapshot(Timestamp::from_micros(0), index::missing_index).unwrap();
    assert_eq!((missing.entries, missing.newest), (Vec::new(), Vec::new()));
    assert_eq!(check::check(&path, |_| {}).unwrap(), Vec::<String>::new());
}

#[test]
fn pruning_deletes_old_rows_and_retains_statistics_and_row_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = store(&path);
    let reader = open_job_reader(&path).unwrap();
    let outdated = |before, rows_max| {
        reader.snapshot(Timestamp::from_micros(0), |tx| pruning::outdated(tx, before, rows_max)).unwrap()
    };
    append(&store, ROWS_PER_KEY);
    let end = Timestamp::from_micros(i64::MAX);
    assert_eq!(outdated(end, 9), Vec::new(), "rows that are not indexed are not pruned");
    add_missing(&reader, &store.parts.writer).unwrap();
    let (all, counted) = (pages(&store, 1), statistics(&store));
    // Pruning stops between rows of the other key, at an index entry, and next to an index entry. The last run deletes
    // all rows.
    for left in [203, 150, 140, 77, 76, 1, 0] {
        let before = all.get(left).map_or(end, |(at, _)| Timestamp::from_micros(at + 1));
        loop {
            let rows = outdated(before, 64);
            if rows.is_empty() {
                break;
            }
            store.parts.writer.run(move |tx| pruning::delete(tx, &rows)).unwrap();
        }
        assert_eq!((pages(&store, 1), statistics(&store)), (all[..left].to_vec(), counted.clone()), "{left}");
        assert_pages_begin_anywhere(&store, &all[..left]);
        assert_eq!(check::check(&path, |_| {}).unwrap(), Vec::<String>::new(), "{left}");
    }
    append(&store, 1);
    store.close();
    drop(store);
    // Although the clock is behind and all rows are deleted, the next row is later than every deleted row.
    let reopened = Store::open(&path, Arc::new(Scripted::at(Timestamp::from_micros(7)))).unwrap();
    add_missing(&reader, &reopened.parts.writer).unwrap();
    let rows = outdated(end, 64);
    reopened.parts.writer.run(move |tx| pruning::delete(tx, &rows)).unwrap();
    append(&reopened, 1);
    let numbers: Vec<i64> = statistics(&reopened).into_iter().map(|(_, count)| count).collect();
    assert_eq!((numbers, pages(&reopened, 1).len()), (vec![ROWS_PER_KEY as i64 + 2; 2], 1));
    assert_eq!(check::check(&path, |_| {}).unwrap(), Vec::<String>::new());
}

#[test]
fn a_check_reports_each_defect_of_the_usage_log() {
    let defects = [
        (
            "UPDATE api_key_usage SET previous_at = NULL WHERE number = 9",
            "rows that do not refer to the previous row of their key: 2",
        ),
        ("UPDATE api_key_usage_marks SET key_number = key_number + 2", "index entries that do not refer to a row: 6"),
        ("UPDATE api_key_usage_newest SET at = at + 2 WHERE key_number = 2", "keys whose newest row does not exist: 1"),
        (
            "DELETE FROM api_key_usage_newest WHERE key_number = 2",
            "rows that cannot be reached from the newest row of their key: 204",
        ),
        (
            "UPDATE api_key_usage_marking SET pruned_to = marked_to; DELETE FROM api_key_usage WHERE number < 200",
            "index entries that do not refer to a row: 6",
        ),
        ("DELETE FROM api_key_usage_marking", "the end of the usage index is missing"),
    ];
    for (statement, finding) in defects {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let store = store(&path);
        append(&store, ROWS_PER_KEY);
        add_missing(&open_job_reader(&path).unwrap(), &store.parts.writer).unwrap();
        store.close();
        run_all(&connection::open(&path, Use::Write).unwrap(), statement);
        let findings = check::check(&path, |_| {}).unwrap();
        assert_eq!(findings, [format!("usage log: {finding}")], "{statement}");
    }
}

#[test]
fn row_numbers_continue_after_a_restart_with_and_without_an_index() {
    for is_indexed in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let first = store(&path);
        append(&first, 5);
        if is_indexed {
            add_missing(&open_job_reader(&path).unwrap(), &first.parts.writer).unwrap();
        }
        first.close();
        drop(first);
        let reopened = Store::open(&path, Arc::new(Scripted::at(Timestamp::from_micros(7)))).unwrap();
        append(&reopened, 1);
        let counts: Vec<i64> = statistics(&reopened).into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts, [6, 6], "indexed: {is_indexed}");
        assert_eq!(pages(&reopened, 1).len(), 6);
    }
}

#[test]
fn a_delayed_index_run_does_not_replace_the_newest_row_of_a_key_with_an_older_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = store(&path);
    let reader = open_job_reader(&path).unwrap();
    append(&store, 2);
    let delayed = reader.snapshot(Timestamp::from_micros(0), index::missing_index).unwrap();
    append(&store, 3);
    add_missing(&reader, &store.parts.writer).unwrap();
    let expected = statistics(&store);
    store.parts.writer.run(move |tx| index::set_newest(tx, &delayed.newest)).unwrap();
    store.parts.writer.run(move |tx| index::set_indexed_to(tx, delayed.to)).unwrap();
    assert_eq!(statistics(&store), expected);
    assert_eq!(expected[0].1, 5);
}
