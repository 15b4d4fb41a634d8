//! API keys: creation, lookup by digest, lists with usage statistics, revocation, and recording of expiry. This module
//! must not decide whether a key is valid. It loads a [`KeyState`] for the rule that decides.

pub mod cache;

use serde::Serialize;

use super::activity;
use super::usage::index::{self, NewestRow};
use crate::db::row::{Columns, Row};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp};
use crate::domain::api_key::{Grant, KeySecret, KeyState, Scope};
use crate::domain::id::{ApiKeyId, Id, UserId};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::{Auth, OrgRole, PlatformRole, Principal};

/// A key to be created.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    pub id: ApiKeyId,
    /// The key. The database stores only its digest and its first characters.
    pub secret: KeySecret,
    /// The user that the key acts as. The user must exist.
    pub user_id: UserId,
    /// The label in lists.
    pub name: String,
    pub grant: Grant,
    pub expires_at: Timestamp,
}

/// A key in an admin's list.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// The number under which the usage log records the key.
    pub number: i64,
    pub id: ApiKeyId,
    /// The label in lists.
    pub name: Option<String>,
    /// The first characters of the key.
    pub start: String,
    pub scopes: Vec<Scope>,
    /// False if the key has been revoked.
    pub enabled: bool,
    pub created_at: Timestamp,
    /// The time at which the key was revoked or, if it has not been revoked, created.
    pub updated_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_request: Option<Timestamp>,
    /// The number of requests with the key, including requests whose usage rows were pruned.
    pub request_count: i64,
    pub owner: Owner,
}

/// The user that a key acts as, with the user's oldest membership.
#[derive(Debug, Clone)]
pub struct Owner {
    pub id: UserId,
    pub email: String,
    pub name: String,
    pub platform_role: PlatformRole,
    /// The organization role of the oldest membership.
    pub org_role: Option<OrgRole>,
    /// The organization of the oldest membership.
    pub organization_id: Option<String>,
}

/// A key as stored in the database: the principal of a request with this key, and the facts that determine whether the
/// key is valid.
pub(super) struct StoredKey {
    pub(super) id: ApiKeyId,
    pub(super) principal: Principal,
    pub(super) state: KeyState,
}

/// Finds a key by its digest.
pub(super) fn find_by_digest(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<Option<StoredKey>, Error> {
    let sql = "SELECT k.number, k.id, k.scopes, k.scopes_explicit, k.enabled, k.expires_at, k.ended_at IS NOT NULL,
                 u.enabled, u.id, u.email, u.platform_role
               FROM api_keys k
               JOIN users u ON u.id = k.user_id
               WHERE k.digest = $1";
    tx.one(sql, [digest.as_slice()], |row| {
        let mut columns = Columns::of(row);
        let number = columns.read()?;
        let id = columns.parse(ApiKeyId::parse)?;
        let grant = Grant { scopes: scopes(columns.text()?)?, is_explicit: columns.read()? };
        let state = KeyState {
            is_enabled: columns.read()?,
            expires_at: columns.time_or_none()?,
            is_expiry_recorded: columns.read()?,
            is_user_enabled: columns.read()?,
        };
        let principal = Principal {
            user_id: columns.parse(UserId::parse)?,
            email: columns.read()?,
            platform_role: columns.parse(PlatformRole::parse)?,
            auth: Auth::ApiKey { id: id.clone(), number, grant },
        };
        Ok(StoredKey { id, principal, state })
    })
}

/// Returns whether the key with this digest has expired and its expiry is not recorded yet.
pub fn has_unrecorded_expiry(tx: &Tx<'_>, digest: &[u8; 32]) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM api_keys
               WHERE digest = $1 AND ended_at IS NULL AND expires_at <= $2";
    tx.exists(sql, (digest.as_slice(), tx.now.micros()))
}

/// Returns whether the database has an expired key whose expiry is not recorded yet.
pub(crate) fn any_has_unrecorded_expiry(tx: &Tx<'_>) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM api_keys
               WHERE ended_at IS NULL AND expires_at <= $1";
    tx.exists(sql, [tx.now.micros()])
}

/// Records the expiry of the key with this digest, if it has expired. Without a digest, records the expiry of every
/// expired key. A key whose expiry is recorded stays expired even if the clock steps back.
pub fn record_expiry(tx: &Tx<'_>, digest: Option<&[u8; 32]>) -> Result<(), Error> {
    let sql = "UPDATE api_keys
               SET ended_at = $1
               WHERE ended_at IS NULL AND expires_at <= $1 AND (digest = $2 OR $2 IS NULL)";
    tx.run(sql, (tx.now.micros(), digest.map(<[u8; 32]>::as_slice)))?;
    Ok(())
}

/// Creates a key (`POST /api/admin/api-keys`) and records the act.
///
/// # Errors
/// [`Error::Defect`] if the user does not exist. Check this before calling this function.
pub fn create(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, key: &NewApiKey) -> Result<(), Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct CreatedKeyDetail<'a> {
        api_key_id: &'a str,
        user_id: &'a str,
        scopes: Vec<&'static str>,
        scopes_explicit: bool,
        expires_at: String,
    }
    insert(tx, key)?;
    let detail = CreatedKeyDetail {
        api_key_id: key.id.as_str(),
        user_id: key.user_id.as_str(),
        scopes: key.grant.scopes.iter().map(|scope| scope.as_str()).collect(),
        scopes_explicit: key.grant.is_explicit,
        expires_at: key.expires_at.to_string(),
    };
    activity::platform::record(tx, stamp, who, Action::ApiKeyCreated, &None::<()>, &detail)
}

