//! Erasure to the last byte: of 200 candidates with every kind of trace nothing is left in the database, its write-ahead
//! log, the service's log or the list of who was erased; nor when an older backup was put in place.

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
use crate::support::{Place, Serving, document, eventually, mode};

/// Candidates who are erased, and those who stay among them.
const ERASED: usize = 200;
const STAYING: usize = 2_800;

/// What two names and an address are made of: nothing else of the file has any of it.
struct Person {
    id: String,
    given: String,
    family: String,
    local: String,
    /// What the candidate was called before.
    former: String,
    /// What they called themselves when they applied.
    typed: String,
    /// What staff put right in their name.
    corrected: String,
}

impl Person {
    fn new(nth: usize) -> Self {
        // Far apart in the order of the indexes, as names are.
        let mark = |of: u64| {
            let number = (nth as u64 * 8 + of + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            number.to_be_bytes().map(|byte| char::from(b'a' + byte % 26)).iter().collect::<String>()
        };
        Self {
            id: format!("cand_{nth:03}"),
            given: format!("Zoë\"{}", mark(0)),
            family: format!("Ł{}-Ünal", mark(1)),
            local: format!("Mail.{}", mark(2)),
            former: format!("Née{}", mark(3)),
            typed: format!("Żoé{}", mark(4)),
            corrected: format!("Øx{}", mark(5)),
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

    /// Everything by which somebody could find them in a heap of bytes: as given, in lower case, as JSON has it, as words.
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
            // A word of a letter or two is everywhere.
            needles.extend(search::words(text).into_iter().filter(|word| word.len() > 5 && word != "example"));
        }
        needles
    }
}

/// So many bytes of each needle are looked for at once.
const HEAD: usize = 6;

/// Which of these is in any of the files, and where.
pub(crate) fn found<N: AsRef<[u8]>>(place: &Place, needles: &[N]) -> Vec<String> {
    let mut by_head: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
    // Most places are passed over by their first two bytes.
    let pair = |bytes: &[u8]| usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
    let mut begins = vec![false; 1 << 16];
    for needle in needles {
        let needle = needle.as_ref();
        begins[pair(needle)] = true;
        by_head.entry(&needle[..HEAD]).or_default().push(needle);
    }
    let mut found = Vec::new();
    for name in place.names().iter().filter(|name| name.starts_with("a.db") && !name.ends_with(".reserve")) {
        let bytes = place.read(name);
        for (at, window) in bytes.windows(HEAD).enumerate().filter(|(_, window)| begins[pair(window)]) {
            let here = by_head.get(window).into_iter().flatten().filter(|needle| bytes[at..].starts_with(needle));
            found.extend(here.map(|needle| format!("{} in {name}", String::from_utf8_lossy(needle))));
        }
    }
    found
}

/// The digests of the attachments that are in the file.
fn digests(place: &Place) -> Vec<[u8; 32]> {
    let connection = rusqlite::Connection::open(place.path("a.db")).unwrap();
    let mut statement = connection.prepare("SELECT sha256 FROM documents WHERE sha256 IS NOT NULL").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// An HR system that answers with what it was sent.
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

/// Imports everybody, in progress at the first of two steps, in an order that has those who stay among the others.
fn import(place: &Place, people: &[Person], url: &str) {
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
    place.write("people.json", document.to_string());
    place.run(&["import", "--db", "a.db", "people.json"]).succeeded();
}

fn send(serving: &Serving, key: &str, method: &str, path: &str, body: &Value) -> Value {
    send_once(serving, key, method, path, body, "")
}

/// The same under an `Idempotency-Key`, where that is not empty.
fn send_once(serving: &Serving, key: &str, method: &str, path: &str, body: &Value, once: &str) -> Value {
    let mut fields = vec![("Authorization", format!("Bearer {key}"))];
    fields.extend((!once.is_empty()).then(|| ("Idempotency-Key", once.to_owned())));
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    serving.send(method, path, &fields, &body).expect(200).json()
}

/// Leaves a trace of every kind: hires that the HR system is told of and answers, rejections and holds with notes.
fn leave_traces(serving: &Serving, key: &str, nth: usize, person: &Person) {
    let (id, note) = (&person.id, person.note());
    let step = format!("/api/v1/candidate-steps/c{id}_1");
    if nth.is_multiple_of(2) {
        let hire = json!({ "notes": note, "externalPositionId": person.family });
        // Whoever chose the key made it of a name.
        let once = person.needles().into_iter().find(|needle| needle.is_ascii()).unwrap();
        for _ in 0..2 {
            send_once(serving, key, "POST", &format!("{step}/hire"), &hire, &once);
        }
    }
    // One in two of those who are hired is rejected after that, which clears what was noted with the hire.
    if nth.is_multiple_of(3) && (nth % 2 == 1 || nth.is_multiple_of(60)) {
        let body = json!({ "outcomeNotes": note, "outcomeType": "company", "outcomeReason": person.name() });
        send(serving, key, "POST", &format!("{step}/reject"), &body);
    }
    let hold = format!("/api/v1/candidates/{id}/hold");
    send(serving, key, "PUT", &hold, &json!({ "reason": note }));
    send(serving, key, "DELETE", &hold, &Value::Null);
}

/// What a form leaves: what they typed, a document, and a page; with the application, or once more under their address.
/// The document's id.
fn apply(place: &Place, nth: usize, person: &Person, application: Option<&str>) -> AttachmentId {
    let world: &dyn World = &Real::new();
    let line = format!("{} {} {} {}\n", person.typed, person.name(), person.email(), person.note());
    // Of one piece, and of many.
    let bytes = if nth.is_multiple_of(150) { 3 * CHUNK_BYTES_MAX } else { 5_000 };
    let content = line.repeat(bytes / line.len() + 1);
    let mut random = [0; ATTACHMENT_TOKEN_BYTES];
    world.fill(&mut random);
    let (id, token): (AttachmentId, _) = (world.id(), AttachmentToken::new(random));
    let name = format!("{}.txt", person.typed);
    let stage = |tx: &store::Tx<'_>| -> Result<(), Error> {
        store::document::begin(tx, &id, &token, &name)?;
        for (piece, number) in content.as_bytes().chunks(CHUNK_BYTES_MAX).zip(1..) {
            store::document::append(tx, &id, number, piece)?;
        }
        let bytes = u32::try_from(content.len()).unwrap();
        store::document::finish(tx, &id, &name, MediaType::Text, bytes, &Sha256::digest(content.as_bytes()).into())
    };
    store::act_alone(&place.path("a.db"), world, stage).unwrap();
    let signup = format!("sign_{}{nth}", application.unwrap_or("later"));
    let connection = rusqlite::Connection::open(place.path("a.db")).unwrap();
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
    let attach = |tx: &store::Tx<'_>| store::document::attach(tx, &token, &signup);
    assert!(store::act_alone(&place.path("a.db"), world, attach).unwrap());
    id
}

/// How many of these people have their address somewhere.
fn seen(place: &Place, people: &[(usize, &Person)]) -> usize {
    let needles: Vec<String> = people.iter().map(|(_, person)| format!("{}@", person.local)).collect();
    let found: BTreeSet<String> =
        found(place, &needles).into_iter().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
    found.len()
}

/// Polls until nothing of them is found any more: what is left to do behind the answers takes a moment.
#[track_caller]
pub(crate) fn gone<N: AsRef<[u8]>>(place: &Place, needles: &[N]) {
    eventually(|| found(place, needles).is_empty());
}

fn erased_list(place: &Place) -> Vec<String> {
    String::from_utf8(place.read("a.db.erased")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn nothing_of_two_hundred_erased_candidates_is_left_nor_comes_back_with_a_backup() {
    let place = Place::new();
    let people: Vec<Person> = (0..ERASED + STAYING).map(Person::new).collect();
    import(&place, &people, &echo());
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db", "--allow-private-hr-targets", "--rate-limit", "0"]);
    let (erased, staying): (Vec<_>, Vec<_>) = people.iter().enumerate().partition(|(nth, _)| nth.is_multiple_of(15));
    assert_eq!(erased.len(), ERASED);
    for (nth, person) in &erased {
        let document = apply(&place, *nth, person, Some(&format!("app_{}", person.id)));
        // Opening an attachment and exporting leave activity.
        serving.get(&format!("/api/v1/candidates/{}/documents/{document}", person.id), &key).expect(200);
        leave_traces(&serving, &key, *nth, person);
        apply(&place, *nth, person, None);
        let name = json!({ "name": format!("{} {}", person.corrected, person.family) });
        send(&serving, &key, "PATCH", &format!("/api/v1/candidates/{}", person.id), &name);
    }
    eventually(|| place.number("a.db", "SELECT count(*) FROM hr_attempts WHERE answer IS NOT NULL") >= 100);
    place.change("a.db", "PRAGMA secure_delete = ON; ANALYZE");
    place.run(&["export", "--db", "a.db"]).succeeded();
    place.run(&["backup", "--db", "a.db", "old.backup"]).succeeded();
    let opened = "SELECT count(*) FROM activities WHERE action = 'document.opened'";
    assert_eq!(place.number("a.db", opened), ERASED as i64);
    let needles: Vec<String> = erased.iter().flat_map(|(_, person)| person.needles()).collect();
    let digests = digests(&place);
    assert_eq!(digests.len(), 2 * ERASED);
    assert!(!found(&place, &digests).is_empty());
    // The test looks where there is something.
    assert_eq!(seen(&place, &erased), ERASED);
    assert_eq!(place.number("a.db", "SELECT count(*) FROM documents"), 2 * ERASED as i64);
    personal_data::assert_seeded(&place);
    let export = |(_, person): &(usize, &Person)| {
        serving.get(&format!("/api/v1/candidates/{}/export", person.id), &key).expect(200).json()
    };
    personal_data::assert_exported(&erased.iter().take(6).map(export).collect::<Vec<_>>());
    for (_, person) in &erased {
        send(&serving, &key, "DELETE", &format!("/api/v1/candidates/{}", person.id), &Value::Null);
    }
    gone(&place, &needles);
    gone(&place, &digests);
    assert_eq!(mode(&place.path("a.db.erased")), 0o600);
    let (signups, candidates): (Vec<String>, _) =
        erased_list(&place).into_iter().partition(|line| line.ends_with(" signup"));
    let ids: Vec<&str> =
        candidates.iter().map(|line| line.split_once(" at=").expect("the line has a time").0).collect();
    assert_eq!(ids, erased.iter().map(|(_, person)| person.id.as_str()).collect::<Vec<_>>());
    assert_eq!(signups.len(), 2 * ERASED);
    place.run(&["check", "--db", "a.db"]).succeeded();
    let left = "SELECT (SELECT count(*) FROM signups) + (SELECT count(*) FROM status_pages)
                  + (SELECT count(*) FROM documents) + (SELECT count(*) FROM document_pieces)";
    assert_eq!(place.number("a.db", left), 0);
    // Nobody else has lost anything.
    assert_eq!(seen(&place, &staying), STAYING);
    let ended = serving.stop("TERM");
    assert!(needles.iter().all(|needle| !ended.stderr.contains(needle.as_str())));
    assert_eq!(found(&place, &needles), Vec::<String>::new());

    // The older copy, in the place of the file.
    std::fs::copy(place.path("old.backup"), place.path("a.db")).unwrap();
    assert!(!found(&place, &needles).is_empty());
    let mut serving = place.serve(&["--db", "a.db"]);
    serving.wait_for(|line| {
        line.starts_with("erased 200 candidates and 400 signups again: ") && line.contains("a.db.erased")
    });
    assert_eq!(found(&place, &needles), Vec::<String>::new());
    place.run(&["check", "--db", "a.db"]).succeeded();
    assert_eq!(seen(&place, &staying), STAYING);
    let ended = serving.stop("TERM");
    assert!(needles.iter().all(|needle| !ended.stderr.contains(needle.as_str())));
    assert_eq!(found(&place, &needles), Vec::<String>::new());
}

#[test]
fn a_list_that_is_damaged_stops_the_start_for_good() {
    let place = Place::new();
    place.imported("a.db");
    place.write("a.db.erased", "cand_1\nnot an id\n");
    place.run(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"]).failed(78, "line 2 of ");
    // The end of a line that a crash cut short names nobody.
    place.write("a.db.erased", "cand_1\ncand_");
    let mut serving = place.serve(&["--db", "a.db"]);
    serving.wait_for(|line| line.starts_with("erased 1 candidate"));
    assert_eq!(place.number("a.db", "SELECT count(*) FROM candidates WHERE erased_at IS NOT NULL"), 1);
}

#[test]
fn an_erasure_that_failed_does_not_happen_at_a_later_start() {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let delete = |serving: &Serving, id: &str| {
        let field = format!("Bearer {key}");
        serving.send("DELETE", &format!("/api/v1/candidates/{id}"), &[("Authorization", &field)], "")
    };
    delete(&serving, "cand_2").expect(200);
    let listed = place.read("a.db.erased");
    let stop = "CREATE TRIGGER stop BEFORE UPDATE OF erased_at ON candidates BEGIN SELECT raise(ABORT, 'stop'); END";
    place.change("a.db", stop);
    delete(&serving, "cand_1").expect(500);
    assert_eq!(place.read("a.db.erased"), listed);
    place.change("a.db", "DROP TRIGGER stop");
    send(&serving, &key, "POST", "/api/v1/candidate-steps/cstep_1_1/hire", &json!({}));
    send(&serving, &key, "PUT", "/api/v1/candidates/cand_1/hold", &json!({ "reason": "a case" }));
    serving.stop("TERM");
    for _ in 0..2 {
        let serving = place.serve(&["--db", "a.db"]);
        let candidate = serving.get("/api/v1/candidates/cand_1", &key).expect(200).json();
        assert_eq!(candidate["data"]["name"], "Candidate 1", "{candidate}");
        serving.stop("TERM");
    }
    let held = "SELECT count(*) FROM candidates WHERE hold_reason = 'a case' AND erased_at IS NULL";
    assert_eq!(place.number("a.db", held), 1);
    assert_eq!(place.number("a.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
}

#[test]
fn a_candidate_who_was_held_after_they_were_listed_is_reported_and_not_erased() {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    send(&serving, &key, "PUT", "/api/v1/candidates/cand_1/hold", &json!({ "reason": "a case" }));
    serving.stop("TERM");
    // Somebody else changed before their line was written: the file is an older copy.
    let later = i64::MAX / 2;
    let lines = format!("cand_1 at={later} activity=0\ncand_1 own at=1 activity=9\ncand_2 at={later} activity=9\n");
    place.write("a.db.erased", &lines);
    let report = "candidate cand_1 is in ";
    for again in [1, 0] {
        let mut serving = place.serve(&["--db", "a.db"]);
        serving.wait_for(|line| line.starts_with(&format!("warning: {report}")));
        let ended = serving.stop("TERM");
        assert_eq!(ended.stderr.matches("erased 1 candidates").count(), again, "{}", ended.stderr);
    }
    let sql = "SELECT count(*) FROM candidates WHERE id = 'cand_1' AND hold_reason = 'a case' AND name = 'Candidate 1'";
    assert_eq!(place.number("a.db", sql), 1);
    let checked = place.run(&["check", "--db", "a.db"]).succeeded();
    assert_eq!(checked.stdout.matches(report).count(), 1, "{checked:?}");
    // Lines of earlier versions mean what they meant.
    place.write("a.db.erased", "cand_1\n");
    place.serve(&["--db", "a.db"]).stop("TERM");
    assert_eq!(place.number("a.db", "SELECT count(*) FROM candidates WHERE erased_at IS NULL"), 0);
}
