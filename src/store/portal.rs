//! What the public sees: organizations with their portal on, and their roles that are public and open.

use rusqlite::Row;

use super::tx::{self, Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::{CollarType, SalaryPeriod, WorkType};
use crate::domain::text::Slug;
use crate::domain::timestamp::Timestamp;

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
}

/// A role as a portal shows it.
#[derive(Debug, Clone)]
pub struct PublicRole {
    /// Its id.
    pub id: RoleId,
    /// Its name.
    pub name: String,
    /// Its description: a JSON object as text.
    pub description: String,
    /// Its department.
    pub department: String,
    /// Its location.
    pub location: String,
    /// Where the work is done.
    pub work_type: Option<WorkType>,
    /// What kind of work it is.
    pub collar_type: Option<CollarType>,
    /// The salary, of which any part may be missing.
    pub salary: Salary,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A role's salary. Parts that the role does not have are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Salary {
    /// From, in units of the currency.
    pub min: Option<f64>,
    /// To, in units of the currency.
    pub max: Option<f64>,
    /// ISO 4217.
    pub currency: Option<String>,
    /// What it is paid for.
    pub period: Option<SalaryPeriod>,
}

/// The organization with this slug, where its portal is on.
///
/// # Errors
/// When SQLite fails.
pub fn organization(tx: &Tx<'_>, slug: &Slug) -> Result<Option<PublicOrganization>, Error> {
    let sql = "SELECT id, name, logo, slug, domain, portal_theme
               FROM organizations
               WHERE slug_key = $1 AND portal_enabled = 1";
    tx.one(sql, [slug.key()], |row| {
        Ok(PublicOrganization {
            id: tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?,
            name: row.get(1)?,
            logo: row.get(2)?,
            slug: row.get(3)?,
            domain: row.get(4)?,
            theme: row.get(5)?,
        })
    })
}

/// Its roles that are public and open, newest first (`GET /api/public/portal/{orgSlug}`).
///
/// # Errors
/// When SQLite fails.
pub fn roles(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<PublicRole>, Error> {
    let sql = "SELECT id, name, description, department, location, work_type, collar_type,
                 salary_min, salary_max, salary_currency, salary_period, created_at
               FROM roles
               WHERE organization_id = $1 AND status = 'open' AND public = 1
               ORDER BY created_at DESC, id DESC";
    tx.all(sql, [organization.as_str()], public_role)
}

/// One of them (`GET /api/public/portal/{orgSlug}/roles/{roleId}`).
///
/// # Errors
/// When SQLite fails.
pub fn role(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Option<PublicRole>, Error> {
    let sql = "SELECT id, name, description, department, location, work_type, collar_type,
                 salary_min, salary_max, salary_currency, salary_period, created_at
               FROM roles
               WHERE id = $1 AND organization_id = $2 AND status = 'open' AND public = 1";
    tx.one(sql, (role.as_str(), organization.as_str()), public_role)
}

fn public_role(row: &Row<'_>) -> Result<PublicRole, Error> {
    let word = |column| -> Result<Option<String>, Error> { Ok(row.get(column)?) };
    Ok(PublicRole {
        id: tx::word(&row.get::<_, String>(0)?, RoleId::parse)?,
        name: row.get(1)?,
        description: row.get(2)?,
        department: row.get(3)?,
        location: row.get(4)?,
        work_type: word(5)?.map(|text| tx::word(&text, WorkType::parse)).transpose()?,
        collar_type: word(6)?.map(|text| tx::word(&text, CollarType::parse)).transpose()?,
        salary: Salary {
            min: row.get(7)?,
            max: row.get(8)?,
            currency: row.get(9)?,
            period: word(10)?.map(|text| tx::word(&text, SalaryPeriod::parse)).transpose()?,
        },
        created_at: tx::time(row, 11)?,
    })
}
