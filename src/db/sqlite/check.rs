//! SQLite's own checks of a file: its pages and its foreign keys. This module does not depend on any table.

use std::path::Path;

use super::super::tx::{self, Error, Tx};
use super::connection::{self, Use};
use crate::domain::timestamp::Timestamp;

/// The maximum number of findings of one kind that a check lists. A longer list would bury the first findings.
pub(crate) const FINDINGS_OF_A_KIND_MAX: usize = 100;

/// Checks that SQLite finds no defect in the pages of the file.
///
/// # Errors
/// [`Error::Defect`] with the first finding; another error if the file cannot be read.
pub(crate) fn require_intact(path: &Path) -> Result<(), Error> {
    let connection = connection::open_to_read(path, Use::Read)?;
    let now = Timestamp::from_micros(0);
    match tx::snapshot(&connection, now, integrity)?.into_iter().next() {
        None => Ok(()),
        Some(finding) => Err(Error::Defect(finding)),
    }
}

/// Returns the defects that SQLite finds in the pages of the file, at most [`FINDINGS_OF_A_KIND_MAX`].
pub(crate) fn integrity(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let lines: Vec<String> = tx.values(&format!("PRAGMA integrity_check({FINDINGS_OF_A_KIND_MAX})"), [])?;
    Ok(lines.into_iter().filter(|line| line != "ok").map(|line| format!("integrity: {line}")).collect())
}

/// Returns a finding for each pair of tables where rows of one table refer to missing rows of the other, at most
/// [`FINDINGS_OF_A_KIND_MAX`].
pub(crate) fn foreign_keys(tx: &Tx<'_>) -> Result<Vec<String>, Error> {
    let sql =
        format!(r#"SELECT DISTINCT "table", parent FROM pragma_foreign_key_check LIMIT {FINDINGS_OF_A_KIND_MAX}"#);
    tx.all(&sql, [], |row| {
        let (table, parent): (String, String) = (row.get("table")?, row.get("parent")?);
        Ok(format!("foreign key: a row in {table} refers to a row in {parent} that does not exist"))
    })
}
