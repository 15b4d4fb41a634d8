//! The second factors of a user, of all kinds together. Each kind has its own module ([`super::totp`],
//! [`super::passkey`]).

use super::{activity, passkey, recovery_code, totp};
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::id::UserId;
use crate::domain::second_factor::{self, FactorCode, FactorMembership, Factors};
use crate::domain::user::{OrgRole, PlatformRole, Principal};

/// Returns the second factors of a user.
pub fn factors(tx: &Tx<'_>, user: &UserId) -> Result<Factors, Error> {
    Ok(Factors { has_totp: totp::exists(tx, user)?, passkeys: passkey::count(tx, user)? })
}

/// Returns whether a user's platform role, one of the user's organization roles, or one of the user's organizations
/// requires a second factor.
pub fn is_required(tx: &Tx<'_>, user: &UserId, platform_role: PlatformRole, is_demo: bool) -> Result<bool, Error> {
    let sql = "SELECT m.org_role, o.require_second_factor
               FROM memberships m
               JOIN organizations o ON o.id = m.organization_id
               WHERE m.user_id = $1";
    let memberships = tx.all(sql, [user.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(FactorMembership { org_role: columns.parse(OrgRole::parse)?, organization_requires: columns.read()? })
    })?;
    Ok(second_factor::is_required(platform_role, &memberships, is_demo))
}

/// Returns whether [`spend`] would accept a code.
pub fn accepts(tx: &Tx<'_>, user: &UserId, code: &FactorCode) -> Result<bool, Error> {
    match code {
        FactorCode::Totp(code) => totp::accepts(tx, user, *code),
        FactorCode::Recovery(code) => recovery_code::exists(tx, user, code),
    }
}

/// Accepts a code once: a code from the authenticator app, or a recovery code. Returns false if the code is wrong, was
/// accepted before, or is older than the last accepted code of the app.
pub fn spend(tx: &Tx<'_>, user: &UserId, code: &FactorCode) -> Result<bool, Error> {
    match code {
        FactorCode::Totp(code) => totp::spend(tx, user, *code),
        FactorCode::Recovery(code) => recovery_code::spend(tx, user, code),
    }
}

/// Records that the caller used a recovery code. The use of an app is not recorded, because it is the usual way to sign
/// in.
pub fn record_use(tx: &Tx<'_>, stamp: &Stamp, who: &Principal, code: &FactorCode) -> Result<(), Error> {
    match code {
        FactorCode::Totp(_) => Ok(()),
        FactorCode::Recovery(_) => recovery_code::record_use(tx, stamp, who),
    }
}

/// Deletes the recovery codes of a user if the user has no second factor left, because the codes then have no factor to
/// replace.
pub fn delete_codes_without_factor(tx: &Tx<'_>, user: &UserId) -> Result<(), Error> {
    if factors(tx, user)?.is_empty() { recovery_code::delete_all(tx, user) } else { Ok(()) }
}

/// Deletes all second factors and recovery codes of the caller, who lost them, and records the act.
pub fn reset(tx: &Tx<'_>, stamp: &Stamp, who: &Principal) -> Result<(), Error> {
    delete_all(tx, &who.user_id)?;
    activity::platform::record(tx, stamp, Some(who), Action::SecondFactorsReset, &None::<()>, &None::<()>)
}

