//! The schema's version, and the way from an older file to this one.
//!
//! To change the schema: change `schema.sql`, add one to the version, and append to the upgrades a file of statements
//! (`upgrade/N.sql`), with code beside it for what statements cannot compute, that takes a file of the version before to this one. A test holds that both ways end at the same
//! tables.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use super::connection::{self, Use};
use super::file;
use super::same::is_copy_of;
use super::tx::{self, Error};
use crate::store::{activity, candidate, check, document};

/// What marks a SQLite file as this program's (`PRAGMA application_id`): "RPka" in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x5250_6b61;

/// A schema and the upgrades that lead to it.
pub(crate) struct Schema {
    /// `PRAGMA user_version` of its files.
    pub version: i64,
    /// The statements that make an empty file one of this version.
    pub sql: &'static str,
    /// What takes a file of version `n + 1` to `n + 2`, at index `n`.
    pub upgrades: &'static [&'static [Step]],
}

/// A part of the way from one version to the next.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// Statements.
    Sql(&'static str),
    /// What statements cannot compute.
    Code(fn(&tx::Tx<'_>) -> Result<(), Error>),
}

/// The schema of this program.
pub(crate) const CURRENT: Schema = Schema {
    version: 8,
    sql: include_str!("../../schema.sql"),
    upgrades: &[
        &[Step::Sql(include_str!("../store/upgrade/2.sql"))],
        &[Step::Sql(include_str!("../store/upgrade/3.sql"))],
        &[Step::Sql(include_str!("../store/upgrade/4.sql"))],
        &[Step::Sql(include_str!("../store/upgrade/5.sql"))],
        &[
            Step::Sql(include_str!("../store/upgrade/6.sql")),
            Step::Code(candidate::words::index_all),
            Step::Code(activity::chain_all),
            Step::Sql(include_str!("../store/upgrade/6_activities.sql")),
        ],
        &[Step::Sql(include_str!("../store/upgrade/7.sql"))],
        &[
            Step::Sql(include_str!("../store/upgrade/8.sql")),
            Step::Code(candidate::words::rebuild),
            Step::Code(document::digest::add_missing),
        ],
    ],
};

/// Fills an empty file, all or nothing. Another process may have done so just before; then nothing is left to do.
pub(crate) fn create(connection: &Connection, schema: &Schema) -> Result<(), Error> {
    use_wal(connection)?;
    let tx = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if user_version(&tx)? == 0 {
        tx.execute_batch(schema.sql)?;
        tx.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {};",
            schema.version
        ))?;
    }
    tx.commit()?;
    Ok(())
}

/// Puts the file under a write-ahead log, where it is not: a copy made by `appliance backup` is not.
pub(crate) fn use_wal(connection: &Connection) -> Result<(), Error> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        Ok(())
    } else {
        Err(Error::Defect(format!("the file's place does not allow a write-ahead log (it is {mode})")))
    }
}

/// Takes a file of an older version to this one: a verified copy beside it first (`FILE.before-version-N`), then all
/// steps in one transaction.
pub(crate) fn upgrade(path: &Path, schema: &Schema, found: i64) -> Result<(), Error> {
    let first = usize::try_from(found - 1)
        .map_err(|_| Error::Defect(format!("the file's version {found} is none of this program's")))?;
    let connection = connection::open(path, Use::Write)?;
    let names = copy_names(path, schema.version);
    if names.iter().any(|copy| is_copy_of(&connection, copy)) {
        // An upgrade that was killed has left it, and nothing has changed since.
        return run_steps(&connection, schema, first);
    }
    let copy = keep_copy(path, names)?;
    let upgraded = run_steps(&connection, schema, first);
    if upgraded.is_err() {
        // The file is as it was, so the copy has nothing to keep; each further try would leave another.
        let _ = std::fs::remove_file(copy);
    }
    upgraded
}

