//! `--acme-domain`: the first certificate, renewals, and failures of the certificate authority.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::acme_server::{AcmeServer, DOMAIN, Fault, make_folder};
use crate::support::{Answer, RunningService, WorkDir, connect, eventually, read_answer, send_to};
use crate::tls_client::{Authority, TlsStream, VERSIONS, presented};

const DAY: Duration = Duration::from_secs(86_400);

const FOLDER: &str = "a.db.acme";
const CERTIFICATE: &str = "a.db.acme/certificate.pem";
const STATE: &str = "a.db.acme/state.json";

const IN_USE: &str = "a new certificate for jobs.example.com is in use; it is valid until ";

/// A working directory for a service, and the certificate authority of the service.
struct Fixture {
    dir: WorkDir,
    server: Arc<AcmeServer>,
}

impl Fixture {
    fn new() -> Self {
        let (dir, server) = (WorkDir::new(), AcmeServer::start());
        server.authority.write_root(&dir, "ca.pem");
        Self { dir, server }
    }

    fn args(&self) -> Vec<String> {
        let directory = self.server.directory();
        ["--db", "a.db", "--acme-domain", DOMAIN, "--acme-directory", &directory, "--acme-ca-file", "ca.pem"]
            .into_iter()
            .chain(["--redirect-from", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"])
            .map(str::to_owned)
            .collect()
    }

    /// Starts a service. Returns it and the address from which it redirects requests.
    fn serve(&self, more: &[&str]) -> (RunningService, SocketAddr) {
        let args = self.args();
        let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let mut service = self.dir.serve(&args);
        let line = service.wait_for(|line| line.starts_with("redirecting http://"));
        let address = line.strip_prefix("redirecting http://").unwrap().split(' ').next().unwrap().parse().unwrap();
        (service, address)
    }

    /// Starts a service whose name the authority can validate.
    fn serve_validated(&self) -> RunningService {
        let (service, redirects) = self.serve(&[]);
        self.server.validate_at(redirects);
        service
    }

    fn connect(&self, address: SocketAddr) -> std::io::Result<TlsStream> {
        self.server.authority.connect_as(DOMAIN, connect(address), &VERSIONS, b"http/1.1")
    }

    fn get(&self, address: SocketAddr, path: &str) -> Answer {
        use std::io::Write as _;
        let mut stream = self.connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {DOMAIN}\r\nConnection: close\r\n\r\n").unwrap();
        read_answer(&mut stream)
    }

    fn state(&self) -> Value {
        serde_json::from_slice(&self.dir.read(STATE)).unwrap()
    }

    /// Moves the last failure to the start of 2026, so that the delay after it is over.
    fn age_failure(&self) {
        let mut state = self.state();
        state["failedAt"] = json!("2026-01-01T00:00:00Z");
        self.dir.write(STATE, state.to_string());
    }
}

fn metric(service: &mut RunningService, name: &str) -> Option<f64> {
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
    let address = line.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let text = send_to(address.parse().unwrap(), "GET", "/metrics", &[], "").expect(200).body;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// Waits for the line about a failed attempt, and returns it.
fn failed(service: &mut RunningService) -> String {
    service.wait_for(|line| line.contains("no new certificate for jobs.example.com: "))
}

#[test]
fn the_first_certificate_arrives_while_the_service_runs_and_a_restart_uses_it() {
    let fixture = Fixture::new();
    let (mut service, redirects) = fixture.serve(&["--acme-contact", "ada@example.org"]);
    service.wait_for(|line| line.starts_with("waiting for the first certificate for jobs.example.com from https://"));
    fixture.server.wait_for("/challenge");
    assert!(fixture.connect(service.address).is_err(), "without a certificate, there is no TLS");
    let ask = |path: &str| send_to(redirects, "GET", path, &[], "");
    let waiting = ask("/careers/acme").expect(503);
    assert_eq!(waiting.header("retry-after"), Some("60"), "{waiting:?}");
    ask("/.well-known/acme-challenge/other").expect(404);
    fixture.server.validate_at(redirects);
    service.wait_for(|line| line.contains(IN_USE));
    fixture.get(service.address, "/readyz").expect(200);
    let moved = ask("/careers/acme?x=y").expect(308);
    assert_eq!(moved.header("location"), Some("https://jobs.example.com/careers/acme?x=y"));
    ask("/.well-known/acme-challenge/tok").expect(404);
    assert_eq!(metric(&mut service, "appliance_certificate_order_failures"), Some(0.0));
    assert!(metric(&mut service, "appliance_certificate_days_left").unwrap() > 89.0);
    assert_eq!(fixture.server.contacts(), [json!(["mailto:ada@example.org"])]);
    let first = presented(&fixture.connect(service.address).unwrap());
    service.stop("TERM").succeeded();
    // The stored certificate is used at once, even if the authority does not work.
    fixture.server.set_fault(Some(Fault::Redirect));
    let service = fixture.serve_validated();
    assert_eq!(presented(&fixture.connect(service.address).unwrap()), first);
    let log = service.stop("TERM").succeeded().stderr;
    assert!(!log.contains("certificate"), "{log}");
    assert_eq!((fixture.server.count("/order"), fixture.server.count("/account")), (1, 1));
}

#[test]
fn a_certificate_is_renewed_while_requests_go_on() {
    let fixture = Fixture::new();
    // Two thirds of the certificate's period of validity will be over in a few seconds.
    let now = SystemTime::now() + Duration::from_secs(4);
    fixture.server.store(&fixture.dir, DOMAIN, now - 60 * DAY, now + 30 * DAY);
    let mut service = fixture.serve_validated();
    let first = presented(&fixture.connect(service.address).unwrap());
    let is_over = AtomicBool::new(false);
    let address = service.address;
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let ask = || {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                fixture.get(address, "/healthz").expect(200);
                count += 1;
            }
            count
        };
        let clients: Vec<_> = (0..2).map(|_| scope.spawn(ask)).collect();
        eventually(|| fixture.connect(address).is_ok_and(|stream| presented(&stream) != first));
        is_over.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    service.wait_for(|line| line.contains(IN_USE));
    assert_eq!(fixture.server.count("/order"), 1);
    service.stop("TERM").succeeded();
}

#[test]
fn a_failed_attempt_delays_the_next_one_with_the_same_authority_across_restarts() {
    let fixture = Fixture::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let down = format!("https://localhost:{}/directory", closed.port());
    let down = ["--acme-directory", down.as_str()];
    let args: Vec<String> = fixture.args().into_iter().filter(|arg| !arg.starts_with("https://")).collect();
    let args: Vec<&str> =
        args.iter().map(String::as_str).filter(|arg| *arg != "--acme-directory").chain(down).collect();
    let mut service = fixture.dir.serve(&args);
    let line = failed(&mut service);
    assert!(line.contains("no connection") && line.contains("; the next attempt is at 2"), "{line}");
    assert_eq!(metric(&mut service, "appliance_certificate_order_failures"), Some(1.0));
    assert_eq!(metric(&mut service, "appliance_certificate_days_left"), None);
    service.stop("TERM").succeeded();
    let mut service = fixture.dir.serve(&args);
    service.wait_for(|line| line.starts_with("the last attempt failed: ") && line.ends_with(", or on SIGHUP"));
    service.signal("HUP");
    service.wait_for(|line| line.contains("SIGHUP: no attempt to get a certificate is allowed before"));
    service.stop("TERM").succeeded();
    assert_eq!(fixture.state()["failures"], 1);
    fixture.age_failure();
    let mut service = fixture.dir.serve(&args);
    failed(&mut service);
    assert_eq!(fixture.state()["failures"], 2);
    service.stop("TERM").succeeded();
    // The delay after a failure with one authority does not apply to another authority.
    let mut service = fixture.serve_validated();
    service.wait_for(|line| line.contains(IN_USE));
    assert_eq!(fixture.state()["failures"], 0);
    service.stop("TERM").succeeded();
}

#[test]
fn the_reason_for_a_refused_order_is_logged_and_sighup_respects_the_wait_that_the_authority_asked_for() {
    let fixture = Fixture::new();
    fixture.server.set_fault(Some(Fault::Refuse("rateLimited", 429, "86400")));
    let mut service = fixture.serve_validated();
    let line = failed(&mut service);
    let sentence =
        "the authority refused (rateLimited): a reason of two lines; the authority limits the number of orders";
    assert!(line.contains(sentence), "{line}");
    let not_before = fixture.state()["notBefore"].as_str().unwrap().to_owned();
    assert!(line.ends_with(&not_before), "{line} {not_before}");
    service.signal("HUP");
    service.wait_for(|line| line.ends_with(&format!("is allowed before {not_before}")));
    service.stop("TERM").succeeded();
    fixture.age_failure();
    let mut service = fixture.serve_validated();
    service.signal("HUP");
    service.wait_for(|line| line.ends_with(&format!("is allowed before {not_before}")));
    assert_eq!(fixture.server.count("/order"), 1);
    service.stop("TERM").succeeded();
    let other = Fixture::new();
    other.server.set_fault(Some(Fault::Refuse("rejectedIdentifier", 400, "")));
    let mut service = other.serve_validated();
    assert!(failed(&mut service).contains("check --acme-domain"));
}

#[test]
fn the_log_shows_what_the_authority_saw_when_a_challenge_failed() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (is_elsewhere, part) in
        [(false, "(connection): refused; port 80 must be open"), (true, "(unauthorized): another answer")]
    {
        let fixture = Fixture::new();
        let other = WorkDir::new();
        let elsewhere = other.serve(&["--db", "b.db"]);
        let (mut service, _) = fixture.serve(&[]);
        fixture.server.validate_at(if is_elsewhere { elsewhere.address } else { closed });
        let line = failed(&mut service);
        assert!(line.contains(part), "{line}");
        assert!(!fixture.dir.path(CERTIFICATE).exists());
        elsewhere.stop("TERM").succeeded();
    }
}

#[test]
fn a_stored_certificate_that_cannot_be_used_is_moved_aside_and_replaced() {
    let other = Authority::new().certify(|_| {});
    for (text, part) in [
        (String::new(), "it has no private key"),
        ("x".repeat(2_000_000), "larger than 1 MiB"),
        (other.1.clone(), "it has no certificate"),
        (Authority::new().certify(|_| {}).1 + &other.0, "keys may not be consistent"),
    ] {
        let fixture = Fixture::new();
        make_folder(&fixture.dir);
        fixture.dir.write(CERTIFICATE, &text);
        let mut service = fixture.serve_validated();
        let line = service.wait_for(|line| line.contains("a.db.acme/certificate.pem cannot be used"));
        assert!(line.contains("certificate.pem.broken, and the service orders a new one"), "{line}");
        assert!(line.contains(part) || part.contains("keys"), "{part}: {line}");
        service.wait_for(|line| line.contains(IN_USE));
        assert_eq!(fixture.dir.read("a.db.acme/certificate.pem.broken"), text.as_bytes());
        service.stop("TERM").succeeded();
    }
    // A stored certificate for another name, and broken account and state files, count as missing.
    let fixture = Fixture::new();
    let now = SystemTime::now();
    fixture.server.store(&fixture.dir, "other.example.com", now - DAY, now + 30 * DAY);
    fixture.dir.write(STATE, "{");
    fixture.dir.write("a.db.acme/account.json", "[]");
    let mut service = fixture.serve_validated();
    service.wait_for(|line| line.contains(IN_USE));
    service.stop("TERM").succeeded();
}

#[test]
fn a_service_killed_during_an_order_keeps_its_certificate_and_waits_before_the_next_order() {
    let fixture = Fixture::new();
    let now = SystemTime::now();
    fixture.server.store(&fixture.dir, DOMAIN, now - 80 * DAY, now + 10 * DAY);
    fixture.server.set_fault(Some(Fault::Hang));
    let service = fixture.serve_validated();
    let first = presented(&fixture.connect(service.address).unwrap());
    fixture.server.wait_for("/finalize");
    drop(service.stop("KILL"));
    fixture.server.set_fault(None);
    let mut service = fixture.serve_validated();
    service.wait_for(|line| line.starts_with("the last attempt failed: the service ended during the attempt"));
    assert_eq!(presented(&fixture.connect(service.address).unwrap()), first);
    service.stop("TERM").succeeded();
    assert_eq!(fixture.server.count("/order"), 1);
    fixture.age_failure();
    let mut service = fixture.serve_validated();
    service.wait_for(|line| line.contains(IN_USE));
    assert_ne!(presented(&fixture.connect(service.address).unwrap()), first);
    service.stop("TERM").succeeded();
    assert_eq!((fixture.server.count("/order"), fixture.server.count("/account")), (2, 1));
    let names: Vec<String> = std::fs::read_dir(fixture.dir.path(FOLDER))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("partial"))
        .collect();
    assert_eq!(names, [] as [String; 0]);
}

