//! Erasure on a PostgreSQL server: the rows are gone from every query when the request is answered, and from the tables
//! when the service reports the end of the erasure. Their bytes stay in the free space of pages until PostgreSQL uses
//! this space again or rewrites the table. These tests do not search the write-ahead log, which PostgreSQL recycles.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use appliance::domain::attachment::{ATTACHMENT_TOKEN_BYTES, AttachmentToken, CHUNK_BYTES_MAX, MediaType};
use appliance::domain::id::{AttachmentId, Id, SignupId};
use appliance::world::{Real, World};
use appliance::{interchange, store};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Database;
use crate::support::{RunningService, WorkDir, document, eventually, send_to};

const NAME: &str = "Zenobia Quxworthy";
const EMAIL: &str = "zenobia.quxworthy@example.net";

/// The size of a page of PostgreSQL.
const PAGE_BYTES: usize = 8_192;

/// The number of imported candidates, one of whom is erased.
const CANDIDATES: usize = 300;

/// Imports candidates. One of them has a signup with an attachment. Returns a part of the attachment's content.
fn fill(database: &Database) -> Vec<u8> {
    let world: &dyn World = &Real::new();
    let mut document = document();
    let candidate = |number: usize| {
        let (name, email) = match number {
            150 => (NAME.to_owned(), EMAIL.to_owned()),
            _ => (format!("Person {number}"), format!("person-{number}@example.net")),
        };
        json!({ "id": format!("cand_{number}"), "applicationId": format!("app_{number}"), "name": name, "email": email,
            "steps": [
                { "id": format!("c_{number}_1"), "roleStepId": "step_1", "status": "in_progress" },
                { "id": format!("c_{number}_2"), "roleStepId": "step_2", "status": "pending" },
            ] })
    };
    document["organizations"][0]["roles"][0]["candidates"] = (0..CANDIDATES).map(candidate).collect();
    let url = database.url();
    let parsed =
        interchange::parse(document.to_string().as_bytes(), world).unwrap_or_else(|_| panic!("invalid document"));
    store::act_alone(Path::new(&url), world, |tx| interchange::import(tx, &parsed)).unwrap();
    // Random bytes, which PostgreSQL cannot compress.
    let mut content = vec![0; 2 * CHUNK_BYTES_MAX + 999];
    world.fill(&mut content);
    let mut random = [0; ATTACHMENT_TOKEN_BYTES];
    world.fill(&mut random);
    let (id, token): (AttachmentId, _) = (world.id(), AttachmentToken::new(random));
    database.psql(&format!(
        "INSERT INTO signups (id, organization_id, role_id, candidate_role_id, name, email, email_key, phone, links, note,
           locale, consented_at, created_at)
         VALUES ('sign_1', 'org_acme', 'role_1', 'app_150', '{NAME}', '{EMAIL}', '{EMAIL}', '', '[]', 'I am {NAME}',
           'de', 1, 1)"
    ));
    let signup = SignupId::parse("sign_1").unwrap();
    let attach = |tx: &store::Tx<'_>| {
        store::attachment::begin(tx, &id, &token, "cv.txt")?;
        for (chunk, number) in content.chunks(CHUNK_BYTES_MAX).zip(1..) {
            store::attachment::append_chunk(tx, &id, number, chunk)?;
        }
        let (bytes, digest) = (u32::try_from(content.len()).unwrap(), Sha256::digest(&content).into());
        store::attachment::finish(tx, &id, "cv.txt", MediaType::Text, bytes, &digest)?;
        store::attachment::claim(tx, &token, &signup)
    };
    assert!(store::act_alone(Path::new(&url), world, attach).unwrap());
    database.psql("ANALYZE");
    content[500..540].to_vec()
}

/// The part of each page that is searched.
#[derive(Clone, Copy)]
enum Part {
    /// The rows and index entries.
    Allocated,
    /// Everything, including the free space between the line pointers and the rows.
    Whole,
}

