//! The log of `serve`: one line per request, without secrets or personal data.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::PublicKeyData as _;
use serde_json::{Value, json};

use crate::support::{Answer, Output, PATIENCE, RunningService, WorkDir, connect};

/// Strings that must not occur in any line about a request.
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

/// Sends requests of several kinds. The strings in `SECRETS` occur in the requests or in the address of their client.
/// Returns the method, route and answer of each request.
fn requests(service: &RunningService, key: &str) -> Vec<(&'static str, &'static str, Answer)> {
    let authorization = format!("Bearer {key}");
    let headers = [
        ("Authorization", authorization.as_str()),
        ("User-Agent", "agent-of-mine"),
        ("X-Forwarded-For", "198.51.100.7"),
        ("Referer", "https://path-of-mine.example/"),
    ];
    let send = |method, path: &str, body: &str| service.send(method, path, &headers, body);
    let sign_in = json!({ "email": "owner@acme.example", "password": "correct horse battery" }).to_string();
    let apply = service.send("POST", "/api/public/portal/acme/apply", &[], r#"{"roleId":"role_1"}"#);
    let invite = apply.json()["inviteUrl"].as_str().unwrap().strip_prefix(&service.url()).unwrap().to_owned();
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
        ("GET", "/api/v1/me", service.get("/api/v1/me", "rpk_query-of-mine")),
    ]
}

/// Sends the requests of [`requests`] to a service with a log of this format. Returns the answers, the key's id and the
/// output.
fn logged(format: &str) -> (Vec<(&'static str, &'static str, Answer)>, String, Output) {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let password = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    dir.run_with(&password, &[], b"correct horse battery").succeeded();
    let service = dir.serve(&["--db", "a.db", "--log-format", format]);
    let answers = requests(&service, &key);
    let output = service.stop("TERM").succeeded();
    let id = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    let id: String = id.query_row("SELECT id FROM api_keys", [], |row| row.get(0)).unwrap();
    (answers, id, output)
}

/// Returns the lines about requests, without the other lines of the log.
fn lines(output: &Output) -> Vec<&str> {
    let own = ["listening on ", "stopping", "stopped"];
    let own_within = ["sign-in succeeded ", " but is not trusted, so all its clients share the limits of one address."];
    let is_own =
        |line: &&str| own.iter().any(|own| line.starts_with(own)) || own_within.iter().any(|own| line.contains(own));
    output.stderr.lines().filter(|line| !is_own(line)).collect()
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

/// Returns the number of bytes that the log shows: the `Content-Length` of the answer, even for HEAD.
fn body_bytes(answer: &Answer) -> usize {
    answer.header("content-length").unwrap().parse().unwrap()
}

#[test]
fn a_text_line_has_time_id_method_route_status_duration_bytes_and_key() {
    let (answers, key_id, output) = logged("text");
    let lines = lines(&output);
    assert_eq!(lines.len(), answers.len(), "{output:?}");
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
        let expected = if is_authenticated(answer, route) { key_id.as_str() } else { "-" };
        assert_eq!(key, expected, "{line}");
    }
}

/// Returns whether the request was authenticated: its route requires a key, and the key was accepted.
fn is_authenticated(answer: &Answer, route: &str) -> bool {
    route.starts_with("/api/v1/") && answer.status != 401
}

#[test]
fn a_json_line_is_one_object_with_the_values_of_a_text_line() {
    let (answers, key_id, output) = logged("json");
    let lines = lines(&output);
    assert_eq!(lines.len(), answers.len(), "{output:?}");
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
        let expected = if is_authenticated(answer, route) { json!(key_id) } else { Value::Null };
        assert_eq!(logged["keyId"], expected, "{line}");
    }
}

/// A number of requests whose log lines do not fit in the pipe and the log queue.
const TOO_MANY: usize = 24_000;

