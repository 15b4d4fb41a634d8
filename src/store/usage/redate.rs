//! Redates usage rows whose times are in the future because the clock was ahead. When the clock is right again, these
//! rows are dated just before the present, in the same order. Without this correction, new rows would receive wrong
//! times until the clock caught up.
//!
//! The true times are lost. Each row keeps its position among all rows. If a caller's cursor contains the old time of a
//! row, the next page continues from the row's new time.

use std::collections::HashMap;

use super::index::indexed_to;
use super::log::LogTail;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;
use crate::domain::usage;

/// The maximum number of rows that one transaction redates (a slice). A slice occupies the writer for a few
/// milliseconds.
pub(super) const ROWS_MAX: i64 = 512;

/// Returns whether the log has rows that must be redated.
pub(super) fn is_due(tx: &Tx<'_>) -> Result<bool, Error> {
    let newest: Option<i64> = tx.value("SELECT max(at) FROM api_key_usage", [])?.flatten();
    Ok(newest.is_some_and(|newest| usage::is_ahead(Timestamp::from_micros(newest), tx.now)))
}

/// A row that must be redated.
struct AheadRow {
    at: i64,
    key_number: i64,
    previous_at: Option<i64>,
}

/// Redates at most `rows_max` of the rows that are ahead, the earliest first. Returns the number of redated rows, or 0
/// if no row is ahead.
pub(super) fn redate(tx: &Tx<'_>, rows_max: i64) -> Result<usize, Error> {
    let limit = usage::redated_after(tx.now).micros();
    let sql = "SELECT at, key_number, previous_at
               FROM api_key_usage
               WHERE at > $1
               ORDER BY at
               LIMIT $2";
    let rows = tx.all(sql, (limit, rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok(AheadRow { at: columns.read()?, key_number: columns.read()?, previous_at: columns.read()? })
    })?;
    let Some(last) = rows.last() else { return Ok(0) };
    let sql = "SELECT coalesce(max(at), 0)
               FROM api_key_usage
               WHERE at <= $1";
    let newest_staying: i64 = tx.value(sql, [limit])?.unwrap_or(0);
    let times = usage::redated_times(rows.len(), Timestamp::from_micros(newest_staying), tx.now);
    // Rows are redated in order, so each new time is free: if a row had this time, that row has already been redated.
    let moved: HashMap<i64, i64> = rows.iter().map(|row| row.at).zip(times.map(Timestamp::micros)).collect();
    let indexed_to = indexed_to(tx)?;
    move_rows(tx, &rows, &moved)?;
    move_index(tx, &rows, &moved)?;
    let is_last_slice = !tx.exists("SELECT 1 FROM api_key_usage WHERE at > $1", [last.at])?;
    if !is_last_slice {
        move_followers(tx, &rows, &moved)?;
    }
    let last_indexed = rows.iter().rev().find(|row| row.at <= indexed_to);
    if let Some(row) = last_indexed.filter(|row| is_last_slice || row.at < last.at || indexed_to == row.at) {
        let sql = "UPDATE api_key_usage_marking
                   SET marked_to = $1
                   WHERE id = 1";
        tx.run(sql, [moved[&row.at]])?;
    }
    if let Some(tail) = tx.state::<LogTail>() {
        tail.note_moved();
    }
    Ok(rows.len())
}

/// Redates the rows, and records the old times for cursors.
fn move_rows(tx: &Tx<'_>, rows: &[AheadRow], moved: &HashMap<i64, i64>) -> Result<(), Error> {
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

/// Redates the index entries and the newest rows of keys.
fn move_index(tx: &Tx<'_>, rows: &[AheadRow], moved: &HashMap<i64, i64>) -> Result<(), Error> {
    let params = |row: &AheadRow| Ok((moved[&row.at], row.key_number, row.at));
    let sql = "UPDATE api_key_usage_marks
               SET at = $1
               WHERE key_number = $2 AND at = $3";
    tx.run_each(sql, rows.iter(), params)?;
    let sql = "UPDATE api_key_usage_newest
               SET at = $1
               WHERE key_number = $2 AND at = $3";
    tx.run_each(sql, rows.iter(), params)
}

/// Corrects `previous_at` in the first row of each key after the redated rows.
fn move_followers(tx: &Tx<'_>, rows: &[AheadRow], moved: &HashMap<i64, i64>) -> Result<(), Error> {
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
        let follower: Option<i64> = tx.value(find, (end, key_number))?;
        if let Some(follower) = follower {
            tx.run(sql, (moved[&previous_at], follower))?;
        }
    }
    Ok(())
}

/// Returns the cursor at which a page continues. The cursor differs from `before` if `before` is an old time of a
/// redated row, or is between the old times of two redated rows.
pub(super) fn redated_cursor(tx: &Tx<'_>, before: Timestamp) -> Result<Timestamp, Error> {
    let sql = "SELECT at
               FROM api_key_usage_moves
               WHERE moved_from >= $1 AND EXISTS (SELECT 1 FROM api_key_usage_moves WHERE moved_from <= $1)
               ORDER BY moved_from
               LIMIT 1";
    let mut before = before;
    // A row may have been redated twice. Each step leads to an earlier time, so the loop ends.
    while before > tx.now {
        match tx.value(sql, [before.micros()])? {
            Some(at) => before = Timestamp::from_micros(at),
            None => break,
        }
    }
    Ok(before)
}
