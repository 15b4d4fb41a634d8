//! People of staff: what they are on the platform and in an organization, and what that lets them do.

use super::api_key::{Grant, Scope};
use super::id::{ApiKeyId, UserId};
use super::refusal::Refusal;
use super::words::words;

words! {
    /// What a user is on the whole appliance.
    PlatformRole {
        /// Sees what their memberships show.
        User = "user",
        /// Sees and manages every organization.
        Admin = "admin",
    }
}

words! {
    /// What a user is in one organization.
    OrgRole {
        /// Owns the organization.
        Owner = "owner",
        /// Administers it.
        Admin = "admin",
        /// Moderates its pipelines.
        Moderator = "moderator",
        /// Works its pipelines.
        HrRepresentative = "hr_representative",
        /// Sees its pipelines.
        Member = "member",
    }
}

/// How a caller proved who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// By an API key.
    ApiKey {
        /// The key's id.
        id: ApiKeyId,
        /// The key's number in the file, by which its usage is logged.
        number: i64,
        /// What the key may be used for. Narrows what the user may do, never widens it.
        grant: Grant,
    },
    /// By the cookie of a signed-in browser, here as its digest.
    Session {
        /// SHA-256 of the cookie's value.
        digest: [u8; 32],
    },
}

/// Who calls. Read from the file at each request, so a demoted user's key is demoted at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The user.
    pub user_id: UserId,
    /// The user's address, as it was given.
    pub email: String,
    /// What the user is on the platform.
    pub platform_role: PlatformRole,
    /// How they proved it.
    pub auth: Auth,
}

impl Principal {
    /// Passes when the key has the scope.
    ///
    /// # Errors
    /// `insufficient_scope` without it; `unauthorized` for a session, which has no scopes and does not count where a
    /// key is asked for.
    pub fn require_scope(&self, scope: Scope) -> Result<(), Refusal> {
        match &self.auth {
            Auth::ApiKey { grant, .. } if grant.scopes.contains(&scope) => Ok(()),
            Auth::ApiKey { .. } => Err(Refusal::InsufficientScope(scope)),
            Auth::Session { .. } => Err(Refusal::Unauthorized { sent: true }),
        }
    }

    /// The scopes of the key that calls.
    fn grant(&self) -> Result<&Grant, Refusal> {
        match &self.auth {
            Auth::ApiKey { grant, .. } => Ok(grant),
            Auth::Session { .. } => Err(Refusal::Unauthorized { sent: true }),
        }
    }

    /// Whether this is a platform admin.
    pub fn is_admin(&self) -> bool {
        self.platform_role == PlatformRole::Admin
    }

    /// The id of the key, where it is a key that calls.
    pub fn api_key_id(&self) -> Option<&ApiKeyId> {
        match &self.auth {
            Auth::ApiKey { id, .. } => Some(id),
            Auth::Session { .. } => None,
        }
    }
}

/// The proof that the caller is a platform admin. What takes one cannot be reached by anybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin(Principal);

impl Admin {
    /// The proof for this caller, at an endpoint that asks for `admin:read` or `admin:write`.
    ///
    /// # Errors
    /// `forbidden` where the user is no admin; `insufficient_scope` where the key was made with explicit scopes and
    /// without this one; `unauthorized` for a session.
    pub fn prove(principal: Principal, scope: Scope) -> Result<Self, Refusal> {
        if !principal.is_admin() {
            return Err(Refusal::Forbidden("only an admin may do this"));
        }
        principal.grant()?.require_admin_scope(scope)?;
        Ok(Self(principal))
    }

    /// Passes for a new key that is no broader than the key that makes it.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn require_no_broader(&self, new: &Grant) -> Result<(), Refusal> {
        self.0.grant()?.require_no_broader(new)
    }

    /// The admin as a caller.
    pub fn principal(&self) -> &Principal {
        &self.0
    }
}

