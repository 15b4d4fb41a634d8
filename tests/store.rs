//! The store without a service: failing jobs within a batch, the time at which jobs are answered, a full or closed
//! queue, and panics.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue must fail")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use appliance::domain::id::{Id, UserId};
use appliance::domain::refusal::Refusal;
use appliance::domain::text::Email;
use appliance::domain::timestamp::Timestamp;
use appliance::domain::user::PlatformRole;
use appliance::store::{self, Closed, Error, Grade, Halt, OpenError, READERS_MAX, Store, Tx};
use appliance::world::{Scripted, World};

/// The maximum time for which a test waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// The maximum number of jobs in the writer's queue.
const QUEUE_JOBS_MAX: usize = 4_096;

/// An open store with its own file.
struct Fixture {
    store: Arc<Store>,
    world: Arc<Scripted>,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

/// A channel for the answers to jobs, each with the job's name.
struct Answers {
    sender: Sender<(String, Result<(), Error>)>,
    receiver: Receiver<(String, Result<(), Error>)>,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("appliance.db");
        let world = Arc::new(Scripted::at(Timestamp::from_micros(1_795_000_000_000_000)));
        let store = Arc::new(Store::open(&path, Arc::clone(&world) as Arc<dyn World>).unwrap());
        Self { store, world, path, _dir: dir }
    }

    /// Returns a second connection, as another process would open it.
    fn other(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).unwrap()
    }

    /// Returns the sorted names of the users that another connection sees.
    fn users(&self) -> Vec<String> {
        let other = self.other();
        let mut statement = other.prepare("SELECT name FROM users ORDER BY name").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Blocks the writer inside a job until the returned sender is dropped. Jobs that are queued until then form one
    /// batch, or several if they are too many for one.
    fn hold(&self) -> Sender<()> {
        let (begun, has_begun) = channel();
        let (hold, held) = channel::<()>();
        let job = move |_: &Tx<'_>| {
            let _ = begun.send(());
            let _ = held.recv();
            Ok(())
        };
        self.store.write(Grade::Logged, job, |outcome: Result<(), Error>| outcome.unwrap());
        has_begun.recv_timeout(PATIENCE).unwrap();
        hold
    }

    /// Queues a job with a name.
    fn write(
        &self,
        answers: &Answers,
        grade: Grade,
        name: &str,
        job: impl FnMut(&Tx<'_>) -> Result<(), Error> + Send + 'static,
    ) {
        let (sender, name) = (answers.sender.clone(), name.to_owned());
        self.store.write(grade, job, move |outcome| sender.send((name, outcome)).unwrap());
    }

    /// Queues a job that adds a user with this name.
    fn add(&self, answers: &Answers, grade: Grade, name: &str) {
        let user = name.to_owned();
        self.write(answers, grade, name, move |tx| add(tx, &user));
    }
}

impl Answers {
    fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    fn next(&self) -> (String, Result<(), Error>) {
        self.receiver.recv_timeout(PATIENCE).unwrap()
    }

    /// Returns the next `count` answers, sorted by name, each as the job's name and `ok` or the error.
    fn take(&self, count: usize) -> Vec<String> {
        let describe = |outcome| match outcome {
            Ok(()) => "ok".to_owned(),
            Err(error) => format!("{error:?}"),
        };
        let mut taken: Vec<String> =
            (0..count).map(|_| self.next()).map(|(name, outcome)| format!("{name}: {}", describe(outcome))).collect();
        taken.sort();
        taken
    }
}

fn add(tx: &Tx<'_>, name: &str) -> Result<(), Error> {
    let (id, email) = (format!("user_{name}"), format!("{name}@example.org"));
    let (id, email) = (UserId::parse(&id).unwrap(), Email::parse(&email).unwrap());
    store::user::insert(tx, &id, &email, name, PlatformRole::User)
}

fn has(tx: &Tx<'_>, name: &str) -> Result<bool, Error> {
    store::user::exists(tx, &UserId::parse(&format!("user_{name}")).unwrap())
}

/// Runs a read on all connections of the pool at the same time.
fn on_every_reader<T: Send + 'static>(
    fixture: &Fixture,
    read: fn(&Tx<'_>) -> Result<T, Error>,
) -> Vec<std::thread::Result<Result<T, Error>>> {
    let barrier = Arc::new(Barrier::new(READERS_MAX as usize));
    let threads: Vec<_> = (0..READERS_MAX)
        .map(|_| {
            let (store, barrier) = (Arc::clone(&fixture.store), Arc::clone(&barrier));
            std::thread::spawn(move || {
                store.read(|tx| {
                    barrier.wait();
                    read(tx)
                })
            })
        })
        .collect();
    threads.into_iter().map(std::thread::JoinHandle::join).collect()
}

