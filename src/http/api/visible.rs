//! Checks that the caller may see an organization, a role, a candidate or an application, and loads the caller's
//! organization role and platform role.
//!
//! A record that does not exist and one that the caller may not see get the same refusal, so a caller cannot probe for
//! ids.

use crate::domain::id::{ApplicationId, CandidateId, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::user::{CallerRoles, Principal};
use crate::store::{Error, Tx, access};

pub(in crate::http) const ORGANIZATION_NOT_VISIBLE: Refusal =
    Refusal::NotFound("there is no such organization, or the caller may not see it");
pub(in crate::http) const ROLE_NOT_VISIBLE: Refusal =
    Refusal::NotFound("there is no such role, or the caller may not see it");
pub(in crate::http) const CANDIDATE_NOT_VISIBLE: Refusal =
    Refusal::NotFound("there is no such candidate, or the caller may not see them");
pub(in crate::http) const APPLICATION_NOT_VISIBLE: Refusal =
    Refusal::NotFound("there is no such application, or the caller may not see it");

/// Returns the caller's organization role and platform role.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it.
pub(in crate::http) fn organization(
    tx: &Tx<'_>,
    caller: &Principal,
    id: &OrganizationId,
) -> Result<CallerRoles, Error> {
    Ok(access::to_organization(tx, caller, id)?.ok_or(ORGANIZATION_NOT_VISIBLE)?)
}

/// Returns the role's organization, and the caller's organization role and platform role.
///
/// # Errors
/// `not_found` if the role does not exist or the caller may not see it.
pub(in crate::http) fn role(
    tx: &Tx<'_>,
    caller: &Principal,
    id: &RoleId,
) -> Result<(OrganizationId, CallerRoles), Error> {
    Ok(access::to_role(tx, caller, id)?.ok_or(ROLE_NOT_VISIBLE)?)
}

/// Returns the candidate's organization, and the caller's organization role and platform role.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them.
pub(in crate::http) fn candidate(
    tx: &Tx<'_>,
    caller: &Principal,
    id: &CandidateId,
) -> Result<(OrganizationId, CallerRoles), Error> {
    Ok(access::to_candidate(tx, caller, id)?.ok_or(CANDIDATE_NOT_VISIBLE)?)
}

/// Returns the application's organization, and the caller's organization role and platform role.
///
/// # Errors
/// `not_found` if the application does not exist or the caller may not see it.
pub(in crate::http) fn application(
    tx: &Tx<'_>,
    caller: &Principal,
    id: &ApplicationId,
) -> Result<(OrganizationId, CallerRoles), Error> {
    Ok(access::to_application(tx, caller, id)?.ok_or(APPLICATION_NOT_VISIBLE)?)
}
