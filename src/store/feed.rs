//! The roles in feeds and sitemaps: public, open roles, each with the time of the last change to its public content.

use super::role::RoleRecord;
use super::role::record::{COLUMNS, record};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{Id, OrganizationId, RoleId};
use crate::domain::timestamp::Timestamp;

/// A role in a feed.
#[derive(Debug, Clone)]
pub struct FeedEntry {
    pub role: RoleRecord,
    /// The time at which staff last changed the public content of the role.
    pub shown_since: Timestamp,
}

/// Returns the public, open roles of an organization, newest first.
pub fn entries(tx: &Tx<'_>, organization: &OrganizationId, rows_max: i64) -> Result<Vec<FeedEntry>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}, shown_since
         FROM roles
         WHERE organization_id = $1 AND status = 'open' AND public = 1
         ORDER BY created_at DESC, id DESC
         LIMIT $2"
    );
    tx.all(&sql, (organization.as_str(), rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok(FeedEntry { role: record(&mut columns)?, shown_since: columns.time()? })
    })
}

/// Returns the ids of the public, open roles of an organization, each with the time of the last change to its public
/// content. The newest role is first.
pub fn times(tx: &Tx<'_>, organization: &OrganizationId, rows_max: i64) -> Result<Vec<(RoleId, Timestamp)>, Error> {
    let sql = "SELECT id, shown_since
               FROM roles
               WHERE organization_id = $1 AND status = 'open' AND public = 1
               ORDER BY created_at DESC, id DESC
               LIMIT $2";
    tx.all(sql, (organization.as_str(), rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.parse(RoleId::parse)?, columns.time()?))
    })
}
