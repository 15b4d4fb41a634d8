//! A request about one role of an organization, and the role for a caller who may see or change it.

use crate::domain::id::RoleId;
use crate::domain::user::Principal;
use crate::http::pages::console::visit::{self, ABSENT, Visit};
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::role::Role;
use crate::store::{self, Error, Tx};

/// A request about one role of an organization.
pub(in crate::http::pages::console) struct RoleVisit {
    pub(in crate::http::pages::console) visit: Visit,
    role_id: RoleId,
}

impl RoleVisit {
    /// # Errors
    /// `not_found` if the path has no valid id; `validation_error` if `lang` or `locale` is repeated.
    pub(in crate::http::pages::console) fn decode(request: &Request) -> Result<Self, Error> {
        Ok(Self { visit: Visit::decode(request)?, role_id: visit::id(request, "id")? })
    }

    /// Returns the organization and the role that the path names.
    ///
    /// # Errors
    /// `not_found` if one of them does not exist or the caller may not see it.
    pub(in crate::http::pages::console) fn find(
        &self,
        tx: &Tx<'_>,
        who: &Principal,
    ) -> Result<(VisibleOrganization, Role), Error> {
        let organization = self.visit.organization(tx, who)?;
        let role = store::role::find(tx, &organization.id, &self.role_id)?.ok_or(ABSENT)?;
        Ok((organization, role))
    }

    /// Does the same as [`Self::find`] for a caller who may change the role.
    ///
    /// # Errors
    /// The errors of [`Self::find`]; `forbidden` for a plain member.
    pub(in crate::http::pages::console) fn find_to_manage(
        &self,
        tx: &Tx<'_>,
        who: &Principal,
    ) -> Result<(VisibleOrganization, Role), Error> {
        let (organization, role) = self.find(tx, who)?;
        organization.caller.require_manager()?;
        Ok((organization, role))
    }
}

/// Returns the path of a role's pages in the console.
pub(in crate::http::pages::console) fn path(organization: &VisibleOrganization, role: &RoleId) -> String {
    format!("/app/{}/roles/{role}", organization.slug)
}
