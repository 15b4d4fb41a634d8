//! `VACUUM`: the debt in the database is settled only when no erased row is left.

use std::sync::Arc;

use super::super::settings;
use super::super::target::Target;
use super::super::vacuum::{Interrupt, Progress, Vacuum, is_owed, owe};
use super::super::writer::Mode;
use super::{Database, eventually, wait_for};
use crate::db::connection::Connection;
use crate::db::error::Error;
use crate::db::tx;
use crate::domain::timestamp::Timestamp;

/// A value whose bytes tests look for in pages.
const ERASED: &str = "Zerased-value-of-a-person";

impl Database {
    /// Creates a database with a row that has been erased. The same transaction records the debt.
    fn with_erasure() -> Option<Self> {
        let database = Self::create()?;
        let sql = "CREATE EXTENSION pageinspect;
                   CREATE TABLE people (id BIGINT PRIMARY KEY, name TEXT UNIQUE);
                   INSERT INTO people SELECT n, 'person ' || n FROM generate_series(1, 5000) AS n";
        database.psql(sql);
        database.psql(&format!("INSERT INTO people VALUES (0, '{ERASED}'); ANALYZE people"));
        database.erase();
        Some(database)
    }

    fn erase(&self) {
        let erase = |connection: &Connection| {
            connection.as_postgres().batch("UPDATE people SET name = 'Erased ' || id WHERE name LIKE 'Z%'")?;
            tx::in_snapshot(connection, Timestamp::from_micros(0), owe)
        };
        self.writer().transaction(Mode::Durable, erase).unwrap();
    }

    fn vacuum(&self) -> Vacuum {
        Vacuum::new(Arc::clone(&self.target), Interrupt::default())
    }

    /// Runs `VACUUM`. While another session holds the rows, for example the session that polls the condition of a test,
    /// this function tries again.
    fn run_vacuum(&self, interrupt: &Interrupt) -> Result<Progress, Error> {
        let mut last = None;
        eventually(|| {
            let progress = Vacuum::new(Arc::clone(&self.target), interrupt.clone()).step();
            let is_held = matches!(progress, Ok(Progress::Held(_)));
            last = Some(progress);
            !is_held
        });
        last.unwrap()
    }

    fn is_owed(&self) -> bool {
        let connection = Connection::of_postgres(settings::open(&self.target, settings::Use::Read).unwrap());
        tx::snapshot(&connection, Timestamp::from_micros(0), is_owed).unwrap()
    }

    /// Returns the number of rows and index entries, dead ones included, that contain the erased value.
    fn left(&self) -> String {
        let blocks = |relation: &str, first: u32| {
            format!("generate_series({first}, pg_relation_size('{relation}') / 8192 - 1) AS block")
        };
        let hex: String = ERASED.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.psql(&format!(
            "SELECT (SELECT count(*) FROM {}, heap_page_items(get_raw_page('people', block::int))
                     WHERE position('\\x{hex}'::bytea IN t_data) > 0)
                  + (SELECT count(*) FROM {}, bt_page_items('people_name_key', block::int)
                     WHERE replace(data, ' ', '') LIKE '%{hex}%')",
            blocks("people", 0),
            blocks("people_name_key", 1),
        ))
    }
}

#[test]
fn rows_and_index_entries_of_an_erasure_are_gone_when_the_debt_is_settled() {
    let Some(database) = Database::with_erasure() else { return };
    assert!(database.is_owed());
    assert_eq!(database.left(), "2");
    assert_eq!(database.vacuum().step().unwrap(), Progress::Settled);
    assert_eq!((database.left().as_str(), database.is_owed()), ("0", false));
    let samples = format!("SELECT count(*) FROM pg_stats WHERE histogram_bounds::text LIKE '%{ERASED}%'");
    assert_eq!(database.psql(&samples), "0");
}

#[test]
fn the_debt_of_a_server_that_has_stopped_is_settled_by_another() {
    let Some(database) = Database::with_erasure() else { return };
    database.end_sessions();
    assert!(database.is_owed());
    assert_eq!(database.vacuum().step().unwrap(), Progress::Settled);
    assert!(!database.is_owed());
}

#[test]
fn the_debt_remains_while_an_older_snapshot_needs_the_rows() {
    let Some(database) = Database::create() else { return };
    database.psql("CREATE EXTENSION pageinspect; CREATE TABLE people (id BIGINT PRIMARY KEY, name TEXT UNIQUE)");
    database.psql(&format!("INSERT INTO people VALUES (0, '{ERASED}')"));
    let mut reader = database.server.session(&database.name);
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; DO $$ BEGIN PERFORM count(*) FROM people; END $$");
    database.erase();
    let mut vacuum = database.vacuum();
    let progress = vacuum.step().unwrap();
    assert!(matches!(&progress, Progress::Held(who) if who.contains("the session ")), "{progress:?}");
    assert!(database.is_owed());
    assert_eq!(vacuum.step().unwrap(), Progress::Resting);
    drop(reader);
    wait_for(
        &database,
        "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()",
        "0",
    );
    assert_eq!(database.vacuum().step().unwrap(), Progress::Settled);
    assert_eq!((database.left().as_str(), database.is_owed()), ("0", false));
}

