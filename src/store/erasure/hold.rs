//! Legal holds. While a candidate is under a legal hold, neither staff nor retention nor the candidate can have the
//! candidate erased.

use serde::Serialize;

use super::retention::due;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::erasure::{CandidateRef, ErasureFacts};
use crate::domain::id::{CandidateId, OrganizationId};
use crate::domain::user::Principal;
use crate::store::activity;

/// Reads the facts that the rules for erasures and legal holds need about an organization's candidate.
pub fn facts(
    tx: &Tx<'_>,
    organization: &OrganizationId,
    candidate: &CandidateId,
) -> Result<Option<ErasureFacts>, Error> {
    let sql = "SELECT number, hold_reason, erased_at
               FROM candidates
               WHERE organization_id = $1 AND id = $2";
    tx.one(sql, (organization.as_str(), candidate.as_str()), |row| {
        let mut columns = Columns::of(row);
        Ok(ErasureFacts { number: columns.read()?, hold_reason: columns.read()?, erased_at: columns.time_or_none()? })
    })
}

/// Places a candidate under a legal hold for this reason. Without a reason, releases the hold.
///
/// # Errors
/// [`Error::Defect`] if the candidate was erased after `before` was read.
pub fn set_hold(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: &Principal,
    candidate: &CandidateRef,
    before: &ErasureFacts,
    reason: Option<&str>,
) -> Result<(), Error> {
    let sql = "UPDATE candidates
               SET hold_reason = $1
               WHERE number = $2 AND organization_id = $3 AND erased_at IS NULL";
    if tx.run(sql, (reason, candidate.number, candidate.organization_id.as_str()))? != 1 {
        return Err(Error::Defect(format!("candidate {} changed after the facts were read", candidate.id)));
    }
    // After a release, retention erases the candidate only if a later scan finds the candidate due again.
    due::remove(tx, candidate.number)?;
    let before = HoldDetail { hold_reason: before.hold_reason.as_deref() };
    let detail = activity::detail(&before, &HoldDetail { hold_reason: reason })?;
    let action = if reason.is_some() { Action::CandidateHeld } else { Action::CandidateReleased };
    let subject = Subject::of_candidate(candidate.organization_id.clone(), candidate.id.clone());
    activity::append(tx, stamp, Some(who), action, &subject, &detail)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HoldDetail<'a> {
    hold_reason: Option<&'a str>,
}