/// Deletes all second factors and recovery codes of a user.
pub fn delete_all(tx: &Tx<'_>, user: &UserId) -> Result<(), Error> {
    totp::delete(tx, user)?;
    passkey::delete_all(tx, user)?;
    recovery_code::delete_all(tx, user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::connection::Connection;
    use crate::db::tx;
    use crate::domain::recovery_code::RecoveryCode;
    use crate::domain::totp::TotpSecret;
    use crate::store::tests::two_users::{at, file, person, stamp};

    fn act<T>(connection: &Connection, seconds: u64, work: impl Fn(&Tx<'_>) -> Result<T, Error>) -> T {
        tx::act(connection, at(seconds), work).unwrap()
    }

    fn shown(secret: &TotpSecret, seconds: u64) -> FactorCode {
        FactorCode::parse(&secret.shown_at(at(seconds))).unwrap()
    }

    #[test]
    fn each_code_of_an_app_is_accepted_once_and_only_for_its_user() {
        let (file, ada, secret) = (file(), person("ada"), TotpSecret::new([7; 20]));
        let FactorCode::Totp(code) = shown(&secret, 0) else { panic!("the code of an app") };
        let step = secret.accept(code, None, at(0)).unwrap();
        act(&file, 0, |tx| totp::put(tx, &stamp(1), &ada, &secret, step));
        let accepts = |user: &Principal, seconds, code| act(&file, seconds, |tx| spend(tx, &user.user_id, &code));
        assert!(!accepts(&ada, 1, shown(&secret, 0)), "the code that confirmed the secret");
        assert!(!accepts(&person("bob"), 30, shown(&secret, 30)));
        assert!(accepts(&ada, 30, shown(&secret, 30)));
        assert!(!accepts(&ada, 31, shown(&secret, 30)), "a replay");
        assert!(!accepts(&ada, 31, shown(&secret, 0)), "an earlier code");
        assert!(accepts(&ada, 31, shown(&secret, 60)), "the next code, from a phone whose clock is fast");
        let other = TotpSecret::new([8; 20]);
        let FactorCode::Totp(code) = shown(&other, 90) else { panic!("the code of an app") };
        let step = other.accept(code, None, at(90)).unwrap();
        act(&file, 90, |tx| totp::put(tx, &stamp(2), &ada, &other, step));
        assert!(!accepts(&ada, 120, shown(&secret, 120)), "the replaced secret");
        assert!(accepts(&ada, 120, shown(&other, 120)));
    }

    #[test]
    fn each_recovery_code_is_accepted_once_and_only_for_its_user() {
        let (file, ada) = (file(), person("ada"));
        let codes = |first: u8| -> Vec<_> { (first..first + 3).map(|byte| RecoveryCode::new(&[byte; 10])).collect() };
        act(&file, 0, |tx| recovery_code::replace(tx, &stamp(1), &ada, &codes(0)));
        let accepts = |user: &Principal, code: &RecoveryCode| {
            act(&file, 0, |tx| spend(tx, &user.user_id, &FactorCode::Recovery(code.clone())))
        };
        let left = || act(&file, 0, |tx| recovery_code::count(tx, &ada.user_id));
        assert!(!accepts(&person("bob"), &codes(0)[0]) && accepts(&ada, &codes(0)[0]) && !accepts(&ada, &codes(0)[0]));
        assert_eq!(left(), 2);
        act(&file, 0, |tx| recovery_code::replace(tx, &stamp(2), &ada, &codes(10)));
        assert!(!accepts(&ada, &codes(0)[1]) && accepts(&ada, &codes(10)[1]));
        assert_eq!(left(), 2);
    }

    #[test]
    fn deleting_all_factors_of_a_user_also_deletes_the_recovery_codes_but_nothing_of_another_user() {
        let (file, secret) = (file(), TotpSecret::new([7; 20]));
        let FactorCode::Totp(code) = shown(&secret, 0) else { panic!("the code of an app") };
        let step = secret.accept(code, None, at(0)).unwrap();
        for (number, user) in [(1, person("ada")), (3, person("bob"))] {
            act(&file, 0, |tx| totp::put(tx, &stamp(number), &user, &secret, step));
            let codes = [RecoveryCode::new(&[1; 10])];
            act(&file, 0, |tx| recovery_code::replace(tx, &stamp(number + 1), &user, &codes));
        }
        act(&file, 0, |tx| delete_all(tx, &person("ada").user_id));
        for (user, has_factors) in [(person("ada"), false), (person("bob"), true)] {
            let factors = act(&file, 0, |tx| factors(tx, &user.user_id));
            let codes = act(&file, 0, |tx| recovery_code::count(tx, &user.user_id));
            assert_eq!((factors.has_totp, codes), (has_factors, i64::from(has_factors)), "{user:?}");
        }
    }
}
