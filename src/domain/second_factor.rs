//! Second factors: who must have one, when one can be removed, and how recently a user must have confirmed their
//! identity.
//!
//! A second factor is an authenticator app ([`super::totp`]) or a passkey. A recovery code replaces a lost factor once,
//! but is not a factor. A user without a factor has no recovery codes.

use std::time::Duration;

use super::recovery_code::RecoveryCode;
use super::refusal::Refusal;
use super::timestamp::Timestamp;
use super::totp::TotpCode;
use super::user::{OrgRole, PlatformRole};

/// The maximum age of the confirmation that a dangerous act requires.
pub const CONFIRMED_FOR: Duration = Duration::from_secs(10 * 60);

/// The time within which a sign-in with the correct password must be completed with the second factor.
pub const PENDING_SIGN_IN_FOR: Duration = Duration::from_secs(5 * 60);

/// The second factors of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Factors {
    /// Whether the user has an authenticator app.
    pub has_totp: bool,
    /// The number of the user's passkeys.
    pub passkeys: usize,
}

impl Factors {
    /// Returns whether the user has no second factor.
    pub fn is_empty(self) -> bool {
        self.count() == 0
    }

    /// Succeeds if the user can remove one of their factors.
    ///
    /// # Errors
    /// `conflict` for the last factor of a user who must have one. The user must add another factor first, or replace
    /// the authenticator app with a new one.
    pub fn require_removable(self, is_required: bool) -> Result<(), Refusal> {
        if is_required && self.count() == 1 {
            return Err(Refusal::Conflict(
                "your account needs a second factor, so the last one cannot be removed; add another one first",
            ));
        }
        Ok(())
    }

    fn count(self) -> usize {
        usize::from(self.has_totp) + self.passkeys
    }
}

/// The facts of a membership that determine whether its user must have a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactorMembership {
    pub org_role: OrgRole,
    /// Whether the organization requires a second factor of all its members.
    pub organization_requires: bool,
}

/// Returns whether a user must have a second factor. These users must have one: platform admins, owners and admins of
/// an organization, and members of an organization that requires a second factor. A demonstration requires none,
/// because anybody with the link may enter.
pub fn is_required(platform_role: PlatformRole, memberships: &[FactorMembership], is_demo: bool) -> bool {
    let requires = |membership: &FactorMembership| {
        membership.organization_requires || matches!(membership.org_role, OrgRole::Owner | OrgRole::Admin)
    };
    !is_demo && (platform_role == PlatformRole::Admin || memberships.iter().any(requires))
}

/// A code that a user enters as their second factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactorCode {
    /// A code from an authenticator app.
    Totp(TotpCode),
    /// A recovery code.
    Recovery(RecoveryCode),
}

impl FactorCode {
    /// Parses a code. The two kinds have different lengths, so one field is enough for both.
    pub fn parse(text: &str) -> Option<Self> {
        TotpCode::parse(text).map(Self::Totp).or_else(|| RecoveryCode::parse(text).map(Self::Recovery))
    }
}

/// The step that a user must take before a dangerous act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepUp {
    /// Nothing: the user has recently confirmed their identity.
    Confirmed,
    /// Enter a code, or use a passkey.
    Factor,
    /// Enter the password, because the user has no second factor and needs none.
    Password,
    /// Set up the second factor that the user must have.
    SetUp,
}

/// Returns the step that a user must take before a dangerous act. `confirmed_at` is the time at which the user last
/// confirmed their identity in this session, with a factor or, if they have none, with the password. A sign-in is a
/// confirmation.
pub fn step_up(factors: Factors, is_required: bool, confirmed_at: Timestamp, now: Timestamp) -> StepUp {
    match (factors.is_empty(), is_required) {
        (true, true) => StepUp::SetUp,
        _ if now.since(confirmed_at) < CONFIRMED_FOR => StepUp::Confirmed,
        (true, false) => StepUp::Password,
        (false, _) => StepUp::Factor,
    }
}

