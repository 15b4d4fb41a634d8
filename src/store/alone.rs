//! Work on a file without a service: the way of the command line.

use std::path::Path;

use super::connection;
use super::tx::{self, Error, Tx};
use crate::world::World;

/// Runs one act on a file without a service: the way of the command line, while a service runs on the same file or
/// not. One durable transaction; what it writes is there whole or not at all.
///
/// # Errors
/// What `f` refuses; [`Error::Unavailable`] where another process holds the write lock for longer than 5 s.
pub fn act_alone<T>(path: &Path, world: &dyn World, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let connection = connection::open(path, connection::Use::Write)?;
    tx::act(&connection, world.now(), f)
}

/// Runs `f` on one snapshot of a file without a service.
///
/// # Errors
/// What `f` refuses; [`Error::Defect`] when SQLite fails.
pub fn read_alone<T>(path: &Path, world: &dyn World, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let connection = connection::open_to_read(path, connection::Use::Read)?;
    tx::snapshot(&connection, world.now(), f)
}
