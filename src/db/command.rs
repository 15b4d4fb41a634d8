//! The transactions of `appliance` commands, on the engine that `--db` names.

use std::path::Path;

use super::connection::Connection;
use super::location::is_server;
#[cfg(feature = "postgres")]
use super::postgres::command as postgres;
use super::sqlite::{command, connection};
use super::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// Runs `f` in one durable transaction.
///
/// # Errors
/// Returns the error of `f`, of opening the database or of the commit, or [`Error::Unavailable`] if another process
/// holds the write lock for more than 5 s.
pub fn act_alone<T>(db: &Path, world: &dyn World, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    if is_server(db) { act_on_server(db, world.now(), f) } else { command::act_alone(db, world, f) }
}

/// Runs `f` on one snapshot of the database.
pub fn read_alone<T>(db: &Path, world: &dyn World, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    read_at(db, world.now(), f)
}

/// Runs `f` on one snapshot of the database. `now` is the time of the transaction.
pub(crate) fn read_at<T>(db: &Path, now: Timestamp, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    if is_server(db) { read_from_server(db, now, f) } else { command::read_alone(db, now, f) }
}

/// Opens a connection for a command with several transactions.
pub(crate) fn open_for_command(db: &Path) -> Result<Connection, Error> {
    if is_server(db) { open_on_server(db) } else { connection::open_for_command(db) }
}

#[cfg(feature = "postgres")]
use self::postgres::{act_alone as act_on_server, open_for_command as open_on_server, read_alone as read_from_server};

#[cfg(not(feature = "postgres"))]
use self::{without_server as act_on_server, without_server as read_from_server};

#[cfg(not(feature = "postgres"))]
fn without_server<T>(_: &Path, _: Timestamp, _: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    Err(Error::Unavailable("this program was built without PostgreSQL".to_owned()))
}

#[cfg(not(feature = "postgres"))]
fn open_on_server(_: &Path) -> Result<Connection, Error> {
    Err(Error::Unavailable("this program was built without PostgreSQL".to_owned()))
}
