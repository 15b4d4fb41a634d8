//! Tests of the sweep: which attachments it deletes, when, and in which slices.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::{Store, background_job};
use super::sweep::{Sweeper, Uploaders};
use super::*;
use crate::db::scheduler::Scheduler;
use crate::db::sqlite::connection;
use crate::db::sqlite::tests::{changed_rows, in_memory, run_all};
use crate::world::{Scripted, World};

/// A store whose own sweep is stopped.
struct Fixture {
    _scheduler: Scheduler,
    store: Store,
    world: Arc<Scripted>,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let world = Arc::new(Scripted::at(Timestamp::from_micros(1_795_000_000_000_000)));
        let store = Store::open(&path, Arc::clone(&world) as Arc<dyn World>).unwrap();
        store.scheduler.stop();
        let scheduler = background_job::start_without(&store.parts, "sweeping").unwrap();
        Self { _scheduler: scheduler, store, world, path, _dir: dir }
    }

    fn sweeper(&self) -> Sweeper {
        self.sweeper_beside(Uploaders::ThisProcess)
    }

    fn sweeper_beside(&self, uploaders: Uploaders) -> Sweeper {
        let world = Arc::clone(&self.world) as Arc<dyn World>;
        let (erasures, writer) = (Arc::clone(&self.store.parts.erasures), Arc::clone(&self.store.parts.writer));
        let reader = connection::open_job_reader(&self.path).unwrap();
        Sweeper::new(reader, uploaders, world, erasures, writer).unwrap()
    }

    fn act(&self, f: impl FnOnce(&Tx<'_>) -> Result<(), Error>) {
        crate::db::act_alone(&self.path, self.world.as_ref(), f).unwrap();
    }

    fn sql(&self, sql: &str) {
        self.act(|tx| tx.run(sql, []).map(drop));
    }

    /// Begins an upload and appends chunks.
    fn begin(&self, name: &str, chunks: i64) {
        let (id, token) = (AttachmentId::parse(name).unwrap(), token(name));
        self.act(|tx| {
            begin(tx, &id, &token, name)?;
            (1..=chunks).try_for_each(|number| append_chunk(tx, &id, number, name.as_bytes()))
        });
    }

    fn add_detached(&self, name: &str, chunks: i64) {
        self.begin(name, chunks);
        self.act(|tx| {
            let sql = "UPDATE documents
                       SET digest = NULL, created_at = 0
                       WHERE id = $1";
            tx.run(sql, [name]).map(drop)
        });
    }

    /// Returns the numbers of attachments and chunks in the database.
    fn counts(&self) -> (i64, i64) {
        let (attachments, chunks, _) = self.store.read(stored_content).unwrap();
        (attachments, chunks)
    }
}

fn token(name: &str) -> AttachmentToken {
    let mut random = [0; crate::domain::attachment::ATTACHMENT_TOKEN_BYTES];
    random[..name.len()].copy_from_slice(name.as_bytes());
    AttachmentToken::new(random)
}

#[test]
fn an_upload_that_reuses_a_number_is_swept_only_when_it_is_too_old() {
    let fixture = Fixture::new();
    fixture.begin("doc_left", 1);
    fixture.world.pass(Duration::from_secs(1));
    let mut sweeper = fixture.sweeper();
    sweeper.step();
    assert_eq!(fixture.counts(), (0, 0));
    fixture.begin("doc_new", 1);
    for _ in 0..5 {
        fixture.world.pass(Duration::from_secs(60));
        sweeper.step();
    }
    assert_eq!(fixture.counts(), (1, 1));
    // The new upload has the number of the deleted attachment.
    fixture.act(|tx| {
        let sql = "SELECT 1
                   FROM documents
                   WHERE number = 1";
        assert!(tx.exists(sql, [])?);
        append_chunk(tx, &AttachmentId::parse("doc_new").unwrap(), 2, b"more")
    });
    fixture.world.pass(Duration::from_secs(60 * 60));
    sweeper.step();
    assert_eq!(fixture.counts(), (0, 0));
}

#[test]
fn unfinished_uploads_of_another_server_survive_the_start_of_a_server_until_they_expire() {
    let fixture = Fixture::new();
    fixture.begin("doc_other", 1);
    fixture.world.pass(Duration::from_secs(1));
    let mut sweeper = fixture.sweeper_beside(Uploaders::SeveralServers);
    sweeper.step();
    assert_eq!(fixture.counts(), (1, 1));
    fixture.world.pass(Duration::from_secs(60 * 60));
    sweeper.step();
    sweeper.step();
    assert_eq!(fixture.counts(), (0, 0));
}