#[test]
fn a_read_that_panics_leaves_its_connection_usable_and_outside_a_transaction() {
    let fixture = Fixture::new();
    let panicked = on_every_reader(&fixture, |tx| {
        // The first query takes the snapshot.
        assert!(!has(tx, "later")?);
        if tx.now.micros() > 0 { panic!("a read that fails") } else { Ok(()) }
    });
    assert!(panicked.iter().all(Result::is_err));
    let refused = on_every_reader(&fixture, |_| Err::<(), _>(Error::Defect("of its own".to_owned())));
    assert!(refused.iter().all(|read| matches!(read, Ok(Err(Error::Defect(why))) if why == "of its own")));
    let answers = Answers::new();
    fixture.add(&answers, Grade::Durable, "later");
    assert_eq!(answers.take(1), ["later: ok"]);
    // A connection that is still inside the earlier transaction could not begin another, or would not see this user.
    for read in on_every_reader(&fixture, |tx| has(tx, "later")) {
        assert!(matches!(read, Ok(Ok(true))), "{read:?}");
    }
}

#[test]
fn a_failing_job_is_undone_and_the_rest_of_its_batch_is_committed() {
    for error in [
        Error::Defect("of its own".to_owned()),
        Error::Unavailable("of its own".to_owned()),
        Error::Refused(Refusal::Conflict("of its own")),
    ] {
        let fixture = Fixture::new();
        let (answers, runs) = (Answers::new(), Arc::new(AtomicUsize::new(0)));
        let hold = fixture.hold();
        let counter = Arc::clone(&runs);
        fixture.write(&answers, Grade::Durable, "a", move |tx| {
            counter.fetch_add(1, Ordering::Relaxed);
            add(tx, "a")
        });
        fixture.add(&answers, Grade::Logged, "b");
        let expected = format!("c: {error:?}");
        fixture.write(&answers, Grade::Durable, "c", move |tx| {
            add(tx, "c")?;
            Err(error.clone())
        });
        fixture.add(&answers, Grade::Durable, "d");
        fixture.add(&answers, Grade::Logged, "e");
        drop(hold);
        assert_eq!(answers.take(5), ["a: ok", "b: ok", &expected, "d: ok", "e: ok"]);
        assert_eq!(fixture.users(), ["a", "b", "d", "e"]);
        assert_eq!(runs.load(Ordering::Relaxed), 2, "the job first ran in one transaction with the failing job");
    }
}

#[test]
fn a_panicking_job_is_undone_and_the_rest_of_its_batch_is_committed() {
    let fixture = Fixture::new();
    let answers = Answers::new();
    let hold = fixture.hold();
    fixture.add(&answers, Grade::Durable, "a");
    fixture.write(&answers, Grade::Durable, "b", |tx| {
        add(tx, "b")?;
        panic!("a job that fails")
    });
    fixture.add(&answers, Grade::Durable, "c");
    fixture.write(&answers, Grade::Durable, "d", |tx| tx.savepoint(|| add(tx, "d").map(|()| panic!("in its act"))));
    fixture.add(&answers, Grade::Durable, "e");
    drop(hold);
    let panicked = "Defect(\"a job panicked; the log lines above show the location\")";
    let expected = ["a: ok", &format!("b: {panicked}"), "c: ok", &format!("d: {panicked}"), "e: ok"];
    assert_eq!(answers.take(5), expected);
    assert_eq!(fixture.users(), ["a", "c", "e"]);
    // The writer continues. A job that panics alone in its batch is undone too.
    fixture.write(&answers, Grade::Durable, "f", |tx| add(tx, "f").map(|()| panic!("alone")));
    assert_eq!(answers.take(1), [format!("f: {panicked}")]);
    fixture.add(&answers, Grade::Durable, "g");
    assert_eq!(answers.take(1), ["g: ok"]);
    assert_eq!(fixture.users(), ["a", "c", "e", "g"]);
    assert_eq!(fixture.store.broken(), None);
}

