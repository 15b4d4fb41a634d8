//! Counts that all servers share, for example counts of failed sign-ins. They are rows of one table. An act locks the
//! counts that it needs, applies its rule to them, and changes them.
//!
//! These transactions do not wait for the writer, and no decision on an application depends on them. The table is
//! unlogged, so a change to a count does not wait for the disk. A crash of the database server or a failover empties
//! the table, as a restart clears the counts in memory.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::connection::{CommitFailure, Connection};
use super::readers::Readers;
use crate::db::count::{CountKey, StoredCounts};
use crate::db::error::Error;
use crate::domain::shared_count::StoredCount;
use crate::domain::timestamp::Timestamp;

/// The table. A row whose `expires_at` is 0 only reserves its key while an act runs.
pub(super) const TABLE: &str = "CREATE UNLOGGED TABLE engine_counts (
  key BYTEA NOT NULL PRIMARY KEY CHECK (length(key) = 32),
  kind BIGINT NOT NULL,
  uses BIGINT NOT NULL,
  at BIGINT NOT NULL,
  before_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
)";

/// The maximum time for a commit, which waits neither for the disk nor for a standby.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of counts of one kind after a sweep. The tables of counts in memory have the same limit.
/// Strangers choose the keys.
const COUNTS_MAX: usize = 50_000;

/// The time for which a sweep leaves an expired count in the table. The clock of the server that sweeps may therefore
/// be ahead by this time.
const SWEPT_AFTER: Duration = Duration::from_secs(60 * 60);

/// The maximum time until a count expires. A sweep deletes each count that expires later, because the clock of the
/// server that stored the count was ahead. Under every rule, a count expires within 30 days.
const LASTS_MAX: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Runs a rule on the counts with these keys, and stores the counts that it has changed. Waits for other acts on the
/// same counts.
///
/// # Errors
/// [`Error::Unavailable`] if the counts cannot be locked or changed. The change may have happened nevertheless.
pub(crate) fn change<T>(
    readers: &Readers,
    keys: &BTreeSet<CountKey>,
    rule: impl FnOnce(&mut StoredCounts) -> T,
) -> Result<T, Error> {
    if keys.is_empty() {
        return Ok(rule(&mut StoredCounts::new()));
    }
    readers.transaction(
        |connection| connection.begin(&lock(keys)).map(drop),
        |shared| {
            let connection = shared.as_postgres();
            let before = read(connection, keys)?;
            let mut after = before.clone();
            let outcome = rule(&mut after);
            if after != before {
                connection.batch(&save(keys, &after))?;
                commit(connection)?;
            }
            Ok(outcome)
        },
    )
}

/// Deletes the counts that expired more than [`SWEPT_AFTER`] ago, and those that expire more than [`LASTS_MAX`] from
/// now. If strangers have filled the table, also deletes the counts that expire first.
///
/// # Errors
/// [`Error::Unavailable`] if the server cannot be used.
pub(crate) fn sweep(readers: &Readers, now: Timestamp) -> Result<(), Error> {
    let (expired, impossible) = (now.minus(SWEPT_AFTER).micros(), now.plus(LASTS_MAX).micros());
    let sql = format!(
        "DELETE FROM engine_counts
         WHERE key IN (
           SELECT key
           FROM engine_counts
           WHERE expires_at < {expired} OR expires_at > {impossible} OR key IN (
             SELECT key
             FROM (
               SELECT key, row_number() OVER (PARTITION BY kind ORDER BY expires_at DESC) AS nth
               FROM engine_counts
             ) AS counts
             WHERE nth > {COUNTS_MAX}
           )
           FOR UPDATE SKIP LOCKED
         )"
    );
    readers.transaction(
        |connection| connection.begin(BEGIN).map(drop),
        |shared| {
            shared.as_postgres().batch(&sql)?;
            commit(shared.as_postgres())
        },
    )
}

/// Begins a transaction on a connection that otherwise only reads.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = off";

/// Returns the statements that begin a transaction and lock the counts, including those that do not exist yet. The keys
/// are in order, so two acts cannot deadlock. A row that exists is locked, but not changed.
fn lock(keys: &BTreeSet<CountKey>) -> String {
    let rows = keys.iter().map(|key| format!("({}, {}, 0, 0, 0, 0)", literal(key), key.kind));
    format!(
        "{BEGIN};
         INSERT INTO engine_counts AS known (key, kind, uses, at, before_at, expires_at)
         VALUES {}
         ON CONFLICT (key) DO UPDATE
         SET kind = known.kind
         WHERE false",
        rows.collect::<Vec<_>>().join(", ")
    )
}

fn read(connection: &Connection, keys: &BTreeSet<CountKey>) -> Result<StoredCounts, Error> {
    let sql = format!(
        "SELECT encode(key, 'hex') || ' ' || uses || ' ' || at || ' ' || before_at || ' ' || expires_at
         FROM engine_counts
         WHERE key IN ({}) AND expires_at > 0",
        keys.iter().map(literal).collect::<Vec<_>>().join(", ")
    );
    let texts = connection.texts(&sql)?;
    let found = texts.iter().flatten().filter_map(|text| text.split_once(' '));
    let of_digest = |digest: &str| keys.iter().copied().find(|key| hex(key) == digest);
    Ok(found.filter_map(|(digest, numbers)| Some((of_digest(digest)?, parse(numbers)?))).collect())
}

fn parse(numbers: &str) -> Option<StoredCount> {
    let mut numbers = numbers.split(' ').map(str::parse::<i64>);
    let uses = u32::try_from(numbers.next()?.ok()?).ok()?;
    let mut time = || Some(Timestamp::from_micros(numbers.next()?.ok()?));
    Some(StoredCount { uses, at: time()?, before_at: time()?, expires_at: time()? })
}

/// Returns the statements that store the counts, and delete the rows of keys without a count.
fn save(keys: &BTreeSet<CountKey>, counts: &StoredCounts) -> String {
    let mut sql = String::new();
    for key in keys {
        let key_literal = literal(key);
        let _ = match counts.get(key) {
            Some(StoredCount { uses, at, before_at, expires_at }) => write!(
                sql,
                "UPDATE engine_counts SET uses = {uses}, at = {}, before_at = {}, expires_at = {}
                 WHERE key = {key_literal};",
                at.micros(),
                before_at.micros(),
                expires_at.micros()
            ),
            None => write!(sql, "DELETE FROM engine_counts WHERE key = {key_literal};"),
        };
    }
    sql
}

fn commit(connection: &Connection) -> Result<(), Error> {
    connection.commit(COMMIT_TIMEOUT).map_err(|failure| match failure {
        CommitFailure::RolledBack(error, _) => error,
        CommitFailure::Unknown(why) => Error::Unavailable(why),
    })
}

fn literal(key: &CountKey) -> String {
    format!("'\\x{}'::bytea", hex(key))
}

fn hex(key: &CountKey) -> String {
    key.digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
