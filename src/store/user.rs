//! Users: profiles, sign-in accounts, passwords and preferences.

use serde::Serialize;

use super::{activity, sign_in_link};
use crate::db::row::{Columns, Row};
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::id::{Id, UserId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{PlatformRole, Principal, UserChange, UserProfile, plan_change};

/// The data that a sign-in checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInAccount {
    pub id: UserId,
    /// `None` if the user has no password.
    pub password_hash: Option<String>,
}

/// A user, with the times at which the record was created and last changed.
#[derive(Debug, Clone)]
pub struct User {
    pub profile: UserProfile,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Finds the account of the enabled user with this address.
pub fn sign_in_account(tx: &Tx<'_>, email: &Email) -> Result<Option<SignInAccount>, Error> {
    let sql = "SELECT id, password_hash
               FROM users
               WHERE email_key = $1 AND enabled = 1";
    tx.one(sql, [email.key()], |row| {
        let mut columns = Columns::of(row);
        Ok(SignInAccount { id: columns.parse(UserId::parse)?, password_hash: columns.read()? })
    })
}

pub fn exists(tx: &Tx<'_>, user: &UserId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM users
               WHERE id = $1";
    tx.exists(sql, [user.as_str()])
}

/// Creates a user (`POST /api/admin/users`) and records the act. Returns false if a user already has this id or
/// address.
pub fn create(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, user: &UserProfile) -> Result<bool, Error> {
    let is_new = insert_new(tx, user, tx.now)?;
    if is_new {
        record_created(tx, stamp, who, user)?;
    }
    Ok(is_new)
}

/// Records the creation of a user.
pub fn record_created(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, user: &UserProfile) -> Result<(), Error> {
    activity::platform::record(tx, stamp, who, Action::UserCreated, &None::<()>, &UserDetail::of(user))
}

/// The detail of a user in platform activity. The detail must not contain names or addresses.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UserDetail<'a> {
    user_id: &'a str,
    platform_role: &'static str,
    enabled: bool,
    /// The fields that changed, without their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<&'static str>,
}

impl<'a> UserDetail<'a> {
    fn of(user: &'a UserProfile) -> Self {
        let (user_id, platform_role) = (user.id.as_str(), user.platform_role.as_str());
        Self { user_id, platform_role, enabled: user.enabled, changed: Vec::new() }
    }
}

/// Inserts an enabled user without an activity row.
///
/// # Errors
/// [`Error::Defect`] if a user already has this id or address. Check both before calling this function.
pub fn insert(tx: &Tx<'_>, user: &UserId, email: &Email, name: &str, role: PlatformRole) -> Result<(), Error> {
    let (email, name) = (email.clone(), name.to_owned());
    let user = UserProfile { id: user.clone(), email, name, platform_role: role, enabled: true };
    if insert_new(tx, &user, tx.now)? { Ok(()) } else { Err(Error::Defect(format!("user {} already exists", user.id))) }
}

/// Inserts a user without an activity row. Returns false if a user already has this id or address.
pub fn insert_new(tx: &Tx<'_>, user: &UserProfile, created_at: Timestamp) -> Result<bool, Error> {
    let sql = "INSERT INTO users (id, email, email_key, name, platform_role, enabled, created_at, updated_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
               ON CONFLICT DO NOTHING";
    let UserProfile { id, email, name, platform_role, enabled } = user;
    let at = created_at.micros();
    Ok(tx.run(sql, (id.as_str(), email.as_str(), email.key(), name, platform_role.as_str(), enabled, at))? == 1)
}

/// The columns that [`user`] reads.
const COLUMNS: &str = "id, email, name, platform_role, enabled, created_at, updated_at";

fn user(row: &Row<'_>) -> Result<User, Error> {
    let mut columns = Columns::of(row);
    Ok(User {
        profile: UserProfile {
            id: columns.parse(UserId::parse)?,
            email: columns.parse(Email::parse_stored)?,
            name: columns.read()?,
            platform_role: columns.parse(PlatformRole::parse)?,
            enabled: columns.read()?,
        },
        created_at: columns.time()?,
        updated_at: columns.time()?,
    })
}

/// Returns all users, oldest first.
pub fn all(tx: &Tx<'_>) -> Result<Vec<User>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM users
         ORDER BY created_at, id"
    );
    tx.all(&sql, [], user)
}

/// Returns a page of all users, newest first. The page begins after the user with this time and id
/// (`GET /api/admin/users`).
pub fn page(tx: &Tx<'_>, after: Option<&(Timestamp, String)>, rows_max: usize) -> Result<Vec<User>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM users
         WHERE (created_at, id) < ($1, $2)
         ORDER BY created_at DESC, id DESC
         LIMIT $3"
    );
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let (at, id) = after.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id));
    tx.all(&sql, (at, id, rows_max), user)
}

pub fn find(tx: &Tx<'_>, id: &UserId) -> Result<Option<User>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM users
         WHERE id = $1"
    );
    tx.one(&sql, [id.as_str()], user)
}

