//! The registration of a writer: one row in `engine_writers`, by which a writer finds out the outcome of a commit whose
//! answer was lost.
//!
//! Each transaction of the writer writes its number into the row. After a lost connection, the writer registers again.
//! The registration waits until the lost transaction has ended, because both change the same row, and then returns the
//! number of the last commit. It also begins a new epoch, so that an old connection cannot write in a transaction that
//! begins later. The registration is itself a durable commit. Therefore everything that it returns is durable too, even
//! if somebody cancelled the lost commit's wait for the standby.
//!
//! `pg_xact_status` was the alternative. After a failover that lost the transaction, the new primary can give the id of
//! this transaction to another transaction, and then reports the outcome of that one. A registration has a random id.

use std::time::Duration;

use super::connection::{CommitFailure, Connection};
use crate::db::error::Error;

/// The table. The service creates it with its schema.
pub(super) const TABLE: &str = r#"CREATE TABLE engine_writers (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (id ~ '^[0-9a-f]{32}$'),
  batch BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  seen_at TIMESTAMPTZ NOT NULL
)"#;

/// A registration deletes the rows of writers whose last transaction is older than this. A killed service leaves its
/// row behind. If a service is paused for a longer time during a commit, the outcome of the commit is unknown.
const FORGOTTEN_AFTER: &str = "30 days";

/// The maximum time for the commit of a registration. The commit waits for the standby, as every durable commit does.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of bytes in a writer's id.
pub(crate) const ID_BYTES: usize = 16;

/// The identity of a writer, which no other process has.
#[derive(Debug, Clone)]
pub(super) struct WriterId(String);

impl WriterId {
    pub(super) fn new(random: [u8; ID_BYTES]) -> Self {
        Self(random.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the statement that writes the number of a transaction into the row. It affects no row if the
    /// registration is not the newest, or if the tables have a version other than `version`. An upgrade holds the lock
    /// of the writers, so the version stays the same until the transaction ends.
    pub(super) fn number(&self, batch: i64, epoch: i64, version: i64) -> String {
        let id = &self.0;
        format!(
            "UPDATE engine_writers SET batch = {batch}, seen_at = now()
             WHERE id = '{id}' AND epoch = {epoch} AND (SELECT version FROM engine_schema) = {version}"
        )
    }

    /// Registers the writer, and waits until its lost transaction has ended.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the lost transaction does not end, or the registration cannot be committed.
    pub(super) fn register(&self, connection: &Connection) -> Result<Registration, Error> {
        connection.begin("BEGIN")?;
        let sql = format!(
            "INSERT INTO engine_writers AS known (id, batch, epoch, seen_at)
             VALUES ('{}', 0, 0, now())
             ON CONFLICT (id) DO UPDATE
             SET epoch = known.epoch + 1, seen_at = now()
             RETURNING batch || ' ' || epoch || ' ' || (SELECT version FROM engine_schema)",
            self.0
        );
        let found = connection.texts(&sql).inspect_err(|_| drop(connection.roll_back()))?;
        let sql = format!("DELETE FROM engine_writers WHERE seen_at < now() - interval '{FORGOTTEN_AFTER}'");
        connection.batch(&sql).inspect_err(|_| drop(connection.roll_back()))?;
        connection.commit(COMMIT_TIMEOUT).map_err(|failure| match failure {
            CommitFailure::RolledBack(error, _) => error,
            CommitFailure::Unknown(why) => Error::Unavailable(why),
        })?;
        let registration = found.first().and_then(|text| Registration::parse(text.as_deref()?));
        registration.ok_or_else(|| Error::Defect("a registration returned no number".to_owned()))
    }

    /// Returns the statement that makes the registrations of all other writers outdated. Each of them registers again
    /// before its next transaction, on a new connection.
    pub(super) fn end_others(&self) -> String {
        format!("UPDATE engine_writers SET epoch = epoch + 1 WHERE id <> '{}'", self.0)
    }

    /// Removes the row, when the service stops.
    pub(super) fn remove(&self, connection: &Connection) -> Result<(), Error> {
        connection.batch(&format!("DELETE FROM engine_writers WHERE id = '{}'", self.0))
    }
}

/// The result of a registration.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registration {
    /// The number of the writer's last commit.
    pub(super) batch: i64,
    pub(super) epoch: i64,
    /// The version of the tables.
    pub(super) version: i64,
}

impl Registration {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(str::parse);
        let mut number = || numbers.next()?.ok();
        Some(Self { batch: number()?, epoch: number()?, version: number()? })
    }

    /// Returns whether the transaction after this registration's last commit was committed, according to a newer
    /// registration of the same writer. Returns `None` if the row is not the same as before, for example because an
    /// older state of the database was restored.
    ///
    /// The last commits can be missing: a crash of the server loses commits that did not wait for the disk.
    pub(super) fn has_advanced(self, newer: Self) -> Option<bool> {
        if newer.epoch <= self.epoch || newer.batch > self.batch + 1 {
            return None;
        }
        Some(newer.batch == self.batch + 1)
    }
}

/// A session of the server, as `pg_stat_activity` names it. A process number alone could belong to a later session.
#[derive(Debug, Clone)]
pub(super) struct Backend(String);

impl Backend {
    pub(super) fn of(connection: &Connection) -> Result<Self, Error> {
        let sql = "SELECT format('pid = %s AND backend_start = %L', pid, backend_start)
                   FROM pg_stat_activity
                   WHERE pid = pg_backend_pid()";
        let condition = connection.texts(sql)?.into_iter().flatten().next();
        condition.map(Self).ok_or_else(|| Error::Defect("the server does not list this session".to_owned()))
    }

    /// Ends this session, through the connection of another session, if this session waits for its client inside a
    /// transaction. The client is gone, and the transaction holds the lock of all writers. This function does not end a
    /// session that is committing: its commit would become visible before the standby has it.
    pub(super) fn end_if_waiting(&self, connection: &Connection) -> Result<(), Error> {
        let sql = format!(
            "SELECT pg_terminate_backend(pid)
             FROM pg_stat_activity
             WHERE {} AND state IN ('idle in transaction', 'idle in transaction (aborted)')",
            self.0
        );
        connection.batch(&sql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_registration_shows_whether_the_next_transaction_was_committed() {
        let known = Registration { batch: 7, epoch: 2, version: 1 };
        for (batch, epoch, has_advanced) in [
            (8, 3, Some(true)),
            (7, 3, Some(false)),
            (7, 5, Some(false)),
            (4, 3, Some(false)),
            (0, 0, None),
            (8, 2, None),
            (7, 1, None),
            (9, 3, None),
        ] {
            assert_eq!(known.has_advanced(Registration { batch, epoch, version: 1 }), has_advanced, "{batch} {epoch}");
        }
    }
}
