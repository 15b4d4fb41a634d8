//! An erasure removes every byte of a candidate's personal data. The first test erases many candidates who have left
//! every kind of trace. No byte of this data may remain in the database, its write-ahead log, the service's log or the
//! erasure list, even after an older backup is restored.

use std::collections::{BTreeSet, HashMap};
use std::io::{Read, Write};
use std::net::TcpListener;

use appliance::domain::attachment::{ATTACHMENT_TOKEN_BYTES, AttachmentToken, CHUNK_BYTES_MAX, MediaType};
use appliance::domain::id::{AttachmentId, Id, SignupId};
use appliance::domain::search;
use appliance::store::{self, Error};
use appliance::world::{Real, World};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::personal_data;
use crate::rounds::rounds;
use crate::support::{RunningService, WorkDir, document, eventually, mode};

/// The number of candidates who are erased, and the number of those who stay.
const ERASED: usize = rounds(40, 200);
const STAYING: usize = 14 * ERASED;

/// The parts of a candidate's names and address. They occur in no other data.
struct Person {
    id: String,
    given: String,
    family: String,
    local: String,
    /// A former name.
    former: String,
    /// The name that the candidate entered in the form.
    typed: String,
    /// The name after a correction by staff.
    corrected: String,
}

impl Person {
    fn new(nth: usize) -> Self {
        // Hashed numbers are far apart in the order of the indexes, like real names.
        let random_word = |part: u64| {
            let number = (nth as u64 * 8 + part + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            number.to_be_bytes().map(|byte| char::from(b'a' + byte % 26)).iter().collect::<String>()
        };
        Self {
            id: format!("cand_{nth:03}"),
            given: format!("Zoë\"{}", random_word(0)),
            family: format!("Ł{}-Ünal", random_word(1)),
            local: format!("Mail.{}", random_word(2)),
            former: format!("Née{}", random_word(3)),
            typed: format!("Żoé{}", random_word(4)),
            corrected: format!("Øx{}", random_word(5)),
        }
    }

    fn name(&self) -> String {
        format!("{} {}", self.given, self.family)
    }

    fn email(&self) -> String {
        format!("{}@{}.example", self.local, self.former)
    }

    fn note(&self) -> String {
        format!("{} of {} wrote", self.name(), self.email())
    }

    /// Returns strings that would reveal the candidate: as entered, in lower case, escaped as JSON, and as indexed
    /// words.
    fn needles(&self) -> Vec<String> {
        let mut needles = Vec::new();
        let (name, email) = (self.name(), self.email());
        let parts = [&self.given, &self.family, &self.local, &self.former, &self.typed, &self.corrected];
        for text in parts.into_iter().chain([&name, &email]) {
            let escaped = json!(text).to_string();
            let ascii: String = text
                .chars()
                .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", c as u32) })
                .collect();
            needles.extend([text.clone(), text.to_lowercase(), escaped.trim_matches('"').to_owned(), ascii]);
            // Short words occur everywhere.
            needles.extend(search::words(text).into_iter().filter(|word| word.len() > 5 && word != "example"));
        }
        needles
    }
}

/// The number of leading bytes by which the search groups needles.
const HEAD: usize = 6;

/// Returns the needles that occur in the database or in the files next to it, each with the name of its file.
pub(crate) fn found<N: AsRef<[u8]>>(dir: &WorkDir, needles: &[N]) -> Vec<String> {
    let mut by_head: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
    // The first two bytes rule out most positions quickly.
    let pair = |bytes: &[u8]| usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
    let mut begins = vec![false; 1 << 16];
    for needle in needles {
        let needle = needle.as_ref();
        begins[pair(needle)] = true;
        by_head.entry(&needle[..HEAD]).or_default().push(needle);
    }
    let mut found = Vec::new();
    for name in dir.names().iter().filter(|name| name.starts_with("a.db") && !name.ends_with(".reserve")) {
        let bytes = dir.read(name);
        for (at, window) in bytes.windows(HEAD).enumerate().filter(|(_, window)| begins[pair(window)]) {
            let here = by_head.get(window).into_iter().flatten().filter(|needle| bytes[at..].starts_with(needle));
            found.extend(here.map(|needle| format!("{} in {name}", String::from_utf8_lossy(needle))));
        }
    }
    found
}

/// Returns the digests of all attachments in the file.
fn digests(dir: &WorkDir) -> Vec<[u8; 32]> {
    let connection = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    let mut statement = connection.prepare("SELECT sha256 FROM documents WHERE sha256 IS NOT NULL").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Returns the latest due day of any later mark.
fn due_day(dir: &WorkDir) -> String {
    let connection = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    connection.query_row("SELECT max(later_due_on) FROM candidate_roles", [], |row| row.get(0)).unwrap()
}

/// Starts an HR system that answers with the body of the request, and returns its URL.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut request = Vec::new();
                let mut buffer = [0; 4_096];
                let body = loop {
                    let Ok(count @ 1..) = stream.read(&mut buffer) else { return };
                    request.extend_from_slice(&buffer[..count]);
                    let text = String::from_utf8_lossy(&request).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length = head
                        .lines()
                        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
                    if body.len() >= length.unwrap_or(0) {
                        break body.to_owned();
                    }
                };
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            });
        }
    });
    url
}

