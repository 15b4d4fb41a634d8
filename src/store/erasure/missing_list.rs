//! Writes the erasure list of a file that records erasures but has no list next to it, such as a backup that was
//! restored without its list.

use std::path::Path;

use super::last_change;
use super::list::{ErasureList, ListLine};
use crate::db::OpenError;
use crate::db::connection::Connection;
use crate::db::row::Columns;
use crate::db::tx::{self, Error, Tx};
use crate::domain::erasure::replay::ListedErasure;
use crate::domain::id::{CandidateId, Id};
use crate::domain::timestamp::Timestamp;

/// Writes a missing list from the erasures that the file records. Returns the number of candidates in the new list, or
/// 0 if the list is not missing. The lost list may have named other candidates, whose data is then still in the file.
pub(in super::super) fn write_missing_list(path: &Path, connection: &Connection) -> Result<usize, OpenError> {
    let list = ErasureList::beside(path);
    if list.exists() {
        return Ok(0);
    }
    let lines = tx::snapshot(connection, Timestamp::from_micros(0), recorded_erasures)?;
    if !lines.is_empty() {
        list.append(0, &lines)?;
    }
    Ok(lines.len())
}

/// Returns a line for each erased candidate in the file. If the activity names no user who erased the candidate, the
/// line has the word `own`, so that a repeated erasure does not delete the signups of other people under the same
/// address. The activity names no user if the candidate asked for the erasure, if retention erased the candidate, if a
/// start repeated the erasure, or if an import added the erased record.
fn recorded_erasures(tx: &Tx<'_>) -> Result<Vec<ListLine>, Error> {
    let sql = "SELECT c.id, EXISTS (
                 SELECT 1 FROM activities a
                 WHERE a.candidate_id = c.id AND a.action = 'candidate.erased' AND a.user_id IS NOT NULL
               )
               FROM candidates c
               WHERE c.erased_at IS NOT NULL
               ORDER BY c.number";
    tx.all(sql, [], |row| {
        let mut columns = Columns::of(row);
        let (id, is_by_user) = (columns.parse(CandidateId::parse)?, columns.read()?);
        let changed = Some(last_change::load(tx, &id)?);
        let erasure = if is_by_user { ListedErasure::Candidate(id) } else { ListedErasure::Own(id) };
        Ok(ListLine { erasure, changed })
    })
}