fn run_steps(connection: &Connection, schema: &Schema, first: usize) -> Result<(), Error> {
    // Off while tables are rebuilt, and looked at before the commit; it cannot change inside a transaction.
    connection.execute_batch("PRAGMA foreign_keys = OFF")?;
    let tx = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    for step in schema.upgrades.iter().skip(first).copied().flatten() {
        match step {
            Step::Sql(sql) => tx.execute_batch(sql)?,
            Step::Code(run) => tx::in_upgrade(&tx, run)?,
        }
    }
    let dangling: i64 = tx.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
    if dangling > 0 {
        return Err(Error::Defect(format!("the upgrade would leave {dangling} rows that point nowhere")));
    }
    tx.execute_batch(&format!("PRAGMA user_version = {}", schema.version))?;
    tx.commit()?;
    Ok(())
}

/// The names of copies that are there, and behind them the first that is free.
fn copy_names(path: &Path, version: i64) -> Vec<PathBuf> {
    let suffix = format!(".before-version-{version}");
    let mut names = Vec::new();
    loop {
        let nth = names.len() + 1;
        let name = file::beside(path, &if nth == 1 { suffix.clone() } else { format!("{suffix}.{nth}") });
        let is_free = !name.exists();
        names.push(name);
        if is_free {
            return names;
        }
    }
}

/// Makes a copy under the last of these names, which no file has. It gets the name only once it is whole and checked.
fn keep_copy(path: &Path, mut names: Vec<PathBuf>) -> Result<PathBuf, Error> {
    let unavailable = |why: String| Error::Unavailable(format!("no copy could be made before the upgrade: {why}"));
    let copy = names.pop().ok_or_else(|| unavailable("every name is taken".to_owned()))?;
    file::backup_if(path, &copy, check::require_intact).map_err(|error| unavailable(error.to_string()))?;
    Ok(copy)
}

