//! The resource, audience and idempotency of a route: typed properties that are never derived from the spelling of its
//! path.

use crate::domain::user::{CallerRoles, Principal};
use crate::store::{Error, Tx};

/// The audience of a route. It determines the form of errors, and whether pages from other origins may call the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Programs, such as those of users and operators, feed readers and search engines.
    Api,
    /// Any program, including scripts on pages from other origins, which may also read errors (WHATWG Fetch §3.3).
    Public,
    /// People who use a browser. Errors are pages.
    Page,
    /// Signed-in staff. Errors are pages, and a request without a session leads to the sign-in page.
    Staff,
}

/// A function that loads the caller's organization role and platform role for the resource with this id. It returns
/// `None` if the caller may not see the resource.
pub(in crate::http) type LoadCallerRoles = fn(&Tx<'_>, &Principal, &str) -> Result<Option<CallerRoles>, Error>;

/// The resource of a route: the object that the path parameter `id` names, or the whole platform.
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    /// The function that loads the caller's organization role and platform role, which determine whether the caller may
    /// get a stored response. `None` for routes of platform admins, who see everything.
    pub(in crate::http) caller_roles: Option<LoadCallerRoles>,
    /// Whether responses name a candidate. If so, stored responses are erased with the candidate, and a later repeat
    /// gets a 410.
    pub names_candidate: bool,
}

impl Resource {
    /// The whole platform, for platform admins only.
    pub(super) const PLATFORM: Self = Self { caller_roles: None, names_candidate: false };
}

/// Whether a route honours an `Idempotency-Key`.
#[derive(Debug, Clone, Copy)]
pub enum Idempotency {
    /// The route ignores the header.
    None,
    /// The route honours the header. A repeat requires authority over this resource.
    ByKey(Resource),
}
