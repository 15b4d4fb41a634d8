//! `hr-deliveries`: what is stuck, a line each; and what `serve` says of a delivery.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::{HR_SECRET, Place, Serving, document, eventually};

/// Nobody listens there, and without a flag nothing is sent there either.
const NOWHERE: &str = "http://127.0.0.1:9/hook";

/// Why not.
const REFUSED: &str = "refused: the host's address 127.0.0.1 is ";

const INTEGRATION: &str = "/api/admin/organizations/org_acme/hr-integration";

/// A service on `a.db` with these flags, and an admin's key. The organization's HR system is at this URL.
fn serve(place: &Place, url: &str, enabled: bool, flags: &[&str]) -> (Serving, String) {
    let mut document = document();
    document["organizations"][0]["hrIntegration"] = json!({ "url": url, "secret": HR_SECRET, "enabled": enabled });
    place.write("document.json", document.to_string());
    place.run(&["import", "--db", "a.db", "document.json"]).succeeded();
    let key = place.admin_key("a.db");
    (place.serve(&[&["--db", "a.db"], flags].concat()), key)
}

fn send(serving: &Serving, key: &str, method: &str, path: &str, body: &Value) -> Value {
    let answer = serving.send(method, path, &[("Authorization", &format!("Bearer {key}"))], &body.to_string());
    assert!(matches!(answer.status, 200 | 202), "{answer:?}");
    answer.json()
}

/// Hires a candidate, or rejects the one who was.
fn decide(serving: &Serving, key: &str, candidate: usize, decision: &str) {
    send(serving, key, "POST", &format!("/api/v1/candidate-steps/cstep_{candidate}_2/{decision}"), &json!({}));
}

/// What the command prints: the parts of each line.
fn stuck(place: &Place) -> Vec<Vec<String>> {
    let ended = place.run(&["hr-deliveries", "--db", "a.db"]).succeeded();
    assert_eq!(ended.stderr, if ended.stdout.is_empty() { "nothing is stuck\n" } else { "" });
    let lines = ended.stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect());
    let lines: Vec<Vec<String>> = lines.collect();
    assert!(lines.iter().all(|parts| parts.len() == 9), "{lines:?}");
    lines
}

/// The same once it is so.
fn stuck_once(place: &Place, is_so: impl Fn(&[Vec<String>]) -> bool) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    eventually(|| {
        lines = stuck(place);
        is_so(&lines)
    });
    lines
}

fn is_time(text: &str) -> bool {
    text.len() == 27 && text.starts_with("20") && text.ends_with('Z')
}

/// An HR system that takes everything. Its URL.
fn receiver() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook-of-mine", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut seen = Vec::new();
            let mut byte = [0];
            // The message is over where its last brace is closed.
            while !seen.ends_with(b"}}}") && stream.read(&mut byte).unwrap() == 1 {
                seen.extend(byte);
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nanswer-of-mine");
        }
    });
    url
}

#[test]
fn what_has_arrived_and_what_was_not_tried_yet_is_not_stuck() {
    let place = Place::new();
    let (mut serving, key) = serve(&place, &receiver(), true, &["--allow-private-hr-targets"]);
    assert!(stuck(&place).is_empty());
    decide(&serving, &key, 1, "hire");
    serving.wait_for(|line| line.ends_with(": answered 200; delivered"));
    assert!(stuck(&place).is_empty());
    serving.stop("TERM").succeeded();
    // Queued, and nobody there to send it.
    place.change("a.db", "UPDATE hr_deliveries SET state = 'pending', attempts = 0, next_attempt_at = 0");
    assert!(stuck(&place).is_empty());
}

#[test]
fn what_failed_is_listed_with_what_came_of_its_last_attempt() {
    let place = Place::new();
    let (serving, key) = serve(&place, NOWHERE, true, &["--hr-retry-schedule", "1ms,1ms"]);
    decide(&serving, &key, 1, "hire");
    let lines = stuck_once(&place, |lines| lines.len() == 1 && lines[0][4] == "failed");
    assert!(lines[0][0].starts_with("evt_") && is_time(&lines[0][6]), "{lines:?}");
    assert_eq!(lines[0][1..6], ["acme", "app_1", "candidate.hired", "failed", "3"]);
    assert_eq!((lines[0][7].as_str(), lines[0][8].starts_with(REFUSED)), ("-", true), "{lines:?}");
}

