//! What a caller may see, and what they are to it: a platform admin sees every organization, everybody else those they are
//! a member of, as long as these are not switched off.

use crate::db::row::Row;

use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{CallerRoles, OrgRole, Principal};

/// What the caller is to an organization; `None` where it is not there or not to be seen.
///
/// # Errors
/// When SQLite fails.
pub fn to_organization(
    tx: &Tx<'_>,
    who: &Principal,
    organization: &OrganizationId,
) -> Result<Option<CallerRoles>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM organizations o
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE o.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    let found = tx.one(sql, (who.user_id.as_str(), organization.as_str(), who.is_admin()), |row| standing(row, who))?;
    Ok(found.map(|(_, standing)| standing))
}

/// The organization of a role, and what the caller is to it; `None` where the role is not there or not to be seen.
///
/// # Errors
/// When SQLite fails.
pub fn to_role(tx: &Tx<'_>, who: &Principal, role: &RoleId) -> Result<Option<(OrganizationId, CallerRoles)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM roles r
               JOIN organizations o ON o.id = r.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE r.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), role.as_str(), who.is_admin()), |row| standing(row, who))
}

/// The same of a candidate.
///
/// # Errors
/// When SQLite fails.
pub fn to_candidate(
    tx: &Tx<'_>,
    who: &Principal,
    candidate: &CandidateId,
) -> Result<Option<(OrganizationId, CallerRoles)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM candidates c
               JOIN organizations o ON o.id = c.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE c.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), candidate.as_str(), who.is_admin()), |row| standing(row, who))
}

/// The same of an application.
///
/// # Errors
/// When SQLite fails.
pub fn to_candidate_role(
    tx: &Tx<'_>,
    who: &Principal,
    application: &ApplicationId,
) -> Result<Option<(OrganizationId, CallerRoles)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM candidate_roles a
               JOIN organizations o ON o.id = a.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE a.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), application.as_str(), who.is_admin()), |row| standing(row, who))
}

/// The same of an application's step.
///
/// # Errors
/// When SQLite fails.
pub fn to_candidate_step(
    tx: &Tx<'_>,
    who: &Principal,
    step: &CandidateStepId,
) -> Result<Option<(OrganizationId, CallerRoles)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM candidate_role_steps s
               JOIN candidate_roles a ON a.id = s.candidate_role_id
               JOIN organizations o ON o.id = a.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE s.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), step.as_str(), who.is_admin()), |row| standing(row, who))
}

/// An organization as somebody sees it who may.
#[derive(Debug, Clone)]
pub struct Visible {
    /// Its id.
    pub id: OrganizationId,
    /// Its slug, as it was given.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Its domain.
    pub domain: String,
    /// The URL of its logo.
    pub logo: String,
    /// Whether its portal is on.
    pub portal_enabled: bool,
    /// Whether a hire needs the position's code in its HR system.
    pub require_external_position_id: bool,
    /// Whether it asks for salaries to be shown.
    pub pay_transparency: bool,
    /// The time zone that dates its pages (IANA).
    pub time_zone: String,
    /// Whether it is switched on; only a platform admin sees one that is not.
    pub enabled: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// What the caller is in it.
    pub standing: CallerRoles,
}

/// What [`visible`] reads.
const COLUMNS: &str = "o.id, m.org_role, o.slug, o.name, o.domain, o.logo, o.portal_enabled,
  o.require_external_position_id, o.pay_transparency, o.time_zone, o.enabled, o.created_at";

/// The organizations that the caller may see behind the one `after`, newest first.
///
/// # Errors
/// When SQLite fails.
pub fn organizations(
    tx: &Tx<'_>,
    who: &Principal,
    after: Option<&(Timestamp, OrganizationId)>,
    rows_max: usize,
) -> Result<Vec<Visible>, Error> {
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id.as_str()));
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    // A member's are few, and found by the memberships; an admin's are all there are, and found by the time.
    let seen = if who.is_admin() { "" } else { "m.user_id IS NOT NULL AND o.enabled = 1 AND" };
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations o
         LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
         WHERE {seen} (o.created_at, o.id) < ($2, $3)
         ORDER BY o.created_at DESC, o.id DESC
         LIMIT $4"
    );
    tx.all(&sql, (who.user_id.as_str(), at, id, rows_max), |row| visible(row, who))
}

/// One of them.
///
/// # Errors
/// When SQLite fails.
pub fn organization(tx: &Tx<'_>, who: &Principal, id: &OrganizationId) -> Result<Option<Visible>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM organizations o
         LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
         WHERE o.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)"
    );
    tx.one(&sql, (who.user_id.as_str(), id.as_str(), who.is_admin()), |row| visible(row, who))
}

fn visible(row: &Row<'_>, who: &Principal) -> Result<Visible, Error> {
    let (id, standing) = standing(row, who)?;
    Ok(Visible {
        id,
        slug: row.get(2)?,
        name: row.get(3)?,
        domain: row.get(4)?,
        logo: row.get(5)?,
        portal_enabled: row.get(6)?,
        require_external_position_id: row.get(7)?,
        pay_transparency: row.get(8)?,
        time_zone: row.get(9)?,
        enabled: row.get(10)?,
        created_at: tx::time(row, 11)?,
        standing,
    })
}

fn standing(row: &Row<'_>, who: &Principal) -> Result<(OrganizationId, CallerRoles), Error> {
    let organization = tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?;
    let org_role: Option<String> = row.get(1)?;
    let org_role = org_role.map(|word| tx::word(&word, OrgRole::parse)).transpose()?;
    Ok((organization, CallerRoles { org_role, platform_role: who.platform_role }))
}
