//! The plan of an upgrade: the tables, indexes and triggers that it changes, and the time and space that it needs.
//! Planning reads the file and changes nothing. A rehearsal finds the changes: the upgrade runs in memory, on the
//! tables of the file without their rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::super::connection::Connection;
use super::super::tx::{self, Error};
use super::super::upgrade::{Engine, EngineStep, Schema, Upgrade};
use super::connection;
use super::file::{self, OpenError};

/// The bytes that an upgrade is assumed to copy, check and rewrite in a second: about a third of the rate on two cores
/// with an ordinary disk.
const BYTES_PER_SECOND: u64 = 20_000_000;

/// The space for the write-ahead log of an upgrade that rewrites no table.
const LOG_BYTES_MIN: u64 = 1 << 20;

/// The effects of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradePlan {
    /// The version of the file.
    pub found: i64,
    /// The version after the upgrade.
    pub version: i64,
    /// The names of the upgrades, in their order.
    pub upgrades: Vec<&'static str>,
    /// The tables, indexes and triggers that change. Tables come first; each kind is sorted by name.
    pub changes: Vec<SchemaChange>,
    pub file_bytes: u64,
    /// The free space that the upgrade needs in addition to the file.
    pub space_bytes: u64,
    /// The estimated time of the upgrade.
    pub time: Duration,
}

/// A table, an index or a trigger that an upgrade changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaChange {
    /// The kind in the words of SQLite, such as "table".
    pub kind: String,
    pub name: String,
    pub effect: Effect,
}

/// The effect of an upgrade on a table, an index or a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Added,
    Removed,
    /// The definition changes, and the rows stay where they are.
    Altered,
    /// All rows are written again.
    Rebuilt,
}

impl Effect {
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Altered => "altered",
            Self::Rebuilt => "rebuilt",
        }
    }
}

/// Returns the plan of the upgrade to this schema, or `None` if the file already has the version of this schema.
///
/// # Errors
/// [`OpenError::Newer`] if the file has a newer version; [`OpenError::NotUpgraded`] if this program has no upgrade from
/// the version of the file, or if the rehearsal fails; another error if the file cannot be used.
pub(crate) fn plan(path: &Path, schema: &Schema) -> Result<Option<UpgradePlan>, OpenError> {
    let found = file::version_to_read(path)?;
    let connection = connection::open_to_read_unchanged(path).map_err(|error| OpenError::failed(path, &error))?;
    if found == schema.version {
        return Ok(None);
    }
    if found > schema.version {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: schema.version });
    }
    let planned = plan_from(&connection, schema, found);
    planned.map(Some).map_err(|error| OpenError::NotUpgraded { path: path.to_owned(), why: error.to_string() })
}

fn plan_from(connection: &Connection, schema: &Schema, found: i64) -> Result<UpgradePlan, Error> {
    let upgrades = schema.upgrades_from(found)?;
    let changes = rehearse(connection, upgrades)?;
    let number = |pragma: &str| -> Result<u64, Error> {
        let value: i64 = connection.sqlite().query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?;
        Ok(u64::try_from(value).unwrap_or_default())
    };
    let page_bytes = number("page_size")?;
    let (pages, free_pages) = (number("page_count")?, number("freelist_count")?);
    let file_bytes = pages * page_bytes;
    let copy_bytes = pages.saturating_sub(free_pages) * page_bytes;
    let writes_rows = |change: &SchemaChange| matches!(change.effect, Effect::Added | Effect::Rebuilt);
    // The sizes of the tables are unknown. In the worst case, all rows are written again: to the log, and then to the
    // file.
    let log_bytes = if changes.iter().any(writes_rows) { 2 * copy_bytes } else { LOG_BYTES_MIN };
    let space_bytes = copy_bytes + log_bytes;
    let upgrades = upgrades.iter().map(|upgrade| upgrade.name).collect();
    let time = Duration::from_secs(space_bytes / BYTES_PER_SECOND + 1);
    Ok(UpgradePlan { found, version: schema.version, upgrades, changes, file_bytes, space_bytes, time })
}

/// The tables, indexes and triggers of a file. The key is the kind and the name, and the value is the definition and
/// the number of the root page.
type Objects = BTreeMap<(String, String), (String, i64)>;

