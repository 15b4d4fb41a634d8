//! Readers, and the lease of background work.

use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::super::lease::Lease;
use super::super::open_error::OpenError;
use super::super::readers::Readers;
use super::super::settings::{self, Use};
use super::super::writer::Mode;
use super::proxy::Traffic;
use super::server::TestServer;
use super::{Database, PATIENCE, add, value};
use crate::db::error::Error;
use crate::db::value::ValueRef;

fn sum(connection: &super::Connection) -> Result<i64, Error> {
    let rows = connection.as_postgres().query("SELECT sum(n) FROM t", &[])?;
    match value::column(&rows[0], 0)? {
        ValueRef::Integer(sum) => Ok(sum),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_read_is_one_snapshot_and_cannot_write() {
    let Some(database) = Database::create() else { return };
    let readers = Readers::open(Arc::clone(&database.target), 2).unwrap();
    let mut writer = database.writer();
    readers
        .read(|connection| {
            assert_eq!(sum(connection)?, 0);
            writer.transaction(Mode::Durable, |connection| add(connection, 1, 1))?;
            assert_eq!(sum(connection)?, 0);
            Ok(())
        })
        .unwrap();
    assert_eq!(readers.read(sum).unwrap(), 1, "a read after a commit sees the commit");
    let outcome = readers.read(|connection| add(connection, 1, 1));
    assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("25006")), "{outcome:?}");
}

#[test]
fn reads_survive_the_loss_of_all_connections() {
    let Some(database) = Database::create() else { return };
    let readers = Readers::open(Arc::clone(&database.target), 3).unwrap();
    readers.read(|_| readers.read(|_| readers.read(sum))).unwrap();
    database.end_sessions();
    assert_eq!(readers.read(sum).unwrap(), 0);
}

#[test]
fn reads_on_a_thread_of_a_runtime_are_refused_while_there_is_no_server_and_work_again_later() {
    let Some(database) = Database::create() else { return };
    let (proxy, _) = database.proxied(PATIENCE);
    let url = format!("postgres://tester@localhost:{}/{}?sslmode=disable", proxy.port(), database.name);
    let readers = Readers::open(Arc::new(super::Target::parse(&url).unwrap()), 1).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let read = || runtime.block_on(std::future::poll_fn(|_| Poll::Ready(readers.read(sum))));
    assert_eq!(read().unwrap(), 0);
    proxy.set(Traffic::Refused);
    proxy.cut();
    for _ in 0..3 {
        let outcome = read();
        assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("cannot be reached")), "{outcome:?}");
    }
    proxy.set(Traffic::Flows);
    for _ in 0..100 {
        if read().is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(read().unwrap(), 0, "the failed reads have not used up the only connection of the pool");
}

#[test]
fn a_read_waits_for_a_connection_and_a_panic_returns_it() {
    let Some(database) = Database::create() else { return };
    let readers = Readers::open(Arc::clone(&database.target), 1).unwrap();
    let taken = Barrier::new(2);
    std::thread::scope(|scope| {
        let panicking = scope.spawn(|| {
            readers.read(|_| -> Result<(), Error> {
                taken.wait();
                std::thread::sleep(Duration::from_millis(200));
                panic!("planted")
            })
        });
        taken.wait();
        assert_eq!(readers.read(sum).unwrap(), 0, "the snapshot of the read that panicked has ended");
        assert!(panicking.join().is_err());
    });
    let nested = readers.read(|_| readers.read(sum));
    assert!(matches!(&nested, Err(Error::Unavailable(why)) if why.contains("in use")), "{nested:?}");
}

#[test]
fn a_server_without_a_free_connection_is_unavailable() {
    let Some(server) = TestServer::start(&["max_connections=8", "superuser_reserved_connections=2"]) else { return };
    server.psql("postgres", "CREATE ROLE plain LOGIN; GRANT CREATE ON SCHEMA public TO plain");
    let url = server.url("plain", "postgres", "");
    let target = Arc::new(super::Target::parse(&url).unwrap());
    let readers = Readers::open(Arc::clone(&target), 10).unwrap();
    let one = |connection: &super::Connection| connection.as_postgres().query("SELECT 1", &[]).map(|rows| rows.len());
    // The server notices a closed connection a moment later.
    std::thread::sleep(Duration::from_millis(200));
    let held: Vec<_> = std::iter::from_fn(|| settings::open(&target, Use::Read).ok()).take(20).collect();
    assert!((3..=5).contains(&held.len()), "{}", held.len());
    let Err(error) = settings::open(&target, Use::Read) else { panic!("there was a connection") };
    assert!(matches!(error, OpenError::TooManyConnections(_)) && error.may_pass(), "{error}");
    assert_eq!(readers.read(one).unwrap(), 1, "the pool has a connection");
    let outcome = readers.read(|_| readers.read(one));
    assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("has no free connection")), "{outcome:?}");
    drop(held);
    let outcome = readers.read(|_| readers.read(one));
    assert_eq!(outcome.unwrap(), 1, "the pool recovers");
}

#[test]
fn reads_without_a_server_share_one_attempt_to_connect() {
    let Some(database) = Database::create() else { return };
    let (proxy, _) = database.proxied(PATIENCE);
    let url = format!("postgres://tester@127.0.0.1:{}/{}?sslmode=disable", proxy.port(), database.name);
    let readers = Readers::open(Arc::new(super::Target::parse(&url).unwrap()), 8).unwrap();
    proxy.set(Traffic::Hangs);
    proxy.cut();
    let before = proxy.connections();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| readers.read(sum));
        // The first read has found that its connection is broken, and is now the one that connects.
        super::eventually(|| proxy.connections() > before);
        let others = [(); 7].map(|()| scope.spawn(|| readers.read(sum)));
        for read in others.into_iter().chain([first]) {
            assert!(matches!(read.join().unwrap(), Err(Error::Unavailable(_))));
        }
    });
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(proxy.connections(), before + 1);
    proxy.set(Traffic::Flows);
    super::eventually(|| readers.read(sum).is_ok());
}

#[test]
fn a_silent_host_does_not_keep_the_service_from_the_new_primary() {
    let Some(database) = Database::create() else { return };
    // The operating system accepts the connection, but no program answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (proxy, _) = database.proxied(PATIENCE);
    let (silent, port) = (silent.local_addr().unwrap().port(), proxy.port());
    let url = format!("postgres://tester@127.0.0.1:{silent},127.0.0.1:{port}/{}?sslmode=disable", database.name);
    let target = super::Target::parse(&url).unwrap();
    proxy.set(Traffic::Refused);
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| settings::open(&target, Use::Read).is_ok());
        let before = proxy.connections();
        super::eventually(|| proxy.connections() > before);
        proxy.set(Traffic::Flows);
        let began = Instant::now();
        assert!(opening.join().unwrap(), "the same attempt asks the second host again");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    });
}

#[test]
fn one_server_at_a_time_has_the_lease() {
    let Some(database) = Database::create() else { return };
    let (mut first, mut second) = (Lease::new(Arc::clone(&database.target)), Lease::new(Arc::clone(&database.target)));
    assert_eq!((first.hold().unwrap(), second.hold().unwrap()), (true, false));
    assert_eq!((first.hold().unwrap(), second.hold().unwrap()), (true, false));
    database.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_locks
         WHERE locktype = 'advisory' AND granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    );
    for _ in 0..100 {
        if second.hold().unwrap() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(second.hold().unwrap(), "another server takes over");
    assert!(first.hold().is_err(), "the lost lease is reported once");
    assert!(!first.hold().unwrap());
}
