//! What the pages of a career portal show of roles besides what the public API does.

use crate::db::tx::{self, Error, Tx};
use crate::domain::careers::Listing;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::{Salary, SalaryPeriod, WorkType};

/// An organization's roles that are public and open, newest first, without their descriptions: at most so many.
///
/// # Errors
/// When SQLite fails.
pub fn listings(tx: &Tx<'_>, organization: &OrganizationId, rows_max: usize) -> Result<Vec<Listing>, Error> {
    let sql =
        "SELECT id, name, department, location, work_type, salary_min, salary_max, salary_currency, salary_period,
                 created_at
               FROM roles
               WHERE organization_id = $1 AND status = 'open' AND public = 1
               ORDER BY created_at DESC, id DESC
               LIMIT $2";
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    tx.all(sql, (organization.as_str(), rows_max), |row| {
        let word = |column| -> Result<Option<String>, Error> { Ok(row.get(column)?) };
        Ok(Listing {
            id: tx::word(&row.get::<_, String>(0)?, RoleId::parse)?,
            name: row.get(1)?,
            department: row.get(2)?,
            location: row.get(3)?,
            work_type: word(4)?.map(|text| tx::word(&text, WorkType::parse)).transpose()?,
            salary: Salary {
                min: row.get(5)?,
                max: row.get(6)?,
                currency: row.get(7)?,
                period: word(8)?.map(|text| tx::word(&text, SalaryPeriod::parse)).transpose()?,
            },
            created_at: tx::time(row, 9)?,
        })
    })
}

/// The name of one of its roles that was open and public once, and is filled or closed now.
///
/// # Errors
/// When SQLite fails.
pub fn former(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Option<String>, Error> {
    let sql = "SELECT name
               FROM roles
               WHERE id = $1 AND organization_id = $2 AND status IN ('filled', 'closed') AND public = 1";
    tx.one(sql, (role.as_str(), organization.as_str()), |row| Ok(row.get(0)?))
}
