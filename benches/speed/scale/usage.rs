//! The usage log of a file that is made: its rows, and how they are found by key.

use rusqlite::Connection;

use super::data::{KEYS, Size, key_number, usage_at, usage_key};
use super::progress::Progress;

/// Where the rows of a key are in a file that is to find them by a table which is filled in bulk. An older one has an
/// index, which SQLite fills by itself.
const BY_KEY: &str = "api_key_usage_by_key";

/// Says in such a file that all rows are in that table, up to the `at` that is $1.
const SET_WATERMARK: &str = "UPDATE api_key_usage_sorting SET sorted_to = $1 WHERE id = 1";

/// Fills the usage log, and whatever the file finds its rows by.
pub(crate) fn fill_usage(connection: &Connection, size: &Size) {
    append_rows(connection, size);
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = $1";
    let has_table: bool = connection.query_row(sql, [BY_KEY], |row| row.get(0)).unwrap();
    if has_table {
        eprintln!("  rows of the usage log by key");
        let sql = "INSERT INTO api_key_usage_by_key (key_number, at)
                   SELECT key_number, at FROM api_key_usage ORDER BY key_number, at";
        connection.execute(sql, []).unwrap();
        assert_eq!(
            connection.execute(SET_WATERMARK, [usage_at(size.usage_rows - 1)]).unwrap(),
            1,
            "there is a watermark"
        );
    }
}

fn append_rows(connection: &Connection, size: &Size) {
    let sql = "INSERT INTO api_key_usage (at, key_number, number, method, path, ip, user_agent, auth_endpoint)
               VALUES ($1, $2, $3, 'GET', '/api/v1/me', '192.0.2.7', 'staff-sync/4.2 (linux)', '/api/v1/me')";
    let mut append = connection.prepare(sql).unwrap();
    let mut progress = Progress::of("rows of the usage log", size.usage_rows);
    let mut numbers = [0; KEYS];
    for row in 0..size.usage_rows {
        let key = usage_key(row);
        numbers[key] += 1;
        append.execute((usage_at(row), key_number(key), numbers[key])).unwrap();
        progress.one();
    }
}
