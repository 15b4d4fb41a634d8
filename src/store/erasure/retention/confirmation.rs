//! The state of an organization's retention, and the confirmation by an admin.

use serde::Serialize;

use super::due;
use crate::db::clock;
use crate::db::row::Columns;
use crate::db::tx::{Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::OrganizationId;
use crate::domain::refusal::Refusal;
use crate::domain::retention::RetentionDay;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::store::activity;
use crate::world::World;

/// The state of an organization's retention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionState {
    /// The retention period in days; `None` if the organization retains its candidates forever.
    pub days: Option<i64>,
    /// The number of due candidates.
    pub due: i64,
    /// The time at which the first of these candidates was found to be due.
    pub due_since: Option<Timestamp>,
    /// The number of candidates whose erasure waits for confirmation by an admin.
    pub waiting: i64,
}

/// Reads the state of an organization's retention. Returns `None` if the organization does not exist.
pub fn state(tx: &Tx<'_>, world: &dyn World, organization: &OrganizationId) -> Result<Option<RetentionState>, Error> {
    let sql = "SELECT o.retention_days, count(d.candidate_number), min(d.due_since)
               FROM organizations o
               LEFT JOIN retention_due d ON d.organization_id = o.id
               WHERE o.id = $1
               GROUP BY o.id, o.retention_days";
    let row = tx.one(sql, [organization.as_str()], |row| {
        let mut columns = Columns::of(row);
        Ok((columns.read()?, columns.read()?, columns.time_or_none()?))
    })?;
    let Some((days, due, due_since)) = row else { return Ok(None) };
    let day = due::today(tx, world, organization)?.map(|today| due::day(tx, organization, today)).transpose()?;
    let waiting = day.as_ref().map_or(0, RetentionDay::waiting);
    Ok(Some(RetentionState { days, due, due_since, waiting }))
}

/// An admin's confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionConfirmation {
    /// The number of due candidates that was shown to the admin, if the admin confirms the erasure of all of them.
    pub due: Option<i64>,
    /// Whether the admin confirms that the clock is right.
    pub clock: bool,
}

/// Confirms the erasure of an organization's due candidates, or the clock, or both.
///
/// # Errors
/// `conflict` if the number of due candidates differs from the number that the admin has seen.
pub fn confirm(
    tx: &Tx<'_>,
    world: &dyn World,
    stamp: &Stamp,
    who: Option<&Principal>,
    organization: &OrganizationId,
    confirmation: RetentionConfirmation,
) -> Result<(), Error> {
    if let Some(seen) = confirmation.due {
        let due = state(tx, world, organization)?.map_or(0, |state| state.due);
        if due != seen {
            let what = format!(
                "the number of due candidates is now {due}, not {seen}; check the number again before you confirm the \
                 erasure"
            );
            return Err(Refusal::ConflictWith(what).into());
        }
        due::confirm_all(tx, organization)?;
    }
    if confirmation.clock {
        clock::confirm(tx)?;
    }
    let after =
        ConfirmationDetail { due_count: confirmation.due, clock: confirmation.clock.then(|| tx.now.to_string()) };
    let detail = activity::detail(&None::<ConfirmationDetail>, &after)?;
    let subject = Subject::of_organization(organization.clone());
    activity::append(tx, stamp, who, Action::RetentionConfirmed, &subject, &detail)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfirmationDetail {
    #[serde(skip_serializing_if = "Option::is_none")]
    due_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<String>,
}