/// How far a user reaches: all the way where they are an admin who is not disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountState {
    /// What they are on the platform.
    pub platform_role: PlatformRole,
    /// Whether they are not disabled.
    pub enabled: bool,
}

impl AccountState {
    fn is_admin(self) -> bool {
        self.enabled && self.platform_role == PlatformRole::Admin
    }
}

/// Passes for a change of a user that leaves somebody who is an admin and not disabled, this user or `another`: nobody
/// else could undo it over the network.
///
/// # Errors
/// `conflict`.
pub fn require_admin_remains(before: AccountState, after: AccountState, another: bool) -> Result<(), Refusal> {
    if before.is_admin() && !after.is_admin() && !another {
        return Err(Refusal::Conflict(
            "this is the last admin who is enabled, so they can neither be disabled nor demoted; make another one first",
        ));
    }
    Ok(())
}

/// What a caller is to an organization that they may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerRoles {
    /// What they are in it; nothing for a platform admin who is no member.
    pub org_role: Option<OrgRole>,
    /// What they are on the platform.
    pub platform_role: PlatformRole,
}

impl CallerRoles {
    /// Passes for whoever may manage the organization's roles and candidates: everyone but a plain member.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn require_manager(self) -> Result<(), Refusal> {
        if may_manage(self.org_role, self.platform_role) {
            Ok(())
        } else {
            Err(Refusal::Forbidden("your role in the organization may only look at its roles and candidates"))
        }
    }

    /// Passes for whoever answers for the organization's personal data: owners and admins.
    ///
    /// # Errors
    /// `forbidden`.
    pub fn require_eraser(self) -> Result<(), Refusal> {
        if may_erase(self.org_role, self.platform_role) {
            Ok(())
        } else {
            Err(Refusal::Forbidden("only an owner or admin of the organization may hold, release or erase a candidate"))
        }
    }
}

/// Whether someone with this role in the organization may manage its roles, its candidates and their steps: everyone but
/// a plain member.
pub fn may_manage(org_role: Option<OrgRole>, platform_role: PlatformRole) -> bool {
    platform_role == PlatformRole::Admin || !matches!(org_role, None | Some(OrgRole::Member))
}

/// Whether someone with this role in the organization may erase a candidate, or keep one from being erased.
pub fn may_erase(org_role: Option<OrgRole>, platform_role: PlatformRole) -> bool {
    platform_role == PlatformRole::Admin || matches!(org_role, Some(OrgRole::Owner | OrgRole::Admin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_enabled_admin_stays_one() {
        let reach = |platform_role, enabled| AccountState { platform_role, enabled };
        let (admin, off) = (reach(PlatformRole::Admin, true), reach(PlatformRole::Admin, false));
        let (user, user_off) = (reach(PlatformRole::User, true), reach(PlatformRole::User, false));
        for after in [off, user, user_off] {
            assert!(matches!(require_admin_remains(admin, after, false), Err(Refusal::Conflict(_))));
            assert!(require_admin_remains(admin, after, true).is_ok());
            for before in [off, user, user_off] {
                assert!(require_admin_remains(before, after, false).is_ok(), "who is none cannot be the last");
            }
        }
        assert!(require_admin_remains(admin, admin, false).is_ok() && require_admin_remains(off, admin, false).is_ok());
    }

    #[test]
    fn all_but_plain_members_manage_and_admins_do_everywhere() {
        for word in OrgRole::WORDS {
            let role = OrgRole::parse(word);
            assert_eq!(may_manage(role, PlatformRole::User), *word != "member", "{word}");
            assert_eq!(may_erase(role, PlatformRole::User), matches!(*word, "owner" | "admin"), "{word}");
            assert!(may_manage(role, PlatformRole::Admin) && may_erase(role, PlatformRole::Admin));
        }
        assert!(!may_manage(None, PlatformRole::User) && !may_erase(None, PlatformRole::User));
        assert!(may_manage(None, PlatformRole::Admin) && may_erase(None, PlatformRole::Admin));
    }
}
