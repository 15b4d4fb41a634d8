//! Whether a copy of a file is whole and says the same, row by row.

use std::path::Path;

use rusqlite::Connection;

use super::check;
use super::connection::{self, Use};
use super::tx::Error;

/// Whether there is an intact copy at this path that has the same tables, and the same rows in them, as the file has now.
pub(crate) fn is_copy_of(file: &Connection, copy: &Path) -> bool {
    let same = || -> Result<bool, Error> {
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
    // What cannot be read is no copy to rely on.
    same().unwrap_or(false)
}

/// The statements that made the tables, and what the header says of the version.
fn have_same_tables(file: &Connection, copy: &Connection) -> Result<bool, Error> {
    let statements = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    Ok(have_same_rows(file, copy, "PRAGMA user_version")?
        && have_same_rows(file, copy, "PRAGMA application_id")?
        && have_same_rows(file, copy, statements)?)
}

fn tables(file: &Connection) -> Result<Vec<String>, Error> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = file.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Whether a query has the same rows in both. A table is read in the order of its key, which a copy keeps.
fn have_same_rows(file: &Connection, copy: &Connection, sql: &str) -> Result<bool, Error> {
    let (mut ours, mut theirs) = (file.prepare(sql)?, copy.prepare(sql)?);
    if ours.column_count() != theirs.column_count() {
        return Ok(false);
    }
    let columns = ours.column_count();
    let (mut ours, mut theirs) = (ours.query([])?, theirs.query([])?);
    loop {
        match (ours.next()?, theirs.next()?) {
            (None, None) => return Ok(true),
            (Some(our), Some(their)) => {
                for column in 0..columns {
                    if our.get_ref(column)? != their.get_ref(column)? {
                        return Ok(false);
                    }
                }
            }
            _ => return Ok(false),
        }
    }
}