#[test]
fn as_json_they_are_what_the_service_lists() {
    let place = Place::new();
    let (serving, key) = serve(&place, NOWHERE, false, &[]);
    let as_json = || place.run(&["hr-deliveries", "--db", "a.db", "--json"]).succeeded().stdout;
    assert_eq!(as_json(), "[]\n");
    decide(&serving, &key, 1, "hire");
    let listed = serving.get("/api/admin/hr-deliveries", &key).expect(200).json()["data"].clone();
    assert_eq!(listed[0]["held"], json!({ "reason": "integration_disabled" }));
    eventually(|| serde_json::from_str::<Value>(&as_json()).unwrap() == listed);
}

#[test]
fn a_ping_is_not_stuck() {
    let place = Place::new();
    let (mut serving, key) = serve(&place, NOWHERE, true, &[]);
    send(&serving, &key, "POST", &format!("{INTEGRATION}/test"), &json!({}));
    serving.wait_for(|line| line.contains(REFUSED));
    assert!(stuck(&place).is_empty());
}

#[test]
fn an_export_tells_how_many_deliveries_it_leaves_out() {
    let place = Place::new();
    let (serving, key) = serve(&place, NOWHERE, false, &[]);
    (1..=2).for_each(|candidate| decide(&serving, &key, candidate, "hire"));
    let exported = place.run(&["export", "--db", "a.db"]).succeeded();
    assert!(
        exported.stderr.contains("have not received yet (2 in all)") && !exported.stdout.contains("evt_"),
        "{exported:?}"
    );
}

#[test]
fn what_was_tried_without_success_is_listed_with_its_next_attempt() {
    let place = Place::new();
    let flags = ["--allow-private-hr-targets", "--hr-retry-schedule", "24h"];
    let (serving, key) = serve(&place, NOWHERE, true, &flags);
    decide(&serving, &key, 1, "hire");
    let lines = stuck_once(&place, |lines| lines.len() == 1);
    assert_eq!(lines[0][1..6], ["acme", "app_1", "candidate.hired", "pending", "1"]);
    assert!(is_time(&lines[0][6]) && is_time(&lines[0][7]) && lines[0][7] > lines[0][6], "{lines:?}");
    assert!(lines[0][8].starts_with("no connection to 127.0.0.1:9"), "{lines:?}");
    drop(serving);
    assert_eq!(stuck(&place), lines, "it is the same without a service");
}

#[test]
fn what_is_held_is_listed_oldest_first_with_what_holds_it() {
    let place = Place::new();
    let (serving, key) = serve(&place, NOWHERE, false, &["--hr-retry-schedule", "24h"]);
    decide(&serving, &key, 2, "hire");
    decide(&serving, &key, 1, "hire");
    decide(&serving, &key, 1, "reject");
    let held = |line: &[String]| (line[2].clone(), line[3].clone(), line[4].clone(), line[5].clone(), line[7].clone());
    let lines = stuck_once(&place, |lines| lines.len() >= 3);
    let expected = [("app_2", "hired"), ("app_1", "hired"), ("app_1", "hire_reversed")];
    for (line, (application, event)) in lines.iter().zip(expected) {
        let parts = [application, &format!("candidate.{event}"), "held", "0", "-"].map(str::to_owned);
        assert_eq!(held(line), parts.into());
        assert_eq!(line[8], "the HR integration is disabled");
    }
    assert_eq!(lines.len(), 3);
    send(&serving, &key, "PUT", INTEGRATION, &json!({ "url": NOWHERE, "enabled": true }));
    let lines = stuck_once(&place, |lines| lines.len() == 3 && lines[..2].iter().all(|line| line[5] == "1"));
    assert!(lines[..2].iter().all(|line| line[4] == "pending" && is_time(&line[7])), "{lines:?}");
    assert_eq!(lines[2][4..6], ["held", "0"]);
    assert_eq!((&lines[2][7], &lines[2][8]), (&"-".to_owned(), &format!("waits for {}", lines[1][0])));
    send(&serving, &key, "DELETE", INTEGRATION, &json!({}));
    let lines = stuck(&place);
    assert!(lines.iter().all(|line| line[4] == "held" && line[7] == "-"), "{lines:?}");
    assert!(lines[0][8].starts_with(&format!("the organization has no HR integration; {REFUSED}")), "{lines:?}");
    assert_eq!(lines[2][8], "the organization has no HR integration");
}

