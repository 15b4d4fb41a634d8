//! A database server that fails while a service runs. Requests get a 503 with `Retry-After`, no confirmed act is lost,
//! no refused act happens, and the service recovers without a restart.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::ledger::{Company, Decider, Outcome};
use crate::postgres_server::{Session, TestServer};
use crate::rounds::rounds;
use crate::service::{Server, wait_until};

/// The number of clients that decide at the same time.
const CLIENTS: usize = 8;

/// The number of candidates of each client, enough for all its decisions.
const CANDIDATES: usize = rounds(4, 20);

/// The number of times that the test ends all database sessions of the service.
const CUTS: usize = rounds(12, 100);

/// The number of decisions that must be confirmed between two failures.
const CONFIRMED_MIN: usize = 2 * CLIENTS;

/// The pause of a client after a 503.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// A service, and a database server that a test can cause to fail.
struct Outage {
    // The service must end before the database server.
    company: Company,
    database: String,
    postgres: TestServer,
}

impl Outage {
    fn start(settings: &[&str]) -> Option<Self> {
        TestServer::start(settings).map(Self::on)
    }

    fn on(postgres: TestServer) -> Self {
        let (database, url) = create_database(&postgres);
        Self { company: Company::start(&url), database, postgres }
    }

    fn psql(&self, sql: &str) -> String {
        self.postgres.psql(&self.database, sql)
    }

    /// Changes a setting of the database server.
    fn set(&self, setting: &str, value: &str) {
        self.postgres.psql("postgres", &format!("ALTER SYSTEM SET {setting} = '{value}'"));
        self.postgres.psql("postgres", "SELECT pg_reload_conf()");
        wait_until(|| self.postgres.psql("postgres", &format!("SHOW {setting}")) == value);
    }

    /// Ends all database sessions of the service. Returns the number of those that were in a transaction.
    fn end_sessions(&self) -> usize {
        let sql = "SELECT count(*) FILTER (WHERE is_busy)
                   FROM (
                     SELECT xact_start IS NOT NULL AS is_busy, pg_terminate_backend(pid)
                     FROM pg_stat_activity
                     WHERE usename = 'service'
                     OFFSET 0
                   ) AS ended";
        self.postgres.psql("postgres", sql).parse().unwrap()
    }

    /// Lets several clients decide until `disturb` returns. `disturb` receives the growing count of confirmed
    /// decisions.
    fn decide_during(&self, disturb: impl FnOnce(&AtomicUsize)) {
        let (confirmed, has_ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let decide = |mut decider: Decider<'_>| {
            while !has_ended.load(Ordering::SeqCst) {
                if decider.decide() == Outcome::Done {
                    confirmed.fetch_add(1, Ordering::SeqCst);
                } else {
                    std::thread::sleep(RETRY_PAUSE);
                }
            }
        };
        let decide = &decide;
        let deciders: Vec<Decider<'_>> = (0..CLIENTS).map(|_| self.company.decider(CANDIDATES)).collect();
        std::thread::scope(|scope| {
            for decider in deciders {
                scope.spawn(move || decide(decider));
            }
            // Without this guard, the clients would continue after a panic.
            let _ended = OnDrop(|| has_ended.store(true, Ordering::SeqCst));
            disturb(&confirmed);
        });
    }

    /// Asserts that a read, a decision and an upload are answered with a 503, and that the service runs but is not
    /// ready.
    fn assert_is_away(&self, decider: &mut Decider<'_>) {
        std::thread::scope(|scope| {
            let read = scope.spawn(|| self.company.read());
            let decided = scope.spawn(|| decider.decide());
            let uploaded = scope.spawn(|| self.company.upload());
            let ready = scope.spawn(|| Outcome::of(&self.company.client().get("/readyz")));
            self.company.client().get("/healthz").succeeded();
            for outcome in [read, decided, uploaded, ready].map(|one| one.join().unwrap()) {
                assert_eq!(outcome, Outcome::Unavailable);
            }
        });
    }

