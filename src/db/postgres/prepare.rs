//! Prepares the schema before anything else uses it: recognizes it, and then creates, upgrades, accepts or refuses it.

use std::time::Duration;

use super::connection::{CommitFailure, Connection};
use super::lock::Lock;
use super::open_error::OpenError;
use super::settings::{self, Use};
use super::target::Target;
use super::writer::other_version;
use super::{counts, registration, vacuum};
use crate::db::connection::Connection as SharedConnection;
use crate::db::error::Error;
use crate::db::tx::{self, Tx};
use crate::db::upgrade::{self, Engine, EngineStep, PARTIAL_COPY_ID, Upgrade};

/// The maximum time for the commit of a new or upgraded schema.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The statements that limit how long a preparation waits. An upgrade by another server can take a minute. The wait
/// for the tables themselves is shorter, because requests would wait behind the upgrade.
const WAIT_FOR_OTHERS: &str = "SET LOCAL lock_timeout = '60s'";
const WAIT_FOR_TABLES: &str = "SET LOCAL lock_timeout = '5s'";

/// The maximum time for the answer to a statement that waits for another server of the service. It is longer than the
/// time for which the database server lets the statement wait.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(65);

/// The table that identifies the schema's program and version, as `application_id` and `user_version` do in a SQLite
/// file.
const ENGINE_SCHEMA: &str = "CREATE TABLE engine_schema (
  id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
  application_id BIGINT NOT NULL,
  version BIGINT NOT NULL
)";

/// The schema that this program needs.
pub(crate) struct Schema<'a> {
    /// The number that identifies this program.
    pub(crate) application_id: i64,
    pub(crate) tables: &'a upgrade::Schema,
}

/// The changes to the schema that a caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Creates the tables in an empty schema, and upgrades those of an older version.
    Serve,
    /// Creates the tables in an empty schema.
    Create,
    /// Changes nothing, and needs the tables of this version.
    Use,
    /// Changes nothing. Succeeds if [`Purpose::Serve`] would, as far as this can be known.
    Check,
}

/// Ensures that the schema exists and has this program's version or, with [`Purpose::Check`], that a start could create
/// or upgrade it. Does not change a schema of another program or of a newer version. Several servers may call this
/// function at the same time.
pub(crate) fn prepare(target: &Target, schema: &Schema<'_>, purpose: Purpose) -> Result<(), OpenError> {
    let connection = SharedConnection::of_postgres(settings::open(target, Use::Maintain)?);
    Preparation::new(&connection, target, schema).run(purpose)
}

/// The state of a schema.
pub(super) enum Found {
    Empty,
    Foreign,
    Unreadable,
    Version(i64),
    /// A copy that is not complete, with its version.
    PartialCopy(i64),
}

pub(super) struct Preparation<'a> {
    connection: &'a SharedConnection,
    server: String,
    schema: &'a Schema<'a>,
}

impl<'a> Preparation<'a> {
    pub(super) fn new(connection: &'a SharedConnection, target: &Target, schema: &'a Schema<'a>) -> Self {
        Self { connection, server: target.to_string(), schema }
    }

    fn run(&self, purpose: Purpose) -> Result<(), OpenError> {
        let lock = Lock::Schema.wait();
        let begin = format!("BEGIN; {WAIT_FOR_OTHERS}; {lock}; {WAIT_FOR_TABLES}");
        self.postgres().begin_within(&begin, BEGIN_TIMEOUT).map_err(|error| self.failed(&error))?;
        let done = self.decide(purpose);
        // If nothing was committed, the transaction ends here.
        let _ = self.postgres().roll_back();
        done
    }

