//! The store by itself: what the writer's batches keep of jobs that fail, when a job is answered, what happens to the
//! queue when it is full or closed, and that a panic harms nobody else.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

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

/// How long anything is waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Jobs that may wait for the writer.
const QUEUE_JOBS_MAX: usize = 4_096;

/// An open store on a file of its own.
struct Place {
    store: Arc<Store>,
    world: Arc<Scripted>,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

/// The answers to jobs, each with the job's name.
struct Answers {
    sender: Sender<(String, Result<(), Error>)>,
    receiver: Receiver<(String, Result<(), Error>)>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("appliance.db");
        let world = Arc::new(Scripted::at(Timestamp::from_micros(1_795_000_000_000_000)));
        let store = Arc::new(Store::open(&path, Arc::clone(&world) as Arc<dyn World>).unwrap());
        Self { store, world, path, _dir: dir }
    }

    /// A connection as another process has it.
    fn other(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).unwrap()
    }

    /// The names of the users that another connection sees, in order.
    fn users(&self) -> Vec<String> {
        let other = self.other();
        let mut statement = other.prepare("SELECT name FROM users ORDER BY name").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Makes the writer wait inside a job until what is returned is dropped: what is queued meanwhile is one batch.
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

    /// Queues a job under a name.
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

    /// Queues a job that adds a user of this name.
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

    /// The next so many, each as the job's name and `ok` or the error, in the order of the names.
    fn take(&self, count: usize) -> Vec<String> {
        let told = |outcome| match outcome {
            Ok(()) => "ok".to_owned(),
            Err(error) => format!("{error:?}"),
        };
        let mut taken: Vec<String> =
            (0..count).map(|_| self.next()).map(|(name, outcome)| format!("{name}: {}", told(outcome))).collect();
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

/// Runs a read on every connection of the pool at once.
fn on_every_reader<T: Send + 'static>(
    place: &Place,
    read: fn(&Tx<'_>) -> Result<T, Error>,
) -> Vec<std::thread::Result<Result<T, Error>>> {
    let barrier = Arc::new(Barrier::new(READERS_MAX as usize));
    let threads: Vec<_> = (0..READERS_MAX)
        .map(|_| {
            let (store, barrier) = (Arc::clone(&place.store), Arc::clone(&barrier));
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
    let place = Place::new();
    let panicked = on_every_reader(&place, |tx| {
        // The snapshot is taken by the first look.
        assert!(!has(tx, "later")?);
        if tx.now.micros() > 0 { panic!("a read that fails") } else { Ok(()) }
    });
    assert!(panicked.iter().all(Result::is_err));
    let refused = on_every_reader(&place, |_| Err::<(), _>(Error::Defect("of its own".to_owned())));
    assert!(refused.iter().all(|read| matches!(read, Ok(Err(Error::Defect(why))) if why == "of its own")));
    let answers = Answers::new();
    place.add(&answers, Grade::Durable, "later");
    assert_eq!(answers.take(1), ["later: ok"]);
    // A connection that was still inside the transaction of before would not begin another, or not see this.
    for read in on_every_reader(&place, |tx| has(tx, "later")) {
        assert!(matches!(read, Ok(Ok(true))), "{read:?}");
    }
}

#[test]
fn a_job_that_fails_is_undone_alone_and_its_neighbours_stay() {
    for error in [
        Error::Defect("of its own".to_owned()),
        Error::Unavailable("of its own".to_owned()),
        Error::Refused(Refusal::Conflict("of its own")),
    ] {
        let place = Place::new();
        let (answers, runs) = (Answers::new(), Arc::new(AtomicUsize::new(0)));
        let hold = place.hold();
        let ours = Arc::clone(&runs);
        place.write(&answers, Grade::Durable, "a", move |tx| {
            ours.fetch_add(1, Ordering::Relaxed);
            add(tx, "a")
        });
        place.add(&answers, Grade::Logged, "b");
        let told = format!("c: {error:?}");
        place.write(&answers, Grade::Durable, "c", move |tx| {
            add(tx, "c")?;
            Err(error.clone())
        });
        place.add(&answers, Grade::Durable, "d");
        place.add(&answers, Grade::Logged, "e");
        drop(hold);
        assert_eq!(answers.take(5), ["a: ok", "b: ok", &told, "d: ok", "e: ok"]);
        assert_eq!(place.users(), ["a", "b", "d", "e"]);
        assert_eq!(runs.load(Ordering::Relaxed), 2, "it was in one transaction with the job that failed");
    }
}

#[test]
fn a_job_that_panics_is_undone_alone_and_its_neighbours_stay() {
    let place = Place::new();
    let answers = Answers::new();
    let hold = place.hold();
    place.add(&answers, Grade::Durable, "a");
    place.write(&answers, Grade::Durable, "b", |tx| {
        add(tx, "b")?;
        panic!("a job that fails")
    });
    place.add(&answers, Grade::Durable, "c");
    place.write(&answers, Grade::Durable, "d", |tx| tx.savepoint(|| add(tx, "d").map(|()| panic!("in its act"))));
    place.add(&answers, Grade::Durable, "e");
    drop(hold);
    let panicked = "Defect(\"a job panicked; its place is in the lines above\")";
    let expected = ["a: ok", &format!("b: {panicked}"), "c: ok", &format!("d: {panicked}"), "e: ok"];
    assert_eq!(answers.take(5), expected);
    assert_eq!(place.users(), ["a", "c", "e"]);
    // It goes on, and by itself too a panic is undone.
    place.write(&answers, Grade::Durable, "f", |tx| add(tx, "f").map(|()| panic!("alone")));
    assert_eq!(answers.take(1), [format!("f: {panicked}")]);
    place.add(&answers, Grade::Durable, "g");
    assert_eq!(answers.take(1), ["g: ok"]);
    assert_eq!(place.users(), ["a", "c", "e", "g"]);
    assert_eq!(place.store.broken(), None);
}

#[test]
fn an_act_that_is_refused_leaves_nothing_and_its_job_keeps_the_rest() {
    let place = Place::new();
    let answers = Answers::new();
    let hold = place.hold();
    for name in ["a", "b"] {
        place.write(&answers, Grade::Durable, name, move |tx| {
            add(tx, &format!("{name}-before"))?;
            let act = tx.savepoint(|| {
                add(tx, &format!("{name}-act"))?;
                Err::<(), _>(Error::Refused(Refusal::Conflict("refused")))
            });
            assert!(matches!(act, Err(Error::Refused(Refusal::Conflict("refused")))), "{act:?}");
            assert!(!has(tx, &format!("{name}-act"))? && has(tx, &format!("{name}-before"))?);
            tx.savepoint(|| add(tx, &format!("{name}-second")))?;
            add(tx, &format!("{name}-behind"))
        });
    }
    drop(hold);
    assert_eq!(answers.take(2), ["a: ok", "b: ok"]);
    let kept = ["a-before", "a-behind", "a-second", "b-before", "b-behind", "b-second"];
    assert_eq!(place.users(), kept);
    // The same for an act on a file without a service.
    let done = store::act_alone(&place.path, place.world.as_ref(), |tx| {
        add(tx, "c-before")?;
        let _ = tx.savepoint(|| add(tx, "c-act").and(Err::<(), _>(Error::Defect("of its own".to_owned()))));
        Ok(())
    });
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(place.users().split_off(6), ["c-before"]);
}

#[test]
fn nothing_is_answered_before_another_connection_can_read_it() {
    let place = Place::new();
    let (sender, seen) = channel();
    let hold = place.hold();
    for number in 0..8 {
        let (sender, other) = (sender.clone(), place.other());
        let grade = if number % 2 == 0 { Grade::Logged } else { Grade::Durable };
        // One of them fails, so that the others run a second time, each by itself.
        let job = move |tx: &Tx<'_>| {
            add(tx, &number.to_string())?;
            if number == 5 { Err(Error::Defect("of its own".to_owned())) } else { Ok(()) }
        };
        place.store.write(grade, job, move |outcome| {
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
fn whoever_fails_on_an_answer_keeps_nobody_waiting() {
    let place = Place::new();
    let answers = Answers::new();
    let hold = place.hold();
    place.store.write(Grade::Durable, |tx| add(tx, "a"), |_| panic!("an answer that fails"));
    place.add(&answers, Grade::Durable, "b");
    drop(hold);
    assert_eq!(answers.take(1), ["b: ok"]);
    assert_eq!(place.users(), ["a", "b"]);
}

#[test]
fn a_full_queue_refuses_at_once_and_still_does_what_is_queued() {
    let place = Place::new();
    let (queued, refused) = (Answers::new(), Answers::new());
    let hold = place.hold();
    for number in 0..QUEUE_JOBS_MAX {
        place.add(&queued, Grade::Logged, &format!("{number:04}"));
    }
    assert!(queued.receiver.try_recv().is_err(), "nothing of it is done yet");
    for grade in [Grade::Logged, Grade::Durable] {
        place.add(&refused, grade, "late");
        // Answered by the call itself, while the writer stands still.
        let (_, outcome) = refused.receiver.try_recv().unwrap();
        assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("full")), "{outcome:?}");
    }
    drop(hold);
    let done = queued.take(QUEUE_JOBS_MAX);
    assert!(done.iter().all(|answer| answer.ends_with(": ok")));
    let expected: Vec<String> = (0..QUEUE_JOBS_MAX).map(|number| format!("{number:04}")).collect();
    assert_eq!(place.users(), expected);
    place.add(&queued, Grade::Durable, "late");
    assert_eq!(queued.take(1), ["late: ok"]);
}

#[test]
fn closing_does_what_is_queued_and_nothing_that_comes_later() {
    let place = Place::new();
    let answers = Answers::new();
    let hold = place.hold();
    // More than one transaction has.
    for number in 0..600 {
        place.add(&answers, Grade::Logged, &format!("{number:03}"));
    }
    let store = Arc::clone(&place.store);
    let closing = std::thread::spawn(move || store.close());
    let began = Instant::now();
    let probes = Answers::new();
    let is_stopping = || {
        place.write(&probes, Grade::Logged, "probe", |_| Ok(()));
        let refused = probes.receiver.try_recv();
        matches!(refused, Ok((_, Err(Error::Unavailable(why)))) if why.contains("stopping"))
    };
    while !is_stopping() {
        assert!(began.elapsed() < PATIENCE, "it never begins to stop");
        std::thread::yield_now();
    }
    assert!(answers.receiver.try_recv().is_err(), "nothing of it is done yet");
    drop(hold);
    closing.join().unwrap();
    // All of it was answered before `close` came back.
    for _ in 0..600 {
        assert!(answers.receiver.try_recv().unwrap().1.is_ok());
    }
    assert_eq!(place.users().len(), 600);
    let wal = place.path.with_file_name("appliance.db-wal");
    assert_eq!(std::fs::metadata(wal).map_or(0, |metadata| metadata.len()), 0, "it is all in the one file");
    place.add(&answers, Grade::Durable, "late");
    assert!(matches!(answers.receiver.try_recv().unwrap().1, Err(Error::Unavailable(_))));
    assert_eq!(place.users().len(), 600);
}

#[test]
fn a_batch_is_committed_whether_a_job_of_it_is_durable_or_none() {
    let place = Place::new();
    let answers = Answers::new();
    let (logged, durable) = (Grade::Logged, Grade::Durable);
    let batches = [[logged; 3], [logged, durable, logged], [logged; 3], [durable; 3], [logged, logged, durable]];
    let mut expected = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let hold = place.hold();
        for (grade, nth) in batch.iter().zip(0..) {
            let name = format!("{number}-{nth}");
            place.add(&answers, *grade, &name);
            expected.push(name);
        }
        drop(hold);
        assert!(answers.take(3).iter().all(|answer| answer.ends_with(": ok")));
        assert_eq!(place.users(), expected);
    }
    // A row that is written again and again.
    for grade in [logged, durable] {
        place.write(&answers, grade, "readiness", store::health::touch);
        assert_eq!(answers.take(1), ["readiness: ok"]);
    }
}

#[test]
fn while_another_process_holds_the_write_lock_jobs_are_unavailable_and_afterwards_done() {
    let place = Place::new();
    let answers = Answers::new();
    let other = place.other();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The first waits out the 5 s that the other process may take by itself, the others together behind it.
    for name in ["a", "b", "c"] {
        place.add(&answers, Grade::Durable, name);
    }
    for (answer, name) in answers.take(3).iter().zip(["a", "b", "c"]) {
        assert!(answer.starts_with(&format!("{name}: Unavailable(")), "{answer}");
    }
    assert_eq!(place.users(), Vec::<String>::new());
    other.execute_batch("ROLLBACK").unwrap();
    place.add(&answers, Grade::Durable, "a");
    assert_eq!(answers.take(1), ["a: ok"]);
    assert_eq!(place.users(), ["a"]);
    assert_eq!(place.store.broken(), None);
}

#[test]
fn one_store_has_a_file_whatever_it_is_called() {
    let place = Place::new();
    let link = place.path.with_file_name("link.db");
    std::os::unix::fs::symlink(&place.path, &link).unwrap();
    for path in [&place.path, &link] {
        let second = Store::open(path, Arc::clone(&place.world) as Arc<dyn World>);
        assert!(matches!(second, Err(OpenError::Held(_))), "{}", path.display());
    }
    assert!(!link.with_file_name("link.db.lock").exists());
}

#[test]
fn nothing_is_answered_as_done_once_the_file_is_moved() {
    for grade in [Grade::Durable, Grade::Logged] {
        let place = Place::new();
        let answers = Answers::new();
        place.add(&answers, grade, "before");
        assert_eq!(answers.take(1), ["before: ok"]);
        let moved = place.path.with_file_name("moved.db");
        std::fs::rename(&place.path, &moved).unwrap();
        if grade == Grade::Durable {
            // The writer sees it by itself, before it commits.
            place.add(&answers, grade, "after");
            let answer = answers.take(1).remove(0);
            assert!(answer.starts_with("after: Unavailable(") && answer.contains("removed or moved"), "{answer}");
        } else {
            assert!(matches!(place.store.require_same_files(), Err(Error::Unavailable(_))));
        }
        assert!(matches!(place.store.broken(), Some(Halt::Lost(_))));
        place.add(&answers, grade, "later");
        assert!(answers.take(1)[0].starts_with("later: Unavailable("));
        let bytes = std::fs::read(&moved).unwrap();
        assert!(matches!(place.store.close(), Closed::Halted(Halt::Lost(_))));
        assert_eq!(std::fs::read(&moved).unwrap(), bytes);
    }
}
