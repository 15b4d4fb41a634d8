//! What the public sees: organizations with their portal on, and their roles that are public and open.

use super::role;
use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;

/// An organization as its portal shows it, to programs, to people and to what reads feeds.
#[derive(Debug, Clone)]
pub struct Organization {
    /// Its id, which the portal does not show.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// Its slug, as it was given.
    pub slug: String,
    /// Its domain.
    pub domain: String,
    /// The URL of its logo elsewhere; empty where it has none.
    pub logo: String,
    /// The portal's theme: a JSON object as text.
    pub theme: String,
    /// Where its days begin.
    pub time_zone: String,
    /// What candidates consent to, as Markdown; blank where it has nothing of its own to say.
    pub privacy_notice: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Whether it has a picture of its own in this file.
    pub has_logo: bool,
}

/// The organization with this slug, where its portal is on.
///
/// # Errors
/// When SQLite fails.
pub fn organization(tx: &Tx<'_>, slug: &Slug) -> Result<Option<Organization>, Error> {
    let sql =
        "SELECT o.id, o.name, o.slug, o.domain, o.logo, o.portal_theme, o.time_zone, o.privacy_notice, o.updated_at,
                 EXISTS (SELECT 1 FROM organization_logos l WHERE l.organization_id = o.id)
               FROM organizations o
               WHERE o.slug_key = $1 AND o.portal_enabled = 1 AND o.enabled = 1";
    tx.one(sql, [slug.key()], |row| {
        Ok(Organization {
            id: tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?,
            name: row.get(1)?,
            slug: row.get(2)?,
            domain: row.get(3)?,
            logo: row.get(4)?,
            theme: row.get(5)?,
            time_zone: row.get(6)?,
            privacy_notice: row.get(7)?,
            updated_at: tx::time(row, 8)?,
            has_logo: row.get(9)?,
        })
    })
}

/// Its roles that are public and open, newest first (`GET /api/public/portal/{orgSlug}`).
///
/// # Errors
/// When SQLite fails.
pub fn roles(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<role::Record>, Error> {
    let columns = role::COLUMNS;
    let sql = format!(
        "SELECT {columns}
         FROM roles
         WHERE organization_id = $1 AND status = 'open' AND public = 1
         ORDER BY created_at DESC, id DESC"
    );
    tx.all(&sql, [organization.as_str()], role::record)
}

/// One of them (`GET /api/public/portal/{orgSlug}/roles/{roleId}`).
///
/// # Errors
/// When SQLite fails.
pub fn role(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Option<role::Record>, Error> {
    let columns = role::COLUMNS;
    let sql = format!(
        "SELECT {columns}
         FROM roles
         WHERE id = $1 AND organization_id = $2 AND status = 'open' AND public = 1"
    );
    tx.one(&sql, (role.as_str(), organization.as_str()), role::record)
}
