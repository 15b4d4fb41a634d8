//! Databases for unit tests, and the query plans of statements.

use std::path::Path;

use super::super::connection::Connection;

/// Creates a database in memory, and runs these statements in it.
pub(crate) fn in_memory(sql: &str) -> Connection {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.set_prepared_statement_cache_capacity(128);
    connection.execute_batch(sql).unwrap();
    Connection::from(connection)
}

/// Opens a file, or creates an empty one.
pub(crate) fn file(path: &Path) -> Connection {
    Connection::from(rusqlite::Connection::open(path).unwrap())
}

/// Runs several statements.
pub(crate) fn run_all(connection: &Connection, sql: &str) {
    connection.sqlite().execute_batch(sql).unwrap();
}

/// Returns the number of rows that the connection has changed.
pub(crate) fn changed_rows(connection: &Connection) -> u64 {
    connection.changed_rows()
}

/// Returns the plan of a query, one line for each step.
pub(crate) fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.sqlite().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nulls = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(nulls), |row| row.get("detail")).unwrap();
    steps.map(Result::unwrap).collect()
}