/// Inserts the row of a key, but appends no activity row.
///
/// # Errors
/// [`Error::Defect`] if the user does not exist. Check this before calling this function.
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

/// Returns all keys, newest first (`GET /api/admin/api-keys`).
pub fn list(tx: &Tx<'_>) -> Result<Vec<ApiKey>, Error> {
    let sql = format!(
        "{SELECT}
         ORDER BY k.number DESC"
    );
    let mut keys = tx.all(&sql, [], api_key)?;
    let newest = index::newest_unindexed(tx)?;
    for key in &mut keys {
        key.update_statistics(newest.get(&key.number));
    }
    Ok(keys)
}

pub fn find(tx: &Tx<'_>, id: &ApiKeyId) -> Result<Option<ApiKey>, Error> {
    let sql = format!(
        "{SELECT}
         WHERE k.id = $1"
    );
    let Some(mut key) = tx.one(&sql, [id.as_str()], api_key)? else { return Ok(None) };
    key.update_statistics(index::newest_unindexed_of(tx, key.number)?.as_ref());
    Ok(Some(key))
}

/// Revokes a key permanently (`DELETE /api/admin/api-keys/{id}`) and records the act. Does not change a key that is
/// already revoked. Returns false if the key does not exist.
pub fn revoke(tx: &Tx<'_>, stamp: &Stamp, who: Option<&Principal>, id: &ApiKeyId) -> Result<bool, Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct RevokedKeyDetail<'a> {
        api_key_id: &'a str,
        user_id: &'a str,
    }
    let sql = "SELECT user_id, enabled
               FROM api_keys
               WHERE id = $1";
    let found = tx.one(sql, [id.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<String>()?, columns.read::<bool>()?))
    })?;
    let Some((user_id, is_enabled)) = found else { return Ok(false) };
    if is_enabled {
        let sql = "UPDATE api_keys
                   SET updated_at = $1, enabled = 0
                   WHERE id = $2";
        tx.run(sql, (tx.now.micros(), id.as_str()))?;
        let detail = RevokedKeyDetail { api_key_id: id.as_str(), user_id: &user_id };
        activity::platform::record(tx, stamp, who, Action::ApiKeyRevoked, &detail, &None::<()>)?;
    }
    Ok(true)
}

impl ApiKey {
    /// Updates the statistics from the key's newest usage row, if the usage index does not contain that row yet.
    fn update_statistics(&mut self, newest: Option<&NewestRow>) {
        if let Some(newest) = newest {
            self.last_request = Some(newest.at);
            self.request_count = newest.number;
        }
    }
}

/// The query whose rows [`api_key`] reads, without its condition and order. The newest indexed usage row and the
/// owner's oldest membership may be missing.
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
    let mut columns = Columns::of(row);
    Ok(ApiKey {
        number: columns.read()?,
        id: columns.parse(ApiKeyId::parse)?,
        name: columns.read()?,
        start: columns.read()?,
        scopes: scopes(columns.text()?)?,
        enabled: columns.read()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
        expires_at: columns.time_or_none()?,
        last_request: columns.time_or_none()?,
        request_count: columns.read()?,
        owner: Owner {
            id: columns.parse(UserId::parse)?,
            email: columns.read()?,
            name: columns.read()?,
            platform_role: columns.parse(PlatformRole::parse)?,
            org_role: columns.parse_or_none(OrgRole::parse)?,
            organization_id: columns.read()?,
        },
    })
}

/// Parses the scopes of a key, which are stored in one column, separated by spaces.
fn scopes(text: &str) -> Result<Vec<Scope>, Error> {
    text.split_ascii_whitespace().map(|scope| tx::word(scope, Scope::parse)).collect()
}