/// Finds the user with this address, who may be disabled.
pub fn find_by_email(tx: &Tx<'_>, email: &Email) -> Result<Option<User>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM users
         WHERE email_key = $1"
    );
    tx.one(&sql, [email.key()], user)
}

/// Saves a change to a user (`PATCH /api/admin/users/{id}`) and records the act. Does nothing if the profiles are
/// equal.
///
/// # Errors
/// `conflict` if the change would disable or demote the last enabled admin; [`Error::Defect`] if another user has the
/// address. Check the address before calling this function.
pub fn change(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    before: &UserProfile,
    after: &UserProfile,
) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    let UserChange { changed_fields, ends_sessions } = plan_change(before, after, has_other_admin(tx, &before.id)?)?;
    let sql = "UPDATE users
               SET email = $1, email_key = $2, name = $3, platform_role = $4, enabled = $5, updated_at = $6
               WHERE id = $7";
    let UserProfile { id, email, name, platform_role, enabled } = after;
    let role = platform_role.as_str();
    tx.run(sql, (email.as_str(), email.key(), name, role, enabled, tx.now.micros(), id.as_str()))?;
    if ends_sessions {
        let sql = "DELETE FROM sessions
                   WHERE user_id = $1";
        tx.run(sql, [id.as_str()])?;
        sign_in_link::delete_of_user(tx, id)?;
    }
    let detail = UserDetail { changed: changed_fields, ..UserDetail::of(after) };
    activity::platform::record(tx, stamp, who, Action::UserChanged, &UserDetail::of(before), &detail)
}

/// Returns whether another user is an enabled admin.
fn has_other_admin(tx: &Tx<'_>, user: &UserId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM users
               WHERE platform_role = 'admin' AND enabled = 1 AND id <> $1";
    tx.exists(sql, [user.as_str()])
}

/// Returns whether a user has a password.
pub fn has_password(tx: &Tx<'_>, user: &UserId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM users
               WHERE id = $1 AND password_hash IS NOT NULL";
    tx.exists(sql, [user.as_str()])
}

/// Removes the password of a user who signs in with a passkey instead, and ends all sessions of the user.
pub fn remove_password(tx: &Tx<'_>, user: &UserId) -> Result<(), Error> {
    let sql = "UPDATE users
               SET password_hash = NULL, updated_at = $1
               WHERE id = $2";
    tx.run(sql, (tx.now.micros(), user.as_str()))?;
    let sql = "DELETE FROM sessions
               WHERE user_id = $1";
    tx.run(sql, [user.as_str()])?;
    Ok(())
}

/// Sets the password of a user, and ends the user's sessions except the one with the digest `current`.
pub fn change_password(tx: &Tx<'_>, user: &UserId, hash: &str, current: Option<&[u8; 32]>) -> Result<(), Error> {
    let sql = "UPDATE users
               SET password_hash = $1, updated_at = $2
               WHERE id = $3";
    tx.run(sql, (hash, tx.now.micros(), user.as_str()))?;
    let sql = "DELETE FROM sessions
               WHERE user_id = $1 AND digest <> $2";
    tx.run(sql, (user.as_str(), current.map_or(&[][..], |digest| digest)))?;
    Ok(())
}

/// A user's choices for the staff console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preferences {
    /// The language tag; `None` for the language of the browser.
    pub language: Option<String>,
    /// Whether single letters are keyboard shortcuts.
    pub single_keys: bool,
}

/// Returns the choices of a user, or the defaults.
pub fn preferences(tx: &Tx<'_>, user: &UserId) -> Result<Preferences, Error> {
    let sql = "SELECT language, single_keys
               FROM user_preferences
               WHERE user_id = $1";
    let found = tx.one(sql, [user.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok(Preferences { language: columns.read()?, single_keys: columns.read()? })
    })?;
    Ok(found.unwrap_or(Preferences { language: None, single_keys: true }))
}

/// Saves the choices of a user.
pub fn save_preferences(tx: &Tx<'_>, user: &UserId, preferences: &Preferences) -> Result<(), Error> {
    let sql = "INSERT INTO user_preferences (user_id, language, single_keys)
               VALUES ($1, $2, $3)
               ON CONFLICT (user_id) DO UPDATE SET language = excluded.language, single_keys = excluded.single_keys";
    tx.run(sql, (user.as_str(), preferences.language.as_deref(), preferences.single_keys))?;
    Ok(())
}

/// Sets the password of the user with this address. The user's sessions end, because somebody else might have known the
/// old password. Returns false if no user has this address.
pub fn set_password(tx: &Tx<'_>, email: &Email, hash: &str) -> Result<bool, Error> {
    let sql = "UPDATE users
               SET password_hash = $1, updated_at = $2
               WHERE email_key = $3";
    if tx.run(sql, (hash, tx.now.micros(), email.key()))? == 0 {
        return Ok(false);
    }
    let sql = "DELETE FROM sessions
               WHERE user_id IN (SELECT id FROM users WHERE email_key = $1)";
    tx.run(sql, [email.key()])?;
    Ok(true)
}
