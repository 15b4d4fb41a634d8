//! The real binary on a PostgreSQL server that the test starts: refused starts, simultaneous starts, upgrades, and
//! erasure.

mod erasure;
mod start;
mod upgrade;

use crate::postgres_server::{TestServer, USER, shared};
use crate::support::{Output, WorkDir};

/// A database on the shared server. It is empty at first.
struct Database {
    server: &'static TestServer,
    name: String,
}

impl Database {
    /// Creates a database, or returns `None` if PostgreSQL is not installed.
    fn create() -> Option<Self> {
        let server = shared()?;
        Some(Self { server, name: server.database() })
    }

    /// Creates a database with the tables of the service.
    fn with_tables(dir: &WorkDir) -> Option<Self> {
        let database = Self::create()?;
        database.admin_key(dir);
        Some(database)
    }

    fn url(&self) -> String {
        self.url_of(USER)
    }

    fn url_of(&self, user: &str) -> String {
        self.server.url(user, &self.name, "sslmode=disable")
    }

    fn psql(&self, sql: &str) -> String {
        self.server.psql(&self.name, sql)
    }

    /// Creates the first admin, and the tables if the database is empty. Returns the admin's key.
    fn admin_key(&self, dir: &WorkDir) -> String {
        let url = self.url();
        let made = dir.run(&["bootstrap-admin", "--db", &url, "--email", "root@example.org"]).succeeded();
        made.stdout.trim_end().to_owned()
    }
}

fn serve(dir: &WorkDir, url: &str) -> Output {
    dir.run(&["serve", "--db", url, "--listen", "127.0.0.1:0"])
}

/// Checks that `serve` ends with this status and one sentence that contains this part, and that `settings --check`
/// reports the same sentence.
#[track_caller]
fn assert_refused(url: &str, code: i32, part: &str) {
    let dir = WorkDir::new();
    let refused = serve(&dir, url).failed(code, part);
    assert!(!refused.stderr.contains("geheim"), "{refused:?}");
    let sentence = refused.stderr.trim_end().trim_start_matches("appliance: ");
    let checked = dir.run(&["settings", "--check", "--db", url]);
    assert_eq!((checked.code, checked.stdout.lines().count()), (Some(78), 1), "{checked:?}");
    assert!(checked.stdout.contains(sentence), "{sentence}: {checked:?}");
}