#[test]
fn an_order_begins_again_when_the_authority_refuses_its_nonces() {
    // The service begins an order at most six times, and the library sends each request at most three times.
    let fixture = Fixture::new();
    fixture.server.refuse_nonces(17);
    let mut service = fixture.serve_validated();
    service.wait_for(|line| line.contains(IN_USE));
    service.stop("TERM").succeeded();
    assert_eq!((fixture.server.count("/account"), fixture.server.count("/order")), (18, 1));

    let fixture = Fixture::new();
    fixture.server.refuse_nonces(18);
    let mut service = fixture.serve_validated();
    let line = failed(&mut service);
    assert!(line.contains("the authority refused (badNonce): this nonce is unknown"), "{line}");
    service.stop("TERM").succeeded();
    assert_eq!((fixture.server.count("/account"), fixture.server.count("/order")), (18, 0));
}

#[test]
fn hostile_answers_of_the_authority_count_as_failures_and_leave_the_certificate_unchanged() {
    for (fault, part) in [
        (Fault::Endless, "the answer is larger than 256 KiB"),
        (Fault::Slow, "no complete answer within 30 seconds"),
        (Fault::Redirect, "redirects are not followed"),
        (Fault::Text("<html>"), "an answer that cannot be read"),
        (Fault::Text("[]"), "an answer that cannot be read"),
        (Fault::Text("{\"newNonce\": 1}"), "an answer that cannot be read"),
        (Fault::PlainUrls, "a URL that is not https"),
        (Fault::NoUrls, "an address that is not a URL"),
        (Fault::OtherName, "it is not for jobs.example.com"),
        (Fault::OtherKey, "the authority sent a certificate that cannot be used"),
    ] {
        let fixture = Fixture::new();
        fixture.server.set_fault(Some(fault));
        let now = SystemTime::now();
        fixture.server.store(&fixture.dir, DOMAIN, now - 80 * DAY, now + 10 * DAY);
        let stored = fixture.dir.read(CERTIFICATE);
        let mut service = fixture.serve_validated();
        let line = failed(&mut service);
        assert!(line.contains(part), "{fault:?}: {line}");
        assert_eq!(fixture.dir.read(CERTIFICATE), stored, "{fault:?}");
        fixture.get(service.address, "/healthz").expect(200);
        service.stop("TERM").succeeded();
    }
}

