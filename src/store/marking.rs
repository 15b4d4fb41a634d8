//! Marking the usage log, so that its rows are found by key: many rows at once, in slices that keep nobody waiting.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::redating;
use super::usage::{self, Unmarked};
use crate::db::clock::Clock;
use crate::db::connection::{self, Use};
use crate::db::health::{Health, Job};
use crate::db::notice::Notices;
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error};
use crate::db::writer::Writer;
use crate::domain::timestamp::Timestamp;

/// How often is looked whether it is time.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Rows from which it is: with fewer, there are as many marks for fewer rows, because each key has one.
const ROWS_MIN: u64 = 20_000;

/// How long fewer rows wait.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// How long after a failure the next attempt is made.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Rows that one transaction marks or notes: half a millisecond of the writing connection, which others wait for.
const SLICE_ROWS: usize = 512;

/// Rows that were appended and not marked. Those of before the start are not counted, so it begins with one.
pub(crate) struct Appended(AtomicU64);

impl Default for Appended {
    fn default() -> Self {
        Self(AtomicU64::new(1))
    }
}

impl Appended {
    pub(crate) fn add(&self, rows: usize) {
        self.0.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

/// Starts the thread that marks, and dates rows back. Both move index entries, so one thread does both.
pub(super) fn start(
    path: &Path,
    appended: Arc<Appended>,
    writer: Arc<Writer>,
    (clock, notices): (Arc<Clock>, Arc<Notices>),
    health: &Arc<Health>,
) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut marked_at = Instant::now();
    let mut has_failed = false;
    let look = move || {
        let rows = appended.0.load(Ordering::Relaxed);
        let wait = if has_failed { RETRY_AFTER } else { WAIT_MAX };
        let is_full = rows >= ROWS_MIN && !has_failed;
        let marked = (is_full || (rows > 0 && marked_at.elapsed() >= wait)).then(|| {
            appended.0.fetch_sub(rows, Ordering::Relaxed);
            let marked = mark(&connection, &writer);
            has_failed = marked.is_err();
            if has_failed {
                // They are still there.
                appended.0.fetch_add(rows, Ordering::Relaxed);
            }
            marked_at = Instant::now();
            marked
        });
        // What fails now is dated back at a later look. On a clock that is not believed, nobody knows what the future is.
        let reading = clock.read();
        if reading.agrees()
            && let Ok(rows @ 1..) = date_back(&connection, &writer, &clock)
        {
            notices.say(format!(
                "{rows} rows of the usage log were dated in the future by a clock that was ahead; they are dated just before \
                 {} now, in their order",
                reading.wall
            ));
        }
        marked
    };
    Periodic::reporting(health, Job::UsageIndex, LOOK_EVERY, look)
}

/// Dates back what a clock that was ahead has dated in the future, in slices. How many rows they were.
fn date_back(connection: &crate::db::row::Connection, writer: &Writer, clock: &Arc<Clock>) -> Result<usize, Error> {
    let mut rows = 0;
    if tx::snapshot(connection, clock.read().wall, redating::is_due)? {
        let slice = || {
            let clock = Arc::clone(clock);
            let slice = move |tx: &tx::Tx<'_>| {
                if clock.read().agrees() { redating::date_back(tx, redating::ROWS_MAX) } else { Ok(0) }
            };
            writer.run(slice)
        };
        while let moved @ 1.. = slice()? {
            rows += moved;
        }
    }
    Ok(rows)
}

