//! The template file. Every line starts with a copy of it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::company;
use super::cores::Cores;
use super::exchange::post;
use super::server::Server;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_appliance");

/// A complete file, and the keys in it.
pub(crate) struct Template {
    /// One key of each member.
    pub(crate) keys: Vec<Key>,
    copy: Copy,
}

/// An API key: its text, its id and its number in the file.
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) id: String,
    pub(crate) number: i64,
}

/// A file in its own directory, which is removed on drop.
pub(crate) struct Copy {
    pub(crate) db: PathBuf,
    _folder: TempDir,
}

impl Template {
    /// Creates the data with commands, and the keys over HTTP.
    pub(crate) fn make(cores: &Cores) -> Self {
        let copy = Copy::empty();
        let db = copy.db.to_str().unwrap();
        let admin = run(&["bootstrap-admin", "--db", db, "--email", "admin@appliance.example"]);
        for document in company::documents() {
            let file = copy.db.with_file_name("company.json");
            std::fs::write(&file, document.to_string()).unwrap();
            run(&["import", "--db", db, file.to_str().unwrap()]);
            std::fs::remove_file(file).unwrap();
        }
        let mut server = Server::on(cores, copy);
        let key = |member| make_key(&mut server, admin.trim(), member);
        let made: Vec<_> = (0..company::ORGANIZATIONS * company::MEMBERS).map(key).collect();
        let copy = server.end();
        let connection = Connection::open(&copy.db).unwrap();
        let mut number = connection.prepare("SELECT number FROM api_keys WHERE id = $1").unwrap();
        let mut key = |(text, id): (String, String)| {
            let number = number.query_row([&id], |row| row.get(0)).unwrap();
            Key { text, id, number }
        };
        let keys = made.into_iter().map(&mut key).collect();
        drop(number);
        connection.close().unwrap();
        Self { keys, copy }
    }

    /// Returns a copy that is synced to disk, so that writing the copy slows down no round.
    pub(crate) fn copy(&self) -> Copy {
        Copy::of(&self.copy.db)
    }

    /// Returns the path of the file. No process may change the file.
    pub(crate) fn path(&self) -> &str {
        self.copy.db.to_str().unwrap()
    }

    /// Returns the texts of all keys.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.text.as_str())
    }

    pub(crate) fn megabytes(&self) -> u64 {
        self.copy.db.metadata().unwrap().len() / 1_000_000
    }
}

impl Copy {
    /// Returns a path in a new directory. It is in the target directory, because the system's temporary directory can
    /// be in memory, where a commit costs nothing.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { db: folder.path().join("appliance.db"), _folder: folder }
    }

    /// Copies a file that no process writes to, and syncs the copy.
    pub(crate) fn of(db: &Path) -> Self {
        let copy = Self::empty();
        std::fs::copy(db, &copy.db).unwrap();
        File::open(&copy.db).unwrap().sync_all().unwrap();
        copy
    }
}

/// Creates a key and returns its text and its id.
fn make_key(server: &mut Server, admin: &str, member: usize) -> (String, String) {
    let body = json!({ "name": "speed", "userId": company::user_id(member) }).to_string();
    let answer = server.ask_with_key(&post("/api/admin/api-keys", admin, &body)).json();
    let member = |name: &str| answer["data"][name].as_str().unwrap().to_owned();
    (member("key"), member("id"))
}

/// Returns the number of usage rows in a file.
pub(crate) fn usage_rows(db: &Path) -> usize {
    let connection = Connection::open(db).unwrap();
    let sql = "SELECT count(*) FROM api_key_usage";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() as usize
}

/// Runs a command, checks that it succeeds, and returns its standard output.
pub(crate) fn run(arguments: &[&str]) -> String {
    let output = Command::new(BINARY).args(arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "appliance {}: {}\n{out}{err}", arguments[0], output.status);
    out.into_owned()
}
