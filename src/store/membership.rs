//! Memberships: which users belong to an organization, and their organization roles.

use serde::Serialize;

use super::activity;
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::{Id, OrganizationId, UserId};
use crate::domain::member_list::MemberName;
use crate::domain::membership::MemberFacts;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{OrgRole, PlatformRole, Principal, membership_since};

/// A member of an organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgMember {
    pub user_id: UserId,
    pub org_role: OrgRole,
}

/// Inserts a membership, but appends no activity row. Returns false if the user is already a member.
///
/// # Errors
/// [`Error::Defect`] if the organization or the user does not exist. The caller must check this first.
pub fn insert(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    member: &OrgMember,
    created_at: Timestamp,
) -> Result<bool, Error> {
    let sql = "INSERT INTO memberships (user_id, organization_id, org_role, created_at)
               VALUES ($1, $2, $3, $4)
               ON CONFLICT DO NOTHING";
    let OrgMember { user_id, org_role } = member;
    Ok(tx.run(sql, (user_id.as_str(), organization.as_str(), org_role.as_str(), created_at.micros()))? == 1)
}

/// A membership with its user and its organization.
#[derive(Debug, Clone)]
pub struct Membership {
    pub organization_id: OrganizationId,
    pub organization_slug: String,
    pub user_id: UserId,
    pub user_email: String,
    pub user_name: String,
    /// Whether the user is enabled.
    pub user_enabled: bool,
    pub org_role: OrgRole,
    pub created_at: Timestamp,
}

/// Makes a user a member, or changes the organization role of a member
/// (`PUT /api/admin/organizations/{id}/memberships/{userId}`), and records the act. Does nothing if the member already
/// has this organization role.
///
/// # Errors
/// [`Error::Defect`] if the organization or the user does not exist. The caller must check this first.
pub fn put(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    organization: &OrganizationId,
    member: &OrgMember,
) -> Result<(), Error> {
    let before = find(tx, organization, &member.user_id)?.map(|membership| membership.org_role);
    match before {
        Some(org_role) if org_role == member.org_role => return Ok(()),
        Some(_) => {
            let sql = "UPDATE memberships
                       SET org_role = $1
                       WHERE organization_id = $2 AND user_id = $3";
            tx.run(sql, (member.org_role.as_str(), organization.as_str(), member.user_id.as_str()))?;
        }
        None => {
            let since = membership_since(newest_of_user(tx, &member.user_id)?, tx.now);
            insert(tx, organization, member, since)?;
        }
    }
    let side = |org_role| MemberDetail { user_id: member.user_id.as_str(), org_role: OrgRole::as_str(org_role) };
    let detail = activity::detail(&before.map(side), &side(member.org_role))?;
    activity::append(tx, stamp, who, Action::MembershipPut, &Subject::of_organization(organization.clone()), &detail)
}

/// Ends a membership (`DELETE …/memberships/{userId}`) and records the act. Returns false if the user is not a member.
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
    let removed = MemberDetail { user_id: user.as_str(), org_role: before.org_role.as_str() };
    let detail = activity::detail(&removed, &None::<()>)?;
    let subject = Subject::of_organization(organization.clone());
    activity::append(tx, stamp, who, Action::MembershipRemoved, &subject, &detail)?;
    Ok(true)
}

/// The detail of a membership in an activity row.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MemberDetail<'a> {
    user_id: &'a str,
    org_role: &'static str,
}

fn newest_of_user(tx: &Tx<'_>, user: &UserId) -> Result<Option<Timestamp>, Error> {
    let sql = "SELECT max(created_at)
               FROM memberships
               WHERE user_id = $1";
    let newest: Option<i64> = tx.value(sql, [user.as_str()])?.flatten();
    Ok(newest.map(Timestamp::from_micros))
}

/// The query for the columns that [`membership`] reads, without its condition.
const SELECT: &str = "SELECT m.organization_id, o.slug, m.user_id, u.email, u.name, u.enabled, m.org_role, m.created_at
  FROM memberships m
  JOIN organizations o ON o.id = m.organization_id
  JOIN users u ON u.id = m.user_id";

fn membership(row: &Row<'_>) -> Result<Membership, Error> {
    let mut columns = Columns::of(row);
    Ok(Membership {
        organization_id: columns.parse(OrganizationId::parse)?,
        organization_slug: columns.read()?,
        user_id: columns.parse(UserId::parse)?,
        user_email: columns.read()?,
        user_name: columns.read()?,
        user_enabled: columns.read()?,
        org_role: columns.parse(OrgRole::parse)?,
        created_at: columns.time()?,
    })
}

/// Finds the membership of a user in an organization. Returns `None` if the user is not a member.
pub fn find(tx: &Tx<'_>, organization: &OrganizationId, user: &UserId) -> Result<Option<Membership>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE m.organization_id = $1 AND m.user_id = $2"
    );
    tx.one(&sql, (organization.as_str(), user.as_str()), membership)
}

/// Returns a page of an organization's members, newest first. The page begins after the member with this time and user
/// id (`GET /api/admin/organizations/{id}/memberships`).
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

/// The condition for a page. It selects one range of an index in the order of the index, so the cost does not grow with
/// the number of members.
const PAGE: &str = "WHERE m.organization_id = $1 AND (m.created_at, m.user_id) < ($2, $3)
  ORDER BY m.created_at DESC, m.user_id DESC
  LIMIT $4";

