//! The schema of this program.
//!
//! To change the schema, change `schema.sql` and `postgres.sql`, add one to the version, and append the steps that
//! upgrade a database from the previous version.

use super::erasure::list;
use crate::db::upgrade::{Companion, EngineSql, Schema};

pub(crate) const CURRENT: Schema = Schema {
    version: 1,
    sql: EngineSql { sqlite: include_str!("../../../schema.sql"), postgres: include_str!("postgres.sql") },
    upgrades: &[],
    companions: &[Companion { suffix: ".erased", read: list::complete_lines }],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::sqlite::schema::create;
    use crate::db::sqlite::tests;
    use crate::db::tx;

    #[test]
    fn the_current_schema_can_be_created_twice() {
        let dir = tempfile::tempdir().unwrap();
        let connection = tests::file(&dir.path().join("a.db"));
        create(&connection, &CURRENT).unwrap();
        let version = tx::in_upgrade(&connection, |tx| tx.value::<i64>("PRAGMA user_version", [])).unwrap();
        assert_eq!(version, Some(CURRENT.version));
        assert_eq!(CURRENT.upgrades.len() as i64, CURRENT.version - 1, "each version after the first has an upgrade");
        create(&connection, &CURRENT).unwrap();
    }
}
