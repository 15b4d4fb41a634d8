//! The recent withdrawals in an organization, for the inbox of the staff console.

use std::ops::ControlFlow;

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{CandidateId, Id, OrganizationId};
use crate::domain::timestamp::Timestamp;

/// An application that was withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withdrawal {
    pub candidate_id: CandidateId,
    pub candidate_name: String,
    pub role_name: String,
    pub at: Timestamp,
}

/// Returns up to `rows_max` applications that were withdrawn after `since` and are still withdrawn, newest first.
pub fn withdrawals(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    since: Timestamp,
    rows_max: usize,
) -> Result<Vec<Withdrawal>, Error> {
    let mut found = Vec::new();
    tx.each(WITHDRAWALS, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        let at = columns.time()?;
        if at <= since || found.len() == rows_max {
            return Ok(ControlFlow::Break(()));
        }
        if columns.read()? {
            found.push(Withdrawal {
                at,
                candidate_id: columns.parse(CandidateId::parse)?,
                candidate_name: columns.read()?,
                role_name: columns.read()?,
            });
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

pub(super) const WITHDRAWALS: &str = "SELECT v.at, a.status = 'Withdrawn', c.id, c.name, r.name
     FROM activities v
     JOIN candidate_roles a ON a.id = v.candidate_role_id
     JOIN candidates c ON c.number = a.candidate_number
     JOIN roles r ON r.id = a.role_id
     WHERE v.organization_id = $1 AND v.action = 'candidate_role.withdrawn'
     ORDER BY v.number DESC";