#[test]
fn a_refused_savepoint_is_undone_and_the_rest_of_its_job_is_committed() {
    let fixture = Fixture::new();
    let answers = Answers::new();
    let hold = fixture.hold();
    for name in ["a", "b"] {
        fixture.write(&answers, Grade::Durable, name, move |tx| {
            add(tx, &format!("{name}-before"))?;
            let act = tx.savepoint(|| {
                add(tx, &format!("{name}-act"))?;
                Err::<(), _>(Error::Refused(Refusal::Conflict("refused")))
            });
            assert!(matches!(act, Err(Error::Refused(Refusal::Conflict("refused")))), "{act:?}");
            assert!(!has(tx, &format!("{name}-act"))? && has(tx, &format!("{name}-before"))?);
            tx.savepoint(|| add(tx, &format!("{name}-second")))?;
            add(tx, &format!("{name}-after"))
        });
    }
    drop(hold);
    assert_eq!(answers.take(2), ["a: ok", "b: ok"]);
    let committed = ["a-after", "a-before", "a-second", "b-after", "b-before", "b-second"];
    assert_eq!(fixture.users(), committed);
    // Savepoints work in the transaction of a command too.
    let done = store::act_alone(&fixture.path, fixture.world.as_ref(), |tx| {
        add(tx, "c-before")?;
        let _ = tx.savepoint(|| add(tx, "c-act").and(Err::<(), _>(Error::Defect("of its own".to_owned()))));
        Ok(())
    });
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(fixture.users().split_off(6), ["c-before"]);
}

#[test]
fn a_job_is_answered_only_after_other_connections_can_read_its_rows() {
    let fixture = Fixture::new();
    let (sender, seen) = channel();
    let hold = fixture.hold();
    for number in 0..8 {
        let (sender, other) = (sender.clone(), fixture.other());
        let grade = if number % 2 == 0 { Grade::Logged } else { Grade::Durable };
        // One job fails. The batch is rolled back, and each of its jobs runs in a transaction of its own.
        let job = move |tx: &Tx<'_>| {
            add(tx, &number.to_string())?;
            if number == 5 { Err(Error::Defect("of its own".to_owned())) } else { Ok(()) }
        };
        fixture.store.write(grade, job, move |outcome| {
            let sql = "SELECT count(*) FROM users WHERE name = ?1";
            let rows: i64 = other.query_row(sql, [number.to_string()], |row| row.get(0)).unwrap();
            sender.send((number, outcome.is_ok(), rows)).unwrap();
        });
    }
    drop(hold);
    for _ in 0..8 {
        let (number, is_ok, rows) = seen.recv_timeout(PATIENCE).unwrap();
        assert_eq!((is_ok, rows), if number == 5 { (false, 0) } else { (true, 1) }, "{number}");
    }
}

#[test]
fn a_panicking_answer_does_not_block_other_jobs() {
    let fixture = Fixture::new();
    let answers = Answers::new();
    let hold = fixture.hold();
    fixture.store.write(Grade::Durable, |tx| add(tx, "a"), |_| panic!("an answer that fails"));
    fixture.add(&answers, Grade::Durable, "b");
    drop(hold);
    assert_eq!(answers.take(1), ["b: ok"]);
    assert_eq!(fixture.users(), ["a", "b"]);
}

#[test]
fn a_full_queue_refuses_new_jobs_at_once_and_still_runs_its_jobs() {
    let fixture = Fixture::new();
    let (queued, refused) = (Answers::new(), Answers::new());
    let hold = fixture.hold();
    for number in 0..QUEUE_JOBS_MAX {
        fixture.add(&queued, Grade::Logged, &format!("{number:04}"));
    }
    assert!(queued.receiver.try_recv().is_err(), "no job has run yet");
    for grade in [Grade::Logged, Grade::Durable] {
        fixture.add(&refused, grade, "late");
        // The job is answered within the call, while the writer is still blocked.
        let (_, outcome) = refused.receiver.try_recv().unwrap();
        assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("full")), "{outcome:?}");
    }
    drop(hold);
    let done = queued.take(QUEUE_JOBS_MAX);
    assert!(done.iter().all(|answer| answer.ends_with(": ok")));
    let expected: Vec<String> = (0..QUEUE_JOBS_MAX).map(|number| format!("{number:04}")).collect();
    assert_eq!(fixture.users(), expected);
    fixture.add(&queued, Grade::Durable, "late");
    assert_eq!(queued.take(1), ["late: ok"]);
}