/// Runs the upgrades on the tables of the file without their rows, and returns the changes.
fn rehearse(connection: &Connection, upgrades: &[Upgrade]) -> Result<Vec<SchemaChange>, Error> {
    let memory = Connection::from(rusqlite::Connection::open_in_memory()?);
    // The file may have been crafted, so its definitions are not trusted.
    connection::defend(memory.sqlite())?;
    let mut statement = connection.sqlite().prepare(
        "SELECT sql
         FROM sqlite_schema
         WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
         ORDER BY CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 ELSE 3 END",
    )?;
    let definitions = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    memory.sqlite().execute_batch("PRAGMA foreign_keys = OFF")?;
    for definition in definitions {
        // `execute_batch` would run all statements of a definition, but SQLite itself reads only the first. A crafted
        // file can contain further statements, which could attach and change another file. `execute` refuses such a
        // definition before it runs any statement.
        memory.sqlite().execute(&definition, [])?;
    }
    let before = objects(&memory)?;
    let transaction = memory.sqlite().unchecked_transaction()?;
    for step in upgrades.iter().flat_map(|upgrade| upgrade.steps) {
        match step.of(Engine::Sqlite) {
            EngineStep::Sql(sql) => transaction.execute_batch(sql)?,
            // The outcome does not matter: code may rely on rows that are absent here, and it changes only rows.
            EngineStep::Code(run) => drop(tx::in_upgrade(&memory, run)),
        }
    }
    let after = objects(&memory)?;
    Ok(changes(&before, &after))
}

