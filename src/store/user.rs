//! Users: who they are, their passwords' hashes, and the admin that the command line makes.

use super::tx::{self, Error, Tx};
use crate::domain::id::UserId;
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::PlatformRole;

/// What a sign-in looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub id: UserId,
    /// The hash of the password, where one was set.
    pub password_hash: Option<String>,
}

/// A user, as a document has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The user's id.
    pub id: UserId,
    /// The user's address.
    pub email: Email,
    /// The user's name.
    pub name: String,
    /// What the user is on the platform.
    pub platform_role: PlatformRole,
}

/// The account with this address, where its user is not disabled.
///
/// # Errors
/// When SQLite fails.
pub fn account(tx: &Tx<'_>, email: &Email) -> Result<Option<Account>, Error> {
    let sql = "SELECT id, password_hash
               FROM users
               WHERE email_key = $1 AND enabled = 1";
    tx.one(sql, [email.key()], |row| Ok(Account { id: id(&row.get::<_, String>(0)?)?, password_hash: row.get(1)? }))
}

/// Whether there is such a user.
///
/// # Errors
/// When SQLite fails.
pub fn exists(tx: &Tx<'_>, user: &UserId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM users
               WHERE id = $1";
    tx.exists(sql, [user.as_str()])
}

/// Adds a user who is made now.
///
/// # Errors
/// [`Error::Defect`] where the id or the address is there already, which the caller looks at first.
pub fn insert(tx: &Tx<'_>, user: &UserId, email: &Email, name: &str, role: PlatformRole) -> Result<(), Error> {
    let user = Record { id: user.clone(), email: email.clone(), name: name.to_owned(), platform_role: role };
    if insert_new(tx, &user, tx.now)? {
        Ok(())
    } else {
        Err(Error::Defect(format!("user {} is there already", user.id)))
    }
}

/// Adds a user who was made at `created_at`. Whether there was none with this id or address before.
///
/// # Errors
/// When SQLite fails.
pub fn insert_new(tx: &Tx<'_>, user: &Record, created_at: Timestamp) -> Result<bool, Error> {
    let sql = "INSERT INTO users (id, email, email_key, name, platform_role, enabled, created_at, updated_at)
               VALUES ($1, $2, $3, $4, $5, 1, $6, $6)
               ON CONFLICT DO NOTHING";
    let Record { id, email, name, platform_role } = user;
    let at = created_at.micros();
    Ok(tx.run(sql, (id.as_str(), email.as_str(), email.key(), name, platform_role.as_str(), at))? == 1)
}

/// Every user, in the order in which they were made.
///
/// # Errors
/// When SQLite fails.
pub fn all(tx: &Tx<'_>) -> Result<Vec<Record>, Error> {
    let sql = "SELECT id, email, name, platform_role
               FROM users
               ORDER BY created_at, id";
    tx.all(sql, [], |row| {
        Ok(Record {
            id: id(&row.get::<_, String>(0)?)?,
            email: tx::word(&row.get::<_, String>(1)?, Email::parse)?,
            name: row.get(2)?,
            platform_role: tx::word(&row.get::<_, String>(3)?, PlatformRole::parse)?,
        })
    })
}

/// Makes an existing user a platform admin.
///
/// # Errors
/// When SQLite fails.
pub fn promote(tx: &Tx<'_>, user: &UserId) -> Result<(), Error> {
    let sql = "UPDATE users
               SET platform_role = 'admin', updated_at = $1
               WHERE id = $2 AND platform_role <> 'admin'";
    tx.run(sql, (tx.now.micros(), user.as_str()))?;
    Ok(())
}

/// Sets the password of the user with this address, and ends the user's sessions: whoever knew the old one is out.
/// Whether there is such a user.
///
/// # Errors
/// When SQLite fails.
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

/// A user's id as a column holds it.
pub(super) fn id(text: &str) -> Result<UserId, Error> {
    tx::word(text, crate::domain::id::Id::parse)
}