/// Starts a service, reads only the first line of its standard error, and sends `TOO_MANY` requests. Checks that all of
/// them are answered.
fn unread(dir: &WorkDir) -> (Child, BufReader<ChildStderr>) {
    let mut child = dir.command(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"]).spawn().unwrap();
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

/// Sends this many requests on one connection and returns how many are answered with 200.
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

/// Stops the service and waits until it has ended, without reading its standard error.
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
            panic!("the service does not end");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn an_unread_standard_error_does_not_block_requests() {
    let dir = WorkDir::new();
    let (mut child, _stderr) = unread(&dir);
    assert_eq!(stop(&mut child), Some(0));
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_log_line_counts_dropped_lines() {
    let dir = WorkDir::new();
    let (mut child, stderr) = unread(&dir);
    // Now a thread reads standard error.
    let reader = std::thread::spawn(move || stderr.lines().map_while(Result::ok).collect::<Vec<String>>());
    assert_eq!(stop(&mut child), Some(0));
    let lines = reader.join().unwrap();
    let reports =
        ["s were", " was"].map(|form| format!(" log line{form} dropped: standard error was not read in time"));
    let count = |line: &String| reports.iter().find_map(|report| line.strip_suffix(report)?.parse().ok());
    let dropped: Vec<usize> = lines.iter().filter_map(count).collect();
    let logged = lines.iter().filter(|line| line.contains(" GET /healthz 200 ")).count();
    assert!(dropped.iter().sum::<usize>() > 0, "{dropped:?}");
    assert_eq!(logged + dropped.iter().sum::<usize>(), TOO_MANY, "{dropped:?}");
}

/// Returns the words after `sign-in` in a line about a sign-in.
fn sign_in_words(line: &str) -> Option<Vec<String>> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    (words.get(2).map(String::as_str) == Some("sign-in")).then(|| words[3..].to_vec())
}

#[test]
fn each_sign_in_is_logged_with_keyed_hashes_of_account_and_address() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let password = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    dir.run_with(&password, &[], b"correct horse battery").succeeded();
    let service = dir.serve(&["--db", "a.db"]);
    service.sign_in("owner@acme.example", "correct horse battery").expect(200);
    service.sign_in("OWNER@acme.example", "wrong horse battery").expect(401);
    service.sign_in("nobody@acme.example", "wrong horse battery").expect(401);
    let output = service.stop("TERM").succeeded();
    let lines: Vec<Vec<String>> = output.stderr.lines().filter_map(sign_in_words).collect();
    let outcomes: Vec<&str> = lines.iter().map(|words| words[0].as_str()).collect();
    assert_eq!(outcomes, ["succeeded", "failed", "failed"], "{output:?}");
    assert_eq!(lines[0][1], lines[1][1], "the same account");
    assert_ne!(lines[1][1], lines[2][1], "another account");
    assert_eq!(lines[0][2], lines[2][2], "the same address");
    assert!(lines[0][1].starts_with("account=") && lines[0][1].len() == "account=".len() + 16, "{lines:?}");
    assert!(!output.stderr.contains("acme.example") && !output.stderr.contains("127.0.0.1 "), "{output:?}");
    // Another file has another secret, so its hashes differ.
    let other = WorkDir::new();
    other.imported("a.db");
    let service = other.serve(&["--db", "a.db"]);
    service.sign_in("nobody@acme.example", "wrong horse battery").expect(401);
    let output = service.stop("TERM").succeeded();
    let line = output.stderr.lines().find_map(sign_in_words).unwrap();
    assert_ne!(line[1], lines[2][1]);
}

/// Tries to sign in with a passkey, but sends no signature.
fn try_passkey(service: &RunningService, credential_id: &str) {
    let form = [("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin")];
    let options = service.send("POST", "/sign-in/passkey-options", &form, "").expect(200);
    let challenge = options.json()["challenge"].clone();
    let client_data = json!({ "type": "webauthn.get", "challenge": challenge, "origin": "http://localhost:8080" });
    let [id, client_data] = [credential_id, &client_data.to_string()].map(|text| URL_SAFE_NO_PAD.encode(text));
    let body = format!("confirmation.credential_id={id}&confirmation.client_data={client_data}");
    let cookie = options.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let headers = [form[0], form[1], ("Cookie", cookie.as_str())];
    service.send("POST", "/sign-in/passkey", &headers, &body).expect(401);
}

#[test]
fn sign_ins_with_a_link_and_with_a_passkey_are_logged_with_the_hash_of_the_account() {
    let (dir, email) = (WorkDir::new(), "owner@acme.example");
    dir.imported("a.db");
    dir.run_with(&["set-password", "--db", "a.db", "--email", email], &[], b"correct horse battery").succeeded();
    dir.change("a.db", &format!("UPDATE users SET email = 'Owner@ACME.example' WHERE email = '{email}'"));
    let made = dir.run(&["sign-in-link", "--db", "a.db", "--email", email]).succeeded();
    let service = dir.serve(&["--db", "a.db", "--base-url", "http://localhost:8080"]);
    service.sign_in(email, "correct horse battery").expect(200);
    let link = &made.stdout[made.stdout.find("/join/").unwrap()..];
    let form = [("Content-Type", "application/x-www-form-urlencoded"), ("Sec-Fetch-Site", "same-origin")];
    service.send("POST", link.trim_end(), &form, "password=a+quite+different+sentence").expect(303);
    let spki = rcgen::KeyPair::generate().unwrap().subject_public_key_info();
    let spki: String = spki.iter().map(|byte| format!("{byte:02x}")).collect();
    let passkey = format!(
        "INSERT INTO passkeys (id, user_id, credential_id, algorithm, spki, counter, name, created_at)
         SELECT 'pk_1', id, CAST('known' AS BLOB), 'ES256', x'{spki}', 0, 'Key', 0 FROM users WHERE email_key = '{email}'"
    );
    dir.change("a.db", &passkey);
    try_passkey(&service, "known");
    try_passkey(&service, "unknown");
    let output = service.stop("TERM").succeeded();
    let lines: Vec<Vec<String>> = output.stderr.lines().filter_map(sign_in_words).collect();
    let outcomes: Vec<&str> = lines.iter().map(|words| words[0].as_str()).collect();
    assert_eq!(outcomes, ["succeeded", "succeeded", "failed", "failed"], "{output:?}");
    assert!(lines[1][1] == lines[0][1] && lines[2][1] == lines[0][1], "the same account: {lines:?}");
    assert_eq!(lines[3][1], "account=-");
}
