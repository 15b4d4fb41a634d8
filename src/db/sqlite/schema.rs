//! The creation of a file, and the upgrade of an older file. This module does not depend on any table: the layer above
//! passes the schema in.
//!
//! An upgrade creates a checked copy of the file, or reuses the copy of a killed upgrade, and runs all steps in one
//! transaction.

use std::path::{Path, PathBuf};

use rusqlite::TransactionBehavior;

use super::super::connection::Connection;
use super::super::tx::{self, Error};
use super::super::upgrade::{Engine, EngineStep, Schema, Upgrade};
use super::check;
use super::connection::{self, Use};
use super::copy_comparison::is_copy_of;
use super::file::backup::backup_if;
use super::gentle::Interrupt;
use super::path::beside;

/// The `PRAGMA application_id` of this program's files: "RPka" in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x5250_6b61;

/// Fills an empty file in one transaction. Does nothing if another process has just filled it.
pub(crate) fn create(connection: &Connection, schema: &Schema) -> Result<(), Error> {
    use_wal(connection)?;
    let tx = rusqlite::Transaction::new_unchecked(connection.sqlite(), TransactionBehavior::Immediate)?;
    if user_version(connection)? == 0 {
        tx.execute_batch(schema.sql.of(Engine::Sqlite))?;
        tx.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {};",
            schema.version
        ))?;
    }
    tx.commit()?;
    Ok(())
}

/// Switches the file to a write-ahead log. A new file and a backup do not use one yet.
pub(crate) fn use_wal(connection: &Connection) -> Result<(), Error> {
    let mode: String = connection.sqlite().query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        Ok(())
    } else {
        Err(Error::Defect(format!("the file system does not allow a write-ahead log (the mode is {mode})")))
    }
}

/// Upgrades a file from an older version. First creates a checked copy next to the file (`FILE.before-version-N`, where
/// N is the new version). If a killed upgrade left a copy, and the file has not changed since then, that copy is
/// reused. Then runs all steps in one transaction.
pub(crate) fn upgrade(path: &Path, schema: &Schema, found: i64) -> Result<(), Error> {
    let upgrades = schema.upgrades_from(found)?;
    let connection = connection::open(path, Use::Write)?;
    let names = copy_names(path, schema.version);
    if names.iter().any(|copy| is_copy_of(&connection, copy)) {
        // A killed upgrade left the copy, and the file has not changed since then.
        return run_steps(&connection, schema.version, upgrades);
    }
    let copy = create_copy(path, schema, names)?;
    let upgraded = run_steps(&connection, schema.version, upgrades);
    if upgraded.is_err() {
        // The file is unchanged, so the copy is not needed.
        let _ = std::fs::remove_file(copy);
    }
    upgraded
}

fn run_steps(connection: &Connection, version: i64, upgrades: &[Upgrade]) -> Result<(), Error> {
    // Foreign keys are off while steps rebuild tables, and are checked before the commit. The pragma has no effect
    // inside a transaction, so it is set before the transaction begins.
    connection.sqlite().execute_batch("PRAGMA foreign_keys = OFF")?;
    let tx = rusqlite::Transaction::new_unchecked(connection.sqlite(), TransactionBehavior::Immediate)?;
    for step in upgrades.iter().flat_map(|upgrade| upgrade.steps) {
        match step.of(Engine::Sqlite) {
            EngineStep::Sql(sql) => tx.execute_batch(sql)?,
            EngineStep::Code(run) => tx::in_upgrade(connection, run)?,
        }
    }
    let dangling: i64 = tx.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
    if dangling > 0 {
        return Err(Error::Defect(format!("the upgrade would leave dangling references ({dangling})")));
    }
    tx.execute_batch(&format!("PRAGMA user_version = {version}"))?;
    tx.commit()?;
    Ok(())
}

