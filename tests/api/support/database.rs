//! The database of a test's service: a file or, if the variable `APPLIANCE_TEST_POSTGRES` is set, a database of a
//! PostgreSQL server that the test process starts.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use appliance::store::is_server;

use super::template;

#[path = "../../support/postgres_server.rs"]
#[allow(dead_code, reason = "each of the tests that include the file uses a part of it")]
mod server;

use self::server::{TestServer, USER};

/// The database that each test's database is a copy of.
const TEMPLATE: &str = "template_of_tests";

/// Functions of SQLite that tests use in statements.
const FUNCTIONS: &str = "CREATE FUNCTION zeroblob(length BIGINT) RETURNS BYTEA LANGUAGE sql AS
                           $$ SELECT decode(repeat('00', length::int), 'hex') $$;
                         CREATE FUNCTION randomblob(length BIGINT) RETURNS BYTEA LANGUAGE sql AS
                           $$ SELECT substring(decode(string_agg(md5(random()::text), ''), 'hex') FOR length::int)
                              FROM generate_series(0, length / 16) $$;
                         CREATE FUNCTION hex(bytes BYTEA) RETURNS TEXT LANGUAGE sql AS
                           $$ SELECT upper(encode(bytes, 'hex')) $$;";

/// Returns whether the tests run on PostgreSQL.
pub(crate) fn is_postgres() -> bool {
    std::env::var_os("APPLIANCE_TEST_POSTGRES").is_some()
}

struct Prepared {
    server: TestServer,
    admin_secret: String,
}

static PREPARED: LazyLock<Prepared> = LazyLock::new(|| {
    // Each service has up to 20 connections, and several tests run at the same time.
    let server = TestServer::start(&["max_connections=400"]).expect("PostgreSQL is installed");
    server.psql("postgres", &format!("CREATE DATABASE {TEMPLATE}"));
    let admin_secret = template::create(Path::new(&server.url(USER, TEMPLATE, "")));
    server.psql(TEMPLATE, FUNCTIONS);
    Prepared { server, admin_secret }
});

/// Creates a database with a platform admin. Returns the value of `--db` and the secret of the admin's key.
pub(super) fn create(directory: &Path) -> (PathBuf, String) {
    if !is_postgres() {
        let path = directory.join("appliance.db");
        let admin_secret = template::create_file(&path);
        return (path, admin_secret);
    }
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let Prepared { server, admin_secret } = &*PREPARED;
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}"));
    (PathBuf::from(server.url(USER, &name, "sslmode=disable")), admin_secret.clone())
}

/// Removes the database of a test, because the server would need gigabytes for those of all tests.
pub(super) fn remove(db: &Path) {
    if is_server(db) {
        PREPARED.server.psql("postgres", &format!("DROP DATABASE {} WITH (FORCE)", name(db)));
    }
}

/// Runs statements on the server as another client would. Returns a line for each row, with `|` between the columns.
/// Booleans are 1 and 0, as SQLite shows them.
pub(super) fn run(db: &Path, sql: &str) -> Vec<String> {
    let sql = sql.replace(" main.", " public.");
    let rows = PREPARED.server.psql(&name(db), &format!("\\pset null null\nSET bytea_output = 'hex';\n{sql};\n"));
    let cell = |text| match text {
        "t" => "1",
        "f" => "0",
        other => other,
    };
    rows.lines().map(|row| row.split('|').map(cell).collect::<Vec<_>>().join("|")).collect()
}

fn name(db: &Path) -> String {
    let url = db.to_str().unwrap();
    let address = url.split('?').next().unwrap();
    address.rsplit('/').next().unwrap().to_owned()
}
