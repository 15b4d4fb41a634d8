//! Signup links: made, given again, followed, ended with their role.

use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::invitation::{self, LinkTarget};
use crate::domain::role::RoleStatus;

/// What a signup link leads to.
#[derive(Debug, Clone)]
pub struct Invitation {
    /// The organization.
    pub organization_id: OrganizationId,
    /// Its name.
    pub organization_name: String,
    /// Its slug, as it was given.
    pub slug: String,
    /// Whether it has a picture of its own here.
    pub has_logo: bool,
    /// The role.
    pub role_id: RoleId,
    /// Its name.
    pub role_name: String,
    /// What there is for whoever follows the link.
    pub way: LinkTarget,
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

/// Where a link leads whose role is public, its organization's portal on, and the organization not switched off; `None` for
/// every other one, and where there is none.
///
/// # Errors
/// When SQLite fails.
pub fn follow(tx: &Tx<'_>, token: &str) -> Result<Option<Invitation>, Error> {
    let sql = "SELECT o.id, o.name, o.slug, EXISTS (SELECT 1 FROM organization_logos l WHERE l.organization_id = o.id),
                 r.id, r.name, r.status,
                 EXISTS (SELECT 1 FROM role_steps s WHERE s.role_id = r.id AND s.step_order IS NOT NULL),
                 i.expires_at, i.ended_at
               FROM invitations i
               JOIN roles r ON r.id = i.role_id
               JOIN organizations o ON o.id = r.organization_id
               WHERE i.token = $1 AND r.public = 1 AND o.portal_enabled = 1 AND o.enabled = 1";
    let found = tx.one(sql, [token], |row| {
        let status = tx::word(&row.get::<_, String>(6)?, RoleStatus::parse)?;
        let is_alive = invitation::is_alive(tx::time(row, 8)?, tx::time_or_none(row, 9)?, tx.now);
        let Some(way) = invitation::link_target(status, row.get(7)?, is_alive) else { return Ok(None) };
        Ok(Some(Invitation {
            organization_id: tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?,
            organization_name: row.get(1)?,
            slug: row.get(2)?,
            has_logo: row.get(3)?,
            role_id: tx::word(&row.get::<_, String>(4)?, RoleId::parse)?,
            role_name: row.get(5)?,
            way,
        }))
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
