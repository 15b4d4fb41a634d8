//! Log lines about deliveries contain no secrets, no paths and no personal data.

use super::admin::Admin;
use super::fixture::Fixture;
use super::receiver::{Behaviour, Receiver};
use crate::support::WorkDir;

/// Behaviours of a receiver, some of which answer with private text, and the logged result of each attempt.
const ANSWERS: [(Behaviour, &str); 9] = [
    (Behaviour::Accept, "answered 200; delivered"),
    (Behaviour::Refuse, "answered 500; next attempt at "),
    (Behaviour::BreakOff, "answered 200: the response ended early"),
    (Behaviour::HangUp, "no response: "),
    (Behaviour::Hang, "timed out after "),
    (Behaviour::Echo("HTTP/1.1 422 Wilhelmina Ostrander"), "answered 422; next attempt at "),
    (
        Behaviour::Echo("HTTP/1.1 307 Temporary Redirect\r\nLocation: /hooks-of-nobody?token=c3VwZXItc2VjcmV0"),
        "answered 307: ",
    ),
    (Behaviour::Echo("Wilhelmina Ostrander <a@people.example>"), "no response: "),
    (Behaviour::Echo("HTTP/1.1 200 OK\r\nWilhelmina Ostrander: a\r\nRetry-After: Ostrander"), "no response: "),
];

/// Makes one attempt of each kind. Returns the fixture, the secrets, the log, and the delivery and the result of each
/// attempt.
fn logged(format: &str) -> (Fixture, Vec<String>, String, Vec<(String, &'static str)>) {
    let (fixture, dir, mut receiver) = (Fixture::with(1), WorkDir::new(), Receiver::start());
    let fixed = ["--allow-private-hr-targets", "--hr-retry-schedule", "168h", "--hr-timeout", "3s"];
    let service = dir.serve(&[&fixed[..], &["--db", fixture.db(), "--log-format", format]].concat());
    let admin = Admin::new(&fixture, service.address);
    let secrets = admin.connect(&fixture, "http", &receiver);
    let hire = |ends: &'static str| {
        let application = fixture.take();
        admin.hire(&application);
        let delivery = admin.wait_for(&application, |delivery| delivery["attempts"] == 1);
        (delivery["id"].as_str().unwrap().to_owned(), ends)
    };
    let mut attempts = Vec::new();
    for (behaviour, ends) in ANSWERS {
        receiver.set_behaviour(behaviour);
        attempts.push(hire(ends));
    }
    receiver.down();
    attempts.push(hire("no connection to 127.0.0.1"));
    let log = service.stop("TERM").succeeded().stderr;
    (fixture, secrets, log, attempts)
}

/// Checks that the log has one line for each attempt, no other line about deliveries, and no private text.
fn require_lines(format: &str) {
    let (fixture, secrets, log, attempts) = logged(format);
    fixture.require_no_private_text(&log, &secrets);
    let organization = &fixture.organizations()[0];
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("HR delivery")).collect();
    assert_eq!(lines.len(), attempts.len(), "{lines:#?}");
    for (line, (id, ends)) in lines.iter().zip(&attempts) {
        let message = match format {
            "json" => serde_json::from_str::<serde_json::Value>(line).unwrap()["message"].as_str().unwrap().to_owned(),
            _ => line.split_once(" - ").unwrap().1.to_owned(),
        };
        let begins = format!("HR delivery {id} of {organization}: {ends}");
        assert!(message.starts_with(&begins), "{begins}: {line}");
    }
}

#[test]
fn each_attempt_has_one_text_line_without_secrets_names_or_paths() {
    require_lines("text");
}

#[test]
fn each_attempt_has_one_json_line_without_secrets_names_or_paths() {
    require_lines("json");
}
