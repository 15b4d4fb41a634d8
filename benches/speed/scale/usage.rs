//! The usage log of a generated file: its rows and its usage index.

use rusqlite::Connection;

use super::data::{KEYS, Size, key_number, usage_at, usage_key};
use super::progress::Progress;

/// Fills the usage log, the usage index and the table of the newest row of each key. The index has an entry for every
/// 64th row of a key.
pub(crate) fn fill_usage(connection: &Connection, size: &Size) {
    append_rows(connection, size);
    eprintln!("  creating the usage index");
    let sql = "INSERT INTO api_key_usage_marks (key_number, at)
               SELECT key_number, at FROM api_key_usage WHERE number % 64 = 0 ORDER BY key_number, at";
    connection.execute(sql, []).unwrap();
    let sql = "INSERT INTO api_key_usage_newest (key_number, at, number)
               SELECT key_number, max(at), max(number) FROM api_key_usage GROUP BY key_number";
    connection.execute(sql, []).unwrap();
    let sql = "UPDATE api_key_usage_marking SET marked_to = $1 WHERE id = 1";
    let updated = connection.execute(sql, [usage_at(size.usage_rows - 1)]).unwrap();
    assert_eq!(updated, 1, "the end of the index is stored");
}

fn append_rows(connection: &Connection, size: &Size) {
    let sql =
        "INSERT INTO api_key_usage (at, key_number, number, previous_at, method, path, ip, user_agent, auth_endpoint)
               VALUES ($1, $2, $3, $4, 'GET', '/api/v1/me', '192.0.2.7', 'staff-sync/4.2 (linux)', '/api/v1/me')";
    let mut append = connection.prepare(sql).unwrap();
    let mut progress = Progress::of("usage rows", size.usage_rows);
    let mut newest = [(0, None); KEYS];
    for row in 0..size.usage_rows {
        let key = usage_key(row);
        let (number, previous_at) = newest[key];
        append.execute((usage_at(row), key_number(key), number + 1, previous_at)).unwrap();
        newest[key] = (number + 1, Some(usage_at(row)));
        progress.one();
    }
}
