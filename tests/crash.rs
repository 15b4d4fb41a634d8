//! Tests that an answered change is in the file even if the process is killed right after the answer, that a backup
//! under load contains every decision answered before the backup, and that neither the file nor the log contains a key,
//! a cookie or a password.
//!
//! Each test runs the real binary on its own file and port. The tests of kills and backups put it under load from many
//! connections.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue must fail")]

#[path = "crash/client.rs"]
mod client;
#[path = "crash/company.rs"]
mod company;
#[path = "crash/history.rs"]
mod history;
#[path = "crash/load.rs"]
mod load;
#[path = "crash/repeat.rs"]
mod repeat;
mod rounds;
#[path = "crash/service.rs"]
mod service;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use client::{Client, Request};
use company::Company;
use history::History;
use load::{KillMoment, Load};
use repeat::Repeats;
use rounds::rounds;
use service::{Service, run, run_with_input};

/// The number of rounds. Each has at least one kill of the service.
const ROUNDS: usize = rounds(3, 20);

/// The number of connections. Each has one request at a time.
const CONNECTIONS: usize = 64;

/// The minimum number of unanswered requests at the kill that ends a round.
const UNANSWERED_MIN: usize = 32;

/// The maximum number of kills in one round. A kill with too few unanswered requests is checked like any other kill,
/// but does not end the round.
const KILLS_MAX: usize = 10;

/// The number of backups that are made under load.
const BACKUPS: usize = rounds(2, 3);

/// A file into which a company was imported, in its own directory.
struct ImportedFile {
    db: PathBuf,
    dir: tempfile::TempDir,
}

