//! Organizations: what they are, and their status cache, moved with each decision and compared with a recount.

use rusqlite::Row;

use super::tx::{self, Error, Tx};
use crate::domain::id::{Id, OrganizationId};
use crate::domain::organization::StatusCounts;
use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;

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
}

/// Adds an organization that was made at `created_at`, without its status cache. Whether there was none with this id
/// or slug before.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, organization: &Record, created_at: Timestamp) -> Result<bool, Error> {
    let sql = "INSERT INTO organizations (id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
                 require_external_position_id, enabled, time_zone, pay_transparency, created_at, updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 'UTC', 0, $10, $10)
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
            created_at.micros(),
        ),
    )?;
    Ok(touched == 1)
}

/// Every organization, in the order in which they were made.
///
/// # Errors
/// When SQLite fails.
pub fn all(tx: &Tx<'_>) -> Result<Vec<Record>, Error> {
    let sql = "SELECT id, slug, name, domain, logo, portal_enabled, portal_theme, require_external_position_id
               FROM organizations
               ORDER BY created_at, id";
    tx.all(sql, [], |row| {
        Ok(Record {
            id: tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?,
            slug: tx::word(&row.get::<_, String>(1)?, Slug::parse)?,
            name: row.get(2)?,
            domain: row.get(3)?,
            logo: row.get(4)?,
            portal_enabled: row.get(5)?,
            portal_theme: row.get(6)?,
            require_external_position_id: row.get(7)?,
        })
    })
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

/// Moves the figures of the status cache by what a decision changed.
///
/// # Errors
/// [`Error::Defect`] where there is no row, or a figure would fall below zero.
pub fn move_status(tx: &Tx<'_>, organization: &OrganizationId, change: StatusCounts) -> Result<(), Error> {
    let sql = "UPDATE organization_statuses
               SET open_roles = open_roles + $1,
                 open_positions = open_positions + $2,
                 in_progress = in_progress + $3,
                 hired = hired + $4,
                 not_selected = not_selected + $5,
                 withdrawn = withdrawn + $6
               WHERE organization_id = $7";
    let StatusCounts { open_roles, open_positions, in_progress, hired, not_selected, withdrawn } = change;
    let touched =
        tx.run(sql, (open_roles, open_positions, in_progress, hired, not_selected, withdrawn, organization.as_str()))?;
    if touched == 1 { Ok(()) } else { Err(Error::Defect(format!("organization {organization} has no status row"))) }
}

/// Writes the status cache of an organization anew from a recount.
///
/// # Errors
/// When SQLite fails.
pub fn write_status(tx: &Tx<'_>, organization: &OrganizationId) -> Result<(), Error> {
    let counts = recount(tx, organization)?;
    let sql = "INSERT INTO organization_statuses
                 (organization_id, open_roles, open_positions, in_progress, hired, not_selected, withdrawn)
               VALUES ($1, $2, $3, $4, $5, $6, $7)
               ON CONFLICT (organization_id) DO UPDATE
               SET open_roles = excluded.open_roles,
                 open_positions = excluded.open_positions,
                 in_progress = excluded.in_progress,
                 hired = excluded.hired,
                 not_selected = excluded.not_selected,
                 withdrawn = excluded.withdrawn";
    let StatusCounts { open_roles, open_positions, in_progress, hired, not_selected, withdrawn } = counts;
    tx.run(sql, (organization.as_str(), open_roles, open_positions, in_progress, hired, not_selected, withdrawn))?;
    Ok(())
}

/// The status cache of an organization; `None` where it has no row.
///
/// # Errors
/// When SQLite fails.
pub fn status(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Option<StatusCounts>, Error> {
    let sql = "SELECT open_roles, open_positions, in_progress, hired, not_selected, withdrawn
               FROM organization_statuses
               WHERE organization_id = $1";
    tx.one(sql, [organization.as_str()], counts)
}

/// The same figures, counted from the roles and applications themselves.
///
/// # Errors
/// When SQLite fails.
pub fn recount(tx: &Tx<'_>, organization: &OrganizationId) -> Result<StatusCounts, Error> {
    let sql = "SELECT
                 (SELECT count(*) FROM roles
                  WHERE organization_id = $1 AND status = 'open'),
                 (SELECT coalesce(sum(positions - hired), 0) FROM roles
                  WHERE organization_id = $1 AND status = 'open'),
                 (SELECT count(*) FROM candidate_roles
                  WHERE organization_id = $1 AND status = 'In Progress'),
                 (SELECT count(*) FROM candidate_roles
                  WHERE organization_id = $1 AND status = 'Hired'),
                 (SELECT count(*) FROM candidate_roles
                  WHERE organization_id = $1 AND status = 'Not Selected'),
                 (SELECT count(*) FROM candidate_roles
                  WHERE organization_id = $1 AND status = 'Withdrawn')";
    Ok(tx.one(sql, [organization.as_str()], counts)?.unwrap_or_default())
}

fn counts(row: &Row<'_>) -> Result<StatusCounts, Error> {
    Ok(StatusCounts {
        open_roles: row.get(0)?,
        open_positions: row.get(1)?,
        in_progress: row.get(2)?,
        hired: row.get(3)?,
        not_selected: row.get(4)?,
        withdrawn: row.get(5)?,
    })
}
