//! The usage log: one row a request that a key authenticated, only ever appended.

use super::api_key;
use super::tx::{self, Error, Tx};
use crate::domain::timestamp::Timestamp;
use crate::domain::usage;

/// A request to be logged.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The number of the key that authenticated it.
    pub key_number: i64,
    /// Its method.
    pub method: String,
    /// Its raw path, without the query.
    pub path: String,
    /// Where it came from.
    pub ip: String,
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

/// Appends a row.
///
/// # Errors
/// When SQLite fails.
pub fn append(tx: &Tx<'_>, entry: &Entry) -> Result<(), Error> {
    let last = tx.one("SELECT max(at) FROM api_key_usage", [], |row| tx::time_or_none(row, 0))?.flatten();
    let sql = "SELECT number
               FROM api_key_usage
               WHERE key_number = $1
               ORDER BY at DESC
               LIMIT 1";
    let number: i64 = tx.one(sql, [entry.key_number], |row| Ok(row.get(0)?))?.unwrap_or(0) + 1;
    let sql = "INSERT INTO api_key_usage (at, key_number, number, method, path, ip, user_agent, auth_endpoint)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    tx.run(
        sql,
        (
            usage::next_at(last, tx.now).micros(),
            entry.key_number,
            number,
            &entry.method,
            &entry.path,
            &entry.ip,
            &entry.user_agent,
            entry.auth_endpoint,
        ),
    )?;
    Ok(())
}

/// Appends a row where the key still counts in this very transaction; whether it does.
///
/// # Errors
/// When SQLite fails.
pub fn append_if_alive(tx: &Tx<'_>, entry: &Entry) -> Result<bool, Error> {
    if !api_key::is_alive(tx, entry.key_number)? {
        return Ok(false);
    }
    append(tx, entry)?;
    Ok(true)
}

/// The newest rows of a key, older than `before` where that is given (`GET /api/admin/api-keys/{id}/usage`).
///
/// # Errors
/// When SQLite fails.
pub fn page(tx: &Tx<'_>, key_number: i64, before: Option<Timestamp>, rows_max: usize) -> Result<Vec<UsageRow>, Error> {
    let sql = "SELECT at, method, path, ip, user_agent, auth_endpoint
               FROM api_key_usage
               WHERE key_number = $1 AND at < $2
               ORDER BY at DESC
               LIMIT $3";
    let before = before.map_or(i64::MAX, Timestamp::micros);
    tx.all(sql, (key_number, before, i64::try_from(rows_max).unwrap_or(i64::MAX)), |row| {
        Ok(UsageRow {
            at: tx::time(row, 0)?,
            method: row.get(1)?,
            path: row.get(2)?,
            ip: row.get(3)?,
            user_agent: row.get(4)?,
            auth_endpoint: row.get(5)?,
        })
    })
}
