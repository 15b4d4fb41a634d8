//! Erases a candidate from the outbox. The messages still contain the candidate's ids and the dates of the hire, but no
//! other data about the candidate. Pending messages are still sent.

use super::payload;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::erasure::ERASED_NAME;
use crate::domain::id::CandidateId;

/// Overwrites the candidate's data in every message about the candidate, whether sent or not, and deletes the answers
/// of HR systems. `email` is the placeholder that replaces the candidate's address.
pub(in super::super) fn erase_candidate(tx: &Tx<'_>, candidate: &CandidateId, email: &str) -> Result<(), Error> {
    let sql = "SELECT d.number, d.payload
               FROM candidate_roles a
               JOIN hr_deliveries d ON d.candidate_role_id = a.id
               WHERE a.candidate_id = $1";
    let messages = tx.all(sql, [candidate.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read::<i64>()?, columns.read::<String>()?))
    })?;
    for (number, message) in messages {
        let sql = "UPDATE hr_deliveries
                   SET payload = $1
                   WHERE number = $2";
        tx.run(sql, (payload::without_candidate(&message, ERASED_NAME, email)?, number))?;
        let sql = "UPDATE hr_attempts
                   SET answer = NULL
                   WHERE delivery_number = $1 AND answer IS NOT NULL";
        tx.run(sql, [number])?;
    }
    Ok(())
}

/// Returns whether a delivery is about an erased candidate.
pub(super) fn is_about_erased(tx: &Tx<'_>, delivery_number: i64) -> Result<bool, Error> {
    let sql = "SELECT 1
               FROM hr_deliveries d
               JOIN candidate_roles a ON a.id = d.candidate_role_id
               JOIN candidates c ON c.id = a.candidate_id
               WHERE d.number = $1 AND c.erased_at IS NOT NULL";
    tx.exists(sql, [delivery_number])
}
