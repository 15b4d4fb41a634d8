//! Sorting the usage log by key: many rows at once, in slices that keep nobody waiting.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::connection::{self, Use};
use super::job::Grade;
use super::thread::Periodic;
use super::tx::{self, Error, Tx};
use super::usage;
use super::writer::Writer;
use crate::domain::timestamp::Timestamp;

/// How often is looked whether it is time.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Rows from which it is: with fewer, each page of the sorted table is written for fewer rows.
const ROWS_MIN: u64 = 20_000;

/// How long fewer rows wait.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Rows of one transaction: half a millisecond of the writing connection, which others wait for.
const SLICE_ROWS: usize = 512;

/// Rows that were appended and not sorted. Those of before the start are not counted, so it begins with one.
pub(super) struct Unsorted(AtomicU64);

impl Default for Unsorted {
    fn default() -> Self {
        Self(AtomicU64::new(1))
    }
}

impl Unsorted {
    pub(super) fn add(&self, rows: usize) {
        self.0.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

/// Starts the thread that sorts.
pub(super) fn start(path: &Path, unsorted: Arc<Unsorted>, writer: Arc<Writer>) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let mut sorted_at = Instant::now();
    let look = move || {
        let rows = unsorted.0.load(Ordering::Relaxed);
        if rows >= ROWS_MIN || (rows > 0 && sorted_at.elapsed() >= WAIT_MAX) {
            unsorted.0.fetch_sub(rows, Ordering::Relaxed);
            // What fails now is sorted with the rows that come next: they are still there.
            let _ = sort(&connection, &writer);
            sorted_at = Instant::now();
        }
    };
    Periodic::start("sorting", LOOK_EVERY, look)
}

fn sort(connection: &rusqlite::Connection, writer: &Writer) -> Result<(), Error> {
    let (rows, newest) = tx::snapshot(connection, Timestamp::from_micros(0), usage::unsorted)?;
    for slice in rows.chunks(SLICE_ROWS) {
        let slice = slice.to_vec();
        wait(writer, move |tx| usage::sort(tx, &slice))?;
    }
    wait(writer, move |tx| usage::set_sorted_to(tx, newest))
}

/// A job, and its end.
fn wait(writer: &Writer, job: impl FnMut(&Tx<'_>) -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
    let (done, ended) = mpsc::channel();
    writer.submit(Grade::Logged, job, move |outcome| drop(done.send(outcome)));
    ended.recv().unwrap_or_else(|_| Err(Error::Defect("a job was dropped".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::api_key::{self, Scope, Secret};
    use crate::domain::id::{Id, UserId};
    use crate::domain::text::Email;
    use crate::domain::user::PlatformRole;
    use crate::store::usage::{LogEntry, UsageRow};
    use crate::store::{Store, user};
    use crate::world::{Scripted, World};

    /// More than a slice of each of two keys.
    const ROWS_OF_KEY: usize = SLICE_ROWS + 1;

    fn store(path: &Path) -> Store {
        let store = Store::open(path, Arc::new(Scripted::at(Timestamp::from_micros(1_000_000)))).unwrap();
        let world: &dyn World = &Scripted::at(Timestamp::from_micros(1_000_000));
        crate::store::act_alone(path, world, |tx| {
            let user_id = UserId::parse("user_1").unwrap();
            user::insert(tx, &user_id, &Email::parse("ada@example.org").unwrap(), "Ada", PlatformRole::User)?;
            for name in ["one", "two"] {
                let key = crate::store::api_key::NewApiKey {
                    id: world.id(),
                    secret: Secret::generate(|bytes| world.fill(bytes)),
                    user_id: user_id.clone(),
                    name: name.to_owned(),
                    scopes: Scope::ALL.to_vec(),
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

    #[test]
    fn pages_and_statistics_are_the_same_before_between_and_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let store = store(&path);
        let reader = connection::open(&path, Use::Read).unwrap();
        let all = |store: &Store| (pages(store, 1), pages(store, 2), statistics(store));
        append(&store, ROWS_OF_KEY);
        let unsorted = all(&store);
        assert_eq!((unsorted.0.len(), unsorted.2[0].1), (ROWS_OF_KEY, ROWS_OF_KEY as i64));
        // As a kill between two slices leaves it.
        let (rows, newest) = tx::snapshot(&reader, Timestamp::from_micros(0), usage::unsorted).unwrap();
        assert_eq!((rows.len(), newest), (2 * ROWS_OF_KEY, unsorted.1[0].0));
        wait(&store.writer, move |tx| usage::sort(tx, &rows[..SLICE_ROWS])).unwrap();
        assert_eq!(all(&store), unsorted);
        sort(&reader, &store.writer).unwrap();
        assert_eq!(all(&store), unsorted);
        append(&store, 3);
        let more = all(&store);
        assert_eq!((more.0.len(), more.2[1].1), (ROWS_OF_KEY + 3, ROWS_OF_KEY as i64 + 3));
        assert!(more.0.ends_with(&unsorted.0) && more.1.ends_with(&unsorted.1));
        sort(&reader, &store.writer).unwrap();
        assert_eq!(all(&store), more);
        let (rows, _) = tx::snapshot(&reader, Timestamp::from_micros(0), usage::unsorted).unwrap();
        assert_eq!(rows, []);
    }

    #[test]
    fn numbers_go_on_after_a_restart_whether_sorted_or_not() {
        for sorted in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.db");
            let first = store(&path);
            append(&first, 5);
            if sorted {
                sort(&connection::open(&path, Use::Read).unwrap(), &first.writer).unwrap();
            }
            first.close();
            drop(first);
            let again = Store::open(&path, Arc::new(Scripted::at(Timestamp::from_micros(7)))).unwrap();
            append(&again, 1);
            let counts: Vec<i64> = statistics(&again).into_iter().map(|(_, count)| count).collect();
            assert_eq!(counts, [6, 6], "sorted: {sorted}");
            assert_eq!(pages(&again, 1).len(), 6);
        }
    }
}
