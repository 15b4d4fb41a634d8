//! Upgrades: the steps run once and in one transaction, and no server writes to tables of another version.

use std::sync::mpsc::channel;

use super::super::prepare::{Purpose, Schema, prepare, version_refusal};
use super::super::writer::Mode;
use super::{Database, SCHEMA, TABLES, add, wait_for};
use crate::db::connection::Connection;
use crate::db::error::Error;
use crate::db::tx::{self, Tx};
use crate::db::upgrade::{self, EngineSql, Step, Upgrade};
use crate::domain::timestamp::Timestamp;

/// Made-up upgrades to version 3, with a statement for every engine, a statement for one engine, and code.
const UPGRADES: [Upgrade; 2] = [
    Upgrade {
        name: "a column",
        steps: &[
            Step::SqlOf(EngineSql { sqlite: "", postgres: "ALTER TABLE t ADD COLUMN m BIGINT NOT NULL DEFAULT 5" }),
            Step::Sql("UPDATE t SET m = n + 1"),
        ],
    },
    Upgrade { name: "a value", steps: &[Step::Code(double)] },
];

fn double(tx: &Tx<'_>) -> Result<(), Error> {
    tx.run("UPDATE t SET m = m * $1", [2])?;
    Ok(())
}

fn fail(_: &Tx<'_>) -> Result<(), Error> {
    Err(Error::Defect("planted".to_owned()))
}

const THIRD: upgrade::Schema = upgrade::Schema { version: 3, upgrades: &UPGRADES, ..TABLES };

/// Prepares the database for a program with these tables. Returns the sentence of a refusal.
fn prepared(database: &Database, tables: &upgrade::Schema, purpose: Purpose) -> Result<(), String> {
    let schema = Schema { tables, ..SCHEMA };
    prepare(&database.target, &schema, purpose).map_err(|error| format!("{error} (may pass: {})", error.may_pass()))
}

fn version(database: &Database) -> String {
    database.psql("SELECT version FROM engine_schema")
}

#[test]
fn only_a_service_upgrades_the_tables_and_each_step_runs_once() {
    let Some(database) = Database::create() else { return };
    for purpose in [Purpose::Use, Purpose::Create] {
        let refused = prepared(&database, &THIRD, purpose).unwrap_err();
        let sentence = "has version 1, but this program needs version 3; `appliance serve` upgrades the database";
        assert!(refused.contains(sentence) && refused.ends_with("(may pass: false)"), "{refused}");
    }
    prepared(&database, &THIRD, Purpose::Check).unwrap();
    assert_eq!(version(&database), "1");
    // Several servers start at the same time.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| prepared(&database, &THIRD, Purpose::Serve).unwrap());
        }
    });
    assert_eq!(version(&database), "3");
    assert_eq!(database.psql("SELECT string_agg(m::text, ' ') FROM t"), "2 2");
    prepared(&database, &THIRD, Purpose::Use).unwrap();
    let refused = prepared(&database, &TABLES, Purpose::Serve).unwrap_err();
    assert!(refused.contains("has version 3, but this program supports only version 1"), "{refused}");
}

#[test]
fn a_failed_upgrade_changes_nothing() {
    const FAILING: [Upgrade; 2] = [UPGRADES[0], Upgrade { name: "failure", steps: &[Step::Code(fail)] }];
    const WRONG: [Upgrade; 2] = [UPGRADES[0], Upgrade { name: "mistake", steps: &[Step::Sql("DROP TABLE missing")] }];
    for upgrades in [&FAILING, &WRONG] {
        let Some(database) = Database::create() else { return };
        let tables = upgrade::Schema { upgrades, ..THIRD };
        let refused = prepared(&database, &tables, Purpose::Serve).unwrap_err();
        let sentence = "could not be upgraded and was not changed: ";
        assert!(refused.contains(sentence) && refused.ends_with("(may pass: false)"), "{refused}");
        assert_eq!(version(&database), "1");
        assert_eq!(database.psql("SELECT count(*) FROM pg_attribute WHERE attname = 'm'"), "0");
    }
}

#[test]
fn only_the_owner_of_the_tables_upgrades_them() {
    let Some(database) = Database::create() else { return };
    let _ = database.psql("CREATE ROLE renter LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO renter");
    let url = database.server.url("renter", &database.name, "");
    let target = super::super::target::Target::parse(&url).unwrap();
    for purpose in [Purpose::Check, Purpose::Serve] {
        let refused = prepare(&target, &Schema { tables: &THIRD, ..SCHEMA }, purpose).unwrap_err();
        let sentence = "the table engine_counts belongs to tester, and only its owner can upgrade it";
        assert!(refused.to_string().contains(sentence) && !refused.may_pass(), "{refused}");
    }
    assert_eq!(version(&database), "1");
}

#[test]
fn a_writer_does_not_write_to_tables_of_a_newer_version() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    writer.transaction(Mode::Durable, |connection| add(connection, 1, 1)).unwrap();
    prepared(&database, &THIRD, Purpose::Serve).unwrap();
    for _ in 0..2 {
        let refused = writer.transaction(Mode::Durable, |connection| add(connection, 1, 1)).unwrap_err();
        let sentence = "the database has been upgraded to version 3, but this program knows version 1";
        assert!(matches!(&refused, Error::Unavailable(why) if why.contains(sentence)), "{refused:?}");
    }
    assert_eq!(database.values(), "1 0");
    let connection = super::super::settings::open(&database.target, super::super::settings::Use::Read).unwrap();
    let connection = Connection::of_postgres(connection);
    let refusal =
        |known| tx::snapshot(&connection, Timestamp::from_micros(0), |tx| version_refusal(tx, known)).unwrap();
    assert!(refusal(1).is_some_and(|sentence| sentence.contains("upgraded to version 3")));
    assert_eq!(refusal(3), None);
}

#[test]
fn an_upgrade_waits_for_the_transaction_of_a_writer() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let ((begin, begun), (release, released)) = (channel(), channel::<()>());
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            writer.transaction(Mode::Durable, |connection| {
                begin.send(()).unwrap();
                released.recv().unwrap();
                add(connection, 1, 7)
            })
        });
        begun.recv().unwrap();
        let upgrading = scope.spawn(|| prepared(&database, &THIRD, Purpose::Serve));
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        wait_for(&database, waiting, "1");
        assert_eq!(version(&database), "1");
        release.send(()).unwrap();
        assert_eq!(writing.join().unwrap().unwrap(), 7);
        upgrading.join().unwrap().unwrap();
    });
    assert_eq!(database.psql("SELECT string_agg(m::text, ' ' ORDER BY id) FROM t"), "16 2");
}
