//! Tests of the usage log of two servers with one PostgreSQL database.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::super::{LogEntry, log, redate};
use super::make_keys;
use crate::db::postgres::tests::server;
use crate::db::tx::Tx;
use crate::domain::timestamp::Timestamp;
use crate::store::Store;
use crate::world::{Scripted, World};

const BEGINNING: Timestamp = Timestamp::from_micros(1_795_000_000_000_000);

/// A database with two keys.
struct Database {
    server: &'static server::TestServer,
    name: String,
    url: PathBuf,
}

impl Database {
    fn create() -> Option<Self> {
        let server = server::shared()?;
        let name = server.database();
        let url = PathBuf::from(server.url(server::USER, &name, "sslmode=disable"));
        let world = Scripted::at(BEGINNING);
        drop(Store::open(&url, Arc::new(Scripted::at(BEGINNING))).unwrap());
        make_keys(&url, &world);
        Some(Self { server, name, url })
    }

    /// Starts a server. Its random numbers differ from those of a server with another number.
    fn start(&self, number: usize) -> (Store, Arc<Scripted>) {
        let world = Arc::new(Scripted::at(BEGINNING));
        world.fill(&mut vec![0; number * 1_024]);
        (Store::open(&self.url, Arc::clone(&world) as Arc<dyn World>).unwrap(), world)
    }

    /// Returns the number of all rows, and the number of rows that have a wrong number or a wrong reference to the
    /// previous row of their key.
    fn rows_and_defects(&self) -> String {
        let sql = "SELECT count(*), count(*) FILTER (WHERE number <> nth OR previous_at IS DISTINCT FROM before)
                   FROM (SELECT number, previous_at, row_number() OVER by_key AS nth, lag(at) OVER by_key AS before
                         FROM api_key_usage
                         WINDOW by_key AS (PARTITION BY key_number ORDER BY at)) AS rows";
        self.server.psql(&self.name, sql)
    }
}

/// Appends rows of these keys in one transaction. Returns the number of rows that the transaction has read.
fn append(store: &Store, keys: &'static [i64]) -> i64 {
    let job = move |tx: &Tx<'_>| {
        let before = rows_read(tx);
        for key_number in keys {
            let entry = LogEntry {
                key_number: *key_number,
                method: "GET".into(),
                path: "/".into(),
                ip: "192.0.2.1".parse().unwrap(),
                user_agent: String::new(),
                auth_endpoint: "/",
            };
            log::append(tx, &entry)?;
        }
        Ok(rows_read(tx) - before)
    };
    store.parts.writer.run(job).unwrap()
}

/// Returns the number of rows of the usage log that the connection has read.
fn rows_read(tx: &Tx<'_>) -> i64 {
    let sql = "SELECT coalesce(idx_tup_fetch, 0) + seq_tup_read
               FROM pg_stat_xact_user_tables
               WHERE relname = 'api_key_usage'";
    tx.value(sql, []).unwrap().unwrap_or_default()
}

#[test]
fn each_server_reads_only_the_rows_that_the_other_has_appended() {
    let Some(database) = Database::create() else { return };
    let ((one, _), (other, _)) = (database.start(1), database.start(2));
    append(&one, &[1; 3_000]);
    append(&other, &[1, 2]);
    // Without statistics, PostgreSQL scans a table of this size as a whole.
    database.server.psql(&database.name, "ANALYZE api_key_usage");
    for _ in 0..5 {
        let reads = [append(&one, &[2, 1, 2]), append(&other, &[1, 1]), append(&other, &[2])];
        assert!(reads.iter().all(|rows| *rows < 20), "{reads:?}");
    }
    assert_eq!(database.rows_and_defects(), "3032|0");
}

#[test]
fn a_server_reports_each_request_on_the_other_server_once() {
    let Some(database) = Database::create() else { return };
    let ((one, one_world), (other, other_world)) = (database.start(1), database.start(2));
    append(&other, &[1]);
    let noted = Arc::new(Mutex::new(Vec::new()));
    let of_store = Arc::clone(&noted);
    other.note_requests_elsewhere_by(move |requests| of_store.lock().unwrap().extend_from_slice(requests));
    append(&one, &[1, 2]);
    append(&one, &[2]);
    // Both clocks advance by the same time, so no background job redates rows. The request of a redated row would not
    // be reported.
    for world in [one_world, other_world] {
        world.pass(Duration::from_secs(60));
    }
    append(&other, &[1, 2]);
    append(&other, &[1]);
    append(&one, &[1]);
    append(&other, &[2]);
    let noted = noted.lock().unwrap();
    let keys: Vec<i64> = noted.iter().map(|(key_number, _)| *key_number).collect();
    assert_eq!(keys, [1, 2, 2, 1]);
    // The times of the rows differ by a few microseconds, because no two rows have the same time.
    assert!(noted[..3].iter().all(|(_, age)| (59..=60).contains(&age.as_secs())), "{noted:?}");
    assert!(noted[3].1 < Duration::from_secs(1), "{noted:?}");
}

#[test]
fn rows_that_another_server_redates_are_read_again() {
    let Some(database) = Database::create() else { return };
    let ((ahead, _), (right, world)) = (database.start(1), database.start(2));
    // The background job of this server redates no rows, because this clock and the believed clock do not agree.
    world.set(BEGINNING.minus(Duration::from_secs(36_000)));
    append(&ahead, &[1, 2, 2, 2]);
    // The first slice redates the newest row of one key, but not the newest row of the log.
    for (rows_max, moved) in [(1, 1), (100, 5), (100, 2)] {
        let slice = move |tx: &Tx<'_>| redate::redate(tx, rows_max);
        assert_eq!(right.parts.writer.run(slice).unwrap(), moved);
        append(&ahead, &[1, 2]);
    }
    assert_eq!(database.rows_and_defects(), "10|0");
}
