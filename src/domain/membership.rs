//! Rules for the members of an organization: who may administer them, and which changes are refused.
//!
//! Nobody may act on a person above them, because a reset link for that person gives its holder that person's rights.
//! The last owner cannot be removed or demoted, so that somebody can always give rights to others.

use super::refusal::Refusal;
use super::user::{CallerRoles, OrgRole, PlatformRole};

const OWNER_ABOVE: Refusal = Refusal::Forbidden("only an owner or a platform admin may do this to an owner");

const PLATFORM_ADMIN_ABOVE: Refusal = Refusal::Forbidden("only a platform admin may do this to a platform admin");

/// The facts about a person that the rules need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberFacts {
    /// The person's organization role; `None` for a person who is not a member.
    pub org_role: Option<OrgRole>,
    pub platform_role: PlatformRole,
    /// Whether the person is the caller.
    pub is_self: bool,
    /// Whether the person is a member of another organization.
    pub is_member_elsewhere: bool,
    /// Whether another person is an owner of the organization.
    pub has_other_owner: bool,
}

/// Returns whether a caller with this organization role and this platform role may administer an organization: its
/// members and its settings.
pub fn may_administer(org_role: Option<OrgRole>, platform_role: PlatformRole) -> bool {
    platform_role == PlatformRole::Admin || matches!(org_role, Some(OrgRole::Owner | OrgRole::Admin))
}

/// Succeeds if the caller may administer the organization.
///
/// # Errors
/// `forbidden` for any other caller.
pub fn require_administrator(caller: CallerRoles) -> Result<(), Refusal> {
    if may_administer(caller.org_role, caller.platform_role) {
        Ok(())
    } else {
        Err(Refusal::Forbidden("only an owner or admin of the organization, or a platform admin, may do this"))
    }
}

/// Succeeds if the caller may give a person this organization role.
///
/// # Errors
/// `forbidden` if the caller does not administer the organization, or if the person or the organization role is above
/// the caller; `conflict` if no owner would remain.
pub fn require_assignable(caller: CallerRoles, member: MemberFacts, role: OrgRole) -> Result<(), Refusal> {
    require_not_above(caller, member)?;
    if rank(Some(role), PlatformRole::User) > rank(caller.org_role, caller.platform_role) {
        return Err(Refusal::Forbidden("only an owner or a platform admin may make somebody an owner"));
    }
    if role == OrgRole::Owner { Ok(()) } else { require_other_owner(member) }
}

/// Succeeds if the caller may remove a member from the organization.
///
/// # Errors
/// `forbidden` if the caller does not administer the organization, or if the person is above the caller; `conflict` if
/// no owner would remain.
pub fn require_removable(caller: CallerRoles, member: MemberFacts) -> Result<(), Refusal> {
    require_not_above(caller, member)?;
    require_other_owner(member)
}

/// Succeeds if the caller may make a link by which a person chooses a new password or adds a passkey. The holder of the
/// link gets all rights of the person, including those in other organizations.
///
/// # Errors
/// `forbidden` if the caller does not administer the organization, if the person is above the caller, or if the person
/// is a member of another organization and the caller is not a platform admin; `conflict` for the caller's own account.
pub fn require_resettable(caller: CallerRoles, member: MemberFacts) -> Result<(), Refusal> {
    require_not_above(caller, member)?;
    if member.is_self {
        return Err(Refusal::Conflict("you can change your own password on your account page"));
    }
    if member.is_member_elsewhere && caller.platform_role != PlatformRole::Admin {
        let why = "the person is a member of another organization too, so only a platform admin may make this link";
        return Err(Refusal::Forbidden(why));
    }
    Ok(())
}

fn require_not_above(caller: CallerRoles, member: MemberFacts) -> Result<(), Refusal> {
    require_administrator(caller)?;
    if !is_above(caller, member) {
        return Ok(());
    }
    Err(if member.platform_role == PlatformRole::Admin { PLATFORM_ADMIN_ABOVE } else { OWNER_ABOVE })
}

/// Returns whether a person is above the caller. A caller must not act on such a person.
pub fn is_above(caller: CallerRoles, member: MemberFacts) -> bool {
    rank(member.org_role, member.platform_role) > rank(caller.org_role, caller.platform_role)
}

fn require_other_owner(member: MemberFacts) -> Result<(), Refusal> {
    if member.org_role == Some(OrgRole::Owner) && !member.has_other_owner {
        return Err(Refusal::Conflict(
            "this is the last owner of the organization; make another member an owner first",
        ));
    }
    Ok(())
}

