//! `hr-deliveries` lists stuck deliveries; `serve` logs each attempt.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::{HR_SECRET, RunningService, WorkDir, document, eventually};

/// A URL at whose address no process listens. Without `--allow-private-hr-targets`, the service sends nothing to this
/// address, because it is private.
const CLOSED_URL: &str = "http://127.0.0.1:9/hook";

/// The beginning of the reason that the service gives when it refuses the address of [`CLOSED_URL`].
const REFUSED: &str = "refused: the host's address 127.0.0.1 is ";

const INTEGRATION: &str = "/api/admin/organizations/org_acme/hr-integration";

/// Starts a service on `a.db` with these flags, for an organization with an HR system at this URL. Also returns an
/// admin's key.
fn serve(dir: &WorkDir, url: &str, enabled: bool, flags: &[&str]) -> (RunningService, String) {
    let mut document = document();
    document["organizations"][0]["hrIntegration"] = json!({ "url": url, "secret": HR_SECRET, "enabled": enabled });
    dir.write("document.json", document.to_string());
    dir.run(&["import", "--db", "a.db", "document.json"]).succeeded();
    let key = dir.admin_key("a.db");
    (dir.serve(&[&["--db", "a.db"], flags].concat()), key)
}

fn send(service: &RunningService, key: &str, method: &str, path: &str, body: &Value) -> Value {
    let answer = service.send(method, path, &[("Authorization", &format!("Bearer {key}"))], &body.to_string());
    assert!(matches!(answer.status, 200 | 202), "{answer:?}");
    answer.json()
}

/// Hires a candidate, or rejects one who was hired.
fn decide(service: &RunningService, key: &str, candidate: usize, decision: &str) {
    send(service, key, "POST", &format!("/api/v1/candidate-steps/cstep_{candidate}_2/{decision}"), &json!({}));
}

/// Returns the fields of each line that `hr-deliveries` prints.
fn stuck(dir: &WorkDir) -> Vec<Vec<String>> {
    let output = dir.run(&["hr-deliveries", "--db", "a.db"]).succeeded();
    assert_eq!(output.stderr, if output.stdout.is_empty() { "no delivery is stuck\n" } else { "" });
    let lines = output.stdout.lines().map(|line| line.split('\t').map(str::to_owned).collect());
    let lines: Vec<Vec<String>> = lines.collect();
    assert!(lines.iter().all(|parts| parts.len() == 9), "{lines:?}");
    lines
}

/// Waits until the printed lines match, and returns them.
fn stuck_once(dir: &WorkDir, matches: impl Fn(&[Vec<String>]) -> bool) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    eventually(|| {
        lines = stuck(dir);
        matches(&lines)
    });
    lines
}

fn is_time(text: &str) -> bool {
    text.len() == 27 && text.starts_with("20") && text.ends_with('Z')
}

/// Starts an HR system that accepts every message, and returns its URL.
fn receiver() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook-of-mine", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut seen = Vec::new();
            let mut byte = [0];
            // The message ends with three closing braces.
            while !seen.ends_with(b"}}}") && stream.read(&mut byte).unwrap() == 1 {
                seen.extend(byte);
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nanswer-of-mine");
        }
    });
    url
}

#[test]
fn delivered_and_untried_deliveries_are_not_stuck() {
    let dir = WorkDir::new();
    let (mut service, key) = serve(&dir, &receiver(), true, &["--allow-private-hr-targets"]);
    assert!(stuck(&dir).is_empty());
    decide(&service, &key, 1, "hire");
    service.wait_for(|line| line.ends_with(": answered 200; delivered"));
    assert!(stuck(&dir).is_empty());
    service.stop("TERM").succeeded();
    // Simulate a delivery that is queued while no service runs.
    dir.change("a.db", "UPDATE hr_deliveries SET state = 'pending', attempts = 0, next_attempt_at = 0");
    assert!(stuck(&dir).is_empty());
}

#[test]
fn a_failed_delivery_is_listed_with_the_result_of_its_last_attempt() {
    let dir = WorkDir::new();
    let (service, key) = serve(&dir, CLOSED_URL, true, &["--hr-retry-schedule", "1ms,1ms"]);
    decide(&service, &key, 1, "hire");
    let lines = stuck_once(&dir, |lines| lines.len() == 1 && lines[0][4] == "failed");
    assert!(lines[0][0].starts_with("evt_") && is_time(&lines[0][6]), "{lines:?}");
    assert_eq!(lines[0][1..6], ["acme", "app_1", "candidate.hired", "failed", "3"]);
    assert_eq!((lines[0][7].as_str(), lines[0][8].starts_with(REFUSED)), ("-", true), "{lines:?}");
}

#[test]
fn the_json_list_equals_the_list_of_the_service() {
    let dir = WorkDir::new();
    let (service, key) = serve(&dir, CLOSED_URL, false, &[]);
    let as_json = || dir.run(&["hr-deliveries", "--db", "a.db", "--json"]).succeeded().stdout;
    assert_eq!(as_json(), "[]\n");
    decide(&service, &key, 1, "hire");
    let listed = service.get("/api/admin/hr-deliveries", &key).expect(200).json()["data"].clone();
    assert_eq!(listed[0]["held"], json!({ "reason": "integration_disabled" }));
    eventually(|| serde_json::from_str::<Value>(&as_json()).unwrap() == listed);
}

#[test]
fn a_failed_ping_is_not_stuck() {
    let dir = WorkDir::new();
    let (mut service, key) = serve(&dir, CLOSED_URL, true, &[]);
    send(&service, &key, "POST", &format!("{INTEGRATION}/test"), &json!({}));
    service.wait_for(|line| line.contains(REFUSED));
    assert!(stuck(&dir).is_empty());
}

