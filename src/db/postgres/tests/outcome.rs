//! Connections that break during a transaction: nothing is lost, and nothing happens twice. If the writer cannot
//! determine an outcome, it reports the outcome as unknown.

use std::time::{Duration, Instant};

use super::super::settings::{self, Use};
use super::super::writer::{Mode, Patience, Writer};
use super::proxy::Traffic;
use super::server::TestServer;
use super::{Database, PATIENCE, add, wait_for};
use crate::db::error::Error;

/// Runs a transaction that adds 1. Returns its outcome and the number of its runs.
fn add_one(writer: &mut Writer) -> (Result<i64, Error>, u32) {
    let mut runs = 0;
    let outcome = writer.transaction(Mode::Durable, |connection| {
        runs += 1;
        add(connection, 1, 1)
    });
    (outcome, runs)
}

#[test]
fn a_transaction_whose_connection_is_cut_before_its_commit_runs_again() {
    let Some(database) = Database::create() else { return };
    let (proxy, mut writer) = database.proxied(PATIENCE);
    let mut runs = 0;
    let outcome = writer.transaction(Mode::Durable, |connection| {
        runs += 1;
        let added = add(connection, 1, 1)?;
        if runs == 1 {
            proxy.cut();
        }
        Ok(added)
    });
    assert_eq!((outcome.unwrap(), runs), (1, 2));
    assert_eq!(database.values(), "1 0");
}

#[test]
fn a_commit_whose_answer_is_lost_counts_once() {
    let Some(database) = Database::create() else { return };
    let (proxy, mut writer) = database.proxied(PATIENCE);
    for (traffic, runs_expected, value) in [(Traffic::CutAfterCommit, 1, 1), (Traffic::CutBeforeCommit, 2, 2)] {
        proxy.set(traffic);
        let began = Instant::now();
        let (outcome, runs) = add_one(&mut writer);
        assert_eq!((outcome.unwrap(), runs), (value, runs_expected), "{traffic:?}");
        // The writer did not wait until the server noticed the end of the old connection.
        assert!(began.elapsed() < Duration::from_millis(2_500), "{:?}", began.elapsed());
    }
    assert_eq!(database.values(), "2 0");
}

#[test]
fn the_writer_determines_the_outcome_of_a_commit_that_ends_the_session_with_an_error() {
    let Some(database) = Database::create() else { return };
    let (proxy, mut writer) = database.proxied(PATIENCE);
    for (value, severity, code) in [(1, "PANIC", "58030"), (2, "FATAL", "XX000"), (3, "PANIC", "XX000")] {
        proxy.set(Traffic::FailAfterCommit(severity, code));
        let (outcome, runs) = add_one(&mut writer);
        assert_eq!((outcome.unwrap(), runs), (value, 1), "{severity} {code}");
    }
    assert_eq!(database.values(), "3 0");
}

#[test]
fn a_commit_that_the_server_refuses_has_failed() {
    let Some(database) = Database::create() else { return };
    database.psql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '53100'; END $$;
         CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON t DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW WHEN (new.n = 1) EXECUTE FUNCTION refuse()",
    );
    let mut writer = database.writer();
    let (outcome, runs) = add_one(&mut writer);
    assert!(matches!(outcome, Err(Error::Full(_))) && runs == 1, "{outcome:?}");
    assert_eq!(writer.transaction(Mode::Durable, |connection| add(connection, 1, 2)).unwrap(), 2);
    assert_eq!(database.values(), "2 0");
}

#[test]
fn a_transaction_whose_commit_is_lost_in_the_network_runs_again() {
    let Some(database) = Database::create() else { return };
    let (proxy, mut writer) = database.proxied(PATIENCE);
    proxy.set(Traffic::SwallowFromCommit);
    let (outcome, runs) = add_one(&mut writer);
    assert_eq!((outcome.unwrap(), runs), (1, 2));
    assert_eq!(database.values(), "1 0");
}

#[test]
fn an_outcome_that_cannot_be_determined_is_unknown_and_the_writer_recovers() {
    let Some(database) = Database::create() else { return };
    let patience = Patience { commit: Duration::from_secs(1), outcome: Duration::from_secs(1) };
    let (proxy, mut writer) = database.proxied(patience);
    proxy.set(Traffic::CutForGoodAfterCommit);
    let (outcome, runs) = add_one(&mut writer);
    assert!(matches!(outcome, Err(Error::OutcomeUnknown(_))) && runs == 1, "{outcome:?}");
    let (outcome, runs) = add_one(&mut writer);
    assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("cannot be reached")), "{outcome:?}");
    assert_eq!(runs, 0);
    proxy.set(Traffic::Flows);
    assert_eq!(add_one(&mut writer).0.unwrap(), 2, "the commit had happened");
}

/// Starts a server for one test. A test that kills processes of its server or changes its settings cannot use the
/// shared server.
fn own_server(settings: &[&str]) -> Option<Database> {
    let server = TestServer::start(settings)?;
    // The server ends with the test process.
    Some(Database::on(Box::leak(Box::new(server))))
}

const COMMITTING: &str = "SELECT count(*) FROM pg_stat_activity
                          WHERE application_name = 'appliance' AND query = 'COMMIT' AND state = 'active'";
const PID: &str = "SELECT pid FROM pg_stat_activity
                   WHERE application_name = 'appliance' AND query = 'COMMIT' AND state = 'active'";