#[test]
fn a_detached_attachment_is_swept_in_slices_as_soon_as_an_erasure_requests_a_sweep() {
    let fixture = Fixture::new();
    let mut sweeper = fixture.sweeper();
    fixture.add_detached("doc_1", 20);
    sweeper.step();
    assert_eq!(fixture.counts(), (1, 20));
    fixture.store.erasures().add_work();
    for left in [(1, 12), (1, 4), (0, 0)] {
        sweeper.step();
        assert_eq!(fixture.counts(), left);
        assert!(fixture.store.erasures().are_unfinished());
    }
    sweeper.step();
    let began = Instant::now();
    while fixture.store.erasures().are_unfinished() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    let name = b"doc_1";
    let bytes = [std::fs::read(&fixture.path).unwrap(), std::fs::read(fixture.path.with_extension("db-wal")).unwrap()];
    assert!(!bytes.concat().windows(name.len()).any(|window| window == name));
}

#[test]
fn erasures_are_unfinished_from_the_start_if_an_earlier_process_left_a_detached_attachment() {
    let fixture = Fixture::new();
    fixture.add_detached("doc_1", 1);
    assert!(!fixture.store.erasures().are_unfinished());
    let mut sweeper = fixture.sweeper();
    assert!(fixture.store.erasures().are_unfinished());
    sweeper.step();
    assert_eq!(fixture.counts(), (0, 0));
}

#[test]
fn a_failed_deletion_leaves_the_erasures_unfinished_until_a_later_scan_retries_it() {
    let fixture = Fixture::new();
    let mut sweeper = fixture.sweeper();
    fixture.add_detached("doc_1", 1);
    fixture.add_detached("doc_2", 1);
    fixture.sql(
        "CREATE TRIGGER stuck BEFORE DELETE ON document_pieces WHEN old.document_number = 1
         BEGIN SELECT raise(ABORT, 'stuck'); END",
    );
    fixture.world.pass(Duration::from_secs(60));
    (0..10).for_each(|_| drop(sweeper.step()));
    assert_eq!(fixture.counts(), (1, 1));
    // The pages of the deleted attachment are wiped only once.
    let committed = fixture.store.erasures().committed_count();
    fixture.sql("DROP TRIGGER stuck");
    (0..10).for_each(|_| drop(sweeper.step()));
    assert_eq!((fixture.counts(), fixture.store.erasures().committed_count()), ((1, 1), committed));
    assert!(fixture.store.erasures().are_unfinished());
    fixture.world.pass(Duration::from_secs(60));
    sweeper.step();
    assert_eq!(fixture.counts(), (0, 0));
}

/// The transaction that detaches an attachment writes one row, regardless of the attachment's size.
#[test]
fn detaching_writes_one_row_and_leaves_the_content_to_the_sweep() {
    let connection = in_memory(include_str!("../../../schema.sql"));
    run_all(&connection,
            "PRAGMA foreign_keys = OFF;
             INSERT INTO documents (id, signup_id, file_name, media_type, bytes, created_at)
             VALUES ('doc_1', 'sign_1', 'Ada.pdf', 'application/pdf', 20, 5),
               ('doc_2', 'sign_2', 'Bob.pdf', 'application/pdf', 20, 5);
             INSERT INTO document_pieces (document_number, number, content)
             SELECT d.number, n.value, x'78' FROM documents d, json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]') n",
        );
    let now = Timestamp::from_micros(1_795_000_000_000_000);
    let [first, second] = ["doc_1", "doc_2"].map(|id| AttachmentId::parse(id).unwrap());
    let chunk_of = |id: &AttachmentId| tx::snapshot(&connection, now, |tx| read_chunk(tx, id, 1)).unwrap();
    assert!(chunk_of(&first).is_some());
    let before = changed_rows(&connection);
    tx::act(&connection, now, |tx| detach(tx, &SignupId::parse("sign_1").unwrap())).unwrap();
    assert_eq!(changed_rows(&connection) - before, 1);
    assert_eq!((chunk_of(&first), chunk_of(&second)), (None, Some(b"x".to_vec())));
    let row = "SELECT (signup_id, digest, file_name, media_type, bytes, created_at)
                 IS (NULL, NULL, 'document', NULL, NULL, 0) FROM documents WHERE id = 'doc_1'";
    assert!(tx::snapshot(&connection, now, |tx| tx.value::<bool>(row, [])).unwrap().unwrap());
    let delete_next = || tx::act(&connection, now, |tx| delete_slice(tx, &first)).unwrap();
    assert_eq!([delete_next(), delete_next(), delete_next()], [false, false, true]);
    assert_eq!(tx::snapshot(&connection, now, stored_content).unwrap().1, 20);
}
