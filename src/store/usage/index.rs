//! The usage index: a sparse index over the usage log, and the newest row of each key. All rows up to a certain time
//! are indexed; later rows might not be.

use std::collections::{BTreeMap, HashMap};

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;

/// One in this many rows of a key has an index entry, so the query for a page skips fewer than this many rows.
/// Indexing every row would add a tenth to the cost of a request, and more as the log grows.
const INDEX_EVERY: i64 = 64;

/// The newest row of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct NewestRow {
    pub(in crate::store) at: Timestamp,
    /// The running number of the row among all rows of its key, which is also the key's request count.
    pub(in crate::store) number: i64,
}

/// Returns the time up to which all rows are indexed.
pub(super) fn indexed_to(tx: &Tx<'_>) -> Result<i64, Error> {
    let sql = "SELECT marked_to
               FROM api_key_usage_marking
               WHERE id = 1";
    tx.value(sql, [])?
        .ok_or_else(|| Error::Defect("the database does not record the end of the usage index".to_owned()))
}

/// Sets the time up to which all rows are indexed, after their index entries and the newest row of each key were added.
pub(super) fn set_indexed_to(tx: &Tx<'_>, at: i64) -> Result<(), Error> {
    let sql = "UPDATE api_key_usage_marking
               SET marked_to = $1
               WHERE id = 1 AND marked_to < $1";
    tx.run(sql, [at])?;
    Ok(())
}

/// Returns the newest indexed row of a key. Newer rows that are not indexed may follow.
pub(super) fn newest_indexed_of(tx: &Tx<'_>, key_number: i64) -> Result<Option<NewestRow>, Error> {
    let sql = "SELECT at, number
               FROM api_key_usage_newest
               WHERE key_number = $1";
    tx.one(sql, [key_number], newest_row)
}

/// Returns the newest row of each key among the rows that are not indexed, by key number.
pub(in crate::store) fn newest_unindexed(tx: &Tx<'_>) -> Result<HashMap<i64, NewestRow>, Error> {
    let sql = "SELECT key_number, at, number
               FROM api_key_usage
               WHERE at > $1
               ORDER BY at";
    let rows = tx.all(sql, [indexed_to(tx)?], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, NewestRow { at: columns.time()?, number: columns.read()? }))
    })?;
    Ok(rows.into_iter().collect())
}

/// Returns the newest row of one key among the rows that are not indexed.
pub(in crate::store) fn newest_unindexed_of(tx: &Tx<'_>, key_number: i64) -> Result<Option<NewestRow>, Error> {
    let sql = "SELECT at, number
               FROM api_key_usage
               WHERE at > $1 AND key_number = $2
               ORDER BY at DESC
               LIMIT 1";
    tx.one(sql, (indexed_to(tx)?, key_number), newest_row)
}

/// Returns the first rows of any key at or after a time, earliest first, each with its key number.
#[cfg(feature = "postgres")]
pub(super) fn rows_from(tx: &Tx<'_>, at: Timestamp, rows_max: i64) -> Result<Vec<(i64, NewestRow)>, Error> {
    let sql = "SELECT key_number, at, number
               FROM api_key_usage
               WHERE at >= $1
               ORDER BY at
               LIMIT $2";
    tx.all(sql, (at.micros(), rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, NewestRow { at: columns.time()?, number: columns.read()? }))
    })
}

fn newest_row(row: &Row<'_>) -> Result<NewestRow, Error> {
    let mut columns = Columns::of(row);
    Ok(NewestRow { at: columns.time()?, number: columns.read()? })
}

/// Returns the time of the indexed row from which the rows before `before` are read. This is the row of the key's first
/// index entry at or after `before` or, if there is none, the key's newest indexed row. Few rows of the key lie between
/// this row and `before`.
pub(super) fn start_row(tx: &Tx<'_>, key_number: i64, before: i64, indexed_to: i64) -> Result<Option<i64>, Error> {
    let sql = "SELECT at
               FROM api_key_usage_marks
               WHERE key_number = $1 AND at >= $2 AND at <= $3
               ORDER BY at
               LIMIT 1";
    match tx.value(sql, (key_number, before, indexed_to))? {
        Some(at) => Ok(Some(at)),
        None => Ok(newest_indexed_of(tx, key_number)?.map(|newest| newest.at.micros())),
    }
}

/// The missing part of the usage index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MissingIndex {
    /// The key number and time of each index entry, sorted by key.
    pub(super) entries: Vec<(i64, i64)>,
    /// The key number, time and running number of the newest row of each key that has unindexed rows.
    pub(super) newest: Vec<(i64, i64, i64)>,
    /// The time of the newest row of any key, up to which all rows will then be indexed.
    pub(super) to: i64,
}

/// Computes the missing part of the usage index from the rows that are not indexed yet.
pub(super) fn missing_index(tx: &Tx<'_>) -> Result<MissingIndex, Error> {
    let indexed_to = indexed_to(tx)?;
    let sql = "SELECT key_number, at, number
               FROM api_key_usage
               WHERE at > $1
               ORDER BY at";
    let rows: Vec<(i64, i64, i64)> = tx.all(sql, [indexed_to], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?, columns.read()?))
    })?;
    let indexed = rows.iter().filter(|(_, _, number)| number % INDEX_EVERY == 0);
    let mut entries: Vec<(i64, i64)> = indexed.map(|(key_number, at, _)| (*key_number, *at)).collect();
    entries.sort_unstable();
    let newest: BTreeMap<i64, (i64, i64)> =
        rows.iter().map(|(key_number, at, number)| (*key_number, (*at, *number))).collect();
    let newest = newest.into_iter().map(|(key_number, (at, number))| (key_number, at, number)).collect();
    Ok(MissingIndex { entries, newest, to: rows.last().map_or(indexed_to, |(_, at, _)| *at) })
}

/// Adds index entries from a [`MissingIndex`]. An interrupted run may have added some of them.
pub(super) fn add_entries(tx: &Tx<'_>, entries: &[(i64, i64)]) -> Result<(), Error> {
    let sql = "INSERT INTO api_key_usage_marks (key_number, at)
               VALUES ($1, $2)
               ON CONFLICT DO NOTHING";
    tx.run_each(sql, entries.iter(), |entry| Ok(*entry))
}

/// Saves the newest rows from a [`MissingIndex`], except those of keys for which another server has saved newer rows.
pub(super) fn set_newest(tx: &Tx<'_>, newest: &[(i64, i64, i64)]) -> Result<(), Error> {
    let sql = "INSERT INTO api_key_usage_newest (key_number, at, number)
               VALUES ($1, $2, $3)
               ON CONFLICT (key_number) DO UPDATE
               SET at = excluded.at, number = excluded.number
               WHERE api_key_usage_newest.number < excluded.number";
    tx.run_each(sql, newest.iter(), |newest| Ok(*newest))
}
