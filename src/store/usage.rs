//! The usage log: one row a request that a key authenticated, only ever appended. Its rows are sorted by key many at
//! once; a page reads what is sorted, and the few rows behind it one by one.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use rusqlite::Row;

use super::tx::{self, Error, Tx};
use crate::domain::timestamp::Timestamp;
use crate::domain::usage;

/// A request to be logged.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// The number of the key that authenticated it.
    pub key_number: i64,
    /// Its method.
    pub method: Cow<'static, str>,
    /// Its raw path, without the query.
    pub path: Cow<'static, str>,
    /// Where it came from.
    pub ip: IpAddr,
    /// Its user agent, cut.
    pub user_agent: String,
    /// The template of the route that authenticated it.
    pub auth_endpoint: &'static str,
}

/// A request that was logged.
#[derive(Debug, Clone)]
pub struct UsageRow {
    /// When; unlike that of any other row, and later than that of every earlier row.
    pub at: Timestamp,
    /// Its method.
    pub method: String,
    /// Its raw path, without the query.
    pub path: String,
    /// Where it came from.
    pub ip: String,
    /// Its user agent.
    pub user_agent: String,
    /// The template of the route that authenticated it.
    pub auth_endpoint: String,
}

/// What the writing connection remembers of the log, so that a row is one insert and nothing is asked for it: the newest
/// row's time, and the newest number of each key. True of the file as its own transaction sees it; forgotten when that is
/// undone.
#[derive(Default)]
pub(super) struct Ledger(RefCell<Option<Remembered>>);

struct Remembered {
    last: Option<Timestamp>,
    numbers: HashMap<i64, i64>,
}

impl Ledger {
    pub(super) fn forget(&self) {
        self.0.replace(None);
    }

    /// Time and number of the next row of a key.
    fn next(&self, tx: &Tx<'_>, key_number: i64) -> Result<(Timestamp, i64), Error> {
        let mut remembered = self.0.borrow_mut();
        let remembered = match &mut *remembered {
            Some(remembered) => remembered,
            empty => empty.insert(Remembered::read(tx)?),
        };
        let number = match remembered.numbers.entry(key_number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(sorted_number(tx, key_number)?),
        };
        *number += 1;
        let at = usage::next_at(remembered.last, tx.now);
        remembered.last = Some(at);
        Ok((at, *number))
    }
}

impl Remembered {
    /// From the rows that are not sorted by key yet, which are few.
    fn read(tx: &Tx<'_>) -> Result<Self, Error> {
        let last = tx.one("SELECT max(at) FROM api_key_usage", [], |row| tx::time_or_none(row, 0))?.flatten();
        let sql = "SELECT key_number, number
                   FROM api_key_usage
                   WHERE at > $1
                   ORDER BY at";
        let numbers = tx.all(sql, [sorted_to(tx)?], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self { last, numbers: numbers.into_iter().collect() })
    }
}

/// Up to when the rows are sorted by key.
pub(super) fn sorted_to(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT sorted_to
               FROM api_key_usage_sorting
               WHERE id = 1";
    let sorted_to = tx.one(sql, [], |row| Ok(row.get(0)?))?;
    sorted_to.ok_or_else(|| Error::Defect("up to when the usage log is sorted is not in the file".to_owned()))
}

/// The number of a key's newest row that is sorted; 0 without one.
fn sorted_number(tx: &Tx<'_>, key_number: i64) -> Result<i64, Error> {
    let sql = "SELECT u.number
               FROM api_key_usage_by_key k
               JOIN api_key_usage u ON u.at = k.at
               WHERE k.key_number = $1 AND k.at <= $2
               ORDER BY k.at DESC
               LIMIT 1";
    Ok(tx.one(sql, (key_number, sorted_to(tx)?), |row| Ok(row.get(0)?))?.unwrap_or(0))
}

/// Appends a row.
///
/// # Errors
/// When SQLite fails.
pub fn append(tx: &Tx<'_>, entry: &LogEntry) -> Result<(), Error> {
    append_all(tx, std::iter::once(entry))
}

/// Appends rows.
pub(super) fn append_all<'a>(tx: &Tx<'_>, entries: impl Iterator<Item = &'a LogEntry>) -> Result<(), Error> {
    let ledger = tx.ledger.ok_or_else(|| Error::Defect("only the service appends to the usage log".to_owned()))?;
    let sql = "INSERT INTO api_key_usage (at, key_number, number, method, path, ip, user_agent, auth_endpoint)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    tx.run_each(sql, entries, |entry| {
        let (at, number) = ledger.next(tx, entry.key_number)?;
        let LogEntry { key_number, method, path, ip, user_agent, auth_endpoint } = entry;
        Ok((
            at.micros(),
            *key_number,
            number,
            method.as_ref(),
            path.as_ref(),
            ip.to_string(),
            user_agent.as_str(),
            *auth_endpoint,
        ))
    })
}