fn user_version(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Schema = Schema { version: 1, sql: "CREATE TABLE a (x INTEGER) STRICT", upgrades: &[] };
    const THIRD: Schema = Schema {
        version: 3,
        sql: "",
        upgrades: &[
            &[Step::Sql("ALTER TABLE a ADD COLUMN y INTEGER")],
            &[Step::Sql("INSERT INTO a (x, y) VALUES (3, 4)")],
        ],
    };
    const BROKEN: Schema = Schema {
        version: 3,
        sql: "",
        upgrades: &[&[Step::Sql("ALTER TABLE a ADD COLUMN y INTEGER")], &[Step::Sql("INSERT INTO b VALUES (1)")]],
    };

    fn first_file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        create(&Connection::open(&path).unwrap(), &FIRST).unwrap();
        (dir, path)
    }

    fn columns(path: &Path) -> i64 {
        let sql = "SELECT count(*) FROM pragma_table_info('a')";
        Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_current_schema_fills_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join("a.db")).unwrap();
        create(&connection, &CURRENT).unwrap();
        assert_eq!(user_version(&connection).unwrap(), CURRENT.version);
        assert_eq!(CURRENT.upgrades.len() as i64, CURRENT.version - 1, "each version has a way to it");
        create(&connection, &CURRENT).unwrap();
    }

    /// Every table and index, by the statement that made it. White space does not count: `ALTER TABLE … ADD COLUMN` lays its
    /// text out in its own way.
    fn tables(path: &Path) -> Vec<String> {
        let connection = Connection::open(path).unwrap();
        let mut statement =
            connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql").unwrap();
        let tables = statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
        let mut tables: Vec<_> = tables.map(|sql| sql.split_whitespace().collect()).collect();
        tables.sort();
        tables
    }

    #[test]
    fn a_file_of_version_1_ends_at_the_tables_of_a_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old.db"), dir.path().join("new.db"));
        let first = Schema { version: 1, sql: include_str!("../store/upgrade/1.sql"), upgrades: &[] };
        create(&Connection::open(&old).unwrap(), &first).unwrap();
        create(&Connection::open(&new).unwrap(), &CURRENT).unwrap();
        upgrade(&old, &CURRENT, 1).unwrap();
        assert_eq!(tables(&old), tables(&new));
    }

    /// A file of version 1 with something of every kind that an upgrade looks at, after all upgrades.
    fn upgraded_sample() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let first = Schema { version: 1, sql: include_str!("../store/upgrade/1.sql"), upgrades: &[] };
        create(&Connection::open(&path).unwrap(), &first).unwrap();
        Connection::open(&path).unwrap().execute_batch(include_str!("../store/upgrade/1_sample.sql")).unwrap();
        upgrade(&path, &CURRENT, 1).unwrap();
        (dir, path)
    }

    #[test]
    fn version_2_keeps_what_is_owed_and_drops_secrets_that_cannot_sign() {
        let (_dir, path) = upgraded_sample();
        let rows = |sql: &str| -> Vec<String> {
            let connection = Connection::open(&path).unwrap();
            let mut statement = connection.prepare(sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(
            rows(
                "SELECT concat_ws(' ', organization_id, coalesce(secret, '-'), enabled, disabled_reason IS NOT NULL)
                  FROM hr_integrations ORDER BY organization_id"
            ),
            ["org_1 whsec_c2VjcmV0 1 0", "org_2 - 0 1", "org_3 whsec_YQ== 0 0", "org_4 - 0 0", "org_5 - 0 1"],
        );
        assert_eq!(
            rows(
                "SELECT concat_ws(' ', number, id, type, state, attempts, created_at, coalesce(next_attempt_at, '-'))
                  FROM hr_deliveries ORDER BY number"
            ),
            [
                "1 evt_1 candidate.hired pending 0 100 100",
                "2 evt_2 candidate.hire_reversed pending 0 200 -",
                "3 evt_3 candidate.hired pending 0 300 300",
            ],
        );
    }

    #[test]
    fn version_3_knows_which_rejections_reverse_a_hire_and_takes_up_nothing_twice() {
        let (_dir, path) = upgraded_sample();
        let connection = Connection::open(&path).unwrap();
        let sql = "SELECT group_concat(number || ' ' || id || ' ' || action, ', ') FROM activities";
        let activities: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(
            activities,
            "1 act_1 candidate_step.hired, 2 act_2 candidate_step.hire_reversed, 3 act_3 candidate_step.rejected"
        );
        let taken: i64 = connection.query_row("SELECT activity_number FROM hr_intake", [], |row| row.get(0)).unwrap();
        assert_eq!(taken, 3);
    }

    #[test]
    fn version_5_finds_every_row_of_the_usage_log() {
        let (_dir, path) = upgraded_sample();
        let findings = check::check(&path, |_| {}).unwrap();
        assert!(!findings.iter().any(|finding| finding.starts_with("usage log")), "{findings:?}");
        let connection = Connection::open(&path).unwrap();
        let text = |sql: &str| -> String { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        let marks = text("SELECT group_concat(key_number || ' ' || at, ', ') FROM api_key_usage_marks");
        assert_eq!(marks, "1 1126, 1 1254, 2 1127, 2 1255");
        let sql = "SELECT group_concat(key_number || ' ' || at || ' ' || number, ', ') FROM api_key_usage_newest";
        assert_eq!(text(sql), "1 1258 130, 2 1259 130");
    }

    #[test]
    fn version_6_finds_candidates_by_their_words_and_chains_what_was_done() {
        let (_dir, path) = upgraded_sample();
        let findings = check::check(&path, |_| {}).unwrap();
        assert!(!findings.iter().any(|finding| finding.starts_with("activit")), "{findings:?}");
        let connection = Connection::open(&path).unwrap();
        let text = |sql: &str| -> String { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        let words = "SELECT group_concat(word || ' ' || in_name, ', ') FROM candidate_words WHERE candidate_number = 1";
        assert_eq!(text(words), "example 0, org 0, ada 1");
        assert_eq!(text("SELECT count(DISTINCT hash) || ' ' || count(DISTINCT salt) FROM activities"), "3 3");
        for change in ["DELETE FROM activities", "UPDATE activities SET at = 9", "UPDATE activities SET detail = '{}'"]
        {
            assert!(connection.execute(change, []).is_err(), "{change}");
        }
    }

    #[test]
    fn version_7_does_not_tell_portals_when_somebody_was_hired() {
        let (_dir, path) = upgraded_sample();
        let connection = Connection::open(&path).unwrap();
        let sql = "SELECT group_concat(DISTINCT shown_since || ' ' || created_at || ' ' || updated_at) FROM roles";
        let times: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(times, "1 1 2");
    }

    #[test]
    fn version_8_finds_candidates_by_words_that_are_folded_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let first = Schema { version: 1, sql: include_str!("../store/upgrade/1.sql"), upgrades: &[] };
        create(&Connection::open(&path).unwrap(), &first).unwrap();
        Connection::open(&path).unwrap().execute_batch(include_str!("../store/upgrade/1_sample.sql")).unwrap();
        let before = Schema { version: 7, sql: "", upgrades: &CURRENT.upgrades[..6] };
        upgrade(&path, &before, 1).unwrap();
        let words = "UPDATE candidates SET name = 'Γιώργος' WHERE number = 1;
                     DELETE FROM candidate_words WHERE candidate_number = 1 AND in_name = 1;
                     INSERT INTO candidate_words (organization_id, in_name, word, candidate_number, block)
                     SELECT organization_id, 1, 'γιώργος', 1, 0 FROM candidates WHERE number = 1";
        Connection::open(&path).unwrap().execute_batch(words).unwrap();
        upgrade(&path, &CURRENT, 7).unwrap();
        let word = "SELECT word FROM candidate_words WHERE candidate_number = 1 AND in_name = 1";
        let word: String = Connection::open(&path).unwrap().query_row(word, [], |row| row.get(0)).unwrap();
        assert_eq!(word, "γιωργοσ");
        let findings = check::check(&path, |_| {}).unwrap();
        assert!(!findings.iter().any(|finding| finding.starts_with("candidate")), "{findings:?}");
    }

    #[test]
    fn an_upgrade_runs_every_step_and_leaves_a_copy_of_before() {
        let (_dir, path) = first_file();
        upgrade(&path, &THIRD, 1).unwrap();
        assert_eq!(user_version(&Connection::open(&path).unwrap()).unwrap(), 3);
        assert_eq!(columns(&path), 2);
        assert_eq!(columns(&file::beside(&path, ".before-version-3")), 1);
    }

    #[test]
    fn a_copy_of_an_earlier_upgrade_is_kept() {
        let (_dir, path) = first_file();
        std::fs::write(file::beside(&path, ".before-version-3"), "earlier").unwrap();
        upgrade(&path, &THIRD, 1).unwrap();
        assert_eq!(std::fs::read(file::beside(&path, ".before-version-3")).unwrap(), b"earlier");
        assert_eq!(columns(&file::beside(&path, ".before-version-3.2")), 1);
    }

    #[test]
    fn the_copy_of_an_upgrade_that_was_killed_is_taken_again_while_the_file_is_the_same() {
        let (_dir, path) = first_file();
        let count = || {
            let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.to_string_lossy().contains("before-version")).count()
        };
        let insert = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        insert("INSERT INTO a (x) VALUES (1), (2)");
        // As two upgrades leave it that are killed behind their copies, with a change between them.
        keep_copy(&path, copy_names(&path, 3)).unwrap();
        insert("UPDATE a SET x = 5 WHERE x = 2");
        let connection = connection::open(&path, Use::Write).unwrap();
        assert!(!is_copy_of(&connection, &file::beside(&path, ".before-version-3")));
        let copy = keep_copy(&path, copy_names(&path, 3)).unwrap();
        assert_eq!((copy.clone(), count()), (file::beside(&path, ".before-version-3.2"), 2));
        assert!(is_copy_of(&connection, &copy));
        drop(connection);
        let mut damaged = std::fs::read(&copy).unwrap();
        upgrade(&path, &THIRD, 1).unwrap();
        assert_eq!((count(), columns(&path), columns(&copy)), (2, 2, 1));
        // One that is damaged is none.
        let last = damaged.len() - 1;
        damaged[last] ^= 0xff;
        std::fs::write(&copy, &damaged).unwrap();
        assert!(!is_copy_of(&connection::open(&path, Use::Write).unwrap(), &copy));
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let (_dir, path) = first_file();
        assert!(upgrade(&path, &BROKEN, 1).is_err());
        assert_eq!(user_version(&Connection::open(&path).unwrap()).unwrap(), 1);
        assert_eq!(columns(&path), 1);
        let names = std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
        let copies = names.filter(|name| name.to_string_lossy().contains("before-version")).count();
        assert_eq!(copies, 0, "what failed left no copy");
    }
}
