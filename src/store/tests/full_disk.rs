//! Tests of a service on a full disk.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::db::{Error, Grade, act_alone, health};
use crate::domain::api_key::{self, Grant, KeySecret, Scope};
use crate::domain::disk::DiskSpace;
use crate::domain::id::{Id, UserId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::PlatformRole;
use crate::store::{RowOutcome, Store, usage};
use crate::world::{Scripted, World};

const TOTAL_BYTES: u64 = 16 << 20;

struct Fixture {
    store: Store,
    world: Arc<Scripted>,
    digest: [u8; 32],
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = Arc::new(Scripted::at(Timestamp::from_micros(1_795_000_000_000_000)));
        world.set_disk(Some(DiskSpace { free_bytes: TOTAL_BYTES, total_bytes: TOTAL_BYTES }));
        let path = dir.path().join("a.db");
        let store = Store::open(&path, Arc::clone(&world) as Arc<dyn World>).unwrap();
        let secret = KeySecret::generate(|bytes| world.fill(bytes));
        act_alone(&path, world.as_ref(), |tx| {
            let user_id = UserId::parse("user_a").unwrap();
            let email = Email::parse("a@example.org").unwrap();
            crate::store::user::insert(tx, &user_id, &email, "A", PlatformRole::Admin)?;
            let world: &dyn World = world.as_ref();
            let (id, name, secret) = (world.id(), "a".to_owned(), secret.clone());
            let expires_at = api_key::expires_at(tx.now, 365);
            let grant = Grant { scopes: Scope::ALL.to_vec(), is_explicit: false };
            crate::store::api_key::insert(
                tx,
                &crate::store::api_key::NewApiKey { id, secret, user_id, name, grant, expires_at },
            )
        })
        .unwrap();
        Self { store, world, digest: secret.digest(), dir }
    }

    fn write(&self, grade: Grade) -> Result<(), Error> {
        let (done, ended) = mpsc::channel();
        self.store.write(grade, health::touch, move |outcome| done.send(outcome).unwrap());
        ended.recv().unwrap()
    }

    fn request(&self) -> Result<RowOutcome, Error> {
        let key = self.store.look_up_key(&self.digest).unwrap().unwrap();
        let crate::domain::user::Auth::ApiKey { number, .. } = &key.principal.auth else { panic!() };
        let entry = usage::LogEntry {
            key_number: *number,
            method: "GET".into(),
            path: "/api/v1/me".into(),
            ip: IpAddr::from([192, 0, 2, 1]),
            user_agent: String::new(),
            auth_endpoint: "/api/v1/me",
        };
        let (done, ended) = mpsc::channel();
        let _ = self.store.record(key, entry, move |outcome| done.send(outcome).unwrap());
        self.store.flush();
        ended.recv().unwrap()
    }

    fn times(&self) -> Vec<i64> {
        let sql = "SELECT at
                   FROM api_key_usage
                   ORDER BY at";
        self.store.read(|tx| tx.values(sql, [])).unwrap()
    }

    fn reserve_bytes(&self) -> u64 {
        std::fs::metadata(self.dir.path().join("a.db.reserve")).map_or(0, |metadata| metadata.len())
    }
}

fn eventually(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn on_a_full_disk_vital_writes_and_reads_continue_and_usage_rows_are_written_later() {
    let fixture = Fixture::new();
    assert_eq!(fixture.reserve_bytes(), TOTAL_BYTES / 16);
    assert!(matches!(fixture.request(), Ok(RowOutcome::Logged)));
    let first = fixture.world.now().micros();
    fixture.world.set_disk(Some(DiskSpace { free_bytes: 0, total_bytes: TOTAL_BYTES }));
    fixture.store.parts.reserve.note_full();
    fixture.world.pass(Duration::from_secs(60));
    let second = fixture.world.now().micros();
    for grade in [Grade::Durable, Grade::Logged] {
        assert!(matches!(fixture.write(grade), Err(Error::Full(_))), "{grade:?}");
    }
    for grade in [Grade::Vital, Grade::Upkeep] {
        fixture.write(grade).unwrap();
    }
    assert!(matches!(fixture.request(), Ok(RowOutcome::Logged)));
    assert_eq!(
        (fixture.times(), fixture.store.reserve().owed_rows(), fixture.store.reserve().is_full()),
        (vec![first], 1, true)
    );
    fixture.world.pass(Duration::from_secs(60));
    fixture.world.set_disk(Some(DiskSpace { free_bytes: TOTAL_BYTES, total_bytes: TOTAL_BYTES }));
    eventually(|| fixture.store.reserve().owed_rows() == 0);
    assert_eq!(fixture.times(), [first, second]);
    fixture.write(Grade::Durable).unwrap();
    assert!(!fixture.store.reserve().is_full());
}

#[test]
fn owed_rows_are_written_when_the_service_stops() {
    let fixture = Fixture::new();
    fixture.world.set_disk(Some(DiskSpace { free_bytes: 0, total_bytes: TOTAL_BYTES }));
    fixture.store.parts.reserve.note_full();
    assert!(matches!(fixture.request(), Ok(RowOutcome::Logged)));
    assert_eq!(fixture.times(), [0_i64; 0]);
    fixture.store.close();
    assert_eq!(fixture.times().len(), 1);
}

#[test]
fn a_stop_logs_the_number_of_owed_rows_that_cannot_be_written() {
    let fixture = Fixture::new();
    let lines = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    fixture.store.log_by(move |line| seen.lock().unwrap().push(line.to_owned()));
    fixture.world.set_disk(Some(DiskSpace { free_bytes: 0, total_bytes: TOTAL_BYTES }));
    fixture.store.parts.reserve.note_full();
    for _ in 0..2 {
        assert!(matches!(fixture.request(), Ok(RowOutcome::Logged)));
    }
    let sql = "CREATE TRIGGER planted BEFORE INSERT ON api_key_usage
               BEGIN
                 SELECT raise(ABORT, 'planted');
               END";
    act_alone(&fixture.dir.path().join("a.db"), fixture.world.as_ref(), |tx| tx.run(sql, [])).unwrap();
    fixture.store.close();
    assert_eq!(fixture.times(), [0_i64; 0]);
    let expected = "2 usage rows could not be written before the service stopped, and are lost";
    assert!(lines.lock().unwrap().iter().any(|line| line == expected), "{lines:?}");
}

#[test]
fn the_reserve_is_created_again_when_the_disk_has_room() {
    let fixture = Fixture::new();
    fixture.world.set_disk(Some(DiskSpace { free_bytes: 0, total_bytes: TOTAL_BYTES }));
    // Each release frees one slice of the reserve.
    assert!(fixture.store.parts.reserve.release());
    assert_eq!(fixture.reserve_bytes(), TOTAL_BYTES / 16 - (256 << 10));
    assert_eq!((0..10).filter(|_| fixture.store.parts.reserve.release()).count(), 3);
    assert_eq!(fixture.reserve_bytes(), 0);
    let enough = TOTAL_BYTES / 16 * 5 / 4;
    fixture.world.set_disk(Some(DiskSpace { free_bytes: enough - 1, total_bytes: TOTAL_BYTES }));
    fixture.store.parts.reserve.restore();
    assert_eq!((fixture.reserve_bytes(), fixture.store.reserve().is_full()), (0, true));
    fixture.world.set_disk(Some(DiskSpace { free_bytes: enough, total_bytes: TOTAL_BYTES }));
    eventually(|| !fixture.store.reserve().is_full());
    assert_eq!(fixture.reserve_bytes(), TOTAL_BYTES / 16);
}