#[test]
fn a_prepared_transaction_holds_the_rows() {
    let Some(server) = super::TestServer::start(&["max_prepared_transactions=2"]) else { return };
    // Like the shared server, this server runs until the test process ends.
    let database = Database::on(Box::leak(Box::new(server)));
    database.psql("CREATE TABLE people (id BIGINT PRIMARY KEY, name TEXT UNIQUE); CREATE TABLE other (id INT)");
    database.psql("BEGIN; INSERT INTO other VALUES (1); PREPARE TRANSACTION 'forgotten'");
    database.psql(&format!("INSERT INTO people VALUES (0, '{ERASED}')"));
    database.erase();
    let progress = database.vacuum().step().unwrap();
    assert_eq!(progress, Progress::Held("the prepared transaction forgotten".to_owned()));
    database.psql("ROLLBACK PREPARED 'forgotten'");
    assert_eq!(database.vacuum().step().unwrap(), Progress::Settled);
}

#[test]
fn the_debt_remains_if_the_server_skips_a_table() {
    let Some(database) = Database::with_erasure() else { return };
    database.psql("CREATE ROLE lodger LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO lodger");
    let url = database.server.url("lodger", &database.name, "");
    let mut vacuum = Vacuum::new(Arc::new(Target::parse(&url).unwrap()), Interrupt::default());
    let failed = vacuum.step().unwrap_err();
    assert!(matches!(&failed, Error::Unavailable(why) if why.contains("the user must own the table")), "{failed:?}");
    assert!(database.is_owed());
    // A user whose only rights are those on the tables also sees the snapshots of other users.
    let mut reader = database.server.session(&database.name);
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; DO $$ BEGIN PERFORM count(*) FROM people; END $$");
    database.erase();
    let mut vacuum = Vacuum::new(Arc::new(Target::parse(&url).unwrap()), Interrupt::default());
    assert!(matches!(vacuum.step().unwrap(), Progress::Held(_)));
}

#[test]
fn the_debt_remains_if_a_table_is_locked_or_the_connection_is_lost() {
    let Some(database) = Database::with_erasure() else { return };
    let mut locker = database.server.session(&database.name);
    locker.run("BEGIN; LOCK TABLE people IN SHARE MODE");
    let failed = database.run_vacuum(&Interrupt::default()).unwrap_err();
    assert!(matches!(&failed, Error::Unavailable(why) if why.contains("55P03")), "{failed:?}");
    assert!(database.is_owed());
    let losing = std::thread::scope(|scope| {
        let running = scope.spawn(|| database.run_vacuum(&Interrupt::default()));
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                   WHERE query LIKE 'VACUUM%' AND wait_event_type = 'Lock' AND datname = current_database()";
        wait_for(&database, sql, "1");
        running.join().unwrap()
    });
    assert!(matches!(losing, Err(Error::Unavailable(_))), "{losing:?}");
    assert!(database.is_owed());
    drop(locker);
    assert_eq!(database.vacuum().step().unwrap(), Progress::Settled);
}

#[test]
fn a_service_that_stops_does_not_wait_for_the_end_of_a_vacuum() {
    let Some(database) = Database::with_erasure() else { return };
    let mut locker = database.server.session(&database.name);
    locker.run("BEGIN; LOCK TABLE people IN SHARE MODE");
    let interrupt = Interrupt::default();
    let failed = std::thread::scope(|scope| {
        let running = scope.spawn(|| database.run_vacuum(&interrupt));
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE query LIKE 'VACUUM%' AND wait_event_type = 'Lock' AND datname = current_database()";
        wait_for(&database, waiting, "1");
        interrupt.set();
        running.join().unwrap()
    });
    assert!(matches!(&failed, Err(Error::Unavailable(why)) if !why.contains("55P03")), "{failed:?}");
    assert!(database.is_owed());
}

#[test]
fn writers_continue_during_a_vacuum() {
    let Some(database) = Database::with_erasure() else { return };
    let mut locker = database.server.session(&database.name);
    locker.run("BEGIN; LOCK TABLE people IN SHARE MODE");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| database.run_vacuum(&Interrupt::default()));
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE query LIKE 'VACUUM%' AND wait_event_type = 'Lock' AND datname = current_database()";
        wait_for(&database, waiting, "1");
        database.writer().transaction(Mode::Durable, |connection| super::add(connection, 1, 1)).unwrap();
        drop(locker);
        let _ = running.join().unwrap();
    });
    assert_eq!(database.values(), "1 0");
}
