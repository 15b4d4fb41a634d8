//! What a route is about, and whom it serves: said by the route, never read from the spelling of its path.

use crate::domain::user::{CallerRoles, Principal};
use crate::store::{Error, Tx};

/// Whom a route serves. That decides the form of its errors, and whether pages of other origins may call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Programs of this service's users and operators.
    Api,
    /// Programs of anybody, in pages of other origins too, errors included (WHATWG Fetch §3.3).
    Public,
    /// People: errors are pages.
    Page,
}

/// Reads what the caller is to the thing of this id. `None` where the caller may not see it.
pub(in crate::http) type StandingOf = fn(&Tx<'_>, &Principal, &str) -> Result<Option<CallerRoles>, Error>;

/// What a route is about: the thing that its path parameter `id` names.
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    /// What a caller has to manage to be given a stored response; `None` where only platform admins enter, who see everything.
    pub(in crate::http) standing: Option<StandingOf>,
    /// Whether responses name a candidate. They are erased with the candidate, and a repeat is answered 410 then.
    pub names_candidate: bool,
}

impl Resource {
    /// The platform: for platform admins alone.
    pub(in crate::http) const PLATFORM: Self = Self { standing: None, names_candidate: false };
}

/// Whether a route heeds an `Idempotency-Key`.
#[derive(Debug, Clone, Copy)]
pub enum Idempotency {
    /// No.
    None,
    /// Yes: a repeat needs the authority that this resource asks for.
    ByKey(Resource),
}
