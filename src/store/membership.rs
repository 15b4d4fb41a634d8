//! Memberships: what a user is in an organization.

use super::tx::{self, Error, Tx};
use super::user;
use crate::domain::id::{OrganizationId, UserId};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::OrgRole;

/// What a user is in one organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The user.
    pub user_id: UserId,
    /// What the user is there.
    pub org_role: OrgRole,
}

/// Makes a user a member since `created_at`. Whether the user was none before.
///
/// # Errors
/// [`Error::Defect`] where there is no such user, which the caller looks at first.
pub fn insert(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    membership: &Record,
    created_at: Timestamp,
) -> Result<bool, Error> {
    let sql = "INSERT INTO memberships (user_id, organization_id, org_role, created_at)
               VALUES ($1, $2, $3, $4)
               ON CONFLICT DO NOTHING";
    let Record { user_id, org_role } = membership;
    Ok(tx.run(sql, (user_id.as_str(), organization.as_str(), org_role.as_str(), created_at.micros()))? == 1)
}

/// When the newest of all memberships began; `None` where there is none.
///
/// # Errors
/// When SQLite fails.
pub fn newest(tx: &Tx<'_>) -> Result<Option<Timestamp>, Error> {
    let sql = "SELECT max(created_at)
               FROM memberships";
    Ok(tx.one(sql, [], |row| tx::time_or_none(row, 0))?.flatten())
}

/// Every member of an organization, the oldest first.
///
/// # Errors
/// When SQLite fails.
pub fn of_organization(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<Record>, Error> {
    let sql = "SELECT user_id, org_role
               FROM memberships
               WHERE organization_id = $1
               ORDER BY created_at, user_id";
    tx.all(sql, [organization.as_str()], |row| {
        Ok(Record {
            user_id: user::id(&row.get::<_, String>(0)?)?,
            org_role: tx::word(&row.get::<_, String>(1)?, OrgRole::parse)?,
        })
    })
}