/// Imports all candidates, each with an application in progress at the first of two steps. The candidates who will be
/// erased are spread among those who stay.
fn import(dir: &WorkDir, people: &[Person], url: &str) {
    let mut document = document();
    document["organizations"][0]["hrIntegration"]["url"] = json!(url);
    let role = &mut document["organizations"][0]["roles"][0];
    role["positions"] = json!(people.len());
    let candidate = |person: &Person| {
        let step = |nth: usize, status: &str| json!({ "id": format!("c{}_{nth}", person.id), "roleStepId": format!("step_{nth}"), "status": status });
        json!({ "id": person.id, "applicationId": format!("app_{}", person.id), "name": person.name(), "email": person.email(),
            "steps": [step(1, "in_progress"), step(2, "pending")] })
    };
    role["candidates"] = people.iter().map(candidate).collect();
    dir.write("people.json", document.to_string());
    dir.run(&["import", "--db", "a.db", "people.json"]).succeeded();
}

fn send(service: &RunningService, key: &str, method: &str, path: &str, body: &Value) -> Value {
    send_with_key(service, key, method, path, body, "")
}

/// Sends a request, with an `Idempotency-Key` unless `idempotency_key` is empty. Returns the body of the answer.
fn send_with_key(
    service: &RunningService,
    key: &str,
    method: &str,
    path: &str,
    body: &Value,
    idempotency_key: &str,
) -> Value {
    let mut fields = vec![("Authorization", format!("Bearer {key}"))];
    fields.extend((!idempotency_key.is_empty()).then(|| ("Idempotency-Key", idempotency_key.to_owned())));
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    service.send(method, path, &fields, &body).expect(200).json()
}

/// Leaves the traces of acts by staff: a later mark, hires with deliveries and their answers, rejections and holds with
/// notes.
fn leave_traces(service: &RunningService, key: &str, nth: usize, person: &Person) {
    let (id, note) = (&person.id, person.note());
    let step = format!("/api/v1/candidate-steps/c{id}_1");
    send(service, key, "PUT", &format!("/api/v1/candidate-roles/app_{id}/later"), &json!({ "days": 200 }));
    if nth.is_multiple_of(2) {
        let hire = json!({ "notes": note, "externalPositionId": person.family });
        // A client can use a part of a name as its idempotency key.
        let idempotency_key = person.needles().into_iter().find(|needle| needle.is_ascii()).unwrap();
        for _ in 0..2 {
            send_with_key(service, key, "POST", &format!("{step}/hire"), &hire, &idempotency_key);
        }
    }
    // Every second hired candidate is rejected later, which clears the notes of the hire. Some applications remain put
    // aside.
    if nth.is_multiple_of(3) && nth % 90 != 45 && (nth % 2 == 1 || nth.is_multiple_of(60)) {
        let body = json!({ "outcomeNotes": note, "outcomeType": "company", "outcomeReason": person.name() });
        send(service, key, "POST", &format!("{step}/reject"), &body);
    }
    let hold = format!("/api/v1/candidates/{id}/hold");
    send(service, key, "PUT", &hold, &json!({ "reason": note }));
    send(service, key, "DELETE", &hold, &Value::Null);
}

