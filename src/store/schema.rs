//! The schema of this program.
//!
//! To change the schema, change `schema.sql`, add one to the version, and append the steps that upgrade a file from the
//! previous version.

use super::erasure::list;
use crate::db::sqlite::file::Companion;
use crate::db::sqlite::schema::Schema;

pub(crate) const CURRENT: Schema = Schema {
    version: 1,
    sql: include_str!("../../schema.sql"),
    upgrades: &[],
    companions: &[Companion { suffix: ".erased", read: list::complete_lines }],
};

#[cfg(test)]
mod tests {
    use crate::db::row::Connection;

    use super::*;
    use crate::db::sqlite::schema::create;

    #[test]
    fn the_current_schema_can_be_created_twice() {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join("a.db")).unwrap();
        create(&connection, &CURRENT).unwrap();
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get("user_version")).unwrap();
        assert_eq!(version, CURRENT.version);
        assert_eq!(CURRENT.upgrades.len() as i64, CURRENT.version - 1, "each version after the first has an upgrade");
        create(&connection, &CURRENT).unwrap();
    }
}