fn objects(connection: &Connection) -> Result<Objects, Error> {
    let mut statement = connection.sqlite().prepare(
        "SELECT type, name, sql, rootpage
         FROM sqlite_schema
         WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
    )?;
    let rows = statement
        .query_map([], |row| Ok(((row.get("type")?, row.get("name")?), (row.get("sql")?, row.get("rootpage")?))))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn changes(before: &Objects, after: &Objects) -> Vec<SchemaChange> {
    let mut names: Vec<_> = before.keys().chain(after.keys()).collect();
    names.sort_by_key(|(kind, name)| (kind != "table", kind, name));
    names.dedup();
    let effect = |key: &(String, String)| match (before.get(key), after.get(key)) {
        (None, _) => Some(Effect::Added),
        (_, None) => Some(Effect::Removed),
        (Some((_, old_page)), Some((_, page))) if old_page != page => Some(Effect::Rebuilt),
        (Some((old, _)), Some((new, _))) => (old != new).then_some(Effect::Altered),
    };
    let change = |key: &(String, String)| {
        effect(key).map(|effect| SchemaChange { kind: key.0.clone(), name: key.1.clone(), effect })
    };
    names.into_iter().filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::upgrade::{EngineSql, Step};
    use super::super::schema::{create, upgrade};
    use super::*;
    use crate::db::sqlite::tests;

    fn fail(_: &tx::Tx<'_>) -> Result<(), Error> {
        Err(Error::Defect("it needs rows".to_owned()))
    }

    const FIRST: Schema = Schema {
        version: 1,
        sql: EngineSql::same(
            "CREATE TABLE a (x INTEGER) STRICT; CREATE TABLE b (x INTEGER) STRICT; CREATE TABLE c (x INTEGER) STRICT;
             CREATE TABLE d (x INTEGER) STRICT; CREATE INDEX a_x ON a (x); CREATE INDEX b_x ON b (x)",
        ),
        upgrades: &[],
        companions: &[],
    };
    const REBUILD: &str = "CREATE TABLE new_b (x TEXT) STRICT; INSERT INTO new_b SELECT x FROM b; DROP TABLE b;
                           ALTER TABLE new_b RENAME TO b; CREATE INDEX b_x ON b (x)";
    const SECOND: Schema = Schema {
        version: 3,
        upgrades: &[
            Upgrade { name: "a column", steps: &[Step::Sql("ALTER TABLE a ADD COLUMN y INTEGER"), Step::Code(fail)] },
            Upgrade {
                name: "text",
                steps: &[Step::Sql(REBUILD), Step::Sql("DROP TABLE c; CREATE INDEX d_x ON d (x)")],
            },
        ],
        ..FIRST
    };

    fn file() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        create(&tests::file(&path), &FIRST).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, private).unwrap();
        (dir, path)
    }

    #[test]
    fn a_plan_names_the_upgrades_and_every_table_and_index_that_changes() {
        let (_dir, path) = file();
        let before = std::fs::read(&path).unwrap();
        let plan = plan(&path, &SECOND).unwrap().unwrap();
        assert_eq!((plan.found, plan.version, plan.upgrades), (1, 3, vec!["a column", "text"]));
        let changes: Vec<String> = plan
            .changes
            .iter()
            .map(|change| format!("{} {} {}", change.kind, change.name, change.effect.word()))
            .collect();
        assert_eq!(
            changes,
            ["table a altered", "table b rebuilt", "table c removed", "index b_x rebuilt", "index d_x added"]
        );
        assert_eq!((plan.file_bytes, plan.space_bytes), (before.len() as u64, 3 * before.len() as u64));
        assert_eq!(plan.time, Duration::from_secs(1));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        // The real upgrade makes the same changes.
        let connection = tests::file(&path);
        let old = objects(&connection).unwrap();
        const REAL: Schema = Schema {
            upgrades: &[
                Upgrade { name: "a column", steps: &[Step::Sql("ALTER TABLE a ADD COLUMN y INTEGER")] },
                SECOND.upgrades[1],
            ],
            ..SECOND
        };
        upgrade(&path, &REAL, 1).unwrap();
        let made = super::changes(&old, &objects(&connection).unwrap());
        let names = |changes: &[SchemaChange]| -> Vec<(String, bool)> {
            changes.iter().map(|change| (change.name.clone(), change.effect == Effect::Removed)).collect()
        };
        assert_eq!(names(&made), names(&plan.changes));
    }

    #[test]
    fn an_upgrade_that_rewrites_no_table_needs_space_for_the_copy_and_a_short_log() {
        const COLUMN: Schema = Schema { version: 2, upgrades: &[SECOND.upgrades[0]], ..FIRST };
        let (_dir, path) = file();
        let plan = plan(&path, &COLUMN).unwrap().unwrap();
        assert_eq!(plan.space_bytes, plan.file_bytes + LOG_BYTES_MIN);
    }

    #[test]
    fn a_file_that_needs_no_upgrade_or_cannot_be_upgraded_has_no_plan() {
        let (_dir, path) = file();
        assert_eq!(plan(&path, &FIRST).unwrap(), None);
        let set = |version: i64| {
            rusqlite::Connection::open(&path)
                .unwrap()
                .execute_batch(&format!("PRAGMA user_version = {version}"))
                .unwrap();
        };
        set(4);
        assert!(matches!(plan(&path, &SECOND), Err(OpenError::Newer { found: 4, known: 3, .. })));
        set(0);
        let refused = plan(&path, &SECOND).unwrap_err().to_string();
        assert!(refused.contains("this program never wrote databases of version 0"), "{refused}");
    }

    #[test]
    fn planning_refuses_a_definition_with_several_statements_and_runs_none_of_them() {
        let (dir, path) = file();
        let other_path = dir.path().join("other.db");
        let other = rusqlite::Connection::open(&other_path).unwrap();
        other.execute_batch("CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1)").unwrap();
        for further in ["", "; DELETE FROM v.t"] {
            let crafted = format!("CREATE TABLE d (x INTEGER) STRICT; ATTACH '{}' AS v{further}", other_path.display());
            let connection = rusqlite::Connection::open(&path).unwrap();
            connection.execute_batch("PRAGMA writable_schema = ON").unwrap();
            connection.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = 'd'", [&crafted]).unwrap();
            drop(connection);
            assert!(matches!(plan(&path, &SECOND), Err(OpenError::NotUpgraded { .. })), "{crafted}");
        }
        let rows: i64 = other.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn an_upgrade_that_would_fail_has_no_plan() {
        const BROKEN: Schema = Schema {
            version: 2,
            upgrades: &[Upgrade { name: "broken", steps: &[Step::Sql("INSERT INTO missing VALUES (1)")] }],
            ..FIRST
        };
        let (_dir, path) = file();
        let refused = plan(&path, &BROKEN).unwrap_err().to_string();
        assert!(refused.contains("no such table: missing"), "{refused}");
    }
}
