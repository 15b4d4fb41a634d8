//! Removes erased and overwritten rows from the tables of the service, and old values from the statistics, with
//! `VACUUM`.
//!
//! A transaction that erases data adds to a debt in the database ([`owe`]). The debt survives the end of every server.
//! One server at a time runs `VACUUM` on a connection of its own, and then settles the debt.
//!
//! `VACUUM` keeps a dead row while a snapshot or a replication slot from before its deletion exists. If the user may
//! not vacuum a table, `VACUUM` only warns, and skips the table. In both cases, the debt remains. `VACUUM` frees the
//! space of the dead rows, but leaves their bytes in the free space of a page until PostgreSQL uses this space again.
//! Only a rewrite of the whole table, which blocks the service, would remove these bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::settings::{self, Use};
use super::target::Target;
use crate::db::engine::Engine;
use crate::db::error::Error;
use crate::db::tx::Tx;

/// The table of the debt: the number of erasures that need `VACUUM`, and the number of those for which it has run.
pub(super) const TABLE: &str = "CREATE TABLE engine_vacuum (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  owed BIGINT NOT NULL,
  done BIGINT NOT NULL CHECK (done <= owed)
);
INSERT INTO engine_vacuum (id, owed, done) VALUES (1, 0, 0)";

/// The pause after a run, as a multiple of the time of the run. With this factor, `VACUUM` takes at most a tenth of the
/// time even if retention erases candidates for hours.
const REST_FACTOR: u32 = 9;

/// The pause after a failure, and while another session needs old rows.
const RETRY_PAUSE: Duration = Duration::from_secs(3);
const HELD_PAUSE: Duration = Duration::from_secs(1);

/// Records in a transaction that its deleted and overwritten rows need `VACUUM`. A file needs no such record, because
/// page wiping overwrites the remains of such rows.
pub(crate) fn owe(tx: &Tx<'_>) -> Result<(), Error> {
    if tx.engine() == Engine::Postgres {
        tx.run("UPDATE engine_vacuum SET owed = owed + 1 WHERE id = 1", [])?;
    }
    Ok(())
}

/// Returns whether erased rows may still be in the tables.
pub(crate) fn is_owed(tx: &Tx<'_>) -> Result<bool, Error> {
    tx.exists("SELECT 1 FROM engine_vacuum WHERE done < owed", [])
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The debt is settled, apart from erasures that were committed after the debt was read.
    Settled,
    /// Another session, a prepared transaction, a standby or a replication slot still needs rows from before the
    /// erasure. The text names it.
    Held(String),
    /// It is too early for another run.
    Resting,
}

/// Ends a run early when the service stops.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The `VACUUM` runs of one server.
pub(crate) struct Vacuum {
    target: Arc<Target>,
    interrupt: Interrupt,
    resting_until: Option<Instant>,
    /// The debt of a step that found a holder. The next step waits for the same holders, not for those that began
    /// later, because a busy service always has later ones.
    waiting: Option<Debt>,
}

impl Vacuum {
    pub(crate) fn new(target: Arc<Target>, interrupt: Interrupt) -> Self {
        Self { target, interrupt, resting_until: None, waiting: None }
    }

    /// Vacuums all tables if nothing needs their old rows and the pause after the last run has passed.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the server is away, a table is locked, the user may not vacuum a table, or the service
    /// is stopping. The debt then remains.
    pub(crate) fn step(&mut self) -> Result<Progress, Error> {
        let begun = Instant::now();
        if self.resting_until.is_some_and(|until| begun < until) {
            return Ok(Progress::Resting);
        }
        let progress = self.run();
        let rest = match &progress {
            Ok(Progress::Held(_)) => HELD_PAUSE,
            Ok(_) => begun.elapsed() * REST_FACTOR,
            Err(_) => RETRY_PAUSE,
        };
        self.resting_until = Some(Instant::now() + rest);
        progress
    }

