//! A PostgreSQL database as the source or the destination of a copy.
//!
//! The tables of a destination first have neither the indexes nor the foreign keys of the schema, because the server
//! creates them faster when all rows are there. The triggers are disabled, because their effects are copied as rows.
//! The statements that create the rest are in `engine_copy_steps`, so that an interrupted copy can continue with them.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::connection::Connection;
use super::lock::Lock;
use super::open_error::OpenError;
use super::prepare::{self, Found, Preparation, Purpose, Schema};
use super::settings::{self, Use};
use super::target::Target;
use super::value::Parameter;
use crate::db::connection::Connection as SharedConnection;
use crate::db::error::Error;
use crate::db::location::shown;
use crate::db::sqlite::file::OpenError as SharedOpenError;
use crate::db::sqlite::schema::APPLICATION_ID;
use crate::db::transfer::chunk::Chunk;
use crate::db::transfer::error::TransferError;
use crate::db::transfer::table::{self, Table, quoted};
use crate::db::upgrade::{PARTIAL_COPY_ID, Schema as SharedSchema};

/// The maximum time to wait for the locks, and the pause between two attempts to take one. The server may still be
/// ending the session of a copy that was killed.
const LOCK_WAIT: Duration = Duration::from_secs(15);
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// The tables that hold the state of a copy.
const STATE: &str = "CREATE TABLE engine_copy (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1),
  source bytea NOT NULL CHECK (length(source) = 32)
);
CREATE TABLE engine_copy_steps (
  number bigint NOT NULL PRIMARY KEY,
  sql text NOT NULL
);";

/// Moves indexes and foreign keys into steps, disables triggers, and deletes the rows that the schema inserts.
const STRIP: &str = "DO $$
DECLARE
  part record;
BEGIN
  INSERT INTO engine_copy_steps (number, sql)
  SELECT row_number() OVER (ORDER BY kind, name), sql
  FROM (
    SELECT 1 AS kind, indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS sql
    FROM pg_index
    JOIN pg_class ON pg_class.oid = indrelid
    WHERE relnamespace = current_schema()::regnamespace
      AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)
    UNION ALL
    SELECT 2, conname, format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
      pg_get_constraintdef(oid))
    FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace AND contype = 'f'
  ) AS steps;
  FOR part IN SELECT conrelid::regclass AS of_table, conname FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace AND contype = 'f'
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', part.of_table, part.conname);
  END LOOP;
  FOR part IN SELECT indexrelid::regclass AS of_index FROM pg_index
    JOIN pg_class ON pg_class.oid = indrelid
    WHERE relnamespace = current_schema()::regnamespace
      AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)
  LOOP
    EXECUTE format('DROP INDEX %s', part.of_index);
  END LOOP;
  FOR part IN SELECT oid::regclass AS of_table FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname NOT LIKE 'engine\\_%'
  LOOP
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', part.of_table);
    EXECUTE format('DELETE FROM %s', part.of_table);
  END LOOP;
END $$;";

/// Enables the triggers, lets each identity column continue after its greatest value, and drops the tables of
/// [`STATE`].
const RESTORE: &str = "DO $$
DECLARE
  part record;
BEGIN
  FOR part IN SELECT oid::regclass AS of_table FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname NOT LIKE 'engine\\_%'
  LOOP
    EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', part.of_table);
  END LOOP;
  FOR part IN SELECT attrelid::regclass AS of_table, attname FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attidentity <> ''
  LOOP
    EXECUTE format('SELECT setval(pg_get_serial_sequence(%L, %L), max(%I)) FROM %s HAVING max(%I) IS NOT NULL',
      part.of_table, part.attname, part.attname, part.of_table, part.attname);
  END LOOP;
  DROP TABLE engine_copy;
  DROP TABLE engine_copy_steps;
END $$;";

/// Opens a database that no service uses, and prevents services and commands from writing records to it.
pub(in super::super) fn open_source(db: &Path, schema: &SharedSchema) -> Result<SharedConnection, TransferError> {
    let target = Target::of(db).map_err(refused)?;
    prepare::prepare(&target, &of_server(schema, APPLICATION_ID), Purpose::Use).map_err(refused)?;
    let connection = settings::open(&target, Use::Maintain).map_err(refused)?;
    lock(&connection, db)?;
    Ok(SharedConnection::of_postgres(connection))
}

/// Opens an empty schema or an interrupted copy. Returns whether it is an interrupted copy.
pub(in super::super) fn open_destination(
    db: &Path,
    schema: &SharedSchema,
) -> Result<(SharedConnection, bool), TransferError> {
    let target = Target::of(db).map_err(refused)?;
    let connection = SharedConnection::of_postgres(settings::open(&target, Use::Maintain).map_err(refused)?);
    let of_service = of_server(schema, APPLICATION_ID);
    let preparation = Preparation::new(&connection, &target, &of_service);
    let is_partial = match preparation.recognize().map_err(|error| failed(db, error))? {
        Found::Empty => false,
        Found::PartialCopy(found) if found == schema.version => true,
        Found::PartialCopy(found) => {
            return Err(TransferError::OtherVersion { shown: shown(db), found, known: schema.version });
        }
        Found::Version(_) => return Err(TransferError::NotEmpty(shown(db))),
        Found::Unreadable => {
            preparation.require_rights().map_err(refused)?;
            return Err(TransferError::NotEmpty(shown(db)));
        }
        Found::Foreign => {
            let schema = preparation.name().map_err(refused)?;
            return Err(refused(OpenError::Foreign { server: target.to_string(), schema }).into());
        }
    };
    lock(connection.as_postgres(), db)?;
    Ok((connection, is_partial))
}

