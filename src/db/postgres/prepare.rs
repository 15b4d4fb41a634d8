//! Prepares the schema before anything else uses it: creates, recognizes or refuses it.

use std::time::Duration;

use super::connection::{CommitFailure, Connection};
use super::lock::Lock;
use super::open_error::OpenError;
use super::registration;
use super::settings::{self, Use};
use super::target::Target;
use crate::db::error::Error;

/// The time for the commit of a new schema.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The table that shows whose schema this is, as `application_id` and `user_version` do in a SQLite file.
const ENGINE_SCHEMA: &str = "CREATE TABLE engine_schema (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  application_id BIGINT NOT NULL,
  version BIGINT NOT NULL
)";

/// The schema that this program needs.
pub(crate) struct Schema {
    /// The number of this program.
    pub(crate) application_id: i64,
    pub(crate) version: i64,
    /// The statements that create the tables.
    pub(crate) sql: &'static str,
}

/// How to handle an empty schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Refuse,
}

enum Found {
    Empty,
    Foreign,
    Version(i64),
}

/// Ensures that the schema exists and has this program's version. Does not change a schema of another program or of
/// another version. Several servers may do this at the same time.
pub(crate) fn prepare(target: &Target, schema: &Schema, missing: Missing) -> Result<(), OpenError> {
    let connection = settings::open(target, Use::Write)?;
    let server = target.to_string();
    let failed = |error: Error| OpenError::Failed { server: target.to_string(), why: error.to_string() };
    connection.begin(&format!("BEGIN; {}", Lock::Schema.wait())).map_err(failed)?;
    match recognize(&connection, schema).map_err(failed)? {
        Found::Version(found) if found == schema.version => {
            let rights = missing_rights(&connection).map_err(failed)?;
            connection.roll_back().map_err(failed)?;
            rights.map_or(Ok(()), |missing| Err(OpenError::Rights { server, missing }))
        }
        Found::Version(found) if found > schema.version => {
            Err(OpenError::Newer { server, found, known: schema.version })
        }
        Found::Version(found) => Err(OpenError::Older { server, found, known: schema.version }),
        Found::Empty if missing == Missing::Create => create(&connection, target, schema),
        Found::Empty => Err(OpenError::Missing { schema: name(&connection).map_err(failed)?, server }),
        Found::Foreign => Err(OpenError::Foreign { schema: name(&connection).map_err(failed)?, server }),
    }
}

fn recognize(connection: &Connection, schema: &Schema) -> Result<Found, Error> {
    let sql = "SELECT to_regclass(quote_ident(current_schema()) || '.engine_schema') IS NOT NULL";
    let is_marked = first(connection, sql)?.as_deref() == Some("t");
    if !is_marked {
        let sql = "SELECT count(*)
                   FROM pg_class
                   JOIN pg_namespace ON pg_namespace.oid = relnamespace
                   WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')";
        let is_empty = first(connection, sql)?.as_deref() == Some("0");
        return Ok(if is_empty { Found::Empty } else { Found::Foreign });
    }
    let sql = format!("SELECT version FROM engine_schema WHERE application_id = {}", schema.application_id);
    let version = first(connection, &sql)?.and_then(|text| text.parse().ok());
    Ok(version.map_or(Found::Foreign, Found::Version))
}

fn create(connection: &Connection, target: &Target, schema: &Schema) -> Result<(), OpenError> {
    let may_create = "SELECT has_schema_privilege(current_schema(), 'CREATE')";
    let failed = |error: Error| OpenError::Failed { server: target.to_string(), why: error.to_string() };
    if first(connection, may_create).map_err(failed)?.as_deref() != Some("t") {
        let missing = format!("it may not create tables in the schema {}", name(connection).map_err(failed)?);
        return Err(OpenError::Rights { server: target.to_string(), missing });
    }
    let mark = format!(
        "INSERT INTO engine_schema (id, application_id, version) VALUES (1, {}, {})",
        schema.application_id, schema.version
    );
    for sql in [ENGINE_SCHEMA, registration::TABLE, schema.sql, &mark] {
        connection.batch(sql).map_err(failed)?;
    }
    connection.commit(COMMIT_TIMEOUT).map_err(|failure| match failure {
        CommitFailure::RolledBack(error, _) => failed(error),
        // The next start finds the schema, or none.
        CommitFailure::Unknown(why) => failed(Error::Unavailable(why)),
    })
}

/// Returns the first table on which the user lacks a right, with all rights that the user needs.
fn missing_rights(connection: &Connection) -> Result<Option<String>, Error> {
    let sql = "SELECT relname || ' needs SELECT, INSERT, UPDATE and DELETE'
               FROM pg_class
               JOIN pg_namespace ON pg_namespace.oid = relnamespace
               WHERE nspname = current_schema() AND relkind IN ('r', 'p')
                 AND NOT (has_table_privilege(pg_class.oid, 'SELECT') AND has_table_privilege(pg_class.oid, 'INSERT')
                          AND has_table_privilege(pg_class.oid, 'UPDATE') AND has_table_privilege(pg_class.oid, 'DELETE'))
               ORDER BY relname
               LIMIT 1";
    Ok(first(connection, sql)?.map(|table| format!("the table {table}")))
}

fn name(connection: &Connection) -> Result<String, Error> {
    Ok(first(connection, "SELECT current_schema()")?.unwrap_or_default())
}

fn first(connection: &Connection, sql: &str) -> Result<Option<String>, Error> {
    Ok(connection.texts(sql)?.into_iter().next().flatten())
}
