//! The comparison of a file with a copy of it, row by row.

use std::path::Path;

use super::super::connection::Connection;
use super::super::tx::Error;
use super::check;
use super::connection::{self, Use};

/// Returns whether the copy at this path exists, is intact, and has the same tables and rows as the file.
pub(crate) fn is_copy_of(file: &Connection, copy: &Path) -> bool {
    let compare = || -> Result<bool, Error> {
        if !copy.exists() {
            return Ok(false);
        }
        let other = connection::open_to_read(copy, Use::Read)?;
        if !have_same_tables(file, &other)? {
            return Ok(false);
        }
        check::require_intact(copy)?;
        for table in tables(file)? {
            if !have_same_rows(file, &other, &format!("SELECT * FROM \"{table}\""))? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    // A copy that cannot be read does not match the file.
    compare().unwrap_or(false)
}

/// Compares the statements that created the tables, indexes and triggers, and the user version and application id in
/// the header.
fn have_same_tables(file: &Connection, copy: &Connection) -> Result<bool, Error> {
    let statements = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    Ok(have_same_rows(file, copy, "PRAGMA user_version")?
        && have_same_rows(file, copy, "PRAGMA application_id")?
        && have_same_rows(file, copy, statements)?)
}

fn tables(file: &Connection) -> Result<Vec<String>, Error> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = file.sqlite().prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Returns whether a query returns the same rows from the file and from the copy. A table is read in the order of its
/// key, which is the same in both.
fn have_same_rows(file: &Connection, copy: &Connection, sql: &str) -> Result<bool, Error> {
    let (mut in_file, mut in_copy) = (file.sqlite().prepare(sql)?, copy.sqlite().prepare(sql)?);
    if in_file.column_count() != in_copy.column_count() {
        return Ok(false);
    }
    let columns = in_file.column_count();
    let (mut in_file, mut in_copy) = (in_file.query([])?, in_copy.query([])?);
    loop {
        match (in_file.next()?, in_copy.next()?) {
            (None, None) => return Ok(true),
            (Some(row), Some(row_of_copy)) => {
                for column in 0..columns {
                    if row.get_ref(column)? != row_of_copy.get_ref(column)? {
                        return Ok(false);
                    }
                }
            }
            _ => return Ok(false),
        }
    }
}
