//! Rows of the usage log that a clock which was once ahead has dated in the future: once the clock is right again, they are
//! dated back to just before now, in their order, so that the log tells the truth from then on and not only months later.
//!
//! Their true times are not known any more. Each keeps its place among all rows, and a page that was begun at one of the times
//! that they had goes on from where its row is now.

use std::collections::HashMap;
use std::time::Duration;

use super::usage;
use crate::db::tx::{self, Error, Tx};
use crate::domain::timestamp::Timestamp;

/// How far ahead of the clock the newest row may be: rows that come within one microsecond, and a clock that is set back by
/// seconds, are caught up with soon.
const AHEAD_MAX: Duration = Duration::from_secs(60);

/// Rows that are ahead by no more than this stay where they are, so that there is room for those behind them: a microsecond
/// each.
const SLACK: Duration = Duration::from_secs(1);

/// Rows that one transaction dates back: a few milliseconds of the writing connection, which others wait for.
pub(super) const ROWS_MAX: i64 = 512;

/// Whether the log has rows that are dated in the future.
pub(super) fn is_due(tx: &Tx<'_>) -> Result<bool, Error> {
    let newest = tx.one("SELECT max(at) FROM api_key_usage", [], |row| tx::time_or_none(row, 0))?.flatten();
    Ok(newest.is_some_and(|newest| newest > tx.now.plus(AHEAD_MAX)))
}

/// A row that moves.
struct Row {
    at: i64,
    key_number: i64,
    previous_at: Option<i64>,
}

/// Dates the first of them back. How many they were; none where none is left.
pub(super) fn date_back(tx: &Tx<'_>, rows_max: i64) -> Result<usize, Error> {
    let (now, limit) = (tx.now.micros(), tx.now.plus(SLACK).micros());
    let sql = "SELECT at, key_number, previous_at
               FROM api_key_usage
               WHERE at > $1
               ORDER BY at
               LIMIT $2";
    let rows = tx.all(sql, (limit, rows_max), |row| {
        Ok(Row { at: row.get(0)?, key_number: row.get(1)?, previous_at: row.get(2)? })
    })?;
    let Some(last) = rows.last() else { return Ok(0) };
    let sql = "SELECT coalesce(max(at), 0)
               FROM api_key_usage
               WHERE at <= $1";
    let before: i64 = tx.one(sql, [limit], |row| Ok(row.get(0)?))?.unwrap_or(0);
    let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    // Each place is free by the time that it is taken: the row in it, if any, has moved before.
    let first = before.max(now.saturating_sub(count)) + 1;
    let moved: HashMap<i64, i64> = rows.iter().map(|row| row.at).zip(first..).collect();
    let marked_to = usage::marked_to(tx)?;
    move_rows(tx, &rows, &moved)?;
    move_index(tx, &rows, &moved)?;
    let is_all = !tx.exists("SELECT 1 FROM api_key_usage WHERE at > $1", [last.at])?;
    if !is_all {
        move_followers(tx, &rows, &moved)?;
    }
    let last_marked = rows.iter().rev().find(|row| row.at <= marked_to);
    if let Some(row) = last_marked.filter(|row| is_all || row.at < last.at || marked_to == row.at) {
        let sql = "UPDATE api_key_usage_marking
                   SET marked_to = $1
                   WHERE id = 1";
        tx.run(sql, [moved[&row.at]])?;
    }
    if let Some(ledger) = tx.state::<usage::Ledger>() {
        ledger.forget();
    }
    Ok(rows.len())
}

/// The rows themselves, and the times that pages may have begun at.
fn move_rows(tx: &Tx<'_>, rows: &[Row], moved: &HashMap<i64, i64>) -> Result<(), Error> {
    let sql = "UPDATE api_key_usage
               SET at = $1, previous_at = $2
               WHERE at = $3";
    tx.run_each(sql, rows.iter(), |row| {
        let previous_at = row.previous_at.map(|at| moved.get(&at).copied().unwrap_or(at));
        Ok((moved[&row.at], previous_at, row.at))
    })?;
    let sql = "DELETE FROM api_key_usage_moves
               WHERE moved_from <= $1";
    tx.run(sql, [tx.now.micros()])?;
    let sql = "INSERT INTO api_key_usage_moves (moved_from, at)
               VALUES ($1, $2)
               ON CONFLICT (moved_from) DO UPDATE
               SET at = excluded.at";
    let changed = rows.iter().filter(|row| moved[&row.at] != row.at);
    tx.run_each(sql, changed, |row| Ok((row.at, moved[&row.at])))
}

/// The usage index.
fn move_index(tx: &Tx<'_>, rows: &[Row], moved: &HashMap<i64, i64>) -> Result<(), Error> {
    let params = |row: &Row| Ok((moved[&row.at], row.key_number, row.at));
    let sql = "UPDATE api_key_usage_marks
               SET at = $1
               WHERE key_number = $2 AND at = $3";
    tx.run_each(sql, rows.iter(), params)?;
    let sql = "UPDATE api_key_usage_newest
               SET at = $1
               WHERE key_number = $2 AND at = $3";
    tx.run_each(sql, rows.iter(), params)
}

/// The first row of each key behind those that have moved: it names one of them.
fn move_followers(tx: &Tx<'_>, rows: &[Row], moved: &HashMap<i64, i64>) -> Result<(), Error> {
    let newest: HashMap<i64, i64> = rows.iter().map(|row| (row.key_number, row.at)).collect();
    let end = rows.last().map_or(0, |row| row.at);
    let find = "SELECT at
                FROM api_key_usage
                WHERE at > $1 AND key_number = $2
                ORDER BY at
                LIMIT 1";
    let sql = "UPDATE api_key_usage
               SET previous_at = $1
               WHERE at = $2";
    for (key_number, previous_at) in newest {
        let follower: Option<i64> = tx.one(find, (end, key_number), |row| Ok(row.get(0)?))?;
        if let Some(follower) = follower {
            tx.run(sql, (moved[&previous_at], follower))?;
        }
    }
    Ok(())
}

/// Where a page goes on that was begun before a time among those which rows had while they were dated in the future.
pub(super) fn cursor(tx: &Tx<'_>, before: Timestamp) -> Result<Timestamp, Error> {
    let sql = "SELECT at
               FROM api_key_usage_moves
               WHERE moved_from >= $1 AND EXISTS (SELECT 1 FROM api_key_usage_moves WHERE moved_from <= $1)
               ORDER BY moved_from
               LIMIT 1";
    let mut before = before;
    // A row that has moved twice is followed; each step leads further back.
    while before > tx.now {
        match tx.one(sql, [before.micros()], |row| tx::time(row, 0))? {
            Some(at) => before = at,
            None => break,
        }
    }
    Ok(before)
}
