//! Portals as the public sees them: organizations with an enabled portal, and their public, open roles.

use super::role::RoleRecord;
use super::role::record::{COLUMNS, record};
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;
use crate::store::theme::Theme;

/// An organization as its portal shows it in the API, on pages and in feeds.
#[derive(Debug, Clone)]
pub struct PortalOrganization {
    /// The id, which the portal does not show.
    pub id: OrganizationId,
    pub name: String,
    /// The slug as it was entered.
    pub slug: String,
    pub domain: String,
    /// The URL of a logo on another host; empty if there is none.
    pub logo: String,
    pub theme: Theme,
    /// The IANA time zone in which the organization's days begin.
    pub time_zone: String,
    /// The privacy notice as Markdown; blank for the service's default text.
    pub privacy_notice: String,
    pub updated_at: Timestamp,
    /// Whether the database has an uploaded logo of the organization.
    pub has_logo: bool,
}

/// The query for the columns that [`portal_organization`] reads, without its condition.
const SELECT: &str =
    "SELECT o.id, o.name, o.slug, o.domain, o.logo, o.portal_theme, o.time_zone, o.privacy_notice, o.updated_at,
       EXISTS (SELECT 1 FROM organization_logos l WHERE l.organization_id = o.id)
     FROM organizations o";

/// Returns the organization with this slug, if the organization and its portal are enabled.
pub fn organization(tx: &Tx<'_>, slug: &Slug) -> Result<Option<PortalOrganization>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE o.slug_key = $1 AND o.portal_enabled = 1 AND o.enabled = 1"
    );
    tx.one(&sql, [slug.key()], portal_organization)
}

/// Returns an organization as its portal would show it, even if the portal is disabled. Only staff may see this
/// preview.
pub fn in_preview(tx: &Tx<'_>, id: &OrganizationId) -> Result<Option<PortalOrganization>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE o.id = $1"
    );
    tx.one(&sql, [id.as_str()], portal_organization)
}

fn portal_organization(row: &Row<'_>) -> Result<PortalOrganization, Error> {
    let mut columns = Columns::of(row);
    Ok(PortalOrganization {
        id: columns.parse(OrganizationId::parse)?,
        name: columns.read()?,
        slug: columns.read()?,
        domain: columns.read()?,
        logo: columns.read()?,
        theme: Theme::from_row(columns.text()?),
        time_zone: columns.read()?,
        privacy_notice: columns.read()?,
        updated_at: columns.time()?,
        has_logo: columns.read()?,
    })
}

/// The name of an organization with a portal, and its slug as it was entered.
#[derive(Debug, Clone)]
pub struct PortalName {
    pub name: String,
    pub slug: String,
}

/// Returns the only enabled organization with an enabled portal. Returns `None` if there is no such organization, or
/// more than one.
pub fn only(tx: &Tx<'_>) -> Result<Option<PortalName>, Error> {
    let sql = "SELECT name, slug
               FROM organizations
               WHERE portal_enabled = 1 AND enabled = 1
               LIMIT 2";
    let mut portals = tx.all(sql, [], |row| {
        let mut columns = Columns::of(row);
        Ok(PortalName { name: columns.read()?, slug: columns.read()? })
    })?;
    Ok(portals.pop().filter(|_| portals.is_empty()))
}

/// Returns the public, open roles of an organization, newest first (`GET /api/public/portal/{orgSlug}`).
pub fn roles(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<RoleRecord>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM roles
         WHERE organization_id = $1 AND status = 'open' AND public = 1
         ORDER BY created_at DESC, id DESC"
    );
    tx.all(&sql, [organization.as_str()], |row| record(&mut Columns::of(row)))
}

/// Returns a public, open role of an organization (`GET /api/public/portal/{orgSlug}/roles/{roleId}`).
pub fn role(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Option<RoleRecord>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM roles
         WHERE id = $1 AND organization_id = $2 AND status = 'open' AND public = 1"
    );
    tx.one(&sql, (role.as_str(), organization.as_str()), |row| record(&mut Columns::of(row)))
}
