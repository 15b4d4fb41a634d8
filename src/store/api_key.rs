//! API keys: made, looked up by the digest of their text, listed with their use, revoked.

use crate::db::row::Row;
use serde::Serialize;

use super::{activity, usage, user};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::api_key::{self, Grant, KeyRefusal, KeySecret, Scope};
use crate::domain::id::{ApiKeyId, Id, UserId};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{Auth, OrgRole, PlatformRole, Principal};

/// A key to be made.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// Its id.
    pub id: ApiKeyId,
    /// Its text, of which only the digest and the first characters are stored.
    pub secret: KeySecret,
    /// The user it acts as, who must exist.
    pub user_id: UserId,
    /// Its label.
    pub name: String,
    /// What it may be used for.
    pub grant: Grant,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A key as admins see it.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// Its number in the file, by which its usage is logged.
    pub number: i64,
    /// Its id.
    pub id: ApiKeyId,
    /// Its label.
    pub name: Option<String>,
    /// The first characters of its text.
    pub start: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// Whether it was not revoked.
    pub enabled: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was made or revoked.
    pub updated_at: Timestamp,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// When it was last used.
    pub last_request: Option<Timestamp>,
    /// How many requests it has made in its life.
    pub request_count: i64,
    /// The user it acts as.
    pub owner: Owner,
}

/// The user a key acts as, with their oldest membership.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The user's id.
    pub id: UserId,
    /// Their address.
    pub email: String,
    /// Their name.
    pub name: String,
    /// What they are on the platform.
    pub platform_role: PlatformRole,
    /// What they are in the organization of their oldest membership.
    pub org_role: Option<OrgRole>,
    /// That organization.
    pub organization_id: Option<String>,
}

/// The key of a digest, as a caller has it.
pub(super) enum Found {
    /// It counts: who calls with it, and when it ends.
    Counts(Principal, Option<Timestamp>),
    /// It is there and does not count.
    Refused(ApiKeyId, KeyRefusal),
    /// There is none.
    Unknown,
}

/// The key of this digest.
///
/// # Errors
/// When SQLite fails.
pub(super) fn look_up(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Found, Error> {
    let sql = "SELECT k.number, k.id, k.scopes, k.enabled, k.expires_at, u.id, u.email, u.platform_role,
                 k.scopes_explicit, u.enabled, k.ended_at
               FROM api_keys k
               JOIN users u ON u.id = k.user_id
               WHERE k.digest = $1";
    let found = tx.one(sql, [digest.as_slice()], |row| {
        let expires_at = tx::time_or_none(row, 4)?;
        let (is_enabled, is_users_enabled): (bool, bool) = (row.get(3)?, row.get(9)?);
        let has_ended = tx::time_or_none(row, 10)?.is_some();
        let id = tx::word(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?, ApiKeyId::parse)?;
        let why = match () {
            () if !is_enabled => Some(KeyRefusal::Revoked),
            () if has_ended || !api_key::is_alive(is_enabled, expires_at, tx.now) => Some(KeyRefusal::Expired),
            () if !is_users_enabled => Some(KeyRefusal::UserDisabled),
            () => None,
        };
        if let Some(why) = why {
            return Ok(Found::Refused(id, why));
        }
        let auth = Auth::ApiKey {
            id,
            number: row.get(0)?,
            grant: Grant { scopes: scopes(row, 2)?, is_explicit: row.get(8)? },
        };
        let principal = Principal {
            user_id: user::id(row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?)?,
            email: row.get(6)?,
            platform_role: tx::word(row.get_ref(7)?.as_str().map_err(rusqlite::Error::from)?, PlatformRole::parse)?,
            auth,
        };
        Ok(Found::Counts(principal, expires_at))
    })?;
    Ok(found.unwrap_or(Found::Unknown))
}

/// Whether the key of this digest has expired, and nothing says so yet but the clock.
///
/// # Errors
/// When SQLite fails.
pub fn has_expired(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM api_keys
               WHERE digest = $1 AND ended_at IS NULL AND expires_at <= $2";
    tx.exists(sql, (digest.as_slice(), tx.now.micros()))
}

/// The same of any key.
pub(crate) fn any_has_expired(tx: &Tx<'_>) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM api_keys
               WHERE ended_at IS NULL AND expires_at <= $1";
    tx.exists(sql, [tx.now.micros()])
}

/// Writes that keys have come to their end, so that they stay there where the clock goes back: the one of this digest, or
/// every one that has expired.
///
/// # Errors
/// When SQLite fails.
pub fn end_expired(tx: &Tx<'_>, digest: Option<&[u8; 32]>) -> Result<(), Error> {
    let sql = "UPDATE api_keys
               SET ended_at = $1
               WHERE ended_at IS NULL AND expires_at <= $1 AND ($2 IS NULL OR digest = $2)";
    tx.run(sql, (tx.now.micros(), digest.map(<[u8; 32]>::as_slice)))?;
    Ok(())
}

/// Makes a key (`POST /api/admin/api-keys`), and puts that on record.
///
/// # Errors
/// [`Error::Defect`] where the user is not there, which the caller looks at first.
pub fn create(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, key: &NewApiKey) -> Result<(), Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Told<'a> {
        api_key_id: &'a str,
        user_id: &'a str,
        scopes: Vec<&'static str>,
        scopes_explicit: bool,
        expires_at: String,
    }
    insert(tx, key)?;
    let told = Told {
        api_key_id: key.id.as_str(),
        user_id: key.user_id.as_str(),
        scopes: key.grant.scopes.iter().map(|scope| scope.as_str()).collect(),
        scopes_explicit: key.grant.is_explicit,
        expires_at: key.expires_at.to_string(),
    };
    activity::platform::record(tx, stamp, who, Action::ApiKeyCreated, &None::<()>, &told)
}

