//! What the public sees: organizations with their portal on, and their roles that are public and open.

use super::role;
use super::tx::{self, Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::text::Slug;

/// An organization as its portal shows it.
#[derive(Debug, Clone)]
pub struct PublicOrganization {
    /// Its id, which the portal does not show.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// The URL of its logo.
    pub logo: String,
    /// Its slug, as it was given.
    pub slug: String,
    /// Its domain.
    pub domain: String,
    /// The portal's theme: a JSON object as text.
    pub theme: String,
    /// Whether it has a logo of its own, besides that URL.
    pub has_logo: bool,
}

/// The organization with this slug, where its portal is on.
///
/// # Errors
/// When SQLite fails.
pub fn organization(tx: &Tx<'_>, slug: &Slug) -> Result<Option<PublicOrganization>, Error> {
    let sql = "SELECT id, name, logo, slug, domain, portal_theme,
                 EXISTS (SELECT 1 FROM organization_logos l WHERE l.organization_id = organizations.id)
               FROM organizations
               WHERE slug_key = $1 AND portal_enabled = 1 AND enabled = 1";
    tx.one(sql, [slug.key()], |row| {
        Ok(PublicOrganization {
            id: tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?,
            name: row.get(1)?,
            logo: row.get(2)?,
            slug: row.get(3)?,
            domain: row.get(4)?,
            theme: row.get(5)?,
            has_logo: row.get(6)?,
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
