//! Platform activity: acts that concern the service itself, such as changes to keys and users, sign-ins, and commands
//! on the database. They belong to no organization. Their rows are in the same chain as all other rows, and identify
//! users and keys only by their ids.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::page::{Activity, SELECT, activity};
use super::{append, detail, stamp};
use crate::db::act_alone;
use crate::db::location::is_server;
use crate::db::sqlite::connection::{self, Use};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::ActivityId;
use crate::domain::user::Principal;
use crate::world::World;

// The organization column of these rows is null. SQLite indexes nulls too, so the indexes on the organization find
// these rows.
pub(in crate::store) const OF_PLATFORM: &str = "WHERE a.organization_id IS NULL AND a.number < $1
     ORDER BY a.number DESC
     LIMIT $2";
pub(in crate::store) const OF_PLATFORM_BY_ACTION: &str =
    "WHERE a.organization_id IS NULL AND a.number < $1 AND a.action = $2
     ORDER BY a.number DESC
     LIMIT $3";

/// Appends a row for an act by `who`; `None` stands for a command, the service itself, or an unknown actor.
pub fn record(
    tx: &Tx<'_>,
    stamp: &Stamp,
    who: Option<&Principal>,
    action: Action,
    before: &impl Serialize,
    after: &impl Serialize,
) -> Result<(), Error> {
    append(tx, stamp, who, action, &Subject::of_platform(), &detail(before, after)?)
}

/// Appends a row for a command, in the transaction of the command. `facts` must not contain personal data, such as
/// names.
pub fn record_command(tx: &Tx<'_>, world: &dyn World, command: &str, facts: &Value) -> Result<(), Error> {
    #[derive(Serialize)]
    struct CommandDetail<'a> {
        command: &'a str,
        #[serde(flatten)]
        facts: &'a Value,
    }
    record(tx, &stamp(world), None, Action::CommandRan, &None::<()>, &CommandDetail { command, facts })
}

/// Appends a row for a command that only reads the database, before the command reads it. Returns the reason if the row
/// cannot be written, for example because the file is on a read-only mount, its disk is full, or another process has
/// locked it. A backup must be possible in these cases too.
pub fn record_reading(path: &Path, world: &dyn World, command: &str, facts: &Value) -> Result<Option<String>, Error> {
    if is_server(path) {
        return reason_not_written(act_alone(path, world, |tx| record_command(tx, world, command, facts)));
    }
    let connection = connection::open_to_read(path, Use::Write)?;
    if connection::is_read_only(&connection)? {
        return Ok(Some("it is read-only".to_owned()));
    }
    reason_not_written(tx::act(&connection, world.now(), |tx| record_command(tx, world, command, facts)))
}

fn reason_not_written(outcome: Result<(), Error>) -> Result<Option<String>, Error> {
    match outcome {
        Ok(()) => Ok(None),
        Err(Error::Unavailable(why) | Error::Full(why)) => Ok(Some(why)),
        Err(error) => Err(error),
    }
}

/// Returns a page of platform activity, newest first, starting before the row with this number
/// (`GET /api/admin/activity`).
pub fn page(tx: &Tx<'_>, action: Option<Action>, before: i64, rows_max: usize) -> Result<Vec<Activity>, Error> {
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    match action {
        None => tx.all(&format!("{SELECT} {OF_PLATFORM}"), (before, rows_max), activity),
        Some(action) => {
            let params = (before, action.as_str(), rows_max);
            tx.all(&format!("{SELECT} {OF_PLATFORM_BY_ACTION}"), params, activity)
        }
    }
}

/// Returns the number of a row, or `None` if platform activity has no such row.
pub fn number(tx: &Tx<'_>, activity: &ActivityId) -> Result<Option<i64>, Error> {
    let sql = "SELECT number
               FROM activities
               WHERE id = $1 AND organization_id IS NULL";
    tx.value(sql, [activity.as_str()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_or_a_lock_does_not_stop_a_command_that_only_reads() {
        let why = || "why".to_owned();
        assert!(matches!(reason_not_written(Ok(())), Ok(None)));
        for error in [Error::Full(why()), Error::Unavailable(why())] {
            assert_eq!(reason_not_written(Err(error)).unwrap(), Some(why()));
        }
        assert!(matches!(reason_not_written(Err(Error::Defect(why()))), Err(Error::Defect(_))));
    }
}
