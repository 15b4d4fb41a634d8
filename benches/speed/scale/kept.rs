//! Files that are kept from run to run, because making the big one takes minutes.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::Connection;

use super::data::Size;
use super::maker;
use crate::report;
use crate::template::{Copy, run};

/// The file of this size, which nobody may write to. It is made where there is none, and made again where the service
/// has another schema by now, or the maker another version.
pub(crate) fn file(size: &Size) -> PathBuf {
    let db = report::folder().join(format!("scale-{}.db", size.name));
    let stamp_file = db.with_extension("stamp");
    let stamp = stamp(size);
    if std::fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) && db.exists() {
        eprintln!("{} is there", db.display());
        return db;
    }
    eprintln!("making {}", db.display());
    let began = Instant::now();
    // Without its stamp, a file that was cut off is none.
    for old in [&stamp_file, &db, &beside(&db, "-wal"), &beside(&db, "-shm"), &beside(&db, ".lock")] {
        let _ = std::fs::remove_file(old);
    }
    maker::make(&db, size);
    std::fs::write(stamp_file, stamp).unwrap();
    eprintln!("made after {:.0} s", began.elapsed().as_secs_f64());
    db
}

/// What the file is made of: by which maker, of which size, and with which schema.
fn stamp(size: &Size) -> String {
    let new = Copy::empty();
    run(&["bootstrap-admin", "--db", new.db.to_str().unwrap(), "--email", "first@appliance.example"]);
    let connection = Connection::open(&new.db).unwrap();
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let sql = "SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY name)";
    let schema: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    format!("maker {}\n{size:?}\nschema {version}\n{schema}\n", maker::VERSION)
}

fn beside(db: &Path, suffix: &str) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
