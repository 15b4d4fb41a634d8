//! The transactions of `appliance` commands. Each command opens its own connection, whether or not a service is using
//! the file.

use std::path::Path;

use super::super::tx::{self, Error, Tx};
use super::connection;
use crate::domain::timestamp::Timestamp;
use crate::world::World;

/// Runs `f` in one durable transaction.
///
/// # Errors
/// Returns the error of `f`, of opening the file or of the commit, or [`Error::Unavailable`] if another process holds
/// the write lock for more than 5 s.
pub(crate) fn act_alone<T>(
    path: &Path,
    world: &dyn World,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let connection = connection::open_for_command(path)?;
    tx::act(&connection, world.now(), f)
}

/// Runs `f` in one durable transaction on the file at `path`. The file at `replaced` is attached under the name
/// `replaced`, and `f` only reads it.
pub(crate) fn act_beside<T>(
    path: &Path,
    replaced: &Path,
    world: &dyn World,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let connection = connection::open_for_command(path)?;
    let name = replaced.to_str().ok_or_else(|| Error::Defect("the name of the file is not UTF-8".to_owned()))?;
    connection.sqlite().execute("ATTACH DATABASE $1 AS replaced", [name])?;
    tx::act(&connection, world.now(), f)
}

/// Runs `f` on one snapshot of the file.
pub(crate) fn read_alone<T>(
    path: &Path,
    now: Timestamp,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let connection = connection::open_to_read(path, connection::Use::Read)?;
    tx::snapshot(&connection, now, f)
}

/// Runs `f` as [`read_alone`] does, and leaves the file and its log as they are.
pub fn read_unchanged<T>(
    path: &Path,
    world: &dyn World,
    f: impl FnOnce(&Tx<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let connection = connection::open_to_read_unchanged(path)?;
    tx::snapshot(&connection, world.now(), f)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::world::Real;

    #[test]
    fn a_command_gets_the_write_lock_although_another_connection_writes_continually() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let writer = rusqlite::Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a)").unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Every 2 ms, the lock is free for only a few microseconds.
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").unwrap();
                    std::thread::sleep(Duration::from_millis(2));
                    writer.execute_batch("COMMIT").unwrap();
                }
            });
            let inserted: Vec<_> =
                (0..20).map(|_| act_alone(&path, &Real::new(), |tx| tx.run("INSERT INTO t VALUES (2)", []))).collect();
            is_over.store(true, Ordering::Relaxed);
            assert!(inserted.iter().all(|inserted| matches!(inserted, Ok(1))), "{inserted:?}");
        });
    }
}
