//! The last change to a candidate, which the erasure list records. At a later start, the recorded change distinguishes
//! an older copy of the file from a file in which somebody has acted on the candidate since the erasure.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::erasure::replay::{LastChange, ListedErasure};
use crate::domain::id::CandidateId;

use super::list::ListLine;

/// Returns the line for a candidate who is being erased. The time in the line is not before the last change that this
/// transaction sees, even if the clock was set back. With an earlier time in the line, an older copy of the file would
/// seem to contain a later change.
pub(super) fn line(tx: &Tx<'_>, erasure: ListedErasure, id: &CandidateId) -> Result<ListLine, Error> {
    let LastChange { at, activity } = load(tx, id)?;
    Ok(ListLine { erasure, changed: Some(LastChange { at: at.max(tx.now), activity }) })
}

pub(super) fn load(tx: &Tx<'_>, id: &CandidateId) -> Result<LastChange, Error> {
    let sql = "SELECT (
                 SELECT max(at)
                 FROM (
                   SELECT updated_at AS at FROM candidates WHERE id = $1
                   UNION ALL
                   SELECT max(updated_at) FROM candidate_roles WHERE candidate_id = $1
                   UNION ALL
                   SELECT max(at) FROM activities WHERE candidate_id = $1
                   UNION ALL
                   SELECT max(s.created_at) FROM candidate_roles a JOIN signups s ON s.later_of = a.id
                   WHERE a.candidate_id = $1
                 ) AS changes
               ), coalesce((SELECT max(number) FROM activities WHERE candidate_id = $1), 0)
               FROM candidates
               WHERE id = $1";
    let change = tx.one(sql, [id.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(LastChange { at: columns.time()?, activity: columns.read()? })
    })?;
    change.ok_or_else(|| Error::Defect(format!("candidate {id} is gone")))
}
