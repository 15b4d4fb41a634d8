//! The settings of a session, and the checks of the server. The service applies the settings and repeats the checks for
//! each new session, because a failover may have changed the server.

use std::time::Duration;

use super::connection::Connection;
use super::open_error::{OpenError, of_connect};
use super::session::Session;
use super::target::Target;
use crate::db::connection::Connection as SharedConnection;
use crate::db::error::Error;

/// The oldest version that the service accepts, as `server_version_num` gives it.
const VERSION_MIN: u32 = 150_000;

/// The maximum time for a statement of a request or a job. Statements of the service take milliseconds; reports and
/// exports read in pages.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum time for the maintenance of one table, or for a step of an upgrade. A large table takes minutes.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The maximum time for which a statement waits for a lock. For a SQLite file, the limit is the same.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The time after which the server ends a transaction of a client that sends nothing. The lock of a writer that has
/// lost its network becomes free about this long after its last statement.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for which the service continues to wait for an answer after the timeout of a statement.
const ANSWER_MARGIN: Duration = Duration::from_secs(5);

/// The use of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Write,
    Read,
    /// For maintenance and upgrades of tables, which can take longer than a statement of a request.
    Maintain,
    /// For one lock that is held as long as the connection lasts.
    Idle,
}

/// Opens a connection to the first host that accepts writes.
///
/// # Errors
/// The error of the last host, if no host accepts writes. However, the error of a host that would refuse again, for
/// example because of a wrong password, takes precedence over that of a host that might accept later. Also fails if the
/// server does not pass the checks, or if the session cannot be set up.
pub(super) fn open(target: &Target, for_use: Use) -> Result<Connection, OpenError> {
    match Session::open(target.hosts()) {
        Ok(session) => set_up(target, session, for_use),
        Err(failures) => {
            let server = target.to_string();
            let errors: Vec<OpenError> = failures.iter().map(|failure| of_connect(&server, failure)).collect();
            let lasting = errors.iter().rposition(|error| !error.may_pass());
            let reported = lasting.or(errors.len().checked_sub(1));
            let reported = reported.and_then(|index| errors.into_iter().nth(index));
            Err(reported.unwrap_or_else(|| OpenError::Url("it has no host".to_owned())))
        }
    }
}

/// Opens a connection for the start of the service or of a command.
pub(crate) fn open_to_write(target: &Target) -> Result<SharedConnection, OpenError> {
    open(target, Use::Write).map(SharedConnection::of_postgres)
}

/// Opens a connection for a running service or for a command.
///
/// # Errors
/// [`Error::Unavailable`] if the server cannot be used.
pub(super) fn reopen(target: &Target, for_use: Use) -> Result<Connection, Error> {
    open(target, for_use).map_err(|error| Error::Unavailable(error.to_string()))
}

fn set_up(target: &Target, session: Session, for_use: Use) -> Result<Connection, OpenError> {
    let connection = Connection::new(session, statement_timeout(for_use) + ANSWER_MARGIN);
    let failed = |error: Error| OpenError::of_statement(target, &error);
    let found = connection.texts(FACTS).map_err(failed)?;
    let facts = Facts::of(&found).ok_or_else(|| failed(Error::Defect("it is not PostgreSQL".to_owned())))?;
    facts.check(target)?;
    connection.batch(&settings(&facts.schema, for_use)).map_err(failed)?;
    Ok(connection)
}

/// The statements that read the facts, one row each, in the order of [`Facts::of`].
const FACTS: &str = "SHOW server_version_num;
                     SELECT current_schema();
                     SHOW synchronous_commit;
                     SELECT current_setting('synchronous_standby_names', true);
                     SHOW fsync;
                     SHOW server_encoding";

/// The server as a new session finds it.
struct Facts {
    version: u32,
    schema: String,
    synchronous_commit: String,
    has_synchronous_standbys: bool,
    fsync: String,
    encoding: String,
}

impl Facts {
    fn of(texts: &[Option<String>]) -> Option<Self> {
        let [version, schema, synchronous_commit, standbys, fsync, encoding] = texts else { return None };
        Some(Self {
            version: version.as_deref()?.parse().ok()?,
            schema: schema.clone().unwrap_or_default(),
            synchronous_commit: synchronous_commit.clone()?,
            has_synchronous_standbys: standbys.as_deref().is_some_and(|names| !names.is_empty()),
            fsync: fsync.clone()?,
            encoding: encoding.clone()?,
        })
    }

    fn check(&self, target: &Target) -> Result<(), OpenError> {
        let server = target.to_string();
        if self.version < VERSION_MIN {
            let found = self.version / 10_000;
            return Err(OpenError::TooOld { server, found });
        }
        if self.encoding != "UTF8" {
            return Err(OpenError::Encoding { server, found: self.encoding.clone() });
        }
        if self.schema.is_empty() {
            return Err(OpenError::NoSchema(server));
        }
        // The service confirms an act only after its commit is on the disk, and on the standby if there is one.
        let is_safe = match self.synchronous_commit.as_str() {
            "off" => false,
            "local" => !self.has_synchronous_standbys,
            _ => true,
        };
        if !is_safe {
            let setting = format!("synchronous_commit = {}", self.synchronous_commit);
            return Err(OpenError::NotDurable { server, setting });
        }
        if self.fsync != "on" {
            return Err(OpenError::NotDurable { server, setting: format!("fsync = {}", self.fsync) });
        }
        Ok(())
    }
}

fn statement_timeout(for_use: Use) -> Duration {
    if for_use == Use::Maintain { MAINTENANCE_TIMEOUT } else { STATEMENT_TIMEOUT }
}

/// Returns the statements that set a session up. `pg_temp` comes last in the path, so that a temporary table never
/// hides a table of the service.
fn settings(schema: &str, for_use: Use) -> String {
    let schema = schema.replace('"', "\"\"");
    let idle = match for_use {
        Use::Read | Use::Write => IDLE_TIMEOUT.as_millis(),
        Use::Maintain | Use::Idle => 0,
    };
    // A writer leaves this setting alone: some database providers turn it on when the disk is nearly full, and the
    // service must then see that the database is read-only.
    let read_only = if for_use == Use::Read { "SET default_transaction_read_only = on;" } else { "" };
    format!(
        "SET client_encoding = 'UTF8';
         SET search_path = \"{schema}\", pg_temp;
         SET default_transaction_isolation = 'read committed';
         {read_only}
         SET default_transaction_deferrable = off;
         SET statement_timeout = {};
         SET lock_timeout = {};
         SET idle_in_transaction_session_timeout = {idle};
         SET tcp_keepalives_idle = 5;
         SET tcp_keepalives_interval = 2;
         SET tcp_keepalives_count = 3;
         SET tcp_user_timeout = 11000;
         SET standard_conforming_strings = on;
         SET timezone = 'UTC'",
        statement_timeout(for_use).as_millis(),
        LOCK_TIMEOUT.as_millis(),
    )
}
