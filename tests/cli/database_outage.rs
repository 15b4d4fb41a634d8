//! A service whose PostgreSQL server fails while the service runs. Requests get a 503 with `Retry-After`, or a 500 that
//! states that the outcome is unknown, and the service recovers without a restart.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use appliance::domain::api_key::KeySecret;
use serde_json::json;

use crate::postgres_server::{TestServer, USER, shared};
use crate::support::{Answer, RunningService, WorkDir, eventually, send_to};

#[path = "../support/postgres_proxy.rs"]
#[allow(dead_code, reason = "each of the tests that include the file uses only a part of it")]
mod proxy;

use self::proxy::{TestProxy, Traffic};

/// A page that reads the database.
const PAGE: &str = "/careers/nobody";

/// The maximum time until a request is answered on a busy machine while the PostgreSQL server does not answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A service on a database of its own.
struct Service {
    running: RunningService,
    admin: Admin,
    _directory: WorkDir,
}

/// The address of a service and the key of its admin. Tests send the admin's requests on several threads.
#[derive(Clone)]
struct Admin {
    address: SocketAddr,
    key: String,
}

impl Service {
    /// Creates an admin in the database at this URL, and starts a service on the database.
    fn start(url: &str) -> Self {
        let directory = WorkDir::new();
        let key = directory.admin_key(url);
        let running = directory.serve(&["--db", url, "--rate-limit", "1000000"]);
        let admin = Admin { address: running.address, key };
        Self { running, admin, _directory: directory }
    }
}

impl std::ops::Deref for Service {
    type Target = Admin;

    fn deref(&self) -> &Admin {
        &self.admin
    }
}

impl Admin {
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        send_to(self.address, method, path, headers, body)
    }

    fn get(&self, path: &str, key: &str) -> Answer {
        self.send("GET", path, &[("Authorization", &format!("Bearer {key}"))], "")
    }

    /// Creates an organization.
    fn create(&self, name: &str) -> Answer {
        let authorization = format!("Bearer {}", self.key);
        let fields = [
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", name),
        ];
        let body = json!({ "name": name, "slug": name }).to_string();
        self.send("POST", "/api/admin/organizations", &fields, &body)
    }

    fn me(&self) -> Answer {
        self.get("/api/v1/me", &self.key)
    }

    fn page(&self) -> Answer {
        self.send("GET", PAGE, &[], "")
    }

    /// Returns the number of organizations with this name.
    fn count(&self, name: &str) -> usize {
        let list = self.get("/api/admin/organizations", &self.key).expect(200).json();
        list["data"].as_array().unwrap().iter().filter(|one| one["slug"] == name).count()
    }

    /// Checks that a change, two kinds of reads and `/readyz` get a 503, and that `/healthz` gets a 200.
    #[track_caller]
    fn assert_is_away(&self) {
        for answer in [self.create("away"), self.me(), self.page()] {
            assert_unavailable(&answer);
        }
        self.send("GET", "/readyz", &[], "").expect(503);
        self.send("GET", "/healthz", &[], "").expect(200);
    }

    /// Waits until the service works, and checks that no refused change was saved.
    #[track_caller]
    fn assert_recovers(&self) {
        eventually(|| self.create("back").status == 200);
        eventually(|| self.me().status == 200);
        eventually(|| self.page().status == 404);
        assert_eq!(self.count("away"), 0);
    }
}

#[track_caller]
fn assert_unavailable(answer: &Answer) {
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{answer:?}");
}

#[track_caller]
fn assert_unknown(answer: &Answer) {
    assert!(answer.status == 500 && answer.body.contains("may or may not have been saved"), "{answer:?}");
}

/// Returns a key that is well-formed, so that the service looks for it in the database.
fn unknown_key(number: u8) -> String {
    KeySecret::generate(|bytes| bytes.fill(number)).reveal().to_owned()
}

/// Starts a service that connects to PostgreSQL through a proxy. Its database is on the PostgreSQL server that most
/// tests share.
fn start_proxied() -> Option<(TestProxy, Service)> {
    let server = shared()?;
    let proxy = TestProxy::start(server.port());
    let url = format!("postgres://{USER}@127.0.0.1:{}/{}?sslmode=disable", proxy.port(), server.database());
    let service = Service::start(&url);
    Some((proxy, service))
}

#[test]
fn a_service_whose_postgresql_server_stops_is_unavailable_until_that_server_starts_again() {
    let Some(server) = TestServer::start(&[]) else { return };
    let service = Service::start(&server.url(USER, &server.database(), ""));
    service.create("before").expect(200);
    for _ in 0..2 {
        server.stop();
        service.assert_is_away();
        server.start_again();
        service.assert_recovers();
    }
    assert_eq!(service.count("before"), 1);
    assert_eq!(service.running.stop("TERM").code, Some(0));
}

