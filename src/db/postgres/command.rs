//! The transactions of `appliance` commands. Each command opens its own connection, whether or not a service is using
//! the database.

use std::path::Path;

use super::settings::{self, Use};
use super::target::Target;
use crate::db::connection::Connection;
use crate::db::tx::{self, Error, Tx};
use crate::domain::timestamp::Timestamp;

/// Runs `f` in one durable transaction.
pub(crate) fn act_alone<T>(
    url: &Path,
    now: Timestamp,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    tx::act(&open(url, Use::Write)?, now, f)
}

/// Runs `f` on one snapshot of the database.
pub(crate) fn read_alone<T>(
    url: &Path,
    now: Timestamp,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    tx::snapshot(&open(url, Use::Read)?, now, f)
}

/// Opens a connection for a command with several transactions.
pub(crate) fn open_for_command(url: &Path) -> Result<Connection, Error> {
    open(url, Use::Write)
}

fn open(url: &Path, for_use: Use) -> Result<Connection, Error> {
    let target = Target::of(url).map_err(|error| Error::Unavailable(error.to_string()))?;
    settings::reopen(&target, for_use).map(Connection::of_postgres)
}
