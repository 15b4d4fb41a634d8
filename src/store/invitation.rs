//! Signup links: made, given again, followed, ended with their role.

use super::tx::{self, Error, Tx};
use crate::domain::id::RoleId;
use crate::domain::invitation;
use crate::domain::timestamp::Timestamp;

/// What a signup link leads to.
#[derive(Debug, Clone)]
pub struct Invitation {
    /// The role's name.
    pub role_name: String,
    /// The organization's name.
    pub organization_name: String,
    /// When the link ends.
    pub expires_at: Timestamp,
}

/// The token of the role's link that is to be given again, where there is one
/// (`POST /api/public/portal/{orgSlug}/apply`).
///
/// # Errors
/// When SQLite fails.
pub fn reusable(tx: &Tx<'_>, role: &RoleId) -> Result<Option<String>, Error> {
    let sql = "SELECT token
               FROM invitations
               WHERE role_id = $1 AND ended_at IS NULL AND expires_at >= $2
               ORDER BY expires_at DESC
               LIMIT 1";
    tx.one(sql, (role.as_str(), invitation::reused_from(tx.now).micros()), |row| Ok(row.get(0)?))
}

/// Adds a link for a role.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, token: &str, role: &RoleId) -> Result<(), Error> {
    let sql = "INSERT INTO invitations (token, role_id, created_at, expires_at)
               VALUES ($1, $2, $3, $4)";
    let end = invitation::expires_at(tx.now).micros();
    tx.run(sql, (token, role.as_str(), tx.now.micros(), end))?;
    Ok(())
}

/// Where a link leads that still leads somewhere: its role is open and public, its organization's portal on, and the
/// organization not switched off.
///
/// # Errors
/// When SQLite fails.
pub fn follow(tx: &Tx<'_>, token: &str) -> Result<Option<Invitation>, Error> {
    let sql = "SELECT r.name, o.name, i.expires_at, i.ended_at
               FROM invitations i
               JOIN roles r ON r.id = i.role_id
               JOIN organizations o ON o.id = r.organization_id
               WHERE i.token = $1 AND r.status = 'open' AND r.public = 1 AND o.portal_enabled = 1
                 AND o.enabled = 1";
    let found = tx.one(sql, [token], |row| {
        let expires_at = tx::time(row, 2)?;
        let alive = invitation::is_alive(expires_at, tx::time_or_none(row, 3)?, tx.now);
        let invitation = Invitation { role_name: row.get(0)?, organization_name: row.get(1)?, expires_at };
        Ok(alive.then_some(invitation))
    })?;
    Ok(found.flatten())
}

/// Ends the links of a role that stopped being open. Opened again, it gets a new one.
///
/// # Errors
/// When SQLite fails.
pub fn end_all(tx: &Tx<'_>, role: &RoleId) -> Result<(), Error> {
    let sql = "UPDATE invitations
               SET ended_at = $1
               WHERE role_id = $2 AND ended_at IS NULL";
    tx.run(sql, (tx.now.micros(), role.as_str()))?;
    Ok(())
}
