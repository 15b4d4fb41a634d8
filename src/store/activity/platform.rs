//! Platform activity: what was done to the appliance itself and belongs to no organization, such as keys, users, sign-ins
//! and commands on the file. Its rows are in the same chain as all others. They name users and keys by their ids alone.

use std::path::Path;

use rusqlite::MAIN_DB;
use serde::Serialize;
use serde_json::Value;

use super::page::{Activity, SELECT, activity};
use super::{append, detail, stamp};
use crate::db::connection::{self, Use};
use crate::db::tx::{self, Error, Tx};
use crate::domain::activity::{Action, Stamp, Subject};
use crate::domain::id::ActivityId;
use crate::domain::user::Principal;
use crate::world::World;

// The indexes of an organization's rows have the platform's, too: a row without an organization is one of theirs.
pub(in crate::store) const OF_PLATFORM: &str = "WHERE a.organization_id IS NULL AND a.number < $1
     ORDER BY a.number DESC
     LIMIT $2";
pub(in crate::store) const OF_PLATFORM_BY_ACTION: &str =
    "WHERE a.organization_id IS NULL AND a.number < $1 AND a.action = $2
     ORDER BY a.number DESC
     LIMIT $3";

/// Puts on record what was done to the appliance, by the caller or, without one, on the command line or by the service.
///
/// # Errors
/// When SQLite fails.
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

/// Puts a command on record, in the transaction of what it does. `facts` are what it was about: ids and counts, no names.
///
/// # Errors
/// When SQLite fails.
pub fn record_command(tx: &Tx<'_>, world: &dyn World, command: &str, facts: &Value) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Ran<'a> {
        command: &'a str,
        #[serde(flatten)]
        facts: &'a Value,
    }
    record(tx, &stamp(world), None, Action::CommandRan, &None::<()>, &Ran { command, facts })
}

/// Puts a command on record that itself only reads, before it does. `Some` with the reason where that cannot be done: the
/// file is on a read-only mount, or its disk is full, and just then a backup must still be possible.
///
/// # Errors
/// When SQLite fails.
pub fn record_reading(path: &Path, world: &dyn World, command: &str, facts: &Value) -> Result<Option<String>, Error> {
    let connection = connection::open_to_read(path, Use::Write)?;
    if connection.is_readonly(MAIN_DB).map_err(Error::from)? {
        return Ok(Some("it is read-only".to_owned()));
    }
    match tx::act(&connection, world.now(), |tx| record_command(tx, world, command, facts)) {
        Ok(()) => Ok(None),
        Err(Error::Unavailable(why)) => Ok(Some(why)),
        Err(error) => Err(error),
    }
}

/// A page of platform activity before the row with this number, newest first (`GET /api/admin/activity`).
///
/// # Errors
/// When SQLite fails.
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

/// The number of a row of platform activity.
///
/// # Errors
/// When SQLite fails.
pub fn number(tx: &Tx<'_>, activity: &ActivityId) -> Result<Option<i64>, Error> {
    let sql = "SELECT number
               FROM activities
               WHERE id = $1 AND organization_id IS NULL";
    tx.one(sql, [activity.as_str()], |row| Ok(row.get(0)?))
}
