//! Users: who they are, their passwords' hashes, and the admin that the command line makes.

use crate::db::row::Row;
use serde::Serialize;

use super::activity;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::id::UserId;
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{AccountState, PlatformRole, Principal, require_admin_remains};

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
    /// Whether the user is not disabled: then neither keys nor sessions nor the password let them in.
    pub enabled: bool,
}

/// A user, with when they were made and changed.
#[derive(Debug, Clone)]
pub struct User {
    /// Who they are.
    pub record: Record,
    /// When they were made.
    pub created_at: Timestamp,
    /// When they were made or changed.
    pub updated_at: Timestamp,
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

/// Makes a user now (`POST /api/admin/users`), and puts that on record. Whether there was none with this id or address.
///
/// # Errors
/// When SQLite fails.
pub fn create(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, user: &Record) -> Result<bool, Error> {
    let is_new = insert_new(tx, user, tx.now)?;
    if is_new {
        record_created(tx, stamp, who, user)?;
    }
    Ok(is_new)
}

/// Puts on record that a user was made.
///
/// # Errors
/// When SQLite fails.
pub fn record_created(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, user: &Record) -> Result<(), Error> {
    activity::platform::record(tx, stamp, who, Action::UserCreated, &None::<()>, &Told::of(user))
}

/// A user as platform activity tells of them: by the id, and not by name or address.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    user_id: &'a str,
    platform_role: &'static str,
    enabled: bool,
    /// Which of name and address were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<&'static str>,
}

impl<'a> Told<'a> {
    fn of(user: &'a Record) -> Self {
        let (user_id, platform_role) = (user.id.as_str(), user.platform_role.as_str());
        Self { user_id, platform_role, enabled: user.enabled, changed: Vec::new() }
    }
}

/// Adds a user who is made now, and nothing to the record.
///
/// # Errors
/// [`Error::Defect`] where the id or the address is there already, which the caller looks at first.
pub fn insert(tx: &Tx<'_>, user: &UserId, email: &Email, name: &str, role: PlatformRole) -> Result<(), Error> {
    let user =
        Record { id: user.clone(), email: email.clone(), name: name.to_owned(), platform_role: role, enabled: true };
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
               VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
               ON CONFLICT DO NOTHING";
    let Record { id, email, name, platform_role, enabled } = user;
    let at = created_at.micros();
    Ok(tx.run(sql, (id.as_str(), email.as_str(), email.key(), name, platform_role.as_str(), enabled, at))? == 1)
}

/// The columns of [`User`].
const COLUMNS: &str = "id, email, name, platform_role, enabled, created_at, updated_at";

fn user(row: &Row<'_>) -> Result<User, Error> {
    Ok(User {
        record: Record {
            id: id(&row.get::<_, String>(0)?)?,
            email: tx::word(&row.get::<_, String>(1)?, Email::parse_stored)?,
            name: row.get(2)?,
            platform_role: tx::word(&row.get::<_, String>(3)?, PlatformRole::parse)?,
            enabled: row.get(4)?,
        },
        created_at: tx::time(row, 5)?,
        updated_at: tx::time(row, 6)?,
    })
}

/// Every user, in the order in which they were made.
///
/// # Errors
/// When SQLite fails.
pub fn all(tx: &Tx<'_>) -> Result<Vec<User>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM users
         ORDER BY created_at, id"
    );
    tx.all(&sql, [], user)
}

/// A page of all users, newest first, behind the one who was made then and has this id (`GET /api/admin/users`).
///
/// # Errors
/// When SQLite fails.
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

/// The user with this id.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, id: &UserId) -> Result<Option<User>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM users
         WHERE id = $1"
    );
    tx.one(&sql, [id.as_str()], user)
}

/// The user with this address, disabled or not.
///
/// # Errors
/// When SQLite fails.
pub fn find_by_email(tx: &Tx<'_>, email: &Email) -> Result<Option<User>, Error> {
    let sql = format!(
        "SELECT {COLUMNS}
         FROM users
         WHERE email_key = $1"
    );
    tx.one(&sql, [email.key()], user)
}

/// Changes a user's address, name, platform role and whether they are enabled (`PATCH /api/admin/users/{id}`). The sessions
/// of one who is disabled end, and those of one who gets another address: whoever has the old mailbox is out. Keys do not
/// count while a user is disabled. The change is put on record. One who stays as they are is left alone.
///
/// # Errors
/// `conflict` where nobody else administers the appliance; when SQLite fails, also where another user has the address,
/// which the caller looks at first.
pub fn change(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    before: &Record,
    after: &Record,
) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    let reach = |user: &Record| AccountState { platform_role: user.platform_role, enabled: user.enabled };
    require_admin_remains(reach(before), reach(after), another_admin(tx, &before.id)?)?;
    let sql = "UPDATE users
               SET email = $1, email_key = $2, name = $3, platform_role = $4, enabled = $5, updated_at = $6
               WHERE id = $7";
    let Record { id, email, name, platform_role, enabled } = after;
    let role = platform_role.as_str();
    tx.run(sql, (email.as_str(), email.key(), name, role, enabled, tx.now.micros(), id.as_str()))?;
    if !after.enabled || before.email.key() != email.key() {
        let sql = "DELETE FROM sessions
                   WHERE user_id = $1";
        tx.run(sql, [id.as_str()])?;
    }
    let differs = [("email", before.email.as_str() != email.as_str()), ("name", before.name != *name)];
    let changed = differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
    let told = Told { changed, ..Told::of(after) };
    activity::platform::record(tx, stamp, who, Action::UserChanged, &Told::of(before), &told)
}

/// Whether somebody other than this user administers the appliance.
fn another_admin(tx: &Tx<'_>, user: &UserId) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM users
               WHERE platform_role = 'admin' AND enabled = 1 AND id <> $1";
    tx.exists(sql, [user.as_str()])
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
