//! The engine behind the writer thread: the answers to the callers of a batch when the server fails.

use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::super::engine::Engine;
use super::super::settings::{self, Use};
use super::super::writer::{Mode, Patience, Writer};
use super::proxy::Traffic;
use super::{Database, PATIENCE, TABLES};
use crate::db::clock::Clock;
use crate::db::connection::Connection;
use crate::db::halt::Broken;
use crate::db::hooks::{Entry, Hooks};
use crate::db::job::{Grade, Job, Typed};
use crate::db::tx::{Error, Tx};
use crate::domain::timestamp::Timestamp;
use crate::world::{Scripted, World};

/// A log row. Appending it adds one to the value in the row `id` of the table, and fails if the table has no such row.
struct AddingRow {
    id: i64,
    outcome: Sender<Result<(), Error>>,
}

struct NoEntry;

impl Entry for NoEntry {
    fn bytes(&self) -> usize {
        0
    }
}

/// Records the number of rows in each call of `append`.
#[derive(Clone, Default)]
struct AddingHooks(Arc<Mutex<Vec<usize>>>);

impl Hooks for AddingHooks {
    type Row = AddingRow;
    type Verdict = ();
    type Entry = NoEntry;
    type Changes = ();

    fn state(&self) -> &dyn Any {
        &()
    }

    fn changes(&self, _: &Tx<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn invalidate(&self, (): ()) {}

    fn count(&self, _: usize) {}

    fn committed(&self) {}

    fn discard_state(&self) {}

    fn outdate_state(&self) {}

    fn outdates_other_servers(&self) -> bool {
        false
    }

    fn undo(&self) -> Result<(), Error> {
        Ok(())
    }

    fn decide(&self, _: &Tx<'_>, _: &[AddingRow]) -> Result<(Vec<()>, ()), Error> {
        unreachable!("only SQLite decides without appending")
    }

    fn append(&self, tx: &Tx<'_>, rows: &[AddingRow]) -> Result<(Vec<()>, ()), Error> {
        self.0.lock().unwrap().push(rows.len());
        for row in rows {
            if tx.run("UPDATE t SET n = n + 1 WHERE id = $1", [row.id])? == 0 {
                return Err(Error::Defect("there is no such row".to_owned()));
            }
        }
        Ok((rows.iter().map(|_| ()).collect(), ()))
    }

    fn entry(_: &AddingRow, (): &()) -> Option<NoEntry> {
        None
    }

    fn append_entry(_: &Tx<'_>, _: &NoEntry) -> Result<(), Error> {
        unreachable!("only SQLite lets entries wait")
    }

    fn answer(rows: Vec<AddingRow>, _: Vec<()>) {
        rows.into_iter().for_each(|row| row.outcome.send(Ok(())).unwrap());
    }

    fn fail(rows: Vec<AddingRow>, error: &Error) {
        rows.into_iter().for_each(|row| row.outcome.send(Err(error.clone())).unwrap());
    }
}

/// An engine, and the state that its tests check.
struct TestEngine {
    engine: Engine<AddingHooks>,
    hooks: AddingHooks,
    broken: Broken,
    /// The number of times that the engine has refused the callers who wait.
    refusals: Arc<AtomicU32>,
}

impl TestEngine {
    fn new(database: &Database, writer: Writer) -> Self {
        database.psql("CREATE TABLE believed_clock (id BIGINT PRIMARY KEY, believed_at BIGINT, confirmations BIGINT)");
        let world: Arc<dyn World> = Arc::new(Scripted::at(Timestamp::from_micros(1_000_000)));
        let connection = settings::open(&database.target, Use::Write).map(Connection::of_postgres).unwrap();
        let clock = Arc::new(Clock::open(&connection, world).unwrap());
        let (hooks, broken) = (AddingHooks::default(), Broken::default());
        let mut engine = Engine::new(writer, clock, hooks.clone(), Arc::clone(&broken));
        let refusals = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&refusals);
        engine.refuse_waiting_by(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        Self { engine, hooks, broken, refusals }
    }

    /// Runs a batch of jobs, each of which adds a number to the value in the row `id`. Returns their outcomes.
    fn add(&mut self, id: i64, addends: &[i64]) -> Vec<Result<(), Error>> {
        let (sender, outcomes) = channel();
        let job = |addend: i64| -> Box<dyn Job> {
            let job = move |tx: &Tx<'_>| tx.run("UPDATE t SET n = n + $1 WHERE id = $2", (addend, id)).map(drop);
            let sender = sender.clone();
            Box::new(Typed::new(Grade::Durable, job, move |outcome| sender.send(outcome).unwrap()))
        };
        self.engine.answer(addends.iter().copied().map(job).collect());
        outcomes.try_iter().collect()
    }

