//! Roles: their seats as decisions move them.

use super::invitation;
use super::tx::{Error, Tx};
use crate::domain::id::RoleId;
use crate::domain::role::{RoleStatus, Seats};

/// Saves what a decision made of a role's seats. A role that stops being open ends its signup links.
///
/// # Errors
/// [`Error::Defect`] where the seats are not those of a role, or there is no such role.
pub fn save_seats(tx: &Tx<'_>, role: &RoleId, before: Seats, after: Seats) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    // Guarded by what the rule saw: a row that says otherwise was changed behind it.
    let sql = "UPDATE roles
               SET status = $1, hired = $2, updated_at = $3
               WHERE id = $4 AND status = $5 AND hired = $6 AND positions = $7";
    let (status, now, was) = (after.status.as_str(), tx.now.micros(), before.status.as_str());
    let touched = tx.run(sql, (status, after.hired, now, role.as_str(), was, before.hired, before.positions))?;
    if touched != 1 {
        return Err(Error::Defect(format!("role {role} is not as the rule saw it")));
    }
    if before.status == RoleStatus::Open && after.status != RoleStatus::Open {
        invitation::end_all(tx, role)?;
    }
    Ok(())
}
