//! The database of a test's service: a file or, if the variable `APPLIANCE_TEST_POSTGRES` is set, a database of a
//! PostgreSQL server that the test process starts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

use appliance::store::is_server;

use super::{App, template};

#[path = "../../support/postgres_server.rs"]
#[allow(dead_code, reason = "each of the tests that include the file uses only a part of it")]
mod server;

use self::server::{Session, TestServer, USER};

/// The database that each test's database is a copy of.
const TEMPLATE: &str = "template_of_tests";

/// PostgreSQL definitions of the SQLite functions that tests use in statements, and helper functions of the tests.
const FUNCTIONS: &str = include_str!("sqlite_functions.sql");

/// The SQLite constructs in the statements of tests, each with its replacement for PostgreSQL. All other syntax in
/// these statements must be valid on both engines.
const SYNTAX: [(&str, &str); 6] = [
    (" main.", " public."),
    ("BEGIN IMMEDIATE", "BEGIN"),
    ("AS BLOB)", "AS BYTEA)"),
    (" char(", " sqlite_char("),
    (" x'", " '\\x"),
    ("(x'", "('\\x"),
];

/// The statement with which each writing transaction of the service takes the lock that all of them share.
const LOCK: &str = "DO $$ BEGIN
                      PERFORM pg_advisory_xact_lock(1718900101, (SELECT oid::int FROM pg_namespace WHERE nspname = 'public'));
                    END $$";

/// Returns whether the tests run on PostgreSQL.
pub(crate) fn is_postgres() -> bool {
    std::env::var_os("APPLIANCE_TEST_POSTGRES").is_some()
}

struct Prepared {
    server: TestServer,
    admin_secret: String,
    /// Idle sessions that create and remove databases, so that a test needs no process of its own for this.
    sessions: Mutex<Vec<Session>>,
}

impl Prepared {
    fn administer(&self, sql: &str) {
        let idle = self.sessions.lock().unwrap().pop();
        let mut session = idle.unwrap_or_else(|| self.server.session("postgres"));
        session.run(sql);
        self.sessions.lock().unwrap().push(session);
    }
}

static PREPARED: LazyLock<Prepared> = LazyLock::new(|| {
    // Each service has up to 20 connections, and several tests run at the same time.
    let server = TestServer::start(&["max_connections=400"]).expect("PostgreSQL is installed");
    server.psql("postgres", &format!("CREATE DATABASE {TEMPLATE}"));
    let admin_secret = template::create(Path::new(&server.url(USER, TEMPLATE, "")));
    server.psql(TEMPLATE, FUNCTIONS);
    Prepared { server, admin_secret, sessions: Mutex::default() }
});

/// Creates a database with a platform admin. Returns the value of `--db` and the secret of the admin's key.
pub(super) fn create(directory: &Path) -> (PathBuf, String) {
    if !is_postgres() {
        let path = directory.join("appliance.db");
        let admin_secret = template::create_file(&path);
        return (path, admin_secret);
    }
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let Prepared { server, admin_secret, .. } = &*PREPARED;
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    PREPARED.administer(&format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}"));
    (PathBuf::from(server.url(USER, &name, "sslmode=disable")), admin_secret.clone())
}

/// Removes the database of a test from the PostgreSQL server. Otherwise, the server would need gigabytes for the
/// databases of all tests.
pub(super) fn remove(db: &Path) {
    if is_server(db) {
        PREPARED.administer(&format!("DROP DATABASE {} WITH (FORCE)", name(db)));
    }
}

/// Runs statements on the server as another client would. Returns a line for each row, with `|` between the columns.
/// Booleans are 1 and 0, as SQLite shows them.
pub(super) fn run(db: &Path, sql: &str) -> Vec<String> {
    let sql = SYNTAX.iter().fold(sql.to_owned(), |sql, (sqlite, postgres)| sql.replace(sqlite, postgres));
    let rows = PREPARED.server.rows(&name(db), &format!("\\pset null null\nSET bytea_output = 'hex';\n{sql};\n"));
    rows.iter().map(|row| row.split('|').map(cell).collect::<Vec<_>>().join("|")).collect()
}

/// Changes rows on the server as another client would. If the statements number rows themselves, the service continues
/// after their numbers, as it does on SQLite.
pub(super) fn change(db: &Path, sql: &str) {
    run(db, sql);
    if sql.contains("(number, ") {
        run(db, "SELECT continue_numbers()");
    }
}