    /// Appends a log row for each of these ids of rows in the table. Returns the outcomes.
    fn record(&mut self, ids: &[i64]) -> Vec<Result<(), Error>> {
        let (sender, outcomes) = channel();
        let row = |id: &i64| AddingRow { id: *id, outcome: sender.clone() };
        self.engine.record(ids.iter().map(row).collect());
        outcomes.try_iter().collect()
    }
}

fn are_unavailable(outcomes: &[Result<(), Error>], count: usize) -> bool {
    outcomes.len() == count && outcomes.iter().all(|outcome| matches!(outcome, Err(Error::Unavailable(_))))
}

fn are_unknown(outcomes: &[Result<(), Error>], count: usize) -> bool {
    outcomes.len() == count && outcomes.iter().all(|outcome| matches!(outcome, Err(Error::OutcomeUnknown(_))))
}

#[test]
fn an_unknown_outcome_is_answered_as_unknown_and_the_service_goes_on() {
    let Some(database) = Database::create() else { return };
    let patience = Patience { commit: Duration::from_secs(1), outcome: Duration::from_secs(1) };
    let (proxy, writer) = database.proxied(patience);
    let mut test = TestEngine::new(&database, writer);
    proxy.set(Traffic::CutForGoodAfterCommit);
    let unknown = test.add(1, &[1, 1]);
    assert!(are_unknown(&unknown, 2), "{unknown:?}");
    let away = [test.add(1, &[10, 10]), test.record(&[2, 2])].concat();
    assert!(are_unavailable(&away, 4), "{away:?}");
    assert!(test.refusals.load(Ordering::Relaxed) >= 2, "waiting callers are refused while the server is away");
    proxy.set(Traffic::Flows);
    assert!(matches!(test.add(1, &[100])[..], [Ok(())]));
    proxy.set(Traffic::CutForGoodAfterCommit);
    let unknown = test.record(&[2, 2]);
    assert!(are_unknown(&unknown, 2), "{unknown:?}");
    assert_eq!(*test.hooks.0.lock().unwrap(), [2], "rows with an unknown outcome are not written again");
    proxy.set(Traffic::Flows);
    assert!(matches!(test.record(&[2])[..], [Ok(())]));
    assert_eq!(database.values(), "102 3");
    assert_eq!(test.broken.get(), None);
}

#[test]
fn rows_that_wait_for_the_lock_of_another_server_wait_only_once() {
    let Some(database) = Database::create() else { return };
    let mut holder = database.writer();
    let mut test = TestEngine::new(&database, database.writer());
    holder
        .transaction(Mode::Durable, |_| {
            let began = Instant::now();
            let outcomes = test.record(&[1, 1, 2]);
            assert!(are_unavailable(&outcomes, 3), "{outcomes:?}");
            assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
            Ok(())
        })
        .unwrap();
    assert_eq!(test.refusals.load(Ordering::Relaxed), 1);
    assert!(test.record(&[1, 1, 2]).iter().all(Result::is_ok));
    assert_eq!((database.values().as_str(), &test.hooks.0.lock().unwrap()[..]), ("2 1", &[3][..]));
}

#[test]
fn a_failing_row_does_not_make_the_other_rows_fail() {
    let Some(database) = Database::create() else { return };
    let mut test = TestEngine::new(&database, database.writer());
    let outcomes = test.record(&[1, 7, 2]);
    assert!(matches!(outcomes[..], [Ok(()), Err(Error::Defect(_)), Ok(())]), "{outcomes:?}");
    assert_eq!((database.values().as_str(), &test.hooks.0.lock().unwrap()[..]), ("1 1", &[3, 1, 1, 1][..]));
}

#[test]
fn jobs_that_wait_for_a_lock_of_another_client_do_not_all_wait_in_turn() {
    let Some(database) = Database::create() else { return };
    let mut test = TestEngine::new(
        &database,
        Writer::open(Arc::clone(&database.target), TABLES.version, [99; 16], PATIENCE).unwrap(),
    );
    let other = settings::open(&database.target, Use::Idle).unwrap();
    other.begin("BEGIN; UPDATE t SET n = 0 WHERE id = 1").unwrap();
    let began = Instant::now();
    let outcomes = test.add(1, &[1, 2, 3, 4, 5, 6]);
    assert!(are_unavailable(&outcomes, 6), "{outcomes:?}");
    assert!(began.elapsed() < Duration::from_secs(16), "{:?}", began.elapsed());
    other.roll_back().unwrap();
    assert!(test.add(1, &[1, 2]).iter().all(Result::is_ok));
    assert_eq!(database.values(), "3 0");
}
