//! Organizations: what they are, and how an admin makes and changes them. Their status cache is in `status`.

mod status;

use crate::db::row::Row;
use serde::Serialize;
use serde_json::Value;

use super::{activity, erasure};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::{Id, OrganizationId};
use crate::domain::organization::{DECISION_VISIBLE_AFTER_HOURS_DEFAULT, SLUG_TAKEN, TIME_ZONE_DEFAULT};
use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
pub use status::{move_status, recount, status, write_status};

/// An organization, as a document has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: OrganizationId,
    /// Its slug.
    pub slug: Slug,
    /// Its name.
    pub name: String,
    /// Its domain.
    pub domain: String,
    /// The URL of its logo.
    pub logo: String,
    /// Whether its portal is on.
    pub portal_enabled: bool,
    /// The portal's theme: a JSON object as text.
    pub portal_theme: String,
    /// Whether a hire needs the position's code in its HR system.
    pub require_external_position_id: bool,
    /// Whether it is not switched off: then it has no portal, and only admins see it.
    pub enabled: bool,
    /// Where its days begin: the name of a zone.
    pub time_zone: String,
    /// Whether it wants to be told of a role that is published without its salary.
    pub pay_transparency: bool,
    /// A candidate is erased that many days after the last decision; never without.
    pub retention_days: Option<i64>,
    /// What candidates consent to, as Markdown; blank for the service's own words.
    pub privacy_notice: String,
    /// A candidate sees a decision that many hours after it was made; never without.
    pub decision_visible_after_hours: Option<i64>,
}

impl Record {
    /// An organization of which nothing else was said.
    pub fn new(id: OrganizationId, slug: Slug, name: String) -> Self {
        Self {
            id,
            slug,
            name,
            domain: String::new(),
            logo: String::new(),
            portal_enabled: false,
            portal_theme: "{}".to_owned(),
            require_external_position_id: false,
            enabled: true,
            time_zone: TIME_ZONE_DEFAULT.to_owned(),
            pay_transparency: false,
            retention_days: None,
            privacy_notice: String::new(),
            decision_visible_after_hours: Some(DECISION_VISIBLE_AFTER_HOURS_DEFAULT),
        }
    }
}

/// An organization, with when it was made and changed.
#[derive(Debug, Clone)]
pub struct Organization {
    /// What it is.
    pub record: Record,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was made or changed.
    pub updated_at: Timestamp,
}

/// Makes an organization now, with its status cache (`POST /api/admin/organizations`).
///
/// # Errors
/// `conflict` where its slug is taken; when SQLite fails.
pub fn create(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, organization: &Record) -> Result<(), Error> {
    if !insert(tx, organization, tx.now)? {
        return Err(SLUG_TAKEN.into());
    }
    write_status(tx, &organization.id)?;
    let subject = Subject::of_organization(organization.id.clone());
    let detail = activity::detail(&None::<()>, &Told::of(organization)?)?;
    activity::append(tx, stamp, who, Action::OrganizationCreated, &subject, &detail)
}

/// Changes an organization (`PATCH /api/admin/organizations/{id}`). One that stays as it is is left alone.
///
/// # Errors
/// `conflict` where its new slug is taken; when SQLite fails.
pub fn change(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    before: &Record,
    after: &Record,
) -> Result<(), Error> {
    if before.slug.key() != after.slug.key() && slug_exists(tx, &after.slug)? {
        return Err(SLUG_TAKEN.into());
    }
    let Some(detail) = activity::detail_of_changes(&Told::of(before)?, &Told::of(after)?)? else { return Ok(()) };
    update(tx, after)?;
    if before.retention_days != after.retention_days {
        erasure::retention::due::take_off_all(tx, &after.id)?;
    }
    let subject = Subject::of_organization(after.id.clone());
    activity::append(tx, stamp, who, Action::OrganizationChanged, &subject, &detail)
}

/// An organization as its activities tell it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    slug: &'a str,
    name: &'a str,
    domain: &'a str,
    logo: &'a str,
    portal_enabled: bool,
    portal_theme: Value,
    require_external_position_id: bool,
    enabled: bool,
    time_zone: &'a str,
    pay_transparency: bool,
    retention_days: Option<i64>,
    privacy_notice: &'a str,
    decision_visible_after_hours: Option<i64>,
}

impl<'a> Told<'a> {
    fn of(organization: &'a Record) -> Result<Self, Error> {
        let portal_theme = serde_json::from_str(&organization.portal_theme)
            .map_err(|error| Error::Defect(format!("a theme is no JSON: {error}")))?;
        Ok(Self {
            slug: organization.slug.as_str(),
            name: &organization.name,
            domain: &organization.domain,
            logo: &organization.logo,
            portal_enabled: organization.portal_enabled,
            portal_theme,
            require_external_position_id: organization.require_external_position_id,
            enabled: organization.enabled,
            time_zone: &organization.time_zone,
            pay_transparency: organization.pay_transparency,
            retention_days: organization.retention_days,
            privacy_notice: &organization.privacy_notice,
            decision_visible_after_hours: organization.decision_visible_after_hours,
        })
    }
}

