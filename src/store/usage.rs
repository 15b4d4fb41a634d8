//! The usage log: one row a request that a key authenticated, only ever appended. A row names the one before it of the same
//! key, and marks tell where to begin: a page follows from there. Marks are made for many rows at once, and the few rows
//! behind them are looked through one by one. The oldest rows are pruned, of all keys alike: a row may name one that is gone.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use crate::db::row::Row;

use super::redating;
use crate::db::tx::{self, Error, Tx};
use crate::domain::timestamp::Timestamp;
use crate::domain::usage;

/// Of this many rows of a key at least one is marked: so many are passed over at most where a page begins. An index of every
/// row would cost a request a tenth more, and more of it the bigger the log is.
const MARK_EVERY: i64 = 64;

/// A request to be logged.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// The number of the key that authenticated it.
    pub key_number: i64,
    /// Its method.
    pub method: Cow<'static, str>,
    /// Its raw path, without the query, cut.
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
    /// Its raw path, without the query, cut.
    pub path: String,
    /// Where it came from.
    pub ip: String,
    /// Its user agent.
    pub user_agent: String,
    /// The template of the route that authenticated it.
    pub auth_endpoint: String,
}

/// The newest row of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Newest {
    pub(super) at: Timestamp,
    pub(super) number: i64,
}

/// What the writing connection remembers of the log, so that a row is one insert and nothing is asked for it: the newest
/// row, and the newest of each key. True of the file as its own transaction sees it; forgotten when that is undone.
#[derive(Default)]
pub(crate) struct Ledger(RefCell<Option<Remembered>>);

struct Remembered {
    last: Option<Timestamp>,
    newest: HashMap<i64, Option<Newest>>,
}

/// Where a row stands: when, as which of its key, and when the one before it did.
struct Place {
    at: Timestamp,
    number: i64,
    previous_at: Option<Timestamp>,
}

impl Ledger {
    pub(crate) fn forget(&self) {
        self.0.replace(None);
    }

    /// The place of the next row of a key.
    fn next(&self, tx: &Tx<'_>, key_number: i64) -> Result<Place, Error> {
        let mut remembered = self.0.borrow_mut();
        let remembered = match &mut *remembered {
            Some(remembered) => remembered,
            empty => empty.insert(Remembered::read(tx)?),
        };
        let newest = match remembered.newest.entry(key_number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(newest_known(tx, key_number)?),
        };
        let at = usage::next_row_time(remembered.last, tx.now);
        let number = newest.map_or(0, |newest| newest.number) + 1;
        let previous_at = newest.map(|newest| newest.at);
        *newest = Some(Newest { at, number });
        remembered.last = Some(at);
        Ok(Place { at, number, previous_at })
    }
}

impl Remembered {
    /// From the rows that are not marked yet, which are few. A new row is later than every row that was pruned, too.
    fn read(tx: &Tx<'_>) -> Result<Self, Error> {
        let sql = "SELECT max(coalesce((SELECT max(at) FROM api_key_usage), pruned_to), pruned_to)
                   FROM api_key_usage_marking
                   WHERE id = 1 AND (pruned_to > 0 OR EXISTS (SELECT 1 FROM api_key_usage))";
        let last = tx.one(sql, [], |row| tx::time(row, 0))?;
        let newest = newest_unmarked(tx)?.into_iter().map(|(key_number, newest)| (key_number, Some(newest)));
        Ok(Self { last, newest: newest.collect() })
    }
}

/// Up to when the rows are marked.
pub(super) fn marked_to(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT marked_to
               FROM api_key_usage_marking
               WHERE id = 1";
    let marked_to = tx.one(sql, [], |row| Ok(row.get(0)?))?;
    marked_to.ok_or_else(|| Error::Defect("up to when the usage log is marked is not in the file".to_owned()))
}

/// The newest row of a key, or an earlier one where rows came behind the marks; `None` where all of them did.
fn newest_known(tx: &Tx<'_>, key_number: i64) -> Result<Option<Newest>, Error> {
    let sql = "SELECT at, number
               FROM api_key_usage_newest
               WHERE key_number = $1";
    tx.one(sql, [key_number], newest)
}