    /// Waits until the service works again, and compares all answers with the database.
    fn assert_recovers(&self, decider: &mut Decider<'_>) {
        wait_until(|| decider.decide() == Outcome::Done);
        wait_until(|| self.company.upload() == Outcome::Done);
        wait_until(|| self.company.read() == Outcome::Done);
        wait_until(|| self.company.client().get("/readyz").status == 200);
        self.company.compare(&self.postgres, &self.database);
    }
}

/// Runs a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Creates the role `service` and a database that belongs to it. Returns the database's name, and its URL for the role.
fn create_database(postgres: &TestServer) -> (String, String) {
    let database = postgres.database();
    let sql = format!("CREATE ROLE service LOGIN; ALTER DATABASE {database} OWNER TO service");
    postgres.psql("postgres", &sql);
    let url = postgres.url("service", &database, "sslmode=disable");
    (database, url)
}

/// Waits until a count has grown by this number.
fn await_growth(count: &AtomicUsize, number: usize) {
    let before = count.load(Ordering::SeqCst);
    wait_until(|| count.load(Ordering::SeqCst) >= before + number);
}

#[test]
fn decisions_happen_once_even_if_their_database_sessions_end_repeatedly() {
    let Some(outage) = Outage::start(&[]) else { return };
    let mut busy = 0;
    outage.decide_during(|confirmed| {
        for _ in 0..CUTS {
            await_growth(confirmed, CONFIRMED_MIN);
            busy += outage.end_sessions();
        }
    });
    assert!(busy > 0, "no session was ended in the middle of a transaction");
    outage.assert_recovers(&mut outage.company.decider(1));
}

#[test]
fn decisions_during_crashes_of_the_database_server_happen_once() {
    let Some(outage) = Outage::start(&[]) else { return };
    let mut decider = outage.company.decider(1);
    outage.decide_during(|confirmed| {
        for _ in 0..2 {
            await_growth(confirmed, CONFIRMED_MIN);
            outage.postgres.abort();
            outage.assert_is_away(&mut decider);
            outage.postgres.start_again();
        }
        await_growth(confirmed, CONFIRMED_MIN);
    });
    outage.assert_recovers(&mut decider);
}

#[test]
fn a_service_on_a_read_only_primary_is_unavailable_until_the_primary_accepts_writes() {
    let Some(outage) = Outage::start(&[]) else { return };
    let mut decider = outage.company.decider(1);
    assert_eq!(decider.decide(), Outcome::Done);
    outage.set("default_transaction_read_only", "on");
    wait_until(|| decider.decide() == Outcome::Unavailable);
    outage.assert_is_away(&mut decider);
    outage.set("default_transaction_read_only", "off");
    outage.assert_recovers(&mut decider);
}

#[test]
fn a_decision_that_waits_for_a_standby_is_confirmed_when_the_standby_is_no_longer_required() {
    let Some(outage) = Outage::start(&[]) else { return };
    let [mut waiting, mut others] = [outage.company.decider(1), outage.company.decider(1)];
    outage.set("synchronous_standby_names", "absent");
    std::thread::scope(|scope| {
        let decided = scope.spawn(|| waiting.decide());
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'service' AND wait_event = 'SyncRep'";
        wait_until(|| outage.psql(waits) == "1");
        outage.assert_is_away(&mut others);
        outage.set("synchronous_standby_names", "");
        assert_eq!(decided.join().unwrap(), Outcome::Done);
    });
    outage.assert_recovers(&mut others);
}

#[test]
fn a_service_is_unavailable_while_other_clients_hold_all_connections() {
    let settings = ["max_connections=16", "superuser_reserved_connections=4"];
    let Some(postgres) = TestServer::start(&settings) else { return };
    postgres.psql("postgres", "CREATE ROLE other LOGIN");
    let outage = Outage::on(postgres);
    let mut decider = outage.company.decider(1);
    let mut others = take_connections(&outage.postgres);
    assert!(!others.is_empty());
    // The service continues with the connections that it has.
    assert_eq!([outage.company.read(), decider.decide(), outage.company.upload()], [Outcome::Done; 3]);
    wait_until(|| {
        outage.end_sessions();
        others.extend(take_connections(&outage.postgres));
        outage.psql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'service'") == "0"
    });
    outage.assert_is_away(&mut decider);
    let url = outage.postgres.url("service", &outage.database, "sslmode=disable");
    let (status, log) = Server::spawn(&url).await_end();
    assert!(status == Some(1) && log.contains("has no free connection"), "{status:?}: {log}");
    drop(others);
    outage.assert_recovers(&mut decider);
}

