//! What the routes for staff are about, and how a caller's standing to it is read.

use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, Id, OrganizationId, RoleId};
use crate::domain::user::{CallerRoles, Principal};
use crate::http::server::resource::{LoadCallerRoles, Resource};
use crate::store::{Error, Tx, access};

/// An organization.
pub(in crate::http) const ORGANIZATION: Resource = named_by(of_organization);

/// The candidates of an organization.
pub(in crate::http) const CANDIDATES: Resource = naming_candidates(of_organization);

/// A role.
pub(in crate::http) const ROLE: Resource = named_by(of_role);

/// A candidate.
pub(in crate::http) const CANDIDATE: Resource = naming_candidates(of_candidate);

/// An application.
pub(in crate::http) const APPLICATION: Resource = naming_candidates(of_application);

/// A step of an application.
pub(in crate::http) const CANDIDATE_STEP: Resource = naming_candidates(of_candidate_step);

const fn named_by(caller_roles: LoadCallerRoles) -> Resource {
    Resource { caller_roles: Some(caller_roles), names_candidate: false }
}

const fn naming_candidates(caller_roles: LoadCallerRoles) -> Resource {
    Resource { caller_roles: Some(caller_roles), names_candidate: true }
}

fn of_organization(tx: &Tx<'_>, who: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    OrganizationId::parse(id).map_or(Ok(None), |id| access::to_organization(tx, who, &id))
}

fn of_role(tx: &Tx<'_>, who: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    let Some(id) = RoleId::parse(id) else { return Ok(None) };
    Ok(access::to_role(tx, who, &id)?.map(|(_, standing)| standing))
}

fn of_candidate(tx: &Tx<'_>, who: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    let Some(id) = CandidateId::parse(id) else { return Ok(None) };
    Ok(access::to_candidate(tx, who, &id)?.map(|(_, standing)| standing))
}

fn of_application(tx: &Tx<'_>, who: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    let Some(id) = ApplicationId::parse(id) else { return Ok(None) };
    Ok(access::to_application(tx, who, &id)?.map(|(_, standing)| standing))
}

fn of_candidate_step(tx: &Tx<'_>, who: &Principal, id: &str) -> Result<Option<CallerRoles>, Error> {
    let Some(id) = CandidateStepId::parse(id) else { return Ok(None) };
    Ok(access::to_candidate_step(tx, who, &id)?.map(|(_, standing)| standing))
}
