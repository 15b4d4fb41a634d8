//! The log of `serve`: one line a request, with nothing in it that is a secret or says who somebody is.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Answer, Ended, PATIENCE, Place, Serving, connect};

/// What a line must never hold.
const SECRETS: [&str; 9] = [
    "query-of-mine",
    "agent-of-mine",
    "rpk_",
    "owner@acme.example",
    "correct horse",
    "cstep_1_1",
    "127.0.0.1:",
    "198.51.100.7",
    "path-of-mine",
];

/// Requests of every kind, each with what must not be logged. Their answers, with the route of each.
fn requests(serving: &Serving, key: &str) -> Vec<(&'static str, &'static str, Answer)> {
    let authorization = format!("Bearer {key}");
    let headers = [
        ("Authorization", authorization.as_str()),
        ("User-Agent", "agent-of-mine"),
        ("X-Forwarded-For", "198.51.100.7"),
        ("Referer", "https://path-of-mine.example/"),
    ];
    let send = |method, path: &str, body: &str| serving.send(method, path, &headers, body);
    let sign_in = json!({ "email": "owner@acme.example", "password": "correct horse battery" }).to_string();
    let apply = serving.send("POST", "/api/public/portal/acme/apply", &[], r#"{"roleId":"role_1"}"#);
    let invite = apply.json()["inviteUrl"].as_str().unwrap().strip_prefix(&serving.url()).unwrap().to_owned();
    vec![
        ("POST", "/api/public/portal/{orgSlug}/apply", apply),
        ("GET", "/signup/{token}", send("GET", &invite, "")),
        ("GET", "/api/v1/me", send("GET", "/api/v1/me?token=query-of-mine", "")),
        ("POST", "/api/v1/candidate-steps/{id}/reject", send("POST", "/api/v1/candidate-steps/cstep_1_1/reject", "")),
        ("POST", "/api/v1/candidate-steps/{id}/reject", send("POST", "/api/v1/candidate-steps/cstep_1_1/reject", "{")),
        ("GET", "-", send("GET", "/path-of-mine?query-of-mine", "")),
        ("PUT", "-", send("PUT", "/api/v1/me", "")),
        ("OTHER", "-", send("PATH-OF-MINE", "/path-of-mine", "")),
        ("POST", "/api/auth/sign-in", send("POST", "/api/auth/sign-in", &sign_in)),
        ("HEAD", "/healthz", send("HEAD", "/healthz?query-of-mine", "")),
        ("GET", "/api/v1/me", serving.get("/api/v1/me", "rpk_query-of-mine")),
    ]
}

/// A service with a log of this format, after those requests.
fn logged(format: &str) -> (Vec<(&'static str, &'static str, Answer)>, String, Ended) {
    let place = Place::new();
    place.imported("a.db");
    let key = place.admin_key("a.db");
    let password = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    place.run_with(&password, &[], b"correct horse battery").succeeded();
    let serving = place.serve(&["--db", "a.db", "--log-format", format]);
    let answers = requests(&serving, &key);
    let ended = serving.stop("TERM").succeeded();
    let id = rusqlite::Connection::open(place.path("a.db")).unwrap();
    let id: String = id.query_row("SELECT id FROM api_keys", [], |row| row.get(0)).unwrap();
    (answers, id, ended)
}

/// The lines about requests. What a service says of itself is of another form.
fn lines(ended: &Ended) -> Vec<&str> {
    let own = ["listening on ", "stopping", "stopped"];
    let own_within = ["sign-in succeeded ", " and is not trusted, so all its clients count as one address."];
    let is_own =
        |line: &&str| own.iter().any(|own| line.starts_with(own)) || own_within.iter().any(|own| line.contains(own));
    ended.stderr.lines().filter(|line| !is_own(line)).collect()
}

fn require_no_secret(lines: &[&str], answers: &[(&'static str, &'static str, Answer)]) {
    let token = answers[0].2.json()["inviteUrl"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let token = token.split('?').next().unwrap();
    for line in lines {
        for secret in SECRETS.iter().chain([&token]) {
            assert!(!line.contains(secret), "{secret}: {line}");
        }
    }
}

/// The bytes that the log counts: those of the answer's body, sent or not.
fn body_bytes(answer: &Answer) -> usize {
    answer.header("content-length").unwrap().parse().unwrap()
}

#[test]
fn a_text_line_is_time_id_method_route_status_duration_bytes_and_key() {
    let (answers, key_id, ended) = logged("text");
    let lines = lines(&ended);
    assert_eq!(lines.len(), answers.len(), "{ended:?}");
    require_no_secret(&lines, &answers);
    for (line, (method, route, answer)) in lines.iter().zip(&answers) {
        let words: Vec<&str> = line.split(' ').collect();
        let [time, id, logged_method, logged_route, status, duration, bytes, key] = words[..] else {
            panic!("{line}");
        };
        assert!(time.starts_with("20") && time.ends_with('Z') && time.len() == 27, "{line}");
        assert_eq!(Some(id), answer.header("x-request-id"), "{line}");
        assert_eq!((logged_method, logged_route), (*method, *route), "{line}");
        assert_eq!(status, answer.status.to_string(), "{line}");
        assert!(duration.strip_suffix("ms").unwrap().parse::<f64>().is_ok(), "{line}");
        assert_eq!(bytes, format!("{}B", body_bytes(answer)), "{line}");
        let expected = if is_by_key(answer, route) { key_id.as_str() } else { "-" };
        assert_eq!(key, expected, "{line}");
    }
}

/// Whether the key was seen: on a route that wants one, and let in.
fn is_by_key(answer: &Answer, route: &str) -> bool {
    route.starts_with("/api/v1/") && answer.status != 401
}

#[test]
fn a_json_line_is_one_object_with_the_same() {
    let (answers, key_id, ended) = logged("json");
    let lines = lines(&ended);
    assert_eq!(lines.len(), answers.len(), "{ended:?}");
    require_no_secret(&lines, &answers);
    for (line, (method, route, answer)) in lines.iter().zip(&answers) {
        let logged: Value = serde_json::from_str(line).unwrap();
        assert_eq!(logged.as_object().unwrap().len(), 8, "{line}");
        assert_eq!(logged["time"].as_str().map(str::len), Some(27), "{line}");
        assert_eq!(logged["requestId"].as_str(), answer.header("x-request-id"), "{line}");
        assert_eq!((logged["method"].as_str(), logged["route"].as_str()), (Some(*method), Some(*route)), "{line}");
        assert_eq!(logged["status"], answer.status, "{line}");
        assert!(logged["durationMs"].is_f64(), "{line}");
        assert_eq!(logged["bytes"], body_bytes(answer), "{line}");
        let expected = if is_by_key(answer, route) { json!(key_id) } else { Value::Null };
        assert_eq!(logged["keyId"], expected, "{line}");
    }
}

/// Requests that are more log lines than a pipe and the queue behind it hold.
const TOO_MANY: usize = 24_000;

/// A service whose standard error nobody reads, after so many requests that all were answered.
fn unread(place: &Place) -> (Child, BufReader<ChildStderr>) {
    let mut child = place.command(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let address: SocketAddr = line.trim_end().strip_prefix("listening on http://").unwrap().parse().unwrap();
    let connections: Vec<_> = (0..4).map(|_| std::thread::spawn(move || answered(address, TOO_MANY / 4))).collect();
    for connection in connections {
        assert_eq!(connection.join().unwrap(), TOO_MANY / 4);
    }
    (child, stderr)
}

/// How many of so many requests on one connection are answered with 200.
fn answered(address: SocketAddr, requests: usize) -> usize {
    let mut stream = connect(address);
    let mut sending = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        let all = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".repeat(requests - 1);
        sending.write_all(all.as_bytes()).unwrap();
        sending.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    });
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    writer.join().unwrap();
    answers.matches("HTTP/1.1 200 OK\r\n").count()
}

/// Stops it and waits for the end, which must come while nobody reads.
fn stop(child: &mut Child) -> Option<i32> {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("sh").args(["-c", &format!("kill -TERM {pid}")]).status().unwrap().success());
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if began.elapsed() > PATIENCE / 2 {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_standard_error_that_nobody_reads_holds_nobody_up() {
    let place = Place::new();
    let (mut child, _stderr) = unread(&place);
    assert_eq!(stop(&mut child), Some(0));
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn lines_that_were_dropped_are_counted_in_a_line_of_their_own() {
    let place = Place::new();
    let (mut child, stderr) = unread(&place);
    // From here on somebody reads.
    let reader = std::thread::spawn(move || stderr.lines().map_while(Result::ok).collect::<Vec<String>>());
    assert_eq!(stop(&mut child), Some(0));
    let lines = reader.join().unwrap();
    let told = " log lines were dropped: standard error was not read in time";
    let dropped: Vec<usize> = lines.iter().filter_map(|line| line.strip_suffix(told)?.parse().ok()).collect();
    let logged = lines.iter().filter(|line| line.contains(" GET /healthz 200 ")).count();
    assert!(dropped.iter().sum::<usize>() > 0, "{dropped:?}");
    assert_eq!(logged + dropped.iter().sum::<usize>(), TOO_MANY, "{dropped:?}");
}

/// The words of a line behind its time.
fn sign_in_words(line: &str) -> Option<Vec<String>> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    (words.get(2).map(String::as_str) == Some("sign-in")).then(|| words[3..].to_vec())
}

#[test]
fn each_sign_in_has_a_line_with_account_and_address_as_keyed_hashes() {
    let place = Place::new();
    place.imported("a.db");
    let password = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    place.run_with(&password, &[], b"correct horse battery").succeeded();
    let serving = place.serve(&["--db", "a.db"]);
    serving.sign_in("owner@acme.example", "correct horse battery").expect(200);
    serving.sign_in("OWNER@acme.example", "wrong horse battery").expect(401);
    serving.sign_in("nobody@acme.example", "wrong horse battery").expect(401);
    let ended = serving.stop("TERM").succeeded();
    let lines: Vec<Vec<String>> = ended.stderr.lines().filter_map(sign_in_words).collect();
    let outcomes: Vec<&str> = lines.iter().map(|words| words[0].as_str()).collect();
    assert_eq!(outcomes, ["succeeded", "failed", "failed"], "{ended:?}");
    assert_eq!(lines[0][1], lines[1][1], "the same account");
    assert_ne!(lines[1][1], lines[2][1], "another account");
    assert_eq!(lines[0][2], lines[2][2], "the same address");
    assert!(lines[0][1].starts_with("account=") && lines[0][1].len() == "account=".len() + 16, "{lines:?}");
    assert!(!ended.stderr.contains("acme.example") && !ended.stderr.contains("127.0.0.1 "), "{ended:?}");
    // Another file has another secret, so its hashes are others.
    let other = Place::new();
    other.imported("a.db");
    let serving = other.serve(&["--db", "a.db"]);
    serving.sign_in("nobody@acme.example", "wrong horse battery").expect(401);
    let ended = serving.stop("TERM").succeeded();
    let line = ended.stderr.lines().find_map(sign_in_words).unwrap();
    assert_ne!(line[1], lines[2][1]);
}
