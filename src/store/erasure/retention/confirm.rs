//! How the retention of an organization stands, and an admin's word on it.

use super::super::super::activity;
use super::due;
use crate::db::clock;
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::OrganizationId;
use crate::domain::refusal::Refusal;
use crate::domain::retention::RetentionDay;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::world::World;

/// How the retention of an organization stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionStanding {
    /// Days that candidates are kept; `None` for ever.
    pub days: Option<i64>,
    /// Candidates who are due.
    pub due: i64,
    /// When the first of them was found due.
    pub due_since: Option<Timestamp>,
    /// Those who would be erased today, and are so many that an admin has to confirm them first.
    pub waiting: i64,
}

/// How the retention of an organization stands; `None` where there is no such organization.
///
/// # Errors
/// When SQLite fails.
pub fn standing(
    tx: &Tx<'_>,
    world: &dyn World,
    organization: &OrganizationId,
) -> Result<Option<RetentionStanding>, Error> {
    let sql = "SELECT o.retention_days, count(d.candidate_number), min(d.due_since)
               FROM organizations o
               LEFT JOIN retention_due d ON d.organization_id = o.id
               WHERE o.id = $1
               GROUP BY o.id, o.retention_days";
    let found =
        tx.one(sql, [organization.as_str()], |row| Ok((row.get(0)?, row.get(1)?, tx::time_or_none(row, 2)?)))?;
    let Some((days, due, due_since)) = found else { return Ok(None) };
    let day = due::today(tx, world, organization)?.map(|today| due::day(tx, organization, today)).transpose()?;
    let waiting = day.filter(RetentionDay::needs_confirmation).map_or(0, |day| day.unconfirmed);
    Ok(Some(RetentionStanding { days, due, due_since, waiting }))
}

/// An admin's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionConfirmation {
    /// Everybody who is due may be erased, and so many they are.
    pub due: Option<i64>,
    /// The clock is right.
    pub clock: bool,
}

/// Takes an admin's word on an organization's retention.
///
/// # Errors
/// `conflict` where not as many are due as the admin has seen. When SQLite fails.
pub fn confirm(
    tx: &Tx<'_>,
    world: &dyn World,
    stamp: &Stamp,
    who: Option<&Principal>,
    organization: &OrganizationId,
    word: RetentionConfirmation,
) -> Result<(), Error> {
    if let Some(seen) = word.due {
        let due = standing(tx, world, organization)?.map_or(0, |standing| standing.due);
        if due != seen {
            let what = format!("{due} candidates are due now, not {seen}; look again before confirming them");
            return Err(Refusal::ConflictWith(what).into());
        }
        let sql = "UPDATE retention_due
                   SET confirmed = 1
                   WHERE organization_id = $1";
        tx.run(sql, [organization.as_str()])?;
    }
    if word.clock {
        clock::confirm(tx)?;
    }
    let after = Told { due_count: word.due, clock: word.clock.then(|| tx.now.to_string()) };
    let detail = activity::detail(&None::<Told>, &after)?;
    let subject = Subject::of_organization(organization.clone());
    activity::append(tx, stamp, who, Action::RetentionConfirmed, &subject, &detail)
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    #[serde(skip_serializing_if = "Option::is_none")]
    due_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<String>,
}