fn newest(row: &Row<'_>) -> Result<Newest, Error> {
    Ok(Newest { at: tx::time(row, 0)?, number: row.get(1)? })
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
    let ledger =
        tx.state::<Ledger>().ok_or_else(|| Error::Defect("only the service appends to the usage log".to_owned()))?;
    let sql = "INSERT INTO api_key_usage
                 (at, key_number, number, previous_at, method, path, ip, user_agent, auth_endpoint)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    tx.run_each(sql, entries, |entry| {
        let Place { at, number, previous_at } = ledger.next(tx, entry.key_number)?;
        let LogEntry { key_number, method, path, ip, user_agent, auth_endpoint } = entry;
        Ok((
            at.micros(),
            *key_number,
            number,
            previous_at.map(Timestamp::micros),
            method.as_ref(),
            path.as_ref(),
            ip.to_string(),
            user_agent.as_str(),
            *auth_endpoint,
        ))
    })
}

/// The newest rows that are not marked yet, by the key's number.
pub(super) fn newest_unmarked(tx: &Tx<'_>) -> Result<HashMap<i64, Newest>, Error> {
    let sql = "SELECT at, number, key_number
               FROM api_key_usage
               WHERE at > $1
               ORDER BY at";
    let rows = tx.all(sql, [marked_to(tx)?], |row| Ok((row.get(2)?, newest(row)?)))?;
    Ok(rows.into_iter().collect())
}

/// The newest row of one key that is not marked yet.
pub(super) fn newest_unmarked_of(tx: &Tx<'_>, key_number: i64) -> Result<Option<Newest>, Error> {
    let sql = "SELECT at, number
               FROM api_key_usage
               WHERE at > $1 AND key_number = $2
               ORDER BY at DESC
               LIMIT 1";
    tx.one(sql, (marked_to(tx)?, key_number), newest)
}

/// The newest rows of a key, older than `before` where that is given (`GET /api/admin/api-keys/{id}/usage`).
///
/// # Errors
/// When SQLite fails.
pub fn page(tx: &Tx<'_>, key_number: i64, before: Option<Timestamp>, rows_max: usize) -> Result<Vec<UsageRow>, Error> {
    let before = before.map(|before| redating::cursor(tx, before)).transpose()?;
    let (before, marked_to) = (before.map_or(i64::MAX, Timestamp::micros), marked_to(tx)?);
    let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let sql = "SELECT at, method, path, ip, user_agent, auth_endpoint
               FROM api_key_usage
               WHERE at > $1 AND at < $2 AND key_number = $3
               ORDER BY at DESC
               LIMIT $4";
    let mut rows = tx.all(sql, (marked_to, before, key_number, count(rows_max)), usage_row)?;
    let before = before.min(marked_to.saturating_add(1));
    let Some(begin) = begin(tx, key_number, before, marked_to)?.filter(|_| rows.len() < rows_max) else {
        return Ok(rows);
    };
    let sql = "WITH RECURSIVE followed (at, previous_at, method, path, ip, user_agent, auth_endpoint) AS (
                 SELECT at, previous_at, method, path, ip, user_agent, auth_endpoint
                 FROM api_key_usage
                 WHERE at = $1
                 UNION ALL
                 SELECT u.at, u.previous_at, u.method, u.path, u.ip, u.user_agent, u.auth_endpoint
                 FROM followed f
                 JOIN api_key_usage u ON u.at = f.previous_at
               )
               SELECT at, method, path, ip, user_agent, auth_endpoint
               FROM followed
               WHERE at < $2
               LIMIT $3";
    rows.extend(tx.all(sql, (begin, before, count(rows_max - rows.len())), usage_row)?);
    Ok(rows)
}

