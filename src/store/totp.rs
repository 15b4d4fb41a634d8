//! The secrets that the service shares with authenticator apps. No export contains them.

use super::activity;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::id::UserId;
use crate::domain::timestamp::Timestamp;
use crate::domain::totp::{TotpCode, TotpSecret, TotpStep};
use crate::domain::user::Principal;

/// A confirmed secret, and the step of the last accepted code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totp {
    pub secret: TotpSecret,
    /// The time at which the user proved that the app has the secret.
    pub confirmed_at: Timestamp,
    pub last_step: TotpStep,
}

/// Finds the secret of a user's authenticator app.
pub fn find(tx: &Tx<'_>, user: &UserId) -> Result<Option<Totp>, Error> {
    let sql = "SELECT secret, confirmed_at, last_step
               FROM totp_secrets
               WHERE user_id = $1";
    tx.one(sql, [user.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(Totp {
            secret: TotpSecret::new(columns.read()?),
            confirmed_at: columns.time()?,
            last_step: TotpStep(columns.read()?),
        })
    })
}

/// Returns whether a user has an authenticator app.
pub fn exists(tx: &Tx<'_>, user: &UserId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM totp_secrets
               WHERE user_id = $1";
    tx.exists(sql, [user.as_str()])
}

/// Stores a secret that the caller has just confirmed with the code of this step, and records the act. Replaces an
/// earlier secret of the caller.
pub fn put(tx: &Tx<'_>, stamp: &Stamp, who: &Principal, secret: &TotpSecret, step: TotpStep) -> Result<(), Error> {
    let action = if exists(tx, &who.user_id)? { Action::TotpReplaced } else { Action::TotpAdded };
    let sql = "INSERT INTO totp_secrets (user_id, secret, confirmed_at, last_step)
               VALUES ($1, $2, $3, $4)
               ON CONFLICT (user_id) DO UPDATE
               SET secret = excluded.secret, confirmed_at = excluded.confirmed_at, last_step = excluded.last_step";
    tx.run(sql, (who.user_id.as_str(), secret.bytes().as_slice(), tx.now.micros(), step.0))?;
    activity::platform::record(tx, stamp, Some(who), action, &None::<()>, &None::<()>)
}

/// Returns whether [`spend`] would accept a code.
pub(super) fn accepts(tx: &Tx<'_>, user: &UserId, code: TotpCode) -> Result<bool, Error> {
    Ok(find(tx, user)?.is_some_and(|totp| totp.secret.accept(code, Some(totp.last_step), tx.now).is_some()))
}

/// Accepts a code of a user's authenticator app once. Returns false if the code is wrong, was accepted before or is
/// older than the last accepted code, or if the user has no app.
pub fn spend(tx: &Tx<'_>, user: &UserId, code: TotpCode) -> Result<bool, Error> {
    let Some(totp) = find(tx, user)? else { return Ok(false) };
    let Some(step) = totp.secret.accept(code, Some(totp.last_step), tx.now) else { return Ok(false) };
    let sql = "UPDATE totp_secrets
               SET last_step = $1
               WHERE user_id = $2 AND last_step < $1";
    Ok(tx.run(sql, (step.0, user.as_str()))? > 0)
}

/// Removes the caller's authenticator app and records the act. Returns false if the caller has none.
pub fn remove(tx: &Tx<'_>, stamp: &Stamp, who: &Principal) -> Result<bool, Error> {
    if !delete(tx, &who.user_id)? {
        return Ok(false);
    }
    activity::platform::record(tx, stamp, Some(who), Action::TotpRemoved, &None::<()>, &None::<()>)?;
    Ok(true)
}

/// Deletes the secret of a user. Returns false if the user has none.
pub(super) fn delete(tx: &Tx<'_>, user: &UserId) -> Result<bool, Error> {
    let sql = "DELETE FROM totp_secrets
               WHERE user_id = $1";
    Ok(tx.run(sql, [user.as_str()])? > 0)
}
