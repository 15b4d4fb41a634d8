//! Checks that a caller has the credential and the authority that a route requires.

use super::ctx::Ctx;
use crate::domain::api_key::Scope;
use crate::domain::refusal::Refusal;
use crate::domain::user::{Admin, Auth, Principal};
use crate::store::{self, Error, Tx};

/// The credential and authority that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessRule {
    /// No credential is required, and the gate verifies none.
    Open,
    /// Any API key or session.
    Authenticated,
    Session,
    /// A session, for a page of the staff console. A browser without one is sent to the sign-in page.
    Staff,
    /// An API key with this scope.
    Scoped(Scope),
    /// An API key of a platform admin. If the key was created with explicit scopes, this scope must be among them.
    Admin(Scope),
}

impl AccessRule {
    /// Checks that the route accepts this kind of credential.
    ///
    /// # Errors
    /// [`Refusal::KeyRequired`] for a session if a key is required, and `unauthorized` for a key if a session is
    /// required.
    pub(super) fn check_credential_kind(self, who: &Principal) -> Result<(), Refusal> {
        match (&who.auth, self) {
            (Auth::Session { .. }, Self::Scoped(_) | Self::Admin(_)) => Err(Refusal::KeyRequired),
            (Auth::ApiKey { .. }, Self::Session | Self::Staff) => Err(Refusal::Unauthorized { sent: true }),
            _ => Ok(()),
        }
    }

    /// Returns whether the route refuses every session.
    pub(super) fn requires_key(self) -> bool {
        matches!(self, Self::Scoped(_) | Self::Admin(_))
    }

    /// Checks the kind of the credential and the caller's authority.
    ///
    /// # Errors
    /// `unauthorized`, `insufficient_scope`, `forbidden`.
    pub(in crate::http) fn check(self, who: &Principal) -> Result<(), Refusal> {
        self.check_credential_kind(who)?;
        self.check_authority(who)
    }

    /// Checks the authority of a caller whose kind of credential is accepted.
    ///
    /// # Errors
    /// `insufficient_scope`, `forbidden`.
    pub(super) fn check_authority(self, who: &Principal) -> Result<(), Refusal> {
        match self {
            Self::Open | Self::Authenticated | Self::Session | Self::Staff => Ok(()),
            Self::Scoped(scope) => who.require_scope(scope),
            Self::Admin(scope) => Admin::verify(who.clone(), scope).map(|_| ()),
        }
    }
}

/// Returns `who`, the principal that this transaction has verified, if the access rule accepts the principal.
///
/// # Errors
/// `unauthorized`, `insufficient_scope`, `forbidden`.
pub(super) fn authorize(who: Option<Principal>, access: AccessRule) -> Result<Principal, Refusal> {
    let who = who.ok_or(Refusal::Unauthorized { sent: false })?;
    access.check(&who)?;
    Ok(who)
}

/// Succeeds unless the user has no second factor although their platform role, one of their organization roles or one
/// of their organizations requires one. Always succeeds in a demo.
///
/// # Errors
/// [`Refusal::SecondFactorMissing`] if the user lacks a required second factor; or an error of the database.
pub(in crate::http) fn require_second_factor(ctx: &Ctx, tx: &Tx<'_>, who: &Principal) -> Result<(), Error> {
    let is_demo = !ctx.settings.requires_second_factors;
    let is_missing = !is_demo
        && store::second_factor::factors(tx, &who.user_id)?.is_empty()
        && store::second_factor::is_required(tx, &who.user_id, who.platform_role, is_demo)?;
    if is_missing { Err(Refusal::SecondFactorMissing.into()) } else { Ok(()) }
}