/// Where to begin for the marked rows of a key before a time: the mark next behind it, or the newest row. Few rows lie
/// between.
fn begin(tx: &Tx<'_>, key_number: i64, before: i64, marked_to: i64) -> Result<Option<i64>, Error> {
    let sql = "SELECT at
               FROM api_key_usage_marks
               WHERE key_number = $1 AND at >= $2 AND at <= $3
               ORDER BY at
               LIMIT 1";
    match tx.one(sql, (key_number, before, marked_to), |row| Ok(row.get(0)?))? {
        Some(at) => Ok(Some(at)),
        None => Ok(newest_known(tx, key_number)?.map(|newest| newest.at.micros())),
    }
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

/// What is found of the rows that have no marks yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unmarked {
    /// Rows to begin at: key number and time, in the order of keys.
    pub(super) marks: Vec<(i64, i64)>,
    /// The newest row of each key: its number, time and number of the row.
    pub(super) newest: Vec<(i64, i64, i64)>,
    /// The time of the newest of them all.
    pub(super) to: i64,
}

/// The rows that have no marks yet.
pub(super) fn unmarked(tx: &Tx<'_>) -> Result<Unmarked, Error> {
    let marked_to = marked_to(tx)?;
    let sql = "SELECT key_number, at, number
               FROM api_key_usage
               WHERE at > $1
               ORDER BY at";
    let rows: Vec<(i64, i64, i64)> = tx.all(sql, [marked_to], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let marks = rows.iter().filter(|(_, _, number)| number % MARK_EVERY == 0);
    let mut marks: Vec<(i64, i64)> = marks.map(|(key_number, at, _)| (*key_number, *at)).collect();
    marks.sort_unstable();
    let newest: BTreeMap<i64, (i64, i64)> =
        rows.iter().map(|(key_number, at, number)| (*key_number, (*at, *number))).collect();
    let newest = newest.into_iter().map(|(key_number, (at, number))| (key_number, at, number)).collect();
    Ok(Unmarked { marks, newest, to: rows.last().map_or(marked_to, |(_, at, _)| *at) })
}

/// Adds marks of [`unmarked`].
pub(super) fn mark(tx: &Tx<'_>, marks: &[(i64, i64)]) -> Result<(), Error> {
    let sql = "INSERT INTO api_key_usage_marks (key_number, at)
               VALUES ($1, $2)
               ON CONFLICT DO NOTHING";
    tx.run_each(sql, marks.iter(), |mark| Ok(*mark))
}

/// Notes the newest rows of [`unmarked`].
pub(super) fn note_newest(tx: &Tx<'_>, newest: &[(i64, i64, i64)]) -> Result<(), Error> {
    let sql = "INSERT INTO api_key_usage_newest (key_number, at, number)
               VALUES ($1, $2, $3)
               ON CONFLICT (key_number) DO UPDATE
               SET at = excluded.at, number = excluded.number";
    tx.run_each(sql, newest.iter(), |newest| Ok(*newest))
}

/// The oldest rows from before a time that are marked, at most so many: key number and time, in the order of time. A row
/// that is not marked is not pruned, because the key's statistics are only in it.
pub(super) fn outdated(tx: &Tx<'_>, kept_since: Timestamp, rows_max: usize) -> Result<Vec<(i64, i64)>, Error> {
    let sql = "SELECT key_number, at
               FROM api_key_usage
               WHERE at < $1 AND at <= $2
               ORDER BY at
               LIMIT $3";
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    tx.all(sql, (kept_since.micros(), marked_to(tx)?, rows_max), |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Deletes rows of [`outdated`] with their marks. The newest row of each key stays on record, so that its count goes on.
pub(super) fn prune(tx: &Tx<'_>, rows: &[(i64, i64)]) -> Result<(), Error> {
    let Some((_, last)) = rows.last() else { return Ok(()) };
    let sql = "DELETE FROM api_key_usage_marks
               WHERE key_number = $1 AND at = $2";
    tx.run_each(sql, rows.iter(), |row| Ok(*row))?;
    tx.run("DELETE FROM api_key_usage WHERE at <= $1", [last])?;
    let sql = "UPDATE api_key_usage_marking
               SET pruned_to = max(pruned_to, $1)
               WHERE id = 1";
    tx.run(sql, [last])?;
    Ok(())
}

/// All rows up to a time are marked: said once their marks and the newest of each key are there.
pub(super) fn set_marked_to(tx: &Tx<'_>, at: i64) -> Result<(), Error> {
    let sql = "UPDATE api_key_usage_marking
               SET marked_to = $1
               WHERE id = 1 AND marked_to < $1";
    tx.run(sql, [at])?;
    Ok(())
}
