//! Queries for the roles on career pages. The portal API needs other columns, which the queries of `portal` read.

use super::role::record;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::careers::Listing;
use crate::domain::closing_day::ClosingDay;
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::role::WorkType;

/// Returns the public, open roles of an organization, newest first, without their descriptions.
pub fn listings(tx: &Tx<'_>, organization: &OrganizationId, rows_max: usize) -> Result<Vec<Listing>, Error> {
    let sql =
        "SELECT id, name, department, location, work_type, salary_min, salary_max, salary_currency, salary_period,
                 closes_on, created_at
               FROM roles
               WHERE organization_id = $1 AND status = 'open' AND public = 1
               ORDER BY created_at DESC, id DESC
               LIMIT $2";
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    tx.all(sql, (organization.as_str(), rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok(Listing {
            id: columns.parse(RoleId::parse)?,
            name: columns.read()?,
            department: columns.read()?,
            location: columns.read()?,
            work_type: columns.parse_or_none(WorkType::parse)?,
            salary: record::salary(&mut columns)?,
            closes_on: columns.parse_or_none(ClosingDay::parse)?,
            created_at: columns.time()?,
        })
    })
}

/// Returns the name of a public role that is filled or closed, or `None` if there is no such role.
pub fn former(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<Option<String>, Error> {
    let sql = "SELECT name
               FROM roles
               WHERE id = $1 AND organization_id = $2 AND status IN ('filled', 'closed') AND public = 1";
    tx.value(sql, (role.as_str(), organization.as_str()))
}