#[test]
fn a_file_of_version_1_is_refused_until_serve_has_upgraded_it() {
    let place = Place::new();
    place.change("a.db", include_str!("../../src/store/upgrade/1.sql"));
    place.change("a.db", include_str!("../../src/store/upgrade/1_sample.sql"));
    place.change("a.db", "PRAGMA application_id = 1381002081; PRAGMA user_version = 1;");
    let bytes = place.read("a.db");
    let list = ["hr-deliveries", "--db", "a.db"];
    place.run(&list).failed(1, "a.db has version 1, this program writes 8; start `appliance serve` on it once");
    assert!(place.read("a.db") == bytes, "it was changed");
    place.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    place.run(&["hr-deliveries", "--db", "a.db.before-version-8"]).failed(1, "has version 1");
    let lines = stuck(&place);
    let why = |id: &str| lines.iter().find(|line| line[0] == id).unwrap()[8].clone();
    assert_eq!(
        (why("evt_2"), why("evt_3")),
        ("waits for evt_1".to_owned(), "the HR integration is disabled".to_owned())
    );
}

#[test]
fn a_file_that_cannot_be_read_is_status_1() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.imported("a.db");
    let list = ["hr-deliveries", "--db", "a.db"];
    std::fs::set_permissions(place.path("a.db"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever runs the tests as root may read it all the same, and nothing is to be seen.
    if std::fs::File::open(place.path("a.db")).is_err() {
        place.run(&list).failed(1, "a.db cannot be");
    }
    std::fs::set_permissions(place.path("a.db"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut bytes = place.read("a.db");
    bytes[8_192..].fill(0xa5);
    place.write("a.db", bytes);
    let ended = place.run(&list);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.starts_with("appliance: ") && !ended.stderr.contains("nothing is stuck"), "{ended:?}");
}

#[test]
fn a_list_that_cannot_be_printed_is_status_1() {
    let place = Place::new();
    let (serving, key) = serve(&place, NOWHERE, false, &[]);
    decide(&serving, &key, 1, "hire");
    stuck_once(&place, |lines| lines.len() == 1);
    let ended = place.run_without_room(&["hr-deliveries", "--db", "a.db"]);
    ended.failed(1, "standard output cannot be written");
}

#[test]
fn the_log_of_a_delivery_has_no_secret_and_says_nothing_of_anybody() {
    for format in ["text", "json"] {
        let place = Place::new();
        let url = receiver();
        let flags = ["--allow-private-hr-targets", "--log-format", format];
        let (mut serving, key) = serve(&place, &url, true, &flags);
        let rotated = send(&serving, &key, "PUT", INTEGRATION, &json!({ "url": url, "rotateSecret": true }));
        let made = rotated["data"]["secret"].as_str().unwrap().to_owned();
        decide(&serving, &key, 1, "hire");
        let line = serving.wait_for(|line| line.contains("HR delivery evt_"));
        assert!(line.contains(" of org_acme: answered 200; delivered"), "{line}");
        let log = serving.stop("TERM").succeeded().stderr;
        for secret in [&HR_SECRET[6..30], &made[6..], "whsec_", "of-mine", "Candidate", "example.net", "app_1", "v1,"] {
            assert!(!log.contains(secret), "{secret}: {log}");
        }
    }
}
