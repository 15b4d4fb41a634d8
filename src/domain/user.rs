//! Users: their platform role, their organization roles, and the resulting rights.

use std::time::Duration;

use super::api_key::{Grant, Scope};
use super::id::{ApiKeyId, UserId};
use super::refusal::Refusal;
use super::text::Email;
use super::timestamp::Timestamp;
use super::words::words;

words! {
    /// A user's platform role: the user's rights in the whole service.
    PlatformRole {
        /// A user who sees the organizations that they are a member of.
        User = "user",
        /// A user who sees and manages every organization.
        Admin = "admin",
    }
}

words! {
    /// A user's organization role: the user's rights in one organization.
    OrgRole {
        /// A member who manages roles, candidates, members and settings, and may erase candidates.
        Owner = "owner",
        /// A member who has the rights of an owner, but cannot change or remove an owner, make a reset link for an
        /// owner, or make somebody an owner.
        Admin = "admin",
        /// A member who manages roles and candidates.
        Moderator = "moderator",
        /// A member who has the same rights as a moderator.
        HrRepresentative = "hr_representative",
        /// A member who may only read roles and candidates.
        Member = "member",
    }
}

/// The credential of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// An API key.
    ApiKey {
        /// The key's public id.
        id: ApiKeyId,
        /// The key's number in the database, under which the usage log records it.
        number: i64,
        /// The scopes of the key. Scopes restrict the user's rights and never extend them.
        grant: Grant,
    },
    /// The cookie of a signed-in browser.
    Session {
        /// The SHA-256 of the cookie's value.
        digest: [u8; 32],
    },
}

/// The user that a request acts as. Each request has the user's current rights, so a demotion affects the user's keys
/// immediately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The user that the credential belongs to.
    pub user_id: UserId,
    /// The user's address in its original spelling.
    pub email: String,
    /// The user's platform role.
    pub platform_role: PlatformRole,
    /// The credential that identified the user.
    pub auth: Auth,
}

impl Principal {
    /// Succeeds if the caller uses a key that has the scope.
    ///
    /// # Errors
    /// `insufficient_scope` if the key lacks the scope; [`Refusal::KeyRequired`] for a session, which has no scopes and
    /// is not accepted where an endpoint requires a key.
    pub fn require_scope(&self, scope: Scope) -> Result<(), Refusal> {
        match &self.auth {
            Auth::ApiKey { grant, .. } if grant.scopes.contains(&scope) => Ok(()),
            Auth::ApiKey { .. } => Err(Refusal::InsufficientScope(scope)),
            Auth::Session { .. } => Err(Refusal::KeyRequired),
        }
    }

    /// Returns the scopes of the caller's key, or refuses a session.
    fn grant(&self) -> Result<&Grant, Refusal> {
        match &self.auth {
            Auth::ApiKey { grant, .. } => Ok(grant),
            Auth::Session { .. } => Err(Refusal::KeyRequired),
        }
    }

    /// Returns whether the user is a platform admin.
    pub fn is_admin(&self) -> bool {
        self.platform_role == PlatformRole::Admin
    }

    /// Returns the id of the caller's key, if the credential is a key.
    pub fn api_key_id(&self) -> Option<&ApiKeyId> {
        match &self.auth {
            Auth::ApiKey { id, .. } => Some(id),
            Auth::Session { .. } => None,
        }
    }
}

/// The proof that the caller is a platform admin. Functions that only an admin may call require this proof as an
/// argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin(Principal);

impl Admin {
    /// Creates the proof for an endpoint that requires `admin:read` or `admin:write`.
    ///
    /// # Errors
    /// `forbidden` if the user is not an admin; `insufficient_scope` if the key has explicit scopes that do not include
    /// this scope; `unauthorized` for a session.
    pub fn verify(principal: Principal, scope: Scope) -> Result<Self, Refusal> {
        if !principal.is_admin() {
            return Err(Refusal::Forbidden("only an admin may do this"));
        }
        principal.grant()?.require_admin_scope(scope)?;
        Ok(Self(principal))
    }

    /// Succeeds if the new key is no broader than the caller's key.
    ///
    /// # Errors
    /// `forbidden` for a broader key.
    pub fn require_not_broader(&self, new: &Grant) -> Result<(), Refusal> {
        self.0.grant()?.require_not_broader(new)
    }

    /// Returns the principal of the admin.
    pub fn principal(&self) -> &Principal {
        &self.0
    }
}

/// The data of a user that admins can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserProfile {
    /// The user's id, which never changes.
    pub id: UserId,
    /// The address for sign-ins.
    pub email: Email,
    /// The user's name.
    pub name: String,
    /// The user's platform role.
    pub platform_role: PlatformRole,
    /// Whether the user is enabled. A disabled user cannot sign in, and their keys and sessions are refused.
    pub enabled: bool,
}

impl UserProfile {
    fn is_enabled_admin(&self) -> bool {
        self.enabled && self.platform_role == PlatformRole::Admin
    }
}

/// The consequences of a change to a user.
#[derive(Debug, PartialEq, Eq)]
pub struct UserChange {
    /// The changed fields among `email` and `name`. The activity contains the names of these fields, never their
    /// values.
    pub changed_fields: Vec<&'static str>,
    /// Whether the user's sessions end. They end if the user is disabled, or if the new address differs in more than
    /// letter case, because somebody else might read the old mailbox.
    pub ends_sessions: bool,
}