/// Adds an organization that was made at `created_at`, without its status cache. Whether there was none with this id
/// or slug before.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, organization: &Record, created_at: Timestamp) -> Result<bool, Error> {
    let sql = "INSERT INTO organizations (id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
                 require_external_position_id, enabled, time_zone, pay_transparency, retention_days,
                 privacy_notice, decision_visible_after_hours, created_at, updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16)
               ON CONFLICT DO NOTHING";
    let touched = tx.run(
        sql,
        (
            organization.id.as_str(),
            organization.slug.as_str(),
            organization.slug.key(),
            &organization.name,
            &organization.domain,
            &organization.logo,
            organization.portal_enabled,
            &organization.portal_theme,
            organization.require_external_position_id,
            organization.enabled,
            &organization.time_zone,
            organization.pay_transparency,
            organization.retention_days,
            &organization.privacy_notice,
            organization.decision_visible_after_hours,
            created_at.micros(),
        ),
    )?;
    Ok(touched == 1)
}

fn update(tx: &Tx<'_>, organization: &Record) -> Result<(), Error> {
    let sql = "UPDATE organizations
               SET slug = $1, slug_key = $2, name = $3, domain = $4, logo = $5, portal_enabled = $6, portal_theme = $7,
                 require_external_position_id = $8, enabled = $9, time_zone = $10, pay_transparency = $11,
                 retention_days = $12, privacy_notice = $13, decision_visible_after_hours = $14, updated_at = $15
               WHERE id = $16";
    tx.run(
        sql,
        (
            organization.slug.as_str(),
            organization.slug.key(),
            &organization.name,
            &organization.domain,
            &organization.logo,
            organization.portal_enabled,
            &organization.portal_theme,
            organization.require_external_position_id,
            organization.enabled,
            &organization.time_zone,
            organization.pay_transparency,
            organization.retention_days,
            &organization.privacy_notice,
            organization.decision_visible_after_hours,
            tx.now.micros(),
            organization.id.as_str(),
        ),
    )?;
    Ok(())
}

/// The columns of [`Organization`].
const COLUMNS: &str = "id, slug, name, domain, logo, portal_enabled, portal_theme, require_external_position_id,
  enabled, time_zone, pay_transparency, retention_days, privacy_notice, decision_visible_after_hours, created_at,
  updated_at";

fn organization(row: &Row<'_>) -> Result<Organization, Error> {
    Ok(Organization {
        record: Record {
            id: tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?,
            slug: tx::word(&row.get::<_, String>(1)?, Slug::parse)?,
            name: row.get(2)?,
            domain: row.get(3)?,
            logo: row.get(4)?,
            portal_enabled: row.get(5)?,
            portal_theme: row.get(6)?,
            require_external_position_id: row.get(7)?,
            enabled: row.get(8)?,
            time_zone: row.get(9)?,
            pay_transparency: row.get(10)?,
            retention_days: row.get(11)?,
            privacy_notice: row.get(12)?,
            decision_visible_after_hours: row.get(13)?,
        },
        created_at: tx::time(row, 14)?,
        updated_at: tx::time(row, 15)?,
    })
}

/// Every organization, in the order in which they were made.
///
/// # Errors
/// When SQLite fails.
pub fn all(tx: &Tx<'_>) -> Result<Vec<Organization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations
         ORDER BY created_at, id"
    );
    tx.all(&sql, [], organization)
}

/// A page of all organizations, newest first, behind the one that was made then and has this id
/// (`GET /api/admin/organizations`).
///
/// # Errors
/// When SQLite fails.
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

/// The organization with this id.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, id: &OrganizationId) -> Result<Option<Organization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations
         WHERE id = $1"
    );
    tx.one(&sql, [id.as_str()], organization)
}

/// The organization with this slug.
///
/// # Errors
/// When SQLite fails.
pub fn find_by_slug(tx: &Tx<'_>, slug: &Slug) -> Result<Option<Organization>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations
         WHERE slug_key = $1"
    );
    tx.one(&sql, [slug.key()], organization)
}

/// Whether there is such an organization.
///
/// # Errors
/// When SQLite fails.
pub fn exists(tx: &Tx<'_>, organization: &OrganizationId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM organizations
               WHERE id = $1";
    tx.exists(sql, [organization.as_str()])
}

/// Whether there is an organization with this slug.
///
/// # Errors
/// When SQLite fails.
pub fn slug_exists(tx: &Tx<'_>, slug: &Slug) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM organizations
               WHERE slug_key = $1";
    tx.exists(sql, [slug.key()])
}

/// The organization with this slug.
///
/// # Errors
/// When SQLite fails.
pub fn with_slug(tx: &Tx<'_>, slug: &Slug) -> Result<Option<OrganizationId>, Error> {
    let sql = "SELECT id
               FROM organizations
               WHERE slug_key = $1";
    tx.one(sql, [slug.key()], |row| tx::word(&row.get::<_, String>(0)?, OrganizationId::parse))
}

/// Whether the file has any organization at all.
///
/// # Errors
/// When SQLite fails.
pub fn any(tx: &Tx<'_>) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM organizations
               LIMIT 1";
    tx.exists(sql, [])
}