/// Adds a key's row, and nothing to the record.
///
/// # Errors
/// [`Error::Defect`] where the user is not there, which the caller looks at first.
pub fn insert(tx: &Tx<'_>, key: &NewApiKey) -> Result<(), Error> {
    let sql = "INSERT INTO api_keys
                 (id, digest, user_id, name, start, scopes, enabled, created_at, updated_at, expires_at, scopes_explicit)
               VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $7, $8, $9)";
    let scopes: Vec<&str> = key.grant.scopes.iter().map(|scope| scope.as_str()).collect();
    tx.run(
        sql,
        (
            key.id.as_str(),
            key.secret.digest().as_slice(),
            key.user_id.as_str(),
            &key.name,
            key.secret.start(),
            scopes.join(" "),
            tx.now.micros(),
            key.expires_at.micros(),
            key.grant.is_explicit,
        ),
    )?;
    Ok(())
}

/// Every key, newest first (`GET /api/admin/api-keys`).
///
/// # Errors
/// When SQLite fails.
pub fn list(tx: &Tx<'_>) -> Result<Vec<ApiKey>, Error> {
    let sql = format!(
        "{SELECT}
         ORDER BY k.number DESC"
    );
    let mut keys = tx.all(&sql, [], api_key)?;
    let newest = usage::newest_unmarked(tx)?;
    for key in &mut keys {
        key.note(newest.get(&key.number));
    }
    Ok(keys)
}

/// The key with this id.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, id: &ApiKeyId) -> Result<Option<ApiKey>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE k.id = $1"
    );
    let Some(mut key) = tx.one(&sql, [id.as_str()], api_key)? else { return Ok(None) };
    key.note(usage::newest_unmarked_of(tx, key.number)?.as_ref());
    Ok(Some(key))
}

/// Revokes the key for good (`DELETE /api/admin/api-keys/{id}`), and puts that on record; one revoked before stays as it
/// is. Whether there is such a key.
///
/// # Errors
/// When SQLite fails.
pub fn revoke(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, id: &ApiKeyId) -> Result<bool, Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Told<'a> {
        api_key_id: &'a str,
        user_id: &'a str,
    }
    let sql = "SELECT user_id, enabled
               FROM api_keys
               WHERE id = $1";
    let found = tx.one(sql, [id.as_str()], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
    let Some((user_id, is_enabled)) = found else { return Ok(false) };
    if is_enabled {
        let sql = "UPDATE api_keys
                   SET updated_at = $1, enabled = 0
                   WHERE id = $2";
        tx.run(sql, (tx.now.micros(), id.as_str()))?;
        let told = Told { api_key_id: id.as_str(), user_id: &user_id };
        activity::platform::record(tx, stamp, who, Action::ApiKeyRevoked, &told, &None::<()>)?;
    }
    Ok(true)
}

impl ApiKey {
    /// The newest row of its usage has its statistics.
    fn note(&mut self, newest: Option<&usage::Newest>) {
        if let Some(newest) = newest {
            self.last_request = Some(newest.at);
            self.request_count = newest.number;
        }
    }
}

/// Keys with what other tables know of each: the newest row of its usage that was noted, and the oldest membership
/// of its owner. Either may be missing. One look at an index each.
const SELECT: &str = "SELECT k.number, k.id, k.name, k.start, k.scopes, k.enabled, k.created_at, k.updated_at,
    k.expires_at, n.at, coalesce(n.number, 0), u.id, u.email, u.name, u.platform_role, m.org_role, m.organization_id
  FROM api_keys k
  JOIN users u ON u.id = k.user_id
  LEFT JOIN api_key_usage_newest n ON n.key_number = k.number
  LEFT JOIN memberships m ON m.user_id = k.user_id AND m.organization_id =
    (SELECT organization_id FROM memberships
     WHERE user_id = k.user_id
     ORDER BY created_at, organization_id
     LIMIT 1)";

fn api_key(row: &Row<'_>) -> Result<ApiKey, Error> {
    let org_role: Option<String> = row.get(15)?;
    Ok(ApiKey {
        number: row.get(0)?,
        id: tx::word(&row.get::<_, String>(1)?, ApiKeyId::parse)?,
        name: row.get(2)?,
        start: row.get(3)?,
        scopes: scopes(row, 4)?,
        enabled: row.get(5)?,
        created_at: tx::time(row, 6)?,
        updated_at: tx::time(row, 7)?,
        expires_at: tx::time_or_none(row, 8)?,
        last_request: tx::time_or_none(row, 9)?,
        request_count: row.get(10)?,
        owner: Owner {
            id: user::id(&row.get::<_, String>(11)?)?,
            email: row.get(12)?,
            name: row.get(13)?,
            platform_role: tx::word(&row.get::<_, String>(14)?, PlatformRole::parse)?,
            org_role: org_role.map(|word| tx::word(&word, OrgRole::parse)).transpose()?,
            organization_id: row.get(16)?,
        },
    })
}

fn scopes(row: &Row<'_>, column: usize) -> Result<Vec<Scope>, Error> {
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    text.split_ascii_whitespace().map(|scope| tx::word(scope, Scope::parse)).collect()
}