    fn decide(&self, purpose: Purpose) -> Result<(), OpenError> {
        let (server, known) = (self.server.clone(), self.schema.tables.version);
        match self.recognize().map_err(|error| self.failed(&error))? {
            Found::Version(found) if found == known => self.require_tables().and_then(|()| self.require_rights()),
            Found::Version(found) if found > known => Err(OpenError::Newer { server, found, known }),
            Found::Version(found) => match purpose {
                Purpose::Serve => self.upgrade(found),
                Purpose::Check => self.require_ownership().and_then(|()| self.upgrades(found).map(drop)),
                Purpose::Create | Purpose::Use => Err(OpenError::Older { server, found, known }),
            },
            Found::Empty => match purpose {
                Purpose::Serve | Purpose::Create => self.create(""),
                Purpose::Check => self.require_right_to_create(),
                Purpose::Use => Err(OpenError::Missing { schema: self.name()?, server }),
            },
            Found::PartialCopy(_) => Err(OpenError::PartialCopy { schema: self.name()?, server }),
            Found::Foreign => Err(OpenError::Foreign { schema: self.name()?, server }),
            Found::Unreadable => self.require_rights(),
        }
    }

    fn postgres(&self) -> &Connection {
        self.connection.as_postgres()
    }

    /// Recognizes the schema. A table `engine_schema` of another program has other columns or another number.
    pub(super) fn recognize(&self) -> Result<Found, Error> {
        let sql = "SELECT CASE
                     WHEN mark IS NULL AND EXISTS (
                       SELECT FROM pg_class
                       WHERE relnamespace = current_schema()::regnamespace
                         AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
                     ) THEN 'foreign'
                     WHEN mark IS NULL THEN 'empty'
                     WHEN (
                       SELECT count(*) FROM pg_attribute
                       WHERE attrelid = mark AND atttypid = 'bigint'::regtype
                         AND attname IN ('id', 'application_id', 'version')
                     ) < 3 THEN 'foreign'
                     WHEN NOT has_table_privilege(mark, 'SELECT') THEN 'unreadable'
                     ELSE 'marked'
                   END
                   FROM to_regclass(quote_ident(current_schema()) || '.engine_schema') AS mark";
        match self.first(sql)?.as_deref() {
            Some("marked") => {}
            Some("empty") => return Ok(Found::Empty),
            Some("unreadable") => return Ok(Found::Unreadable),
            _ => return Ok(Found::Foreign),
        }
        if let Some(version) = self.version_of(PARTIAL_COPY_ID)? {
            return Ok(Found::PartialCopy(version));
        }
        Ok(self.version_of(self.schema.application_id)?.map_or(Found::Foreign, Found::Version))
    }

    fn version_of(&self, application_id: i64) -> Result<Option<i64>, Error> {
        let sql = format!("SELECT version FROM engine_schema WHERE application_id = {application_id}");
        Ok(self.first(&sql)?.and_then(|text| text.parse().ok()))
    }

    /// Creates the tables in a transaction that has begun, runs further statements, and commits.
    pub(super) fn create(&self, then: &str) -> Result<(), OpenError> {
        self.require_right_to_create()?;
        let mark = format!(
            "INSERT INTO engine_schema (id, application_id, version) VALUES (1, {}, {})",
            self.schema.application_id, self.schema.tables.version
        );
        let tables = self.schema.tables.sql.of(Engine::Postgres);
        for sql in [ENGINE_SCHEMA, registration::TABLE, vacuum::TABLE, counts::TABLE, tables, &mark, then] {
            self.postgres().batch(sql).map_err(|error| self.failed(&error))?;
        }
        self.commit()
    }

    /// Upgrades the tables. During the upgrade, no other server writes, because every transaction that writes records
    /// holds the lock of the writers, and checks the version under this lock.
    fn upgrade(&self, found: i64) -> Result<(), OpenError> {
        self.require_ownership()?;
        let upgrades = self.upgrades(found)?;
        self.run_steps(upgrades).map_err(|error| OpenError::of_upgrade(&self.server, &error))?;
        self.commit()
    }

    fn run_steps(&self, upgrades: &[Upgrade]) -> Result<(), Error> {
        self.postgres().batch(&Lock::Writer.wait())?;
        for step in upgrades.iter().flat_map(|upgrade| upgrade.steps) {
            match step.of(Engine::Postgres) {
                EngineStep::Sql(sql) => self.postgres().batch(sql)?,
                EngineStep::Code(run) => tx::in_upgrade(self.connection, run)?,
            }
        }
        self.postgres().batch(&format!("UPDATE engine_schema SET version = {}", self.schema.tables.version))
    }

