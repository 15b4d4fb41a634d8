//! People of staff: what they are on the platform and in an organization, and what that lets them do.

use super::api_key::Scope;
use super::id::{ApiKeyId, UserId};
use super::refusal::Refusal;
use super::words::words;

/// The shortest password, in characters.
pub const PASSWORD_CHARACTERS_MIN: usize = 12;

/// The longest password, in characters: hashing a longer one would only cost time.
pub const PASSWORD_CHARACTERS_MAX: usize = 1_000;

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
        scopes: Vec<Scope>,
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
            Auth::ApiKey { scopes, .. } if scopes.contains(&scope) => Ok(()),
            Auth::ApiKey { .. } => Err(Refusal::InsufficientScope(scope)),
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
    /// The proof for this caller.
    ///
    /// # Errors
    /// `forbidden` where the user is no admin.
    pub fn prove(principal: Principal) -> Result<Self, Refusal> {
        if principal.is_admin() { Ok(Self(principal)) } else { Err(Refusal::Forbidden("only an admin may do this")) }
    }

    /// The admin as a caller.
    pub fn principal(&self) -> &Principal {
        &self.0
    }
}

/// Whether someone with this role in the organization may manage its candidates' steps: everyone but a plain member.
pub fn may_manage_steps(org_role: Option<OrgRole>, platform_role: PlatformRole) -> bool {
    platform_role == PlatformRole::Admin || !matches!(org_role, None | Some(OrgRole::Member))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_plain_members_manage_steps_and_admins_do_everywhere() {
        for word in OrgRole::WORDS {
            let role = OrgRole::parse(word);
            assert_eq!(may_manage_steps(role, PlatformRole::User), *word != "member", "{word}");
            assert!(may_manage_steps(role, PlatformRole::Admin));
        }
        assert!(!may_manage_steps(None, PlatformRole::User));
        assert!(may_manage_steps(None, PlatformRole::Admin));
    }
}
