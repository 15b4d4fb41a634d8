//! Counts that servers share.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::super::counts::{change, sweep};
use super::super::readers::Readers;
use super::Database;
use crate::db::count::{CountKey, StoredCounts};
use crate::domain::shared_count::StoredCount;
use crate::domain::timestamp::Timestamp;

const NOW: Timestamp = Timestamp::from_micros(1_795_000_000_000_000);

fn keys(numbers: &[u8]) -> BTreeSet<CountKey> {
    numbers.iter().map(|number| CountKey { kind: 1, digest: [*number; 32] }).collect()
}

fn stored(uses: u32, expires_at: Timestamp) -> StoredCount {
    StoredCount { uses, at: NOW, before_at: Timestamp::from_micros(7), expires_at }
}

/// Adds a use to each of the counts.
fn use_all(readers: &Readers, keys: &BTreeSet<CountKey>, expires_at: Timestamp) {
    let add = |counts: &mut StoredCounts| {
        for key in keys {
            let uses = counts.get(key).map_or(0, |count| count.uses);
            counts.insert(*key, stored(uses + 1, expires_at));
        }
    };
    change(readers, keys, add).unwrap();
}

fn readers(database: &Database) -> Readers {
    Readers::open(Arc::clone(&database.target), 4).unwrap()
}

#[test]
fn uses_on_several_servers_at_once_are_all_counted() {
    let Some(database) = Database::create() else { return };
    let servers = [readers(&database), readers(&database)];
    let of_thread = [[1, 2, 3], [3, 1, 4], [4, 2, 1], [2, 3, 4]];
    std::thread::scope(|scope| {
        for (number, keys_of_thread) in of_thread.iter().enumerate() {
            let server = &servers[number % 2];
            scope.spawn(move || (0..50).for_each(|_| use_all(server, &keys(keys_of_thread), NOW)));
        }
    });
    let found = change(&servers[0], &keys(&[1, 2, 3, 4, 5]), |counts| counts.clone()).unwrap();
    let expected = keys(&[1, 2, 3, 4]).into_iter().map(|key| (key, stored(150, NOW)));
    assert_eq!(found, expected.collect());
}

#[test]
fn an_act_that_changes_nothing_leaves_no_row_and_a_removed_count_is_deleted() {
    let Some(database) = Database::create() else { return };
    let server = readers(&database);
    assert_eq!(change(&server, &keys(&[1, 2]), |counts| counts.len()).unwrap(), 0);
    assert_eq!(database.psql("SELECT count(*) FROM engine_counts"), "0");
    use_all(&server, &keys(&[1, 2]), NOW);
    change(&server, &keys(&[1, 3]), StoredCounts::clear).unwrap();
    assert_eq!(database.psql("SELECT string_agg(left(encode(key, 'hex'), 2), ' ') FROM engine_counts"), "02");
}

#[test]
fn counts_wait_neither_for_the_writer_nor_for_a_disk_and_survive_the_loss_of_all_connections() {
    let Some(database) = Database::create() else { return };
    let server = readers(&database);
    let mut writer = database.writer();
    let use_inside = |_: &super::Connection| {
        use_all(&server, &keys(&[1]), NOW);
        Ok(())
    };
    writer.transaction(super::super::writer::Mode::Durable, use_inside).unwrap();
    database.end_sessions();
    use_all(&server, &keys(&[1]), NOW);
    assert_eq!(database.psql("SELECT uses FROM engine_counts"), "2");
    assert_eq!(database.psql("SELECT relpersistence FROM pg_class WHERE relname = 'engine_counts'"), "u");
}

#[test]
fn a_sweep_deletes_expired_and_impossible_counts_and_if_there_are_too_many_those_that_expire_first() {
    let Some(database) = Database::create() else { return };
    let server = readers(&database);
    let hours = |number: u64| Duration::from_secs(number * 3_600);
    use_all(&server, &keys(&[1]), NOW.minus(hours(2)));
    use_all(&server, &keys(&[2]), NOW.minus(hours(1)));
    use_all(&server, &keys(&[3]), NOW.plus(hours(30 * 24)));
    use_all(&server, &keys(&[4]), NOW.plus(hours(365 * 24)));
    sweep(&server, NOW).unwrap();
    let left = "SELECT string_agg(left(encode(key, 'hex'), 2), ' ' ORDER BY key) FROM engine_counts WHERE kind = 1";
    assert_eq!(database.psql(left), "02 03");
    let expiry = NOW.micros();
    database.psql(&format!(
        "INSERT INTO engine_counts (key, kind, uses, at, before_at, expires_at)
         SELECT sha256(n::text::bytea), 2, 1, 1, 1, {expiry} + n FROM generate_series(1, 50010) AS n"
    ));
    sweep(&server, NOW).unwrap();
    assert_eq!(database.psql(left), "02 03", "counts of another kind are not deleted");
    let rest = format!("SELECT count(*) || ' ' || min(expires_at) - {expiry} FROM engine_counts WHERE kind = 2");
    assert_eq!(database.psql(&rest), "50000 11");
}
