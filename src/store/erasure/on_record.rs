//! A file that has erasures on record, and no list of them beside it: a backup that was put in its place without its list.

use std::path::Path;

use super::changed;
use super::list::{Entry, Line, List};
use crate::db::OpenError;
use crate::db::connection::{self, Use};
use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{CandidateId, Id};
use crate::domain::timestamp::Timestamp;

/// Writes the list anew from what the file has on record, where there is none. How many candidates are on it then; the list
/// that is missing may have had more, who are in the file with all their data.
///
/// # Errors
/// When the file cannot be read or the list cannot be written.
pub(in super::super) fn write_missing_list(path: &Path) -> Result<usize, OpenError> {
    let list = List::of(path);
    if list.is_there() {
        return Ok(0);
    }
    let connection = connection::open(path, Use::Read)?;
    let lines = tx::snapshot(&connection, Timestamp::from_micros(0), on_record)?;
    if !lines.is_empty() {
        list.add(0, &lines)?;
    }
    Ok(lines.len())
}

/// Who is erased in the file. Where nobody is named who did it, it was the candidate or the retention clock: then what others
/// sent under the same address is left alone, as the candidate left it.
fn on_record(tx: &Tx<'_>) -> Result<Vec<Line>, Error> {
    let sql = "SELECT c.id, EXISTS (
                 SELECT 1 FROM activities a
                 WHERE a.candidate_id = c.id AND a.action = 'candidate.erased' AND a.user_id IS NOT NULL
               )
               FROM candidates c
               WHERE c.erased_at IS NOT NULL
               ORDER BY c.number";
    tx.all(sql, [], |row| {
        let id = tx::word(&row.get::<_, String>(0)?, CandidateId::parse)?;
        let changed = Some(changed::of(tx, &id)?);
        Ok(Line { entry: if row.get(1)? { Entry::Candidate(id) } else { Entry::Own(id) }, changed })
    })
}
