//! Files that are stored between runs, because creating the big one takes minutes.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::Connection;

use super::data::Size;
use super::maker;
use crate::report;
use crate::template::{Copy, run};

/// Returns the path of the file of this size. The caller must not write to the file. Creates the file if it is missing,
/// or if its size, the schema of the service or the version of the maker has changed.
pub(crate) fn file(size: &Size) -> PathBuf {
    let db = report::folder().join(format!("scale-{}.db", size.name));
    let stamp_file = db.with_extension("stamp");
    let stamp = stamp(size);
    if std::fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) && db.exists() {
        eprintln!("{} exists", db.display());
        return db;
    }
    eprintln!("creating {}", db.display());
    let began = Instant::now();
    // The stamp is removed first, so that an incomplete file has no stamp.
    for old in [&stamp_file, &db, &with_suffix(&db, "-wal"), &with_suffix(&db, "-shm"), &with_suffix(&db, ".lock")] {
        let _ = std::fs::remove_file(old);
    }
    maker::make(&db, size);
    std::fs::write(stamp_file, stamp).unwrap();
    eprintln!("the creation of the file took {:.0} s", began.elapsed().as_secs_f64());
    db
}

/// Returns the version of the maker, the size and the schema of the file.
fn stamp(size: &Size) -> String {
    let new = Copy::empty();
    run(&["bootstrap-admin", "--db", new.db.to_str().unwrap(), "--email", "first@appliance.example"]);
    let connection = Connection::open(&new.db).unwrap();
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let sql = "SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY name)";
    let schema: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    format!("maker {}\n{size:?}\nschema {version}\n{schema}\n", maker::VERSION)
}

fn with_suffix(db: &Path, suffix: &str) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
