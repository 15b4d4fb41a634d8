//! The version of a role. Answers contain it as `ETag`, and requests that change the role or its steps can name it in
//! `If-Match`.

use hyper::header;

use super::find::find_to_manage;
use crate::domain::entity_tag::IfMatch;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::visible::ROLE_NOT_VISIBLE;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::role::Role;
use crate::store::{self, Error, Tx};

/// The role that a request changes, and the versions that the caller accepts.
pub(in crate::http::api) struct RoleTarget {
    id: RoleId,
    if_match: Option<IfMatch>,
}

impl RoleTarget {
    /// Decodes the target of a request. `body` is the result of decoding the body. The faults of the body and of
    /// `If-Match` are reported together.
    ///
    /// # Errors
    /// The errors of `body`; `validation_error` for a malformed `If-Match`; `not_found` if the path has no valid id.
    pub(in crate::http::api) fn decode<T>(request: &Request, body: Result<T, Refusal>) -> Result<(Self, T), Error> {
        let (body, if_match) = Refusal::both(body, request.if_match())?;
        Ok((Self { id: request.id_param("id", ROLE_NOT_VISIBLE)?, if_match }, body))
    }

    /// Finds the role, for a caller who may change it.
    ///
    /// # Errors
    /// The errors of [`find_to_manage`].
    pub(in crate::http::api) fn find(&self, tx: &Tx<'_>, caller: &Principal) -> Result<Role, Error> {
        find_to_manage(tx, caller, &self.id)
    }

    /// # Errors
    /// `precondition_failed` if `If-Match` does not name the role's version.
    pub(in crate::http::api) fn require_version(&self, tx: &Tx<'_>, role: &Role) -> Result<(), Error> {
        store::role::require_version(tx, role, self.if_match.as_ref())
    }

    /// Finds the role, and checks its version against `If-Match`.
    ///
    /// # Errors
    /// The errors of [`RoleTarget::find`] and [`RoleTarget::require_version`].
    pub(in crate::http::api) fn load(&self, tx: &Tx<'_>, caller: &Principal) -> Result<Role, Error> {
        let role = self.find(tx, caller)?;
        self.require_version(tx, &role)?;
        Ok(role)
    }
}

/// Adds the version of the role as `ETag`. The `ETag` identifies a version for `If-Match`; it does not describe the
/// whole answer, because applications and hires do not change it.
pub(in crate::http::api) fn tagged(
    reply: Reply,
    tx: &Tx<'_>,
    organization: &OrganizationId,
    role: &RoleId,
) -> Result<Reply, Error> {
    Ok(reply.with(header::ETAG, &entity_tag(tx, organization, role)?))
}

/// Returns the `ETag` of the role.
pub(super) fn entity_tag(tx: &Tx<'_>, organization: &OrganizationId, role: &RoleId) -> Result<String, Error> {
    Ok(format!("\"{}\"", store::role::version(tx, organization, role)?))
}