/// Returns the names of existing copies, followed by the first free name.
fn copy_names(path: &Path, version: i64) -> Vec<PathBuf> {
    let suffix = format!(".before-version-{version}");
    let mut names = Vec::new();
    loop {
        let nth = names.len() + 1;
        let name = beside(path, &if nth == 1 { suffix.clone() } else { format!("{suffix}.{nth}") });
        let is_free = !name.exists();
        names.push(name);
        if is_free {
            return names;
        }
    }
}

/// Creates a copy under the last of these names, which is free. The copy gets its name when it is complete and checked.
fn create_copy(path: &Path, schema: &Schema, mut names: Vec<PathBuf>) -> Result<PathBuf, Error> {
    let unavailable = |why: String| Error::Unavailable(format!("no copy could be created before the upgrade: {why}"));
    let copy = names.pop().ok_or_else(|| unavailable("every name is taken".to_owned()))?;
    backup_if(path, &copy, schema.companions, &Interrupt::default(), check::require_intact)
        .map_err(|error| unavailable(error.to_string()))?;
    Ok(copy)
}

fn user_version(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.sqlite().query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::super::super::upgrade::{Companion, EngineSql, Step};
    use super::*;
    use crate::db::sqlite::tests;

    const FIRST: Schema = Schema {
        version: 1,
        sql: EngineSql::same("CREATE TABLE a (x INTEGER) STRICT"),
        upgrades: &[],
        companions: &[],
    };
    const THIRD: Schema = Schema {
        version: 3,
        sql: EngineSql::same(""),
        upgrades: &[
            Upgrade { name: "a second column", steps: &[Step::Sql("ALTER TABLE a ADD COLUMN y INTEGER")] },
            Upgrade { name: "a row", steps: &[Step::Sql("INSERT INTO a (x, y) VALUES (3, 4)")] },
        ],
        companions: &[],
    };
    const BROKEN: Schema = Schema {
        version: 3,
        sql: EngineSql::same(""),
        upgrades: &[
            Upgrade { name: "a second column", steps: &[Step::Sql("ALTER TABLE a ADD COLUMN y INTEGER")] },
            Upgrade { name: "a row", steps: &[Step::Sql("INSERT INTO b VALUES (1)")] },
        ],
        companions: &[],
    };

    fn first_file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        create(&tests::file(&path), &FIRST).unwrap();
        (dir, path)
    }

    fn columns(path: &Path) -> i64 {
        let sql = "SELECT count(*) FROM pragma_table_info('a')";
        rusqlite::Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Returns the definitions of all tables and indexes, without white space, because `ALTER TABLE … ADD COLUMN`
    /// formats a definition in its own way.
    fn tables(path: &Path) -> Vec<String> {
        let connection = rusqlite::Connection::open(path).unwrap();
        let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").unwrap();
        let tables = statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
        let mut tables: Vec<_> = tables.map(|sql| sql.split_whitespace().collect()).collect();
        tables.sort();
        tables
    }

    #[test]
    fn an_upgrade_that_adds_a_column_produces_the_same_tables_as_a_new_file() {
        let (_old, old) = first_file();
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("new.db");
        let sql = "CREATE TABLE a (\n  x INTEGER,\n  y INTEGER\n) STRICT";
        let (version, sql, companions) = (3, EngineSql::same(sql), &[] as &[Companion]);
        create(&tests::file(&new), &Schema { version, sql, upgrades: &[], companions }).unwrap();
        upgrade(&old, &THIRD, 1).unwrap();
        assert_eq!(tables(&old), tables(&new));
    }

    #[test]
    fn an_upgrade_runs_code_and_changes_nothing_if_the_code_fails() {
        fn double(tx: &tx::Tx<'_>) -> Result<(), Error> {
            tx.run("UPDATE a SET x = 2 * x", []).map(drop)
        }
        fn fail(_: &tx::Tx<'_>) -> Result<(), Error> {
            Err(Error::Defect("it fails".to_owned()))
        }
        const DOUBLE: Upgrade = Upgrade { name: "doubled", steps: &[Step::Code(double)] };
        const FAIL: Upgrade = Upgrade { name: "failing", steps: &[Step::Code(double), Step::Code(fail)] };
        const SECOND: Schema = Schema { version: 2, upgrades: &[DOUBLE], ..FIRST };
        const FAILING: Schema = Schema { version: 2, upgrades: &[FAIL], ..FIRST };
        let (_dir, path) = first_file();
        rusqlite::Connection::open(&path).unwrap().execute_batch("INSERT INTO a (x) VALUES (4)").unwrap();
        let x = || -> i64 {
            rusqlite::Connection::open(&path).unwrap().query_row("SELECT x FROM a", [], |row| row.get(0)).unwrap()
        };
        assert!(upgrade(&path, &FAILING, 1).is_err());
        assert_eq!(x(), 4);
        upgrade(&path, &SECOND, 1).unwrap();
        assert_eq!(x(), 8);
    }

    #[test]
    fn an_upgrade_runs_every_step_and_leaves_a_copy_of_the_old_file() {
        let (_dir, path) = first_file();
        upgrade(&path, &THIRD, 1).unwrap();
        assert_eq!(user_version(&tests::file(&path)).unwrap(), 3);
        assert_eq!(columns(&path), 2);
        assert_eq!(columns(&beside(&path, ".before-version-3")), 1);
    }

    #[test]
    fn an_upgrade_does_not_overwrite_the_copy_of_an_earlier_upgrade() {
        let (_dir, path) = first_file();
        std::fs::write(beside(&path, ".before-version-3"), "earlier").unwrap();
        upgrade(&path, &THIRD, 1).unwrap();
        assert_eq!(std::fs::read(beside(&path, ".before-version-3")).unwrap(), b"earlier");
        assert_eq!(columns(&beside(&path, ".before-version-3.2")), 1);
    }

    #[test]
    fn the_copy_of_a_killed_upgrade_is_reused_if_the_file_has_not_changed() {
        let (_dir, path) = first_file();
        let count = || {
            let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().contains("before-version")).count()
        };
        let insert = |sql: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        insert("INSERT INTO a (x) VALUES (1), (2)");
        // The state after two upgrades that were killed when their copies were complete, with a change of the file in
        // between.
        create_copy(&path, &THIRD, copy_names(&path, 3)).unwrap();
        insert("UPDATE a SET x = 5 WHERE x = 2");
        let connection = connection::open(&path, Use::Write).unwrap();
        assert!(!is_copy_of(&connection, &beside(&path, ".before-version-3")));
        let copy = create_copy(&path, &THIRD, copy_names(&path, 3)).unwrap();
        assert_eq!((copy.clone(), count()), (beside(&path, ".before-version-3.2"), 2));
        assert!(is_copy_of(&connection, &copy));
        drop(connection);
        let mut damaged = std::fs::read(&copy).unwrap();
        upgrade(&path, &THIRD, 1).unwrap();
        assert_eq!((count(), columns(&path), columns(&copy)), (2, 2, 1));
        // A damaged copy is not reused.
        let last = damaged.len() - 1;
        damaged[last] ^= 0xff;
        std::fs::write(&copy, &damaged).unwrap();
        assert!(!is_copy_of(&connection::open(&path, Use::Write).unwrap(), &copy));
    }

    #[test]
    fn a_failing_step_leaves_the_file_unchanged() {
        let (_dir, path) = first_file();
        assert!(upgrade(&path, &BROKEN, 1).is_err());
        assert_eq!(user_version(&tests::file(&path)).unwrap(), 1);
        assert_eq!(columns(&path), 1);
        let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
        let copies = names.filter(|name| name.to_string_lossy().contains("before-version")).count();
        assert_eq!(copies, 0, "a failed upgrade leaves no copy");
    }
}