/// Plans a change to a user. `has_other_admin` states whether another enabled admin exists. Without an enabled admin,
/// nobody could undo the change over the network.
///
/// # Errors
/// `conflict` for a change that disables or demotes the last enabled admin.
pub fn plan_change(before: &UserProfile, after: &UserProfile, has_other_admin: bool) -> Result<UserChange, Refusal> {
    if before.is_enabled_admin() && !after.is_enabled_admin() && !has_other_admin {
        return Err(Refusal::Conflict(
            "this is the last enabled admin, who can be neither disabled nor demoted; make another user an admin first",
        ));
    }
    let differs = [("email", before.email.as_str() != after.email.as_str()), ("name", before.name != after.name)];
    Ok(UserChange {
        changed_fields: differs.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect(),
        ends_sessions: !after.enabled || before.email.key() != after.email.key(),
    })
}

/// Returns the time of a new membership: now, or just after the user's newest membership. The oldest membership of a
/// user is found by its time, so no two memberships of a user may have the same time.
pub fn membership_since(newest: Option<Timestamp>, now: Timestamp) -> Timestamp {
    newest.map_or(now, |newest| now.max(newest.plus(Duration::from_micros(1))))
}

/// The organization role and the platform role of a caller who may see an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerRoles {
    /// The organization role, or `None` for a platform admin without a membership.
    pub org_role: Option<OrgRole>,
    /// The platform role.
    pub platform_role: PlatformRole,
}

impl CallerRoles {
    /// Succeeds if the caller may manage the organization's roles and candidates. Platform admins, and all members
    /// except plain members, may do so.
    ///
    /// # Errors
    /// `forbidden` for a plain member.
    pub fn require_manager(self) -> Result<(), Refusal> {
        if may_manage(self.org_role, self.platform_role) {
            Ok(())
        } else {
            Err(Refusal::Forbidden(
                "your organization role lets you read the organization's roles and candidates, but not change them",
            ))
        }
    }

    /// Succeeds if the caller may erase candidates and change legal holds: an owner or admin of the organization, or a
    /// platform admin.
    ///
    /// # Errors
    /// `forbidden` for any other caller.
    pub fn require_eraser(self) -> Result<(), Refusal> {
        if may_erase(self.org_role, self.platform_role) {
            Ok(())
        } else {
            Err(Refusal::Forbidden(
                "only an owner or admin of the organization, or a platform admin, may hold, release or erase a candidate",
            ))
        }
    }
}

/// Returns whether a caller with these roles may manage an organization's roles, candidates and steps. Platform admins,
/// and all members except plain members, may do so.
pub fn may_manage(org_role: Option<OrgRole>, platform_role: PlatformRole) -> bool {
    platform_role == PlatformRole::Admin || !matches!(org_role, None | Some(OrgRole::Member))
}

/// Returns whether a caller with these roles may erase a candidate or change a legal hold.
pub fn may_erase(org_role: Option<OrgRole>, platform_role: PlatformRole) -> bool {
    platform_role == PlatformRole::Admin || matches!(org_role, Some(OrgRole::Owner | OrgRole::Admin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Id;

    fn profile(platform_role: PlatformRole, enabled: bool) -> UserProfile {
        let email = Email::parse("ada@example.org").unwrap();
        UserProfile { id: UserId::parse("user_1").unwrap(), email, name: "Ada".to_owned(), platform_role, enabled }
    }

    #[test]
    fn the_last_enabled_admin_cannot_be_disabled_or_demoted() {
        let (admin, off) = (profile(PlatformRole::Admin, true), profile(PlatformRole::Admin, false));
        let (user, user_off) = (profile(PlatformRole::User, true), profile(PlatformRole::User, false));
        for after in [&off, &user, &user_off] {
            assert!(matches!(plan_change(&admin, after, false), Err(Refusal::Conflict(_))));
            assert!(plan_change(&admin, after, true).is_ok());
            for before in [&off, &user, &user_off] {
                assert!(
                    plan_change(before, after, false).is_ok(),
                    "a user who is not an enabled admin cannot be the last enabled admin"
                );
            }
        }
        assert!(plan_change(&admin, &admin, false).is_ok() && plan_change(&off, &admin, false).is_ok());
    }

    #[test]
    fn sessions_end_when_the_user_is_disabled_or_gets_another_address() {
        let before = profile(PlatformRole::User, true);
        let email = |text| UserProfile { email: Email::parse(text).unwrap(), ..before.clone() };
        for (after, changed_fields, ends_sessions) in [
            (before.clone(), &[][..], false),
            (UserProfile { name: "Ada L.".to_owned(), ..before.clone() }, &["name"], false),
            (UserProfile { platform_role: PlatformRole::Admin, ..before.clone() }, &[], false),
            (UserProfile { enabled: false, ..before.clone() }, &[], true),
            (email("ADA@example.org"), &["email"], false),
            (email("ada@example.net"), &["email"], true),
        ] {
            let expected = UserChange { changed_fields: changed_fields.to_vec(), ends_sessions };
            assert_eq!(plan_change(&before, &after, false), Ok(expected), "{after:?}");
        }
    }

    #[test]
    fn memberships_of_a_user_have_different_times() {
        let at = Timestamp::from_micros;
        for (newest, expected) in [(None, 5), (Some(4), 5), (Some(5), 6), (Some(9), 10)] {
            assert_eq!(membership_since(newest.map(at), at(5)), at(expected), "{newest:?}");
        }
    }

    #[test]
    fn all_except_plain_members_may_manage_and_platform_admins_may_manage_everywhere() {
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