/// Returns the step that a user must take before they set up, replace or remove a factor. Unlike [`step_up`], this
/// function lets a user who must have a factor set up their first one.
pub fn step_up_for_factors(factors: Factors, confirmed_at: Timestamp, now: Timestamp) -> StepUp {
    step_up(factors, false, confirmed_at, now)
}

#[cfg(test)]
mod tests {
    use super::super::totp::TotpSecret;
    use super::*;

    const NONE: Factors = Factors { has_totp: false, passkeys: 0 };
    const APP: Factors = Factors { has_totp: true, passkeys: 0 };
    const PASSKEY: Factors = Factors { has_totp: false, passkeys: 1 };

    #[test]
    fn admins_owners_and_members_of_organizations_that_require_a_factor_must_have_one_except_in_a_demo() {
        let of = |org_role, organization_requires| FactorMembership { org_role, organization_requires };
        for (platform_role, memberships, expected) in [
            (PlatformRole::User, vec![], false),
            (PlatformRole::User, vec![of(OrgRole::Member, false), of(OrgRole::HrRepresentative, false)], false),
            (PlatformRole::User, vec![of(OrgRole::Moderator, false)], false),
            (PlatformRole::User, vec![of(OrgRole::Owner, false)], true),
            (PlatformRole::User, vec![of(OrgRole::Member, false), of(OrgRole::Admin, false)], true),
            (PlatformRole::User, vec![of(OrgRole::Member, false), of(OrgRole::Member, true)], true),
            (PlatformRole::Admin, vec![], true),
        ] {
            assert_eq!(is_required(platform_role, &memberships, false), expected, "{platform_role:?} {memberships:?}");
            assert!(!is_required(platform_role, &memberships, true));
        }
    }

    #[test]
    fn the_last_factor_can_be_removed_only_by_users_who_need_none() {
        let two = Factors { has_totp: false, passkeys: 2 };
        let both = Factors { has_totp: true, passkeys: 1 };
        for (factors, if_required) in [(APP, false), (PASSKEY, false), (two, true), (both, true)] {
            assert_eq!(factors.require_removable(true).is_ok(), if_required, "{factors:?}");
            assert!(factors.require_removable(false).is_ok());
        }
    }

    #[test]
    fn a_dangerous_act_requires_a_confirmation_less_than_ten_minutes_old() {
        let confirmed_at = Timestamp::from_micros(5);
        let at = |seconds| confirmed_at.plus(Duration::from_secs(seconds));
        for (factors, is_required, seconds, expected) in [
            (APP, true, 599, StepUp::Confirmed),
            (APP, true, 600, StepUp::Factor),
            (PASSKEY, false, 600, StepUp::Factor),
            (NONE, false, 599, StepUp::Confirmed),
            (NONE, false, 600, StepUp::Password),
            (NONE, true, 0, StepUp::SetUp),
        ] {
            assert_eq!(step_up(factors, is_required, confirmed_at, at(seconds)), expected, "{factors:?} {seconds}");
        }
        assert_eq!(step_up_for_factors(NONE, confirmed_at, at(0)), StepUp::Confirmed);
        assert_eq!(step_up_for_factors(NONE, confirmed_at, at(600)), StepUp::Password);
        assert_eq!(step_up_for_factors(APP, confirmed_at, at(600)), StepUp::Factor);
    }

    #[test]
    fn one_field_takes_both_kinds_of_codes() {
        let shown = TotpSecret::new([1; 20]).shown_at(Timestamp::from_micros(0));
        assert!(matches!(FactorCode::parse(&shown), Some(FactorCode::Totp(_))));
        let recovery = RecoveryCode::new(&[1; 10]);
        assert_eq!(FactorCode::parse(&recovery.text()), Some(FactorCode::Recovery(recovery)));
        for text in ["", "12345", "1234567", "no code"] {
            assert_eq!(FactorCode::parse(text), None, "{text}");
        }
    }
}