/// Returns those files of the database's tables and indexes, system catalogs included, that contain a needle.
fn found(database: &Database, needles: &[Vec<u8>], part: Part) -> Vec<String> {
    database.psql("CHECKPOINT");
    let oid = database.psql("SELECT oid FROM pg_database WHERE datname = current_database()");
    let mut found = Vec::new();
    for entry in fs::read_dir(database.server.data().join("base").join(oid)).unwrap() {
        let path = entry.unwrap().path();
        // PostgreSQL deletes files of dropped tables at a checkpoint.
        let Ok(mut bytes) = fs::read(&path) else { continue };
        let is_of_pages = bytes.len().is_multiple_of(PAGE_BYTES);
        if let (Part::Allocated, true) = (part, is_of_pages) {
            bytes.chunks_exact_mut(PAGE_BYTES).for_each(clear_free_space);
        }
        let has = |needle: &Vec<u8>| bytes.windows(needle.len()).any(|window| window == needle);
        found.extend(needles.iter().any(has).then(|| path.display().to_string()));
    }
    found
}

/// Clears the space between the line pointers and the rows of a page (PostgreSQL manual, "Database Page Layout").
fn clear_free_space(page: &mut [u8]) {
    let bound = |at: usize| usize::from(u16::from_le_bytes([page[at], page[at + 1]]));
    let (lower, upper) = (bound(12), bound(14));
    if lower < upper && upper <= PAGE_BYTES {
        page[lower..upper].fill(0);
    }
}

/// Starts a service. Returns it with the address of its metrics.
fn serve(dir: &WorkDir, database: &Database) -> (RunningService, SocketAddr) {
    let mut service = dir.serve(&["--db", &database.url(), "--metrics-listen", "127.0.0.1:0"]);
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
    let address = line["metrics on http://".len()..].trim_end_matches("/metrics").parse().unwrap();
    (service, address)
}

fn is_unfinished(metrics: SocketAddr) -> bool {
    let text = send_to(metrics, "GET", "/metrics", &[], "").expect(200).body;
    let line = text.lines().find(|line| line.starts_with("appliance_erasure_unfinished ")).unwrap();
    line.ends_with(" 1")
}

fn erase(service: &RunningService, key: &str, id: &str) {
    let key = format!("Bearer {key}");
    service.send("DELETE", &format!("/api/v1/candidates/{id}"), &[("Authorization", &key)], "").expect(200);
}

#[test]
fn no_row_with_data_of_an_erased_candidate_is_left_in_the_tables() {
    let dir = WorkDir::new();
    let Some(database) = Database::create() else { return };
    let key = database.admin_key(&dir);
    let content = fill(&database);
    let needles = [NAME.into(), "zenobia".into(), "quxworthy".into(), EMAIL.into(), content];
    for needle in &needles {
        assert!(!found(&database, std::slice::from_ref(needle), Part::Allocated).is_empty(), "{needle:?}");
    }
    let (service, metrics) = serve(&dir, &database);
    eventually(|| !is_unfinished(metrics));
    erase(&service, &key, "cand_150");
    assert_eq!(database.psql(&format!("SELECT count(*) FROM candidates WHERE name = '{NAME}'")), "0");
    eventually(|| !is_unfinished(metrics));
    assert_eq!(found(&database, &needles, Part::Allocated), Vec::<String>::new());
    assert_eq!(database.psql("SELECT count(*) FROM documents"), "0");
    assert_eq!(database.psql("SELECT owed > 0 AND owed = done FROM engine_vacuum"), "t");
    // The documentation names this command for the bytes in free space.
    database.psql("VACUUM FULL");
    assert_eq!(found(&database, &needles, Part::Whole), Vec::<String>::new());
}

#[test]
fn another_service_completes_an_erasure_that_a_killed_service_began() {
    let dir = WorkDir::new();
    let Some(database) = Database::create() else { return };
    let key = database.admin_key(&dir);
    let content = fill(&database);
    let needles = [NAME.into(), EMAIL.into(), content];
    let (service, metrics) = serve(&dir, &database);
    eventually(|| !is_unfinished(metrics));
    let mut reader = database.server.session(&database.name);
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; DO $$ BEGIN PERFORM count(*) FROM candidates; END $$");
    erase(&service, &key, "cand_150");
    eventually(|| database.psql("SELECT count(*) FROM documents") == "0");
    assert!(is_unfinished(metrics), "an older snapshot needs the rows");
    service.stop("KILL");
    let (_other, metrics) = serve(&dir, &database);
    assert!(is_unfinished(metrics));
    drop(reader);
    eventually(|| !is_unfinished(metrics));
    assert_eq!(found(&database, &needles, Part::Allocated), Vec::<String>::new());
}