#[test]
fn closing_runs_queued_jobs_and_refuses_later_jobs() {
    let fixture = Fixture::new();
    let answers = Answers::new();
    let hold = fixture.hold();
    // These are more jobs than one batch can contain.
    for number in 0..600 {
        fixture.add(&answers, Grade::Logged, &format!("{number:03}"));
    }
    let store = Arc::clone(&fixture.store);
    let closing = std::thread::spawn(move || store.close());
    let began = Instant::now();
    let probes = Answers::new();
    let is_stopping = || {
        fixture.write(&probes, Grade::Logged, "probe", |_| Ok(()));
        let refused = probes.receiver.try_recv();
        matches!(refused, Ok((_, Err(Error::Unavailable(why)))) if why.contains("stopping"))
    };
    while !is_stopping() {
        assert!(began.elapsed() < PATIENCE, "the store never begins to stop");
        std::thread::yield_now();
    }
    assert!(answers.receiver.try_recv().is_err(), "no job has run yet");
    drop(hold);
    closing.join().unwrap();
    // All jobs were answered before `close` returned.
    for _ in 0..600 {
        assert!(answers.receiver.try_recv().unwrap().1.is_ok());
    }
    assert_eq!(fixture.users().len(), 600);
    let wal = fixture.path.with_file_name("appliance.db-wal");
    assert_eq!(std::fs::metadata(wal).map_or(0, |metadata| metadata.len()), 0, "the file contains everything");
    fixture.add(&answers, Grade::Durable, "late");
    assert!(matches!(answers.receiver.try_recv().unwrap().1, Err(Error::Unavailable(_))));
    assert_eq!(fixture.users().len(), 600);
}

#[test]
fn batches_with_any_mix_of_grades_are_committed() {
    let fixture = Fixture::new();
    let answers = Answers::new();
    let (logged, durable) = (Grade::Logged, Grade::Durable);
    let batches = [[logged; 3], [logged, durable, logged], [logged; 3], [durable; 3], [logged, logged, durable]];
    let mut expected = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let hold = fixture.hold();
        for (grade, nth) in batch.iter().zip(0..) {
            let name = format!("{number}-{nth}");
            fixture.add(&answers, *grade, &name);
            expected.push(name);
        }
        drop(hold);
        assert!(answers.take(3).iter().all(|answer| answer.ends_with(": ok")));
        assert_eq!(fixture.users(), expected);
    }
    // This job updates an existing row.
    for grade in [logged, durable] {
        fixture.write(&answers, grade, "readiness", store::health::touch);
        assert_eq!(answers.take(1), ["readiness: ok"]);
    }
}

#[test]
fn jobs_fail_as_unavailable_while_another_process_holds_the_write_lock() {
    let fixture = Fixture::new();
    let answers = Answers::new();
    let other = fixture.other();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // For the first job, the writer waits 5 s for the lock. For the other two, which form one batch, it waits 5 s more.
    for name in ["a", "b", "c"] {
        fixture.add(&answers, Grade::Durable, name);
    }
    for (answer, name) in answers.take(3).iter().zip(["a", "b", "c"]) {
        assert!(answer.starts_with(&format!("{name}: Unavailable(")), "{answer}");
    }
    assert_eq!(fixture.users(), Vec::<String>::new());
    other.execute_batch("ROLLBACK").unwrap();
    fixture.add(&answers, Grade::Durable, "a");
    assert_eq!(answers.take(1), ["a: ok"]);
    assert_eq!(fixture.users(), ["a"]);
    assert_eq!(fixture.store.broken(), None);
}

#[test]
fn a_second_store_on_a_file_is_refused_under_any_name() {
    let fixture = Fixture::new();
    let link = fixture.path.with_file_name("link.db");
    std::os::unix::fs::symlink(&fixture.path, &link).unwrap();
    for path in [&fixture.path, &link] {
        let second = Store::open(path, Arc::clone(&fixture.world) as Arc<dyn World>);
        assert!(matches!(second, Err(OpenError::Held(_))), "{}", path.display());
    }
    assert!(!link.with_file_name("link.db.lock").exists());
}

#[test]
fn no_job_succeeds_after_the_file_is_moved() {
    for grade in [Grade::Durable, Grade::Logged] {
        let fixture = Fixture::new();
        let answers = Answers::new();
        fixture.add(&answers, grade, "before");
        assert_eq!(answers.take(1), ["before: ok"]);
        let moved = fixture.path.with_file_name("moved.db");
        std::fs::rename(&fixture.path, &moved).unwrap();
        if grade == Grade::Durable {
            // The writer notices the move before it commits.
            fixture.add(&answers, grade, "after");
            let answer = answers.take(1).remove(0);
            assert!(answer.starts_with("after: Unavailable(") && answer.contains("removed or moved"), "{answer}");
        } else {
            assert!(matches!(fixture.store.require_same_files(), Err(Error::Unavailable(_))));
        }
        assert!(matches!(fixture.store.broken(), Some(Halt::Lost(_))));
        fixture.add(&answers, grade, "later");
        assert!(answers.take(1)[0].starts_with("later: Unavailable("));
        let bytes = std::fs::read(&moved).unwrap();
        assert!(matches!(fixture.store.close(), Closed::Halted(Halt::Lost(_))));
        assert_eq!(std::fs::read(&moved).unwrap(), bytes);
    }
}
