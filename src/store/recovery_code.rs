//! Recovery codes. The database contains only the digests of unused codes, and no export contains them.

use serde::Serialize;

use super::activity;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::id::UserId;
use crate::domain::recovery_code::RecoveryCode;
use crate::domain::user::Principal;

/// Replaces all recovery codes of the caller and records the act.
pub fn replace(tx: &Tx<'_>, stamp: &Stamp, who: &Principal, codes: &[RecoveryCode]) -> Result<(), Error> {
    delete_all(tx, &who.user_id)?;
    let sql = "INSERT INTO recovery_codes (user_id, digest)
               VALUES ($1, $2)";
    for code in codes {
        tx.run(sql, (who.user_id.as_str(), code.digest().as_slice()))?;
    }
    activity::platform::record(tx, stamp, Some(who), Action::RecoveryCodesReplaced, &None::<()>, &None::<()>)
}

/// Returns whether a user has this unused code.
pub(super) fn exists(tx: &Tx<'_>, user: &UserId, code: &RecoveryCode) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM recovery_codes
               WHERE user_id = $1 AND digest = $2";
    tx.exists(sql, (user.as_str(), code.digest().as_slice()))
}

/// Accepts a recovery code once. Returns false if the user has no such code.
pub fn spend(tx: &Tx<'_>, user: &UserId, code: &RecoveryCode) -> Result<bool, Error> {
    let sql = "DELETE FROM recovery_codes
               WHERE user_id = $1 AND digest = $2";
    Ok(tx.run(sql, (user.as_str(), code.digest().as_slice()))? > 0)
}

/// Records that the caller used a recovery code, and the number of codes that are left.
pub fn record_use(tx: &Tx<'_>, stamp: &Stamp, who: &Principal) -> Result<(), Error> {
    #[derive(Serialize)]
    struct CodesLeft {
        left: i64,
    }
    let left = CodesLeft { left: count(tx, &who.user_id)? };
    activity::platform::record(tx, stamp, Some(who), Action::RecoveryCodeUsed, &None::<()>, &left)
}

/// Returns the number of unused codes of a user.
pub fn count(tx: &Tx<'_>, user: &UserId) -> Result<i64, Error> {
    let sql = "SELECT count(*)
               FROM recovery_codes
               WHERE user_id = $1";
    Ok(tx.value(sql, [user.as_str()])?.unwrap_or_default())
}

/// Deletes all recovery codes of a user.
pub(super) fn delete_all(tx: &Tx<'_>, user: &UserId) -> Result<(), Error> {
    let sql = "DELETE FROM recovery_codes
               WHERE user_id = $1";
    tx.run(sql, [user.as_str()])?;
    Ok(())
}
