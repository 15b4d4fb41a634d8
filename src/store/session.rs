//! Sessions of signed-in browsers, by the digest of the cookie's value.

use super::{activity, user};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::id::UserId;
use crate::domain::session;
use crate::domain::user::{Auth, PlatformRole, Principal};

/// Who calls with the session of this digest; `None` where there is none, or it has ended.
///
/// # Errors
/// When SQLite fails.
pub fn principal(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Option<Principal>, Error> {
    let sql = "SELECT s.created_at, s.last_seen_at, u.id, u.email, u.platform_role
               FROM sessions s
               JOIN users u ON u.id = s.user_id
               WHERE s.digest = $1 AND u.enabled = 1";
    let found = tx.one(sql, [digest.as_slice()], |row| {
        let alive = session::is_alive(tx::time(row, 0)?, tx::time(row, 1)?, tx.now);
        let principal = Principal {
            user_id: user::id(&row.get::<_, String>(2)?)?,
            email: row.get(3)?,
            platform_role: tx::word(&row.get::<_, String>(4)?, PlatformRole::parse)?,
            auth: Auth::Session { digest: *digest },
        };
        Ok(alive.then_some(principal))
    })?;
    Ok(found.flatten())
}

/// Puts on record that a user signed in.
///
/// # Errors
/// When SQLite fails.
pub fn record(tx: &Tx<'_>, stamp: &Stamp, who: &Principal) -> Result<(), Error> {
    activity::platform::record(tx, stamp, Some(who), Action::SignedIn, &None::<()>, &None::<()>)
}

/// Whether the session of this digest has ended by the clock, and is still there.
///
/// # Errors
/// When SQLite fails.
pub fn has_ended(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM sessions
               WHERE digest = $1 AND (created_at <= $2 OR last_seen_at <= $3)";
    let (made, seen) = (tx.now.minus(session::TOTAL_MAX), tx.now.minus(session::IDLE_MAX));
    tx.exists(sql, (digest.as_slice(), made.micros(), seen.micros()))
}

/// The same of any session.
pub(crate) fn any_has_ended(tx: &Tx<'_>) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM sessions
               WHERE created_at <= $1 OR last_seen_at <= $2";
    tx.exists(sql, (tx.now.minus(session::TOTAL_MAX).micros(), tx.now.minus(session::IDLE_MAX).micros()))
}

/// Clears away sessions that have ended, so that they stay so where the clock goes back: the one of this digest, or all.
///
/// # Errors
/// When SQLite fails.
pub fn delete_ended(tx: &Tx<'_>, digest: Option<&[u8; 32]>) -> Result<(), Error> {
    let sql = "DELETE FROM sessions
               WHERE (created_at <= $1 OR last_seen_at <= $2) AND ($3 IS NULL OR digest = $3)";
    let (made, seen) = (tx.now.minus(session::TOTAL_MAX), tx.now.minus(session::IDLE_MAX));
    tx.run(sql, (made.micros(), seen.micros(), digest.map(<[u8; 32]>::as_slice)))?;
    Ok(())
}

/// Begins a session (`POST /api/auth/sign-in`), and clears away the ones that have ended.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, digest: &[u8; 32], user: &UserId) -> Result<(), Error> {
    delete_ended(tx, None)?;
    let sql = "INSERT INTO sessions (digest, user_id, created_at, last_seen_at)
               VALUES ($1, $2, $3, $3)";
    tx.run(sql, (digest.as_slice(), user.as_str(), tx.now.micros()))?;
    Ok(())
}

/// Notes that the session was used now; false where it is gone: signed out, or swept away. One that only ran out of
/// time and is still there counts as used, so whoever calls this has asked for its [`principal`] before.
///
/// # Errors
/// When SQLite fails.
pub fn touch(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "UPDATE sessions
               SET last_seen_at = CASE WHEN last_seen_at < $1 THEN $1 ELSE last_seen_at END
               WHERE digest = $2";
    Ok(tx.run(sql, (tx.now.micros(), digest.as_slice()))? > 0)
}

/// Ends a session (`POST /api/auth/sign-out`).
///
/// # Errors
/// When SQLite fails.
pub fn delete(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<(), Error> {
    let sql = "DELETE FROM sessions
               WHERE digest = $1";
    tx.run(sql, [digest.as_slice()])?;
    Ok(())
}
