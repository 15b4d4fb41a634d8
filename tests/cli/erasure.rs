//! Erasure to the last byte: of 200 candidates with every kind of trace nothing is left in the database, its write-ahead
//! log, the service's log or the list of who was erased; nor when an older backup was put in place.

use std::collections::{BTreeSet, HashMap};
use std::io::{Read, Write};
use std::net::TcpListener;

use appliance::domain::search;
use serde_json::{Value, json};

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
        for text in [&self.given, &self.family, &self.local, &self.former, &self.name(), &self.email()] {
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
fn found(place: &Place, needles: &[String]) -> Vec<String> {
    let mut by_head: HashMap<&[u8], Vec<&str>> = HashMap::new();
    // Most places are passed over by their first two bytes.
    let pair = |bytes: &[u8]| usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
    let mut begins = vec![false; 1 << 16];
    for needle in needles {
        begins[pair(needle.as_bytes())] = true;
        by_head.entry(&needle.as_bytes()[..HEAD]).or_default().push(needle);
    }
    let mut found = Vec::new();
    for name in place.names().iter().filter(|name| name.starts_with("a.db")) {
        let bytes = place.read(name);
        for (at, window) in bytes.windows(HEAD).enumerate().filter(|(_, window)| begins[pair(window)]) {
            let here =
                by_head.get(window).into_iter().flatten().filter(|needle| bytes[at..].starts_with(needle.as_bytes()));
            found.extend(here.map(|needle| format!("{needle} in {name}")));
        }
    }
    found
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
    let fields = [("Authorization", format!("Bearer {key}"))];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    serving.send(method, path, &fields, &body).expect(200).json()
}

/// Leaves a trace of every kind: hires that the HR system is told of and answers, rejections and holds with notes.
fn leave_traces(serving: &Serving, key: &str, nth: usize, person: &Person) {
    let (id, note) = (&person.id, person.note());
    let step = format!("/api/v1/candidate-steps/c{id}_1");
    if nth.is_multiple_of(2) {
        send(
            serving,
            key,
            "POST",
            &format!("{step}/hire"),
            &json!({ "notes": note, "externalPositionId": person.family }),
        );
    }
    if nth.is_multiple_of(3) {
        let body = json!({ "outcomeNotes": note, "outcomeType": "company", "outcomeReason": person.name() });
        send(serving, key, "POST", &format!("{step}/reject"), &body);
    }
    let hold = format!("/api/v1/candidates/{id}/hold");
    send(serving, key, "PUT", &hold, &json!({ "reason": note }));
    send(serving, key, "DELETE", &hold, &Value::Null);
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
fn gone(place: &Place, needles: &[String]) {
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
        leave_traces(&serving, &key, *nth, person);
    }
    eventually(|| place.number("a.db", "SELECT count(*) FROM hr_attempts WHERE answer IS NOT NULL") >= 100);
    place.change("a.db", "PRAGMA secure_delete = ON; ANALYZE");
    place.run(&["backup", "--db", "a.db", "old.backup"]).succeeded();
    let needles: Vec<String> = erased.iter().flat_map(|(_, person)| person.needles()).collect();
    // The test looks where there is something.
    assert_eq!(seen(&place, &erased), ERASED);
    for (_, person) in &erased {
        send(&serving, &key, "DELETE", &format!("/api/v1/candidates/{}", person.id), &Value::Null);
    }
    gone(&place, &needles);
    assert_eq!(mode(&place.path("a.db.erased")), 0o600);
    assert_eq!(erased_list(&place), erased.iter().map(|(_, person)| person.id.clone()).collect::<Vec<_>>());
    place.run(&["check", "--db", "a.db"]).succeeded();
    // Nobody else has lost anything.
    assert_eq!(seen(&place, &staying), STAYING);
    let ended = serving.stop("TERM");
    assert!(needles.iter().all(|needle| !ended.stderr.contains(needle.as_str())));
    assert_eq!(found(&place, &needles), Vec::<String>::new());

    // The older copy, in the place of the file.
    std::fs::copy(place.path("old.backup"), place.path("a.db")).unwrap();
    assert!(!found(&place, &needles).is_empty());
    let mut serving = place.serve(&["--db", "a.db"]);
    serving.wait_for(|line| line.starts_with("erased 200 candidates again: ") && line.contains("a.db.erased"));
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
