//! Tests against a real server.

mod counts;
mod engine;
mod outcome;
#[path = "../../../../tests/support/postgres_proxy.rs"]
#[allow(dead_code, reason = "each of the tests that include the file uses only a part of it")]
mod proxy;
mod readers;
#[path = "../../../../tests/support/postgres_server.rs"]
#[allow(dead_code, reason = "each of the tests that include the file uses only a part of it")]
pub(crate) mod server;
mod start;
mod upgrades;
mod vacuum;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use self::proxy::TestProxy;
use self::server::{TestServer, USER};
use super::prepare::{Purpose, Schema, prepare};
use super::target::Target;
use super::value;
use super::writer::{Patience, Writer};
use crate::db::connection::Connection;
use crate::db::error::Error;
use crate::db::upgrade::{self, EngineSql};
use crate::db::value::ValueRef;

/// A schema with one table.
const SCHEMA: Schema<'_> = Schema { application_id: 7, tables: &TABLES };

const TABLES: upgrade::Schema = upgrade::Schema {
    version: 1,
    sql: EngineSql::same(
        "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL); INSERT INTO t VALUES (1, 0), (2, 0)",
    ),
    upgrades: &[],
    companions: &[],
};

/// Times that are short enough for a test, and long enough for a busy machine.
const PATIENCE: Patience = Patience { commit: Duration::from_secs(2), outcome: Duration::from_secs(20) };

/// A database with the table.
struct Database {
    server: &'static TestServer,
    name: String,
    target: Arc<Target>,
}

impl Database {
    /// Creates a database on the shared server, or returns `None` if PostgreSQL is not installed.
    fn create() -> Option<Self> {
        server::shared().map(Self::on)
    }

    fn on(server: &'static TestServer) -> Self {
        let name = server.database();
        let target = target_of(server, &name);
        prepare(&target, &SCHEMA, Purpose::Serve).unwrap();
        Self { server, name, target }
    }

    fn writer(&self) -> Writer {
        open_writer(&self.target, PATIENCE)
    }

    /// Starts a proxy in front of the server. Returns the proxy, and a writer that connects through it.
    fn proxied(&self, patience: Patience) -> (TestProxy, Writer) {
        let proxy = TestProxy::start(self.server.port());
        let url = format!("postgres://tester@127.0.0.1:{}/{}?sslmode=disable", proxy.port(), self.name);
        let writer = open_writer(&Arc::new(Target::parse(&url).unwrap()), patience);
        (proxy, writer)
    }

    fn psql(&self, sql: &str) -> String {
        self.server.psql(&self.name, sql)
    }

    /// Ends all sessions of the service in this database.
    fn end_sessions(&self) {
        let sql = format!(
            "SELECT pg_terminate_backend(pid)
             FROM pg_stat_activity
             WHERE application_name = 'appliance' AND datname = '{}'",
            self.name
        );
        self.server.psql("postgres", &sql);
    }

    /// Returns the values of `n`.
    fn values(&self) -> String {
        self.psql("SELECT string_agg(n::text, ' ' ORDER BY id) FROM t")
    }
}

fn target_of(server: &TestServer, database: &str) -> Arc<Target> {
    Arc::new(Target::parse(&server.url(USER, database, "")).unwrap())
}

fn open_writer(target: &Arc<Target>, patience: Patience) -> Writer {
    static NEXT: AtomicU8 = AtomicU8::new(0);
    let id = [NEXT.fetch_add(1, Ordering::Relaxed); 16];
    Writer::open(Arc::clone(target), TABLES.version, id, patience).unwrap()
}

/// Adds to the value of a row with two statements, so that an interleaved transaction would lose an addition.
fn add(connection: &Connection, id: i64, addend: i64) -> Result<i64, Error> {
    let rows = connection.as_postgres().query("SELECT n FROM t WHERE id = $1", &[ValueRef::Integer(id)])?;
    let ValueRef::Integer(n) = value::column(&rows[0], 0)? else { panic!("not an integer") };
    let values = [ValueRef::Integer(n + addend), ValueRef::Integer(id)];
    assert_eq!(connection.as_postgres().execute("UPDATE t SET n = $1 WHERE id = $2", &values)?, 1);
    Ok(n + addend)
}

/// Waits until the query returns this text.
fn wait_for(database: &Database, sql: &str, text: &str) {
    eventually(|| database.psql(sql) == text);
}

/// Polls a condition.
#[track_caller]
fn eventually(mut is_met: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_met() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the condition was not met in time");
}
