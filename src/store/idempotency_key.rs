//! Stored responses for requests with an `Idempotency-Key`, per API key. The transaction that acts on a request also
//! stores its response. A response is valid for a day.

use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::id::{CandidateId, Id};
use crate::domain::idempotency_key::{self, IdempotencyKey, StoredBody, StoredResponse};

/// The maximum number of expired responses that are deleted when a response is stored. The number exceeds one, so that
/// a backlog of expired responses shrinks, but it is small enough that the deletion does not delay requests.
const DELETED_MAX: i64 = 16;

/// Finds the valid response that is stored for this key.
pub fn find(tx: &Tx<'_>, api_key_number: i64, key: &IdempotencyKey) -> Result<Option<StoredResponse>, Error> {
    match find_as(tx, api_key_number, key.as_str())? {
        Some(response) => Ok(Some(response)),
        None => find_as(tx, api_key_number, &idempotency_key::erased_key(key.as_str())),
    }
}

fn find_as(tx: &Tx<'_>, api_key_number: i64, key: &str) -> Result<Option<StoredResponse>, Error> {
    let sql = "SELECT fingerprint, status, answer, made_id, candidate_id
               FROM idempotency_keys
               WHERE key_number = $1 AND idempotency_key = $2 AND created_at > $3";
    // The bound is computed from `earliest`, because a response must not expire early if the clock is ahead. After an
    // early expiry, a repeated request would act twice.
    let after = idempotency_key::valid_since(tx.earliest).micros();
    tx.one(sql, (api_key_number, key, after), |row| {
        let mut columns = Columns::of(row);
        Ok(StoredResponse {
            fingerprint: columns.read()?,
            status: columns.read()?,
            answer: match (columns.read()?, columns.read()?) {
                (Some(text), _) => StoredBody::Whole(text),
                (None, Some(made_id)) => StoredBody::Secret(made_id),
                (None, None) => StoredBody::Erased,
            },
            candidate_id: columns.parse_or_none(CandidateId::parse)?,
        })
    })
}

/// Stores a response, and deletes some expired responses.
pub fn insert(tx: &Tx<'_>, api_key_number: i64, key: &IdempotencyKey, response: &StoredResponse) -> Result<(), Error> {
    let sql = "DELETE FROM idempotency_keys
               WHERE (key_number, idempotency_key) IN (
                 SELECT key_number, idempotency_key
                 FROM idempotency_keys
                 WHERE created_at <= $1
                 ORDER BY created_at
                 LIMIT $2
               )";
    tx.run(sql, (idempotency_key::valid_since(tx.earliest).micros(), DELETED_MAX))?;
    // The row of an expired response may still have the same key.
    let sql =
        "INSERT INTO idempotency_keys (key_number, idempotency_key, fingerprint, created_at, status, answer, made_id,
                 candidate_id)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
               ON CONFLICT (key_number, idempotency_key) DO UPDATE
               SET fingerprint = excluded.fingerprint, created_at = excluded.created_at, status = excluded.status,
                 answer = excluded.answer, made_id = excluded.made_id, candidate_id = excluded.candidate_id";
    let (answer, made_id) = match &response.answer {
        StoredBody::Whole(text) => (Some(text), None),
        StoredBody::Secret(id) => (None, Some(id)),
        StoredBody::Erased => (None, None),
    };
    let candidate_id = response.candidate_id.as_ref().map(CandidateId::as_str);
    let (fingerprint, now) = (response.fingerprint, tx.earliest.micros());
    tx.run(sql, (api_key_number, key.as_str(), fingerprint, now, response.status, answer, made_id, candidate_id))?;
    Ok(())
}

/// Erases the stored responses about a candidate and the fingerprints of their requests. The service then refuses
/// repeats of these requests, because the responses are gone. The keys are replaced too, because the caller might have
/// derived them from the candidate's name.
pub fn erase_candidate(tx: &Tx<'_>, candidate: &CandidateId) -> Result<(), Error> {
    let sql = "SELECT key_number, idempotency_key
               FROM idempotency_keys
               WHERE candidate_id = $1 AND (answer IS NOT NULL OR made_id IS NOT NULL)";
    let keys = tx.all(sql, [candidate.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<i64>()?, columns.read::<String>()?))
    })?;
    let sql = "UPDATE idempotency_keys
               SET answer = NULL, made_id = NULL, fingerprint = $1, idempotency_key = $2
               WHERE key_number = $3 AND idempotency_key = $4";
    tx.run_each(sql, keys.into_iter(), |(number, key)| Ok(([0_u8; 32], idempotency_key::erased_key(&key), number, key)))
}