/// Opens sessions of another client until the server refuses one.
fn take_connections(postgres: &TestServer) -> Vec<Session> {
    std::iter::from_fn(|| postgres.session_of("other", "postgres")).collect()
}

#[test]
fn a_request_waits_for_a_lock_of_another_session_and_gets_a_503_if_the_wait_is_too_long() {
    let Some(outage) = Outage::start(&[]) else { return };
    let [mut waiting, mut refused] = [outage.company.decider(1), outage.company.decider(1)];
    // The service sets its own, longer limits, so these defaults of the role must have no effect.
    outage.psql("ALTER ROLE service SET statement_timeout = '1s'; ALTER ROLE service SET lock_timeout = '1s'");
    outage.end_sessions();
    wait_until(|| waiting.decide() == Outcome::Done);
    let mut holder = outage.postgres.session(&outage.database);
    let lock = "BEGIN; LOCK TABLE candidate_role_steps, documents, readiness, roles";
    holder.run(lock);
    std::thread::scope(|scope| {
        let decided = scope.spawn(|| waiting.decide());
        let waits = "SELECT count(*) > 0 FROM pg_stat_activity
                     WHERE usename = 'service' AND wait_event_type = 'Lock' AND query_start < now() - interval '2s'";
        wait_until(|| outage.psql(waits) == "t");
        holder.run("ROLLBACK");
        assert_eq!(decided.join().unwrap(), Outcome::Done);
    });
    holder.run(lock);
    outage.assert_is_away(&mut refused);
    holder.run("ROLLBACK");
    outage.assert_recovers(&mut refused);
}

#[test]
fn decisions_while_the_disk_of_the_database_server_is_full_happen_at_most_once() {
    let Some(disk) = SmallDisk::mount() else { return };
    let place = disk.0.to_str().unwrap();
    let Some(postgres) = TestServer::start_at(place, &["max_wal_size=32MB", "autovacuum=off"]) else { return };
    let outage = Outage::on(postgres);
    outage.decide_during(|confirmed| {
        await_growth(confirmed, CONFIRMED_MIN);
        wait_until(|| {
            disk.fill();
            outage.company.upload() == Outcome::Unavailable
        });
        // The database server ends with a panic when it cannot write its write-ahead log.
        let grow_log = "SELECT pg_logical_emit_message(false, '', repeat('x', 1000000)) FROM generate_series(1, 64)";
        wait_until(|| {
            disk.fill();
            let outcome = outage.postgres.try_psql(&outage.database, grow_log);
            outcome.is_err_and(|error| error.contains("server closed the connection"))
        });
        disk.free();
        // After a panic during its recovery, the server does not restart by itself.
        outage.postgres.stop();
        outage.postgres.start_again();
        await_growth(confirmed, CONFIRMED_MIN);
    });
    outage.assert_recovers(&mut outage.company.decider(1));
}

/// A small file system.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a file system in memory. Returns `None` if the test may not mount file systems.
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap().keep();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256m,mode=1777", "tmpfs"]).arg(&directory);
        if mount.output().is_ok_and(|output| output.status.success()) {
            return Some(Self(directory));
        }
        eprintln!("skipped: only root may mount a small file system");
        std::fs::remove_dir(directory).unwrap();
        None
    }

    /// Fills the file system to its last byte.
    fn fill(&self) {
        let mut filler = File::options().create(true).append(true).open(self.0.join("filler")).unwrap();
        for size in [1_048_576, 4_096, 1] {
            while filler.write(&vec![0; size]).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}
