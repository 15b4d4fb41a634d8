//! The seats of a role: its status, positions and hires.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::role::{RoleStatus, Seats};
use crate::store::invitation;

/// Finds the current seats of one of the organization's roles.
pub fn seats(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Option<Seats>, Error> {
    let sql = "SELECT status, positions, hired
               FROM roles
               WHERE organization_id = $1 AND id = $2";
    tx.one(sql, (organization.as_str(), role.as_str()), |row| {
        let mut columns = Columns::of(row);
        let status = columns.parse(RoleStatus::parse)?;
        Ok(Seats { status, positions: columns.read()?, hired: columns.read()? })
    })
}

/// Saves the seats of a role if they have changed. If the role is no longer open, its signup links stop working.
///
/// # Errors
/// [`Error::Defect`] if the role does not exist, or if its seats differ from `before`.
pub fn save_seats(tx: &Tx<'_>, role: &RoleId, before: Seats, after: Seats) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    // The condition on the seats detects a change after `before` was read. An unchanged status is not assigned, because
    // a trigger on that column would make the service invalidate the cached responses of the portal.
    let (status, now, was) = (after.status.as_str(), tx.now.micros(), before.status.as_str());
    let touched = if before.status == after.status {
        let sql = "UPDATE roles
                   SET hired = $1, positions = $2, updated_at = $3
                   WHERE id = $4 AND status = $5 AND hired = $6 AND positions = $7";
        tx.run(sql, (after.hired, after.positions, now, role.as_str(), was, before.hired, before.positions))?
    } else {
        // If a filled role is closed, `ended_at` remains the time at which the role was filled.
        let sql = "UPDATE roles
                   SET status = $1, hired = $2, positions = $3, updated_at = $4,
                     ended_at = CASE WHEN $5 THEN coalesce(ended_at, $4) END
                   WHERE id = $6 AND status = $7 AND hired = $8 AND positions = $9";
        let has_ended = after.status.has_ended();
        let id = role.as_str();
        tx.run(sql, (status, after.hired, after.positions, now, has_ended, id, was, before.hired, before.positions))?
    };
    if touched != 1 {
        return Err(Error::Defect(format!("role {role} changed after the facts were read")));
    }
    if before.status == RoleStatus::Open && after.status != RoleStatus::Open {
        invitation::end_all(tx, role)?;
    }
    Ok(())
}
