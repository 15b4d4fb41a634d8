//! How far a candidate has changed, which their line on the list of who was erased says: at a later start it tells an older
//! copy of the file from one in which somebody has decided about the candidate since.

use super::list::{Entry, Line};
use crate::db::tx::{self, Error, Tx};
use crate::domain::erasure::LastChange;
use crate::domain::id::CandidateId;

/// A candidate's line. Its time is not before the last change that this transaction sees, whatever the clock says: in an
/// older copy of the file the candidate must not seem to have changed since.
pub(super) fn line(tx: &Tx<'_>, entry: Entry, id: &CandidateId) -> Result<Line, Error> {
    let LastChange { at, activity } = of(tx, id)?;
    Ok(Line { entry, changed: Some(LastChange { at: at.max(tx.now), activity }) })
}

/// How far a candidate has changed.
pub(super) fn of(tx: &Tx<'_>, id: &CandidateId) -> Result<LastChange, Error> {
    let sql = "SELECT max(c.updated_at,
                 coalesce((SELECT max(a.updated_at) FROM candidate_roles a WHERE a.candidate_id = c.id), c.updated_at),
                 coalesce((SELECT max(at) FROM activities WHERE candidate_id = c.id), c.updated_at),
                 coalesce((SELECT max(s.created_at) FROM candidate_roles a JOIN signups s ON s.later_of = a.id
                   WHERE a.candidate_id = c.id), c.updated_at)),
                 coalesce((SELECT max(number) FROM activities WHERE candidate_id = c.id), 0)
               FROM candidates c
               WHERE c.id = $1";
    let found = tx.one(sql, [id.as_str()], |row| Ok(LastChange { at: tx::time(row, 0)?, activity: row.get(1)? }))?;
    found.ok_or_else(|| Error::Defect(format!("candidate {id} is gone")))
}
