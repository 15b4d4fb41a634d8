//! Who may enter a route.

use crate::domain::api_key::Scope;
use crate::domain::refusal::Refusal;
use crate::domain::user::{Admin, Auth, Principal};

/// Who may enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Anybody; no credential is looked at.
    Open,
    /// Any key or session.
    Signed,
    /// A session.
    Session,
    /// A key with the scope.
    Scoped(Scope),
    /// A key of a platform admin. One that was made with explicit scopes needs this one among them.
    Admin(Scope),
}

impl Entry {
    /// Whether the kind of the caller's credential counts here.
    ///
    /// # Errors
    /// `unauthorized` for a session where a key is asked for, and the other way round.
    pub(in crate::http) fn accept(self, who: &Principal) -> Result<(), Refusal> {
        let by_key = matches!(who.auth, Auth::ApiKey { .. });
        let counts = match self {
            Self::Open | Self::Signed => true,
            Self::Session => !by_key,
            Self::Scoped(_) | Self::Admin(_) => by_key,
        };
        if counts { Ok(()) } else { Err(Refusal::Unauthorized { sent: true }) }
    }

    /// Whether the caller may enter: both checks, where nothing has to be done between them.
    ///
    /// # Errors
    /// As [`Entry::accept`] and [`Entry::admit`].
    pub(in crate::http) fn check(self, who: &Principal) -> Result<(), Refusal> {
        self.accept(who)?;
        self.admit(who)
    }

    /// Whether a caller whose credential counts may enter.
    ///
    /// # Errors
    /// `insufficient_scope`, `forbidden`.
    pub(in crate::http) fn admit(self, who: &Principal) -> Result<(), Refusal> {
        match self {
            Self::Open | Self::Signed | Self::Session => Ok(()),
            Self::Scoped(scope) => who.require_scope(scope),
            Self::Admin(scope) => Admin::prove(who.clone(), scope).map(|_| ()),
        }
    }
}

/// The caller, seen in this very transaction, where they may enter.
pub(in crate::http) fn proven(who: Option<Principal>, entry: Entry) -> Result<Principal, Refusal> {
    let who = who.ok_or(Refusal::Unauthorized { sent: false })?;
    entry.check(&who)?;
    Ok(who)
}
