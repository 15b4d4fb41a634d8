//! The applications to a role that were not selected.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, Id, OrganizationId, RoleId};

/// An application that was not selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotSelected {
    pub application_id: ApplicationId,
    pub candidate_id: CandidateId,
    pub candidate_name: String,
    /// Whether the candidate was erased.
    pub is_erased: bool,
    /// The number of the candidate, which is the cursor.
    pub candidate_number: i64,
}

/// Returns a page of the applications to a role that were not selected. The candidate who was added to the organization
/// last comes first. `before` is the number of the last candidate on the previous page.
pub fn page(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
    before: i64,
    rows_max: usize,
) -> Result<Vec<NotSelected>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    tx.all(PAGE, (organization.as_str(), role.as_str(), before, rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok(NotSelected {
            application_id: columns.parse(ApplicationId::parse)?,
            candidate_id: columns.parse(CandidateId::parse)?,
            candidate_name: columns.read()?,
            is_erased: columns.read()?,
            candidate_number: columns.read()?,
        })
    })
}

pub(super) const PAGE: &str = "SELECT a.id, c.id, c.name, c.erased_at IS NOT NULL, c.number
     FROM roles r
     JOIN candidate_roles a ON a.role_id = r.id
     JOIN candidates c ON c.number = a.candidate_number
     WHERE r.organization_id = $1 AND r.id = $2 AND a.status = 'Not Selected' AND a.candidate_number < $3
     ORDER BY a.candidate_number DESC
     LIMIT $4";
