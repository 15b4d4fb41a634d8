//! What machines read of career portals: the same roles as the portal, with since when each is shown as it is.

use super::role;
use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::timestamp::Timestamp;

/// A role, and since when it is shown as it is.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The role.
    pub role: role::Record,
    /// When staff last changed what is shown of it.
    pub shown_since: Timestamp,
}

/// An organization's roles that are public and open, newest first: at most so many.
///
/// # Errors
/// When SQLite fails.
pub fn entries(tx: &Tx<'_>, organization: &OrganizationId, rows_max: i64) -> Result<Vec<Entry>, Error> {
    let columns = role::COLUMNS;
    let sql = format!(
        "SELECT {columns}, shown_since
         FROM roles
         WHERE organization_id = $1 AND status = 'open' AND public = 1
         ORDER BY created_at DESC, id DESC
         LIMIT $2"
    );
    let shown_since = columns.split(',').count();
    tx.all(&sql, (organization.as_str(), rows_max), |row| {
        Ok(Entry { role: role::record(row)?, shown_since: tx::time(row, shown_since)? })
    })
}

/// The ids of these roles, and since when each is shown as it is, newest first: at most so many.
///
/// # Errors
/// When SQLite fails.
pub fn times(tx: &Tx<'_>, organization: &OrganizationId, rows_max: i64) -> Result<Vec<(RoleId, Timestamp)>, Error> {
    let sql = "SELECT id, shown_since
               FROM roles
               WHERE organization_id = $1 AND status = 'open' AND public = 1
               ORDER BY created_at DESC, id DESC
               LIMIT $2";
    tx.all(sql, (organization.as_str(), rows_max), |row| {
        Ok((tx::word(&row.get::<_, String>(0)?, RoleId::parse)?, tx::time(row, 1)?))
    })
}

/// The slug, as it was given, of the one organization whose portal is on; `None` where there is none, or more than one.
///
/// # Errors
/// When SQLite fails.
pub fn only_slug(tx: &Tx<'_>) -> Result<Option<String>, Error> {
    let sql = "SELECT slug
               FROM organizations
               WHERE portal_enabled = 1 AND enabled = 1
               LIMIT 2";
    let mut slugs: Vec<String> = tx.all(sql, [], |row| Ok(row.get(0)?))?;
    Ok(slugs.pop().filter(|_| slugs.is_empty()))
}
