//! Signup links: their creation, reuse, lookup and end.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::closing_day::ClosingDay;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::invitation::{self, LinkTarget};
use crate::domain::role::RoleStatus;
use crate::world::World;

/// A signup link with its role and organization.
#[derive(Debug, Clone)]
pub struct Invitation {
    pub organization_id: OrganizationId,
    pub organization_name: String,
    /// The slug as it was entered.
    pub slug: String,
    /// Whether the service stores a logo of the organization.
    pub has_logo: bool,
    pub role_id: RoleId,
    pub role_name: String,
    pub target: LinkTarget,
}

/// Returns the token of a link to the role, if the link remains valid long enough to be given out again
/// (`POST /api/public/portal/{orgSlug}/apply`).
pub fn reusable(tx: &Tx<'_>, role: &RoleId) -> Result<Option<String>, Error> {
    let sql = "SELECT token
               FROM invitations
               WHERE role_id = $1 AND ended_at IS NULL AND expires_at >= $2
               ORDER BY expires_at DESC
               LIMIT 1";
    tx.value(sql, (role.as_str(), invitation::reused_from(tx.now).micros()))
}

/// Inserts a new link to a role.
pub fn insert(tx: &Tx<'_>, token: &str, role: &RoleId) -> Result<(), Error> {
    let sql = "INSERT INTO invitations (token, role_id, created_at, expires_at)
               VALUES ($1, $2, $3, $4)";
    let expires_at = invitation::expires_at(tx.now).micros();
    tx.run(sql, (token, role.as_str(), tx.now.micros(), expires_at))?;
    Ok(())
}

/// Looks up a link. Returns `None` if the link is unknown, the role is a draft or not public, the portal is disabled,
/// or the organization is disabled.
pub fn follow(tx: &Tx<'_>, world: &dyn World, token: &str) -> Result<Option<Invitation>, Error> {
    let sql = "SELECT r.status,
                 EXISTS (SELECT 1 FROM role_steps s WHERE s.role_id = r.id AND s.step_order IS NOT NULL),
                 r.closes_on, o.time_zone, i.expires_at, i.ended_at,
                 o.id, o.name, o.slug, EXISTS (SELECT 1 FROM organization_logos l WHERE l.organization_id = o.id),
                 r.id, r.name
               FROM invitations i
               JOIN roles r ON r.id = i.role_id
               JOIN organizations o ON o.id = r.organization_id
               WHERE i.token = $1 AND r.public = 1 AND o.portal_enabled = 1 AND o.enabled = 1";
    let found = tx.one(sql, [token], |row| {
        let mut columns = Columns::of(row);
        let (status, has_steps): (_, bool) = (columns.parse(RoleStatus::parse)?, columns.read()?);
        let (closes_on, zone) = (columns.parse_or_none(ClosingDay::parse)?, columns.text()?);
        let has_passed = closes_on.is_some_and(|day| day.has_passed(world.local_day(zone, tx.now)));
        let is_alive = invitation::is_alive(columns.time()?, columns.time_or_none()?, tx.now);
        let Some(target) = invitation::link_target(status, has_steps && !has_passed, is_alive) else { return Ok(None) };
        Ok(Some(Invitation {
            organization_id: columns.parse(OrganizationId::parse)?,
            organization_name: columns.read()?,
            slug: columns.read()?,
            has_logo: columns.read()?,
            role_id: columns.parse(RoleId::parse)?,
            role_name: columns.read()?,
            target,
        }))
    })?;
    Ok(found.flatten())
}

/// Ends all links to a role that is no longer open. A role that is opened again needs a new link.
pub fn end_all(tx: &Tx<'_>, role: &RoleId) -> Result<(), Error> {
    let sql = "UPDATE invitations
               SET ended_at = $1
               WHERE role_id = $2 AND ended_at IS NULL";
    tx.run(sql, (tx.now.micros(), role.as_str()))?;
    Ok(())
}
