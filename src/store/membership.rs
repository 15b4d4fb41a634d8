//! Memberships: what a user is in an organization.

use std::time::Duration;

use crate::db::row::Row;
use serde::Serialize;

use super::{activity, user};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::{Id, OrganizationId, UserId};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{OrgRole, Principal};

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

/// A membership, with whose it is and where.
#[derive(Debug, Clone)]
pub struct Membership {
    /// The organization.
    pub organization_id: OrganizationId,
    /// Its slug.
    pub organization_slug: String,
    /// The user.
    pub user_id: UserId,
    /// The user's address.
    pub user_email: String,
    /// The user's name.
    pub user_name: String,
    /// Whether the user is not disabled.
    pub user_enabled: bool,
    /// What the user is there.
    pub org_role: OrgRole,
    /// Since when.
    pub created_at: Timestamp,
}

/// Makes a user a member, or another kind of one (`PUT /api/admin/organizations/{id}/memberships/{userId}`). Whoever is
/// that already is left alone.
///
/// # Errors
/// [`Error::Defect`] where there is no such organization or user, which the caller looks at first.
pub fn put(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    organization: &OrganizationId,
    membership: &Record,
) -> Result<(), Error> {
    let before = find(tx, organization, &membership.user_id)?.map(|membership| membership.org_role);
    match before {
        Some(org_role) if org_role == membership.org_role => return Ok(()),
        Some(_) => {
            let sql = "UPDATE memberships
                       SET org_role = $1
                       WHERE organization_id = $2 AND user_id = $3";
            tx.run(sql, (membership.org_role.as_str(), organization.as_str(), membership.user_id.as_str()))?;
        }
        None => {
            let since = after_all_of(tx, &membership.user_id)?;
            insert(tx, organization, membership, since)?;
        }
    }
    let told = |org_role| Told { user_id: membership.user_id.as_str(), org_role: OrgRole::as_str(org_role) };
    let detail = activity::detail(&before.map(told), &told(membership.org_role))?;
    activity::append(tx, stamp, who, Action::MembershipPut, &Subject::of_organization(organization.clone()), &detail)
}

/// Takes a membership away (`DELETE …/memberships/{userId}`). Whether there was one.
///
/// # Errors
/// When SQLite fails.
pub fn remove(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    organization: &OrganizationId,
    user: &UserId,
) -> Result<bool, Error> {
    let Some(before) = find(tx, organization, user)? else { return Ok(false) };
    let sql = "DELETE FROM memberships
               WHERE organization_id = $1 AND user_id = $2";
    tx.run(sql, (organization.as_str(), user.as_str()))?;
    let told = Told { user_id: user.as_str(), org_role: before.org_role.as_str() };
    let detail = activity::detail(&told, &None::<()>)?;
    let subject = Subject::of_organization(organization.clone());
    activity::append(tx, stamp, who, Action::MembershipRemoved, &subject, &detail)?;
    Ok(true)
}

/// A membership as its activities tell it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    user_id: &'a str,
    org_role: &'static str,
}

/// Now, or later where the user's newest membership is not older: whose is the oldest is decided by time.
fn after_all_of(tx: &Tx<'_>, user: &UserId) -> Result<Timestamp, Error> {
    let sql = "SELECT max(created_at)
               FROM memberships
               WHERE user_id = $1";
    let newest = tx.one(sql, [user.as_str()], |row| tx::time_or_none(row, 0))?.flatten();
    Ok(newest.map_or(tx.now, |newest| tx.now.max(newest.plus(MICROSECOND))))
}

const MICROSECOND: Duration = Duration::from_micros(1);

/// The columns of [`Membership`], from the tables that they are in.
const SELECT: &str = "SELECT m.organization_id, o.slug, m.user_id, u.email, u.name, u.enabled, m.org_role, m.created_at
  FROM memberships m
  JOIN organizations o ON o.id = m.organization_id
  JOIN users u ON u.id = m.user_id";

fn membership(row: &Row<'_>) -> Result<Membership, Error> {
    Ok(Membership {
        organization_id: tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?,
        organization_slug: row.get(1)?,
        user_id: user::id(&row.get::<_, String>(2)?)?,
        user_email: row.get(3)?,
        user_name: row.get(4)?,
        user_enabled: row.get(5)?,
        org_role: tx::word(&row.get::<_, String>(6)?, OrgRole::parse)?,
        created_at: tx::time(row, 7)?,
    })
}

/// What the user is in the organization; `None` where they are no member.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId, user: &UserId) -> Result<Option<Membership>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE m.organization_id = $1 AND m.user_id = $2"
    );
    tx.one(&sql, (organization.as_str(), user.as_str()), membership)
}

/// A page of an organization's members, newest first, behind the one who became it then and has this id
/// (`GET /api/admin/organizations/{id}/memberships`).
///
/// # Errors
/// When SQLite fails.
pub fn page(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    after: Option<&(Timestamp, String)>,
    rows_max: usize,
) -> Result<Vec<Membership>, Error> {
    let sql = format!("{SELECT} {PAGE}");
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id));
    tx.all(&sql, (organization.as_str(), at, id, rows_max), membership)
}

/// One range of an index in its order, however many members there are.
const PAGE: &str = "WHERE m.organization_id = $1 AND (m.created_at, m.user_id) < ($2, $3)
  ORDER BY m.created_at DESC, m.user_id DESC
  LIMIT $4";

/// Every membership of a user, the oldest first.
///
/// # Errors
/// When SQLite fails.
pub fn of_user(tx: &Tx<'_>, user: &UserId) -> Result<Vec<Membership>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE m.user_id = $1
         ORDER BY m.created_at, m.organization_id"
    );
    tx.all(&sql, [user.as_str()], membership)
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

#[cfg(test)]
mod tests {
    use crate::db::row::Connection;

    use super::{PAGE, SELECT};

    #[test]
    fn a_page_of_members_is_read_in_its_order() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../../schema.sql")).unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {SELECT} {PAGE}")).unwrap();
        let steps = plan.query_map(("", 0, "", 0), |row| row.get(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        let range =
            "SEARCH m USING INDEX memberships_of_organization (organization_id=? AND (created_at,user_id)<(?,?))";
        assert!(steps.iter().any(|step| step == range), "{steps:?}");
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:?}");
    }
}
