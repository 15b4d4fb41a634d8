//! Sessions of signed-in browsers. The database stores only the digest of each cookie.

use super::activity;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::id::{Id, SessionId, UserId};
use crate::domain::session::{self, EndedBounds, TOUCH_INTERVAL};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{Auth, PlatformRole, Principal};

/// Returns the principal of the session with this digest. Returns `None` if the session does not exist or has ended, or
/// if its user is disabled.
pub fn principal(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Option<Principal>, Error> {
    let sql = "SELECT s.created_at, s.last_seen_at, u.id, u.email, u.platform_role
               FROM sessions s
               JOIN users u ON u.id = s.user_id
               WHERE s.digest = $1 AND u.enabled = 1";
    let found = tx.one(sql, [digest.as_slice()], |row| {
        let mut columns = Columns::of(row);
        let is_alive = session::is_alive(columns.time()?, columns.time()?, tx.now);
        let principal = Principal {
            user_id: columns.parse(UserId::parse)?,
            email: columns.read()?,
            platform_role: columns.parse(PlatformRole::parse)?,
            auth: Auth::Session { digest: *digest },
        };
        Ok(is_alive.then_some(principal))
    })?;
    Ok(found.flatten())
}

/// Records that a user signed in.
pub fn record_sign_in(tx: &Tx<'_>, stamp: &Stamp, who: &Principal) -> Result<(), Error> {
    activity::platform::record(tx, stamp, Some(who), Action::SignedIn, &None::<()>, &None::<()>)
}

/// Returns whether the session with this digest has ended but is not deleted yet.
pub fn has_ended(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM sessions
               WHERE digest = $1 AND (created_at <= $2 OR last_seen_at <= $3)";
    let bounds = EndedBounds::at(tx.now);
    tx.exists(sql, (digest.as_slice(), bounds.created_at.micros(), bounds.last_seen_at.micros()))
}

/// Returns whether any session has ended but is not deleted yet.
pub(crate) fn any_has_ended(tx: &Tx<'_>) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM sessions
               WHERE created_at <= $1 OR last_seen_at <= $2";
    let bounds = EndedBounds::at(tx.now);
    tx.exists(sql, (bounds.created_at.micros(), bounds.last_seen_at.micros()))
}

/// Deletes the session with this digest if it has ended. Without a digest, deletes all ended sessions. A deleted
/// session cannot become valid again if the clock steps back.
pub fn delete_ended(tx: &Tx<'_>, digest: Option<&[u8; 32]>) -> Result<(), Error> {
    let sql = "DELETE FROM sessions
               WHERE (created_at <= $1 OR last_seen_at <= $2) AND (digest = $3 OR $3 IS NULL)";
    let bounds = EndedBounds::at(tx.now);
    let (created_at, last_seen_at) = (bounds.created_at.micros(), bounds.last_seen_at.micros());
    tx.run(sql, (created_at, last_seen_at, digest.map(<[u8; 32]>::as_slice)))?;
    Ok(())
}

/// A session to be started.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub digest: [u8; 32],
    pub id: SessionId,
    pub user_id: UserId,
    /// The network address of the browser.
    pub address: String,
    /// The `User-Agent` of the browser.
    pub user_agent: String,
}

/// Starts a session, and deletes all ended sessions. Call this function only after the user has entered everything that
/// a sign-in requires, because the new session counts as confirmed.
pub fn insert(tx: &Tx<'_>, new: &NewSession) -> Result<(), Error> {
    delete_ended(tx, None)?;
    let sql = "INSERT INTO sessions (digest, id, user_id, address, user_agent, created_at, last_seen_at, confirmed_at)
               VALUES ($1, $2, $3, $4, $5, $6, $6, $6)";
    let NewSession { digest, id, user_id, address, user_agent } = new;
    tx.run(sql, (digest.as_slice(), id.as_str(), user_id.as_str(), address, user_agent, tx.now.micros()))?;
    record_user_seen(tx, digest)
}

