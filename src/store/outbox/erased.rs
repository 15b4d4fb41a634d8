//! What the outbox says of a candidate who is erased: ids, and nothing else. What is owed stays owed.

use super::{Delivery, payload};
use crate::db::tx::{Error, Tx};
use crate::domain::erasure;
use crate::domain::id::CandidateId;

/// Takes the candidate out of every message about them, sent or not, and what HR systems answered out of the record. They
/// have this address now.
///
/// # Errors
/// When SQLite fails, or a message cannot be read.
pub(in super::super) fn forget_candidate(tx: &Tx<'_>, candidate: &CandidateId, email: &str) -> Result<(), Error> {
    let sql = "SELECT d.number, d.payload
               FROM candidate_roles a
               JOIN hr_deliveries d ON d.candidate_role_id = a.id
               WHERE a.candidate_id = $1";
    let messages = tx.all(sql, [candidate.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    for (number, message) in messages {
        let sql = "UPDATE hr_deliveries
                   SET payload = $1
                   WHERE number = $2";
        tx.run(sql, (payload::without_candidate(&message, erasure::ERASED_NAME, email)?, number))?;
        let sql = "UPDATE hr_attempts
                   SET answer = NULL
                   WHERE delivery_number = $1 AND answer IS NOT NULL";
        tx.run(sql, [number])?;
    }
    Ok(())
}

/// Whether a delivery tells of somebody who is erased by now.
pub(super) fn is_about_erased(tx: &Tx<'_>, delivery: &Delivery) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM hr_deliveries d
               JOIN candidate_roles a ON a.id = d.candidate_role_id
               JOIN candidates c ON c.id = a.candidate_id
               WHERE d.number = $1 AND c.erased_at IS NOT NULL";
    tx.exists(sql, [delivery.number])
}