/// The newest row of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    pub(super) at: Timestamp,
    pub(super) number: i64,
}

/// The newest rows that are not sorted by key yet, by the key's number.
pub(super) fn newest_unsorted(tx: &Tx<'_>) -> Result<HashMap<i64, Newest>, Error> {
    let sql = "SELECT key_number, at, number
               FROM api_key_usage
               WHERE at > $1
               ORDER BY at";
    let rows =
        tx.all(sql, [sorted_to(tx)?], |row| Ok((row.get(0)?, Newest { at: tx::time(row, 1)?, number: row.get(2)? })))?;
    Ok(rows.into_iter().collect())
}

/// The newest rows of a key, older than `before` where that is given (`GET /api/admin/api-keys/{id}/usage`).
///
/// # Errors
/// When SQLite fails.
pub fn page(tx: &Tx<'_>, key_number: i64, before: Option<Timestamp>, rows_max: usize) -> Result<Vec<UsageRow>, Error> {
    let (before, sorted_to) = (before.map_or(i64::MAX, Timestamp::micros), sorted_to(tx)?);
    let sql = "SELECT at, method, path, ip, user_agent, auth_endpoint
               FROM api_key_usage
               WHERE at > $1 AND at < $2 AND key_number = $3
               ORDER BY at DESC
               LIMIT $4";
    let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let mut rows = tx.all(sql, (sorted_to, before, key_number, count(rows_max)), usage_row)?;
    let sql = "SELECT u.at, u.method, u.path, u.ip, u.user_agent, u.auth_endpoint
               FROM api_key_usage_by_key k
               JOIN api_key_usage u ON u.at = k.at
               WHERE k.key_number = $1 AND k.at < $2
               ORDER BY k.at DESC
               LIMIT $3";
    let before = before.min(sorted_to.saturating_add(1));
    rows.extend(tx.all(sql, (key_number, before, count(rows_max - rows.len())), usage_row)?);
    Ok(rows)
}

fn usage_row(row: &Row<'_>) -> Result<UsageRow, Error> {
    Ok(UsageRow {
        at: tx::time(row, 0)?,
        method: row.get(1)?,
        path: row.get(2)?,
        ip: row.get(3)?,
        user_agent: row.get(4)?,
        auth_endpoint: row.get(5)?,
    })
}

/// The newest row of one key that is not sorted by key yet.
pub(super) fn newest_unsorted_of(tx: &Tx<'_>, key_number: i64) -> Result<Option<Newest>, Error> {
    let sql = "SELECT at, number
               FROM api_key_usage
               WHERE at > $1 AND key_number = $2
               ORDER BY at DESC
               LIMIT 1";
    tx.one(sql, (sorted_to(tx)?, key_number), |row| Ok(Newest { at: tx::time(row, 0)?, number: row.get(1)? }))
}

/// The rows that are not sorted by key yet, in the order of keys, and the time of the newest of them.
pub(super) fn unsorted(tx: &Tx<'_>) -> Result<(Vec<(i64, i64)>, i64), Error> {
    let sorted_to = sorted_to(tx)?;
    let sql = "SELECT key_number, at
               FROM api_key_usage
               WHERE at > $1";
    let mut rows = tx.all(sql, [sorted_to], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    rows.sort_unstable();
    let newest = rows.iter().map(|(_, at)| *at).max().unwrap_or(sorted_to);
    Ok((rows, newest))
}

/// Puts rows of [`unsorted`] where they are found by key. They count as sorted only once all of them are there.
pub(super) fn sort(tx: &Tx<'_>, rows: &[(i64, i64)]) -> Result<(), Error> {
    let sql = "INSERT INTO api_key_usage_by_key (key_number, at)
               VALUES ($1, $2)
               ON CONFLICT DO NOTHING";
    tx.run_each(sql, rows.iter(), |row| Ok(*row))
}

/// All rows up to a time are sorted by key.
pub(super) fn set_sorted_to(tx: &Tx<'_>, at: i64) -> Result<(), Error> {
    let sql = "UPDATE api_key_usage_sorting
               SET sorted_to = $1
               WHERE id = 1 AND sorted_to < $1";
    tx.run(sql, [at])?;
    Ok(())
}
