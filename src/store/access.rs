//! What a caller may see, and what they are to it: a platform admin sees every organization, everybody else those they are
//! a member of, as long as these are not switched off.

use rusqlite::Row;

use super::tx::{self, Error, Tx};
use crate::domain::id::{CandidateId, CandidateRoleId, Id, OrganizationId, RoleId};
use crate::domain::user::{OrgRole, Principal, Standing};

/// What the caller is to an organization; `None` where it is not there or not to be seen.
///
/// # Errors
/// When SQLite fails.
pub fn to_organization(tx: &Tx<'_>, who: &Principal, organization: &OrganizationId) -> Result<Option<Standing>, Error> {
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
pub fn to_role(tx: &Tx<'_>, who: &Principal, role: &RoleId) -> Result<Option<(OrganizationId, Standing)>, Error> {
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
) -> Result<Option<(OrganizationId, Standing)>, Error> {
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
    application: &CandidateRoleId,
) -> Result<Option<(OrganizationId, Standing)>, Error> {
    let sql = "SELECT o.id, m.org_role
               FROM candidate_roles a
               JOIN organizations o ON o.id = a.organization_id
               LEFT JOIN memberships m ON m.organization_id = o.id AND m.user_id = $1
               WHERE a.id = $2 AND (m.user_id IS NOT NULL AND o.enabled = 1 OR $3)";
    tx.one(sql, (who.user_id.as_str(), application.as_str(), who.is_admin()), |row| standing(row, who))
}

fn standing(row: &Row<'_>, who: &Principal) -> Result<(OrganizationId, Standing), Error> {
    let organization = tx::word(&row.get::<_, String>(0)?, OrganizationId::parse)?;
    let org_role: Option<String> = row.get(1)?;
    let org_role = org_role.map(|word| tx::word(&word, OrgRole::parse)).transpose()?;
    Ok((organization, Standing { org_role, platform_role: who.platform_role }))
}
