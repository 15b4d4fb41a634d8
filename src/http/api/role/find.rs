//! Finds a role for a caller who may see or manage it.

use crate::domain::id::RoleId;
use crate::domain::user::Principal;
use crate::http::api::visible::{self, ROLE_NOT_VISIBLE};
use crate::store::role::Role;
use crate::store::{self, Error, Tx};

/// # Errors
/// `not_found` if the role does not exist or the caller may not see it.
pub(super) fn find(tx: &Tx<'_>, caller: &Principal, id: &RoleId) -> Result<Role, Error> {
    let (organization, _) = visible::role(tx, caller, id)?;
    Ok(store::role::find(tx, &organization, id)?.ok_or(ROLE_NOT_VISIBLE)?)
}

/// # Errors
/// The errors of [`find`]; `forbidden` for a plain member of the organization.
pub(in crate::http) fn find_to_manage(tx: &Tx<'_>, caller: &Principal, id: &RoleId) -> Result<Role, Error> {
    let (organization, roles) = visible::role(tx, caller, id)?;
    roles.require_manager()?;
    Ok(store::role::find(tx, &organization, id)?.ok_or(ROLE_NOT_VISIBLE)?)
}
