//! The status cache of organizations. Every transaction that changes a count updates the cache, and `check` compares
//! the cache with a recount.

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::id::OrganizationId;
use crate::domain::organization::StatusCounts;

/// Adds `change` to the counts in the status cache.
///
/// # Errors
/// [`Error::Defect`] if the organization has no row in the cache, or if a count would fall below zero.
pub fn add_to_status(tx: &Tx<'_>, organization: &OrganizationId, change: StatusCounts) -> Result<(), Error> {
    let sql = "UPDATE organization_statuses
               SET open_roles = open_roles + $1,
                 open_positions = open_positions + $2,
                 in_progress = in_progress + $3,
                 hired = hired + $4,
                 not_selected = not_selected + $5,
                 withdrawn = withdrawn + $6
               WHERE organization_id = $7";
    let StatusCounts { open_roles, open_positions, in_progress, hired, not_selected, withdrawn } = change;
    let touched =
        tx.run(sql, (open_roles, open_positions, in_progress, hired, not_selected, withdrawn, organization.as_str()))?;
    if touched == 1 { Ok(()) } else { Err(Error::Defect(format!("organization {organization} has no status row"))) }
}

/// Writes the status cache of an organization from a recount.
pub fn write_status(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let counts = recount(tx, organization)?;
    let sql = "INSERT INTO organization_statuses
                 (organization_id, open_roles, open_positions, in_progress, hired, not_selected, withdrawn)
               VALUES ($1, $2, $3, $4, $5, $6, $7)
               ON CONFLICT (organization_id) DO UPDATE
               SET open_roles = excluded.open_roles,
                 open_positions = excluded.open_positions,
                 in_progress = excluded.in_progress,
                 hired = excluded.hired,
                 not_selected = excluded.not_selected,
                 withdrawn = excluded.withdrawn";
    let StatusCounts { open_roles, open_positions, in_progress, hired, not_selected, withdrawn } = counts;
    tx.run(sql, (organization.as_str(), open_roles, open_positions, in_progress, hired, not_selected, withdrawn))?;
    Ok(())
}

/// Reads the status cache of an organization. Returns `None` if the organization has no row in the cache.
pub fn status(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<StatusCounts>, Error> {
    let sql = "SELECT open_roles, open_positions, in_progress, hired, not_selected, withdrawn
               FROM organization_statuses
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], counts)
}

/// Computes the counts for the status cache from the roles and applications.
pub fn recount(tx: &Tx<'_>, organization: &OrganizationId) -> Result<StatusCounts, Error> {
    let sql = "SELECT
                 (SELECT count(*) FROM roles
                  WHERE organization_id = $1 AND status = 'open'),
                 (SELECT CAST(coalesce(sum(positions - hired), 0) AS bigint) FROM roles
                  WHERE organization_id = $1 AND status = 'open'),
                 (SELECT count(*) FROM candidate_roles
                  WHERE organization_id = $1 AND status = 'In Progress'),
                 (SELECT count(*) FROM candidate_roles
                  WHERE organization_id = $1 AND status = 'Hired'),
                 (SELECT count(*) FROM candidate_roles
                  WHERE organization_id = $1 AND status = 'Not Selected'),
                 (SELECT count(*) FROM candidate_roles
                  WHERE organization_id = $1 AND status = 'Withdrawn')";
    Ok(tx.one(sql, [organization.as_str()], counts)?.unwrap_or_default())
}

fn counts(row: &Row<'_>) -> Result<StatusCounts, Error> {
    let mut columns = Columns::of(row);
    Ok(StatusCounts {
        open_roles: columns.read()?,
        open_positions: columns.read()?,
        in_progress: columns.read()?,
        hired: columns.read()?,
        not_selected: columns.read()?,
        withdrawn: columns.read()?,
    })
}
