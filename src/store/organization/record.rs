//! The rows of organizations.

use jiff::civil::Date;

use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::id::{Id, OrganizationId};
use crate::domain::organization::{DECISION_VISIBLE_AFTER_HOURS_DEFAULT, TIME_ZONE_DEFAULT};
use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;
use crate::store::theme::Theme;
use crate::world::World;

/// An organization in the form that interchange documents use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationRecord {
    pub id: OrganizationId,
    pub slug: Slug,
    pub name: String,
    pub domain: String,
    /// The URL of a logo on another host; empty if there is none.
    pub logo: String,
    pub portal_enabled: bool,
    pub portal_theme: Theme,
    /// Whether each hire must name the position's code in the HR system.
    pub require_external_position_id: bool,
    /// Whether the organization is enabled. A disabled organization has no portal. Only admins see the organization.
    pub enabled: bool,
    /// The IANA time zone in which the organization's days begin.
    pub time_zone: String,
    /// Whether the service warns about roles that are published without a visible salary.
    pub pay_transparency: bool,
    /// The retention period in days; `None` to retain candidates forever.
    pub retention_days: Option<i64>,
    /// The privacy notice as Markdown; blank for the service's default text.
    pub privacy_notice: String,
    /// The delay in hours before candidates see a rejection, a hire, the reversal of a hire, or the end of a role;
    /// `None` if they never see these.
    pub decision_visible_after_hours: Option<i64>,
    /// Whether all members must have a second factor, not only owners and admins.
    pub require_second_factor: bool,
}

impl OrganizationRecord {
    /// Creates an organization with default settings.
    pub fn new(id: OrganizationId, slug: Slug, name: String) -> Self {
        Self {
            id,
            slug,
            name,
            domain: String::new(),
            logo: String::new(),
            portal_enabled: false,
            portal_theme: Theme::default(),
            require_external_position_id: false,
            enabled: true,
            time_zone: TIME_ZONE_DEFAULT.to_owned(),
            pay_transparency: false,
            retention_days: None,
            privacy_notice: String::new(),
            decision_visible_after_hours: Some(DECISION_VISIBLE_AFTER_HOURS_DEFAULT),
            require_second_factor: false,
        }
    }
}

/// An organization, with the times at which it was created and last changed.
#[derive(Debug, Clone)]
pub struct Organization {
    pub record: OrganizationRecord,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The columns of [`Organization`] in the order in which [`organization`] reads them.
const COLUMNS: &str = "id, slug, name, domain, logo, portal_enabled, portal_theme, require_external_position_id,
  enabled, time_zone, pay_transparency, retention_days, privacy_notice, decision_visible_after_hours,
  require_second_factor, created_at, updated_at";

fn organization(row: &Row<'_>) -> Result<Organization, Error> {
    let mut columns = Columns::of(row);
    Ok(Organization {
        record: OrganizationRecord {
            id: columns.parse(OrganizationId::parse)?,
            slug: columns.parse(Slug::parse)?,
            name: columns.read()?,
            domain: columns.read()?,
            logo: columns.read()?,
            portal_enabled: columns.read()?,
            portal_theme: Theme::from_row(columns.text()?),
            require_external_position_id: columns.read()?,
            enabled: columns.read()?,
            time_zone: columns.read()?,
            pay_transparency: columns.read()?,
            retention_days: columns.read()?,
            privacy_notice: columns.read()?,
            decision_visible_after_hours: columns.read()?,
            require_second_factor: columns.read()?,
        },
        created_at: columns.time()?,
        updated_at: columns.time()?,
    })
}

/// Adds an organization that was created at `created_at`, without its status cache. Returns `false` if an organization
/// with this id or slug exists.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationRecord, created_at: Timestamp) -> Result<bool, Error> {
    let sql = "INSERT INTO organizations (id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
                 require_external_position_id, enabled, time_zone, pay_transparency, retention_days,
                 privacy_notice, decision_visible_after_hours, require_second_factor, created_at, updated_at)
               VALUES ($1, $2, lower($2), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16)
               ON CONFLICT DO NOTHING";
    let touched = tx.run(
        sql,
        (
            organization.id.as_str(),
            organization.slug.as_str(),
            &organization.name,
            &organization.domain,
            &organization.logo,
            organization.portal_enabled,
            organization.portal_theme.text(),
            organization.require_external_position_id,
            organization.enabled,
            &organization.time_zone,
            organization.pay_transparency,
            organization.retention_days,
            &organization.privacy_notice,
            organization.decision_visible_after_hours,
            organization.require_second_factor,
            created_at.micros(),
        ),
    )?;
    Ok(touched == 1)
}