/// Returns a cell as [`super::App::sql`] shows it on SQLite.
fn cell(text: &str) -> String {
    match text {
        "t" => "1".to_owned(),
        "f" => "0".to_owned(),
        other => other.strip_prefix("\\x").and_then(bytes).map_or(other.to_owned(), |bytes| format!("{bytes:?}")),
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2).map(|two| std::str::from_utf8(two).ok());
    digits.map(|two| two.and_then(|two| u8::from_str_radix(two, 16).ok())).collect()
}

/// The lock that the service takes to write, held by another connection.
pub(crate) enum WriteLock {
    File(rusqlite::Connection),
    Server(Session),
}

impl WriteLock {
    fn take(db: &Path) -> Self {
        let mut lock = if is_server(db) {
            Self::Server(PREPARED.server.session(&name(db)))
        } else {
            Self::File(rusqlite::Connection::open(db).unwrap())
        };
        match &mut lock {
            Self::File(connection) => connection.execute_batch("BEGIN IMMEDIATE").unwrap(),
            Self::Server(session) => session.run(&format!("BEGIN; {LOCK}")),
        }
        lock
    }

    /// Changes rows in the transaction that holds the lock.
    pub(crate) fn change(&mut self, sql: &str) {
        match self {
            Self::File(connection) => connection.execute_batch(sql).unwrap(),
            Self::Server(session) => session.run(sql),
        }
    }

    /// Commits the changes, and releases the lock.
    pub(crate) fn commit(mut self) {
        self.change("COMMIT");
    }

    /// Releases the lock without a change.
    pub(crate) fn release(mut self) {
        self.change("ROLLBACK");
    }
}

/// Acts of another process on the database, with different statements for the two engines.
impl App {
    /// Makes each change of this kind (`INSERT`, `UPDATE` or `DELETE`) in a table fail, until [`App::allow`] undoes
    /// this.
    pub(crate) fn forbid(&self, change: &str, table: &str) {
        self.forbid_where(change, table, "1 = 1");
    }

    /// Makes each change of this kind to a row that satisfies this condition fail, until [`App::allow`] undoes this.
    pub(crate) fn forbid_where(&self, change: &str, table: &str, condition: &str) {
        let act = if is_server(&self.path) {
            "EXECUTE FUNCTION forbidden()"
        } else {
            "BEGIN SELECT raise(ABORT, 'forbidden'); END"
        };
        self.change(&format!(
            "CREATE TRIGGER forbidden_{table} BEFORE {change} ON {table} FOR EACH ROW WHEN ({condition}) {act}"
        ));
    }

    /// Undoes [`App::forbid`] and [`App::forbid_where`] for a table.
    pub(crate) fn allow(&self, table: &str) {
        self.drop_trigger(&format!("forbidden_{table}"), table);
    }

    /// Removes a trigger of a table.
    pub(crate) fn drop_trigger(&self, trigger: &str, table: &str) {
        let of_table = if is_server(&self.path) { format!(" ON {table}") } else { String::new() };
        self.change(&format!("DROP TRIGGER {trigger}{of_table}"));
    }

    /// Returns the names of the triggers of a table.
    pub(crate) fn triggers(&self, table: &str) -> Vec<String> {
        if is_server(&self.path) {
            let sql = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgrelid =";
            return self.sql(&format!("{sql} '{table}'::regclass"));
        }
        self.sql(&format!("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = '{table}'"))
    }

    /// Returns the names of the tables of the service, without those of the engine.
    pub(crate) fn tables(&self) -> Vec<String> {
        self.sql(if is_server(&self.path) {
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'engine_%' ORDER BY 1"
        } else {
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1"
        })
    }

    /// Returns whether the database contains a text: on SQLite, the bytes of the file and of the files next to it; on
    /// PostgreSQL, a dump.
    pub(crate) fn stores(&self, text: &str) -> bool {
        let contents: Vec<Vec<u8>> = if is_server(&self.path) {
            vec![PREPARED.server.dump(&name(&self.path))]
        } else {
            let files = std::fs::read_dir(self.path.parent().unwrap()).unwrap();
            files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
        };
        let contains = |bytes: &Vec<u8>| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        contents.iter().any(contains)
    }

    /// Takes the lock that the service takes to write, as another process would.
    pub(crate) fn lock(&self) -> WriteLock {
        WriteLock::take(&self.path)
    }
}

fn name(db: &Path) -> String {
    let url = db.to_str().unwrap();
    let address = url.split('?').next().unwrap();
    address.rsplit('/').next().unwrap().to_owned()
}
