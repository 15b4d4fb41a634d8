//! Passkeys of users, and the challenges of the registrations, sign-ins and step-ups in progress. No export contains
//! passkeys or challenges.

mod challenge;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use self::challenge::{issue as issue_challenge, spend as spend_challenge};
use super::activity;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::id::{Id, PasskeyId, UserId};
use crate::domain::passkey::{
    Assertion, PASSKEYS_MAX, PasskeyAlgorithm, PasskeyFault, PasskeyKey, RelyingParty, VerifiedKey,
};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;

/// A passkey, as its user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    pub id: PasskeyId,
    pub credential_id: Vec<u8>,
    pub name: String,
    pub created_at: Timestamp,
    /// `None` until the passkey is first used, for a sign-in or a step-up.
    pub last_used_at: Option<Timestamp>,
}

/// A passkey, with its user and the key that verifies assertions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPasskey {
    pub id: PasskeyId,
    pub user_id: UserId,
    pub verified: VerifiedKey,
}

/// A refused assertion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPasskey {
    pub fault: PasskeyFault,
    /// The user of the passkey; `None` if the fault is [`PasskeyFault::UnknownPasskey`].
    pub user_id: Option<UserId>,
}

/// Adds a verified passkey to the caller's account and records the act.
///
/// # Errors
/// `conflict` if a passkey with this credential id exists, or if the caller has the maximum number of passkeys.
pub fn add(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    passkey: &Passkey,
    verified: &VerifiedKey,
) -> Result<(), Error> {
    if count(tx, &who.user_id)? >= PASSKEYS_MAX {
        return Err(
            Refusal::Conflict("an account can have at most 20 passkeys; remove one that you no longer use").into()
        );
    }
    let sql = "INSERT INTO passkeys (id, user_id, credential_id, algorithm, spki, counter, name, created_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
               ON CONFLICT (credential_id) DO NOTHING";
    let (id, user, credential_id) = (passkey.id.as_str(), who.user_id.as_str(), passkey.credential_id.as_slice());
    let (algorithm, spki) = (verified.key.algorithm().as_str(), verified.key.spki());
    let created_at = passkey.created_at.micros();
    let params = (id, user, credential_id, algorithm, spki, verified.counter, &passkey.name, created_at);
    if tx.run(sql, params)? == 0 {
        return Err(Refusal::Conflict("this passkey is registered already").into());
    }
    activity::platform::record(tx, stamp, Some(who), Action::PasskeyAdded, &None::<()>, &detail(&passkey.id))
}

/// Returns the passkeys of a user, oldest first.
pub fn of_user(tx: &Tx<'_>, user: &UserId) -> Result<Vec<Passkey>, Error> {
    let sql = "SELECT id, credential_id, name, created_at, last_used_at
               FROM passkeys
               WHERE user_id = $1
               ORDER BY created_at, id";
    tx.all(sql, [user.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(Passkey {
            id: columns.parse(PasskeyId::parse)?,
            credential_id: columns.read()?,
            name: columns.read()?,
            created_at: columns.time()?,
            last_used_at: columns.time_or_none()?,
        })
    })
}

/// Returns the number of a user's passkeys.
pub fn count(tx: &Tx<'_>, user: &UserId) -> Result<usize, Error> {
    let sql = "SELECT count(*)
               FROM passkeys
               WHERE user_id = $1";
    let count: Option<i64> = tx.value(sql, [user.as_str()])?;
    Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
}

/// Returns whether any user has a passkey with this credential id.
pub fn exists(tx: &Tx<'_>, credential_id: &[u8]) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM passkeys
               WHERE credential_id = $1";
    tx.exists(sql, [credential_id])
}

