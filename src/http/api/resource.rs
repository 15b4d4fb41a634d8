//! The resources of the routes for staff. Each resource has a function that loads the caller's organization role and
//! platform role.

use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId};
use crate::domain::user::{CallerRoles, Principal};
use crate::http::server::resource::{LoadCallerRoles, Resource};
use crate::store::{Error, Tx, access};

pub(in crate::http) const ORGANIZATION: Resource = without_candidate(roles_at_organization);

/// The candidates of an organization. The path contains the organization's id.
pub(in crate::http) const CANDIDATES: Resource = naming_candidate(roles_at_organization);

pub(in crate::http) const ROLE: Resource = without_candidate(roles_at_role);

/// The candidates of a role. The path contains the role's id.
pub(in crate::http) const CANDIDATES_OF_ROLE: Resource = naming_candidate(roles_at_role);

pub(in crate::http) const CANDIDATE: Resource = naming_candidate(roles_at_candidate);

pub(in crate::http) const APPLICATION: Resource = naming_candidate(roles_at_application);

pub(in crate::http) const CANDIDATE_STEP: Resource = naming_candidate(roles_at_candidate_step);

const fn without_candidate(load: LoadCallerRoles) -> Resource {
    Resource { caller_roles: Some(load), names_candidate: false }
}

const fn naming_candidate(load: LoadCallerRoles) -> Resource {
    Resource { caller_roles: Some(load), names_candidate: true }
}

fn roles_at_organization(tx: &Tx<'_>, caller: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    OrganizationId::parse(id).map_or(Ok(None), |id| access::to_organization(tx, caller, &id))
}

fn roles_at_role(tx: &Tx<'_>, caller: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    let Some(id) = RoleId::parse(id) else { return Ok(None) };
    Ok(access::to_role(tx, caller, &id)?.map(|(_, roles)| roles))
}

fn roles_at_candidate(tx: &Tx<'_>, caller: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    let Some(id) = CandidateId::parse(id) else { return Ok(None) };
    Ok(access::to_candidate(tx, caller, &id)?.map(|(_, roles)| roles))
}

fn roles_at_application(tx: &Tx<'_>, caller: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    let Some(id) = ApplicationId::parse(id) else { return Ok(None) };
    Ok(access::to_application(tx, caller, &id)?.map(|(_, roles)| roles))
}

fn roles_at_candidate_step(tx: &Tx<'_>, caller: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    let Some(id) = CandidateStepId::parse(id) else { return Ok(None) };
    Ok(access::to_candidate_step(tx, caller, &id)?.map(|(_, roles)| roles))
}