#[test]
fn a_backend_that_is_killed_before_it_writes_its_commit_has_committed_nothing() {
    let Some(database) = own_server(&[]) else { return };
    database.psql(
        "CREATE TABLE naps (seconds BIGINT NOT NULL);
         INSERT INTO naps VALUES (60);
         CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN PERFORM pg_sleep((SELECT seconds FROM naps)); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER nap AFTER UPDATE ON t DEFERRABLE INITIALLY DEFERRED
           FOR EACH ROW EXECUTE FUNCTION nap()",
    );
    let mut writer = super::open_writer(&database.target, Patience { commit: Duration::from_secs(30), ..PATIENCE });
    std::thread::scope(|scope| {
        let adding = scope.spawn(|| add_one(&mut writer));
        wait_for(&database, COMMITTING, "1");
        database.psql("UPDATE naps SET seconds = 0");
        database.server.kill(&database.psql(PID), "-KILL");
        let (outcome, runs) = adding.join().unwrap();
        assert_eq!((outcome.unwrap(), runs), (1, 2));
    });
    assert_eq!(database.values(), "1 0");
}

/// Makes the triggers of a commit wait for a lock that a session of the test holds.
const WAIT_AT_COMMIT: &str = "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
                                'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
                              CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON t DEFERRABLE INITIALLY DEFERRED
                                FOR EACH ROW EXECUTE FUNCTION wait()";

#[test]
fn a_transaction_runs_again_if_a_crash_has_also_lost_the_commits_before_it() {
    // Nothing writes the log of the server to the disk, except a durable commit.
    let settings = ["wal_writer_delay=10s", "bgwriter_delay=10s", "autovacuum=off", "full_page_writes=off"];
    let Some(database) = own_server(&settings) else { return };
    database.psql(WAIT_AT_COMMIT);
    let mut writer = super::open_writer(&database.target, Patience { commit: Duration::from_secs(30), ..PATIENCE });
    let holder = settings::open(&database.target, Use::Idle).unwrap();
    writer.transaction(Mode::Durable, |connection| add(connection, 1, 1)).unwrap();
    writer.transaction(Mode::Logged, |connection| add(connection, 1, 10)).unwrap();
    holder.batch("SELECT pg_advisory_lock(1)").unwrap();
    std::thread::scope(|scope| {
        let adding = scope.spawn(|| {
            let mut runs = 0;
            let added = writer.transaction(Mode::Logged, |connection| {
                runs += 1;
                add(connection, 1, 100)
            });
            (added, runs)
        });
        wait_for(&database, COMMITTING, "1");
        database.server.kill(&database.psql(PID), "-KILL");
        let (outcome, runs) = adding.join().unwrap();
        assert_eq!((outcome.unwrap(), runs), (101, 2), "the addition of 10 was lost, and that of 100 happened once");
    });
    assert_eq!(database.values(), "101 0");
}

/// Makes a commit wait for a standby that does not exist, disturbs the wait, and then removes the
/// name of the standby from the settings.
fn disturb_the_wait_for_the_standby(disturb: impl Fn(&Database, &str)) {
    let Some(database) = own_server(&[]) else { return };
    let mut writer = super::open_writer(&database.target, Patience { commit: Duration::from_secs(30), ..PATIENCE });
    let set = |names: &str| {
        database.psql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        database.psql("SELECT pg_reload_conf()");
    };
    set("absent");
    wait_for(&database, "SHOW synchronous_standby_names", "absent");
    std::thread::scope(|scope| {
        let adding = scope.spawn(|| add_one(&mut writer));
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        wait_for(&database, waits, "1");
        disturb(&database, &database.psql(PID));
        // The writer registers again, and its registration waits for the standby, too.
        std::thread::sleep(Duration::from_millis(1_000));
        assert!(!adding.is_finished(), "a commit that the standby may lack was confirmed");
        for _ in 0..100 {
            if database.server.is_up() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        set("");
        let (outcome, runs) = adding.join().unwrap();
        assert_eq!((outcome.unwrap(), runs), (1, 1));
    });
    assert_eq!(database.values(), "1 0");
}

#[test]
fn a_backend_that_is_killed_after_it_wrote_its_commit_has_committed_once() {
    disturb_the_wait_for_the_standby(|database, pid| database.server.kill(pid, "-KILL"));
}

#[test]
fn a_commit_whose_wait_for_the_standby_is_cancelled_is_confirmed_only_after_the_standby_has_it() {
    disturb_the_wait_for_the_standby(|database, pid| {
        database.psql(&format!("SELECT pg_cancel_backend({pid})"));
    });
}

#[test]
fn a_commit_whose_backend_is_terminated_is_confirmed_only_after_the_standby_has_it() {
    disturb_the_wait_for_the_standby(|database, pid| {
        database.psql(&format!("SELECT pg_terminate_backend({pid})"));
    });
}

#[test]
fn a_standby_that_hangs_makes_the_outcome_unknown() {
    let Some(database) = own_server(&[]) else { return };
    let patience = Patience { commit: Duration::from_secs(1), outcome: Duration::from_secs(1) };
    let mut writer = super::open_writer(&database.target, patience);
    let set = |names: &str| {
        database.psql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        database.psql("SELECT pg_reload_conf()");
    };
    set("absent");
    wait_for(&database, "SHOW synchronous_standby_names", "absent");
    let (outcome, runs) = add_one(&mut writer);
    assert!(matches!(outcome, Err(Error::OutcomeUnknown(_))) && runs == 1, "{outcome:?}");
    set("");
    wait_for(&database, "SELECT n FROM t WHERE id = 1", "1");
    assert_eq!(add_one(&mut writer).0.unwrap(), 2);
    assert_eq!(database.values(), "2 0");
}
