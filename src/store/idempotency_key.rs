//! What requests with an `Idempotency-Key` were answered, by API key: kept in the transaction of the act itself, for a day.

use crate::db::tx::{self, Error, Tx};
use crate::domain::id::{CandidateId, Id};
use crate::domain::idempotency_key::{self, IdempotencyKey, StoredBody, StoredResponse};

/// Answers past their time that go with each one that is kept: more than one, so that they get fewer, and few, so that
/// nobody waits for them.
const CLEARED_MAX: i64 = 16;

/// What a request under this key was answered, where that still counts.
///
/// # Errors
/// When SQLite fails.
pub fn find(tx: &Tx<'_>, api_key_number: i64, key: &IdempotencyKey) -> Result<Option<StoredResponse>, Error> {
    match find_as(tx, api_key_number, key.as_str())? {
        Some(kept) => Ok(Some(kept)),
        None => find_as(tx, api_key_number, &idempotency_key::erased_key(key.as_str())),
    }
}

fn find_as(tx: &Tx<'_>, api_key_number: i64, key: &str) -> Result<Option<StoredResponse>, Error> {
    let sql = "SELECT fingerprint, status, answer, made_id, candidate_id
               FROM idempotency_keys
               WHERE key_number = $1 AND idempotency_key = $2 AND created_at > $3";
    // A clock that is ahead ends no answer before its time, so that a repeat does not act twice.
    let after = idempotency_key::valid_since(tx.earliest).micros();
    tx.one(sql, (api_key_number, key, after), |row| {
        let candidate_id: Option<String> = row.get(4)?;
        let answer = match (row.get(2)?, row.get(3)?) {
            (Some(text), _) => StoredBody::Whole(text),
            (None, Some(made_id)) => StoredBody::Secret(made_id),
            (None, None) => StoredBody::Erased,
        };
        Ok(StoredResponse {
            fingerprint: row.get(0)?,
            status: row.get(1)?,
            answer,
            candidate_id: candidate_id.map(|id| tx::word(&id, CandidateId::parse)).transpose()?,
        })
    })
}

/// Keeps an answer, and clears away some that are past their time.
///
/// # Errors
/// When SQLite fails.
pub fn insert(tx: &Tx<'_>, api_key_number: i64, key: &IdempotencyKey, kept: &StoredResponse) -> Result<(), Error> {
    let sql = "DELETE FROM idempotency_keys
               WHERE (key_number, idempotency_key) IN (
                 SELECT key_number, idempotency_key
                 FROM idempotency_keys
                 WHERE created_at <= $1
                 ORDER BY created_at
                 LIMIT $2
               )";
    tx.run(sql, (idempotency_key::valid_since(tx.earliest).micros(), CLEARED_MAX))?;
    // One under the same key may be there, past its time.
    let sql =
        "INSERT INTO idempotency_keys (key_number, idempotency_key, fingerprint, created_at, status, answer, made_id,
                 candidate_id)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
               ON CONFLICT (key_number, idempotency_key) DO UPDATE
               SET fingerprint = excluded.fingerprint, created_at = excluded.created_at, status = excluded.status,
                 answer = excluded.answer, made_id = excluded.made_id, candidate_id = excluded.candidate_id";
    let (answer, made_id) = match &kept.answer {
        StoredBody::Whole(text) => (Some(text), None),
        StoredBody::Secret(id) => (None, Some(id)),
        StoredBody::Erased => (None, None),
    };
    let candidate_id = kept.candidate_id.as_ref().map(CandidateId::as_str);
    let (fingerprint, now) = (kept.fingerprint, tx.earliest.micros());
    tx.run(sql, (api_key_number, key.as_str(), fingerprint, now, kept.status, answer, made_id, candidate_id))?;
    Ok(())
}

/// Takes away what requests about a candidate were answered, and what was asked: a repeat is told that it is gone. Who chose
/// their keys may have made them of a name.
///
/// # Errors
/// When SQLite fails.
pub fn forget_candidate(tx: &Tx<'_>, candidate: &CandidateId) -> Result<(), Error> {
    let sql = "SELECT key_number, idempotency_key
               FROM idempotency_keys
               WHERE candidate_id = $1 AND (answer IS NOT NULL OR made_id IS NOT NULL)";
    let keys = tx.all(sql, [candidate.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let sql = "UPDATE idempotency_keys
               SET answer = NULL, made_id = NULL, fingerprint = $1, idempotency_key = $2
               WHERE key_number = $3 AND idempotency_key = $4";
    tx.run_each(sql, keys.into_iter(), |(number, key)| Ok(([0_u8; 32], idempotency_key::erased_key(&key), number, key)))
}