/// Returns all memberships of a user, oldest first.
pub fn of_user(tx: &Tx<'_>, user: &UserId) -> Result<Vec<Membership>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE m.user_id = $1
         ORDER BY m.created_at, m.organization_id"
    );
    tx.all(&sql, [user.as_str()], membership)
}

/// Returns the time of the newest membership in the database.
pub fn newest(tx: &Tx<'_>) -> Result<Option<Timestamp>, Error> {
    let sql = "SELECT max(created_at)
               FROM memberships";
    let newest: Option<i64> = tx.value(sql, [])?.flatten();
    Ok(newest.map(Timestamp::from_micros))
}

/// Returns all members of an organization, oldest first.
pub fn of_organization(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<OrgMember>, Error> {
    let sql = "SELECT user_id, org_role
               FROM memberships
               WHERE organization_id = $1
               ORDER BY created_at, user_id";
    tx.all(sql, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(OrgMember { user_id: columns.parse(UserId::parse)?, org_role: columns.parse(OrgRole::parse)? })
    })
}

/// A member, as shown on the pages about members.
#[derive(Debug, Clone)]
pub struct MemberProfile {
    pub user_id: UserId,
    pub name: String,
    pub email: String,
    pub enabled: bool,
    pub has_password: bool,
    /// The last use of a session, to the minute; `None` before the first sign-in.
    pub last_seen_at: Option<Timestamp>,
    pub facts: MemberFacts,
}

/// Returns the ids, names and addresses of all members of an organization, in no particular order.
pub fn names(tx: &Tx<'_>, organization: &OrganizationId) -> Result<Vec<MemberName>, Error> {
    let sql = "SELECT m.user_id, u.name, u.email
               FROM memberships m
               JOIN users u ON u.id = m.user_id
               WHERE m.organization_id = $1";
    tx.all(sql, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(MemberName { user_id: columns.parse(UserId::parse)?, name: columns.read()?, email: columns.read()? })
    })
}

/// The condition for enabled members without a second factor.
const WITHOUT_FACTOR: &str = "u.enabled = 1
  AND NOT EXISTS (SELECT 1 FROM totp_secrets t WHERE t.user_id = m.user_id)
  AND NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = m.user_id)";

/// Returns the number of an organization's members without a second factor. Disabled users are not counted.
pub fn count_without_factor(tx: &Tx<'_>, organization: &OrganizationId) -> Result<usize, Error> {
    let sql = format!(
        "SELECT count(*)
         FROM memberships m
         JOIN users u ON u.id = m.user_id
         WHERE m.organization_id = $1 AND {WITHOUT_FACTOR}"
    );
    let count: Option<i64> = tx.value(&sql, [organization.as_str()])?;
    Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
}

/// Returns the names and addresses of at most `rows_max` members without a second factor. Leaves out disabled users.
pub fn without_factor(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    rows_max: usize,
) -> Result<Vec<(String, String)>, Error> {
    let sql = format!(
        "SELECT u.name, u.email
         FROM memberships m
         JOIN users u ON u.id = m.user_id
         WHERE m.organization_id = $1 AND {WITHOUT_FACTOR}
         ORDER BY u.name, u.id
         LIMIT $2"
    );
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    tx.all(&sql, (organization.as_str(), rows_max), |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?))
    })
}

/// Finds one member of an organization, with the facts for acts by `who` on this member.
pub fn find_profile(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    who: &Principal,
    user: &UserId,
) -> Result<Option<MemberProfile>, Error> {
    let sql = format!(
        "{PROFILE}
         WHERE m.organization_id = $1 AND m.user_id = $2"
    );
    tx.one(&sql, (organization.as_str(), user.as_str()), |row| profile(row, who))
}

/// The query for the columns that [`profile`] reads, without its condition.
const PROFILE: &str =
    "SELECT m.user_id, u.name, u.email, u.enabled, u.password_hash IS NOT NULL, u.last_seen_at, m.org_role,
    u.platform_role,
    EXISTS (SELECT 1 FROM memberships e WHERE e.user_id = m.user_id AND e.organization_id <> m.organization_id),
    EXISTS (SELECT 1 FROM memberships o
            WHERE o.organization_id = m.organization_id AND o.org_role = 'owner' AND o.user_id <> m.user_id)
  FROM memberships m
  JOIN users u ON u.id = m.user_id";

fn profile(row: &Row<'_>, who: &Principal) -> Result<MemberProfile, Error> {
    let mut columns = Columns::of(row);
    let user_id = columns.parse(UserId::parse)?;
    let is_self = user_id == who.user_id;
    Ok(MemberProfile {
        user_id,
        name: columns.read()?,
        email: columns.read()?,
        enabled: columns.read()?,
        has_password: columns.read()?,
        last_seen_at: columns.read::<Option<i64>>()?.map(Timestamp::from_micros),
        facts: MemberFacts {
            org_role: columns.parse_or_none(OrgRole::parse)?,
            platform_role: columns.parse(PlatformRole::parse)?,
            is_self,
            is_member_elsewhere: columns.read()?,
            has_other_owner: columns.read()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{PAGE, SELECT};
    use crate::db::sqlite::tests::{in_memory, plan};

    #[test]
    fn a_page_of_members_reads_one_index_range_and_does_not_sort() {
        let steps = plan(&in_memory(include_str!("../../schema.sql")), &format!("{SELECT} {PAGE}"));
        let range =
            "SEARCH m USING INDEX memberships_of_organization (organization_id=? AND (created_at,user_id)<(?,?))";
        assert!(steps.iter().any(|step| step == range), "{steps:?}");
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:?}");
    }
}