#[test]
fn a_postgresql_server_that_hangs_does_not_block_requests_that_do_not_need_it() {
    let Some((proxy, service)) = start_proxied() else { return };
    service.page().expect(404);
    proxy.set(Traffic::Hangs);
    std::thread::scope(|scope| {
        let began = Instant::now();
        let request = |number: u8| {
            let admin = service.admin.clone();
            scope.spawn(move || match number % 4 {
                0 => admin.page(),
                1 => admin.me(),
                2 => admin.create("away"),
                _ => admin.get("/api/v1/me", &unknown_key(number)),
            })
        };
        let requests: Vec<_> = (0..40).map(request).collect();
        while requests.iter().any(|request| !request.is_finished()) {
            let asked = Instant::now();
            service.send("GET", "/healthz", &[], "").expect(200);
            assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
        let answers: Vec<Answer> = requests.into_iter().map(|request| request.join().unwrap()).collect();
        assert!(began.elapsed() < ANSWER_MAX, "{:?}", began.elapsed());
        answers.iter().for_each(assert_unavailable);
    });
    proxy.set(Traffic::Flows);
    service.assert_recovers();
}

#[test]
fn a_change_whose_commit_cannot_be_confirmed_has_an_unknown_outcome_and_can_be_repeated_with_its_idempotency_key() {
    let Some((proxy, service)) = start_proxied() else { return };
    proxy.set(Traffic::CutForGoodAfterCommit);
    let admin = &service.admin;
    std::thread::scope(|scope| {
        let unknown = scope.spawn(|| admin.create("unknown"));
        std::thread::sleep(Duration::from_secs(2));
        let waiting = Instant::now();
        assert_unavailable(&service.create("away"));
        assert!(waiting.elapsed() < Duration::from_secs(15), "{:?}", waiting.elapsed());
        assert_unknown(&unknown.join().unwrap());
    });
    proxy.cut();
    service.assert_is_away();
    proxy.set(Traffic::Flows);
    service.assert_recovers();
    assert_eq!(service.count("unknown"), 1, "the commit had happened");
    service.create("unknown").expect(200);
    assert_eq!(service.count("unknown"), 1, "the repeated request got the stored response");
}

#[test]
fn a_change_whose_connection_is_cut_during_its_commit_happens_once() {
    let Some((proxy, service)) = start_proxied() else { return };
    for (number, traffic) in [Traffic::CutAfterCommit, Traffic::CutBeforeCommit].into_iter().enumerate() {
        proxy.set(traffic);
        let name = format!("cut-{number}");
        service.create(&name).expect(200);
        assert_eq!(service.count(&name), 1, "{traffic:?}");
    }
}

#[test]
fn a_change_that_waits_for_an_absent_standby_has_an_unknown_outcome_and_later_changes_are_refused() {
    let Some(server) = TestServer::start(&[]) else { return };
    let service = Service::start(&server.url(USER, &server.database(), ""));
    let require = |names: &str| {
        server.psql("postgres", &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        server.psql("postgres", "SELECT pg_reload_conf()");
        eventually(|| server.psql("postgres", "SHOW synchronous_standby_names") == names);
    };
    require("absent");
    let admin = &service.admin;
    std::thread::scope(|scope| {
        let began = Instant::now();
        let unknown = scope.spawn(|| admin.create("unknown"));
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        eventually(|| server.psql("postgres", waits) == "1");
        let waiting = Instant::now();
        assert_unavailable(&service.create("away"));
        assert!(waiting.elapsed() < Duration::from_secs(25), "{:?}", waiting.elapsed());
        service.page().expect(404);
        assert_unknown(&unknown.join().unwrap());
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    });
    assert_unavailable(&service.create("away"));
    require("");
    service.assert_recovers();
    assert_eq!(service.count("unknown"), 1);
}

#[test]
fn a_service_is_unavailable_while_its_postgresql_server_is_read_only_or_accepts_no_connection() {
    let Some(server) = TestServer::start(&[]) else { return };
    let database = server.database();
    server.psql(&database, "CREATE ROLE plain LOGIN; GRANT CREATE ON SCHEMA public TO plain");
    let service = Service::start(&server.url("plain", &database, ""));
    let end_sessions = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plain'";
    for (fail, recover) in [
        (
            format!("ALTER DATABASE {database} SET default_transaction_read_only = on"),
            format!("ALTER DATABASE {database} SET default_transaction_read_only = off"),
        ),
        ("ALTER ROLE plain CONNECTION LIMIT 0".to_owned(), "ALTER ROLE plain CONNECTION LIMIT -1".to_owned()),
    ] {
        server.psql("postgres", &fail);
        server.psql("postgres", end_sessions);
        service.assert_is_away();
        server.psql("postgres", &recover);
        service.assert_recovers();
    }
}

#[test]
fn requests_that_need_a_locked_table_are_refused_until_it_is_free() {
    let Some(server) = TestServer::start(&[]) else { return };
    let database = server.database();
    let service = Service::start(&server.url(USER, &database, ""));
    service.page().expect(404);
    let admin = &service.admin;
    std::thread::scope(|scope| {
        let holds = || {
            let lock = "BEGIN; LOCK TABLE organizations; SELECT pg_sleep(600)";
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.psql(&database, lock)))
        };
        let holder = scope.spawn(holds);
        let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        eventually(|| server.psql("postgres", sleeps) == "1");
        let began = Instant::now();
        let (change, read) = (scope.spawn(|| admin.create("away")), scope.spawn(|| admin.page()));
        assert_unavailable(&change.join().unwrap());
        assert_unavailable(&read.join().unwrap());
        assert!(began.elapsed() < ANSWER_MAX, "{:?}", began.elapsed());
        service.me().expect(200);
        server.psql("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
        let _ = holder.join();
    });
    service.assert_recovers();
}
