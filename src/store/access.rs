//! The access of a caller: the organization that a record belongs to, and the caller's organization role and platform
//! role.
//!
//! A platform admin sees all organizations. Other users see the enabled organizations that they are members of. Each
//! query contains this condition, so a record that the caller may not see looks the same as a record that does not
//! exist.

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId};
use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{CallerRoles, OrgRole, Principal};

/// Returns the caller's platform role and organization role for an organization, or `None` if the organization does not
/// exist or the caller may not see it.
pub fn to_organization(
    tx: &Tx<'_>,
    who: &Principal,
    organization: &OrganizationId,
) -> Result<Option<CallerRoles>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM organizations o
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE o.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    let access = |row: &Row<'_>| organization_and_roles(&mut Columns::of(row), who);
    let found = tx.one(sql, (who.user_id.as_str(), organization.as_str(), who.is_admin()), access)?;
    Ok(found.map(|(_, roles)| roles))
}

/// Returns the organization that a role belongs to, with the caller's platform role and organization role. Returns
/// `None` if the role does not exist or the caller may not see it.
pub fn to_role(tx: &Tx<'_>, who: &Principal, role: &RoleId) -> Result<Option<(OrganizationId, CallerRoles)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM roles r
               JOIN organizations o ON o.id = r.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE r.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), role.as_str(), who.is_admin()), |row| {
        organization_and_roles(&mut Columns::of(row), who)
    })
}

/// Does the same as [`to_role`] for a candidate.
pub fn to_candidate(
    tx: &Tx<'_>,
    who: &Principal,
    candidate: &CandidateId,
) -> Result<Option<(OrganizationId, CallerRoles)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM candidates c
               JOIN organizations o ON o.id = c.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE c.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), candidate.as_str(), who.is_admin()), |row| {
        organization_and_roles(&mut Columns::of(row), who)
    })
}

/// Does the same as [`to_role`] for an application.
pub fn to_application(
    tx: &Tx<'_>,
    who: &Principal,
    application: &ApplicationId,
) -> Result<Option<(OrganizationId, CallerRoles)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM candidate_roles a
               JOIN organizations o ON o.id = a.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE a.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), application.as_str(), who.is_admin()), |row| {
        organization_and_roles(&mut Columns::of(row), who)
    })
}

/// Does the same as [`to_role`] for a candidate step.
pub fn to_candidate_step(
    tx: &Tx<'_>,
    who: &Principal,
    step: &CandidateStepId,
) -> Result<Option<(OrganizationId, CallerRoles)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM candidate_role_steps s
               JOIN candidate_roles a ON a.id = s.candidate_role_id
               JOIN organizations o ON o.id = a.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE s.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), step.as_str(), who.is_admin()), |row| {
        organization_and_roles(&mut Columns::of(row), who)
    })
}

/// An organization that the caller may see.
#[derive(Debug, Clone)]
pub struct VisibleOrganization {
    pub id: OrganizationId,
    /// The caller's platform role and organization role.
    pub caller: CallerRoles,
    /// The slug, with the capital letters that the organization chose.
    pub slug: String,
    pub name: String,
    pub domain: String,
    /// The URL of a logo on another host, or an empty string.
    pub logo: String,
    pub portal_enabled: bool,
    /// Whether a hire must name the position's code in the HR system.
    pub require_external_position_id: bool,
    /// Whether the service warns about roles that are published without a visible salary.
    pub pay_transparency: bool,
    /// The IANA time zone in which pages show dates.
    pub time_zone: String,
    /// False for a disabled organization, which only a platform admin sees.
    pub enabled: bool,
    pub created_at: Timestamp,
}

impl VisibleOrganization {
    /// Returns whether the portal answers requests. The portal of a disabled organization does not.
    pub fn has_portal(&self) -> bool {
        self.portal_enabled && self.enabled
    }
}

/// The columns that [`visible_organization`] reads.
const COLUMNS: &str = "o.id, m.org_role, o.slug, o.name, o.domain, o.logo, o.portal_enabled,
  o.require_external_position_id, o.pay_transparency, o.time_zone, o.enabled, o.created_at";

fn visible_organization(row: &Row<'_>, who: &Principal) -> Result<VisibleOrganization, Error> {
    let mut columns = Columns::of(row);
    let (id, caller) = organization_and_roles(&mut columns, who)?;
    Ok(VisibleOrganization {
        id,
        caller,
        slug: columns.read()?,
        name: columns.read()?,
        domain: columns.read()?,
        logo: columns.read()?,
        portal_enabled: columns.read()?,
        require_external_position_id: columns.read()?,
        pay_transparency: columns.read()?,
        time_zone: columns.read()?,
        enabled: columns.read()?,
        created_at: columns.time()?,
    })
}

/// Returns a page of the organizations that the caller may see, newest first, starting after the cursor `after`.
pub fn organizations(
    tx: &Tx<'_>,
    who: &Principal,
    after: Option<&(Timestamp, OrganizationId)>,
    rows_max: usize,
) -> Result<Vec<VisibleOrganization>, Error> {
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id.as_str()));
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    // A member belongs to few organizations, which the database finds through the memberships. An admin sees all
    // organizations, in the order of an index.
    let condition = if who.is_admin() { "" } else { "m.user_id IS NOT NULL AND o.enabled = 1 AND" };
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations o
         LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
         WHERE {condition} (o.created_at, o.id) < ($2, $3)
         ORDER BY o.created_at DESC, o.id DESC
         LIMIT $4"
    );
    tx.all(&sql, (who.user_id.as_str(), at, id, rows_max), |row| visible_organization(row, who))
}

/// Returns one organization, if the caller may see it.
pub fn organization(tx: &Tx<'_>, who: &Principal, id: &OrganizationId) -> Result<Option<VisibleOrganization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations o
         LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
         WHERE o.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)"
    );
    tx.one(&sql, (who.user_id.as_str(), id.as_str(), who.is_admin()), |row| visible_organization(row, who))
}

/// Does the same as [`organization`] for the organization with this slug.
pub fn organization_by_slug(tx: &Tx<'_>, who: &Principal, slug: &Slug) -> Result<Option<VisibleOrganization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations o
         LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
         WHERE o.slug_key = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)"
    );
    tx.one(&sql, (who.user_id.as_str(), slug.key(), who.is_admin()), |row| visible_organization(row, who))
}

/// Reads the columns `o.id, m.org_role`.
fn organization_and_roles(columns: &mut Columns<'_>, who: &Principal) -> Result<(OrganizationId, CallerRoles), Error> {
    let organization = columns.parse(OrganizationId::parse)?;
    let org_role = columns.parse_or_none(OrgRole::parse)?;
    Ok((organization, CallerRoles { org_role, platform_role: who.platform_role }))
}
