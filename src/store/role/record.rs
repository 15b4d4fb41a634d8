//! The rows of roles.

use crate::db::row::{Columns, Row, ToSql};
use crate::db::tx::{Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::{CollarType, RoleStatus, Salary, SalaryPeriod, Seats, WorkType};
use crate::domain::timestamp::Timestamp;

/// A role, as interchange documents and portals have it.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleRecord {
    pub id: RoleId,
    pub name: String,
    /// A JSON object as text.
    pub description: String,
    pub department: String,
    pub location: String,
    pub work_type: Option<WorkType>,
    pub collar_type: Option<CollarType>,
    pub salary: Salary,
    pub seats: Seats,
    /// Whether the portal may show the role.
    pub public: bool,
    /// Why staff closed the role, if they gave a reason; only while it is closed.
    pub close_reason: Option<String>,
    pub created_at: Timestamp,
}

/// A role with its organization.
#[derive(Debug, Clone, PartialEq)]
pub struct Role {
    pub record: RoleRecord,
    pub organization_id: OrganizationId,
    pub updated_at: Timestamp,
}

/// The columns of [`RoleRecord`], as [`record`] reads them.
pub(in super::super) const COLUMNS: &str = "id, name, description, department, location, work_type, collar_type,
  salary_min, salary_max, salary_currency, salary_period, status, positions, hired, public, close_reason, created_at";

/// Reads [`COLUMNS`].
pub(in super::super) fn record(columns: &mut Columns<'_>) -> Result<RoleRecord, Error> {
    Ok(RoleRecord {
        id: columns.parse(RoleId::parse)?,
        name: columns.read()?,
        description: columns.read()?,
        department: columns.read()?,
        location: columns.read()?,
        work_type: columns.parse_or_none(WorkType::parse)?,
        collar_type: columns.parse_or_none(CollarType::parse)?,
        salary: salary(columns)?,
        seats: Seats { status: columns.parse(RoleStatus::parse)?, positions: columns.read()?, hired: columns.read()? },
        public: columns.read()?,
        close_reason: columns.read()?,
        created_at: columns.time()?,
    })
}

/// Reads the columns from `salary_min` to `salary_period`.
pub(in super::super) fn salary(columns: &mut Columns<'_>) -> Result<Salary, Error> {
    Ok(Salary {
        min: columns.read()?,
        max: columns.read()?,
        currency: columns.read()?,
        period: columns.parse_or_none(SalaryPeriod::parse)?,
    })
}

/// Reads a row of [`COLUMNS`], `organization_id` and `updated_at`.
pub(super) fn role(row: &Row<'_>) -> Result<Role, Error> {
    let mut columns = Columns::of(row);
    Ok(Role {
        record: record(&mut columns)?,
        organization_id: columns.parse(OrganizationId::parse)?,
        updated_at: columns.time()?,
    })
}

/// Adds a role. Returns `false` if a role with this id exists.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleRecord) -> Result<bool, Error> {
    let sql = "INSERT INTO roles (id, organization_id, name, description, department, location, work_type, collar_type,
                 salary_min, salary_max, salary_currency, salary_period, status, public, positions, hired,
                 close_reason, created_at, updated_at, shown_since)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19)
               ON CONFLICT DO NOTHING";
    let params: [&dyn ToSql; 19] = [
        &role.id.as_str(),
        &organization.as_str(),
        &role.name,
        &role.description,
        &role.department,
        &role.location,
        &role.work_type.map(WorkType::as_str),
        &role.collar_type.map(CollarType::as_str),
        &role.salary.min,
        &role.salary.max,
        &role.salary.currency,
        &role.salary.period.map(SalaryPeriod::as_str),
        &role.seats.status.as_str(),
        &role.public,
        &role.seats.positions,
        &role.seats.hired,
        &role.close_reason,
        &role.created_at.micros(),
        &tx.now.micros(),
    ];
    Ok(tx.run(sql, &params[..])? == 1)
}

/// Every role of an organization, oldest first.
pub fn of_organization(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<RoleRecord>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM roles
         WHERE organization_id = $1
         ORDER BY created_at, id"
    );
    tx.all(&sql, [organization.as_str()], |row| record(&mut Columns::of(row)))
}

/// One of an organization's roles.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId, id: &RoleId) -> Result<Option<Role>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}, organization_id, updated_at
         FROM roles
         WHERE organization_id = $1 AND id = $2"
    );
    tx.one(&sql, (organization.as_str(), id.as_str()), role)
}

pub fn exists(tx: &Tx<'_>, role: &RoleId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM roles
               WHERE id = $1";
    tx.exists(sql, [role.as_str()])
}

/// Sets the time of a role's last change, after its steps were changed.
pub(in super::super) fn touch(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<(), Error> {
    let sql = "UPDATE roles
               SET updated_at = $1
               WHERE organization_id = $2 AND id = $3";
    tx.run(sql, (tx.now.micros(), organization.as_str(), role.as_str()))?;
    Ok(())
}
