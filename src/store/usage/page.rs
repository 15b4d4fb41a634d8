//! Pages of the usage log for one key, newest row first.

use super::index::{indexed_to, start_row};
use super::redate::redated_cursor;
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;

/// A logged request.
#[derive(Debug, Clone)]
pub struct UsageRow {
    /// The time of the row, which is unique: usually the time of the request.
    pub at: Timestamp,
    pub method: String,
    /// The path without the query, shortened and with secrets masked
    /// ([`stored_path`](crate::domain::usage::stored_path)).
    pub path: String,
    /// The client's address.
    pub ip: String,
    pub user_agent: String,
    /// The path template of the route.
    pub auth_endpoint: String,
}

/// Returns the newest rows of a key, or the newest rows before `before` (`GET /api/admin/api-keys/{id}/usage`).
pub fn page(tx: &Tx<'_>, key_number: i64, before: Option<Timestamp>, rows_max: usize) -> Result<Vec<UsageRow>, Error> {
    let before = before.map(|before| redated_cursor(tx, before)).transpose()?;
    let (before, indexed_to) = (before.map_or(i64::MAX, Timestamp::micros), indexed_to(tx)?);
    let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let sql = "SELECT at, method, path, ip, user_agent, auth_endpoint
               FROM api_key_usage
               WHERE at > $1 AND at < $2 AND key_number = $3
               ORDER BY at DESC
               LIMIT $4";
    let mut rows = tx.all(sql, (indexed_to, before, key_number, count(rows_max)), usage_row)?;
    let before = before.min(indexed_to.saturating_add(1));
    let Some(start) = start_row(tx, key_number, before, indexed_to)?.filter(|_| rows.len() < rows_max) else {
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
    rows.extend(tx.all(sql, (start, before, count(rows_max - rows.len())), usage_row)?);
    Ok(rows)
}

fn usage_row(row: &Row<'_>) -> Result<UsageRow, Error> {
    let mut columns = Columns::of(row);
    Ok(UsageRow {
        at: columns.time()?,
        method: columns.read()?,
        path: columns.read()?,
        ip: columns.read()?,
        user_agent: columns.read()?,
        auth_endpoint: columns.read()?,
    })
}
