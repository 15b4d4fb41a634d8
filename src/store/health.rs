//! Whether the file can be worked with: one row that is written and read back.

use super::tx::{self, Error, Tx};

/// Writes one row and reads it back (`GET /readyz`).
///
/// # Errors
/// When the file cannot be written or read.
pub fn touch(tx: &Tx<'_>) -> Result<(), Error> {
    let sql = "INSERT INTO readiness (id, at)
               VALUES (1, $1)
               ON CONFLICT (id) DO UPDATE
               SET at = excluded.at";
    tx.run(sql, [tx.now.micros()])?;
    let sql = "SELECT at
               FROM readiness
               WHERE id = 1";
    let read = tx.one(sql, [], |row| tx::time(row, 0))?;
    if read == Some(tx.now) { Ok(()) } else { Err(Error::Defect("the file does not keep what is written".to_owned())) }
}