    fn upgrades(&self, found: i64) -> Result<&'static [Upgrade], OpenError> {
        self.schema.tables.upgrades_from(found).map_err(|error| self.failed(&error))
    }

    fn commit(&self) -> Result<(), OpenError> {
        self.postgres().commit(COMMIT_TIMEOUT).map_err(|failure| match failure {
            CommitFailure::RolledBack(error, _) => self.failed(&error),
            // The next start finds the new schema, or the one before it.
            CommitFailure::Unknown(why) => self.failed(&Error::Unavailable(why)),
        })
    }

    fn require_right_to_create(&self) -> Result<(), OpenError> {
        let sql = "SELECT has_schema_privilege(current_schema(), 'CREATE')";
        if self.first(sql).map_err(|error| self.failed(&error))?.as_deref() == Some("t") {
            return Ok(());
        }
        Err(self.lacks_right(format!("the user may not create tables in the schema {}", self.name()?)))
    }

    /// Requires the right to change the tables, which only their owner has.
    fn require_ownership(&self) -> Result<(), OpenError> {
        let sql = "SELECT relname || ' belongs to ' || pg_get_userbyid(relowner)
                   FROM pg_class
                   WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
                     AND NOT pg_has_role(relowner, 'USAGE')
                   ORDER BY relname
                   LIMIT 1";
        match self.first(sql).map_err(|error| self.failed(&error))? {
            Some(table) => Err(self.lacks_right(format!("the table {table}, and only its owner can upgrade it"))),
            None => Ok(()),
        }
    }

    /// Requires all tables of this version. An interrupted restore with the tools of PostgreSQL creates only some of
    /// them.
    fn require_tables(&self) -> Result<(), OpenError> {
        let texts = [registration::TABLE, vacuum::TABLE, counts::TABLE, self.schema.tables.sql.of(Engine::Postgres)];
        let names: Vec<&str> = texts.into_iter().flat_map(table_names).collect();
        let sql = format!(
            "SELECT name
             FROM unnest(ARRAY['{}']) AS name
             WHERE to_regclass(quote_ident(current_schema()) || '.' || quote_ident(name)) IS NULL
             LIMIT 1",
            names.join("', '")
        );
        match self.first(&sql).map_err(|error| self.failed(&error))? {
            Some(table) => Err(OpenError::Incomplete { server: self.server.clone(), schema: self.name()?, table }),
            None => Ok(()),
        }
    }

    /// Requires the rights to read and write all tables.
    pub(super) fn require_rights(&self) -> Result<(), OpenError> {
        let sql = "SELECT relname || ' needs SELECT, INSERT, UPDATE and DELETE'
                   FROM pg_class
                   WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
                     AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
                              AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))
                   ORDER BY relname
                   LIMIT 1";
        match self.first(sql).map_err(|error| self.failed(&error))? {
            Some(table) => Err(self.lacks_right(format!("the table {table}"))),
            None => Ok(()),
        }
    }

    fn lacks_right(&self, missing: String) -> OpenError {
        OpenError::Rights { server: self.server.clone(), missing }
    }

    fn failed(&self, error: &Error) -> OpenError {
        OpenError::of_statement(&self.server, error)
    }

    pub(super) fn name(&self) -> Result<String, OpenError> {
        Ok(self.first("SELECT current_schema()").map_err(|error| self.failed(&error))?.unwrap_or_default())
    }

    fn first(&self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self.postgres().texts(sql)?.into_iter().next().flatten())
    }
}

/// Returns a sentence if the tables no longer have this version, because a newer server has upgraded them.
pub(crate) fn version_refusal(tx: &Tx<'_>, known: i64) -> Result<Option<String>, Error> {
    let found: Option<i64> = tx.value("SELECT version FROM engine_schema", [])?;
    Ok(found.filter(|found| *found != known).map(|found| other_version(found, known)))
}

/// Returns the names of the tables that these statements create. Each such statement begins a line.
fn table_names<'a>(sql: &'a str) -> impl Iterator<Item = &'a str> {
    let after_verb = |line: &'a str| line.strip_prefix("CREATE TABLE ").or(line.strip_prefix("CREATE UNLOGGED TABLE "));
    sql.lines().filter_map(move |line| after_verb(line)?.split([' ', '(']).next())
}
