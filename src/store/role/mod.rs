//! Roles: what they are, and their seats as decisions move them. What staff do with them is in `role/`.

mod change;
mod list;

use crate::db::row::{Row, ToSql};

use super::invitation;
use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::{CollarType, RoleStatus, Salary, SalaryPeriod, Seats, WorkType};
use crate::domain::timestamp::Timestamp;
pub use change::{Applications, Role, add, applications, delete, find, save, touch};
pub use list::{Filter, Found, LOOKED_AT_MAX, page};

/// A role, as documents and portals have one.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
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
    /// Its status, positions and hires.
    pub seats: Seats,
    /// Whether the portal may show it.
    pub public: bool,
    /// Why it was closed by hand; only while it is, and where that was told.
    pub close_reason: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Adds a role. Whether there was none with this id before.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, organization: &OrganizationId, role: &Record) -> Result<bool, Error> {
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

/// Every role of an organization, in the order in which they were made.
///
/// # Errors
/// When SQLite fails.
pub fn of_organization(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<Record>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM roles
         WHERE organization_id = $1
         ORDER BY created_at, id"
    );
    tx.all(&sql, [organization.as_str()], record)
}

/// What [`record`] reads.
pub(super) const COLUMNS: &str = "id, name, description, department, location, work_type, collar_type, salary_min,
  salary_max, salary_currency, salary_period, status, public, positions, hired, created_at, close_reason";

/// A row of [`COLUMNS`].
pub(super) fn record(row: &Row<'_>) -> Result<Record, Error> {
    let word = |column| -> Result<Option<String>, Error> { Ok(row.get(column)?) };
    Ok(Record {
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
        seats: Seats {
            status: tx::word(&row.get::<_, String>(11)?, RoleStatus::parse)?,
            positions: row.get(13)?,
            hired: row.get(14)?,
        },
        public: row.get(12)?,
        close_reason: row.get(16)?,
        created_at: tx::time(row, 15)?,
    })
}

/// Whether there is such a role.
///
/// # Errors
/// When SQLite fails.
pub fn exists(tx: &Tx<'_>, role: &RoleId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM roles
               WHERE id = $1";
    tx.exists(sql, [role.as_str()])
}

/// The seats of one of an organization's roles, as they are now.
///
/// # Errors
/// When SQLite fails.
pub fn seats(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Option<Seats>, Error> {
    let sql = "SELECT status, positions, hired
               FROM roles
               WHERE organization_id = $1 AND id = $2";
    tx.one(sql, (organization.as_str(), role.as_str()), |row| {
        let status = tx::word(&row.get::<_, String>(0)?, RoleStatus::parse)?;
        Ok(Seats { status, positions: row.get(1)?, hired: row.get(2)? })
    })
}

/// Saves what a decision made of a role's seats. A role that stops being open ends its signup links.
///
/// # Errors
/// [`Error::Defect`] where the seats are not those of a role, or there is no such role.
pub fn save_seats(tx: &Tx<'_>, role: &RoleId, before: Seats, after: Seats) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    // Guarded by what the rule saw: a row that says otherwise was changed behind it. The status is named only where it
    // changes, because whoever names it changes what the portal shows.
    let (status, now, was) = (after.status.as_str(), tx.now.micros(), before.status.as_str());
    let touched = if before.status == after.status {
        let sql = "UPDATE roles
                   SET hired = $1, positions = $2, updated_at = $3
                   WHERE id = $4 AND status = $5 AND hired = $6 AND positions = $7";
        tx.run(sql, (after.hired, after.positions, now, role.as_str(), was, before.hired, before.positions))?
    } else {
        let sql = "UPDATE roles
                   SET status = $1, hired = $2, positions = $3, updated_at = $4
                   WHERE id = $5 AND status = $6 AND hired = $7 AND positions = $8";
        tx.run(sql, (status, after.hired, after.positions, now, role.as_str(), was, before.hired, before.positions))?
    };
    if touched != 1 {
        return Err(Error::Defect(format!("role {role} is not as the rule saw it")));
    }
    if before.status == RoleStatus::Open && after.status != RoleStatus::Open {
        invitation::end_all(tx, role)?;
    }
    Ok(())
}