/// Stores a signup with its text, an attachment and a status page. The signup belongs to an application, or is a later
/// signup. Returns the attachment's id.
fn apply(dir: &WorkDir, nth: usize, person: &Person, application: Option<&str>) -> AttachmentId {
    let world: &dyn World = &Real::new();
    let line = format!("{} {} {} {}\n", person.typed, person.name(), person.email(), person.note());
    // Some attachments have one chunk; others have several.
    let bytes = if nth.is_multiple_of(150) { 3 * CHUNK_BYTES_MAX } else { 5_000 };
    let content = line.repeat(bytes / line.len() + 1);
    let mut random = [0; ATTACHMENT_TOKEN_BYTES];
    world.fill(&mut random);
    let (id, token): (AttachmentId, _) = (world.id(), AttachmentToken::new(random));
    let name = format!("{}.txt", person.typed);
    let stage = |tx: &store::Tx<'_>| -> Result<(), Error> {
        store::attachment::begin(tx, &id, &token, &name)?;
        for (chunk, number) in content.as_bytes().chunks(CHUNK_BYTES_MAX).zip(1..) {
            store::attachment::append_chunk(tx, &id, number, chunk)?;
        }
        let bytes = u32::try_from(content.len()).unwrap();
        store::attachment::finish(tx, &id, &name, MediaType::Text, bytes, &Sha256::digest(content.as_bytes()).into())
    };
    store::act_alone(&dir.path("a.db"), world, stage).unwrap();
    let signup = format!("sign_{}{nth}", application.unwrap_or("later"));
    let connection = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    let sql =
        "INSERT INTO signups (id, organization_id, role_id, candidate_role_id, later_of, steps, name, email, email_key,
                 phone, links, note, locale, consented_at, created_at)
               VALUES (?1, 'org_acme', 'role_1', ?2, iif(?2 IS NULL, ?8, NULL), iif(?2 IS NULL, '[]', NULL), ?3, ?4,
                 lower(?4), ?5, json_array(?6), ?7, 'de', 1, 1)";
    let link = format!("https://{}.example/{}", person.local, person.typed);
    let former = format!("app_{}", person.id);
    let params = (&signup, application, &person.typed, person.email(), &person.family, link, person.note(), former);
    connection.execute(sql, params).unwrap();
    let sql = "INSERT INTO status_pages (digest, candidate_role_id, signup_id, is_trusted, locale, issued_at)
               VALUES (randomblob(32), ?1, iif(?1 IS NULL, ?2, NULL), 0, 'de', 1)";
    connection.execute(sql, (application, &signup)).unwrap();
    let signup = SignupId::parse(&signup).unwrap();
    let attach = |tx: &store::Tx<'_>| store::attachment::claim(tx, &token, &signup);
    assert!(store::act_alone(&dir.path("a.db"), world, attach).unwrap());
    id
}

/// Returns the number of these candidates whose address is in the file.
fn people_found(dir: &WorkDir, people: &[(usize, &Person)]) -> usize {
    let needles: Vec<String> = people.iter().map(|(_, person)| format!("{}@", person.local)).collect();
    let found: BTreeSet<String> =
        found(dir, &needles).into_iter().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
    found.len()
}

/// Polls until none of the needles is found, because page wiping ends only after the requests are answered.
#[track_caller]
pub(crate) fn await_wiped<N: AsRef<[u8]>>(dir: &WorkDir, needles: &[N]) {
    eventually(|| found(dir, needles).is_empty());
}