impl ImportedFile {
    fn with(company: &Company) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (db, document) = (dir.path().join("appliance.db"), dir.path().join("company.json"));
        std::fs::write(&document, company.document().to_string()).unwrap();
        run(&["import", "--db", text(&db), text(&document)]);
        Self { db, dir }
    }

    fn admin_key(&self) -> String {
        run(&["bootstrap-admin", "--db", text(&self.db), "--email", "admin@appliance.example"]).trim().to_owned()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn check(db: &Path) {
    run(&["check", "--db", text(db)]);
}

/// Creates a key for each of these users. Returns the id and the text of each key.
fn make_keys(service: &Service, admin_key: &str, users: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let mut admin = Client::connect(service.address).unwrap();
    let make = |(number, user): (usize, String)| {
        let body = json!({ "name": format!("key-{number}"), "userId": user });
        let request = Request::new("POST", "/api/admin/api-keys").with_key(admin_key).with_body(&body);
        let data = admin.ask(&request).unwrap().expect(200).json()["data"].take();
        (data["id"].as_str().unwrap().to_owned(), data["key"].as_str().unwrap().to_owned())
    };
    users.enumerate().map(make).collect()
}

/// Creates a key for each connection. The owners get the keys in turn. Returns the texts of the keys.
fn load_keys(service: &Service, file: &ImportedFile, company: &Company) -> Vec<String> {
    let owners = (0..CONNECTIONS).map(|number| company.organization_of(number).owner_id.clone());
    make_keys(service, &file.admin_key(), owners).into_iter().map(|(_, key)| key).collect()
}

#[test]
fn answered_changes_survive_kill_9() {
    let company = Arc::new(Company::for_rounds(ROUNDS));
    let file = ImportedFile::with(&company);
    let mut service = Service::start(&file.db, &[]);
    let keys = load_keys(&service, &file, &company);
    let (mut history, mut repeats) = (History::default(), Repeats::default());
    for round in 1..=ROUNDS {
        let is_complete = (0..KILLS_MAX).any(|kill| {
            let load = Load::begin(&company, &service, &keys, &format!("{round}-{kill}"), true);
            let crash = load.until_killed(&KillMoment::of_round(round + kill));
            service.require_killed();
            service = Service::start(&file.db, &[]);
            println!(
                "round {round}: {} answered, {} unanswered at the kill",
                crash.answered.len(),
                crash.unanswered_at_kill
            );
            history.add(&crash.answered, &crash.unanswered);
            let findings = history.check_and_settle(&file.db, &company);
            assert!(findings.is_empty(), "round {round}: {} findings:\n{}", findings.len(), findings.join("\n"));
            repeats.send(&service, &file.db, &keys, &crash);
            history.add(&repeats.answered, &[]);
            let findings =
                [std::mem::take(&mut repeats.findings), history.check_and_settle(&file.db, &company)].concat();
            assert!(
                findings.is_empty(),
                "round {round}, after the repeats: {} findings:\n{}",
                findings.len(),
                findings.join("\n")
            );
            check(&file.db);
            if round.is_multiple_of(2) {
                history::checkpoint(&file.db);
            }
            // Chance determines whether an unanswered decision is in the file. Therefore the last round continues until
            // one unanswered decision was in the file and another was lost.
            crash.unanswered_at_kill >= UNANSWERED_MIN && (round < ROUNDS || history.has_variety())
        });
        assert!(
            is_complete,
            "round {round}: incomplete after {KILLS_MAX} kills: too few unanswered requests, or an outcome was not seen"
        );
    }
    history.require_variety();
    repeats.require_variety();
}

#[test]
fn a_backup_under_load_contains_every_decision_answered_before_the_backup() {
    for number in 1..=BACKUPS {
        back_up_under_load(number);
    }
}

/// Backs up a file under load. Each backup has a file of its own, because a fast service decides on several thousand
/// applications during a backup, and could leave none for the next one.
fn back_up_under_load(number: usize) {
    let company = Arc::new(Company::for_rounds(10));
    let file = ImportedFile::with(&company);
    let service = Service::start(&file.db, &[]);
    let keys = load_keys(&service, &file, &company);
    let target = file.dir.path().join("copy.db");
    let load = Load::begin(&company, &service, &keys, &format!("backup-{number}"), false);
    load.await_decisions(100);
    let before = load.answered();
    run(&["backup", "--db", text(&file.db), text(&target)]);
    let during = load::decisions(&load.answered()) - load::decisions(&before);
    let answered = load.stop();
    println!("backup {number}: {} decisions before, {during} during the backup", load::decisions(&before));
    assert!(during > 0, "no decision was answered during the backup");
    let mut history = History::default();
    history.add(&before, &[]);
    let findings = history.check(&target);
    assert!(findings.is_empty(), "copy {number}: {} findings:\n{}", findings.len(), findings.join("\n"));
    check(&target);
    history.add(&answered[before.len()..], &[]);
    assert_eq!(history.check_and_settle(&file.db, &company), Vec::<String>::new());
    check(&file.db);
}

#[test]
fn neither_the_file_nor_the_text_log_contains_a_key_cookie_or_password() {
    require_no_secret("text");
}

#[test]
fn neither_the_file_nor_the_json_log_contains_a_key_cookie_or_password() {
    require_no_secret("json");
}

fn require_no_secret(log_format: &str) {
    let company = Company::for_rounds(1);
    let file = ImportedFile::with(&company);
    let admin_key = file.admin_key();
    let mut service = Service::start(&file.db, &["--log-format", log_format]);
    let users = company.organizations.iter().map(|organization| organization.owner_id.clone());
    let keys = make_keys(&service, &admin_key, users);
    let mut secrets = use_keys(&service, &company, &admin_key, &keys);
    secrets.extend(use_passwords(&service, &file, &company));
    service.kill();
    require_absent(&file.db, &secrets, &service.log());
    let bytes =
        [std::fs::read(&file.db).unwrap(), std::fs::read(service::with_suffix(&file.db, "-wal")).unwrap()].concat();
    // The search finds other strings that the file and the log contain, so it would find a secret too.
    for (key_id, key) in &keys {
        assert!(contains(&bytes, &key[..8]), "the file has the beginning of each key");
        assert!(contains(&service.log(), key_id), "the log has the id of each key");
    }
    // Check again after a checkpoint has moved everything from the write-ahead log into the file.
    let mut service = Service::start(&file.db, &["--log-format", log_format]);
    service.terminate();
    require_absent(&file.db, &secrets, &service.log());
    assert!(contains(&std::fs::read(&file.db).unwrap(), &keys[0].1[..8]));
}

/// Uses keys in many valid and invalid ways. Returns the strings that must not be stored.
fn use_keys(service: &Service, company: &Company, admin_key: &str, keys: &[(String, String)]) -> Vec<String> {
    let mut client = Client::connect(service.address).unwrap();
    let mut ask = |request: Request, status: u16| {
        client.ask(&request).unwrap().expect(status);
    };
    let mut secrets = vec![admin_key.to_owned()];
    for (organization, (key_id, key)) in company.organizations.iter().zip(keys) {
        let step = |number: usize| organization.uncontested[number].steps[0].clone();
        let decide =
            |action: &str, number| Request::new("POST", &format!("/api/v1/candidate-steps/{}/{action}", step(number)));
        let mistyped = format!("{}{}", &key[..key.len() - 1], if key.ends_with('0') { '1' } else { '0' });
        ask(Request::new("GET", "/api/v1/me").with_key(key), 200);
        ask(Request::new("GET", &format!("/api/v1/me?key={key}")).with_key(key), 200);
        ask(Request::new("GET", &format!("/api/v1/me?key={key}")), 401);
        ask(Request::new("GET", "/api/v1/me").with_key(&mistyped), 401);
        ask(decide("hire", 0).with_key(key), 200);
        ask(decide("reject", 1).with_key(key).with_body(&json!({ "outcomeNotes": "no" })), 200);
        ask(decide("reject", 1).with_key(key), 409);
        ask(decide("reject", 2).with_key(key).with_body(&json!({ "outcomeNotes": 1 })), 400);
        ask(Request::new("GET", "/api/admin/api-keys").with_key(key), 403);
        ask(Request::new("GET", &format!("/api/admin/api-keys/{key_id}/usage?before={key}")).with_key(key), 403);
        ask(Request::new("GET", &format!("/{key}")).with_key(key), 404);
        ask(Request::new("DELETE", &format!("/api/admin/api-keys/{key_id}")).with_key(admin_key), 200);
        ask(Request::new("GET", "/api/v1/me").with_key(key), 401);
        secrets.extend([key.clone(), mistyped]);
    }
    // The service stores the first characters of a key, which identify the key in lists.
    secrets.iter().map(|secret| secret[8..].to_owned()).collect()
}

/// Sends valid and invalid sign-ins. Returns the strings that must not be stored.
fn use_passwords(service: &Service, file: &ImportedFile, company: &Company) -> Vec<String> {
    let (right, wrong, old) = ("Tr0ub4dor-and-a-horse", "Tr0ub4dor-or-no-horse", "an-older-battery-staple");
    let email = &company.organizations[0].owner_email;
    for password in [old, right] {
        run_with_input(&["set-password", "--db", text(&file.db), "--email", email], &format!("{password}\n"));
    }
    let mut client = Client::connect(service.address).unwrap();
    let mut sign_in = |body: &str, status: u16| {
        let request = Request::new("POST", "/api/auth/sign-in").with_text(body);
        client.ask(&request).unwrap().expect(status)
    };
    let body = |password: &str| json!({ "email": email, "password": password }).to_string();
    sign_in(&body(wrong), 401);
    sign_in(&body(old), 401);
    sign_in(&format!("{{\"email\":\"{email}\",\"password\":\"{right}\""), 400);
    sign_in(&format!("{{\"email\":1,\"password\":\"{right}\"}}"), 400);
    let cookies: Vec<String> = (0..2).map(|_| sign_in(&body(right), 200).cookie()).collect();
    for cookie in &cookies {
        let me = Request::new("GET", "/api/v1/me").with_header("Cookie", cookie);
        client.ask(&me).unwrap().expect(200);
    }
    // One session ends; the other continues.
    let sign_out = Request::new("POST", "/api/auth/sign-out").with_header("Cookie", &cookies[0]);
    client.ask(&sign_out.with_header("Sec-Fetch-Site", "same-origin")).unwrap().expect(204);
    let values = cookies.iter().map(|cookie| cookie.split_once('=').unwrap().1.to_owned());
    [right, wrong, old].map(str::to_owned).into_iter().chain(values).collect()
}

/// Checks that none of these strings is in the database, in the files next to it or in the log.
fn require_absent(db: &Path, secrets: &[String], log: &[u8]) {
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let bytes = std::fs::read(service::with_suffix(db, suffix)).unwrap_or_default();
        for secret in secrets {
            assert!(!contains(&bytes, secret), "{secret} is in the file with the suffix {suffix:?}");
        }
    }
    for secret in secrets {
        assert!(!contains(log, secret), "{secret} is in the log");
    }
}

fn contains(bytes: &[u8], needle: &str) -> bool {
    assert!(needle.len() >= 8, "{needle:?} is too short for a search");
    let first = needle.as_bytes()[0];
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == first) {
        if bytes[from + at..].starts_with(needle.as_bytes()) {
            return true;
        }
        from += at + 1;
    }
    false
}