/// Updates the user's `last_seen_at`, which outlives the session.
fn record_user_seen(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<(), Error> {
    let sql = "UPDATE users
               SET last_seen_at = $1
               WHERE id = (SELECT user_id FROM sessions WHERE digest = $2)";
    tx.run(sql, (tx.now.micros(), digest.as_slice()))?;
    Ok(())
}

/// A session as its user sees it.
#[derive(Debug, Clone)]
pub struct OwnSession {
    pub id: SessionId,
    pub address: String,
    pub user_agent: String,
    pub created_at: Timestamp,
    pub last_seen_at: Timestamp,
    /// Whether the request for the list was made in this session.
    pub is_current: bool,
}

/// Returns the sessions of a user that have not ended, the most recently used first. `current` is the digest of the
/// request's session.
pub fn of_user(tx: &Tx<'_>, user: &UserId, current: &[u8; 32]) -> Result<Vec<OwnSession>, Error> {
    let sql = "SELECT id, address, user_agent, created_at, last_seen_at, digest = $1
               FROM sessions
               WHERE user_id = $2 AND created_at > $3 AND last_seen_at > $4
               ORDER BY last_seen_at DESC, id";
    let bounds = EndedBounds::at(tx.now);
    let (created_at, last_seen_at) = (bounds.created_at.micros(), bounds.last_seen_at.micros());
    tx.all(sql, (current.as_slice(), user.as_str(), created_at, last_seen_at), |row| {
        let mut columns = Columns::of(row);
        Ok(OwnSession {
            id: columns.parse(SessionId::parse)?,
            address: columns.read()?,
            user_agent: columns.read()?,
            created_at: columns.time()?,
            last_seen_at: columns.time()?,
            is_current: columns.read()?,
        })
    })
}

/// Ends one session of a user. Returns false if the user has no such session.
pub fn end(tx: &Tx<'_>, user: &UserId, session: &SessionId) -> Result<bool, Error> {
    let sql = "DELETE FROM sessions
               WHERE user_id = $1 AND id = $2";
    Ok(tx.run(sql, (user.as_str(), session.as_str()))? > 0)
}

/// Ends all sessions of a user except the one with this digest.
pub fn end_others(tx: &Tx<'_>, user: &UserId, current: &[u8; 32]) -> Result<(), Error> {
    let sql = "DELETE FROM sessions
               WHERE user_id = $1 AND digest <> $2";
    tx.run(sql, (user.as_str(), current.as_slice()))?;
    Ok(())
}

/// Ends all sessions of a user.
pub fn end_all(tx: &Tx<'_>, user: &UserId) -> Result<(), Error> {
    let sql = "DELETE FROM sessions
               WHERE user_id = $1";
    tx.run(sql, [user.as_str()])?;
    Ok(())
}

/// Returns whether [`touch`] must be called: either the last recorded use is at least [`TOUCH_INTERVAL`] old, or the
/// session was deleted.
pub fn touch_is_due(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM sessions
               WHERE digest = $1 AND last_seen_at > $2";
    Ok(!tx.exists(sql, (digest.as_slice(), tx.now.minus(TOUCH_INTERVAL).micros()))?)
}

/// Records that the session is being used. Returns false if the session was deleted. Does not check whether the session
/// has ended. Load its [`principal`] before calling this function.
pub fn touch(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "UPDATE sessions
               SET last_seen_at = CASE WHEN last_seen_at < $1 THEN $1 ELSE last_seen_at END
               WHERE digest = $2";
    let exists = tx.run(sql, (tx.now.micros(), digest.as_slice()))? > 0;
    record_user_seen(tx, digest)?;
    Ok(exists)
}

/// Returns when the session was last confirmed, or `None` if the session does not exist.
pub fn confirmed_at(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Option<Timestamp>, Error> {
    let sql = "SELECT confirmed_at
               FROM sessions
               WHERE digest = $1";
    let found: Option<i64> = tx.value(sql, [digest.as_slice()])?;
    Ok(found.map(Timestamp::from_micros))
}

/// Records that the session was just confirmed with a second factor or, if the user has none, with the password.
pub fn confirm(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<(), Error> {
    let sql = "UPDATE sessions
               SET confirmed_at = $1
               WHERE digest = $2";
    tx.run(sql, (tx.now.micros(), digest.as_slice()))?;
    Ok(())
}

/// Ends the session with this digest, when its user signs out.
pub fn delete(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<(), Error> {
    let sql = "DELETE FROM sessions
               WHERE digest = $1";
    tx.run(sql, [digest.as_slice()])?;
    Ok(())
}