fn erased_list(dir: &WorkDir) -> Vec<String> {
    String::from_utf8(dir.read("a.db.erased")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn no_personal_data_of_erased_candidates_is_left_even_after_an_old_backup_is_restored() {
    let dir = WorkDir::new();
    let people: Vec<Person> = (0..ERASED + STAYING).map(Person::new).collect();
    import(&dir, &people, &echo());
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db", "--allow-private-hr-targets", "--rate-limit", "0"]);
    let (erased, staying): (Vec<_>, Vec<_>) = people.iter().enumerate().partition(|(nth, _)| nth.is_multiple_of(15));
    assert_eq!(erased.len(), ERASED);
    for (nth, person) in &erased {
        let document = apply(&dir, *nth, person, Some(&format!("app_{}", person.id)));
        // The opening of an attachment is recorded as activity.
        service.get(&format!("/api/v1/candidates/{}/documents/{document}", person.id), &key).expect(200);
        leave_traces(&service, &key, *nth, person);
        apply(&dir, *nth, person, None);
        let name = json!({ "name": format!("{} {}", person.corrected, person.family) });
        send(&service, &key, "PATCH", &format!("/api/v1/candidates/{}", person.id), &name);
    }
    eventually(|| dir.number("a.db", "SELECT count(*) FROM hr_attempts WHERE answer IS NOT NULL") >= ERASED as i64 / 2);
    dir.change("a.db", "PRAGMA secure_delete = ON; ANALYZE");
    dir.run(&["export", "--db", "a.db"]).succeeded();
    dir.run(&["backup", "--db", "a.db", "old.backup"]).succeeded();
    let opened = "SELECT count(*) FROM activities WHERE action = 'document.opened'";
    assert_eq!(dir.number("a.db", opened), ERASED as i64);
    let people_needles = erased.iter().flat_map(|(_, person)| person.needles());
    let needles: Vec<String> = people_needles.chain([due_day(&dir)]).collect();
    let digests = digests(&dir);
    assert_eq!(digests.len(), 2 * ERASED);
    assert!(!found(&dir, &digests).is_empty());
    // Before the erasure, the search finds every candidate who will be erased.
    assert_eq!(people_found(&dir, &erased), ERASED);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM documents"), 2 * ERASED as i64);
    personal_data::assert_seeded(&dir);
    let export = |(_, person): &(usize, &Person)| {
        service.get(&format!("/api/v1/candidates/{}/export", person.id), &key).expect(200).json()
    };
    personal_data::assert_exported(&erased.iter().take(6).map(export).collect::<Vec<_>>());
    for (_, person) in &erased {
        send(&service, &key, "DELETE", &format!("/api/v1/candidates/{}", person.id), &Value::Null);
    }
    await_wiped(&dir, &needles);
    await_wiped(&dir, &digests);
    assert_eq!(mode(&dir.path("a.db.erased")), 0o600);
    let (signups, candidates): (Vec<String>, _) =
        erased_list(&dir).into_iter().partition(|line| line.ends_with(" signup"));
    let ids: Vec<&str> =
        candidates.iter().map(|line| line.split_once(" at=").expect("the line has a time").0).collect();
    assert_eq!(ids, erased.iter().map(|(_, person)| person.id.as_str()).collect::<Vec<_>>());
    assert_eq!(signups.len(), 2 * ERASED);
    dir.run(&["check", "--db", "a.db"]).succeeded();
    let left = "SELECT (SELECT count(*) FROM signups) + (SELECT count(*) FROM status_pages)
                  + (SELECT count(*) FROM documents) + (SELECT count(*) FROM document_pieces)";
    assert_eq!(dir.number("a.db", left), 0);
    // The other candidates are still in the file.
    assert_eq!(people_found(&dir, &staying), STAYING);
    let output = service.stop("TERM");
    assert!(needles.iter().all(|needle| !output.stderr.contains(needle.as_str())));
    assert_eq!(found(&dir, &needles), Vec::<String>::new());

    // Replace the file with the older backup.
    std::fs::copy(dir.path("old.backup"), dir.path("a.db")).unwrap();
    assert!(!found(&dir, &needles).is_empty());
    let mut service = dir.serve(&["--db", "a.db"]);
    let report = format!("erased {ERASED} candidates and {} signups again: ", 2 * ERASED);
    service.wait_for(|line| line.starts_with(&report) && line.contains("a.db.erased"));
    assert_eq!(found(&dir, &needles), Vec::<String>::new());
    dir.run(&["check", "--db", "a.db"]).succeeded();
    assert_eq!(people_found(&dir, &staying), STAYING);
    let output = service.stop("TERM");
    assert!(needles.iter().all(|needle| !output.stderr.contains(needle.as_str())));
    assert_eq!(found(&dir, &needles), Vec::<String>::new());
}

#[test]
fn a_damaged_erasure_list_prevents_the_start() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.write("a.db.erased", "cand_1\nnot an id\n");
    dir.run(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"]).failed(78, "line 2 of ");
    // An incomplete last line, as after a crash, is ignored.
    dir.write("a.db.erased", "cand_1\ncand_");
    let mut service = dir.serve(&["--db", "a.db"]);
    service.wait_for(|line| line.starts_with("erased 1 candidate"));
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM candidates WHERE erased_at IS NOT NULL"), 1);
}

#[test]
fn a_failed_erasure_is_not_carried_out_at_a_later_start() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let delete = |service: &RunningService, id: &str| {
        let field = format!("Bearer {key}");
        service.send("DELETE", &format!("/api/v1/candidates/{id}"), &[("Authorization", &field)], "")
    };
    delete(&service, "cand_2").expect(200);
    let listed = dir.read("a.db.erased");
    let stop = "CREATE TRIGGER stop BEFORE UPDATE OF erased_at ON candidates BEGIN SELECT raise(ABORT, 'stop'); END";
    dir.change("a.db", stop);
    delete(&service, "cand_1").expect(500);
    assert_eq!(dir.read("a.db.erased"), listed);
    dir.change("a.db", "DROP TRIGGER stop");
    send(&service, &key, "POST", "/api/v1/candidate-steps/cstep_1_1/hire", &json!({}));
    send(&service, &key, "PUT", "/api/v1/candidates/cand_1/hold", &json!({ "reason": "a case" }));
    service.stop("TERM");
    for _ in 0..2 {
        let service = dir.serve(&["--db", "a.db"]);
        let candidate = service.get("/api/v1/candidates/cand_1", &key).expect(200).json();
        assert_eq!(candidate["data"]["name"], "Candidate 1", "{candidate}");
        service.stop("TERM");
    }
    let held = "SELECT count(*) FROM candidates WHERE hold_reason = 'a case' AND erased_at IS NULL";
    assert_eq!(dir.number("a.db", held), 1);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
}

#[test]
fn a_listed_candidate_with_a_later_hold_is_reported_and_not_erased() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    send(&service, &key, "PUT", "/api/v1/candidates/cand_1/hold", &json!({ "reason": "a case" }));
    service.stop("TERM");
    // The line of the second candidate names a change that is later than every change to this candidate in the file.
    // The service therefore takes the file for an older copy and erases this candidate again.
    let later = i64::MAX / 2;
    let lines = format!("cand_1 at={later} activity=0\ncand_1 own at=1 activity=9\ncand_2 at={later} activity=9\n");
    dir.write("a.db.erased", &lines);
    let report = "candidate cand_1 is in ";
    for erasures in [1, 0] {
        let mut service = dir.serve(&["--db", "a.db"]);
        service.wait_for(|line| line.starts_with(&format!("warning: {report}")));
        let output = service.stop("TERM");
        assert_eq!(output.stderr.matches("erased 1 candidate and ").count(), erasures, "{}", output.stderr);
    }
    let sql = "SELECT count(*) FROM candidates WHERE id = 'cand_1' AND hold_reason = 'a case' AND name = 'Candidate 1'";
    assert_eq!(dir.number("a.db", sql), 1);
    let checked = dir.run(&["check", "--db", "a.db"]).succeeded();
    assert_eq!(checked.stdout.matches(report).count(), 1, "{checked:?}");
    // A line in the format of earlier versions also causes an erasure.
    dir.write("a.db.erased", "cand_1\n");
    dir.serve(&["--db", "a.db"]).stop("TERM");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM candidates WHERE erased_at IS NULL"), 0);
}