    fn run(&mut self) -> Result<Progress, Error> {
        let connection = settings::reopen(&self.target, Use::Maintain)?;
        let debt = self.waiting.take().map_or_else(|| Debt::read(&connection), Ok)?;
        if let Some(holder) = debt.holder(&connection)? {
            self.waiting = Some(debt);
            return Ok(Progress::Held(holder));
        }
        for table in tables(&connection)? {
            self.vacuum(&connection, &table)?;
        }
        debt.settle(&connection)?;
        Ok(Progress::Settled)
    }

    /// Vacuums a table, with its indexes even if only a few of their entries are dead. `ANALYZE` replaces the samples
    /// of values in the statistics.
    fn vacuum(&self, connection: &Connection, table: &str) -> Result<(), Error> {
        let sql = format!("VACUUM (ANALYZE, INDEX_CLEANUP ON) {table}");
        let is_interrupted = || self.interrupt.0.load(Ordering::Relaxed);
        if connection.maintain(&sql, is_interrupted)? {
            return Ok(());
        }
        Err(Error::Unavailable(format!(
            "VACUUM gave a warning about the table {table} and may have skipped it; the user must own the table"
        )))
    }
}

/// The debt at the beginning of a run.
struct Debt {
    owed: String,
    /// The first transaction that had not begun yet. All transactions that contributed to the debt are older.
    horizon: String,
}

impl Debt {
    fn read(connection: &Connection) -> Result<Self, Error> {
        // One statement has one snapshot.
        let sql = "SELECT owed || ' ' || pg_snapshot_xmax(pg_current_snapshot())
                   FROM engine_vacuum";
        let found = connection.texts(sql)?.into_iter().flatten().next();
        let debt = found.as_deref().and_then(|text| text.split_once(' '));
        let debt = debt.map(|(owed, horizon)| Self { owed: owed.to_owned(), horizon: horizon.to_owned() });
        debt.ok_or_else(|| Error::Defect("the database has no record of its VACUUM".to_owned()))
    }

    /// Returns the description of a holder, if there is one. A holder prevents `VACUUM` from removing some of the rows
    /// that were deleted before the horizon. A holder is a transaction or a snapshot in this database, a prepared
    /// transaction, a standby, or a replication slot. A session that runs `VACUUM` holds no rows.
    fn holder(&self, connection: &Connection) -> Result<Option<String>, Error> {
        let sql = format!(
            "SELECT who
             FROM (
               SELECT format('the session %s of %s (%s)', pid, usename, application_name) AS who, age(backend_xmin) AS age
               FROM pg_stat_activity
               WHERE (datname = current_database() OR backend_type = 'walsender') AND pid <> pg_backend_pid()
                 AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
               UNION ALL
               SELECT format('the session %s of %s (%s)', pid, usename, application_name), age(backend_xid)
               FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()
               UNION ALL
               SELECT format('the prepared transaction %s', gid), age(transaction)
               FROM pg_prepared_xacts
               WHERE database = current_database()
               UNION ALL
               SELECT format('the replication slot %s', slot_name), greatest(age(xmin), age(catalog_xmin))
               FROM pg_replication_slots
             ) AS holders
             WHERE age > age('{}'::xid8::xid)
             ORDER BY age DESC
             LIMIT 1",
            self.horizon
        );
        Ok(connection.texts(&sql)?.into_iter().flatten().next())
    }

    fn settle(&self, connection: &Connection) -> Result<(), Error> {
        connection.batch(&format!("UPDATE engine_vacuum SET done = greatest(done, {})", self.owed))
    }
}

/// Returns the tables of the service and, if the user may vacuum it, the table of the statistics, whose old rows
/// contain samples of values. Only the owner of the database and a superuser may vacuum the table of the statistics.
fn tables(connection: &Connection) -> Result<Vec<String>, Error> {
    let sql = "SELECT quote_ident(relname)
               FROM pg_class
               WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
               UNION ALL
               SELECT 'pg_catalog.pg_statistic'
               FROM pg_database
               WHERE datname = current_database() AND pg_has_role(datdba, 'USAGE')
               ORDER BY 1";
    Ok(connection.texts(sql)?.into_iter().flatten().collect())
}