fn mark(connection: &crate::db::row::Connection, writer: &Writer) -> Result<(), Error> {
    let Unmarked { marks, newest, to } = tx::snapshot(connection, Timestamp::from_micros(0), usage::unmarked)?;
    for slice in marks.chunks(SLICE_ROWS) {
        let slice = slice.to_vec();
        writer.run(move |tx| usage::mark(tx, &slice))?;
    }
    for slice in newest.chunks(SLICE_ROWS) {
        let slice = slice.to_vec();
        writer.run(move |tx| usage::note_newest(tx, &slice))?;
    }
    writer.run(move |tx| usage::set_marked_to(tx, to))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::domain::api_key::{self, Grant, KeySecret};
    use crate::domain::id::{Id, UserId};
    use crate::domain::text::Email;
    use crate::domain::user::PlatformRole;
    use crate::store::usage::{LogEntry, UsageRow};
    use crate::store::{Grade, Store, Tx, user};
    use crate::world::{Scripted, World};

    /// Of each of two keys.
    const ROWS_OF_KEY: usize = 204;
    const MARKS_OF_KEY: usize = 3;

    fn store(path: &Path) -> Store {
        let store = Store::open(path, Arc::new(Scripted::at(Timestamp::from_micros(1_000_000)))).unwrap();
        let world: &dyn World = &Scripted::at(Timestamp::from_micros(1_000_000));
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
        store
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
                usage::append(tx, &entry)?;
            }
            Ok(())
        };
        store.write(Grade::Logged, job, move |outcome| drop(done.send(outcome)));
        ended.recv().unwrap().unwrap();
    }

    /// Every row of a key by pages of a hundred, newest first.
    fn pages(store: &Store, key_number: i64) -> Vec<(i64, String)> {
        let mut rows: Vec<UsageRow> = Vec::new();
        loop {
            let before = rows.last().map(|row| row.at);
            let page = store.read(|tx| usage::page(tx, key_number, before, 100)).unwrap();
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

    /// Pages from between any two rows, and from outside of all.
    fn assert_pages_begin_anywhere(store: &Store, rows: &[(i64, String)]) {
        for before in rows.iter().flat_map(|(at, _)| [*at, at + 1]) {
            let page = store.read(|tx| usage::page(tx, 1, Some(Timestamp::from_micros(before)), 2)).unwrap();
            let expected: Vec<i64> = rows.iter().map(|(at, _)| *at).filter(|at| *at < before).take(2).collect();
            assert_eq!(page.iter().map(|row| row.at.micros()).collect::<Vec<_>>(), expected, "before {before}");
        }
    }

    #[test]
    fn pages_and_statistics_are_the_same_before_between_and_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let store = store(&path);
        let reader = connection::open(&path, Use::Read).unwrap();
        let all = |store: &Store| (pages(store, 1), pages(store, 2), statistics(store));
        append(&store, ROWS_OF_KEY);
        let unmarked = all(&store);
        assert_eq!((unmarked.0.len(), unmarked.2[0].1), (ROWS_OF_KEY, ROWS_OF_KEY as i64));
        assert_pages_begin_anywhere(&store, &unmarked.0);
        // As a kill between two slices leaves it.
        let found = tx::snapshot(&reader, Timestamp::from_micros(0), usage::unmarked).unwrap();
        assert_eq!((found.marks.len(), found.newest.len(), found.to), (2 * MARKS_OF_KEY, 2, unmarked.1[0].0));
        store.writer.run(move |tx| usage::mark(tx, &found.marks[..MARKS_OF_KEY + 1])).unwrap();
        assert_eq!(all(&store), unmarked);
        store.writer.run(move |tx| usage::note_newest(tx, &found.newest[..1])).unwrap();
        assert_eq!(all(&store), unmarked);
        assert_pages_begin_anywhere(&store, &unmarked.0);
        mark(&reader, &store.writer).unwrap();
        assert_eq!(all(&store), unmarked);
        assert_pages_begin_anywhere(&store, &unmarked.0);
        append(&store, 3);
        let more = all(&store);
        assert_eq!((more.0.len(), more.2[1].1), (ROWS_OF_KEY + 3, ROWS_OF_KEY as i64 + 3));
        assert!(more.0.ends_with(&unmarked.0) && more.1.ends_with(&unmarked.1));
        assert_pages_begin_anywhere(&store, &more.0);
        mark(&reader, &store.writer).unwrap();
        assert_eq!(all(&store), more);
        assert_pages_begin_anywhere(&store, &more.0);
        let found = tx::snapshot(&reader, Timestamp::from_micros(0), usage::unmarked).unwrap();
        assert_eq!((found.marks, found.newest), (Vec::new(), Vec::new()));
        assert_eq!(crate::store::check::check(&path, |_| {}).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn pruned_rows_are_gone_and_pages_statistics_and_numbers_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let store = store(&path);
        let reader = connection::open(&path, Use::Read).unwrap();
        let outdated = |before, rows_max| {
            tx::snapshot(&reader, Timestamp::from_micros(0), |tx| usage::outdated(tx, before, rows_max)).unwrap()
        };
        append(&store, ROWS_OF_KEY);
        let end = Timestamp::from_micros(i64::MAX);
        assert_eq!(outdated(end, 9), Vec::new(), "what is not marked is not pruned");
        mark(&reader, &store.writer).unwrap();
        let (all, counted) = (pages(&store, 1), statistics(&store));
        // Between two rows of the other key, on a mark and beside one, and in the end all.
        for left in [203, 150, 140, 77, 76, 1, 0] {
            let before = all.get(left).map_or(end, |(at, _)| Timestamp::from_micros(at + 1));
            loop {
                let rows = outdated(before, 64);
                if rows.is_empty() {
                    break;
                }
                store.writer.run(move |tx| usage::prune(tx, &rows)).unwrap();
            }
            assert_eq!((pages(&store, 1), statistics(&store)), (all[..left].to_vec(), counted.clone()), "{left}");
            assert_pages_begin_anywhere(&store, &all[..left]);
            assert_eq!(crate::store::check::check(&path, |_| {}).unwrap(), Vec::<String>::new(), "{left}");
        }
        append(&store, 1);
        store.close();
        drop(store);
        // The clock has not moved on, and all rows are gone: the next is later all the same.
        let again = Store::open(&path, Arc::new(Scripted::at(Timestamp::from_micros(7)))).unwrap();
        mark(&reader, &again.writer).unwrap();
        let rows = outdated(end, 64);
        again.writer.run(move |tx| usage::prune(tx, &rows)).unwrap();
        append(&again, 1);
        let numbers: Vec<i64> = statistics(&again).into_iter().map(|(_, count)| count).collect();
        assert_eq!((numbers, pages(&again, 1).len()), (vec![ROWS_OF_KEY as i64 + 2; 2], 1));
        assert_eq!(crate::store::check::check(&path, |_| {}).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_log_whose_rows_are_not_found_is_a_finding() {
        let spoilt = [
            ("UPDATE api_key_usage SET previous_at = NULL WHERE number = 9", "2 rows do not name the row before them"),
            ("UPDATE api_key_usage_marks SET key_number = key_number + 2", "6 marks are of no row"),
            ("UPDATE api_key_usage_newest SET at = at + 2 WHERE key_number = 2", "of 1 keys the newest row is none"),
            ("DELETE FROM api_key_usage_newest WHERE key_number = 2", "204 rows are not found by their key"),
            (
                "UPDATE api_key_usage_marking SET pruned_to = marked_to; DELETE FROM api_key_usage WHERE number < 200",
                "6 marks are of no row",
            ),
            ("DELETE FROM api_key_usage_marking", "up to when it is marked is not told"),
        ];
        for (statement, finding) in spoilt {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.db");
            let store = store(&path);
            append(&store, ROWS_OF_KEY);
            mark(&connection::open(&path, Use::Read).unwrap(), &store.writer).unwrap();
            store.close();
            connection::open(&path, Use::Write).unwrap().execute_batch(statement).unwrap();
            let findings = crate::store::check::check(&path, |_| {}).unwrap();
            assert_eq!(findings, [format!("usage log: {finding}")], "{statement}");
        }
    }

    #[test]
    fn numbers_go_on_after_a_restart_whether_marked_or_not() {
        for marked in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.db");
            let first = store(&path);
            append(&first, 5);
            if marked {
                mark(&connection::open(&path, Use::Read).unwrap(), &first.writer).unwrap();
            }
            first.close();
            drop(first);
            let again = Store::open(&path, Arc::new(Scripted::at(Timestamp::from_micros(7)))).unwrap();
            append(&again, 1);
            let counts: Vec<i64> = statistics(&again).into_iter().map(|(_, count)| count).collect();
            assert_eq!(counts, [6, 6], "marked: {marked}");
            assert_eq!(pages(&again, 1).len(), 6);
        }
    }
}