/// Returns the rank by which one person is above another: 3 for a platform admin, 2 for an owner, 1 for an admin of the
/// organization, and 0 for anybody else.
fn rank(org_role: Option<OrgRole>, platform_role: PlatformRole) -> u8 {
    match (platform_role, org_role) {
        (PlatformRole::Admin, _) => 3,
        (PlatformRole::User, Some(OrgRole::Owner)) => 2,
        (PlatformRole::User, Some(OrgRole::Admin)) => 1,
        (PlatformRole::User, _) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::OrgRole::{Admin, HrRepresentative, Member, Moderator, Owner};
    use super::*;

    const ROLES: [OrgRole; 5] = [Owner, Admin, Moderator, HrRepresentative, Member];

    fn caller(org_role: OrgRole) -> CallerRoles {
        CallerRoles { org_role: Some(org_role), platform_role: PlatformRole::User }
    }

    fn member(org_role: OrgRole) -> MemberFacts {
        MemberFacts {
            org_role: Some(org_role),
            platform_role: PlatformRole::User,
            is_self: false,
            is_member_elsewhere: false,
            has_other_owner: true,
        }
    }

    const PLATFORM_ADMIN: CallerRoles = CallerRoles { org_role: None, platform_role: PlatformRole::Admin };

    #[test]
    fn owners_admins_and_platform_admins_administer_an_organization() {
        for role in ROLES {
            let expected = matches!(role, Owner | Admin);
            assert_eq!(may_administer(Some(role), PlatformRole::User), expected, "{role:?}");
            assert_eq!(require_administrator(caller(role)).is_ok(), expected, "{role:?}");
            assert!(may_administer(Some(role), PlatformRole::Admin));
        }
        assert!(!may_administer(None, PlatformRole::User) && may_administer(None, PlatformRole::Admin));
    }

    #[test]
    fn nobody_acts_on_a_person_above_them() {
        for (acting, expected) in [(Owner, 5), (Admin, 4), (Moderator, 0), (HrRepresentative, 0), (Member, 0)] {
            let allowed = |act: &dyn Fn(MemberFacts) -> bool| ROLES.iter().filter(|role| act(member(**role))).count();
            let acting = caller(acting);
            assert_eq!(allowed(&|facts| require_assignable(acting, facts, Member).is_ok()), expected, "{acting:?}");
            assert_eq!(allowed(&|facts| require_removable(acting, facts).is_ok()), expected, "{acting:?}");
            assert_eq!(allowed(&|facts| require_resettable(acting, facts).is_ok()), expected, "{acting:?}");
            let platform_admin = MemberFacts { platform_role: PlatformRole::Admin, ..member(Member) };
            assert!(matches!(require_assignable(acting, platform_admin, Member), Err(Refusal::Forbidden(_))));
            assert!(matches!(require_resettable(acting, platform_admin), Err(Refusal::Forbidden(_))));
            assert!(require_removable(PLATFORM_ADMIN, platform_admin).is_ok());
        }
    }

    #[test]
    fn nobody_gives_an_organization_role_above_their_own() {
        for role in ROLES {
            assert!(require_assignable(caller(Owner), member(Member), role).is_ok(), "{role:?}");
            assert_eq!(require_assignable(caller(Admin), member(Member), role).is_ok(), role != Owner, "{role:?}");
            assert!(require_assignable(PLATFORM_ADMIN, member(Member), role).is_ok(), "{role:?}");
            let stranger = MemberFacts { org_role: None, ..member(Member) };
            assert_eq!(require_assignable(caller(Admin), stranger, role).is_ok(), role != Owner, "{role:?}");
        }
    }

    #[test]
    fn not_even_a_platform_admin_removes_or_demotes_the_last_owner() {
        let last = MemberFacts { has_other_owner: false, is_self: true, ..member(Owner) };
        for acting in [caller(Owner), PLATFORM_ADMIN] {
            assert!(matches!(require_removable(acting, last), Err(Refusal::Conflict(_))));
            assert!(matches!(require_assignable(acting, last, Admin), Err(Refusal::Conflict(_))));
            assert!(require_assignable(acting, last, Owner).is_ok());
            assert!(require_removable(acting, member(Owner)).is_ok());
            let other = MemberFacts { has_other_owner: false, ..member(Admin) };
            assert!(require_removable(acting, other).is_ok(), "an organization without owners");
        }
    }

    #[test]
    fn only_platform_admins_make_links_for_members_of_several_organizations_and_nobody_makes_their_own() {
        let elsewhere = MemberFacts { is_member_elsewhere: true, ..member(Member) };
        assert!(matches!(require_resettable(caller(Owner), elsewhere), Err(Refusal::Forbidden(_))));
        assert!(require_resettable(PLATFORM_ADMIN, elsewhere).is_ok());
        assert!(require_removable(caller(Owner), elsewhere).is_ok());
        let own = MemberFacts { is_self: true, ..member(Owner) };
        for acting in [caller(Owner), PLATFORM_ADMIN] {
            assert!(matches!(require_resettable(acting, own), Err(Refusal::Conflict(_))));
        }
    }
}