pub(super) fn update(tx: &Tx<'_>, organization: &OrganizationRecord) -> Result<(), Error> {
    let sql = "UPDATE organizations
               SET slug = $1, slug_key = lower($1), name = $2, domain = $3, logo = $4, portal_enabled = $5, portal_theme = $6,
                 require_external_position_id = $7, enabled = $8, time_zone = $9, pay_transparency = $10,
                 retention_days = $11, privacy_notice = $12, decision_visible_after_hours = $13,
                 require_second_factor = $14, updated_at = $15
               WHERE id = $16";
    tx.run(
        sql,
        (
            organization.slug.as_str(),
            &organization.name,
            &organization.domain,
            &organization.logo,
            organization.portal_enabled,
            organization.portal_theme.text(),
            organization.require_external_position_id,
            organization.enabled,
            &organization.time_zone,
            organization.pay_transparency,
            organization.retention_days,
            &organization.privacy_notice,
            organization.decision_visible_after_hours,
            organization.require_second_factor,
            tx.now.micros(),
            organization.id.as_str(),
        ),
    )?;
    Ok(())
}

/// Returns every organization, oldest first.
pub fn all(tx: &Tx<'_>) -> Result<Vec<Organization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations
         ORDER BY created_at, id"
    );
    tx.all(&sql, [], organization)
}

/// Returns a page of all organizations, newest first. The page begins after the cursor `after`
/// (`GET /api/admin/organizations`).
pub fn page(tx: &Tx<'_>, after: Option<&(Timestamp, String)>, rows_max: usize) -> Result<Vec<Organization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations
         WHERE (created_at, id) < ($1, $2)
         ORDER BY created_at DESC, id DESC
         LIMIT $3"
    );
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id));
    tx.all(&sql, (at, id, rows_max), organization)
}

pub fn find(tx: &Tx<'_>, id: &OrganizationId) -> Result<Option<Organization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations
         WHERE id = $1"
    );
    tx.one(&sql, [id.as_str()], organization)
}

pub fn find_by_slug(tx: &Tx<'_>, slug: &Slug) -> Result<Option<Organization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations
         WHERE slug_key = $1"
    );
    tx.one(&sql, [slug.key()], organization)
}

pub fn exists(tx: &Tx<'_>, organization: &OrganizationId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM organizations
               WHERE id = $1";
    tx.exists(sql, [organization.as_str()])
}

pub fn slug_exists(tx: &Tx<'_>, slug: &Slug) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM organizations
               WHERE slug_key = $1";
    tx.exists(sql, [slug.key()])
}

/// Returns the day of `at` in an organization's time zone. Returns the day in UTC if this machine does not know the
/// zone, or if the organization does not exist.
pub fn today(tx: &Tx<'_>, world: &dyn World, organization: &OrganizationId, at: Timestamp) -> Result<Date, Error> {
    let sql = "SELECT time_zone
               FROM organizations
               WHERE id = $1";
    let zone: Option<String> = tx.value(sql, [organization.as_str()])?;
    Ok(world.local_day(zone.as_deref().unwrap_or(TIME_ZONE_DEFAULT), at))
}

/// Returns the id of the organization with this slug.
pub fn with_slug(tx: &Tx<'_>, slug: &Slug) -> Result<Option<OrganizationId>, Error> {
    let sql = "SELECT id
               FROM organizations
               WHERE slug_key = $1";
    tx.one(sql, [slug.key()], |row| Columns::of(row).parse(OrganizationId::parse))
}

/// Returns whether the database has any organization.
pub fn any(tx: &Tx<'_>) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM organizations
               LIMIT 1";
    tx.exists(sql, [])
}