#[test]
fn an_expired_certificate_is_served_while_there_is_no_other_one() {
    let fixture = Fixture::new();
    let now = SystemTime::now();
    fixture.server.store(&fixture.dir, DOMAIN, now - 90 * DAY, now - DAY);
    fixture.server.set_fault(Some(Fault::Redirect));
    let mut service = fixture.serve_validated();
    failed(&mut service);
    let refused = fixture.connect(service.address).unwrap_err().to_string();
    assert!(refused.contains("xpired"), "{refused}");
    assert!(metric(&mut service, "appliance_certificate_days_left").unwrap() < 0.0);
    service.stop("TERM").succeeded();
}

#[test]
fn a_certificate_that_could_not_be_stored_is_not_ordered() {
    let fixture = Fixture::new();
    make_folder(&fixture.dir);
    // A folder of this name stands in for a full disk: the service cannot reserve the space for the certificate.
    std::fs::create_dir(fixture.dir.path("a.db.acme/certificate.pem.partial")).unwrap();
    let mut service = fixture.serve_validated();
    let line = failed(&mut service);
    assert!(line.contains("nothing was ordered, because a certificate cannot be stored in "), "{line}");
    service.stop("TERM").succeeded();
    assert_eq!(fixture.server.count("/directory"), 0);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let dir = WorkDir::new();
    let serve = ["serve", "--db", "a.db", "--listen", "127.0.0.1:0"];
    let redirect = ["--redirect-from", "127.0.0.1:0"];
    let domain = ["--acme-domain", DOMAIN];
    let with = |args: &[&[&str]]| dir.run(&[&serve[..], &args.concat()].concat());
    with(&[&domain]).misused("--acme-domain needs --redirect-from 0.0.0.0:80");
    with(&[&domain, &redirect, &["--tls-cert", "a", "--tls-key", "b"]]).misused("use one or the other");
    with(&[&["--acme-contact", "a@example.org"]]).misused("--acme-contact needs --acme-domain, which is not set");
    with(&[&["--acme-directory", "https://a.example/"]]).misused("--acme-directory needs --acme-domain");
    with(&[&["--acme-ca-file", "a"]]).misused("--acme-ca-file needs --acme-domain");
    with(&[&domain, &redirect, &["--base-url", "https://other.example.com"]])
        .misused("the certificate is for jobs.example.com, and the host of --base-url is other.example.com");
    with(&[&domain, &redirect, &["--base-url", "http://jobs.example.com"]]).misused("use an https URL");
    with(&[&["--acme-domain", "localhost"]]).misused("a public host name");
    with(&[&domain, &["--acme-directory", "http://a.example/"]]).misused("https URL");
    assert_eq!(dir.names(), [] as [String; 0]);
    let settings = ["settings", "--check", "--db", "a.db"];
    let found = dir.run(&[&settings[..], &domain, &redirect, &["--acme-ca-file", "none.pem"]].concat());
    assert!(
        found.code == Some(78) && found.stdout.contains("the certificate authorities in none.pem cannot be read"),
        "{found:?}"
    );
    dir.run(&[&settings[..], &domain, &redirect].concat()).succeeded();
    std::fs::create_dir(dir.path(FOLDER)).unwrap();
    std::fs::set_permissions(dir.path(FOLDER), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let found = dir.run(&[&settings[..], &domain, &redirect].concat());
    assert!(found.stdout.contains("chmod 700 "), "{found:?}");
    with(&[&domain, &redirect]).failed(78, "chmod 700 ");
}

#[test]
fn doctor_names_a_missing_certificate_and_the_last_failure() {
    let fixture = Fixture::new();
    fixture.server.set_fault(Some(Fault::Refuse("caa", 403, "")));
    let mut service = fixture.serve_validated();
    failed(&mut service);
    service.stop("TERM").succeeded();
    let args = ["doctor", "--db", "a.db", "--acme-domain", DOMAIN, "--base-url", "https://jobs.example.com"];
    let found = fixture.dir.run(&args);
    let line = found.stdout.lines().find(|line| line.contains("\tTLS\t")).unwrap_or_default().to_owned();
    assert!(line.starts_with("now\tTLS\tthere is no certificate for jobs.example.com yet"), "{found:?}");
    assert!(line.contains("a CAA record of the name forbids this authority"), "{found:?}");
    let now = SystemTime::now();
    fixture.server.store(&fixture.dir, DOMAIN, now - 70 * DAY, now + 20 * DAY);
    let found = fixture.dir.run(&args);
    assert!(found.stdout.contains("soon\tTLS\tthe certificate "), "{found:?}");
}