/// Creates the tables in an empty schema, in one transaction.
pub(in super::super) fn create_destination(
    connection: &SharedConnection,
    db: &Path,
    schema: &SharedSchema,
    state: &[u8; 32],
) -> Result<(), TransferError> {
    let target = Target::of(db).map_err(refused)?;
    let schema = of_server(schema, PARTIAL_COPY_ID);
    let preparation = Preparation::new(connection, &target, &schema);
    connection.as_postgres().begin(&format!("BEGIN; {}", Lock::Schema.wait())).map_err(|error| failed(db, error))?;
    // The schema may have been filled since it was recognized.
    if !matches!(preparation.recognize().map_err(|error| failed(db, error))?, Found::Empty) {
        return Err(TransferError::NotEmpty(shown(db)));
    }
    let source: String = state.iter().map(|byte| format!("{byte:02x}")).collect();
    let mark = format!("{STATE} INSERT INTO engine_copy (id, source) VALUES (1, '\\x{source}'); {STRIP}");
    Ok(preparation.create(&mark).map_err(refused)?)
}

/// Adds rows with one statement, whose parameters are the columns as arrays.
pub(in super::super) fn add(connection: &SharedConnection, table: &Table, chunk: &Chunk) -> Result<(), Error> {
    let array = |(at, column): (usize, &table::Column)| match column.kind {
        table::Kind::Integer => format!("${}::bigint[]", at + 1),
        table::Kind::Real => format!("${}::double precision[]", at + 1),
        table::Kind::Text => format!("${}::text[]", at + 1),
        table::Kind::Blob => format!("${}::bytea[]", at + 1),
    };
    let arrays: Vec<String> = table.columns.iter().enumerate().map(array).collect();
    let (name, columns) = (quoted(&table.name), table.column_list());
    let sql = format!("INSERT INTO {name} ({columns}) SELECT * FROM unnest({})", arrays.join(", "));
    let columns: Vec<ColumnArray<'_>> = (0..table.columns.len()).map(|column| ColumnArray { chunk, column }).collect();
    let params: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|column| column as _).collect();
    connection.as_postgres().execute_typed(&sql, &params).map(drop)
}

/// Runs the steps, each in a transaction, and then collects statistics.
pub(in super::super) fn complete(connection: &SharedConnection) -> Result<(), Error> {
    let connection = connection.as_postgres();
    // This setting makes the sorts for indexes faster. It applies only to this session.
    connection.batch("SET maintenance_work_mem = '128MB'")?;
    let numbers = connection.texts("SELECT number FROM engine_copy_steps ORDER BY number")?;
    for number in numbers.into_iter().flatten() {
        let step = connection.texts(&format!("SELECT sql FROM engine_copy_steps WHERE number = {number}"))?;
        let step = step.into_iter().flatten().next().unwrap_or_default();
        connection.begin("BEGIN")?;
        let run = format!("{step}; DELETE FROM engine_copy_steps WHERE number = {number}");
        let done = connection.batch(&run).and_then(|()| connection.commit_alone());
        done.inspect_err(|_| drop(connection.roll_back()))?;
    }
    connection.batch("ANALYZE")
}

/// Makes the copy a database of the service. The caller must have begun a transaction.
pub(in super::super) fn publish(connection: &SharedConnection) -> Result<(), Error> {
    let mark = format!("UPDATE engine_schema SET application_id = {APPLICATION_ID} WHERE id = 1");
    connection.as_postgres().batch(&format!("{RESTORE} {mark}"))
}

/// Takes the locks of writers and of background work, for as long as the connection lasts. A running service holds the
/// lock of background work, and no program writes records of the service without the lock of writers.
fn lock(connection: &Connection, db: &Path) -> Result<(), TransferError> {
    let begun = Instant::now();
    for lock in [Lock::BackgroundWork, Lock::Writer] {
        let sql = lock.try_for_session();
        while connection.texts(&sql).map_err(|error| failed(db, error))?.first() != Some(&Some("t".to_owned())) {
            if begun.elapsed() >= LOCK_WAIT {
                return Err(TransferError::InUse(shown(db)));
            }
            std::thread::sleep(LOCK_PAUSE);
        }
    }
    Ok(())
}

fn of_server(tables: &SharedSchema, application_id: i64) -> Schema<'_> {
    Schema { application_id, tables }
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass this function to `map_err`")]
fn refused(error: OpenError) -> SharedOpenError {
    SharedOpenError::Server { why: error.to_string(), may_pass: error.may_pass() }
}

fn failed(db: &Path, error: Error) -> TransferError {
    TransferError::of_statement(&shown(db), error)
}

/// A column of a chunk as an array.
#[derive(Debug)]
struct ColumnArray<'a> {
    chunk: &'a Chunk,
    column: usize,
}

impl ToSql for ColumnArray<'_> {
    /// Writes the binary form of an array with one dimension: the number of dimensions, whether it has nulls, the type
    /// of the elements, their number, the index of the first, and each element after its length, which is -1 for null.
    fn to_sql(&self, to: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Kind::Array(element) = to.kind() else { return Err(format!("{to} is not an array type").into()) };
        let rows = self.chunk.rows();
        out.extend_from_slice(&1_i32.to_be_bytes());
        out.extend_from_slice(&1_i32.to_be_bytes());
        out.extend_from_slice(&element.oid().to_be_bytes());
        out.extend_from_slice(&i32::try_from(rows)?.to_be_bytes());
        out.extend_from_slice(&1_i32.to_be_bytes());
        for row in 0..rows {
            let at = out.len();
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            if let IsNull::No = Parameter(self.chunk.value(row, self.column)).to_sql(element, out)? {
                let length = i32::try_from(out.len() - at - 4)?;
                out[at..at + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