#[test]
fn an_export_reports_how_many_deliveries_it_omits() {
    let dir = WorkDir::new();
    let (service, key) = serve(&dir, CLOSED_URL, false, &[]);
    (1..=2).for_each(|candidate| decide(&service, &key, candidate, "hire"));
    let exported = dir.run(&["export", "--db", "a.db"]).succeeded();
    assert!(
        exported.stderr.contains("deliveries that HR systems have not received yet (2)")
            && !exported.stdout.contains("evt_"),
        "{exported:?}"
    );
}

#[test]
fn a_delivery_that_will_be_retried_is_listed_with_its_next_attempt() {
    let dir = WorkDir::new();
    let flags = ["--allow-private-hr-targets", "--hr-retry-schedule", "24h"];
    let (service, key) = serve(&dir, CLOSED_URL, true, &flags);
    decide(&service, &key, 1, "hire");
    let lines = stuck_once(&dir, |lines| lines.len() == 1);
    assert_eq!(lines[0][1..6], ["acme", "app_1", "candidate.hired", "pending", "1"]);
    assert!(is_time(&lines[0][6]) && is_time(&lines[0][7]) && lines[0][7] > lines[0][6], "{lines:?}");
    assert!(lines[0][8].starts_with("no connection to 127.0.0.1:9"), "{lines:?}");
    drop(service);
    assert_eq!(stuck(&dir), lines, "the list is the same without a service");
}

#[test]
fn held_deliveries_are_listed_oldest_first_with_the_reason() {
    let dir = WorkDir::new();
    let (service, key) = serve(&dir, CLOSED_URL, false, &["--hr-retry-schedule", "24h"]);
    decide(&service, &key, 2, "hire");
    decide(&service, &key, 1, "hire");
    decide(&service, &key, 1, "reject");
    let held = |line: &[String]| (line[2].clone(), line[3].clone(), line[4].clone(), line[5].clone(), line[7].clone());
    let lines = stuck_once(&dir, |lines| lines.len() >= 3);
    let expected = [("app_2", "hired"), ("app_1", "hired"), ("app_1", "hire_reversed")];
    for (line, (application, event)) in lines.iter().zip(expected) {
        let parts = [application, &format!("candidate.{event}"), "held", "0", "-"].map(str::to_owned);
        assert_eq!(held(line), parts.into());
        assert_eq!(line[8], "the HR integration is disabled");
    }
    assert_eq!(lines.len(), 3);
    send(&service, &key, "PUT", INTEGRATION, &json!({ "url": CLOSED_URL, "enabled": true }));
    let lines = stuck_once(&dir, |lines| lines.len() == 3 && lines[..2].iter().all(|line| line[5] == "1"));
    assert!(lines[..2].iter().all(|line| line[4] == "pending" && is_time(&line[7])), "{lines:?}");
    assert_eq!(lines[2][4..6], ["held", "0"]);
    assert_eq!((&lines[2][7], &lines[2][8]), (&"-".to_owned(), &format!("waits for {}", lines[1][0])));
    send(&service, &key, "DELETE", INTEGRATION, &json!({}));
    let lines = stuck(&dir);
    assert!(lines.iter().all(|line| line[4] == "held" && line[7] == "-"), "{lines:?}");
    assert!(lines[0][8].starts_with(&format!("the organization has no HR integration; {REFUSED}")), "{lines:?}");
    assert_eq!(lines[2][8], "the organization has no HR integration");
}

#[test]
fn an_unreadable_file_causes_exit_status_1() {
    use std::os::unix::fs::PermissionsExt;
    let dir = WorkDir::new();
    dir.imported("a.db");
    let list = ["hr-deliveries", "--db", "a.db"];
    std::fs::set_permissions(dir.path("a.db"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read the file despite its mode, so this part runs only for other users.
    if std::fs::File::open(dir.path("a.db")).is_err() {
        dir.run(&list).failed(1, "a.db cannot be");
    }
    std::fs::set_permissions(dir.path("a.db"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut bytes = dir.read("a.db");
    bytes[8_192..].fill(0xa5);
    dir.write("a.db", bytes);
    let output = dir.run(&list);
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:?}");
    assert!(output.stderr.starts_with("appliance: ") && !output.stderr.contains("no delivery is stuck"), "{output:?}");
}

#[test]
fn a_list_that_cannot_be_printed_causes_exit_status_1() {
    let dir = WorkDir::new();
    let (service, key) = serve(&dir, CLOSED_URL, false, &[]);
    decide(&service, &key, 1, "hire");
    stuck_once(&dir, |lines| lines.len() == 1);
    let output = dir.run_with_full_stdout(&["hr-deliveries", "--db", "a.db"]);
    output.failed(1, "cannot write to standard output");
}

#[test]
fn the_log_of_a_delivery_contains_no_secret_and_no_personal_data() {
    for format in ["text", "json"] {
        let dir = WorkDir::new();
        let url = receiver();
        let flags = ["--allow-private-hr-targets", "--log-format", format];
        let (mut service, key) = serve(&dir, &url, true, &flags);
        let rotated = send(&service, &key, "PUT", INTEGRATION, &json!({ "url": url, "rotateSecret": true }));
        let made = rotated["data"]["secret"].as_str().unwrap().to_owned();
        decide(&service, &key, 1, "hire");
        let line = service.wait_for(|line| line.contains("HR delivery evt_"));
        assert!(line.contains(" of org_acme: answered 200; delivered"), "{line}");
        let log = service.stop("TERM").succeeded().stderr;
        for secret in [&HR_SECRET[6..30], &made[6..], "whsec_", "of-mine", "Candidate", "example.net", "app_1", "v1,"] {
            assert!(!log.contains(secret), "{secret}: {log}");
        }
    }
}
