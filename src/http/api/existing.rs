//! Checks that the organization or user in the path of an admin endpoint exists. Admins see everything, so `not_found`
//! means that the organization or the user does not exist.

use crate::domain::id::{OrganizationId, UserId};
use crate::domain::refusal::Refusal;
use crate::store::{self, Error, Tx};

pub(in crate::http) const ORGANIZATION_ABSENT: Refusal = Refusal::NotFound("there is no such organization");
pub(in crate::http) const USER_ABSENT: Refusal = Refusal::NotFound("there is no such user");

/// # Errors
/// `not_found` if the organization does not exist.
pub(in crate::http) fn require_organization(tx: &Tx<'_>, id: &OrganizationId) -> Result<(), Error> {
    if store::organization::exists(tx, id)? { Ok(()) } else { Err(ORGANIZATION_ABSENT.into()) }
}

/// # Errors
/// `not_found` if the user does not exist.
pub(in crate::http) fn require_user(tx: &Tx<'_>, id: &UserId) -> Result<(), Error> {
    if store::user::exists(tx, id)? { Ok(()) } else { Err(USER_ABSENT.into()) }
}
