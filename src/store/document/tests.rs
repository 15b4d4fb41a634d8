//! What is swept, when, and in what slices; and what is nobody's from one transaction to the next.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::db::row::Connection;

use super::super::Store;
use super::sweep::Sweeper;
use super::*;
use crate::db::tx;
use crate::world::{Scripted, World};

/// A store whose own thread does not sweep.
struct Place {
    store: Store,
    world: Arc<Scripted>,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let world = Arc::new(Scripted::at(Timestamp::from_micros(1_795_000_000_000_000)));
        let store = Store::open(&path, Arc::clone(&world) as Arc<dyn World>).unwrap();
        store.sweeping.stop();
        Self { store, world, path, _dir: dir }
    }

    fn sweeper(&self) -> Sweeper {
        let world = Arc::clone(&self.world) as Arc<dyn World>;
        let (erasures, writer) = (Arc::clone(&self.store.erasures), Arc::clone(&self.store.writer));
        Sweeper::new(&self.path, world, erasures, writer).unwrap()
    }

    fn act(&self, f: impl FnOnce(&Tx<'_>) -> Result<(), Error>) {
        crate::db::act_alone(&self.path, self.world.as_ref(), f).unwrap();
    }

    fn sql(&self, sql: &str) {
        self.act(|tx| tx.run(sql, []).map(drop));
    }

    /// Begins a document of so many pieces.
    fn begin(&self, name: &str, pieces: i64) {
        let (id, token) = (AttachmentId::parse(name).unwrap(), token(name));
        self.act(|tx| {
            begin(tx, &id, &token, name)?;
            (1..=pieces).try_for_each(|number| append(tx, &id, number, name.as_bytes()))
        });
    }

    /// The same, and it is nobody's.
    fn detached(&self, name: &str, pieces: i64) {
        self.begin(name, pieces);
        self.act(|tx| {
            let sql = "UPDATE documents
                       SET digest = NULL, created_at = 0
                       WHERE id = $1";
            tx.run(sql, [name]).map(drop)
        });
    }

    /// How many documents and pieces there are.
    fn kept(&self) -> (i64, i64) {
        let (documents, pieces, _) = self.store.read(kept).unwrap();
        (documents, pieces)
    }
}

fn token(name: &str) -> AttachmentToken {
    let mut random = [0; crate::domain::attachment::ATTACHMENT_TOKEN_BYTES];
    random[..name.len()].copy_from_slice(name.as_bytes());
    AttachmentToken::new(random)
}

#[test]
fn what_arrives_is_not_swept_though_its_number_was_given_before() {
    let place = Place::new();
    place.begin("doc_left", 1);
    place.world.pass(Duration::from_secs(1));
    let mut sweeper = place.sweeper();
    sweeper.step();
    assert_eq!(place.kept(), (0, 0));
    place.begin("doc_new", 1);
    for _ in 0..5 {
        place.world.pass(Duration::from_secs(60));
        sweeper.step();
    }
    assert_eq!(place.kept(), (1, 1));
    // It has the number of the one before.
    place.act(|tx| {
        let sql = "SELECT 1
                   FROM documents
                   WHERE number = 1";
        assert!(tx.exists(sql, [])?);
        append(tx, &AttachmentId::parse("doc_new").unwrap(), 2, b"more")
    });
    place.world.pass(Duration::from_secs(60 * 60));
    sweeper.step();
    assert_eq!(place.kept(), (0, 0));
}

#[test]
fn what_is_nobodys_is_swept_in_slices_as_soon_as_that_is_told() {
    let place = Place::new();
    let mut sweeper = place.sweeper();
    place.detached("doc_1", 20);
    sweeper.step();
    assert_eq!(place.kept(), (1, 20));
    place.store.erasures.add_work();
    for left in [(1, 12), (1, 4), (0, 0)] {
        sweeper.step();
        assert_eq!(place.kept(), left);
        assert!(place.store.erasures.are_unfinished());
    }
    sweeper.step();
    let began = Instant::now();
    while place.store.erasures.are_unfinished() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    let name = b"doc_1";
    let bytes = [std::fs::read(&place.path).unwrap(), std::fs::read(place.path.with_extension("db-wal")).unwrap()];
    assert!(!bytes.concat().windows(name.len()).any(|window| window == name));
}

#[test]
fn what_the_service_before_left_to_sweep_is_unfinished_from_the_start() {
    let place = Place::new();
    place.detached("doc_1", 1);
    assert!(!place.store.erasures.are_unfinished());
    let mut sweeper = place.sweeper();
    assert!(place.store.erasures.are_unfinished());
    sweeper.step();
    assert_eq!(place.kept(), (0, 0));
}

#[test]
fn what_cannot_be_swept_now_is_tried_at_the_next_look_and_is_not_done() {
    let place = Place::new();
    let mut sweeper = place.sweeper();
    place.detached("doc_1", 1);
    place.detached("doc_2", 1);
    place.sql(
        "CREATE TRIGGER stuck BEFORE DELETE ON document_pieces WHEN old.document_number = 1
         BEGIN SELECT raise(ABORT, 'stuck'); END",
    );
    place.world.pass(Duration::from_secs(60));
    (0..10).for_each(|_| drop(sweeper.step()));
    assert_eq!(place.kept(), (1, 1));
    // Whatever was swept is wiped once, and not over and over.
    let behind = place.store.erasures.committed_count();
    place.sql("DROP TRIGGER stuck");
    (0..10).for_each(|_| drop(sweeper.step()));
    assert_eq!((place.kept(), place.store.erasures.committed_count()), ((1, 1), behind));
    assert!(place.store.erasures.are_unfinished());
    place.world.pass(Duration::from_secs(60));
    sweeper.step();
    assert_eq!(place.kept(), (0, 0));
}

/// However large documents are, the transaction that takes them from a signup writes a row each.
#[test]
fn who_is_forgotten_leaves_their_documents_to_the_sweep() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(include_str!("../../../schema.sql")).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO documents (id, signup_id, file_name, media_type, bytes, created_at)
             VALUES ('doc_1', 'sign_1', 'Ada.pdf', 'application/pdf', 20, 5),
               ('doc_2', 'sign_2', 'Bob.pdf', 'application/pdf', 20, 5);
             INSERT INTO document_pieces (document_number, number, content)
             SELECT d.number, n.value, x'78' FROM documents d, json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]') n",
        )
        .unwrap();
    let now = Timestamp::from_micros(1_795_000_000_000_000);
    let [first, second] = ["doc_1", "doc_2"].map(|id| AttachmentId::parse(id).unwrap());
    let piece_of = |id: &AttachmentId| tx::snapshot(&connection, now, |tx| piece(tx, id, 1)).unwrap();
    assert!(piece_of(&first).is_some());
    let before = connection.total_changes();
    tx::act(&connection, now, |tx| detach(tx, &SignupId::parse("sign_1").unwrap())).unwrap();
    assert_eq!(connection.total_changes() - before, 1);
    assert_eq!((piece_of(&first), piece_of(&second)), (None, Some(b"x".to_vec())));
    let row = "SELECT (signup_id, digest, file_name, media_type, bytes, created_at)
                 IS (NULL, NULL, 'document', NULL, NULL, 0) FROM documents WHERE id = 'doc_1'";
    assert!(connection.query_row(row, [], |row| row.get::<_, bool>(0)).unwrap());
    let drop_next = || tx::act(&connection, now, |tx| drop_some(tx, &first)).unwrap();
    assert_eq!([drop_next(), drop_next(), drop_next()], [false, false, true]);
    assert_eq!(tx::snapshot(&connection, now, kept).unwrap().1, 20);
}