/// Finds the passkey with this credential id, if its user is enabled.
fn find(tx: &Tx<'_>, credential_id: &[u8]) -> Result<Option<StoredPasskey>, Error> {
    let sql = "SELECT p.id, p.user_id, p.algorithm, p.spki, p.counter
               FROM passkeys p
               JOIN users u ON u.id = p.user_id
               WHERE p.credential_id = $1 AND u.enabled = 1";
    tx.one(sql, [credential_id], |row| {
        let mut columns = Columns::of(row);
        let (id, user_id) = (columns.parse(PasskeyId::parse)?, columns.parse(UserId::parse)?);
        let algorithm = columns.parse(PasskeyAlgorithm::parse)?;
        let spki: Vec<u8> = columns.read()?;
        let key = PasskeyKey::parse(algorithm, &spki)
            .ok_or_else(|| Error::Defect(format!("the key of the passkey {id} is not valid")))?;
        Ok(StoredPasskey { id, user_id, verified: VerifiedKey { key, counter: columns.read()? } })
    })
}

/// Verifies an assertion by the passkey with this credential id. If the assertion is accepted, records that the passkey
/// was used. With `user`, only a passkey of this user is accepted. If the assertion is refused because it might come
/// from a copy of an authenticator, records the refusal as platform activity.
pub fn accept(
    tx: &Tx<'_>,
    stamp: &Stamp,
    party: &RelyingParty,
    credential_id: &[u8],
    user: Option<&UserId>,
    assertion: &Assertion<'_>,
) -> Result<Result<StoredPasskey, RefusedPasskey>, Error> {
    let found = find(tx, credential_id)?;
    let Some(stored) = found.filter(|stored| user.is_none_or(|user| *user == stored.user_id)) else {
        return Ok(Err(RefusedPasskey { fault: PasskeyFault::UnknownPasskey, user_id: None }));
    };
    match assertion.verify(party, &stored.user_id, &stored.verified) {
        Ok(counter) => {
            record_use(tx, &stored.id, counter)?;
            Ok(Ok(stored))
        }
        Err(fault) => {
            if fault == PasskeyFault::Cloned {
                let detail = json!({ "passkeyId": stored.id.as_str(), "userId": stored.user_id.as_str() });
                activity::platform::record(tx, stamp, None, Action::PasskeyCloneRefused, &None::<()>, &detail)?;
            }
            Ok(Err(RefusedPasskey { fault, user_id: Some(stored.user_id) }))
        }
    }
}

/// Records that a passkey was used, with its new counter.
fn record_use(tx: &Tx<'_>, passkey: &PasskeyId, counter: u32) -> Result<(), Error> {
    let sql = "UPDATE passkeys
               SET counter = $1, last_used_at = $2
               WHERE id = $3";
    tx.run(sql, (counter, tx.now.micros(), passkey.as_str()))?;
    Ok(())
}

/// Removes a passkey of the caller and records the act. Returns false if the caller has no such passkey. Does not check
/// whether the caller must have a second factor.
pub fn remove(tx: &Tx<'_>, stamp: &Stamp, who: &Principal, passkey: &PasskeyId) -> Result<bool, Error> {
    let sql = "DELETE FROM passkeys
               WHERE id = $1 AND user_id = $2";
    if tx.run(sql, (passkey.as_str(), who.user_id.as_str()))? == 0 {
        return Ok(false);
    }
    activity::platform::record(tx, stamp, Some(who), Action::PasskeyRemoved, &None::<()>, &detail(passkey))?;
    Ok(true)
}

/// Deletes all passkeys of a user, and all challenges that were issued to the user.
pub(super) fn delete_all(tx: &Tx<'_>, user: &UserId) -> Result<(), Error> {
    let sql = "DELETE FROM passkey_challenges
               WHERE user_id = $1";
    tx.run(sql, [user.as_str()])?;
    let sql = "DELETE FROM passkeys
               WHERE user_id = $1";
    tx.run(sql, [user.as_str()])?;
    Ok(())
}

/// Returns the detail of a passkey in platform activity. The detail must not contain the passkey's name.
fn detail(passkey: &PasskeyId) -> Value {
    json!({ "passkeyId": passkey.as_str() })
}
